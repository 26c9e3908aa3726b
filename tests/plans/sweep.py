#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All jobs at many budgets and under every policy, on every model clock as it is, where the host
bounds most of them: planned against measured (compared.py), and the worst per clock.

usage: sweep.py REPRISE DIGITS DECLARED_CONTRACT LAW_JOB LAW_KERNELS PLAN_JOB FAKE_CUPTI BANKS
                LAW_JOB_LONG SOFT_FOLDER SOURCE

Where a plan's peak has no room for idle blocks of both sizes that a step needs in turn, four steps
must have shown that one may stand in the other (cuda/lodging.h), and until then each step trades
them. A job whose steps under a plan are mostly those has them in its median: up to LEARNING.

Jobs in tinygrad take part where `tools/dev clients` has got it. SWEEP_JOBS and SWEEP_CLOCKS, each
words with spaces between, leave out all others."""
import fnmatch
import json
import os
import pathlib
import sys

import compared
import jobs

sys.path.insert(0, str(compared.HERE.parent / "clients"))
from clients import Missing, Place  # noqa: E402

LAW_JOB_LONG, SOFT, SOURCE = (pathlib.Path(word).resolve() for word in sys.argv[9:12])
CLOCKS = os.environ.get("SWEEP_CLOCKS", "h200 h100nl rtx4090").split()
JOBS = os.environ.get("SWEEP_JOBS", "*").split()
BUDGETS = 6
LEARNING, LEARNT = 0.26, 16  # the share of a job of three steps; steps that are enough
DISCOVERED = {"state": "discovered", "buffers": None}
# Segments, numbers, steps and what else: plan_job.c.
CHAINS = [(1, 1000, 16, 0, "marked"), (1, 40000, 12), (2, 30000, 12), (2, 64, 8, 0, "tailed"),
          (3, 40000, 7), (8, 2000, 6), (13, 3333, 7), (21, 513, 9), (48, 4001, 6),
          (4, 5000, 6, 0, "common"), (8, 5000, 6, 0, "common"), (12, 3000, 6, 0, "common"),
          (2, 1000, 8, 0, "marked"), (2, 1000, 3), (1, 64, 3), (3, 100, 4)]
DISCOVERED_CHAINS = [(9, 1777, 7), (6, 5000, 7, 0, "common"), (5, 6000, 7, 0, "dotted")]
# In tinygrad: the buffers that are declared, if any, and the seed
# (tests/suites/cohort_tinygrad.py).
TINYGRAD = [("hidden-buffer", {"mean": 288}, 0), ("local-view", {"pool": 24576}, 0),
            ("generator", {"generator": 8}, 1), ("hidden-buffer", None, 1)]
SEGMENT = {"name": "segment", "forward": {"nvtx": "forward/segment"},
           "replay": {"nvtx": "recompute/segment"}}


def wanted(name):
    return any(fnmatch.fnmatch(name, pattern) for pattern in JOBS)


class Sweep(compared.Case):
    def judge(self, row):
        """All are looked at before any is a failure."""
        row.clock = self.clock
        row.learns = self.summary()["plan"]["steps"] < LEARNT

    def is_right(self, row):
        return row.holds(self.slack, LEARNING if row.learns else self.share)

    def over(self, name, job, budgets=BUDGETS, **changes):
        if not wanted(name):
            return
        for self.clock in CLOCKS:
            if self.compare(f"{name} {self.clock}", job, budgets, **changes):
                self.compare_policies(f"{name} {self.clock}", job, **changes)

    def worst(self, what, rows):
        if not rows:
            return
        peak, time = (max(rows, key=key) for key in (lambda row: abs(row.peak),
                                                     lambda row: abs(row.time)))
        self.lines.append(f"worst {what} of {len(rows)} plans: peak {100 * peak.peak:+.2f}% "
                          f"({peak.job}), time {100 * time.time:+.2f}% ({time.job})")

    def tearDown(self):
        for clock in CLOCKS:
            for learns, what in ((False, ""), (True, ", in a few steps,")):
                self.worst(f"on {clock}{what}", [row for row in self.rows if row.clock == clock and
                                                 row.learns == learns])
        super().tearDown()
        self.assertEqual([str(row) for row in self.rows if not self.is_right(row)], [])

    def test_digits(self):
        for name, words in (("declared", []), ("discovered", ["--blocks=5"]),
                            ("discovered", ["--blocks=3"]), ("launches", [])):
            contract = json.loads((compared.EXAMPLES / "digits" / f"{name}.json").read_text())
            (self.folder / "contract.json").write_text(json.dumps(contract))
            self.over(" ".join(["digits", name, *words]),
                      [jobs.DIGITS, "--checkpoint", "--steps", "6", *words])

    def test_banks(self):
        for words in ([], ["--layers=1:4,1:4"], ["--layers=1:2,3:8,2:1,1:9,4:3"]):
            self.over(" ".join(["banks", *words]), self.banks(*words))

    def test_chains(self):
        for chain in CHAINS:
            self.over(" ".join(map(str, ("chain", *chain))), self.chain(*chain))
        for chain in DISCOVERED_CHAINS:
            self.over(" ".join(map(str, ("discovered", *chain))), self.chain(*chain, **DISCOVERED))

    def test_the_jobs_of_the_laws(self):
        for scenario in compared.LAWS:
            job = self.laws(scenario)
            self.over(scenario, job, 2)
            self.over(f"{scenario} at length", [LAW_JOB_LONG, *job[1:]], 2)

    def test_tinygrad(self):
        try:
            place = Place(jobs.harness.REPRISE, SOFT, SOURCE, self.folder)
            python, digits = place.python("tinygrad", "numpy", "nvtx"), place.digits()
        except Missing as reason:
            self.skipTest(str(reason))
        job = compared.HERE.parent / "suites" / "cohort_tinygrad.py"
        for condition, buffers, seed in TINYGRAD:
            named = [{"name": name, "at": {"allocation": {"bytes": size}}}
                     for name, size in (buffers or {}).items()]
            self.contract(segments=[SEGMENT], buffers=named if buffers else None,
                          state="declared" if buffers else "discovered")
            self.over(f"tinygrad {condition} {'declared' if buffers else 'discovered'}",
                      [python, job, condition, "replay", seed, 10, digits, "out.jsonl"],
                      DEV="CUDA:PTX", CACHELEVEL="0", REPRISE_CACHE="off")


if __name__ == "__main__":
    jobs.main()
