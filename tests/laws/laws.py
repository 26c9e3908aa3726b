#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The four laws, end to end: small jobs run eagerly, replaying bare, and replaying guarded.

usage: laws.py JOB KERNELS REPRISE laws|words|mechanisms|check|retain|recompute

laws        a guarded replay leaves the bytes of the eager run, under each policy and kind of
            state that a scenario allows; bare, it leaves others (or the scenario is a control)
words       hazards are said in full, and what can't be done is refused
mechanisms  without one mechanism the scenarios named for it go red
retain      the laws, where replays are served from kept outputs
recompute   an eager job leaves its bytes, though what it holds is dropped at every chance
check       observing changes nothing, and the hazards found are the scenario's
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from tap import claim, finish  # noqa: E402

JOB, KERNELS, REPRISE = map(os.path.abspath, sys.argv[1:4])
SUITE = sys.argv[4]
DEVICE = os.environ.get("REPRISE_TEST_DEVICE", "soft")
STOPPED = 70  # the exit code of a job that was stopped on a hazard


def kernel(name, kernel_name, param, **more):
    return {"name": name, "at": {"kernel": kernel_name, "param": param}, **more}


STATE = kernel("state", "step_state", 0)
GENERATOR = kernel("generator", "advance", 0)
COUNTERS = kernel("counters", "count", 0)
QUEUE = {"name": "queue", "at": {"allocation": {"bytes": 8 * 1000 * 4}}}
NOWHERE = kernel("state", "step_state", 9)
MAPPINGS = {"name": "queue", "at": {"allocation": {"bytes": 2 << 20}}}
TABLES = kernel("tables", "read_queue", 0)
SLAB = {"name": "slab", "at": {"allocation": {"bytes": 4000, "nth": 3}}}
CROWD = kernel("crowd", "read_queue", 0)
HISTORY = kernel("history", "roll", 0)
PUT = kernel("put", "read_queue", 2)
OWN = kernel("own", "step_state", 0)
JOURNAL = kernel("journal", "append", 0)
STATE_READ = kernel("state", "read_queue", 0)
PATCHED = kernel("state", "patch", 0)
INPUT = kernel("input", "step_state", 1)
NONE = kernel("gradients", "gradient", 1)
HOST = {"name": "host", "at": {"host_symbol": "host_generator"}}

LATE = {"name": "late", "at": {"host_symbol": "stepped_late"}}

# name: declared buffers, whether discovery can do it, pairing, what a check must name, and that
# kept outputs do not serve it
SCENARIOS = {
    "accumulator": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "generator": dict(buffers=[GENERATOR], discover=True, finds={("stale-read", "generator")}),
    "graph-counter": dict(buffers=[GENERATOR], discover=True,
                          finds={("stale-read", "generator")}),
    "queue": dict(buffers=[QUEUE], discover=True, finds={("stale-read", "queue")}),
    "queue-by-index": dict(buffers=[QUEUE], discover=True, finds={("stale-read", "queue")}),
    "counters": dict(buffers=[COUNTERS, STATE], discover=True, finds={("state-left", "counters")}),
    "scattered": dict(buffers=[kernel("state", "sprinkle", 0)], discover=True,
                      finds={("stale-read", "state")}),
    "padded": dict(buffers=[{"name": "state", "at": {"kernel": "step_padded", "param": 0,
                                                     "field": 8}}],
                   discover=True, finds={("stale-read", "state")}),
    "patch": dict(buffers=[PATCHED], finds={("stale-read", "state")}),
    "live-write": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "side-stream": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "alias": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "wide-names": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "engine-thread": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "lifo": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "fifo": dict(buffers=[STATE], discover=True, pair="fifo", finds={("stale-read", "state")}),
    "key": dict(buffers=[STATE], discover=True, pair="key", finds={("stale-read", "state")}),
    "fresh-activations": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "fork": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "reader-after": dict(buffers=[QUEUE], discover=True, finds={("stale-read", "queue")}),
    "two-streams": dict(buffers=[QUEUE], discover=True, pair="key",
                        finds={("stale-read", "queue")}),
    "adjacent-mappings": dict(buffers=[MAPPINGS], discover=True,
                              finds={("stale-read", "queue[1]")}),
    "whole-side-stream": dict(buffers=[STATE], finds={("stale-read", "state")}),
    "expired-instance": dict(buffers=[TABLES], discover=True, finds={("stale-read", "tables[1]")}),
    "second-context": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "file-module": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "write-only-state": dict(buffers=[STATE], finds={("state-left", "state")}),
    "pure": dict(buffers=[QUEUE], discover=True, control=True, finds=set()),
    "replayed-twice": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "clobbered-later": dict(buffers=[QUEUE], discover=True, replays=2,
                            finds={("stale-read", "queue")}),
    "told-by-buffers": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "nested": dict(buffers=[STATE], discover=True, pair="key", finds={("stale-read", "state")}),
    "pinned-slab": dict(buffers=[SLAB], discover=True, finds={("stale-read", "slab")}),
    "host-function": dict(buffers=[SLAB], finds={("stale-read", "slab")}),
    "recycled-address": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "live-write-aside": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "live-write-late": dict(buffers=[STATE], discover=True, races=True,
                            finds={("stale-read", "state")}),
    "domains": dict(buffers=[STATE], discover=True, finds={("stale-read", "state"),
                                                           ("state-left", "state")}),
    "nested-replays": dict(buffers=[STATE], discover=True, pair="key",
                           finds={("stale-read", "state")}),
    "graph-mixed": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "chain": dict(buffers=[STATE], discover=True, pair="key", finds={("stale-read", "state")}),
    "crowd": dict(buffers=[CROWD], discover=True, pair="key", finds={("stale-read", "crowd[99]")}),
    "stopped-early": dict(buffers=[QUEUE], discover=True, finds={("stale-read", "queue")}),
    "first-run": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "lazy-state": dict(buffers=[STATE], discover=True, finds={("foreign-read", "state")}),
    "never-written": dict(buffers=[STATE], discover=True, finds={("stale-read", "state[2]")}),
    "reordered": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "cache-missed": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "rolled": dict(buffers=[HISTORY], discover=True, finds={("stale-read", "history")}),
    "loaded": dict(buffers=[TABLES], discover=True, finds={("stale-read", "tables")}),
    "recycled-output": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "moved": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "moved-in-pieces": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "moved-through-host": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "moved-alike": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "moved-beside": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "brought-back": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "pool-recycled": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "pool-inside": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "state-brought": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "in-place": dict(buffers=[STATE], finds={("stale-read", "state")}),
    "in-place-from-host": dict(buffers=[STATE], finds={("stale-read", "state")}),
    "without-last": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "only-last-of-own": dict(buffers=[OWN], discover=True, serves=False,
                             finds={("stale-read", "own[2]")}),
    "only-last-by-seed": dict(buffers=[OWN], discover=True, finds={("stale-read", "own[2]")}),
    "turned-outputs": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "read-back": dict(buffers=[kernel("state", "step_through", 0)], discover=True,
                      finds={("stale-read", "state")}),
    "captured-meanwhile": dict(buffers=[STATE_READ], discover=True,
                               finds={("stale-read", "state")}),
    "interleaved": dict(buffers=[PATCHED], discover=True, finds={("stale-read", "state")}),
    "interleaved-before": dict(buffers=[PATCHED], discover=True, finds={("stale-read", "state")}),
    "interleaved-inside": dict(buffers=[PATCHED], discover=True, finds={("stale-read", "state")}),
    "interleaved-over-output": dict(buffers=[STATE], discover=True,
                                    finds={("stale-read", "state")}),
    "prefetched": dict(buffers=[STATE], discover=True, races=True,
                       finds={("stale-read", "state")}),
    "prefetched-late": dict(buffers=[NONE], discover=True, races=True, finds=set()),
    "given-back": dict(buffers=[NONE], discover=True, races=True, finds=set()),
    "given-back-by-graph": dict(buffers=[NONE], discover=True, races=True, finds=set()),
    "scratch-used-late": dict(buffers=[NONE], discover=True, races=True, finds=set()),
    "scratch-used-early": dict(buffers=[NONE], discover=True, races=True, finds=set()),
    "stream-left": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "streams-left": dict(buffers=[STATE, JOURNAL], discover=True,
                         finds={("stale-read", "state")}),
    "context-left": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "reset-beside": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "thread-left": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "read-before-put": dict(buffers=[STATE, PUT], races=True, finds={("stale-read", "state")}),
    "replayed-elsewhere": dict(buffers=[NONE], discover=True, races=True, finds=set()),
    "copied-elsewhere": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "loaded-inside": dict(buffers=[STATE, INPUT], discover=True, finds={("stale-read", "state")}),
    "copied-inside": dict(buffers=[STATE, INPUT], discover=True, finds={("stale-read", "state")}),
    "neighbours": dict(buffers=[QUEUE], finds={("stale-read", "queue")}, touches=True),
    "reset-inside": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "early": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "stepped-behind": dict(buffers=[STATE, LATE], finds={("stale-read", "state")}),
    "errands": dict(buffers=[STATE, LATE], finds={("stale-read", "state"), ("stale-read", "late"),
                                                  ("state-left", "late")}),
    "errand-left": dict(buffers=[STATE, LATE], finds={("stale-read", "state"),
                                                      ("stale-read", "late")}),
    "errands-gone": dict(buffers=[STATE, LATE], finds={("stale-read", "state"),
                                                       ("stale-read", "late")}),
    "host-generator": dict(buffers=[HOST], finds={("stale-read", "host"), ("state-left", "host")}),
}
# Jobs that no layer can put right, or that discovery cannot prove: reported, and stopped.
# name: declared buffers (or else discovered), pairing, and the one kind of hazard
REFUSED = {
    "unpaired": dict(buffers=[STATE], kind="unpaired"),
    "other-kernel": dict(buffers=[STATE], kind="diverged"),
    "drifting-seed": dict(buffers=[STATE], kind="diverged"),
    "graph-seed": dict(buffers=[STATE], kind="diverged"),
    "host-data": dict(buffers=[STATE], kind="diverged"),
    "host-data-anyhow": dict(buffers=[STATE], kind="diverged"),
    "host-rows-anyhow": dict(buffers=[STATE], kind="diverged"),
    "output-in-pool": dict(kind="unproved"),
    "write-only-state": dict(kind="unproved"),
    "crossed-replays": dict(pair="key", kind="live-read"),
    "clobbered-later": dict(kind="stale-read"),
    "whose-replay": dict(buffers=[STATE], kind="unpaired"),
    "missed-call": dict(buffers=[STATE], kind="foreign-read"),
    "host-slab": dict(kind="diverged"),
    "context-gone-in-forward": dict(buffers=[STATE], discover=True, kind="not-preserved"),
    "context-each-time": dict(buffers=[STATE], kind="unproved"),
    "context-gone-in-replay": dict(buffers=[STATE], discover=True, kind="state-left"),
    "context-gone-between": dict(buffers=[STATE], discover=True, kind="unpaired"),
    "stepped-late": dict(buffers=[STATE, LATE], kind="unproved"),
    "stepped-inside": dict(buffers=[STATE, LATE], kind="unproved"),
    "stepped-late-by-graph": dict(buffers=[STATE, LATE], kind="unproved"),
    "errand-gone-inside": dict(buffers=[LATE], kind="unproved"),
    "written-between": dict(buffers=[TABLES], discover=True, kind="diverged"),
    "stepped-between": dict(buffers=[STATE], discover=True, kind="diverged"),
    "forward-ends-early": dict(buffers=[GENERATOR], discover=True, kind="live-read"),
    "empty-replay": dict(buffers=[STATE], kind="diverged"),
    "touched-output": dict(buffers=[STATE], kind="diverged"),
    "counted-output": dict(kind="unproved"),
    "zeroed-output": dict(kind="unproved"),
    "captured": dict(buffers=[STATE], kind="unproved"),
    "reset-in-graph": dict(buffers=[STATE], discover=True, kind="not-preserved"),
    "captured-copy": dict(kind="unproved"),
    "empty-forward": dict(buffers=[STATE], kind="diverged"),
    "slots": dict(kind="unpaired"),
    "host-slots": dict(kind="unpaired"),
    "refilled": dict(kind="unpaired"),
    "host-refilled": dict(kind="unpaired"),
    "refilled-alike": dict(kind="unpaired"),
    "evaluated": dict(kind="unpaired"),
    "fifo": dict(buffers=[STATE], kind="unpaired"),
    "tampered": dict(buffers=[STATE], kind="foreign-read"),
    "tampered-on-host": dict(buffers=[STATE], kind="foreign-read"),
    "tampered-on-its-way": dict(buffers=[STATE], kind="foreign-read"),
    "overtaken": dict(buffers=[STATE], kind="foreign-read"),
    "passed-aside": dict(buffers=[STATE], kind="foreign-read"),
    "copied-too-early": dict(buffers=[STATE], kind="foreign-read"),
    "copied-after-graphs-event": dict(buffers=[STATE], kind="foreign-read"),
    "shifted": dict(buffers=[STATE], kind="foreign-read"),
    "pool-unwritten": dict(buffers=[STATE], kind="foreign-read"),
    "in-place": dict(kind="unproved"),
    "in-place-from-host": dict(kind="unproved"),
}

# Which of its forward's calls such a replay leaves out, nothing tells, whatever is declared.
FEWER = ["only-last", "without-second", "without-first"]
STEPPED = {"dense": STATE, "generator": GENERATOR, "history": HISTORY, "queue": QUEUE,
           "copies": JOURNAL}
REFUSED |= {f"{fewer}-of-{kind}": dict(buffers=[buffer], discover=True, kind="diverged")
            for fewer in FEWER for kind, buffer in STEPPED.items()}
REFUSED["only-one-of-alike"] = dict(buffers=[STATE], discover=True, kind="diverged")

# Those with several streams or threads run under several schedules too.
RACES = ["prefetched", "prefetched-late", "given-back", "given-back-by-graph", "scratch-used-late", "scratch-used-early",
         "replayed-elsewhere"]
ASIDE = ["read-before-put"]
SCHEDULED = RACES + ASIDE + ["side-stream", "two-streams", "whole-side-stream", "expired-instance", "pinned-slab",
             "live-write-aside", "live-write-late", "recycled-address", "interleaved",
             "interleaved-before", "interleaved-inside"]

# Which scenarios go red without a mechanism, at the least. Nothing else may hide there: the
# others are compared too, and a mechanism that turns none red is not needed.
RED = {
    "preserve": {"accumulator", "generator", "queue", "counters", "alias", "lifo", "key"},
    "copy-on-save": {"accumulator", "generator", "queue", "alias", "lifo", "key"},
    "restore": {"accumulator", "generator", "queue", "alias", "lifo", "key"},
    # A replay right after its forward steps the state to where it stands anyway.
    "reinstate": {"queue", "alias", "lifo", "key", "side-stream", "reader-after", "two-streams"},
    "live-writes": {"live-write"},
    "pairing": {"lifo", "fifo", "key", "told-by-buffers"},
    "absence": {"lazy-state", "never-written"},
    "order": {"reader-after"},
    "crossings": {"interleaved", "interleaved-before", "interleaved-inside"},
    "races": set(RACES),
}
# The same of those whose absence a job does not survive: it is stopped, though all is well.
STOPPED_WITHOUT = {
    "copies": {"moved", "moved-beside", "moved-in-pieces", "moved-through-host", "moved-alike",
               "brought-back", "in-place", "in-place-from-host", "pool-recycled"},
}
# The same of those that are stopped for a good reason, and pass for right without it.
SILENT_WITHOUT = {
    "turns": {"overtaken", "passed-aside", "copied-too-early", "copied-after-graphs-event"},
    "doubts": {f"{fewer}-of-{kind}" for fewer in FEWER for kind in STEPPED} |
              {"only-one-of-alike", "stepped-between", "written-between"},
}


def states_of(scenario):
    """Declared where something is, and discovered where that can do it."""
    return [state for state, key in (("declared", "buffers"), ("discovered", "discover"))
            if key in scenario] or ["discovered"]


def contract_of(scenario, state, policy, on_violation="stop"):
    segment = {"name": "segment", "forward": {"nvtx": "forward/*"},
               "replay": {"nvtx": "recompute/*"}, "pair": scenario.get("pair", "lifo"),
               "replays": scenario.get("replays", 1)}
    contract = {"version": 1, "segments": [segment], "state": state, "policy": policy,
                "step": {"nvtx": "step"}, "on_violation": on_violation}
    if state == "declared":
        contract["buffers"] = scenario["buffers"]
    return contract


def bare(name, mode):
    run = subprocess.run([REPRISE, "run", "--device", DEVICE, "--no-trace", "-q", "-o", "bare",
                          "--", JOB, KERNELS, name, mode], capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"Bail out! {name} {mode}: {run.stderr}")
    return run.stdout


def guarded(name, mode, contract, environment=None, layer="guard"):
    pathlib.Path("contract.json").write_text(json.dumps(contract))
    run = subprocess.run(
        [REPRISE, "run", "--device", DEVICE, "-m", layer, "-c", "contract.json", "--no-trace",
         "-o", "guarded", "--", JOB, KERNELS, name, mode],
        capture_output=True, text=True, env=os.environ | (environment or {}))
    summaries = [json.loads(path.read_text()) for path in pathlib.Path("guarded").glob("summary-*")]
    # A child that calls the driver has a summary of its own; the job's is the one with launches.
    return run, max(summaries, key=lambda summary: summary["launches"], default={})


def counting(summary):
    """Its hazards that are more than a warning."""
    return [hazard for hazard in summary.get("hazards", []) if not hazard.get("warning")]


def laws():
    for name, scenario in SCENARIOS.items():
        eager = bare(name, "eager")
        if scenario.get("control"):
            claim(f"{name}: a control, right without a guard", bare(name, "replay") == eager)
        else:
            claim(f"{name}: a real hazard, wrong without a guard", bare(name, "replay") != eager)
        ways = [("declared", "regions"), ("declared", "whole")]
        if scenario.get("discover"):
            ways += [("discovered", "regions"), ("discovered", "whole")]
        for state, policy in ways:
            run, summary = guarded(name, "replay", contract_of(scenario, state, policy))
            claim(f"{name}: {state}, {policy}: the bytes of the eager run",
                  run.returncode == 0 and run.stdout == eager, f"{run.stdout}{eager}{run.stderr}")
            if scenario.get("control"):
                kept = summary.get("bytes_preserved")
                claim(f"{name}: {state}, {policy}: keeps nothing without need",
                      kept == 0 or policy == "whole", f"{kept} bytes preserved")
        run, _ = guarded(name, "eager", contract_of(scenario, "declared", "regions"))
        claim(f"{name}: guarding a job that does not replay changes nothing",
              run.stdout == eager, run.stderr)
    for name in SCHEDULED:
        eager = bare(name, "eager")
        for seed in range(1, 5):
            run, _ = guarded(name, "replay", contract_of(SCENARIOS[name], "declared", "regions"),
                             {"REPRISE_SOFT_SCHEDULE": str(seed)})
            claim(f"{name}: right under schedule {seed}", run.stdout == eager, run.stderr)
    for name in ("refilled", "host-refilled"):
        run, _ = guarded(name, "replay", contract_of({"pair": "fifo"}, "discovered", "regions"))
        claim(f"{name}: the bytes of the eager run where the rule names the order",
              run.returncode == 0 and run.stdout == bare(name, "eager"), run.stderr)
    for name, scenario in REFUSED.items():
        for state in states_of(scenario):
            run, summary = guarded(name, "replay", contract_of(scenario, state, "regions"))
            kinds = {hazard["hazard"] for hazard in counting(summary)}
            claim(f"{name}: {state}: stopped on {scenario['kind']}, and says so in one line",
                  run.returncode == STOPPED and kinds == {scenario["kind"]} and
                  run.stderr.count("reprise: stopped") == 1,
                  f"exit {run.returncode}, {kinds}\n{run.stderr}")
            claim(f"{name}: what the job had printed is not lost",
                  run.stdout.startswith(f"{name}\n"), run.stdout)
    run, summary = guarded("diverging", "replay",
                           contract_of({"buffers": [STATE, GENERATOR]}, "declared", "regions"))
    claim("diverging: a call that the replay leaves out, and nobody misses, is only remarked",
          run.returncode == 0 and not counting(summary) and
          "advance" in {u["call"] for u in summary["unknown"]}, run.stderr)
    unproved = contract_of(SCENARIOS["patch"], "discovered", "regions")
    run, summary = guarded("patch", "replay", unproved)
    claim("patch: discovery refuses what it cannot prove, and names the call",
          run.returncode == STOPPED and "read_queue" in {u["call"] for u in summary["unknown"]},
          run.stderr)
    hazard = summary["hazards"][0]
    claim("patch: ... in the hazard too, with the memory and the reason",
          hazard["reader"] == "read_queue" and hazard["allocation_bytes"] > 0 and
          hazard["advice"].endswith(": declare the state"), hazard)
    run = subprocess.run([REPRISE, "run", "--device", DEVICE, "-m", "observe", "-q", "-o", "traced",
                          "--", JOB, KERNELS, "fork", "eager"], capture_output=True, text=True,
                         timeout=60)
    claim("fork: a traced job that forks goes on", run.stdout == bare("fork", "eager"), run.stderr)
    named = contract_of(SCENARIOS["write-only-state"], "declared", "regions")
    run, summary = guarded("write-only-state", "replay", named | {"state": "discovered"})
    claim("write-only-state: discovered and declared: the bytes of the eager run",
          run.stdout == bare("write-only-state", "eager"), run.stderr)
    claim("write-only-state: ... and no doubt about it",
          {hazard["allocation_bytes"] for hazard in summary["hazards"]} <= {4000} and
          not counting(summary), summary["hazards"])
    hidden = contract_of({"buffers": [NOWHERE]}, "declared", "regions")
    run, summary = guarded("accumulator", "replay", hidden)
    claim("accumulator: a declared buffer that cannot be found is a hazard, not unprotected",
          run.returncode == STOPPED and summary["hazards"][0]["hazard"] == "unproved", run.stderr)
    crossed = contract_of(SCENARIOS["key"] | {"pair": "lifo"}, "declared", "regions")
    run, summary = guarded("key", "replay", crossed)
    claim("key: pairing by order that the keys contradict is reported",
          run.returncode == STOPPED and summary["hazards"][0]["hazard"] == "unpaired", run.stderr)
    launches = contract_of(SCENARIOS["queue"], "declared", "regions")
    launches["segments"] = [{"name": "segment", "replay": {"repeat": True}, "forward": {
        "launches": {"first": "read_queue", "last": "enqueue", "nth": 0}}}]
    run, summary = guarded("queue", "replay", launches)
    claim("queue: right when segments are found by launches and their repetition",
          run.stdout == bare("queue", "eager") and summary["segments"][0]["replays"] == 3,
          run.stderr)
    launches = contract_of(SCENARIOS["lifo"], "declared", "regions")
    launches["segments"] = [{"name": "segment", "replay": {"repeat": True}, "forward": {
        "launches": {"first": "step_state", "last": "step_state", "nth": 0}}}]
    for policy in ("regions", "retain"):
        run, summary = guarded("lifo", "replay", launches | {"policy": policy})
        claim(f"lifo: {policy}: that launches which come again, elsewhere, are no forward is not "
              "taken for granted", run.returncode == STOPPED and
              summary["hazards"][0]["hazard"] == "unpaired" and
              "may as well be the next forward" in run.stderr, run.stderr)
    ends = launches | {"segments": [{"name": "segment", "replay": {"repeat": True}, "forward": {
        "launches": {"first": "step_state", "last": "gradient"}}}]}
    for state in ("declared", "discovered"):
        run, summary = guarded("unfinished", "replay", ends | {"state": state})
        claim(f"unfinished: {state}: what reads rewound bytes is told that the last launch is missing",
              run.returncode == STOPPED and
              {hazard["hazard"] for hazard in counting(summary)} == {"live-read"} and
              'the launch that the contract names as its "last" has not come' in run.stderr,
              run.stderr)
    run, summary = guarded("next-batch", "eager", launches | {"state": "discovered"})
    claim("next-batch: a warning where launches come again, and their input was filled anew",
          {hazard["hazard"] + ", taken for " + hazard["taken_for"] + " of " + hazard["writer"]
           for hazard in summary["hazards"]} == {"assumed, taken for a replay of fill"}, run.stderr)
    run, summary = guarded("fresh-activations", "replay", launches)
    claim("fresh-activations: a warning where launches come again with other outputs",
          run.stdout == bare("fresh-activations", "eager") and
          {hazard.get("taken_for") for hazard in summary["hazards"]} == {"a replay"}, run.stderr)


def found(name):
    """The contract that is proposed for the bare job; an empty one where there is none."""
    subprocess.run([REPRISE, "run", "--device", "soft", "-m", "observe", "-q", "-o", "traced", "--",
                    JOB, KERNELS, name, "replay"], capture_output=True, check=True)
    run = subprocess.run([REPRISE, "discover", "-o", "-", "traced"], capture_output=True, text=True)
    return json.loads(run.stdout) if run.returncode == 0 else {"segments": []}


def discovered(name):
    """The segments that are proposed for the bare job, as (forward, replay)."""
    return [(segment["forward"].get("nvtx"), segment["replay"].get("nvtx"))
            for segment in found(name)["segments"]]


TALLY = {"name": "tally", "at": {"host_symbol": "landing_tally"}}


def landed(summary):
    """The calls of replays that have copied over what the host had put there."""
    return {hazard["reader"] for hazard in summary["hazards"]
            if hazard.get("taken_for") == "an output on the host"}


def landings():
    """What a replay copies to the host once more, and what the host had made of it by then."""
    for name in ("counted-on-host", "landed-again", "landing-shared"):
        pair = "key" if name == "landing-shared" else "lifo"
        for state, layer in (("declared", "guard"), ("discovered", "guard"), ("declared", "check")):
            contract = contract_of({"buffers": [STATE], "pair": pair}, state, "regions")
            run, summary = guarded(name, "replay", contract, layer=layer)
            claim(f"{name}: {state}, {layer}: bytes of the host's that a replay overwrites are a "
                  "warning", run.returncode == 0 and landed(summary) == {"cuMemcpyDtoH_v2"},
                  f"{summary['hazards']}\n{run.stderr}")
            told = subprocess.run([REPRISE, "check", "guarded"], capture_output=True, text=True)
            claim(f"{name}: {state}, {layer}: ... which says how many",
                  re.search(r"bytes    [\d.]+ [KM]?i?B of the host's\n", told.stdout), told.stdout)
        contract["buffers"].append(TALLY)
        run, summary = guarded(name, "replay", contract)
        claim(f"{name}: declared, they stand again, and there is no warning",
              run.stdout == bare(name, "eager") and not landed(summary),
              f"{summary['hazards']}\n{run.stderr}")
    for name, call in (("counted-by-rows", "cuMemcpy2D_v2"),
                       ("counted-aside", "cuMemcpyDtoHAsync_v2")):
        run, summary = guarded(name, "replay",
                               contract_of({"buffers": [STATE]}, "declared", "regions"))
        claim(f"{name}: a copy that can't be compared is named in the run's last lines",
              {u["call"] for u in summary["unknown"] if u.get("unseen")} == {call} and
              call in run.stderr, f"{summary['unknown']}\n{run.stderr}")
    for state in ("declared", "discovered"):
        run, summary = guarded("read-out", "replay",
                               contract_of({"buffers": [STATE]}, state, "regions"))
        claim(f"read-out: {state}: nobody has touched it: right, and nothing to say",
              run.stdout == bare("read-out", "eager") and not landed(summary) and
              not summary["unknown"], f"{summary['hazards']}{summary['unknown']}\n{run.stderr}")


def words():
    """What is said: of hazards, of what is harmless, and of what cannot be done."""
    run, summary = guarded("throng", "replay", contract_of({"buffers": [STATE], "pair": "key"},
                                                           "declared", "regions"))
    claim("throng: as many forwards as a step has wait for their replays",
          run.stdout == bare("throng", "eager") != bare("throng", "replay"), run.stderr)
    run, summary = guarded("throng", "replay", contract_of({"buffers": [STATE]}, "declared",
                                                           "regions") | {"step": {"nvtx": "none"}})
    claim("throng: without steps the oldest are given up, and the stop says so",
          run.returncode == STOPPED and "the oldest are given up" in run.stderr, run.stderr)
    run, summary = guarded("stepped-late", "replay",
                           contract_of({"buffers": [STATE]}, "declared", "regions"))
    claim("stepped-late: a function of the host's that a replay gives again is remarked",
          run.returncode == 0 and
          "cuLaunchHostFunc" in {u["call"] for u in summary["unknown"]}, run.stderr)
    run, summary = guarded("early", "replay",
                           contract_of({"buffers": [STATE, LATE]}, "declared", "regions"))
    claim("early: of the host's variables nothing was kept for a forward older than the driver",
          run.returncode == STOPPED and "had not called the driver yet" in run.stderr and
          {hazard["hazard"] for hazard in counting(summary)} == {"unproved"}, run.stderr)
    undeclared = contract_of({"buffers": [GENERATOR]}, "declared", "regions")
    run, summary = guarded("accumulator", "replay", undeclared)
    claim("accumulator: state that nobody declared is a hazard, not a silent wrong",
          run.returncode == STOPPED and summary["hazards"][0]["hazard"] == "stale-read" and
          "buffer" not in summary["hazards"][0], run.stderr)
    claim("accumulator: ... and the line says what memory that is",
          "(4000 bytes of device memory, made by call " in run.stderr, run.stderr)
    for name in ("accumulator", "pure", "stopped-early"):
        claim(f"{name}: discover finds the ranges, of one launch and of part of them too",
              discovered(name) == [("forward/only", "recompute/only")], discovered(name))
    for name in ("chain", "nested-replays", "key"):
        run, summary = guarded(name, "replay", found(name))
        claim(f"{name}: what discover writes for it runs, and leaves the bytes of the eager run",
              run.returncode == 0 and run.stdout == bare(name, "eager"), run.stderr)
    harmless = contract_of({"buffers": [QUEUE]}, "declared", "regions") | {"harmless": ["queue"]}
    run, summary = guarded("clobbered-later", "replay", harmless)
    claim("clobbered-later: what the contract calls harmless is listed and stops nothing",
          run.returncode == 0 and {True} ==
          {hazard["harmless"] for hazard in summary["hazards"] if "buffer" in hazard},
          f"{summary.get('hazards')}\n{run.stderr}")
    run, summary = guarded("crossed-replays", "replay",
                           contract_of({"pair": "key"}, "discovered", "regions"))
    race = summary["hazards"][0]
    claim("crossed-replays: the race is reported with both calls, its bytes and its memory",
          race.get("other") == race["reader"] == "read_queue" and race["memory"] == "device", race)
    run, summary = guarded("other-kernel", "replay",
                           contract_of({"buffers": [STATE]}, "declared", "regions"))
    claim("other-kernel: a divergence names what the forward called, where, and no versions",
          [summary["hazards"][0][key] for key in ("reader", "other", "position")] ==
          ["step_state_again", "step_state", 0] and "version" not in run.stderr, run.stderr)
    for state in ("declared", "discovered"):
        run, summary = guarded("other-thread", "replay",
                               contract_of({"buffers": [STATE]}, state, "regions"))
        told = [(hazard["hazard"], hazard["taken_for"]) for hazard in summary["hazards"]]
        claim(f"other-thread: {state}: a warning of ranges without a call of their thread",
              run.returncode == 0 and told == [("assumed", "no work")] and
              "reprise: 1 warning" in run.stderr, f"{told}\n{run.stderr}")
    def assumed(name, buffers):
        run, summary = guarded(name, "replay", contract_of({"buffers": buffers}, "declared",
                                                           "regions"))
        told = {(hazard["taken_for"], hazard.get("buffer"), hazard["reader"])
                for hazard in summary["hazards"]}
        return (told if run.returncode == 0 else set()), f"{told}\n{run.stderr}"

    told, detail = assumed("write-only-state", [QUEUE])
    claim("write-only-state: undeclared, and others have written it since: a warning when it is "
          "read", ("an output", None, "cuMemcpyDtoH_v2") in told, detail)
    told, detail = assumed("recycled-output", [STATE])
    claim("recycled-output: an output in another's place is a warning where the call tells no more",
          ("the one in order", None, "cuMemsetD8_v2") in told, detail)
    told, detail = assumed("turned-outputs", [STATE])
    claim("turned-outputs: all calls come, each with its output in another's place: a warning",
          {row for row in told if row[0] == "other memory"} ==
          {("other memory", None, "step_state")}, detail)
    run, summary = guarded("only-last-of-dense", "replay", contract_of({}, "discovered", "regions"))
    claim("only-last-of-dense: the line says which call it may be as well, and what helps",
          "other work than call 2 of its forward" in run.stderr and
          "let it make all the calls, or mark as a segment those alone" in run.stderr, run.stderr)
    run, summary = guarded("written-between", "replay", contract_of({}, "discovered", "regions"))
    claim("written-between: the line says who wrote in the middle of the forward, and what helps",
          ", written by append (step 1, launch " in run.stderr and
          "while the forward ran, another thread's call has written there" in run.stderr, run.stderr)
    run, summary = guarded("forward-ends-early", "replay",
                           contract_of({"buffers": [GENERATOR]}, "declared", "regions"))
    claim("forward-ends-early: the line says that the forward's range did not hold the call",
          "at advance in step 1" in run.stderr and
          "the replay's range holds it, and its forward's did not" in run.stderr, run.stderr)
    told, detail = assumed("helped", [STATE])
    claim("helped: what a thread without a range steps beside a forward and its replay: a warning",
          ("the job's own", "state[1]", "step_state") in told, detail)
    told, detail = assumed("replay-ends-early", [GENERATOR])
    claim("replay-ends-early: what comes behind the replay, and its forward held, is a warning",
          ("the job's own", "generator", "advance") in told, detail)
    told, detail = assumed("both-end-early", [GENERATOR])
    claim("both-end-early: ... and what neither held is not",
          told and "the job's own" not in {row[0] for row in told}, detail)
    told, detail = assumed("copied-inside", [STATE])
    claim("copied-inside: what the replay itself puts where its forward has read: a warning",
          ("what its forward found", None, "step_state") in told, detail)
    run, summary = guarded("loaded-inside", "replay",
                           contract_of({"buffers": [STATE]}, "declared", "regions"))
    claim("loaded-inside: ... and where a call of the same kind puts another value, a stale-read",
          run.returncode == STOPPED and summary["hazards"][0]["hazard"] == "stale-read" and
          summary["hazards"][0]["writer"] == "fill", run.stderr)
    landings()
    run, summary = guarded("refilled-aside", "replay", contract_of({}, "discovered", "regions"))
    told = {(hazard["taken_for"], hazard["reader"], hazard["writer"])
            for hazard in summary["hazards"] if "writer" in hazard}
    claim("refilled-aside: what is put where two have read, and is not known, is a warning",
          run.returncode == 0 and run.stdout == bare("refilled-aside", "eager") and
          ("the one in order", "step_state", "cuMemcpyHtoDAsync_v2") in told,
          f"{told}\n{run.stderr}")
    activation = kernel("activation", "append", 0)
    for name in ("in-place", "in-place-from-host", "in-place-by-rows", "in-place-in-a-batch",
                 "in-place-from-managed", "in-place-by-kernel", "in-place-by-set"):
        told, detail = assumed(name, [STATE, activation])
        claim(f"{name}: declared, though the replay has its output there: a warning",
              ("state", "activation", "gradient") in told, detail)
    run, summary = guarded("state-brought", "replay",
                           contract_of({"buffers": [STATE]}, "declared", "regions"))
    claim("state-brought: what the job brings over state is remarked, and right",
          run.stdout == bare("state-brought", "eager") and not counting(summary) and
          "its replay was given what the forward found" in
          {u["call"]: u["reason"] for u in summary["unknown"]}.get("cuMemcpyHtoD_v2", ""),
          f"{summary['unknown']}\n{run.stderr}")
    run, summary = guarded("accumulator", "replay",
                           contract_of({"buffers": [STATE]}, "declared", "regions"))
    claim("accumulator: of state that nobody brings there is nothing to remark",
          not summary["unknown"], summary["unknown"])
    run, summary = guarded("fifo", "replay",
                           contract_of({"buffers": [STATE]}, "declared", "regions"))
    claim("fifo: refused under lifo: the line says where the output lies, and what helps",
          "made where another forward that waits had its output" in run.stderr and
          '"pair"; "key" names each forward' in run.stderr, run.stderr)
    run, summary = guarded("whose-replay", "replay",
                           contract_of({"buffers": [STATE]}, "declared", "regions"))
    claim("whose-replay: that the order alone has told is a warning, before it is a guess",
          [(hazard["hazard"], hazard.get("taken_for")) for hazard in summary["hazards"]] ==
          [("unpaired", None), ("assumed", "the one in order")], summary["hazards"])
    for policy, expected in (("regions", {"draw_by_clock"}), ("retain", set())):
        run, summary = guarded("unsteady", "replay", contract_of({}, "discovered", policy))
        claim(f"unsteady: {policy}: a kernel that need not do the same twice is told where it is run",
              run.returncode == 0 and expected ==
              {hazard["reader"] for hazard in summary["hazards"]
               if hazard["taken_for"] == "the same"},
              f"{summary['hazards']}\n{run.stderr}")
    run, summary = guarded("stepped-aside", "replay",
                           contract_of({"buffers": [STATE]}, "discovered", "regions"))
    claim("stepped-aside: what a replay alone steps is remarked",
          run.returncode == 0 and "a replay makes it and its forward did not" in
          {u["call"]: u["reason"] for u in summary["unknown"]}.get("advance", ""), run.stderr)
    run, summary = guarded("captured", "eager",
                           contract_of({"buffers": [STATE]}, "declared", "regions"), layer="check")
    claim("captured: a check says that calls of the segment were captured",
          [hazard["hazard"] for hazard in counting(summary)] == ["unproved"] and
          "captured into a graph" in summary["hazards"][0]["advice"], summary["hazards"])
    inside = contract_of({"buffers": [GENERATOR]}, "declared", "regions")
    inside["segments"] = [{"name": "s", "replay": {"repeat": True},
                           "forward": {"launches": {"first": "draw", "last": "advance"}}}]
    run, summary = guarded("graph-counter", "replay", inside)
    claim("graph-counter: the line says that the segment begins inside a graph, and which it is",
          run.returncode == STOPPED and "segment s, at draw" in run.stderr and
          "begins or ends inside a graph" in run.stderr, run.stderr)
    run, summary = guarded("empty-forward", "replay",
                           contract_of({"buffers": [STATE]}, "declared", "regions"))
    claim("empty-forward: the line says that the forward made no call",
          "its forward made no call on this thread" in run.stderr, run.stderr)
    run, summary = guarded("context-each-time", "replay",
                           contract_of({"buffers": [STATE]}, "declared", "regions"))
    claim("context-each-time: the line says that there were too many contexts, and what helps",
          "in a context past the 64th" in run.stderr and "let contexts stay" in run.stderr,
          run.stderr)
    for name, when in (("context-gone-in-forward", "while the segment ran"),
                       ("context-gone-in-replay", "while the segment ran"),
                       ("context-gone-between", "and what is kept goes along")):
        run, summary = guarded(name, "replay", contract_of({"buffers": [STATE]}, "declared",
                                                           "regions"))
        claim(f"{name}: the line says that a context was destroyed, and what helps",
              "a context was destroyed" in run.stderr and when in run.stderr and
              "destroy contexts before a forward or after its replay" in run.stderr, run.stderr)
    for name, told in (("stepped-late-by-graph", "still waits there"),
                       ("errand-gone-inside", "has perhaps run in its midst")):
        run, summary = guarded(name, "replay", contract_of(REFUSED[name], "declared", "regions"))
        claim(f"{name}: the line says of the host function that it {told}", told in run.stderr,
              run.stderr)
    run, summary = guarded("never-replayed", "eager",
                           contract_of({"buffers": [STATE]}, "declared", "regions"))
    claim("never-replayed: ten thousand forwards, and what is held stays within bounds",
          run.returncode == 0 and summary["segments"][0]["unreplayed"] == 10000 and
          0 < summary["bytes_held_peak"] < 600 * 4096, run.stderr)
    launched = contract_of({"buffers": [HOST]}, "declared", "regions")
    launched["segments"][0] = {"name": "s", "replay": {"repeat": True},
                               "forward": {"launches": {"first": "f", "last": "g"}}}
    run, _ = guarded("host-generator", "replay", launched)
    claim("host-generator: refused before the job starts where segments are found by launches",
          run.returncode == 2 and "found by its launches" in run.stderr and not run.stdout,
          run.stderr)
    nowhere = HOST | {"at": {"host_symbol": "no_such_variable"}}
    run, summary = guarded("host-generator", "replay",
                           contract_of({"buffers": [nowhere]}, "declared", "regions"))
    claim("host-generator: a variable that is nowhere is a hazard, not unprotected",
          run.returncode == STOPPED and summary["hazards"][0]["hazard"] == "unproved", run.stderr)


def retain():
    """Served from kept outputs where that can be done, and by regions where it can't."""
    served = set()
    for name, scenario in SCENARIOS.items():
        eager = bare(name, "eager")
        for state in states_of(scenario) if scenario.get("serves", True) else []:
            run, summary = guarded(name, "replay", contract_of(scenario, state, "retain"))
            claim(f"{name}: {state}, retain: the bytes of the eager run",
                  run.returncode == 0 and run.stdout == eager, f"{run.stdout}{eager}{run.stderr}")
            reasons = [segment.get("unserved") for segment in summary.get("segments", [])]
            if summary.get("launches_served"):
                served.add(name)
            claim(f"{name}: {state}, retain: served, or it says why not",
                  summary.get("launches_served") or all(reasons), reasons)
    claim(f"most are served: {len(served)} of {len(SCENARIOS)}", 2 * len(served) > len(SCENARIOS),
          set(SCENARIOS) - served)
    for name in ("two-streams", "interleaved-over-output"):
        for seed in range(1, 9):
            run, summary = guarded(name, "replay",
                                   contract_of(SCENARIOS[name], "declared", "retain"),
                                   {"REPRISE_SOFT_SCHEDULE": str(seed)})
            claim(f"{name}: retain is right under schedule {seed}",
                  run.stdout == bare(name, "eager"), run.stderr)
    not_served = {name: scenario for name, scenario in SCENARIOS.items()
                  if not scenario.get("serves", True)}
    for name, scenario in (REFUSED | not_served).items():
        run, summary = guarded(name, "replay", contract_of(scenario, states_of(scenario)[0], "retain"))
        right = run.stdout == bare(name, "eager")
        claim(f"{name}: retain makes it right or stops it",
              run.returncode == STOPPED and counting(summary) or run.returncode == 0 and right,
              f"exit {run.returncode}\n{run.stdout}{run.stderr}")


def mechanisms():
    for mechanism, expected in RED.items():
        red = set()
        for name, scenario in SCENARIOS.items():
            run, _ = guarded(name, "replay", contract_of(scenario, "declared", "regions", "report"),
                             {"REPRISE_TEST_DISABLE": mechanism})
            if run.stdout != bare(name, "eager"):
                red.add(name)
        claim(f"without {mechanism}: {', '.join(sorted(red)) or 'nothing'} red", expected <= red,
              f"missing: {expected - red}")
        claim(f"without {mechanism}: the control stays right", "pure" not in red)
    for mechanism, expected in STOPPED_WITHOUT.items():
        runs = {name: guarded(name, "replay", contract_of(SCENARIOS[name], "declared", "regions"),
                              {"REPRISE_TEST_DISABLE": mechanism})[0] for name in SCENARIOS}
        stopped = {name for name, run in runs.items() if run.returncode == STOPPED}
        claim(f"without {mechanism}: {', '.join(sorted(stopped))} are stopped",
              expected == stopped, expected ^ stopped)
    for mechanism, expected in SILENT_WITHOUT.items():
        silent = set()
        for name, scenario in REFUSED.items():
            if "buffers" in scenario:
                run, _ = guarded(name, "replay", contract_of(scenario, "declared", "regions"),
                                 {"REPRISE_TEST_DISABLE": mechanism})
                if run.returncode == 0 and run.stdout != bare(name, "eager"):
                    silent.add(name)
        claim(f"without {mechanism}: {', '.join(sorted(silent))} pass for right, and are not",
              expected == silent, expected ^ silent)
        run, _ = guarded("moved", "replay", contract_of(SCENARIOS["moved"], "declared", "regions"),
                         {"REPRISE_TEST_DISABLE": mechanism})
        claim(f"without {mechanism}: a copy in one stream stays right",
              run.stdout == bare("moved", "eager"), run.stderr)
    served = contract_of(SCENARIOS["interleaved-over-output"], "declared", "retain", "report")
    run, summary = guarded("interleaved-over-output", "replay", served,
                           {"REPRISE_TEST_DISABLE": "crossings"})
    claim("without crossings: interleaved-over-output is served what is not its own",
          summary["launches_served"] and run.stdout != bare("interleaved-over-output", "eager"),
          run.stderr)
    for name, off in [(name, off) for name in ("set-meanwhile", "set-by-graph-meanwhile")
                      for off in ("haste", "haste,in-flight")]:
        right = off == "haste"
        run, _ = guarded(name, "replay", contract_of({}, "discovered", "regions"),
                         {"REPRISE_TEST_DISABLE": off})
        claim(f"without {off}: {name} is {'right' if right else 'wrong'}", run.returncode == 0
              and (run.stdout == bare(name, "eager")) == right, run.stderr)
    launches = contract_of({}, "discovered", "regions") | {"segments": [
        {"name": "segment", "replay": {"repeat": True}, "forward": {
            "launches": {"first": "read_queue", "last": "slow_fill"}}}]}
    for off in ("haste", "haste,in-flight"):
        right = off == "haste"
        run, _ = guarded("set-meanwhile", "replay", launches, {"REPRISE_TEST_DISABLE": off})
        claim(f"without {off}: set-meanwhile, told by launches, is {'right' if right else 'wrong'}",
              run.returncode == 0 and (run.stdout == bare("set-meanwhile", "eager")) == right,
              run.stderr)
    run, summary = guarded("counted-on-host", "replay",
                           contract_of({"buffers": [STATE]}, "declared", "regions"),
                           {"REPRISE_TEST_DISABLE": "doubts"})
    claim("without doubts: counted-on-host passes for right, and is not",
          run.returncode == 0 and not landed(summary) and
          run.stdout != bare("counted-on-host", "eager"), f"{summary['hazards']}\n{run.stderr}")


def check():
    for name, scenario in SCENARIOS.items():
        contract = contract_of(scenario, "declared", "regions")
        run, summary = guarded(name, "replay", contract, layer="check")
        found = {(hazard["hazard"], hazard.get("buffer")) for hazard in summary["hazards"]}
        if not scenario.get("races"): # what its bare replay leaves is chance
            claim(f"{name}: check changes nothing", run.stdout == bare(name, "replay"), run.stderr)
        claim(f"{name}: check finds the hazard and names the buffer",
              scenario["finds"] <= found and (scenario["finds"] or not counting(summary)), found)
        run, summary = guarded(name, "eager", contract, layer="check")
        claim(f"{name}: an eager run has no hazards", not summary["hazards"], summary["hazards"])


# Every allocation is the layer's, and its content goes whenever it may.
DROPPED = {"REPRISE_SOFT_GRANULARITY": "4KiB", "REPRISE_TEST_DISABLE": "plenty"}


def recompute():
    recalls = 0
    for name, scenario in SCENARIOS.items():
        if scenario.get("touches"):
            continue  # no two allocations that the layer makes lie side by side
        contract = contract_of(scenario, "declared", "regions")
        run, summary = guarded(name, "eager", contract, DROPPED, layer="recompute")
        recalls += summary.get("recompute", {}).get("recalls", 0)
        claim(f"{name}: dropped at every chance: the bytes of the eager run",
              run.returncode == 0 and run.stdout == bare(name, "eager"), run.stdout + run.stderr)
    claim("what was dropped was made anew", recalls > 20, f"{recalls} recalls")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    {"laws": laws, "words": words, "mechanisms": mechanisms, "check": check,
     "retain": retain, "recompute": recompute}[SUITE]()
finish()
