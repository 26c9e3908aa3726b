#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every job, at budgets from the least to the most that it has use for, where bytes and operations
take most of the time, and one where the host does: planned against measured (compared.py). A job
that no model covers is listed with the reason. Prints the table. sweep.py does the same with more
jobs, where the host bounds them."""
import json

import compared
import jobs

LARGE = {"version": 1, "base": "h200", "bytes_scale": 10000, "ops_scale": 10000}


class Table(compared.Case):
    def setUp(self):
        super().setUp()
        (self.folder / "large.json").write_text(json.dumps(LARGE))
        self.clock = str(self.folder / "large.json")

    def test_digits(self):
        self.contract()
        chosen = self.compare("digits", [jobs.DIGITS, "-c", "-n", "6"], 4)
        self.assertLessEqual({"retain", "regions"}, chosen)

    def test_chains_of_segments(self):
        for segments, numbers in ((1, 2000), (8, 2000), (24, 1000), (48, 4001)):
            chosen = self.compare(f"chain of {segments}, {numbers}",
                                  self.chain(segments, numbers), 4)
            self.assertLessEqual({"retain", "regions"} if segments > 1 else {"retain"}, chosen)

    # ---- a ring that all read, and a row of it changes after the first backward ----

    def test_what_a_backward_overwrites_is_kept_from_then_on(self):
        for segments, numbers in ((4, 5000), (8, 5000), (12, 3000), (6, 20000)):
            job = self.chain(segments, numbers, 6, 0, "common")
            self.compare(f"chain of {segments} with one ring", job, 5)

    def test_without_that_it_counts_from_the_forward_on(self):
        """Too much, and never too little."""
        self.off = "later"
        self.slack = 0.05
        self.compare("chain of 8, from the forward on", self.chain(8, 5000, 6, 0, "common"), 5)
        self.assertGreater(max(row.peak for row in self.rows), 0.02)

    def test_the_jobs_of_the_laws(self):
        covered = 0
        for scenario in compared.LAWS:
            covered += bool(self.compare(scenario, self.laws(scenario), 2))
        self.assertGreaterEqual(covered, 14)


class Policies(compared.Case):
    """Where the host bounds most of what a step takes, and all that was preserved had one size."""

    def test_every_policy_takes_what_was_planned_where_copies_are_small(self):
        for words in ([], ["--layers=1:4,1:4"]):
            job = self.banks(*words)
            name = " ".join(["banks", *words])
            self.assertIn("retain", self.compare(name, job, 3))
            self.compare_policies(name, job)


if __name__ == "__main__":
    jobs.main()
