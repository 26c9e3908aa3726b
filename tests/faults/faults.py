#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each driver call that the layer makes on its own account fails once, in turn (sweep.py).

usage: faults.py JOB KERNELS DIGITS LOSSES GATES CASES REPRISE OBJECT [--all] [--part K/N]
                 [--jobs N] [--mode MODE]... [SCENARIO...]

Without --all only the first, the middle and the last call of each name fail, each with one code."""
import collections
import re

from sweep import DROPS, GIVEN, Sweep

OUT_OF_MEMORY, INVALID_VALUE, LAUNCH_FAILED = 2, 1, 719  # cuda.h, CUresult
CODES = (OUT_OF_MEMORY, INVALID_VALUE, LAUNCH_FAILED)
MANY = 600  # calls of one job, behind which each fails with one code: recompute makes ten thousand
# Of the mode recompute: calls of the layer's own that are made for one of the job's, and what that
# one, answered with their code, makes the job say.
IN_ITS_PLACE = [(re.compile(made), re.compile(f"^(law_job: |digits: )?{call}.* failed with", re.M))
                for made, call in [("cuMemAlloc_v2", "cuMemAlloc"),
                                   ("cuEventCreate|cuEventRecord", "cuMemFreeAsync")]]


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

    def judge(self, mode, fault, failed, whole, outcome):
        said = outcome.out + outcome.said
        if mode in DROPS and any(made.fullmatch(failed) and own.search(said)
                                 for made, own in IN_ITS_PLACE):
            return "" if outcome.code == 1 else (f"exit {outcome.code}, though its own call failed"
                                                 f"\n{said}")
        return None


Calls().main()
