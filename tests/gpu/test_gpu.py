#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks on a GPU, where there is none: what they say then, that each of them can fail, and a
rehearsal of the quick ones.

usage: test_gpu.py BUILD [RUNTIME]      RUNTIME: of a sanitizer, to be loaded before all else"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv[1]).resolve()
RUNTIME = ":".join(sys.argv[2:])
sys.path.insert(0, str(HERE))
import accesses  # noqa: E402
import check  # noqa: E402
import copies  # noqa: E402
import frameworks  # noqa: E402
import kernels  # noqa: E402
import launches  # noqa: E402
import suites  # noqa: E402
from place import Place, tap_counts  # noqa: E402


def run(*arguments, **environment):
    return subprocess.run([sys.executable, HERE / "checks.py", "--build", BUILD, *arguments],
                          capture_output=True, text=True, env={**os.environ, **environment})


class Words(unittest.TestCase):
    def test_without_a_gpu_it_says_so_and_nothing_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "results.json"
            done = run("-o", output, CUDA_VISIBLE_DEVICES="", LD_LIBRARY_PATH="")
            self.assertEqual(done.returncode, 77, done.stderr)
            self.assertRegex(done.stdout, r"^gpu: no GPU here \(.+\): nothing was checked")
            self.assertFalse(output.exists())

    def test_a_rehearsal_is_not_kept_as_a_gpus_result(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("--device", "soft", "--keep", folder)
            self.assertEqual(done.returncode, 2)
            self.assertIn("a rehearsal is none", done.stderr)
            self.assertEqual(os.listdir(folder), [])

    def test_an_unknown_name_is_no_success(self):
        done = run("--device", "soft", "--only", "no such check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no check has such a name", done.stderr)


def job(outputs, code=0, stderr=""):
    return subprocess.CompletedProcess([], code, "".join(line + "\n" for line in outputs), stderr)


class FakePlace(types.SimpleNamespace):
    """A place whose jobs come to what a test says: eager twice, bare, observed, guarded ones."""
    rehearsal = False

    def run(self, *_, **__):
        return self.bare.pop(0)

    def layered(self, *_, **__):
        return self.under.pop(0), []


class Judgement(unittest.TestCase):
    """Each verdict on a replaying job."""

    def judge(self, bare, guarded, observed=None, differs=True):
        place = FakePlace(bare=[job(["1", "2"]), job(["1", "2"]), bare],
                          under=[observed or bare, guarded])
        return frameworks.judge(place, lambda mode: [mode], {"declared": "c"}, differs)

    def wrong(self, words, *arguments, **more):
        with self.assertRaisesRegex(check.Wrong, words):
            self.judge(*arguments, **more)

    def test_a_match(self):
        self.assertEqual(self.judge(job(["1", "3"]), job(["1", "2"]))[1], {"declared": "match"})

    def test_a_rejection_has_its_reason(self):
        stopped = job(["1"], 70, "reprise: stopped: a stale-read\n")
        self.assertIn("stale-read", self.judge(job(["1", "3"]), stopped)[0])

    def test_a_silent_divergence_fails(self):
        self.wrong("divergence", job(["1", "3"]), job(["1", "3"]))

    def test_a_step_that_is_wrong_before_the_stop_fails(self):
        self.wrong("divergence", job(["1", "3"]), job(["0"], 70, "reprise: stopped: late\n"))

    def test_a_run_that_ends_early_without_a_word_fails(self):
        self.wrong("divergence", job(["1", "3"]), job(["1"]))

    def test_observing_may_not_change_the_job(self):
        self.wrong("observing", job(["1", "3"]), job(["1", "2"]), observed=job(["1", "4"]))

    def test_a_job_without_its_hazard_shows_nothing(self):
        self.wrong("no hazard", job(["1", "2"]), job(["1", "2"]))

    def test_a_control_that_is_wrong_fails(self):
        self.wrong("wrong", job(["1", "3"]), job(["1", "2"]), differs=False)

    def test_a_crash_fails(self):
        self.wrong("exit status 1: boom", job(["1", "3"]), job([], 1, "boom\n"))

    def test_a_job_that_can_not_run_is_skipped(self):
        with self.assertRaises(check.Skip):
            frameworks.steps_of(job(["skipped: no device"], 77))


class Verdicts(unittest.TestCase):
    """What else would be wrong on a device is told."""

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.place = Place(BUILD, "soft", True, self.scratch.name)

    def test_a_kernel_that_was_not_seen(self):
        self.place.layered = lambda *_, KERNEL_COUNTS, **__: (
            pathlib.Path(KERNEL_COUNTS).write_text("7 4 0\n") and job([]), [{"launches": 3}])
        with self.assertRaisesRegex(check.Wrong, "saw 3 launches, CUPTI 4"):
            launches.of_the_driver(self.place)

    def test_records_that_cupti_lost_are_no_count(self):
        self.place.layered = lambda *_, KERNEL_COUNTS, **__: (
            pathlib.Path(KERNEL_COUNTS).write_text("7 3 1\n") and job([]), [{"launches": 3}])
        with self.assertRaisesRegex(check.Skip, "lost"):
            launches.of_the_driver(self.place)

    def test_bytes_that_differ(self):
        key = ("13_reduce.ptx", "transpose", "1", "real", "B")
        sides = [{key: b"\0\0\0\0"}, {key: b"\0\0\0\1"}]
        whole, kernels.leave_bytes = kernels.leave_bytes, lambda *_, **__: sides.pop()
        self.addCleanup(setattr, kernels, "leave_bytes", whole)
        with self.assertRaisesRegex(check.Wrong, "1 different: transpose"):
            kernels.training(self.place)

    def test_what_the_manual_leaves_open_may_be_near_and_no_more(self):
        self.assertTrue(kernels.is_open(self.place, "05_gelu.ptx", "gelu_tanh"))
        self.assertFalse(kernels.is_open(self.place, "13_reduce.ptx", "transpose"))
        one, near, far = (bytes.fromhex(word) for word in ("0000803f", "0100803f", "0000a03f"))
        self.assertTrue(kernels.is_near(one, near))
        self.assertFalse(kernels.is_near(one, far))

    def test_a_write_that_was_not_claimed(self):
        figures = dict(launches=9, audits=9, audit_misses=1, audits_failed=0)
        self.place.layered = lambda *_, **__: (job([], 70, "reprise: stopped: a miss\n"), [figures])
        with self.assertRaisesRegex(check.Wrong, "1 misses; exit status 70: reprise: stopped"):
            accesses.of_digits(self.place)

    def test_an_audit_of_nothing(self):
        figures = dict(launches=9, audits=0, audit_misses=0, audits_failed=0)
        self.place.layered = lambda *_, **__: (job([]), [figures])
        with self.assertRaisesRegex(check.Wrong, "nothing was compared"):
            accesses.of_kernels(self.place)

    def test_copies_below_the_goal(self):
        self.place.rehearsal = False
        rows = ["copy 100 1000", "preserve 100 1000", "keep 105 1000", "compare 120 1000"]
        self.place.good = lambda *_, **__: job(rows)
        with self.assertRaisesRegex(check.Wrong, "below the goal: compare$"):
            copies.rates(self.place)

    def test_a_suite_that_fails_or_runs_nothing(self):
        for outputs, words in ((["ok 1 - a", "not ok 2 - b"], "1 do not: b"), (["1..0"], "exit")):
            self.place.run = lambda *_, outputs=outputs, **__: job(outputs)
            with self.assertRaisesRegex(check.Wrong, words):
                suites.tap(self.place, "suite.py")
        self.assertEqual(tap_counts("ok 1 - a\nok 2 - b # SKIP c\nnot ok 3 - d\n")[:3], (1, 1, 1))

    def test_a_check_that_breaks_is_a_failure(self):
        broken = check.Check("broken", "", True, lambda place: place.nothing)
        self.assertEqual(check.carry_out(broken, self.place).outcome, "failed")


class Rehearsal(unittest.TestCase):
    def test_the_quick_checks_on_the_software_device(self):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "rehearsal.json"
            more = {"REPRISE_TEST_RUNTIME": RUNTIME} if RUNTIME else {}
            done = run("--device", "soft", "--quick", "-o", output, **more)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertTrue(done.stdout.startswith("REHEARSAL on "), done.stdout)
            told = json.loads(output.read_text())
        self.assertEqual((told["format"], told["rehearsal"]), ("reprise-gpu", True))
        self.assertEqual({one["outcome"] for one in told["checks"]}, {"passed"})
        self.assertGreater(len(told["checks"]), 12)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
