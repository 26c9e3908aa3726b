#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What being watched costs a whole training program: the digits example on the software device,
bare and under the layer in every way that changes nothing.

usage: example_bench.py DIGITS SOFT_FOLDER REPRISE [SECONDS [WAY...]]

A round is one run in each way, in another order each time and every second one backwards, so that
what else the machine does and how warm it is fall out. There are as many rounds as begin in
SECONDS, at least MIN_ROUNDS. Processors' time of whole processes counts, which other work disturbs
less than the clock; the clock is told beside it. What starting up takes, the median of runs of one
step, is taken off. Told are the median of the rounds' ratios and the interval that holds it with
95 % (by order statistics, which take no shape for granted)."""
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
SECONDS = float(sys.argv[4]) if len(sys.argv) > 4 else 180
STEPS, STARTS, MIN_ROUNDS = 200, 5, 6
ALL_WAYS = {"bare": None, "nop": ["--nop"], "observe": ["--no-trace"], "observe, traced": []}
WAYS = {way: words for way, words in ALL_WAYS.items() if way in (sys.argv[5:] or ALL_WAYS)}
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


def order_of(number):
    ways = list(WAYS)
    first = number // 2 % len(ways)
    ways = ways[first:] + ways[:first]
    return ways[::-1] if number % 2 else ways


def one_round(number, starts, folder):
    """What each way costs, by both clocks."""
    return {way: [spent - start for spent, start in zip(cost(way, STEPS, folder), starts[way])]
            for way in order_of(number)}


def all_rounds(folder):
    starts, began, rounds = starting_up(folder), time.monotonic(), []
    while len(rounds) < MIN_ROUNDS or time.monotonic() - began < SECONDS:
        rounds.append(one_round(len(rounds), starts, folder))
    return rounds


def interval(values):
    """Of the median, with at least 95 %."""
    count, outside, rank = len(values), 0.0, 0
    while (outside := outside + math.comb(count, rank) / 2 ** count) <= 0.025:
        rank += 1
    low = max(rank - 1, 0)
    return sorted(values)[low], sorted(values)[count - 1 - low]


def tell(first, second, goal, clock, ratios):
    low, high = interval(ratios)
    name = f"example.{first}-over-{second}-{clock}".replace(", ", "-").replace(" ", "-")
    figure(name.replace("'", ""), ratios, "ratio", f"<= {goal}" if goal else None)
    print(f"  {first} over {second}, {clock}: {statistics.median(ratios):.4f} "
          f"(95 %: {low:.4f} to {high:.4f})" + (f"    goal {goal}" if goal else ""), flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        rounds = all_rounds(folder)
    print(f"the digits example, {STEPS} steps: {len(rounds)} rounds")
    for first, second, goal in (each for each in COMPARED if WAYS.keys() >= set(each[:2])):
        for at, clock in enumerate(CLOCKS):
            tell(first, second, None if at else goal, clock,
                 [each[first][at] / each[second][at] for each in rounds])


main()
