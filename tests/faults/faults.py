#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each driver call that the layer makes on its own account fails once, in turn (sweep.py).

usage: faults.py JOB KERNELS DIGITS REPRISE OBJECT [--all] [--part K/N] [--jobs N]
                 [SCENARIO|digits...]

Without --all only the first, the middle and the last call of each name fail, each with one code."""
import collections
import re

from sweep import GIVEN, Sweep

OUT_OF_MEMORY, INVALID_VALUE, LAUNCH_FAILED = 2, 1, 719  # cuda.h, CUresult
CODES = (OUT_OF_MEMORY, INVALID_VALUE, LAUNCH_FAILED)
MANY = 600  # calls of one job, behind which each fails with one code: recompute makes ten thousand
JOBS_OWN = re.compile("^(law_job|digits): cuMemAlloc", re.M)  # made for it, and answered as it was


def with_codes(calls):
    """Which calls are to fail, from 1, and with what."""
    if GIVEN.all and len(calls) <= MANY:
        return [(nth, code) for nth in range(1, len(calls) + 1) for code in CODES]
    if GIVEN.all:
        return [(nth, CODES[nth % 3]) for nth in range(1, len(calls) + 1)]
    places = collections.defaultdict(list)
    for nth, name in enumerate(calls, 1):
        places[name].append(nth)
    some = {at for nths in places.values() for at in (nths[0], nths[len(nths) // 2], nths[-1])}
    return [(nth, CODES[i % 3]) for i, nth in enumerate(sorted(some))]


class Calls(Sweep):
    noun, variable = "calls", "REPRISE_TEST_FAULT"

    def chosen(self, mode, needs):
        return [(nth, f"{nth}:{code}") for nth, code in with_codes(needs)]

    def judge(self, mode, failed, whole, outcome):
        if mode == "recompute" and failed == "cuMemAlloc_v2" and JOBS_OWN.search(outcome.said):
            return "" if outcome.code == 1 else (f"exit {outcome.code}, though its own call failed"
                                                 f"\n{outcome.said}")
        return None


Calls().main()
