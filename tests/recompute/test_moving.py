#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory that nobody can make anew goes to host memory and comes back as it was.

usage: test_moving.py REPRISE JOB KERNELS SOFT SWITCHES"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

REPRISE, JOB, KERNELS, SOFT = map(os.path.abspath, sys.argv[1:5])
HAS_SWITCHES = sys.argv[5] == "true"
CONTRACT = """{"version": 1, "segments": [{"name": "s", "forward": {"nvtx": "forward/*"}}],
              "step": {"nvtx": "step"}}"""
ENVIRONMENT = os.environ | {"REPRISE_SOFT_GRANULARITY": "4KiB",
                            "LD_LIBRARY_PATH": str(pathlib.Path(SOFT).parent)}


class Moving(unittest.TestCase):
    def run_in_a_session(self, command, environment, timeout):
        """As subprocess.run, but what hangs is ended with all that it has started."""
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env=environment, start_new_session=True)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def same(self, case, *options, timeout=120, **environment):
        job = [JOB, KERNELS, case]
        bare = subprocess.run(job, capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
        self.assertEqual(bare.returncode, 0, bare.stdout)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "contract.json").write_text(CONTRACT)
            run = self.run_in_a_session(
                [REPRISE, "run", "-m", "recompute", "-c", folder / "contract.json", "--device",
                 "soft", "-q", "--no-trace", "-o", folder / "out", *options, "--", *job],
                ENVIRONMENT | environment, timeout)
            self.assertEqual((run.returncode, run.stdout), (0, bare.stdout), run.stderr)
            self.stderr = run.stderr
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

    def test_what_is_not_behind_a_gate_goes_without_waiting_for_it(self):
        self.same("gated", "-b", "1200KiB")

    def test_what_is_behind_a_gate_is_refused_rather_than_waited_for(self):
        self.same("stuck", "-b", "1200KiB")
        self.assertIn("answered 2", self.stderr)  # out of memory

    @unittest.skipUnless(HAS_SWITCHES, "built without switches")
    def test_without_gates_the_job_hangs(self):
        with self.assertRaises(subprocess.TimeoutExpired):
            self.same("gated", "-b", "1200KiB", timeout=10, REPRISE_TEST_DISABLE="gates")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
