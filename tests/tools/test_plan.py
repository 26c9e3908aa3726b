#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`reprise plan` from outside; the planner itself has tests of its own.

usage: test_plan.py REPRISE"""
import json

import harness

PROFILE = {"version": 1, "base_bytes": 0, "segments": [{"name": "s0", "options": {
    "retain": {"hold_bytes": 2, "peak_bytes": 8, "time_ns": 34},
    "whole": {"hold_bytes": 10, "peak_bytes": 20, "time_ns": 99},
    "regions": {"hold_bytes": 0, "peak_bytes": 11, "time_ns": 75}}}]}


class Plan(harness.Case):
    def setUp(self):
        super().setUp()
        (self.folder / "profile.json").write_text(json.dumps(PROFILE))

    def plan(self, *words, **more):
        return self.reprise("plan", "-P", "profile.json", *words, **more)

    def answer(self, *words, code=0):
        done = self.plan("--json", *words)
        self.assertEqual((done.returncode, done.stderr), (code, ""))
        return json.loads(done.stdout)

    def test_a_budget(self):
        answer = self.answer("-b", "8")
        self.assertEqual((answer["status"], answer["choices"], answer["time_ns"]),
                         ("optimal", ["retain"], 34))

    def test_none_fits(self):
        answer = self.answer("--budget", "7", code=1)
        self.assertEqual((answer["status"], answer["min_budget_bytes"]), ("infeasible", 8))

    def test_a_policy_restricts_the_choices(self):
        self.assertEqual(self.answer("-b", "11", "-p", "regions")["choices"], ["retain"])
        self.assertEqual(self.answer("-b", "7", "-p", "whole", code=1)["min_budget_bytes"], 8)

    def test_profile_from_stdin_and_from_a_run(self):
        text = (self.folder / "profile.json").read_text()
        piped = self.reprise("plan", "-P", "-", "--format=csv", stdin=text)
        self.assertEqual(piped.returncode, 0, piped.stderr)
        self.assertTrue(piped.stdout.startswith("budget_bytes,"))
        self.assertEqual(self.reprise("plan", ".", "--format=csv").stdout, piped.stdout)
        self.assertRefused(self.reprise("plan"), 2, "profile.json")

    def test_a_plan_file_is_not_overwritten_unasked(self):
        self.assertEqual(self.plan("-qb", "8", "-o", "plan.json").returncode, 0)
        self.assertRefused(self.plan("-b", "8", "-o", "plan.json"), 2, "--force")
        self.assertEqual(self.plan("-b", "8", "-o", "plan.json", "--force").returncode, 0)

    def test_bad_profile(self):
        (self.folder / "profile.json").write_text('{"version": 1, "base_bites": 0}')
        self.assertRefused(self.plan(), 2, "profile.json:1:", "base_bytes")

    def test_usage_errors(self):
        for words, text in ((["--points", "0"], "--points"), (["-m", "nestd"], "'nested'"),
                            (["-o", "x"], "give --budget"), (["--svg", "x"], "--compare"),
                            (["--curve", "--terms"], "different answers"),
                            (["a", "b"], "'b'"), (["--budgt", "1"], "--budget")):
            self.assertRefused(self.plan(*words), 2, text)


if __name__ == "__main__":
    harness.main()
