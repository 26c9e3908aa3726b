# SPDX-License-Identifier: Apache-2.0
"""How fast the layer moves bytes, against the driver's own copy on the same device."""
from check import QUICK, Wrong, check

GOAL = 0.9
HELD_TO_IT = ("preserve", "keep", "compare")


@check("copies", f"preserve, keep and compare move bytes at {GOAL:.0%} of a device copy's rate",
       QUICK)
def rates(place):
    mib, rounds = (8, 3) if place.rehearsal else (1024, 21)
    done = place.good(place.program("gpu_copies"), mib, rounds)
    rows = [line.split() for line in done.stdout.splitlines()]
    rate = {name: int(moved) / int(ns) for name, ns, moved in rows}
    figures = {"mib": mib, "rounds": rounds,
               "gb_per_s": {name: round(value, 1) for name, value in rate.items()},
               "of_a_copy": {name: round(value / rate["copy"], 3) for name, value in rate.items()}}
    words = f"copy {rate['copy']:.0f} GB/s; " + ", ".join(
        f"{name} {rate[name] / rate['copy']:.2f}" for name in rate if name != "copy")
    slow = [name for name in HELD_TO_IT if rate[name] < GOAL * rate["copy"]]
    if slow and not place.rehearsal:  # a processor's rates say nothing
        raise Wrong(f"{words}; below the goal: {', '.join(slow)}", **figures)
    return words, figures
