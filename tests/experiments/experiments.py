#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The field's experiments: what a joint plan buys, and where it does not.

    sparse     layers with large activations that write little of large state, at two budgets
    eager wins the same with little of both, and a budget that has room for everything
    dense      a contrast whose state is overwritten as a whole, then a probe, by seven methods

Each run is a process of its own; methods are paired by seed. On the software device times are those
of a model clock and sizes are scaled: a small run shows the proportions of a large one. Prints
TAP, with our figures beside published ones as comments, and writes experiments.json and pictures.
Exit status 77, with the reason, where it can't run."""
import argparse
import concurrent.futures
import dataclasses
import json
import pathlib
import statistics
import sys
import tempfile

import figures
import workloads
from rig import ROOT, Absent, Broken, Rig

PUBLISHED = json.loads((pathlib.Path(__file__).parent / "published.json").read_text())
AMPLE = 1 << 50  # with a budget, however large, the layer takes no more than it needs
TIME_TOLERANCE, PEAK_TOLERANCE = 0.10, 0.02


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def note(self, text):
        print(f"# {text}", flush=True)

    def check(self, good, text):
        self.count += 1
        self.failed += not good
        print(f"{'' if good else 'not '}ok {self.count} - {text}", flush=True)


class Experiment:
    """One workload at one budget: every method planned, then run for every seed."""

    def __init__(self, rig, tap, options, workload, methods, budget, title):
        self.rig, self.tap, self.options = rig, tap, options
        self.workload, self.methods, self.budget, self.title = workload, methods, budget, title
        self.plans, self.cohorts, self.impossible = {}, {}, {}

    def layer_of(self, method):
        contract = self.workload.contracts[method.contract]
        if not method.checkpoint:
            return "-m", "check", "-c", contract
        if method.policy:
            return "-m", "guard", "-p", method.policy, "-c", contract, "-b", AMPLE
        return ("-m", "guard", "-c", contract, "--plan", self.plans[method.name]["file"], "-b",
                self.budget // self.workload.scale)

    def plan(self, profile):
        scale = self.workload.scale
        for method in self.methods:
            if not method.plans:
                continue
            told, path = self.rig.plan(profile, self.budget, method.plans, scale)
            if path is None:
                least = told.get("min_budget_bytes")
                self.impossible[method.name] = (
                    f"no plan fits; the smallest takes {figures.gib(least * scale)}" if least else
                    "no plan fits")
            else:
                self.plans[method.name] = {"file": path, "peak": told["peak_bytes"] * scale,
                                           "ns": told["time_ns"], "choices": told["choices"]}

    def one(self, method, seed):
        command = (self.workload.checkpoint if method.checkpoint else self.workload.eager)
        return self.rig.measure(*self.layer_of(method), command=command,
                                scale=self.workload.scale, seed=seed)

    def run(self, profile, processes):
        self.processes = processes
        self.plan(profile)
        seeds = range(1, processes + 1)
        todo = [(method, seed) for seed in seeds for method in self.methods
                if method.name not in self.impossible]
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for (method, _), measured in zip(todo, pool.map(lambda pair: self.one(*pair), todo)):
                self.cohorts.setdefault(method.name, []).append(measured)

    def median(self, name):
        return statistics.median(one.ns for one in self.cohorts[name])

    def peak(self, name):
        return max(one.peak for one in self.cohorts[name])

    # ---- what is told ----

    def rows(self):
        for method in self.methods:
            name = method.name
            if name in self.impossible:
                yield name, None, None, self.impossible[name]
            else:
                yield name, self.median(name), self.peak(name), ""

    def tell(self):
        self.tap.note(f"{self.title}; {self.processes} processes a method, "
                      f"{self.rig.device if self.rig.device != 'soft' else self.rig.clock}")
        self.tap.note(f"{'method':<20}{'step, measured':>15}{'planned':>14}{'peak, measured':>16}"
                      f"{'planned':>14}")
        for name, ns, peak, note in self.rows():
            plan = self.plans.get(name, {})
            self.tap.note(f"{name:<20}{note}" if ns is None else
                          f"{name:<20}{ns / 1e6:>12.3f} ms"
                          + (f"{plan['ns'] / 1e6:>11.3f} ms" if plan else f"{'-':>14}")
                          + f"{figures.gib(peak):>16}"
                          + (f"{figures.gib(plan['peak']):>14}" if plan else f"{'-':>14}"))

    def ratio(self, ours, theirs):
        return figures.paired_ratio(self.cohorts[ours], self.cohorts[theirs])

    def tell_ratio(self, ours, theirs, published=""):
        mean, low, high = self.ratio(ours, theirs)
        self.tap.note(f"{ours} over {theirs}: time {mean:.4f} ({low:.4f} to {high:.4f}), "
                      f"{100 * (mean - 1):+.2f} %; memory "
                      f"{100 * (self.peak(ours) / self.peak(theirs) - 1):+.2f} %"
                      + (f"    published: {published}" if published else ""))

    def record(self):
        return {"title": self.title, "workload": self.workload.about, "scale": self.workload.scale,
                "budget_bytes": self.budget, "command": [str(word) for word in
                                                         self.workload.checkpoint],
                "impossible": self.impossible,
                "plans": {name: {key: value for key, value in plan.items() if key != "file"}
                          for name, plan in self.plans.items()},
                "cohorts": {name: [dataclasses.asdict(one) for one in cohort]
                            for name, cohort in self.cohorts.items()}}

    # ---- what must hold ----

    def check_bytes(self):
        eager = {one.seed: one.says for one in self.cohorts["eager"]}
        wrong = sorted({name for name, cohort in self.cohorts.items() for one in cohort
                        if one.says != eager[one.seed]})
        self.tap.check(not wrong, f"{self.title}: every method leaves the bytes of eager"
                       + (f"; not so {', '.join(wrong)}" if wrong else ""))

    def check_plans(self):
        for name, plan in self.plans.items():
            if name not in self.cohorts:
                continue
            time, peak = self.median(name) / plan["ns"] - 1, self.peak(name) / plan["peak"] - 1
            self.tap.check(abs(time) <= TIME_TOLERANCE and abs(peak) <= PEAK_TOLERANCE,
                           f"{self.title}: {name} as planned, {100 * time:+.2f} % time, "
                           f"{100 * peak:+.2f} % peak")
            self.tap.check(self.peak(name) <= self.budget,
                           f"{self.title}: {name} stays within its budget")

    def check_ahead(self, other, published):
        """On the model clock; what a GPU says is told, whatever it is."""
        high = self.ratio("joint", other)[2] if other in self.cohorts else float("inf")
        self.tap.check(high <= published or self.rig.device != "soft",
                       f"{self.title}: joint is at least as far ahead of {other} as published "
                       f"({high:.4f}, published up to {published})")

    def check_control(self):
        """Nothing can be said for the guard where a bare job is right too."""
        bare = self.rig.measure("-m", "check", "-c", self.workload.contracts["declared"],
                                command=self.workload.checkpoint, scale=self.workload.scale,
                                seed=1)
        self.tap.check(bare.says != self.cohorts["eager"][0].says,
                       f"{self.title}: without a guard the replays go wrong")

    def finish(self):
        self.tell()
        self.check_bytes()
        self.check_plans()
        name = self.title.replace(" ", "-").replace(",", "")
        (self.options.output / f"{name}.svg").write_text(
            figures.bars(f"{self.title}: {self.workload.about}", list(self.rows())))


def check_model(rig, tap, workload, profile, picture):
    """In the model no baseline is ever ahead of joint, at any budget."""
    baselines = rig.compare(profile, picture)
    joint = {one["budget_bytes"]: one for one in baselines["joint"]["trials"]}
    ahead = [f"{name} at {figures.gib(one['budget_bytes'] * workload.scale)}"
             for name, baseline in baselines.items() for one in baseline.get("trials", ())
             if name != "grid" and one["fits"] and (not joint[one["budget_bytes"]]["fits"] or
                one["time_ns"] < joint[one["budget_bytes"]]["time_ns"])]
    tap.check(not ahead, f"{workload.name}: in the model joint is never behind"
              + (f"; it is behind {', '.join(ahead)}" if ahead else f" any of "
                 f"{len(baselines) - 1} baselines at {len(joint)} budgets"))


# ---- the experiments ------------------------------------------------------------------


def sparse(rig, tap, options):
    workload = workloads.banks(rig, "sparse", "large activations, sparse writes of large state",
                               workloads.SPARSE, options.unit, options.steps)
    profile = rig.profile(workload.contracts["declared"], workload.checkpoint, workload.scale)
    check_model(rig, tap, workload, profile, options.output / "sparse-frontier.svg")
    done = []
    for name in options.budget:
        told = PUBLISHED["sparse"][name]
        experiment = Experiment(rig, tap, options, workload,
                                workloads.FEW if options.short else workloads.OF_BUDGETS,
                                workloads.BUDGETS[name], f"sparse, {name}")
        experiment.run(profile, options.processes)
        experiment.finish()
        against = told["against"]
        for other, peak in told["peak_gib"].items():
            if other in experiment.cohorts:
                tap.note(f"peak of {other}: {figures.gib(experiment.peak(other))}    "
                         f"published: {peak:.3f} GiB")
        for other in experiment.cohorts:
            if other != "joint":
                experiment.tell_ratio("joint", other, f"{told['percent']:+.2f} %"
                                      if other == against else "")
        if name == "44GiB":
            experiment.check_ahead(against, told["ratio"][1])
            experiment.check_control()
        else:
            tap.check(told["infeasible"] in experiment.impossible,
                      f"{experiment.title}: {told['infeasible']} does not fit: "
                      f"{experiment.impossible.get(told['infeasible'], 'it does')}")
        done.append(experiment.record())
    return done


def eager_wins(rig, tap, options):
    """Where memory is not short nothing is gained, and it must be said."""
    workload = workloads.banks(rig, "eager wins", "little state, and room for every activation",
                               workloads.SMALL, options.unit, options.steps)
    profile = rig.profile(workload.contracts["declared"], workload.checkpoint, workload.scale)
    check_model(rig, tap, workload, profile, options.output / "eager-wins-frontier.svg")
    experiment = Experiment(rig, tap, options, workload, workloads.OF_PLENTY,
                            workloads.BUDGETS["44GiB"], "eager wins")
    experiment.run(profile, options.processes)
    experiment.finish()
    for other in experiment.cohorts:
        if other != "joint":
            experiment.tell_ratio("joint", other)
    choices = set(experiment.plans["joint"]["choices"])
    tap.check(choices == {"retain"} and
              experiment.plans["joint"]["ns"] == experiment.plans["retain or whole"]["ns"],
              "eager wins: joint retains everything, and is no better than retain or whole")
    return [experiment.record()]


def dense(rig, tap, options):
    workload = workloads.contrast(rig, *options.dense)
    profile = rig.profile(workload.contracts["declared"], workload.checkpoint, workload.scale)
    check_model(rig, tap, workload, profile, options.output / "dense-frontier.svg")
    ample, _ = rig.plan(profile, 1 << 50, "joint", workload.scale)
    budget = (ample["min_budget_bytes"] + ample["peak_bytes"]) // 2 * workload.scale
    methods = workloads.OF_DENSE if options.short else workloads.SEVEN
    experiment = Experiment(rig, tap, options, workload, methods, budget, "dense")
    experiment.run(profile, max(2, options.processes))
    experiment.finish()
    told = PUBLISHED["dense"]
    for other in experiment.cohorts:
        if other != "joint":
            experiment.tell_ratio("joint", other, f"memory {told['memory_percent']:+.2f} %, time "
                                  f"{told['ratio'][0]:.4f}" if other == told["against"] else "")
    scores = {one.seed: next(line for line in one.says.splitlines() if "accuracy" in line)
              for one in experiment.cohorts["eager"]}
    tap.note("test scores by seed: " + ", ".join(line.split()[1] for line in scores.values()))
    experiment.check_control()
    return [experiment.record()]


EXPERIMENTS = {"sparse": sparse, "eager-wins": eager_wins, "dense": dense}


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--device", choices=("soft", "cuda"), default="soft")
    parser.add_argument("--clock", default="h100nl", help="whose model of a GPU; soft only")
    parser.add_argument("--budget", action="append", choices=sorted(workloads.BUDGETS),
                        help="of the sparse experiment; the others run beside 44GiB")
    parser.add_argument("--only", action="append", choices=sorted(EXPERIMENTS))
    parser.add_argument("--processes", type=int, default=50, help="of each method")
    parser.add_argument("--jobs", type=int, default=1, help="that run at a time")
    parser.add_argument("--short", action="store_true",
                        help="a process or two of each; fewer steps, methods and budgets")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="of JSON and pictures")
    options = parser.parse_args(arguments)
    options.budget = options.budget or (["44GiB"] if options.short else sorted(workloads.BUDGETS))
    options.output = options.output or options.build / "experiments"
    options.unit = workloads.FULL_UNIT if options.device == "cuda" else 1 << 14
    options.steps = 2 if options.short else 4
    options.dense = (3, 1, 64) if options.short else (4, 8, 64)  # steps, the probe's, scale
    if options.device == "cuda":
        options.dense = (60, 40, 1)
    options.processes = 1 if options.short else options.processes
    return options


def main(arguments):
    options = options_of(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    names = options.only or (["sparse"] if "44GiB" not in options.budget else
                             ["sparse", "dense"] if options.short else list(EXPERIMENTS))
    tap, records = Tap(), []
    with tempfile.TemporaryDirectory() as scratch:
        rig = Rig(options.build, options.device, scratch, options.clock)
        for name in names:
            try:
                rig.find_device()
                records += EXPERIMENTS[name](rig, tap, options)
            except Broken as error:
                tap.check(False, f"{name}: {error}")
            except Absent as error:
                print(f"1..0 # SKIP {error}")
                return 77
    print(f"1..{tap.count}")
    (options.output / "experiments.json").write_text(json.dumps(
        {"format": "reprise-experiments", "version": 1, "device": options.device,
         "clock": options.clock if options.device == "soft" else None, "published": PUBLISHED,
         "experiments": records}, indent=1))
    tap.note(f"figures and pictures: {options.output}")
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
