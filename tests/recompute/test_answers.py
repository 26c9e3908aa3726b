#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job can't tell whether the layer has made its memory.

usage: test_answers.py REPRISE JOB SOFT"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPRISE, JOB, SOFT = map(os.path.abspath, sys.argv[1:4])
CONTRACT = """{"version": 1, "segments": [{"name": "s", "forward": {"nvtx": "forward/*"}}],
              "step": {"nvtx": "step"}}"""
ENVIRONMENT = os.environ | {"REPRISE_SOFT_GRANULARITY": "4KiB", "REPRISE_SOFT_CAPABILITY": "9.0",
                            "LD_LIBRARY_PATH": str(pathlib.Path(SOFT).parent)}


class Answers(unittest.TestCase):
    maxDiff = None

    def test_every_answer_is_the_drivers_own(self):
        bare, run = self.answers()
        self.assertIn("pool trimmed", bare)
        self.assertIn("bind: 1", bare)
        self.assertEqual(run, bare)

    def test_so_it_is_where_all_memory_is_elsewhere(self):
        """But for what is left of it in pools, which does go elsewhere."""
        bare, run = ([line for line in answers.splitlines() if not line.startswith("pool")]
                     for answers in self.answers(REPRISE_TEST_DISABLE="plenty,room"))
        self.assertIn("texture: 0", bare)
        self.assertEqual(run, bare)

    def answers(self, **changes):
        bare = subprocess.run([JOB], capture_output=True, text=True, env=ENVIRONMENT)
        with tempfile.TemporaryDirectory() as folder:
            contract = pathlib.Path(folder) / "contract.json"
            contract.write_text(CONTRACT)
            run = subprocess.run(
                [REPRISE, "run", "-m", "recompute", "-c", contract, "--device", "soft", "-q",
                 "--no-trace", "-o", f"{folder}/out", "--", JOB],
                capture_output=True, text=True, env=ENVIRONMENT | changes)
        self.assertEqual((bare.returncode, run.returncode), (0, 0), bare.stdout + run.stderr)
        self.assertIn("attribute", bare.stdout)
        return bare.stdout, run.stdout


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
