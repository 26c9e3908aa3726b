#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans in force: obeyed, refused where they don't belong, given up when they stop fitting, and
made while the job runs."""
import json
import subprocess
import unittest

import jobs

OBJECT = jobs.harness.REPRISE.parents[1] / "interpose" / "libreprise.so"
HAS_SWITCHES = b"REPRISE_TEST_SCARCE" in OBJECT.read_bytes()
BUFFERS = [jobs.RING, jobs.STATE]


def code_of(function):
    """Where it lies in the object: LO-HI."""
    symbols = subprocess.run(["nm", "-S", OBJECT], capture_output=True, text=True, check=True)
    start, size = next([int(number, 16) for number in line.split()[:2]]
                       for line in symbols.stdout.splitlines() if line.endswith(f" {function}"))
    return f"{start:x}-{start + size:x}"


class Plans(jobs.Case):
    def setUp(self):
        super().setUp()
        self.contract(buffers=BUFFERS)
        self.eager = self.bare("eager")

    def bare(self, mode):
        return self.good(self.reprise("run", "--device", "soft", "--no-trace", "-qo", "bare", "--",
                                      *self.words(mode))).stdout

    def words(self, mode, *more, segments=8, numbers=2000, steps=6):
        return [str(jobs.PLAN_JOB), str(jobs.KERNELS), mode, str(segments), str(numbers),
                str(steps), *more]

    def guarded(self, *words, job=None, **changes):
        return self.reprise("run", "--device", "soft", "--no-trace", *words, "-c", "contract.json",
                            "--", *(job or self.words("replay")), **changes)

    def plan(self, budget, *words):
        done = self.reprise("plan", "-b", str(budget), "--json", "--force", "-o", "plan.json",
                            *words)
        return json.loads(self.good(done).stdout)

    def min_budget(self):
        done = self.reprise("plan", "-b", "1", "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        return json.loads(done.stdout)["min_budget_bytes"]

    def profiled(self):
        self.good(self.guarded())
        least = self.min_budget()
        ample = self.plan(1 << 40)
        return least, ample["peak_bytes"]

    def test_without_a_guard_the_job_is_wrong(self):
        self.assertNotEqual(self.bare("replay"), self.eager)

    def test_every_plan_is_obeyed_and_its_peak_is_the_measured_one(self):
        least, ample = self.profiled()
        self.good(self.guarded("-o", "profiled"))
        chosen = set()
        for share in (0, 1, 2, 4):
            budget = str(least + (ample - least) * share // 4)
            plan = self.good(self.reprise("plan", "profiled", "--json", "--force", "-o",
                                          "plan.json", "-b", budget))
            plan = json.loads(plan.stdout)
            chosen |= set(plan["choices"])
            done = self.good(self.guarded("--plan", "plan.json"))
            self.assertEqual(done.stdout, self.eager)
            found = self.summary()["plan"]
            self.assertEqual((found["in_force"], found["steps"]), (True, 6))
            self.assertEqual(list(found["choices"].values()), plan["choices"])
            self.assertEqual(found["planned_peak_bytes"], plan["peak_bytes"])
            self.assertLessEqual(found["measured_peak_bytes"], plan["peak_bytes"])
            self.assertGreaterEqual(found["measured_peak_bytes"], 0.98 * plan["peak_bytes"])
            self.assertRegex(done.stderr, r"reprise: plan: [\d.]+ ms and .* a step, measured ")
        self.assertLessEqual({"retain", "regions"}, chosen)

    def test_more_memory_serves_more(self):
        least, ample = self.profiled()
        self.good(self.guarded("-o", "profiled"))
        served = []
        for budget in (least, ample):
            self.good(self.reprise("plan", "profiled", "--force", "-o", "plan.json", "-b",
                                   str(budget)))
            self.good(self.guarded("--plan", "plan.json"))
            served.append(self.summary()["launches_served"])
        self.assertEqual(served[0], 0)
        self.assertGreater(served[1], 0)

    def test_serving_needs_the_outputs(self):
        self.good(self.guarded("-p", "retain"))
        self.assertGreater(self.summary()["launches_served"], 0)
        broken = self.guarded("-p", "retain", REPRISE_TEST_DISABLE="outputs")
        self.assertNotEqual((broken.returncode, broken.stdout), (0, self.eager))

    def test_a_policy_for_every_segment(self):
        for policy in ("whole", "regions", "retain"):
            self.assertEqual(self.good(self.guarded("-p", policy)).stdout, self.eager, policy)

    def test_a_plan_in_the_contract_is_obeyed(self):
        least, ample = self.profiled()
        self.plan(ample)
        self.contract(buffers=BUFFERS, policy="plan.json")
        self.assertEqual(self.good(self.guarded()).stdout, self.eager)
        self.assertTrue(self.summary()["plan"]["in_force"])

    # ---- refused ----

    def assertNothingRan(self, done, *texts):
        self.assertRefused(done, 2, *texts)

    def test_another_jobs_plan_is_refused(self):
        least, ample = self.profiled()
        self.plan(ample)
        other = self.words("replay", segments=7)
        self.assertNothingRan(self.guarded("--plan", "plan.json", job=other), "made for the job")
        self.contract(buffers=BUFFERS[1:])
        self.assertNothingRan(self.guarded("--plan", "plan.json"), "made for the contract")

    def test_what_is_no_plan_is_refused(self):
        for text in ("", "{", '{"version": 1}', '{"format": "reprise-plan", "version": 9}'):
            (self.folder / "plan.json").write_text(text)
            self.assertNothingRan(self.guarded("--plan", "plan.json"), "plan.json")
        self.assertNothingRan(self.guarded("--plan", "nowhere.json"), "nowhere.json")

    def edit_plan(self, **changes):
        plan = json.loads((self.folder / "plan.json").read_text()) | changes
        (self.folder / "plan.json").write_text(json.dumps(plan))

    def test_a_plan_that_names_no_job_is_refused(self):
        least, ample = self.profiled()
        self.plan(ample)
        self.edit_plan(made_for={})
        self.assertNothingRan(self.guarded("--plan", "plan.json"), "made_for", "job")

    def test_what_does_not_matter_of_a_command_can_be_left_open(self):
        least, ample = self.profiled()
        plan = self.plan(ample)
        longer = self.words("replay", steps=9)
        self.assertNothingRan(self.guarded("--plan", "plan.json", job=longer), "put *")
        words = plan["made_for"]["job"].rsplit(" ", 1)[0] + " *"
        self.edit_plan(made_for=plan["made_for"] | {"job": words})
        self.good(self.guarded("--plan", "plan.json", job=longer))
        self.assertTrue(self.summary()["plan"]["in_force"])

    def test_a_plan_above_the_budget_is_refused(self):
        least, ample = self.profiled()
        self.plan(ample)
        budget = str(ample - 512)
        self.assertNothingRan(self.guarded("--plan", "plan.json", "-b", budget), "budget", budget)

    def test_contradictions_are_usage_errors(self):
        (self.folder / "plan.json").write_text("{}")
        self.assertRefused(self.guarded("--plan", "plan.json", "-p", "whole"), 2, "--policy")
        self.assertRefused(self.guarded("--plan", "plan.json", "-m", "check"), 2, "guard")
        self.assertRefused(self.guarded("-p", "joint"), 2, "budget")
        self.contract(buffers=BUFFERS, step=None)
        self.assertRefused(self.guarded("-p", "joint", "-b", "1GiB"), 2, "step")
        self.assertRefused(self.guarded("--plan", "plan.json"), 2, "step")

    def test_what_only_a_replay_would_need_is_not_held_beside_outputs(self):
        """A forward's first run keeps what it makes, reads and overwrites, in case its replay finds
        that ready. None that is served does."""
        self.contract(state="discovered", buffers=None)
        job = self.words("replay", "0", "marked", segments=3, numbers=1000)
        eager = self.good(self.reprise("run", "--device", "soft", "--no-trace", "-qo", "bare", "--",
                                       *self.words("eager", "0", "marked", segments=3,
                                                   numbers=1000))).stdout
        self.good(self.guarded(job=job))
        self.assertGreater(self.summary()["bytes_recalled"], 0)
        plan = self.plan(1 << 40)
        self.assertEqual(plan["choices"], ["retain"] * 3)
        done = self.good(self.guarded("--plan", "plan.json", "-b", str(plan["peak_bytes"]),
                                      job=job))
        self.assertEqual(done.stdout, eager)
        found = self.summary()["plan"]
        self.assertTrue(found["in_force"], found)
        self.assertLessEqual(found["measured_peak_bytes"], plan["peak_bytes"])

    def test_a_step_that_takes_little_more_than_planned_is_told_of(self):
        script = self.folder / "job.sh"
        job = ["sh", "job.sh"]
        script.write_text("exec " + " ".join(self.words("replay")) + "\n")
        self.good(self.guarded(job=job))
        peak = self.plan(1 << 40)["peak_bytes"]
        done = self.good(self.guarded("--plan", "plan.json", job=job))
        self.assertNotIn("overrun_bytes", self.summary()["plan"])
        self.assertNotIn("more than planned", done.stderr)
        script.write_text("exec " + " ".join(self.words("replay", "4", "512")) + "\n")
        done = self.good(self.guarded("--plan", "plan.json", job=job))
        found = self.summary()["plan"]
        self.assertEqual((found["in_force"], found["overrun_bytes"]),
                         (True, found["measured_peak_bytes"] - peak))
        self.assertGreater(found["overrun_bytes"], 0)
        self.assertIn(f"{found['overrun_bytes']} bytes more than planned", done.stderr)

    # ---- given up ----

    def test_a_plan_that_stops_fitting_gives_way_to_the_safe_policy(self):
        """The command line is the same, but the script behind it has changed."""
        script = self.folder / "job.sh"

        def write(*more):
            script.write_text("exec " + " ".join(self.words("replay", *more)) + "\n")
        write()
        job = ["sh", "job.sh"]
        self.good(self.guarded(job=job))
        self.plan(1 << 40)
        write("4")
        done = self.good(self.guarded("--plan", "plan.json", job=job))
        eager = self.reprise("run", "--device", "soft", "-qo", "bare", "--",
                             *self.words("eager", "4")).stdout
        self.assertEqual(done.stdout, eager)
        plan = self.summary()["plan"]
        self.assertFalse(plan["in_force"])
        self.assertIn("not those of the plan", plan["reason"])
        self.assertIn("not those of the plan", done.stderr)

    def test_a_plan_gives_way_where_memory_is_refused(self):
        """The last segment is to keep whole buffers, and there is room for little more than the
        regions of them: it is replayed by regions, and so are all that come after it."""
        self.contract()
        job = [str(jobs.DIGITS), "-c", "-n", "6"]
        eager = self.good(self.guarded(job=job)).stdout
        room = self.min_budget()
        plan = self.plan(room)
        plan["segments"][-1]["choice"] = plan["choices"][-1] = "whole"
        self.edit_plan(segments=plan["segments"], choices=plan["choices"])
        done = self.good(self.guarded("--plan", "plan.json", "-b", str(room), job=job))
        self.assertEqual(done.stdout, eager)
        plan = self.summary()["plan"]
        self.assertFalse(plan["in_force"])
        self.assertIn("refused", plan["reason"])
        self.assertIn("the safe policy is in force", done.stderr)
        self.assertLessEqual(self.summary()["step_costs"]["peak_bytes"], room)

    def with_less_memory(self, **changes):
        """Under a plan that retains all, in just its memory, of which the job takes some more from
        the fourth step on. By then the outputs of forwards that are over have to be kept."""
        script = self.folder / "job.sh"

        def write(*more):
            script.write_text("exec " + " ".join(self.words("replay", *more)) + "\n")
        write()
        self.good(self.guarded(job=["sh", "job.sh"]))
        room = self.plan(1 << 40)["peak_bytes"]
        write("4", "24576")
        return self.guarded("--plan", "plan.json", "-b", str(room), job=["sh", "job.sh"],
                            **changes), room

    def test_outputs_that_find_no_memory_any_more_go_to_the_host(self):
        done, room = self.with_less_memory()
        self.assertEqual(self.good(done).stdout, self.eager)
        plan = self.summary()["plan"]
        self.assertFalse(plan["in_force"])
        self.assertIn("refused", plan["reason"])
        self.assertGreater(self.summary()["bytes_kept_on_host"], 0)
        self.assertLessEqual(self.summary()["step_costs"]["peak_bytes"], room)

    def test_without_the_host_the_run_comes_to_an_end(self):
        done, _ = self.with_less_memory(REPRISE_TEST_DISABLE="refuge")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "not-preserved|cuMemAlloc failed with 2")

    # ---- online ----

    def joint(self, budget, *more, steps=12, **changes):
        job = self.words("replay", *more, steps=steps)
        done = self.guarded("-p", "joint", "-b", str(budget), job=job, **changes)
        eager = self.reprise("run", "--device", "soft", "-qo", "bare", "--",
                             *self.words("eager", *more, steps=steps)).stdout
        self.assertEqual(self.good(done).stdout, eager)
        return self.summary()["plan"]

    def test_joint_plans_while_the_job_runs(self):
        _, ample = self.profiled()
        plan = self.joint(8 * ample)
        self.assertEqual((plan["in_force"], plan["plans"], plan["answer"]), (True, 1, "optimal"))
        self.assertGreaterEqual(plan["steps"], 5)
        self.assertIn("retain", plan["choices"].values())
        self.assertLessEqual(plan["measured_peak_bytes"], plan["planned_peak_bytes"])
        self.assertGreaterEqual(plan["measured_peak_bytes"], 0.98 * plan["planned_peak_bytes"])

    def test_joint_plans_again_when_the_step_changes(self):
        _, ample = self.profiled()
        plan = self.joint(8 * ample, "8", steps=24)
        self.assertEqual((plan["in_force"], plan["plans"]), (True, 2))
        self.assertEqual(len(plan["choices"]), 7)

    def test_joint_keeps_the_budget(self):
        least, ample = self.profiled()
        budget = (least + ample) // 2
        plan = self.joint(budget)
        self.assertTrue(plan["in_force"])
        self.assertLessEqual(self.summary()["step_costs"]["peak_bytes"], budget)
        self.assertLess(list(plan["choices"].values()).count("retain"), 8)

    def goes_on_without_memory_for(self, functions, expected, *words, **job):
        """The first and the third allocation in each of these functions is refused."""
        for function in functions:
            for nth in 1, 3:
                with self.subTest(function=function, allocation=nth):
                    refused = f"{nth}@{code_of(function)}"
                    done = self.guarded(*words, **job, REPRISE_TEST_SCARCE=refused)
                    self.assertEqual(self.good(done).stdout, expected)
                    self.assertEqual(self.summary()["shortages"], 1)

    @unittest.skipUnless(HAS_SWITCHES, "built without switches")
    def test_without_memory_of_the_host_for_a_plan_the_job_goes_on(self):
        self.goes_on_without_memory_for(
            ["rp_planner_solve", "rp_estimate_profile", "rp_estimate_write"], self.eager,
            "-p", "joint", "-b", "1GiB")

    @unittest.skipUnless(HAS_SWITCHES, "built without switches")
    def test_in_recompute_too(self):
        job = self.words("eager", segments=3, steps=4)
        bare = self.good(self.reprise("run", "--device", "soft", "-qo", "bare", "--", *job))
        self.contract(state="discovered", buffers=None)
        self.goes_on_without_memory_for(["rp_planner_solve", "rp_estimate_write"], bare.stdout,
                                        "-m", "recompute", "-p", "joint", "-b", "1GiB", job=job)


if __name__ == "__main__":
    jobs.main()
