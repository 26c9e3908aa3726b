#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever way a job takes to the device, its writes are seen: end to end, over the software
device. See job.h for the jobs.

usage: seen.py JOB KERNELS REPRISE SUITE

Suites: one a file of scenarios, and mechanisms. Each scenario says what must hold:
finds    check finds exactly these hazards (kind, buffer); none: the job is right as it is
guards   contract states under which a guarded replay leaves the bytes of the eager run
stops    contract states under which guard stops it, and on which hazard
unknown  calls that are reported as unknown writers, by name
unproved the job is wrong by itself, and of the kernel that would tell nothing is known
verdicts what its kernels are said to write, by kernel
unseen   the job is wrong by itself, and no call could tell: a declared guard says so last of all
environment of the job, beside that of all
racy     unguarded, the replay races with a write: it may be right by chance"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from tap import claim, finish  # noqa: E402

JOB, KERNELS, REPRISE = map(os.path.abspath, sys.argv[1:4])
STOPPED = 70

STATE = {"name": "state", "at": {"kernel": "step_state", "param": 0}}
QUEUE = {"name": "queue", "at": {"kernel": "read_queue", "param": 0}}
STEPPED = {("stale-read", "state"), ("state-left", "state")}
STALE_QUEUE = {("stale-read", "queue")}
LEFT = {("state-left", "queue")}
WRITTEN = STALE_QUEUE | LEFT
BOTH = ("declared", "discovered")
# Memory that others may write unseen: what it is declared to be is held, what is discovered is not.
SHARED = dict(finds=STALE_QUEUE, guards=("declared",), stops={"discovered": "unproved"})

EXACT, REACHABLE = {"step_rows": {"exact"}}, {"step_rows": {"reachable"}}
UNKNOWN_TABLE = dict(finds=set(), guards=("declared",), stops={"discovered": "unproved"},
                     unproved=True, unknown=["step_rows"], verdicts=REACHABLE)

SUITES = {
    "rejected": {
        "rejected-between": dict(finds=set(), guards=BOTH),
        "rejected-in-forward": dict(finds=STEPPED, guards=("declared",),
                                    stops={"discovered": "unproved"}),
        "rejected-behind": dict(finds=STEPPED, guards=("declared",),
                                stops={"discovered": "unproved"}),
        "rejected-then-retried": dict(finds=STEPPED, guards=("declared",),
                                      stops={"discovered": "unproved"}),
    },
    "graphs": {
        "graph-forward": dict(finds=STEPPED, guards=BOTH),
        "graph-captured-inside": dict(finds=STEPPED, guards=BOTH),
        "graph-clobbers-itself": dict(finds=WRITTEN, guards=BOTH),
        "graph-needs-copy-between-nodes": dict(finds=WRITTEN,
                                               stops={"declared": "not-preserved"}),
        "graph-written-while-capturing": dict(finds=STALE_QUEUE, guards=BOTH),
        "graph-own-memory": dict(finds=STALE_QUEUE, guards=BOTH),
        "graph-kernel": dict(finds=STALE_QUEUE, guards=BOTH),
        "graph-old-kernel-node": dict(finds=STALE_QUEUE, guards=BOTH),
        "graph-rejected": dict(finds=set(), guards=BOTH),
        "graph-copy": dict(finds=STALE_QUEUE, guards=BOTH),
        "graph-set": dict(finds=STALE_QUEUE, guards=BOTH),
        "graph-values": dict(finds=STALE_QUEUE, guards=BOTH),
        "graph-child": dict(finds=STALE_QUEUE, guards=BOTH),
        "graph-clone": dict(finds=STALE_QUEUE, guards=BOTH),
        "graph-kernel-changed": dict(finds=STALE_QUEUE, guards=BOTH),
        "graph-kernel-changed-away": dict(finds=set(), guards=BOTH),
        "graph-template-changed": dict(finds=STALE_QUEUE, guards=BOTH),
        "graph-updated": dict(finds=STALE_QUEUE, guards=BOTH),
        "graph-updated-then-changed": dict(finds=STALE_QUEUE, guards=("declared",),
                                           stops={"discovered": "unproved"},
                                           unknown=["cuGraphLaunch"]),
        "graph-disabled": dict(finds=set(), guards=BOTH),
        "graph-enabled-again": dict(finds=STALE_QUEUE, guards=BOTH),
    },
    "objects": {
        "copy-from-array": dict(finds=STALE_QUEUE, guards=BOTH),
        "copy-rows-from-array": dict(finds=STALE_QUEUE, guards=BOTH),
        "copy-batch-from-array": dict(finds=STALE_QUEUE, guards=BOTH),
        "array-written": dict(finds={("stale-read", "array"), ("state-left", "queue")},
                              stops={"declared": "stale-read", "discovered": "not-preserved"}),
        "texture-objects": dict(finds=STALE_QUEUE, guards=BOTH),
        "external-memory": dict(**SHARED, unknown=["cuExternalMemoryGetMappedBuffer", "memory"]),
        "external-semaphore": dict(finds=STALE_QUEUE, guards=BOTH),
        "exported": dict(**SHARED, unknown=["memory"]),
        "pool-pointer-exported": dict(**SHARED, unknown=["memory"]),
        "pool-exported": dict(finds=STALE_QUEUE | {("unproved", None)},
                              stops={"declared": "unproved", "discovered": "unproved"},
                              unknown=["cuMemPoolExportToShareableHandle"]),
        "multicast": dict(**SHARED, unknown=["memory"],
                          environment={"REPRISE_SOFT_CAPABILITY": "9.0"}),
        "discarded": dict(**SHARED, unknown=["memory"]),  # as managed memory it is the host's too
    },
    # Pointers that lead to other memory than what they point into.
    "pointers": {
        "from-the-end": dict(finds=STALE_QUEUE, guards=BOTH),
        "from-where-a-neighbour-begins": dict(finds=STALE_QUEUE, guards=BOTH),
        "from-a-rounded-pointer": dict(finds=STALE_QUEUE, guards=BOTH),
    },
    # Each process sees its own writes; what the other writes, it says that it can't see.
    "shared": {
        "written-by-another-process": dict(finds=set(), unseen=True, unknown=["memory"],
                                           stops={"discovered": "unproved"},
                                           other={"writes": "enqueue", "unknown":
                                                  "cuIpcOpenMemHandle_v2"}),
    },
    # What is not known of a table leaves nothing to discover.
    "tables": {
        "table-copied-before": dict(finds=STEPPED, guards=BOTH, verdicts=EXACT),
        "table-copied-in-forward": dict(finds=STEPPED, guards=BOTH, verdicts=EXACT),
        "table-changed-between": dict(finds={("stale-read", None), ("foreign-read", None)},
                                      stops={"declared": "stale-read", "discovered": "unproved"}),
        "table-put-by-kernel": UNKNOWN_TABLE,
        "table-copied-in-a-stream": UNKNOWN_TABLE,
        "table-in-host-memory": UNKNOWN_TABLE,
        "table-copied-by-a-graph": UNKNOWN_TABLE,
        "table-beside-a-free-stream": UNKNOWN_TABLE,
        "table-overtaken": dict(finds=STEPPED | {("stale-read", None)},
                                stops={"declared": "stale-read", "discovered": "unproved"},
                                verdicts={"put_rows": {"everything"}}),
    },
    "writers": {
        "copy-batch": dict(finds=STALE_QUEUE, guards=BOTH),
        "write-value": dict(finds=STALE_QUEUE, guards=BOTH),
        "batch-mem-op": dict(finds=STALE_QUEUE, guards=BOTH),
        "fill-2d": dict(finds=STALE_QUEUE, guards=BOTH),
        "copy-2d": dict(finds=STALE_QUEUE, guards=BOTH),
        "copy-3d": dict(finds=STALE_QUEUE, guards=BOTH),
        "alias-by-two-handles": dict(finds=STALE_QUEUE, guards=BOTH),
        "host-function": dict(finds=STALE_QUEUE, guards=("declared",),
                              stops={"discovered": "unproved"}, unknown=["memory", "read_queue"]),
        "pinned-once-written": dict(finds=LEFT | {("diverged", None)},
                                    stops={"declared": "diverged", "discovered": "diverged"}),
        "pinned-written-late": dict(finds=LEFT, stops={"discovered": "unproved"},
                                    unknown=["cuMemcpyHtoDAsync_v2"]),
        "managed": dict(finds=set(), unseen=True, stops={"discovered": "unproved"},
                        unknown=["memory", "read_queue"]),
        "remapped": dict(finds={("foreign-read", "queue[1]")}, stops={"declared": "foreign-read"}),
        "mapped-again": dict(finds=STALE_QUEUE, guards=BOTH),
        "by-cooperative-launch": dict(finds=STALE_QUEUE, guards=BOTH),
        "by-launch-ex": dict(finds=STALE_QUEUE, guards=BOTH),
        "by-parameter-block": dict(finds=STALE_QUEUE, guards=BOTH),
        "threads": dict(finds=STALE_QUEUE, guards=BOTH, racy=True, schedules=range(1, 17)),
    },
    "contexts": {
        "contexts": dict(finds=STALE_QUEUE, guards=BOTH),
        "passing-context": dict(finds=STALE_QUEUE, guards=BOTH),
        "library-in-contexts": dict(finds=STALE_QUEUE, guards=BOTH),
        "library-before-context": dict(finds=STALE_QUEUE, guards=BOTH),
        "library-in-graph": dict(finds=STALE_QUEUE, guards=BOTH),
    },
}


# Scenarios whose check or guard goes wrong without a mechanism.
RED = {"rejection": {"rejected-between", "rejected-in-forward", "rejected-behind"},
       "graphs": {"graph-forward", "graph-kernel", "graph-copy", "graph-child"}}
MISJUDGED = {"tables": "table-copied-before", "overtaken": "table-overtaken"}  # their verdicts do


def contract(state, policy="regions"):
    segment = {"name": "segment", "forward": {"nvtx": "forward/*"},
               "replay": {"nvtx": "recompute/*"}}
    document = {"version": 1, "segments": [segment], "state": state, "policy": policy,
                "step": {"nvtx": "step"}}
    if state == "declared":
        document["buffers"] = [STATE, QUEUE]
    return document


def run(name, way, mode=None, state="declared", policy="regions", off="", schedule=""):
    """One run: its outcome and its summary."""
    command = [REPRISE, "run", "--device", "soft", "--no-trace", "-o", "data"]
    if mode:
        pathlib.Path("contract.json").write_text(json.dumps(contract(state, policy)))
        command += ["-m", mode, "-c", "contract.json"]
    else:
        command.append("-q")
    environment = {"REPRISE_TEST_DISABLE": off, "REPRISE_SOFT_SCHEDULE": str(schedule)}
    for scenarios in SUITES.values():
        environment |= scenarios.get(name, {}).get("environment", {})
    done = subprocess.run(command + ["--", JOB, KERNELS, name, way], capture_output=True, text=True,
                          timeout=120, check=False, env=os.environ | environment)
    found = [json.loads(path.read_text()) for path in pathlib.Path("data").glob("summary-*")]
    return done, max(found, key=lambda summary: summary["launches"], default={})


def verdicts(name, off=""):
    """What was said of each kernel's writes, in a run that is checked."""
    pathlib.Path("contract.json").write_text(json.dumps(contract("declared")))
    subprocess.run([REPRISE, "run", "--device", "soft", "-q", "-o", "traced", "-m", "check", "-c",
                    "contract.json", "--", JOB, KERNELS, name, "replay"], capture_output=True,
                   timeout=120, check=False, env=os.environ | {"REPRISE_TEST_DISABLE": off})
    dump = subprocess.run([REPRISE, "dump", "--json", "traced"], capture_output=True, text=True,
                          check=True)
    found = {}
    for event in map(json.loads, dump.stdout.splitlines()):
        if event.get("name") == "launch":
            launch = event["fields"]
            found.setdefault(launch["kernel"], set()).add(launch["verdict"])
    return found


def hazards(summary):
    return {(hazard["hazard"], hazard.get("buffer")) for hazard in summary.get("hazards", [])
            if not hazard.get("warning")}


def check(name, scenario, bare):
    done, summary = run(name, "replay", "check")
    if not scenario.get("racy"):
        claim(f"{name}: check changes nothing", done.stdout == bare, done.stderr)
    claim(f"{name}: check finds {scenario['finds'] or 'no hazard'}",
          hazards(summary) == scenario["finds"], hazards(summary), summary.get("unknown"))
    named = {unknown["call"].removesuffix("_ptsz") for unknown in summary.get("unknown", [])}
    claim(f"{name}: unknown writers are named", set(scenario.get("unknown", ())) <= named, named)


def guard(name, scenario, eager):
    for state in scenario.get("guards", ()):
        for policy in "regions", "whole":
            done, summary = run(name, "replay", "guard", state, policy)
            claim(f"{name}: {state}, {policy}: the bytes of the eager run",
                  done.returncode == 0 and done.stdout == eager, done.stdout, eager, done.stderr,
                  summary.get("unknown"))
    for seed in scenario.get("schedules", ()):
        done, _ = run(name, "replay", "guard", schedule=seed)
        claim(f"{name}: right under schedule {seed}", done.stdout == eager, done.stderr)
    if scenario.get("unseen"):
        done, _ = run(name, "replay", "guard", "declared")
        claim(f"{name}: declared: says at the end what is not vouched for",
              "not vouched for: what host code or others write unseen" in done.stderr, done.stderr)
    for state, kind in scenario.get("stops", {}).items():
        done, summary = run(name, "replay", "guard", state)
        claim(f"{name}: {state}: stopped on {kind}",
              done.returncode == STOPPED and {kind} == {h[0] for h in hazards(summary)},
              done.returncode, hazards(summary), done.stdout, eager, done.stderr)


def writers_of_foreign(folder):
    """The kernels that write memory which another process has made, in all traces of a run."""
    dump = subprocess.run([REPRISE, "dump", "--json", folder], capture_output=True, text=True,
                          check=True)
    foreign, kernels, writers = set(), {}, set()
    for event in map(json.loads, dump.stdout.splitlines()):
        fields, name = event.get("fields", {}), event.get("name")
        if name == "allocation" and fields["kind"] == "foreign":
            foreign.add((event["pid"], fields["allocation"]))
        elif name == "launch":
            kernels[event["pid"], fields["seq"]] = fields["kernel"]
        elif name == "access" and fields["effect"] == "write" and \
                (event["pid"], fields["allocation"]) in foreign:
            writers.add((event["pid"], fields["seq"]))
    return {kernels.get(writer) for writer in writers}


def both_processes(name, other):
    """What the summary and the trace of the process that writes say of memory not its own."""
    done = subprocess.run([REPRISE, "run", "--device", "soft", "-q", "-o", "both", "--", JOB,
                           KERNELS, name, "eager"],
                          capture_output=True, text=True, timeout=120, check=False)
    summaries = [json.loads(path.read_text()) for path in pathlib.Path("both").glob("summary-*")]
    writing = min(summaries, key=lambda summary: summary["launches"], default={})
    named = {unknown["call"] for unknown in writing.get("unknown", [])}
    claim(f"{name}: each process has a summary, and the other's names {other['unknown']}",
          len(summaries) == 2 and other["unknown"] in named, done.stderr, summaries)
    writers = writers_of_foreign("both")
    claim(f"{name}: {other['writes']} is seen to write the other's memory",
          writers == {other["writes"]}, writers)


def examine(name, scenario):
    eager, bare = run(name, "eager")[0], run(name, "replay")[0]
    claim(f"{name}: runs", eager.returncode == 0 and bare.returncode == 0, eager.stderr,
          bare.stderr)
    if scenario.get("racy"):
        pass
    elif scenario["finds"] or scenario.get("unseen") or scenario.get("unproved"):
        claim(f"{name}: a real hazard, wrong without a guard", bare.stdout != eager.stdout)
    else:
        claim(f"{name}: right without a guard", bare.stdout == eager.stdout)
    check(name, scenario, bare.stdout)
    guard(name, scenario, eager.stdout)
    if "verdicts" in scenario:
        found = verdicts(name)
        claim(f"{name}: {scenario['verdicts']}", scenario["verdicts"].items() <= found.items(),
              found)
    if "other" in scenario:
        both_processes(name, scenario["other"])


def mechanisms():
    scenarios = {name: scenario for suite in SUITES.values() for name, scenario in suite.items()}
    for mechanism, expected in RED.items():
        for name in sorted(expected):
            eager = run(name, "eager")[0].stdout
            found = hazards(run(name, "replay", "check", off=mechanism)[1])
            guarded = run(name, "replay", "guard", off=mechanism)[0]
            claim(f"{name}: goes wrong without {mechanism}",
                  found != scenarios[name]["finds"] or guarded.stdout != eager)
    for mechanism, name in MISJUDGED.items():
        if not JOB.endswith("per_thread"):
            claim(f"{name}: is misjudged without {mechanism}",
                  not scenarios[name]["verdicts"].items() <= verdicts(name, mechanism).items())
    if JOB.endswith("per_thread"):  # elsewhere the legacy stream brings order by itself
        eager = run("threads", "eager")[0].stdout
        wrong = [seed for seed in range(1, 33) if run("threads", "replay", "guard", off="threads",
                                                      schedule=seed)[0].stdout != eager]
        claim("threads: goes wrong without threads under some schedule", wrong)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    if sys.argv[4] == "mechanisms":
        mechanisms()
    for name_, scenario_ in SUITES.get(sys.argv[4], {}).items():
        examine(name_, scenario_)
finish()
