#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What being watched costs a whole training program: the digits example on the software device,
bare and under the layer in every way that changes nothing.

usage: example_bench.py DIGITS SOFT_FOLDER REPRISE [ROUNDS]

Processors' time of whole processes (other work on the machine disturbs it less than the clock),
all of one round in turn; runs of one step are taken off, so that starting up is left out. What is
told is the median over the rounds of the ratio to that round's bare run, and its quartiles."""
import os
import statistics
import subprocess
import sys
import tempfile

from figures import figure

DIGITS, SOFT, REPRISE = map(os.path.abspath, sys.argv[1:4])
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else 9
STEPS = 60
GOAL = 1.01  # observe, with and without a trace
WAYS = {"bare": None, "nop": ["--nop"], "observe": ["--no-trace"], "observe, traced": []}


def cost(command, steps, environment):
    before = os.times()
    subprocess.run([*command, DIGITS, "--checkpoint", "--steps", str(steps)], check=True,
                   stdout=subprocess.DEVNULL, env=os.environ | environment)
    after = os.times()
    return (after.children_user + after.children_system
            - before.children_user - before.children_system)


def step_cost(way, folder):
    if WAYS[way] is None:
        command, environment = [], {"LD_LIBRARY_PATH": SOFT}
    else:
        command = [REPRISE, "run", "-q", "--device", "soft", "-o", f"{folder}/data", *WAYS[way],
                   "--"]
        environment = {}
    return cost(command, STEPS, environment) - cost(command, 1, environment)


ratios = {way: [] for way in WAYS if way != "bare"}
with tempfile.TemporaryDirectory() as place:
    for _ in range(ROUNDS):
        bare = step_cost("bare", place)
        for name, found in ratios.items():
            found.append(step_cost(name, place) / bare)
for name, found in ratios.items():
    figure(f"example.{name.replace(', ', '-')}", found, "ratio",
           None if name == "nop" else f"<= {GOAL}")
    low, middle, high = statistics.quantiles(found, n=4)
    print(f"training example, {name} over bare, processors' time: {middle:.4f} "
          f"(quartiles {low:.4f}, {high:.4f}; {ROUNDS} rounds)    goal {GOAL}")
