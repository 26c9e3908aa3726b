#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A data-parallel job of four ranks over MPI: guarded it trains as it should, and what goes wrong
is named by rank.

usage: test_ranks.py REPRISE RANKS CONTRACT"""
import json
import os
import pathlib
import re
import shutil
import sys

import harness

RANKS, CONTRACT = (pathlib.Path(word).resolve() for word in sys.argv[2:4])
COUNT = 4
MPIRUN = ["mpirun", "--tag-output", "--oversubscribe", "--bind-to", "none", "-n", str(COUNT)]
STEPS = ["--steps", "6", "--batch", "32"]


class Ranks(harness.Case):
    def launch(self, options, *words):
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = self.reprise("run", "-q", "-d", "soft", *options, "--", *MPIRUN, str(RANKS), *words,
                            *STEPS, REPRISE_SOFT_WORKERS="1", **as_root)
        self.assertEqual(done.returncode, 0, done.stderr)
        states = [{} for _ in range(COUNT)]
        for rank, key, value in re.findall(r"\[1,(\d)\]<stdout>:(\w+) (\S+)", done.stdout):
            states[int(rank)][key] = value
        self.assertTrue(all(len(state) == 8 for state in states), done.stdout)
        return states

    def test_guarded_replays_train_as_without_replays(self):
        eager = self.launch(["--no-trace"], "--eager")
        guarded = self.launch(["-m", "guard", "-c", str(CONTRACT)], "--checkpoint")
        self.assertEqual(guarded, eager)
        self.assertEqual(len({state["parameters"] for state in eager}), 1)
        self.assertEqual(len({state["queue"] for state in eager}), COUNT)

    def test_the_contract_that_discover_writes_guards_them(self):
        eager = self.launch(["--no-trace"], "--eager")
        self.launch(["-o", "observed"], "--checkpoint")
        done = self.reprise("discover", "-o", "found.json", "observed")
        self.assertEqual(done.returncode, 0, done.stderr)
        guarded = self.launch(["-m", "guard", "-c", "found.json", "-o", "guarded"], "--checkpoint")
        self.assertEqual(guarded, eager)
        bare = self.launch(["--no-trace"], "--checkpoint")
        self.assertNotEqual(bare, eager, "the replays must be wrong without a guard")

    def test_traces_and_hazards_are_named_by_rank(self):
        self.launch(["-m", "check", "-c", str(CONTRACT)], "--checkpoint")
        names = sorted(path.name for path in (self.folder / "reprise.data").glob("trace-rank*"))
        self.assertEqual([re.match(r"trace-rank(\d)-\d+\.rpt", name)[1] for name in names],
                         ["0", "1", "2", "3"])
        hazards = json.loads(self.reprise("check", "--json").stdout)["hazards"]
        self.assertEqual({hazard["rank"] for hazard in hazards}, set(range(COUNT)))
        self.assertRegex(self.reprise("check").stdout,
                         r"(?m)^  rank     2, process \d+$|^  ranks    0 to 3, the same in each$")
        told = self.reprise("info").stdout
        for rank in range(COUNT):
            self.assertRegex(told, rf"(?m)^process  \d+, rank {rank}  ")
        self.assertEqual(self.reprise("report", "-q").returncode, 0)


if __name__ == "__main__":
    if not shutil.which("mpirun"):
        print("skipped: mpirun is not there")
        sys.exit(77)
    os.environ.setdefault("HOME", "/root")
    harness.main()
