#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What being watched costs a whole training program: the digits example on the software device,
bare and under the layer in every way that changes nothing.

usage: example_bench.py DIGITS SOFT_FOLDER REPRISE [PAIRS]

Two runs that follow each other make a pair, and every second pair goes the other way round, so that
what else the machine does and how warm it is fall out. Processors' time of whole processes counts,
which other work disturbs less than the clock; the clock is told beside it. What starting up takes,
the median of runs of one step, is taken off. Told are the median of the pairs' ratios and the
interval that holds it with 95 % (by order statistics, which take no shape for granted)."""
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from figures import figure

DIGITS, SOFT, REPRISE = map(os.path.abspath, sys.argv[1:4])
PAIRS = int(sys.argv[4]) if len(sys.argv) > 4 else 15
STEPS, STARTS = 200, 5
WAYS = {"bare": None, "nop": ["--nop"], "observe": ["--no-trace"], "observe, traced": []}
COMPARED = (("nop", "bare", None), ("observe", "bare", 1.01), ("observe, traced", "bare", 1.02),
            ("observe, traced", "observe", 1.02))
CLOCKS = ("processors' time", "clock")


def cost(way, steps, folder):
    """Seconds of the processors, and of the clock."""
    command, environment = [], dict(os.environ, LD_LIBRARY_PATH=SOFT)
    if WAYS[way] is not None:
        command = [REPRISE, "run", "-q", "--device", "soft", "-o", f"{folder}/data", *WAYS[way],
                   "--"]
        del environment["LD_LIBRARY_PATH"]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([*command, DIGITS, "--checkpoint", "--steps", str(steps)], check=True,
                   stdout=subprocess.DEVNULL, env=environment)
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, took


def starting_up(folder):
    runs = {way: [cost(way, 1, folder) for _ in range(STARTS)] for way in WAYS}
    return {way: [statistics.median(column) for column in zip(*costs)]
            for way, costs in runs.items()}


def pair(first, second, swapped, starts, folder):
    """The ratios of the first way's cost to the second's, by both clocks."""
    costs = {}
    for way in (second, first) if swapped else (first, second):
        costs[way] = [spent - start
                      for spent, start in zip(cost(way, STEPS, folder), starts[way])]
    return [mine / its for mine, its in zip(costs[first], costs[second])]


def interval(values):
    """Of the median, with at least 95 %."""
    count, outside, rank = len(values), 0.0, 0
    while (outside := outside + math.comb(count, rank) / 2 ** count) <= 0.025:
        rank += 1
    low = max(rank - 1, 0)
    return sorted(values)[low], sorted(values)[count - 1 - low]


def main():
    with tempfile.TemporaryDirectory() as folder:
        starts = starting_up(folder)
        print(f"the digits example, {STEPS} steps: {PAIRS} pairs")
        for first, second, goal in COMPARED:
            ratios = [pair(first, second, at % 2, starts, folder) for at in range(PAIRS)]
            for clock, values in zip(CLOCKS, zip(*ratios)):
                low, high = interval(values)
                wanted = goal if clock == CLOCKS[0] else None
                figure(f"example.{first}-over-{second}-{clock}".replace(", ", "-")
                       .replace(" ", "-").replace("'", ""), values, "ratio",
                       f"<= {wanted}" if wanted else None)
                print(f"  {first} over {second}, {clock}: {statistics.median(values):.4f} "
                      f"(95 %: {low:.4f} to {high:.4f})"
                      + (f"    goal {wanted}" if wanted else ""), flush=True)


main()
