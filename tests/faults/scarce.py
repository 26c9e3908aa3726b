#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each allocation of host memory that the layer makes is refused once, in turn (sweep.py).

usage: scarce.py JOB KERNELS DIGITS LOSSES GATES CASES REPRISE OBJECT [--all] [--part K/N]
                 [--jobs N] [--mode MODE]... [SCENARIO...]

Without --all one that is asked for by the same places in the object, of all jobs and modes. Where
the layer goes on and knows less for it (of hazards, in the mode check), it says that it has been
short of memory; it always goes on where that was for a plan or a profile. Now and then all that
come after it are refused, too."""
import collections
import json
import os
import re
import subprocess

from sweep import GIVEN, Sweep, bare, claim

TOLD = re.compile("out of memory|Cannot allocate memory")
FOR_GOOD = 5  # each fifth of them is refused once more, and with it all that come after it
PLACES = 4  # innermost ones, by which two allocations are told apart


def hazards(summary):
    return sorted(json.dumps(hazard, sort_keys=True) for hazard in json.loads(summary)["hazards"])


def places_of(function):
    symbols = subprocess.run(["nm", "-S", GIVEN.object], capture_output=True, text=True, check=True)
    for symbol in map(str.split, symbols.stdout.splitlines()):
        if symbol[-1] == function:
            start, size = (int(number, 16) for number in symbol[:2])
            return range(start, start + size)
    raise SystemExit(f"Bail out! {GIVEN.object} has no {function}")


class Allocations(Sweep):
    noun, variable = "allocations", "REPRISE_TEST_SCARCE"

    def __init__(self):
        super().__init__()
        self.seen = set()
        self.needless = [places_of("rp_planner_solve"), places_of("rp_estimate_write")]

    def chosen(self, mode, needs):
        nths = range(1, len(needs) + 1) if GIVEN.all else self.new_ones(needs)
        return ([(nth, str(nth)) for nth in nths] +
                [(nth, f"{nth}+") for nth in nths[::FOR_GOOD]])

    def new_ones(self, needs):
        places = collections.defaultdict(list)
        for nth, need in enumerate(needs, 1):
            places[",".join(need.split(",")[:PLACES])].append(nth)
        some = [nths[len(nths) // 2] for place, nths in places.items() if place not in self.seen]
        self.seen.update(places)
        return sorted(some)

    def judge(self, mode, fault, failed, whole, outcome):
        needless = any(int(place, 16) in places for place in failed.split(",")
                       for places in self.needless)
        if needless and not fault.endswith("+") and outcome.code != 0:
            return f"exit {outcome.code}, though it was for a plan alone\n{outcome.said}"
        told = TOLD.search(outcome.said + outcome.summary)
        if outcome.code != 0 or (told and not outcome.summary):
            return None
        try:
            found = hazards(outcome.summary)
        except (ValueError, KeyError):
            return f"no summary, and no word of it\n{outcome.said}"
        if told:
            return "no hazard is left" if hazards(whole.summary) and not found else None
        return None if found == hazards(whole.summary) else f"hazards are missing\n{outcome.said}"

    def tell(self, need):
        """Where in the sources, innermost first."""
        lines = subprocess.run(["addr2line", "-sfe", GIVEN.object, *need.split(",")],
                               capture_output=True, text=True).stdout.splitlines()
        return " < ".join(f"{name} {line.split()[0]}"
                          for name, line in zip(lines[::2], lines[1::2]))

    def conclude(self, scenario="accumulator", mode="guard"):
        """Where nobody tells of it, an allocation of the job's that is not known is no job's."""
        expected, needs = bare(scenario, mode), self.run_whole(scenario, mode).needs
        adds = places_of("rp_memory_add")
        unknown = [nth for nth, need in enumerate(needs, 1)
                   if any(int(place, 16) in adds for place in need.split(",")[:2])]
        os.environ["REPRISE_TEST_DISABLE"] = "shortages"
        wrong = [nth for nth in unknown if self.run(scenario, mode, str(nth)).out != expected]
        del os.environ["REPRISE_TEST_DISABLE"]
        claim(f"{scenario}, {mode}: {len(wrong)} of {len(unknown)} faults leave other bytes where "
              "nobody tells of them", wrong)


Allocations().main()
