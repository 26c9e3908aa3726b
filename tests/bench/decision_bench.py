#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long the layer takes to decide what a launch may read and write, over all launches of a
training program as they come. The program allocates and frees its activations in every step, as
real ones do, so that hardly a launch meets the same allocations twice; most are like an earlier one
but for where their pointers point (`alike`), the others are `new`. The shares are printed.

usage: decision_bench.py DIGITS TIMED_LAYER DRIVER

The time of the one-off proofs is not in it: they are made when kernels are asked for. The clock is
the machine's, whose other work would fill the highest percentiles. So the program runs ROUNDS
times, and each launch counts with the least of its times: nothing is left out, and the first of a
kind stays a first. Rows:

at once    the same decision made once more right after: what it takes with warm caches
as come    the least of the rounds: between two launches the job's work has taken the caches
steady     of these the alike: all that a run meets once its steps are the same
new        of these the others: each is evaluated once, and has no goal of its own. Where more
           than one launch in a hundred is new, as in a run of a few steps, the p99 of all is one
           of theirs
whole      the alike, from where the launch's kernel is looked up and its arguments are copied on
raw        every launch of every round, with whatever else the machine did"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from figures import figure

DIGITS, LAYER, DRIVER = map(os.path.abspath, sys.argv[1:4])
CONTRACT = {"version": 1, "segments": [
    {"name": "s", "forward": {"nvtx": "none"}, "replay": {"nvtx": "none too"}}], "buffers": []}
WAYS = {"plain": [], "checkpointed": ["--checkpoint"]}
ROUNDS = 10
GOAL, PUBLISHED = 500, 5000
MANY_STEPS = 200  # fewer, and the p99 of all launches is one of those that are evaluated once


def decisions(place, options):
    """(class, nanoseconds, those of the whole, those at once) of each launch of one run."""
    contract, told = pathlib.Path(place, "contract.json"), pathlib.Path(place, "decisions")
    contract.write_text(json.dumps(CONTRACT))
    environment = {"LD_PRELOAD": LAYER, "REPRISE_DRIVER": DRIVER, "REPRISE_MODE": "check",
                   "REPRISE_CONTRACT": str(contract), "REPRISE_OUTPUT": place,
                   "REPRISE_CACHE": "off", "DECISIONS": str(told)}
    subprocess.run([DIGITS, *options], check=True, stdout=subprocess.DEVNULL,
                   env=os.environ | environment)
    lines = [line.split() for line in told.read_text().splitlines()]
    return [(kind, int(ns), int(whole), int(again)) for kind, ns, whole, again, _ in lines]


def share(values, part):
    values = sorted(values)
    return values[min(int(len(values) * part), len(values) - 1)]


def row(name, values, goal=""):
    parts = ("median", .5), ("p99", .99), ("p99.9", .999), ("longest", 1)
    print(f"  {name:16}", *(f"{what} {share(values, part):6}" for what, part in parts), goal)


def measure(name, steps, options):
    with tempfile.TemporaryDirectory() as place:
        rounds = [decisions(place, [*options, "--steps", str(steps)]) for _ in range(ROUNDS)]
    if len({tuple(kind for kind, *_ in run) for run in rounds}) != 1:
        sys.exit("the rounds do not launch the same")
    launches = list(zip(*rounds))
    kinds = [launch[0][0] for launch in launches]
    come, whole, at_once = ([min(ns[place] for ns in launch) for launch in launches]
                            for place in (1, 2, 3))

    def those(kind, values):
        return [value for its, value in zip(kinds, values) if its == kind]

    raw = [ns for run in rounds for _, ns, *_ in run]
    steady, new = those("alike", come), those("new", come)
    print(f"digits, {name}, {steps} steps, {ROUNDS} rounds: {len(come)} launches, of which "
          f"{100 * len(steady) / len(come):.1f} % alike; nanoseconds")
    row("at once", at_once, f"    goal of the p99 {GOAL}, published {PUBLISHED}")
    row("as come", come)
    row("  steady", steady)
    row("  new", new)
    row("whole", those("alike", whole))
    row("raw", raw)
    goal = f"<= {GOAL}"
    for label, values, wanted in (("at_once", at_once, goal), ("steady", steady, goal),
                                  ("as_come", come, goal if steps >= MANY_STEPS else None),
                                  ("new", new, None), ("raw", raw, None)):
        figure(f"decision.p99.{label}.{name}.{steps}", share(values, .99), "ns",
               goal=wanted, published=PUBLISHED)


for way, way_options in WAYS.items():
    for count in 20, MANY_STEPS:
        measure(way, count, way_options)
