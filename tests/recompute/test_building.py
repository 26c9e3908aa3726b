#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Graphs are built as if all memory were there. usage: test_building.py REPRISE JOB SOFT"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

REPRISE, JOB, SOFT = map(os.path.abspath, sys.argv[1:4])
CONTRACT = """{"version": 1, "segments": [{"name": "s", "forward": {"nvtx": "forward/*"}}],
              "step": {"nvtx": "step"}}"""
ENVIRONMENT = os.environ | {"REPRISE_SOFT_GRANULARITY": "4KiB",
                            "LD_LIBRARY_PATH": str(pathlib.Path(SOFT).parent)}


def bare(case):
    return subprocess.run([JOB, case], capture_output=True, text=True, env=ENVIRONMENT, timeout=60)


def recomputed(case, budget):
    with tempfile.TemporaryDirectory() as folder:
        contract = pathlib.Path(folder) / "contract.json"
        contract.write_text(CONTRACT)
        return subprocess.run(
            [REPRISE, "run", "-m", "recompute", "-c", contract, "--device", "soft", "-q",
             "--no-trace", "-o", f"{folder}/out", "-b", budget, "--", JOB, case],
            capture_output=True, text=True, env=ENVIRONMENT, timeout=60)


class Building(unittest.TestCase):
    def same(self, case):
        expected, run = bare(case), recomputed(case, "64KiB")
        self.assertEqual((expected.returncode, run.returncode), (0, 0), run.stdout + run.stderr)
        self.assertEqual(run.stdout, expected.stdout)

    def test_what_is_captured(self):
        self.same("capture")

    def test_nodes(self):
        self.same("nodes")

    def test_what_the_driver_refuses_anyway(self):
        self.same("wrong")

    def test_too_small_a_budget_is_no_wrong_address(self):
        for case in "capture", "nodes":
            run = recomputed(case, "40KiB")
            answers = set(re.findall(r": (\d+)$", run.stdout.split("\n0: ")[0], re.M))
            self.assertEqual((run.returncode, answers), (0, {"0", "2"}), run.stdout + run.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
