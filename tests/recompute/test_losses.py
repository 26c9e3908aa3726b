#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recipes need goes before their outputs are used, with everything dropped at every chance.

usage: test_losses.py REPRISE JOB KERNELS SOFT"""
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


class Losses(unittest.TestCase):
    def same(self, case, *options, disabled="plenty"):
        job = [JOB, KERNELS, case]
        bare = subprocess.run(job, capture_output=True, text=True, env=ENVIRONMENT)
        self.assertEqual(bare.returncode, 0, bare.stdout)
        self.assertIn("out ", bare.stdout)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "contract.json").write_text(CONTRACT)
            run = subprocess.run(
                [REPRISE, "run", "-m", "recompute", "-c", folder / "contract.json", "--device",
                 "soft", "-q", "--no-trace", "-o", folder / "out", *options, "--", *job],
                capture_output=True, text=True,
                env=ENVIRONMENT | {"REPRISE_TEST_DISABLE": disabled})
            summaries = list((folder / "out").glob("summary-*"))
            summary = json.loads(summaries[0].read_text()) if summaries else {}
        self.assertEqual((run.returncode, run.stdout), (0, bare.stdout), run.stderr)
        return summary

    def recalled(self, case):
        self.assertGreater(self.same(case)["recompute"]["recalls"], 0)

    def test_memory_that_two_recipes_know_is_freed(self):
        self.recalled("freed")

    def test_memory_of_a_pool_goes_to_another(self):
        self.recalled("pool")

    def test_an_address_gets_other_memory(self):
        self.recalled("mapped")

    def test_a_module_is_unloaded(self):
        self.recalled("unloaded")

    def test_copies_and_sets_are_issued_again(self):
        self.recalled("copied")

    def test_a_call_that_finds_no_memory_is_refused_and_can_be_made_again(self):
        figures = self.same("refused", "-b", "128KiB", disabled="refuge,worth")["recompute"]
        self.assertGreater(figures["needed_bytes"], 0)
        self.assertEqual(figures["recalls"], 1)

    def test_memory_of_the_host_serves_instead(self):
        summary = self.same("refused", "-b", "128KiB", disabled="worth")
        self.assertGreater(summary["bytes_kept_on_host"], 0)

    def test_nothing_is_kept_for_outputs_that_give_no_more_than_that_takes(self):
        self.assertEqual(self.same("refused", disabled="")["bytes_preserved"], 0)
        self.assertGreater(self.same("refused", disabled="worth")["bytes_preserved"], 0)

    def test_pages_of_one_block_that_the_job_divides(self):
        self.recalled("block")

    def retained(self, case, words):
        summary = self.same(case)
        self.assertEqual(summary["recompute"]["drops"], 0)
        self.assertIn(words, json.dumps(summary["segments"]))

    def test_kernels_that_do_something_else_the_next_time_are_not_followed(self):
        self.retained("timed", "reads a clock")
        self.retained("counted", "order of its atomic operations")

    def test_copies_by_rows_are_not_issued_again(self):
        self.retained("rows", "that is not issued again")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
