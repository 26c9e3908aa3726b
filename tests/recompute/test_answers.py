#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job can't tell whether the layer has made its memory. usage: test_answers.py REPRISE JOB SOFT"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPRISE, JOB, SOFT = map(os.path.abspath, sys.argv[1:4])
CONTRACT = """{"version": 1, "segments": [{"name": "s", "forward": {"nvtx": "forward/*"}}],
              "step": {"nvtx": "step"}}"""
ENVIRONMENT = os.environ | {"REPRISE_SOFT_GRANULARITY": "4KiB",
                            "LD_LIBRARY_PATH": str(pathlib.Path(SOFT).parent)}


class Answers(unittest.TestCase):
    maxDiff = None

    def test_every_answer_is_the_drivers_own(self):
        bare = subprocess.run([JOB], capture_output=True, text=True, env=ENVIRONMENT)
        with tempfile.TemporaryDirectory() as folder:
            contract = pathlib.Path(folder) / "contract.json"
            contract.write_text(CONTRACT)
            run = subprocess.run(
                [REPRISE, "run", "-m", "recompute", "-c", contract, "--device", "soft", "-q",
                 "--no-trace", "-o", f"{folder}/out", "--", JOB],
                capture_output=True, text=True, env=ENVIRONMENT)
        self.assertEqual((bare.returncode, run.returncode), (0, 0), bare.stdout + run.stderr)
        self.assertIn("attribute", bare.stdout)
        self.assertIn("pool trimmed", bare.stdout)
        self.assertEqual(run.stdout, bare.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
