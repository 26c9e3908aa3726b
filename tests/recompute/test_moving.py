#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory that nobody can make anew goes to host memory and comes back as it was.

usage: test_moving.py REPRISE JOB KERNELS SOFT"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPRISE, JOB, KERNELS, SOFT = map(os.path.abspath, sys.argv[1:5])
CONTRACT = """{"version": 1, "segments": [{"name": "s", "forward": {"nvtx": "forward/*"}}],
              "step": {"nvtx": "step"}}"""
ENVIRONMENT = os.environ | {"REPRISE_SOFT_GRANULARITY": "4KiB",
                            "LD_LIBRARY_PATH": str(pathlib.Path(SOFT).parent)}


class Moving(unittest.TestCase):
    def same(self, case, *options, **environment):
        job = [JOB, KERNELS, case]
        bare = subprocess.run(job, capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
        self.assertEqual(bare.returncode, 0, bare.stdout)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "contract.json").write_text(CONTRACT)
            run = subprocess.run(
                [REPRISE, "run", "-m", "recompute", "-c", folder / "contract.json", "--device",
                 "soft", "-q", "--no-trace", "-o", folder / "out", *options, "--", *job],
                capture_output=True, text=True, env=ENVIRONMENT | environment, timeout=60)
            self.assertEqual((run.returncode, run.stdout), (0, bare.stdout), run.stderr)
            summary, = (folder / "out").glob("summary-*")
            summary = json.loads(summary.read_text())
        self.assertGreater(summary["bytes_kept_on_host"], 0)
        return summary

    def test_a_device_that_is_full_before_the_budget(self):
        self.same("full", "-b", "8MiB", REPRISE_SOFT_MEMORY="1200KiB")

    def test_a_pool_of_the_jobs_that_keeps_memory(self):
        self.same("pool", REPRISE_SOFT_MEMORY="1200KiB")

    def test_a_stream_captures_while_it_comes_back(self):
        for _ in range(8):
            self.same("captured", "-b", "52KiB")

    def test_another_context_goes(self):
        for case in "context", "allocates", "primary":
            self.same(case, "-b", "36KiB")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
