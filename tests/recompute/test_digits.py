#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The digits job retains everything; under `recompute` and a budget it leaves the same bytes in
less memory. usage: test_digits.py REPRISE DIGITS CONTRACT SWITCHES"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPRISE, DIGITS, CONTRACT = map(os.path.abspath, sys.argv[1:4])
HAS_SWITCHES = sys.argv[4] == "true"
JOB = ["-n", "5", "-b", "256"]
SMALL = {"REPRISE_SOFT_GRANULARITY": "4KiB"}  # the job's buffers are small ones
MODEL = {"REPRISE_SOFT_CLOCK": "h100nl"}  # plans are made of times: these are the same each time


class Run:
    def __init__(self, *options, environment=None, job=JOB):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            self.done = subprocess.run(
                [REPRISE, "run", "--device", "soft", "-o", str(folder / "out"),
                 *options, "--", DIGITS, *job, "--dump=dump"], cwd=folder,
                capture_output=True, text=True, env=os.environ | SMALL | (environment or {}))
            self.code, self.stderr = self.done.returncode, self.done.stderr
            dump = folder / "dump"
            self.bytes = dump.read_bytes() if dump.exists() else b""
            summaries = list((folder / "out").glob("summary-*"))
            self.summary = json.loads(summaries[0].read_text()) if summaries else {}
            profile = folder / "out" / "profile.json"
            self.profile = json.loads(profile.read_text()) if profile.exists() else None
        self.peak = self.summary.get("device_peak_bytes")
        self.recompute = self.summary.get("recompute", {})
        # Whatever it has got as far as was done in the budget, and what was refused was not done.
        if self.recompute and "budget_bytes" in self.summary:
            assert self.recompute["least_bytes"] <= self.summary["budget_bytes"], self.summary


def under(budget, environment=None, job=JOB, policy=None):
    options = ["-m", "recompute", "-c", CONTRACT] + (["--budget", str(budget)] if budget else [])
    options += ["--policy", policy] if policy else []
    return Run(*options, environment=environment, job=job)


class Digits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bare = Run("-m", "observe")
        assert cls.bare.code == 0 and cls.bare.bytes, cls.bare.stderr

    def same(self, run):
        self.assertEqual(run.code, 0, run.stderr)
        self.assertTrue(run.bytes == self.bare.bytes, "other bytes than the bare run's")

    def test_nothing_is_dropped_where_there_is_room(self):
        run = under(None)
        self.same(run)
        self.assertEqual(run.recompute["drops"], 0)

    def test_less_memory_the_same_bytes(self):
        for share in (0.72, 0.4):
            with self.subTest(share=share):
                budget = int(self.bare.peak * share)
                run = under(budget)
                self.same(run)
                self.assertLessEqual(run.peak, budget)
                self.assertGreater(run.recompute["recalls"], 0)

    @unittest.skipUnless(HAS_SWITCHES, "built without switches")
    def test_half_takes_memory_of_the_host(self):
        run = under(self.bare.peak // 2, {"REPRISE_TEST_DISABLE": "exile"})
        self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", run.stderr)

    def test_half_of_the_memory_where_activations_are_most_of_it(self):
        deep = ["-n", "3", "-b", "512", "-l", "16"]
        bare = Run("-m", "observe", job=deep)
        run = under(bare.peak // 2, job=deep)
        self.assertEqual(run.code, 0, run.stderr)
        self.assertTrue(run.bytes == bare.bytes and run.bytes)
        self.assertLessEqual(run.peak, bare.peak // 2)

    @unittest.skipUnless(HAS_SWITCHES, "built without switches")
    def test_outputs_of_one_forward_go_together(self):
        deep = ["-n", "3", "-b", "128", "-l", "16"]
        budget = int(Run("-m", "check", "-c", CONTRACT, job=deep).peak * 0.45)
        runs = [under(budget, {"REPRISE_TEST_DISABLE": off}, deep) for off in ("", "together")]
        self.assertEqual([run.code for run in runs], [0, 0], runs[0].stderr + runs[1].stderr)
        self.assertTrue(runs[0].bytes == runs[1].bytes and runs[0].bytes)
        together, apart = (run.recompute["recalls"] for run in runs)
        self.assertTrue(0 < together < apart, f"{together} and {apart}")

    def test_a_plan_says_what_is_dropped(self):
        job = ["-n", "5", "-b", "128", "-l", "16"]
        bare = Run("-m", "observe", job=job)
        budget = int(bare.peak * 0.8)
        run = under(budget, MODEL, job, "joint")
        plan = run.recompute["plan"]
        self.assertTrue(run.bytes == bare.bytes and run.bytes, run.stderr)
        self.assertLessEqual(run.peak, budget)
        self.assertEqual(plan["answer"], "optimal")
        self.assertLessEqual(plan["min_budget_bytes"], plan["planned_peak_bytes"])
        self.assertLessEqual(plan["planned_peak_bytes"], budget)
        self.assertEqual({*plan["choices"].values()}, {"retain", "regions"})
        self.assertIn("the smallest budget that a plan is sure of is", run.stderr)
        if HAS_SWITCHES:
            run = under(budget, {"REPRISE_TEST_DISABLE": "advice"}, job, "joint")
            self.assertEqual(run.recompute["plan"]["plans"], 0)

    def test_a_budget_that_no_plan_is_sure_of_is_told_with_the_smallest_one(self):
        run = under(self.bare.peak // 2, MODEL, policy="joint")
        self.same(run)
        self.assertGreater(run.recompute["plan"]["min_budget_bytes"], self.bare.peak // 2)
        self.assertRegex(run.stderr, r"the smallest that one is sure of is \d")

    def test_a_device_that_is_too_small(self):
        small = {"REPRISE_SOFT_MEMORY": str(int(self.bare.peak * 0.8))}
        bare = Run("-m", "observe", environment=small)
        self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", bare.stderr)
        self.same(under(None, environment=small))

    def test_a_budget_that_nothing_fits_is_the_jobs_own_out_of_memory(self):
        run = under(self.bare.peak // 4)
        self.assertNotEqual(run.code, 0)
        self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", run.stderr)
        self.assertEqual(run.summary["hazards"], [])
        self.assertGreater(run.recompute["needed_bytes"], self.bare.peak // 4)
        self.assertRegex(run.stderr, r"refused memory; there it would have taken at least ")

    def test_a_budget_that_the_first_allocation_is_refused_by(self):
        run = under(1)
        self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", run.stderr)
        self.assertNotIn("no less than", run.stderr)  # nothing was had, so that nothing is known

    @unittest.skipUnless(HAS_SWITCHES, "built without switches")
    def test_dropped_at_every_chance(self):
        run = under(None, {"REPRISE_TEST_DISABLE": "plenty"})
        self.same(run)
        self.assertGreater(run.recompute["recalls"], 50)

    @unittest.skipUnless(HAS_SWITCHES, "built without switches")
    def test_everything_moved_away_at_every_chance(self):
        run = under(None, {"REPRISE_TEST_DISABLE": "room,plenty"}, job=["-n", "2", "-b", "256"])
        bare = Run("-m", "observe", job=["-n", "2", "-b", "256"])
        self.assertEqual(run.code, 0, run.stderr)
        self.assertTrue(run.bytes == bare.bytes and run.bytes)
        self.assertGreater(run.summary["bytes_kept_on_host"], 1 << 20)

    @unittest.skipUnless(HAS_SWITCHES, "built without switches")
    def test_each_mechanism_is_needed(self):
        for mechanism in ("recall", "inputs", "wait", "preserve", "restore", "reinstate"):
            with self.subTest(mechanism=mechanism):
                run = under(None, {"REPRISE_TEST_DISABLE": f"plenty,{mechanism}"})
                self.assertFalse(run.code == 0 and run.bytes == self.bare.bytes)


class WithAPool(unittest.TestCase):
    """The job takes its memory from the device's pool, and gives it back in stream order."""

    JOB = ["-n", "3", "-b", "128", "-l", "6", "--pool"]

    @classmethod
    def setUpClass(cls):
        cls.bare = Run("-m", "observe", job=cls.JOB)

    def test_less_memory_the_same_bytes(self):
        for share in (0.7, 0.5):
            with self.subTest(share=share):
                budget = int(self.bare.peak * share)
                run = under(budget, job=self.JOB)
                self.assertEqual(run.code, 0, run.stderr)
                self.assertTrue(run.bytes == self.bare.bytes and run.bytes)
                self.assertLessEqual(run.peak, budget)
                self.assertGreater(run.recompute["recalls"], 0)

    @unittest.skipUnless(HAS_SWITCHES, "built without switches")
    def test_dropped_at_every_chance_in_any_order_of_the_device(self):
        for seed in range(1, 4):
            with self.subTest(seed=seed):
                run = under(None, {"REPRISE_TEST_DISABLE": "plenty",
                                   "REPRISE_SOFT_SCHEDULE": str(seed)}, self.JOB)
                self.assertEqual(run.code, 0, run.stderr)
                self.assertTrue(run.bytes == self.bare.bytes and run.bytes)
                self.assertGreater(run.recompute["recalls"], 20)

    @unittest.skipUnless(HAS_SWITCHES, "built without switches")
    def test_what_is_given_back_is_there_until_its_stream_has_come_so_far(self):
        run = under(None, {"REPRISE_TEST_DISABLE": "parting"}, self.JOB)
        self.assertFalse(run.code == 0 and run.bytes == self.bare.bytes)


class WithAProfile(unittest.TestCase):
    """What an earlier run has left says before the first step whether the budget is enough."""

    JOB = ["-n", "3", "-b", "128", "-l", "6"]

    @classmethod
    def setUpClass(cls):
        cls.bare = Run("-m", "observe", job=cls.JOB)
        cls.earlier = under(int(cls.bare.peak * 0.8), MODEL, cls.JOB)
        cls.least = cls.earlier.profile["least_bytes"]

    def run_by(self, profile, budget, *options, environment=None, job=None):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "profile.json"
            path.write_text(json.dumps(profile))
            return Run("-m", "recompute", "-c", CONTRACT, "--budget", str(budget), "--profile",
                       str(path), *options, environment=MODEL | (environment or {}),
                       job=job or self.JOB)

    def refused(self, run, words):
        self.assertEqual(run.code, 2, run.stderr)
        self.assertIn(words, run.stderr)
        self.assertFalse(run.bytes or run.summary.get("steps"))

    def test_the_smallest_budget_is_what_it_says_it_is(self):
        run = self.run_by(self.earlier.profile, self.least)
        self.assertEqual(run.code, 0, run.stderr)
        self.assertTrue(run.bytes == self.bare.bytes and run.bytes)
        self.assertLessEqual(run.peak, self.least)
        self.assertEqual(run.profile["least_bytes"], self.least)
        self.assertIn("and no less than", run.stderr)
        less = under(self.least - 1, job=self.JOB)
        self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", less.stderr)
        self.assertEqual(less.recompute["needed_bytes"], self.least)

    def test_whatever_the_budget_of_the_earlier_run_was(self):
        for options in ([], ["--budget", str(int(self.bare.peak * 0.6)), "--policy", "joint"]):
            run = Run("-m", "recompute", "-c", CONTRACT, *options, job=self.JOB)
            self.assertEqual(run.profile["least_bytes"], self.least)

    def test_less_is_refused_before_the_first_step(self):
        self.refused(self.run_by(self.earlier.profile, self.least - 1),
                     f"`--budget {self.least}` is the smallest that is sure to work")

    def test_what_is_not_of_this_job_is_refused(self):
        profile = self.earlier.profile
        self.refused(self.run_by(profile, self.bare.peak, job=["-n", "2", "-b", "128"]),
                     "the profile was made for the job")
        self.refused(self.run_by(profile, self.bare.peak,
                                 environment={"REPRISE_SOFT_GRANULARITY": "8KiB"}),
                     "maps memory by 4096 bytes, and this one does by 8192")
        guarded = {key: value for key, value in profile.items() if key != "least_bytes"}
        self.refused(self.run_by(guarded, self.bare.peak), "is of no run in recompute")
        run = Run("-m", "guard", "-c", CONTRACT, "--profile", "profile.json", job=self.JOB)
        self.refused(run, "--profile is for recompute, not for guard")

    def test_a_plan_is_made_of_it_before_the_first_step(self):
        job = ["-n", "1", "-b", "128", "-l", "6"]
        profile = self.earlier.profile | {"made_for": {"job": "*"}}
        run = self.run_by(profile, int(self.bare.peak * 0.95), "--policy", "joint", job=job)
        self.assertEqual(run.code, 0, run.stderr)
        self.assertEqual(run.recompute["plan"]["plans"], 1)
        self.assertIn("regions", run.recompute["plan"]["choices"].values())


class WithAPlan(unittest.TestCase):
    """A plan that was made of such a profile is obeyed from the first step on."""

    JOB = ["-n", "3", "-b", "128", "-l", "6"]

    @classmethod
    def setUpClass(cls):
        cls.bare = Run("-m", "observe", job=cls.JOB)
        cls.profile = under(int(cls.bare.peak * 0.8), MODEL, cls.JOB).profile
        cls.budget = int(cls.bare.peak * 0.97)
        with tempfile.TemporaryDirectory() as folder:
            profile = pathlib.Path(folder) / "profile.json"
            profile.write_text(json.dumps(cls.profile))
            told = subprocess.run([REPRISE, "plan", "-q", "--json", "--profile", str(profile),
                                   "--budget", str(cls.budget)], capture_output=True, check=True)
        cls.plan = json.loads(told.stdout)

    def run_by(self, plan, *options, mode="recompute", environment=None, job=None):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "plan.json"
            path.write_text(json.dumps(plan))
            return Run("-m", mode, "-c", CONTRACT, "--plan", str(path), *options,
                       environment=MODEL | (environment or {}), job=job or self.JOB)

    def refused(self, run, words):
        self.assertEqual(run.code, 2, run.stderr)
        self.assertIn(words, run.stderr)
        self.assertFalse(run.bytes or run.summary.get("steps"))

    def test_it_is_obeyed_within_its_own_budget(self):
        run = self.run_by(self.plan)
        self.assertEqual(run.code, 0, run.stderr)
        self.assertTrue(run.bytes == self.bare.bytes and run.bytes)
        self.assertEqual(run.summary["budget_bytes"], self.budget)
        self.assertLessEqual(run.peak, self.budget)
        self.assertEqual([*run.recompute["plan"]["choices"].values()], self.plan["choices"])
        self.assertEqual({*self.plan["choices"]}, {"retain", "regions"})
        if HAS_SWITCHES:
            free = self.run_by(self.plan, environment={"REPRISE_TEST_DISABLE": "advice"})
            self.assertNotEqual(run.recompute["bytes_dropped"], free.recompute["bytes_dropped"])

    def test_it_is_told_how_to_run_it(self):
        with tempfile.TemporaryDirectory() as folder:
            profile = pathlib.Path(folder) / "profile.json"
            profile.write_text(json.dumps(self.profile))
            told = subprocess.run([REPRISE, "plan", "--profile", str(profile), "--budget",
                                   str(self.budget), "-o", str(profile.with_name("plan.json"))],
                                  capture_output=True, text=True, check=True)
        self.assertIn("next: reprise run -m recompute -c CONTRACT --plan ", told.stderr)

    def test_what_it_says_of_other_segments_is_let_go_of(self):
        plan = self.plan | {"made_for": self.plan["made_for"] | {"job": "*"}}
        run = self.run_by(plan, job=["-n", "3", "-b", "128", "-l", "5"])
        self.assertEqual(run.code, 0, run.stderr)
        self.assertIn("are not those of the plan", run.recompute["plan"]["reason"])

    def test_what_is_not_made_for_this_run_is_refused(self):
        self.refused(self.run_by(self.plan, job=["-n", "2"]), "made for the job")
        self.refused(self.run_by(self.plan, mode="guard"), "made of a run in recompute")
        guarded = {key: value for key, value in self.plan.items() if key != "least_bytes"}
        self.refused(self.run_by(guarded), "made of a run in guard")
        self.refused(self.run_by(self.plan, "--budget", str(self.plan["peak_bytes"] - 1)),
                     "the plan takes")
        least = self.profile["least_bytes"]
        self.refused(self.run_by(self.plan, "--budget", str(least - 1)),
                     f"`--budget {least}` is the smallest that is sure to work")
        self.refused(self.run_by(self.plan, environment={"REPRISE_SOFT_CLOCK": "h200"}),
                     "device")
        self.refused(self.run_by(self.plan, "--policy", "joint"), "two answers to one question")
        self.refused(self.run_by(self.plan, "--profile", "profile.json"), "--profile")


class Refused(unittest.TestCase):
    def refused(self, words, *options, contract=None):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "contract.json"
            path.write_text(json.dumps(contract or json.loads(pathlib.Path(CONTRACT).read_text())))
            run = Run("-m", "recompute", "-c", str(path), *options)
        self.assertEqual(run.code, 2)
        self.assertIn(words, run.stderr)
        self.assertFalse(run.bytes)

    def test_what_it_does_not_do_is_refused_by_name(self):
        contract = json.loads(pathlib.Path(CONTRACT).read_text())
        self.refused("--audit looks at all device memory", "--audit", "1")
        for policy in "whole", "retain":
            self.refused("--policy: mode recompute drops", "--policy", policy)
            self.refused('the contract\'s "policy": mode recompute drops',
                         contract=contract | {"policy": policy})
        self.refused("the plan", "--plan", CONTRACT)
        self.refused("names no \"step\"",
                     contract={k: v for k, v in contract.items() if k != "step"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
