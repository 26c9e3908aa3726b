#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a driver call costs, in every way to be preloaded, side by side in one run.

usage: call_cost.py CALL_COST KERNELS FAKE NOP LAYER [RUNTIME]"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from figures import figure

PROGRAM, KERNELS, FAKE, NOP, LAYER = map(os.path.abspath, sys.argv[1:6])
RUNTIME = sys.argv[6:]
CONTRACT = {"version": 1, "policy": "regions", "segments": [
    {"name": "s", "forward": {"nvtx": "f"}, "replay": {"nvtx": "r"}}],
    "buffers": [{"name": "state", "at": {"kernel": "step_state", "param": 0}}]}
ROUNDS = 5  # each way in turn; a run tells medians of many
GOALS = {"nop": 5, "observe": 30, "observe, traced": 100}


def measure(layer, **environment):
    """{call: (bare, through)}"""
    env = os.environ | {"LD_PRELOAD": ":".join(RUNTIME + [layer]), "REPRISE_DRIVER": FAKE,
                        "REPRISE_OUTPUT": os.getcwd()} | environment
    text = subprocess.run([PROGRAM, KERNELS], env=env, check=True, capture_output=True,
                          text=True).stdout
    return {name: (float(bare), float(through))
            for name, bare, through in (line.split() for line in text.splitlines())}


def measure_all(contract):
    """{way: {call: (bare, through)}}, each way once."""
    return {
        "nop": measure(NOP),
        "observe": measure(LAYER, REPRISE_MODE="observe"),
        "observe, traced": measure(LAYER, REPRISE_MODE="observe", REPRISE_TRACE="1"),
        "check": measure(LAYER, REPRISE_MODE="check", **contract),
        "guard": measure(LAYER, REPRISE_MODE="guard", **contract),
    }


def tell(rounds):
    calls = rounds[0]["nop"]
    bare = [statistics.median(each["nop"][call][0] for each in rounds) for call in calls]
    print(f"{'added ns a call':20}" + "".join(f"{call:>20}" for call in calls))
    print(f"{'(bare call)':20}" + "".join(f"{ns:20.1f}" for ns in bare))
    for way in rounds[0]:
        goal = f"<= {GOALS[way]}" if way in GOALS else None
        added = {call: [each[way][call][1] - each[way][call][0] for each in rounds]
                 for call in calls}
        print(f"{way:20}" + "".join(f"{statistics.median(ns):20.1f}" for ns in added.values())
              + (f"    goal {goal}" if goal else ""))
        for call, ns in added.items():
            figure(f"call.{way.replace(', ', '-')}.{call}", ns, "ns", goal=goal)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    pathlib.Path("contract.json").write_text(json.dumps(CONTRACT))
    tell([measure_all({"REPRISE_CONTRACT": os.path.abspath("contract.json")})
          for _ in range(ROUNDS)])
