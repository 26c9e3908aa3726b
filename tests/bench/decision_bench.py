#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long the layer takes to decide what a launch may read and write, over all launches of a
training program as they come, the first of each kind among them.

usage: decision_bench.py DIGITS TIMED_LAYER DRIVER

The time of the one-off proofs is not in it: they are made when kernels are asked for. The clock is
the machine's, whose other work is in the highest percentiles."""
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
WAYS = {"": [], "checkpointed": ["--checkpoint"]}
GOAL, PUBLISHED = 500, 5000

with tempfile.TemporaryDirectory() as place:
    contract, told = pathlib.Path(place, "contract.json"), pathlib.Path(place, "decisions")
    contract.write_text(json.dumps(CONTRACT))
    for way, options in WAYS.items():
        for steps in 20, 200:
            environment = {"LD_PRELOAD": LAYER, "REPRISE_DRIVER": DRIVER, "REPRISE_MODE": "check",
                           "REPRISE_CONTRACT": str(contract), "REPRISE_OUTPUT": place,
                           "REPRISE_CACHE": "off", "DECISIONS": str(told)}
            subprocess.run([DIGITS, *options, "--steps", str(steps)], check=True,
                           stdout=subprocess.DEVNULL, env=os.environ | environment)
            count, middle, p99, p999, most = map(int, told.read_text().split())
            print(f"digits {way} {steps} steps: {count} launches, decision median {middle} ns, "
                  f"p99 {p99} ns, p99.9 {p999} ns, longest {most} ns    goal of the p99 {GOAL}, "
                  f"published {PUBLISHED}")
            figure(f"decision.p99.{way or 'plain'}.{steps}", p99, "ns", goal=f"<= {GOAL}",
                   published=PUBLISHED)
