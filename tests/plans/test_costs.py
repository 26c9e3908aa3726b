#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A run leaves a profile of what its segments cost, and `reprise plan` works from it."""
import json

import jobs

TIMES = ["forward_ns", "backward_ns", "preserve_ns", "stash_ns", "restore_ns", "replay_ns",
         "reinstate_ns"]


class Costs(jobs.Case):
    def test_a_guarded_run_leaves_a_profile_that_can_be_planned_with(self):
        self.contract()
        self.good(self.digits())
        profile = self.profile()
        self.assertEqual([segment["name"] for segment in profile["segments"]], jobs.SEGMENTS)
        self.assertTrue(profile["made_for"]["job"].endswith("digits --checkpoint --steps 6"))
        self.assertRegex(profile["made_for"]["contract"], "^0x[0-9a-f]{16}$")
        for name, options in self.options().items():
            terms = options["regions"]["terms"]
            for term in TIMES:
                self.assertIn(terms[term]["source"], ("cuda-events", "model-clock"), (name, term))
                self.assertGreater(terms[term]["value"], 0, (name, term))
            for term in ("hold_bytes", "stash_bytes", "peak_forward_bytes"):
                self.assertEqual(terms[term]["source"], "counted")
        self.assertEqual(profile["copy"]["bytes_per_us"]["source"], terms["stash_ns"]["source"])
        plan = self.good(self.reprise("plan", "-b", "1GiB", "--json"))
        self.assertEqual(json.loads(plan.stdout)["status"], "optimal")

    def test_bytes_are_those_that_the_contract_names(self):
        self.contract()
        self.good(self.digits())
        options = self.options()
        # A whole buffer is never less than what is clobbered of it.
        for name in jobs.SEGMENTS:
            hold = {choice: options[name][choice]["terms"]["hold_bytes"]["value"]
                    for choice in ("whole", "regions")}
            self.assertGreaterEqual(hold["whole"], hold["regions"])
        whole = options["segment/contrast"]["whole"]["terms"]["hold_bytes"]["value"]
        self.assertEqual(whole, 64 * 1024 + 2 * 1024 + 512)  # 40 bytes take a quantum

    def test_the_parts_add_up_to_the_step(self):
        """By the model clock: on shared processors no step is like another."""
        (self.folder / "large.json").write_text(
            '{"version": 1, "base": "h200", "bytes_scale": 10000, "ops_scale": 10000}')
        self.contract()
        self.good(self.digits(steps=10, REPRISE_SOFT_CLOCK=str(self.folder / "large.json")))
        total = sum(term["value"] for options in self.options().values()
                    for name, term in options["regions"]["terms"].items() if name.endswith("_ns"))
        jobs.near(self, total, self.summary()["step_costs"]["last_ns"], 0.02)

    def test_a_call_amid_a_replay_that_is_none_of_it_counts_for_the_backward(self):
        """Both jobs have the same backward, but one writes a gradient amid its replay."""
        self.contract(buffers=[jobs.STATE])
        backward = {}
        for scenario in ("accumulator", "live-write"):
            self.good(self.law(scenario, REPRISE_SOFT_CLOCK="h200"))
            terms = self.options()["segment/only"]["regions"]["terms"]
            backward[scenario] = terms["backward_ns"]["value"]
        self.assertGreater(backward["live-write"], backward["accumulator"])

    def test_only_what_guard_preserves_is_measured(self):
        self.contract()
        self.good(self.digits("-m", "check"))
        terms = self.options()["segment/block1"]["regions"]["terms"]
        self.assertEqual(terms["preserve_ns"]["source"], "absent")
        self.assertNotEqual(terms["forward_ns"]["source"], "absent")
        self.assertRefused(self.reprise("plan", "-b", "1GiB"), 2, "is absent", "guard")

    # ---- ranges, for the models that ask for them ----

    def status(self, *words):
        return json.loads(self.good(self.reprise("plan", "--json", "-b", "1GiB", *words)).stdout)

    def facts(self):
        return {segment["name"]: segment["facts"] for segment in self.profile()["segments"]}

    def test_a_run_leaves_what_every_model_needs(self):
        self.contract()
        self.good(self.digits())
        for model in ("nested", "shared", "lazy"):
            self.assertEqual(self.status("--model", model)["status"], "optimal")
        contrast = self.facts()["segment/contrast"]
        kept = {piece["buffer"]: piece["bytes"] for piece in contrast["reads"]}
        self.assertEqual(kept, {"class_counts": 40, "queue": 8192, "queue_labels": 256})
        buffers = {buffer["name"]: buffer["bytes"] for buffer in self.profile()["buffers"]}
        self.assertEqual(buffers["queue"], 64 * 1024)

    def chain(self, *more):
        self.contract(buffers=[jobs.RING, jobs.STATE])
        self.good(self.reprise("run", "--device", "soft", "--no-trace", "-c", "contract.json", "--",
                               str(jobs.PLAN_JOB), str(jobs.KERNELS), "replay", "8", "2000", "5",
                               *more))

    def least(self, *words):
        answer = self.reprise("plan", "--json", "-b", "1", "--policy", "regions", *words)
        return json.loads(answer.stdout)["min_budget_bytes"]

    def test_what_regions_hold_is_what_follows_from_the_ranges(self):
        self.chain()
        lazy = ("--policy", "regions", "--model", "lazy")
        derived = self.status(*lazy, "-b", str(self.least("--model", "lazy")))["segments"]
        replayed = [segment for segment in derived if segment["choice"] == "regions"]
        self.assertGreater(len(replayed), 4)
        for segment in replayed:
            terms = self.options()[segment["name"]]["regions"]["terms"]
            for term in ("hold_bytes", "stash_bytes", "peak_forward_bytes",
                         "peak_backward_bytes"):
                self.assertEqual(segment["terms"][term]["value"], terms[term]["value"], term)

    def test_whole_buffers_are_never_less_than_regions(self):
        """Nor where a first run keeps what it has made: under any policy it does."""
        self.contract(state="discovered", buffers=None)
        self.good(self.reprise("run", "--device", "soft", "--no-trace", "-c", "contract.json", "--",
                               str(jobs.PLAN_JOB), str(jobs.KERNELS), "replay", "2", "1000", "5",
                               "0", "dotted"))
        for options in self.options().values():
            hold = {choice: options[choice]["terms"]["hold_bytes"]["value"]
                    for choice in ("whole", "regions")}
            self.assertGreaterEqual(hold["whole"], hold["regions"])

    def test_what_many_read_is_kept_once_under_shared(self):
        """A row that all have read, and that is overwritten after the first backward."""
        self.chain("0", "common")
        rows = [piece for facts in self.facts().values() for piece in facts["reads"]
                if piece["buffer"] == "ring"]
        self.assertEqual(rows, rows[:1] * 7)
        self.count_from_the_forward_on()  # as shared does
        least = {model: self.least("--model", model) for model in ("nested", "shared")}
        row = rows[0]["bytes"]
        self.assertLessEqual(least["shared"], least["nested"] - 5 * row)

    def test_what_a_backward_clobbers_counts_beside_all_of_it_under_lazy(self):
        """A run copies that row when most of what that backward needed is gone."""
        self.chain("0", "common")
        self.assertGreater(self.least("--model", "lazy"), self.least("--model", "nested"))
        answer = self.status("--model", "lazy")
        self.assertIn("beside all of the pass that clobbers", answer["exact"])

    def count_from_the_forward_on(self):
        profile = self.profile()
        for segment in profile["segments"]:
            for option in segment["options"].values():
                later = sum(part["bytes"] for part in option.pop("later", []))
                option["terms"]["peak_forward_bytes"]["value"] += later
        (self.folder / "reprise.data" / "profile.json").write_text(json.dumps(profile))

    def test_what_comes_later_is_in_the_profile(self):
        """A row that all have read, and that is overwritten after the first backward."""
        self.chain("0", "common")
        row = 2000 * 4
        for name, options in self.options().items():
            later = options["regions"].get("later", [])
            place = int(name.rpartition("/")[2])
            if place < 6:  # of 8; the last but one keeps it right before its own replay
                self.assertEqual([(part["pass"], part["segment"]) for part in later],
                                 [("backward", 6)], name)
                self.assertGreaterEqual(later[0]["bytes"], row)
            else:
                self.assertEqual(later, [], name)

    def test_where_there_are_no_ranges_the_models_say_why(self):
        self.contract()
        self.good(self.digits("-p", "whole"))
        self.assertEqual(self.status()["status"], "optimal")
        refused = self.reprise("plan", "-b", "1GiB", "--model", "shared")
        self.assertRefused(refused, 2, "the shared model needs facts", "whole buffers", "nested")

    def test_a_run_obeys_plans_of_the_nested_model(self):
        self.contract()
        self.good(self.digits())
        wrote = self.good(self.reprise("plan", "-b", "1GiB", "--model", "lazy", "-o", "plan.json"))
        self.assertIn("nested model only", wrote.stderr)
        self.assertRefused(self.digits("--plan", "plan.json"), 2, "the lazy model",
                           "--model nested")

    def test_without_steps_there_is_no_profile_and_the_summary_says_so(self):
        self.contract(step=None)
        self.good(self.digits())
        self.assertFalse((self.folder / "reprise.data" / "profile.json").exists())
        self.assertEqual(self.summary()["step_costs"]["no_profile"], "the contract names no step")
        self.assertRefused(self.reprise("plan"), 65, "profile.json")

    def test_replays_in_another_order_are_no_case_for_the_planner(self):
        segment = jobs.CONTRACT["segments"][0] | {"pair": "fifo"}
        self.contract(segments=[segment], buffers=[jobs.STATE])
        self.good(self.law("fifo"))
        self.assertIn("reverse order", self.profile()["departure"])
        self.assertRefused(self.reprise("plan", "-b", "1GiB"), 2, "reverse order")

    def test_streams_side_by_side_are_no_case_for_the_planner(self):
        self.contract(buffers=[jobs.STATE])
        self.good(self.law("side-stream"))
        self.assertIn("streams", self.profile()["departure"])

    def test_forwards_of_one_name_are_counted(self):
        self.contract(segments=[jobs.CONTRACT["segments"][0] | {"pair": "lifo"}],
                      buffers=[jobs.STATE])
        self.good(self.law("lifo"))
        names = list(self.options())
        self.assertEqual(len(set(names)), len(names))
        self.assertGreater(len(names), 1)

    def test_the_contract_is_the_same_under_another_policy(self):
        hashes = set()
        for changes in ({}, {"policy": "whole"}, {"budget": "1GiB"}, {"state": "discovered",
                                                                      "buffers": None}):
            self.contract(**changes)
            self.good(self.digits(steps=3))
            hashes.add(self.profile()["made_for"]["contract"])
        self.assertEqual(len(hashes), 2)  # only the state makes another contract of it


if __name__ == "__main__":
    jobs.main()
