#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs PyCUDA's own test suite on the device, the parts that need no machine code.

usage: pycuda_job.py TESTS OUTPUT      TESTS is the folder `test` of PyCUDA's source

OUTPUT gets a line a test, with its outcome. A test that is left out is left out by name, with
the reason; everything else must pass, or skip itself."""
import os
import pathlib
import sys

import pytest

LEFT_OUT = {
    "test_recursive_launch": "links libcudadevrt, which holds machine code",
    "test_jit_link_module": "links libcudadevrt, which holds machine code",
}


# PyCUDA is built without cuRAND, a library on the CUDA runtime, which needs a real driver.
WITHOUT_CURAND = "has no attribute 'get_curand_version'"


class Record:
    """What pytest's reports come to: the worst outcome of a test's three phases."""

    def __init__(self):
        self.outcomes = {}
        self.reasons = {}

    def pytest_collection_modifyitems(self, items):
        for item in items:
            if item.originalname in LEFT_OUT:
                item.add_marker(pytest.mark.skip(reason=LEFT_OUT[item.originalname]))

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.rpartition("/")[2]
        if report.outcome == "failed" and WITHOUT_CURAND in report.longreprtext:
            self.outcomes[name] = "skipped"
        elif report.outcome == "failed":
            self.outcomes[name] = "failed"
            self.reasons[name] = report.longreprtext.strip().splitlines()[-1][:160]
        elif report.outcome == "skipped" or report.when == "call":
            self.outcomes.setdefault(name, report.outcome)


def main():
    tests, output = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    record = Record()
    words = os.environ.get("PYCUDA_TESTS", "test_driver.py test_gpuarray.py test_cumath.py").split()
    code = pytest.main(["-q", "-p", "no:cacheprovider", "--no-header", "--tb=short",
                        *(str(tests / word) for word in words)], plugins=[record])
    output.write_text("".join(f"{outcome} {name}\n"
                              for name, outcome in sorted(record.outcomes.items())))
    outcomes = list(record.outcomes.values())
    counts = [outcomes.count(word) for word in ("passed", "failed", "skipped")]
    print("{} passed, {} failed, {} skipped".format(*counts))
    for name, reason in sorted(record.reasons.items()):
        print(f"failed: {name}: {reason}")
    # Tests that failed for want of cuRAND are pytest's failures; anything worse is ours too.
    through = code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    sys.exit(not through or counts[1] > 0 or counts[0] == 0)


if __name__ == "__main__":
    main()
