# SPDX-License-Identifier: Apache-2.0
"""The end-to-end suites, as they run on the software device, on this one."""
import sys

from check import LONG, QUICK, Wrong, check
from place import tap_counts, told


def tap(place, script, *arguments):
    """Holds when every case does. What is skipped is said, never counted as passed."""
    done = place.run(sys.executable, place.source(script), *arguments)
    passed, failed, skipped, names = tap_counts(done.stdout)
    words = f"{passed} hold" + (f", {skipped} skipped" if skipped else "")
    figures = {"passed": passed, "failed": failed, "skipped": skipped}
    if failed:
        raise Wrong(f"{words}, {failed} do not: {'; '.join(names)[:400]}", **figures,
                    names=names[:100])
    if done.returncode or not passed:
        raise Wrong(told(done), **figures)
    return words, figures


def register_laws(suite, goal):
    @check(f"laws: {suite}", goal, LONG)
    def run(place):
        return tap(place, "tests/laws/laws.py", place.build / "tests/laws/law_job",
                   place.source("tests/laws/kernels.ptx"), place.reprise, suite)


for name, text in {"laws": "guarded replays leave the bytes of the eager run",
                   "check": "observing changes nothing, the hazards found are the scenario's",
                   "retain": "the same, served from kept outputs",
                   "words": "hazards are said in full"}.items():
    register_laws(name, text)


def scenarios(place, count, *options):
    return tap(place, "tests/scenarios/scenarios.py", "--count", count, "--no-shrink", *options,
               place.build / "tests/scenarios/scenario",
               place.source("tests/scenarios/kernels.ptx"), place.reprise)


@check("scenarios", "random programs of every hazard kind end with the eager run's bytes", QUICK)
def whole(place):
    return scenarios(place, 10 if place.quick else 500)


@check("scenarios, retained", "the same, served from kept outputs")
def retained(place):
    return scenarios(place, 150, "--policy", "retain")


@check("derivatives", "gradients of random networks agree with forward mode", QUICK)
def derivatives(place):
    return tap(place, "tests/suites/derivatives.py", "--build", place.build,
               "--count", 8 if place.quick else 1024)


@check("bytes", "programs over shared state are exact after every step")
def of_shared_state(place):
    return tap(place, "tests/suites/bytes.py", "--build", place.build, "--count", 1024)
