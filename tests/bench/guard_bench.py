#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What guarding the digits job costs: time, and bytes kept.

usage: guard_bench.py DIGITS DECLARED DISCOVERED REPRISE

Times are of whole processes, taken in turn and compared round by round, by the clock and by the
processors' time (which other work on the machine disturbs less, and which is kept); starting up
is measured by runs of one step and taken off. The least bytes that a right replay can do with
are counted from the network: what each step's later writes destroy of what a segment read."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from figures import figure

DIGITS, DECLARED, DISCOVERED, REPRISE = map(
    str, map(pathlib.Path.resolve, map(pathlib.Path, sys.argv[1:5])))
STEPS, ROUNDS = 120, 7
BATCH, KEY, CLASSES = 64, 32, 10
LEAST = sum((2 * width) * 4 + 8 for width in (128, 96))  # both blocks' statistics and counts
LEAST += 2 * 8                                           # the generator's offset, two advances
LEAST += BATCH * KEY * 4 + BATCH * 4                     # the queue's rows and labels
LEAST += CLASSES * 4                                     # all classes occur in a batch of 64


def run(folder, steps, *layer):
    command = [REPRISE, "run", "-q", "--no-trace", "--device", "soft", "-o", folder, *layer, "--",
               DIGITS, "--checkpoint", "--steps", str(steps)]
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after, wall = os.times(), time.perf_counter() - start
    return wall, (after.children_user + after.children_system
                  - before.children_user - before.children_system)


def main():
    layers = {"bare": [], "declared": ["-m", "guard", "-c", DECLARED],
              "discovered": ["-m", "guard", "-c", DISCOVERED]}
    times = {(name, steps): [] for name in layers for steps in (1, STEPS)}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            for name, steps in times:
                times[name, steps].append(run(f"{folder}/{name}", steps, *layers[name]))
        kept = {}
        for name in ("declared", "discovered"):
            summary = next(pathlib.Path(folder, name).glob("summary-*.json"))
            kept[name] = json.loads(summary.read_text())["bytes_preserved"] / STEPS
    for name, base in (("declared", "bare"), ("discovered", "declared")):
        for which, clock in enumerate(("by the clock", "processor time")):
            step = {way: [long[which] - short[which] for long, short in
                          zip(times[way, STEPS], times[way, 1])] for way in layers}
            ratios = [ours / theirs for ours, theirs in zip(step[name], step[base])]
            print(f"step time, {name} over {base}, {clock}: {statistics.median(ratios):.3f} "
                  f"({min(ratios):.3f} to {max(ratios):.3f}; goal <= 1.05)")
        figure(f"guard.{name}-over-{base}", ratios, "ratio", "<= 1.05")
    for name, count in kept.items():
        print(f"bytes preserved a step, {name}: {count:.0f}, least possible {LEAST}: "
              f"{count / LEAST:.3f}")
        figure(f"guard.bytes-over-least-{name}", count / LEAST, "ratio", "<= 1.05")


main()
