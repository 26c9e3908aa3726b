# SPDX-License-Identifier: Apache-2.0
"""What the layer costs a job: nanoseconds a call, and the time of a training step."""
import json
import statistics
import time

from check import QUICK, Wrong, check
from place import told

CONTRACT = {"version": 1, "policy": "regions", "segments": [
    {"name": "s", "forward": {"nvtx": "f"}, "replay": {"nvtx": "r"}}],
    "buffers": [{"name": "state", "at": {"kernel": "step_state", "param": 0}}]}
TURNS = 5


def ways(place):
    contract = place.folder() / "contract.json"
    contract.write_text(json.dumps(CONTRACT))
    return {"nop": ["--nop"], "observe": ["-m", "observe", "--no-trace"],
            "observe, traced": ["-m", "observe"],
            "check": ["-m", "check", "--no-trace", "-c", contract],
            "guard": ["-m", "guard", "--no-trace", "-c", contract]}


def measure(place, command, layer):
    done = place.layered(*layer, command=command)[0] if layer else place.run(*command)
    if done.returncode:
        raise Wrong(told(done))
    return {name: float(ns) for name, ns in (line.split() for line in done.stdout.splitlines())}


@check("call overhead", "nanoseconds that each way to be preloaded adds to a call", QUICK)
def of_calls(place):
    command = [place.program("gpu_call_times"), place.source("tests/laws/kernels.ptx"),
               3 if place.quick else 101]
    table = {"bare": [], **ways(place)}
    turns = {name: [] for name in table}
    for _ in range(1 if place.quick else TURNS):
        for name, layer in table.items():
            turns[name].append(measure(place, command, layer))
    middle = {name: {call: statistics.median(turn[call] for turn in taken) for call in taken[0]}
              for name, taken in turns.items()}
    added = {name: {call: round(ns - middle["bare"][call], 1) for call, ns in calls.items()}
             for name, calls in middle.items() if name != "bare"}
    words = f"a launch takes {middle['bare']['launch']:.0f} ns; added " + ", ".join(
        f"{name} {calls['launch']:.0f}" for name, calls in added.items())
    return words, {"bare_ns": middle["bare"], "added_ns": added}


@check("step overhead", "the time of a training step, over the bare job's")
def of_steps(place):
    declared = place.source("examples/digits/declared.json")
    table = {"bare": None, "observe": ["-m", "observe"],
             "guard": ["-m", "guard", "--no-trace", "-c", declared]}
    counts = (1, 20) if place.rehearsal else (1, 2000)
    times = {(name, steps): [] for name in table for steps in counts}
    for _ in range(TURNS):
        for name, steps in times:
            command = [place.digits, "--checkpoint", "--steps", steps, "--data", place.data]
            start = time.perf_counter()
            done = place.layered(*table[name], command=command)[0] if table[name] else \
                place.run(*command)
            times[name, steps].append(time.perf_counter() - start)
            if done.returncode:
                raise Wrong(told(done))
    step = {name: statistics.median(times[name, counts[1]]) - statistics.median(times[name, 1])
            for name in table}
    ratio = {name: round(step[name] / step["bare"], 3) for name in table if name != "bare"}
    words = ", ".join(f"{name} {value:.2f}" for name, value in ratio.items())
    return words, {"over_bare": ratio,
                   "bare_step_us": round(step["bare"] / (counts[1] - 1) * 1e6, 1)}
