#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a joint plan buys and whether plans come true, from one process a method of each of the
field's experiments: the model clock gives the same job the same times, whatever its seed.

usage: experiments_bench.py BUILD"""
import json
import pathlib
import subprocess
import sys
import tempfile

from figures import figure

EXPERIMENTS = pathlib.Path(__file__).resolve().parents[1] / "experiments" / "experiments.py"


def run():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, EXPERIMENTS, "--build", sys.argv[1], "--processes",
                               "1", "-o", folder], check=False)
        return done.returncode, json.loads(pathlib.Path(folder, "experiments.json").read_text())


def tell_plans(experiments):
    """How far the worst plan is from what was measured, either way."""
    times, peaks = [], []
    for experiment in experiments:
        for name, plan in experiment["plans"].items():
            for one in experiment["cohorts"].get(name, ()):
                times.append(abs(one["ns"] / plan["ns"] - 1))
                peaks.append(abs(one["peak"] / plan["peak"] - 1))
    figure("plan.time-off-at-most", max(times), "ratio", "<= 0.1")
    figure("plan.peak-off-at-most", max(peaks), "ratio", "<= 0.02")


def tell_joint(experiments, published):
    """Beside the published ratios of the same questions."""
    questions = {"sparse, 44GiB": (published["sparse"]["44GiB"]["against"],
                                   published["sparse"]["44GiB"]["ratio"][1], "<= 0.8195"),
                 "sparse, 32GiB": (published["sparse"]["32GiB"]["against"],
                                   1 + published["sparse"]["32GiB"]["percent"] / 100, None),
                 "dense": (published["dense"]["against"], published["dense"]["ratio"][0], None)}
    for experiment in experiments:
        against, theirs, goal = questions.get(experiment["title"], (None, None, None))
        if against in experiment["cohorts"]:
            ours = [one["ns"] for one in experiment["cohorts"]["joint"]]
            others = [one["ns"] for one in experiment["cohorts"][against]]
            figure(f"plan.joint-over-{against}-{experiment['title']}".replace(", ", "-")
                   .replace(" ", "-"), sum(ours) / sum(others), "ratio", goal, theirs)


def main():
    code, document = run()
    tell_plans(document["experiments"])
    tell_joint(document["experiments"], document["published"])
    return code


sys.exit(main())
