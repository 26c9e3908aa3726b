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
INVALID_VALUE, OUT_OF_MEMORY, STOPPED = 1, 2, 70  # cuda.h's CUresult, and how a stopped job ends
TIMED_OUT = 124
GRANULE = 4096
BYTES = 16384  # of each of the job's allocations
SLOWLY = "plenty,worth,haste"  # calls linger on their way, and what is made anew
# The device writes all that it gives away, and who asks until there is no more has it write it all.
ENVIRONMENT = os.environ | {"REPRISE_SOFT_GRANULARITY": "4KiB", "REPRISE_SOFT_MEMORY": "256MiB",
                            "LD_LIBRARY_PATH": str(pathlib.Path(SOFT).parent)}


class Losses(unittest.TestCase):
    def bare(self, case):
        bare = subprocess.run([JOB, KERNELS, case], capture_output=True, text=True,
                              env=ENVIRONMENT)
        self.assertEqual(bare.returncode, 0, bare.stdout)
        self.assertIn("out ", bare.stdout)
        return bare

    def under(self, case, *options, limit="600", **changes):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "contract.json").write_text(CONTRACT)
            run = subprocess.run(
                ["timeout", "-k", "1", limit, REPRISE, "run", "-m", "recompute", "-c",
                 folder / "contract.json", "--device", "soft", "-q", "--no-trace", "-o",
                 folder / "out", *options, "--", JOB, KERNELS, case],
                capture_output=True, text=True, env=ENVIRONMENT | changes)
            summaries = list((folder / "out").glob("summary-*"))
            profile = folder / "out" / "profile.json"
            self.profile = json.loads(profile.read_text()) if profile.exists() else None
            return run, json.loads(summaries[0].read_text()) if summaries else {}

    def same(self, case, *options, disabled="plenty"):
        bare = self.bare(case)
        run, summary = self.under(case, *options, REPRISE_TEST_DISABLE=disabled)
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

    def test_what_is_made_once_is_there_for_all(self):
        self.recalled("made-once")
        bare = self.bare("made-once")
        run, _ = self.under("made-once", REPRISE_TEST_DISABLE="plenty,recall")
        self.assertNotEqual(run.stdout, bare.stdout)

    def test_a_module_is_unloaded(self):
        self.recalled("unloaded")

    def test_copies_and_sets_are_issued_again(self):
        self.recalled("copied")

    def test_a_call_that_finds_no_memory_is_refused_and_can_be_made_again(self):
        figures = self.same("refused", "-b", "128KiB", disabled="refuge,worth")["recompute"]
        self.assertGreater(figures["needed_bytes"], 0)
        self.assertEqual(figures["recalls"], 1)

    def test_what_was_filled_in_part_can_be_had_again(self):
        bare = self.bare("half-refilled")
        run, summary = self.under("half-refilled", "-b", "2MiB", REPRISE_SOFT_MEMORY="1MiB",
                                  REPRISE_TEST_DISABLE="refuge,worth")
        self.assertEqual((run.returncode, run.stdout), (0, bare.stdout), run.stderr)
        self.assertEqual(summary["recompute"]["recalls"], 1)
        self.assertGreater(summary["recompute"]["needed_bytes"], 0)

    def test_memory_of_the_host_serves_instead(self):
        summary = self.same("refused", "-b", "128KiB", disabled="worth")
        self.assertGreater(summary["bytes_kept_on_host"], 0)

    def test_nothing_is_kept_for_outputs_that_give_no_more_than_that_takes(self):
        self.assertEqual(self.same("refused", disabled="")["bytes_preserved"], 0)
        self.assertGreater(self.same("refused", disabled="worth")["bytes_preserved"], 0)

    def test_the_least_is_of_what_was_used_and_not_of_what_was_asked_for(self):
        most, passing = 1 << 20, 40 << 14
        least = self.same("asked", "-b", str(most), disabled="")["recompute"]["least_bytes"]
        self.assertLess(least, passing)

    def test_the_least_is_enough_and_a_granule_less_is_not(self):
        """Also where it holds no more than a part of a block that the earlier budget held whole."""
        for case in "asked", "block", "copied", "freed", "large-block", "larger", "neighbour":
            with self.subTest(case=case):
                least = self.same(case, disabled="")["recompute"]["least_bytes"]
                summary = self.same(case, "-b", str(least), disabled="")
                self.assertLessEqual(summary["device_peak_bytes"], least)
                self.assertEqual(summary["recompute"]["least_bytes"], least)
                run, summary = self.under(case, "-b", str(least - GRANULE))
                self.assertIn("failed with 2", run.stdout)
                self.assertGreaterEqual(summary["recompute"]["needed_bytes"], least)

    def test_a_call_that_is_larger_than_all_before_has_what_it_needs(self):
        summary = self.same("larger", "-b", "200KiB", disabled="")
        self.assertGreater(summary["recompute"]["recalls"], 1)

    def test_a_profile_is_left_whatever_the_last_steps_were(self):
        self.under("evaluated")
        self.assertEqual([row["name"] for row in self.profile["segments"]], ["s/0"])

    def test_no_launch_is_looked_up_as_long_as_there_is_memory(self):
        self.assertNotIn("cuFuncGetAttribute", self.own_calls("freed"))

    def test_what_another_thread_captures_meanwhile_is_waited_for(self):
        used = "used-while-captured", "-b", "96KiB"
        self.assertGreater(self.same(*used, disabled="")["recompute"]["recalls"], 1)
        run, _ = self.under(*used, REPRISE_TEST_DISABLE="in-flight")
        self.assertIn("failed with 2", run.stdout)

    def test_what_was_dropped_is_refused_while_its_own_thread_captures(self):
        figures = self.same("used-while-capturing", "-b", "96KiB", disabled="")["recompute"]
        self.assertGreater(figures["needed_bytes"], 96 << 10)
        self.assertGreater(figures["recalls"], 0)

    def test_what_is_freed_while_a_stream_captures_goes_later(self):
        self.same("freed-while-captured", "-b", "256KiB", disabled="")
        self.same("given-while-captured", "-b", "256KiB", disabled="")

    def test_what_the_driver_refuses_anyway_is_refused_by_the_driver(self):
        """And it counts for nothing, whatever memory it would have taken."""
        small = "64KiB"
        summary = self.same("failing", "-b", small, disabled="worth")
        self.assertLess(summary["recompute"]["least_bytes"], 48 << 10)
        self.assertEqual(summary["recompute"].get("needed_bytes", 0), 0)
        self.same("failing")

    def test_what_opens_another_stream_does_not_wait_for_it(self):
        self.recalled("opened")
        run, _ = self.under("opened", limit="3", REPRISE_TEST_DISABLE="plenty,gates")
        self.assertEqual(run.returncode, TIMED_OUT)

    def test_a_block_that_the_budget_does_not_hold_has_its_memory_with_its_use(self):
        layer, layers = 16 << 10, 20
        for share in 0.6, 0.3:
            budget = int(layers * layer * share)
            summary = self.same("large-block", "-b", str(budget), disabled="")
            self.assertLessEqual(summary["device_peak_bytes"], budget)
            self.assertGreater(summary["recompute"]["recalls"], 0)

    def test_what_another_thread_is_about_to_do_comes_before_what_is_made_anew(self):
        for case, disabled in ("stepped", "plenty,worth"), ("stepped-slowly", SLOWLY):
            figures = self.same(case, disabled=disabled)["recompute"]
            self.assertGreater(figures["recalls"], 0)
        run, _ = self.under("stepped-slowly", REPRISE_TEST_DISABLE=f"{SLOWLY},in-flight")
        self.assertNotEqual(run.stdout, self.bare("stepped-slowly").stdout)

    def test_it_comes_before_what_the_driver_looks_at(self):
        figures = self.same("looked-at-slowly", disabled=SLOWLY)["recompute"]
        self.assertGreater(figures["recalls"], 0)
        run, _ = self.under("looked-at-slowly", REPRISE_TEST_DISABLE=f"{SLOWLY},in-flight")
        self.assertNotEqual(run.stdout, self.bare("looked-at-slowly").stdout)

    def test_a_context_after_the_first_is_as_good(self):
        self.assertEqual(self.same("in-another-context")["recompute"]["recalls"], 1)
        budget = 40 << 10
        summary = self.same("in-another-context", "-b", str(budget), disabled="")
        self.assertLessEqual(summary["device_peak_bytes"], budget)

    def test_what_the_driver_takes_for_itself_has_room(self):
        bare = self.bare("loaded-late")
        run, summary = self.under("loaded-late", REPRISE_SOFT_MEMORY="1MiB")
        self.assertEqual((run.returncode, run.stdout), (0, bare.stdout), run.stderr)
        self.assertGreater(summary["recompute"]["recalls"], 0)

    def test_what_is_given_to_a_network_card_stays(self):
        self.bare("given-to-a-card")
        run, _ = self.under("given-to-a-card", "-b", "40KiB")
        self.assertIn("failed with 2", run.stdout)
        self.same("given-to-a-card", "-b", "48KiB", disabled="")

    def test_a_job_that_asks_until_it_is_refused_is_refused_where_the_device_would(self):
        self.same("asked-until-refused", "-b", "256KiB", disabled="")

    def test_what_was_never_used_is_not_moved(self):
        summary = self.same("asked-in-pieces", "-b", "256KiB", disabled="")
        self.assertEqual(summary["bytes_kept_on_host"], 0)

    def test_no_more_is_moved_than_the_host_has_room_for(self):
        piece, budget, host = 16, 256, 2048  # KiB
        with tempfile.NamedTemporaryFile("w") as told:
            told.write(f"MemTotal: 9999 kB\nMemAvailable: {host} kB\n")
            told.flush()
            run, summary = self.under("filled-until-refused", "-b", f"{budget}KiB",
                                      REPRISE_TEST_MEMINFO=told.name)
        count = int(run.stdout.split()[1])
        self.assertGreater(count, (budget + host / 2) // piece)
        self.assertLessEqual(count, (budget + host) // piece)
        self.assertGreater(summary["bytes_kept_on_host"], host * 1024 / 2)

    def test_a_capture_ends_with_its_stream_and_its_context(self):
        self.recalled("stream-lost-while-capturing")
        self.recalled("context-lost-while-capturing")

    def test_a_capture_ends_where_it_began(self):
        self.same("ended-elsewhere")

    def test_what_comes_back_is_there_before_it_is_dropped(self):
        self.same("neighbour", "-b", "9MiB", disabled="")

    def test_a_host_function_between_is_nothing_to_what_reads_no_host_memory(self):
        self.recalled("called")

    def test_pages_of_one_block_that_the_job_divides(self):
        self.recalled("block")

    def test_the_least_of_several_processes_is_that_of_the_one_that_needs_most(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "contract.json").write_text(CONTRACT)
            command = [REPRISE, "run", "-m", "recompute", "-c", folder / "contract.json",
                       "--device", "soft", "--no-trace"]
            job = ["--", "sh", "-c", f"{JOB} {KERNELS} freed; {JOB} {KERNELS} larger"]
            both = subprocess.run([*command, "-o", folder / "out", *job], capture_output=True,
                                  text=True, env=ENVIRONMENT)
            least = max(json.loads(summary.read_text())["recompute"]["least_bytes"]
                        for summary in (folder / "out").glob("summary-*"))
            first = json.loads((folder / "out" / "profile.json").read_text())["least_bytes"]
            refused = subprocess.run([*command, "-o", folder / "other", "-b", str(first),
                                      "--profile", folder / "out" / "profile.json", *job],
                                     capture_output=True, text=True, env=ENVIRONMENT)
        self.assertLess(first, least)
        self.assertRegex(both.stderr, rf"no less than ({least // 1024}KiB|{least}) would do")
        self.assertIn(f"`--budget {least}` is the smallest that is sure", refused.stderr)

    def own_calls(self, case):
        with tempfile.NamedTemporaryFile("r") as log:
            self.under(case, REPRISE_TEST_DISABLE="plenty", REPRISE_TEST_FAULT="0",
                       REPRISE_TEST_FAULT_LOG=log.name)
            return log.read().split()

    def test_a_copy_that_is_refused_while_bytes_are_made_anew_is_told(self):
        """Also where the driver says that the copy makes no sense: others' bytes are there then."""
        for case in "under", "under-capture":
            bare, told = self.bare(case), 0
            for number, name in enumerate(self.own_calls(case), 1):
                if not name.startswith("cuMemcpy"):
                    continue
                with self.subTest(case=case, call=number):
                    run, _ = self.under(case, REPRISE_TEST_DISABLE="plenty",
                                        REPRISE_TEST_FAULT=f"{number}:{INVALID_VALUE}")
                    self.assertIn(run.returncode, (0, STOPPED), run.stderr)
                    told += run.returncode == STOPPED
                    if run.returncode == 0:
                        self.assertEqual(run.stdout, bare.stdout)
            self.assertGreater(told, 0)

    def test_memory_that_goes_before_its_outputs_could_be_made_is_told_whole(self):
        told = 0
        for number, name in enumerate(self.own_calls("freed"), 1):
            if name == "cuStreamWaitEvent":
                run, _ = self.under("freed", REPRISE_TEST_DISABLE="plenty",
                                    REPRISE_TEST_FAULT=f"{number}:{INVALID_VALUE}")
                self.assertNotIn("bytes 0..0", run.stderr)
                told += f"bytes 0..{BYTES}" in run.stderr
        self.assertGreater(told, 0)

    def test_a_pool_takes_its_memory_back_whatever_becomes_of_the_event_for_it(self):
        bare = self.bare("pool")
        numbers = [number for number, name in enumerate(self.own_calls("pool"), 1)
                   if name in ("cuEventCreate", "cuEventRecord")]
        self.assertTrue(numbers)
        for number in numbers:
            with self.subTest(call=number):
                run, _ = self.under("pool", REPRISE_TEST_DISABLE="plenty",
                                    REPRISE_TEST_FAULT=f"{number}:{OUT_OF_MEMORY}")
                self.assertIn(run.returncode, (0, STOPPED), run.stdout + run.stderr)
                if run.returncode == 0:
                    self.assertEqual(run.stdout, bare.stdout)

    def test_a_call_that_the_driver_takes_although_it_seemed_to_refuse_it_is_told(self):
        """What it reads could not be made anew, and its stream was said to have failed."""
        bare, told = self.bare("freed"), 0
        for number, name in enumerate(self.own_calls("freed"), 1):
            if name != "cuMemcpyAsync":
                continue
            with self.subTest(call=number):
                run, _ = self.under("freed", REPRISE_TEST_DISABLE="plenty",
                                    REPRISE_TEST_FAULT=f"{number}:{INVALID_VALUE},cuStreamQuery")
                self.assertIn(run.returncode, (0, STOPPED), run.stdout + run.stderr)
                told += "at cuMemcpyDtoH_v2" in run.stderr
                if run.returncode == 0:
                    self.assertEqual(run.stdout, bare.stdout)
        self.assertGreater(told, 0)

    def retained(self, case, words):
        summary = self.same(case)
        self.assertEqual(summary["recompute"]["drops"], 0)
        self.assertIn(words, json.dumps(summary["segments"]))

    def test_kernels_that_do_something_else_the_next_time_are_not_followed(self):
        self.retained("timed", "reads a clock")
        self.retained("counted", "order of its atomic operations")

    def test_what_others_may_write_is_not_written_again(self):
        self.retained("pinned", "memory that others may write")
        summary = self.same("exported", "-b", "112KiB", disabled="")
        self.assertEqual(summary["recompute"]["drops"], 0)

    def test_what_another_thread_writes_meanwhile_is_not_missed(self):
        self.retained("loader", "another thread wrote what it works on")

    def test_copies_by_rows_are_not_issued_again(self):
        self.retained("rows", "that is not issued again")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
