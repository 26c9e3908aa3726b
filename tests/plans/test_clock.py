#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The model clock as a source of costs: where the host is the bottleneck too, the peak is never
higher than planned and at most 2 % lower, and the time at most 10 % off (test_table.py compares
every job)."""
import json

import jobs

BUDGETS = 4
LARGE = {"version": 1, "base": "h200", "bytes_scale": 10000, "ops_scale": 10000}
# What copies take beside their bytes counts, and the host is never the bottleneck.
SLOW = LARGE | {"figures": {"gap_ns": 3000, "call_ns": 300}}


class Clock(jobs.Case):
    def setUp(self):
        super().setUp()
        self.clock = self.model(LARGE)
        self.off = ""  # a mechanism, for REPRISE_TEST_DISABLE

    def model(self, document):
        path = self.folder / "model.json"
        path.write_text(json.dumps(document))
        return str(path)

    def run_job(self, job, *words):
        return self.good(self.reprise("run", "--device", "soft", "--no-trace", *words, "-c",
                                      "contract.json", "--", *job,
                                      REPRISE_SOFT_CLOCK=self.clock,
                                      REPRISE_TEST_DISABLE=self.off))

    def plan(self, budget):
        done = self.reprise("plan", "profiled", "--json", "--force", "-o", "plan.json", "-b",
                            str(budget))
        return json.loads(done.stdout)

    def budgets(self):
        least, most = self.plan(1)["min_budget_bytes"], self.plan(1 << 40)["peak_bytes"]
        return [least + (most - least) * i // (BUDGETS - 1) for i in range(BUDGETS)]

    def curve(self):
        done = self.good(self.reprise("plan", "profiled", "--curve", "--json"))
        return [point["peak_bytes"] for point in json.loads(done.stdout)["points"]]

    def compare(self, job, budgets, share=0.1):
        """What was chosen, over all budgets."""
        stdout = self.run_job(job, "-o", "profiled").stdout
        profile = json.loads((self.folder / "profiled" / "profile.json").read_text())
        sources = {term["source"] for segment in profile["segments"]
                   for option in segment["options"].values() if "terms" in option
                   for name, term in option["terms"].items() if name.endswith("_ns")}
        self.assertEqual(sources - {"derived"}, {"model-clock"})
        chosen, times = set(), []
        for budget in budgets():
            plan = self.plan(budget)
            self.assertEqual(self.run_job(job, "--plan", "plan.json").stdout, stdout)
            found = self.summary()["plan"]
            self.assertTrue(found["in_force"], found)
            self.assertGreaterEqual(plan["peak_bytes"], found["measured_peak_bytes"])
            self.assertLessEqual(plan["peak_bytes"], 1.02 * found["measured_peak_bytes"])
            jobs.near(self, plan["time_ns"], found["measured_ns"], share)
            chosen |= set(plan["choices"])
            times.append(found["measured_ns"])
        self.assertLess(times[-1], times[0])
        return chosen

    def test_digits_where_the_host_is_the_bottleneck(self):
        self.contract()
        for self.clock, budgets in (("h200", self.budgets), ("h100nl", self.curve)):
            self.compare([str(jobs.DIGITS), "-c", "-n", "6"], budgets)

    def price_sources(self):
        price = json.loads((self.folder / "profiled" / "profile.json").read_text())["copy"]
        return {term["source"] for term in price.values()}

    # ---- jobs that preserve pieces of one size: halves tell the price (cuda/preserve.h) ----

    def one_size(self, marks):
        self.contract(state="discovered", buffers=None)
        return [str(jobs.PLAN_JOB), str(jobs.KERNELS), "replay", "2", "1000", "8", "0", marks]

    def test_small_pieces_where_all_that_were_copied_had_one_size(self):
        self.clock = "h100nl"
        for self.off, source, budgets in (("", "model-clock", self.budgets),
                                          ("halves", "derived", lambda: self.budgets()[::3])):
            self.compare(self.one_size("marked"), budgets, 0.03)
            self.assertEqual(self.price_sources(), {source})

    def test_what_would_be_copied_in_much_smaller_pieces_is_priced_by_halves(self):
        self.clock = self.model(SLOW)
        job = self.one_size("dotted")
        chosen = self.compare(job, self.budgets, 0.02)
        self.assertEqual(chosen, {"retain", "regions"})
        self.assertEqual(self.price_sources(), {"model-clock"})

    def test_without_halves_they_are_taken_for_next_to_nothing(self):
        self.clock, self.off = self.model(SLOW), "halves"
        self.run_job(self.one_size("dotted"), "-o", "profiled")
        planned = self.plan(1 << 40)["time_ns"]
        self.run_job(self.one_size("dotted"), "--plan", "plan.json")
        self.assertLess(planned, 0.9 * self.summary()["plan"]["measured_ns"])
        self.assertEqual(self.price_sources(), {"derived"})

    def test_a_step_that_a_single_call_of_the_host_shows_in(self):
        """Its peak has no room for idle blocks of both sizes that it needs (cuda/lodging.h)."""
        self.clock = "h100nl"
        self.contract(buffers=[jobs.RING, jobs.STATE])
        self.compare([str(jobs.PLAN_JOB), str(jobs.KERNELS), "replay", "1", "1000", "16", "0",
                      "marked"], self.curve)

    # ---- steps of a few calls: two that trade a block for one of another size tell ----

    def retained(self, scenario, buffers):
        self.clock = "h100nl"
        self.contract(buffers=buffers)
        job = [str(jobs.LAW_JOB), str(jobs.KERNELS), scenario, "replay"]
        self.run_job(job, "-o", "profiled")
        planned = self.plan(1 << 40)
        self.assertEqual(planned["choices"], ["retain"])
        self.run_job(job, "--plan", "plan.json")
        found = self.summary()["plan"]
        self.assertGreaterEqual(planned["peak_bytes"], found["measured_peak_bytes"])
        self.assertLessEqual(planned["peak_bytes"], 1.02 * found["measured_peak_bytes"])
        return planned["time_ns"], found["measured_ns"]

    def test_there_is_room_for_both_where_it_tells(self):
        for scenario, buffers in (("generator", [jobs.buffer("generator", "advance", 0)]),
                                  ("live-write", [jobs.STATE])):
            jobs.near(self, *self.retained(scenario, buffers), 0.02)

    def test_without_it_each_step_trades_them(self):
        self.off = "trades"
        planned, measured = self.retained("generator", [jobs.buffer("generator", "advance", 0)])
        self.assertLess(planned, 0.9 * measured)

    # ---- jobs whose state is a few bytes, and whose outputs are many ----

    def planned_and_measured(self):
        self.clock = "h200"
        self.contract(buffers=[jobs.buffer("counters", "count", 0), jobs.STATE])
        job = [str(jobs.LAW_JOB), str(jobs.KERNELS), "counters", "replay"]
        self.run_job(job, "-o", "profiled")
        planned = self.plan(1 << 40)
        self.assertEqual(planned["choices"], ["retain"])
        self.run_job(job, "--plan", "plan.json")
        return planned["time_ns"], self.summary()["plan"]["measured_ns"]

    def test_what_large_copies_take_is_tried_where_all_that_were_made_are_small(self):
        planned, measured = self.planned_and_measured()
        jobs.near(self, planned, measured, 0.02)
        self.assertEqual(self.price_sources(), {"model-clock"})

    def test_without_trials_there_is_but_a_bound(self):
        self.off = "trials"
        planned, measured = self.planned_and_measured()
        self.assertGreater(planned, 1.15 * measured)
        self.assertEqual(self.price_sources(), {"derived"})

    # ---- the marks themselves ----

    def test_marks_cost_more_within_a_step_than_at_its_end(self):
        """The host bounds it but for its last kernel: what a mark takes is told by plain steps."""
        self.contract(buffers=[jobs.RING, jobs.STATE])
        for self.clock in ("h200", "h100nl", "rtx4090"):
            self.compare(self.tailed(), self.curve, 0.06)

    def tailed(self):
        return [str(jobs.PLAN_JOB), str(jobs.KERNELS), "replay", "2", "64", "8", "0", "tailed"]

    def test_without_plain_steps_they_are_taken_for_the_jobs_own_time(self):
        self.clock, self.off = "h200", "plain-steps"
        self.contract(buffers=[jobs.RING, jobs.STATE])
        self.run_job(self.tailed(), "-o", "profiled")
        planned = self.plan(1 << 40)["time_ns"]
        self.run_job(self.tailed(), "--plan", "plan.json")
        self.assertGreater(planned, 1.15 * self.summary()["plan"]["measured_ns"])

    def test_the_clock_tells_the_same_times_again(self):
        self.contract()
        job = [str(jobs.DIGITS), "-c", "-n", "4"]
        profiles = []
        for _ in range(2):
            self.run_job(job)
            profiles.append(self.profile())
        self.assertEqual(*profiles)

    def test_so_it_does_where_the_host_runs_ahead(self):
        """Nothing in the job waits for the device, and neither may the layer."""
        self.contract(buffers=[jobs.STATE])
        profiles = []
        for _ in range(4):
            self.good(self.law("accumulator", REPRISE_SOFT_CLOCK=self.clock))
            profiles.append(self.profile())
        self.assertEqual(profiles, profiles[:1] * 4)

    def test_another_devices_plan_is_refused(self):
        self.contract()
        job = [str(jobs.DIGITS), "-c", "-n", "4"]
        self.run_job(job, "-o", "profiled")
        self.plan(1 << 40)
        self.clock = "rtx4090"
        done = self.reprise("run", "--device", "soft", "--no-trace", "--plan", "plan.json", "-c",
                            "contract.json", "--", *job, REPRISE_SOFT_CLOCK=self.clock)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, "made for the device '.*', and this is '.*RTX 4090 .*'")
        self.assertEqual(self.summary()["steps"], 0)  # before anything of it ran


if __name__ == "__main__":
    jobs.main()
