#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nobody waits for a stream that stands at a gate but who has to.

usage: test_gates.py REPRISE JOB KERNELS DEPENDENT SOFT"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPRISE, JOB, KERNELS, DEPENDENT, SOFT = map(os.path.abspath, sys.argv[1:6])
CONTRACT = """{"version": 1, "segments": [{"name": "s", "forward": {"nvtx": "forward/*"}}],
              "step": {"nvtx": "step"}}"""
INVALID_VALUE, TIMED_OUT = 1, 124
ENVIRONMENT = os.environ | {"REPRISE_SOFT_GRANULARITY": "4KiB", "REPRISE_SOFT_CAPABILITY": "9.0",
                            "LD_LIBRARY_PATH": str(pathlib.Path(SOFT).parent)}


class Gates(unittest.TestCase):
    kernels = KERNELS

    def bare(self, case):
        run = subprocess.run([JOB, self.kernels, case], capture_output=True, text=True, timeout=300,
                             env=ENVIRONMENT)
        self.assertEqual(run.returncode, 0, run.stdout)
        return run.stdout

    def under(self, case, *options, limit="300", disabled="plenty", **changes):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "contract.json").write_text(CONTRACT)
            run = subprocess.run(
                ["timeout", "-k", "1", limit, REPRISE, "run", "-m", "recompute", "-c",
                 folder / "contract.json", "--device", "soft", "-q", "--no-trace", "-o",
                 folder / "out", *options, "--", JOB, self.kernels, case],
                capture_output=True, text=True,
                env=ENVIRONMENT | {"REPRISE_TEST_DISABLE": disabled} | changes)
            summaries = list((folder / "out").glob("summary-*"))
            return run, json.loads(summaries[0].read_text()) if summaries else {}

    def same(self, case, *options, **how):
        wanted = self.bare(case)
        run, summary = self.under(case, *options, **how)
        self.assertEqual((run.returncode, run.stdout), (0, wanted), run.stderr)
        self.assertGreater(summary["recompute"]["recalls"], 0)
        return run.stderr

    def test_what_is_done_behind_a_gate_is_nothing_to_who_opens_it(self):
        for case in ("overwritten", "overwritten-twice", "met", "joined", "default", "given-back",
                     "many", "many-in-one"):
            with self.subTest(case=case):
                self.same(case)

    def test_where_gates_are_not_seen_they_wait_for_each_other(self):
        run, _ = self.under("overwritten", limit="3", disabled="plenty,gates")
        self.assertEqual(run.returncode, TIMED_OUT)

    def test_what_the_driver_has_made_is_given_back_in_its_stream_too(self):
        self.same("little", "-b", "72KiB", disabled="worth")

    def test_what_can_not_be_told_of_a_gate_does_not_open_it(self):
        for case, asked in ("met", "cuEventQuery"), ("default", "cuStreamGetFlags"):
            with tempfile.NamedTemporaryFile("r") as log:
                self.under(case, REPRISE_TEST_FAULT="0", REPRISE_TEST_FAULT_LOG=log.name)
                calls = log.read().split()
            for number in [nth for nth, name in enumerate(calls, 1) if name == asked]:
                with self.subTest(case=case, call=number):
                    run, _ = self.under(case, limit="60",
                                        REPRISE_TEST_FAULT=f"{number}:{INVALID_VALUE}")
                    self.assertNotEqual(run.returncode, TIMED_OUT)

    def test_a_kernel_that_may_begin_early_waits_for_what_is_made_anew(self):
        self.kernels = DEPENDENT
        self.same("depended-on")
        wanted = self.bare("depended-on")  # by chance, too, now and then
        self.assertTrue(any(self.under("depended-on", disabled="plenty,behind")[0].stdout != wanted
                            for _ in range(10)))

    def test_where_there_is_no_room_the_call_is_answered(self):
        told = self.same("crowded", "-b", "128KiB", disabled="exile,worth")
        self.assertIn("beside: 2", told)  # out of memory

    def test_gates_of_another_thread_that_open_at_once_are_no_reason_to_refuse_memory(self):
        self.same("beside-loaders", "-b", "100KiB", disabled="")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
