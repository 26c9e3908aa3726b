#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""However a kernel was loaded and launched, the same is known of it.
usage: ways.py JOB FOLDER REPRISE SEVERAL"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from tap import claim, finish  # noqa: E402

JOB, FOLDER, REPRISE, SEVERAL = map(os.path.abspath, sys.argv[1:5])

events = []  # of the latest run


def run(contract=None, job=JOB, **environment):
    """What the job printed, and what the layer said: launches and accesses by their number."""
    mode = ["-m", "observe"]
    if contract is not None:
        segment = {"name": "none", "forward": {"nvtx": "none"}, "replay": {"nvtx": "none too"}}
        pathlib.Path("contract.json").write_text(
            json.dumps({"version": 1, "segments": [segment], "buffers": []} | contract))
        mode = ["-m", "check", "-c", "contract.json"]
    done = subprocess.run([REPRISE, "run", "--device", "soft", "-q", *mode, "-o", "data",
                           "--", job, FOLDER], capture_output=True, text=True, timeout=60,
                          check=False, env=os.environ | environment)
    dump = subprocess.run([REPRISE, "dump", "--json", "data"], capture_output=True, text=True,
                          timeout=60, check=True)
    global events
    events = [json.loads(line) for line in dump.stdout.splitlines()]
    accesses = collections.defaultdict(set)
    for event in events:
        if event.get("name") == "access":
            note = event["fields"]
            accesses[note["seq"]].add((note["effect"], note["verdict"], note["offset"],
                                       note["bytes"]))
    launches = [event["fields"] for event in events if event.get("name") == "launch"]
    return done, launches, accesses


def by_kernel(launches, name):
    return [launch for launch in launches if launch["kernel"] == name]


def summary():
    found = [json.loads(path.read_text()) for path in pathlib.Path("data").glob("summary-*")]
    return max(found, key=lambda each: each["launches"])


with tempfile.TemporaryDirectory() as folder_:
    os.chdir(folder_)
    done, launches, accesses = run()
    claim("the job does its work", done.returncode == 0 and done.stdout == "21 4\n", done)

    increases = by_kernel(launches, "increase")
    same = {("read", "exact", 0, 400), ("write", "exact", 0, 400)}
    claim("16 ways to load, 5 ways to launch: all are seen", len(increases) == 21, len(increases))
    wrong = [launch for launch in increases if accesses[launch["seq"]] != same]
    claim("and each touches exactly its 400 bytes", not wrong, wrong,
          [accesses[launch["seq"]] for launch in wrong])

    tails = by_kernel(launches, "no_tail")
    claim("a block with its tail padding and without is the same",
          len(tails) == 3 and all(accesses[launch["seq"]] == {("write", "exact", 0, 100)}
                                  for launch in tails), tails)
    last = by_kernel(launches, "hundred")[0]
    claim("the last of a hundred parameters is written through",
          accesses[last["seq"]] == {("write", "exact", 0, 4)}, accesses[last["seq"]])
    wide = by_kernel(launches, "wide_second")[0]
    claim("a widely aligned structure lies where the driver says",
          accesses[wide["seq"]] == {("write", "exact", 12, 4)}, accesses[wide["seq"]])
    counts = by_kernel(launches, "count")
    claim("a kernel without parameters writes a module's variable",
          len(counts) == 3 and all(accesses[launch["seq"]] == {("read", "exact", 0, 4),
                                                              ("write", "exact", 0, 4)}
                                   for launch in counts), counts)
    claim("nothing is unknown", not summary()["unknown"], summary()["unknown"])

    near = by_kernel(launches, "increase_where")[0]
    near_set = {("read", "bounded", 0, 512), ("write", "bounded", 0, 512),
                ("read", "exact", 0, 800)}
    claim("a range that may leave its allocation is cut off at its end",
          accesses[near["seq"]] == near_set, accesses[near["seq"]])
    for text, contract, verdict in (
            ("assumed to stay in bounds, it is", {"assume_in_bounds": True}, "bounded"),
            ("not assumed to stay in bounds, it is everything", {"assume_in_bounds": False},
             "everything")):
        done, launches, accesses = run(contract)
        near = by_kernel(launches, "increase_where")[0]
        others = {launch["verdict"] for launch in by_kernel(launches, "increase")}
        claim(text, near["verdict"] == verdict and others == {"exact"} and
              ("assume_in_bounds" in near["reason"]) == (verdict == "everything"),
              near, others, done.stderr)

    # Where machine code runs, the PTX beside it is no proof, but if the contract trusts it.
    off = {"REPRISE_TEST_DISABLE": "soft-knowledge"}
    done, launches, accesses = run(**off)
    opaque = [launch for launch in launches if launch["verdict"] == "reachable"]
    claim("machine code reaches whatever its arguments lead to, and the launch says why",
          len(opaque) == 1 and "trust_ptx" in opaque[0]["reason"] and
          {("write", "reachable", 0, 512), ("write", "reachable", 0, 4)} <=
          accesses[opaque[0]["seq"]], opaque, [accesses[launch["seq"]] for launch in opaque])
    done, launches, accesses = run({"trust_ptx": False}, **off)
    claim("a contract trusts no PTX by itself",
          [launch["verdict"] for launch in launches].count("reachable") == 1, launches)
    done, launches, accesses = run({"trust_ptx": True}, **off)
    claim("with trust_ptx it is proved like the others",
          {launch["verdict"] for launch in by_kernel(launches, "increase")} == {"exact"}, launches)

    # Of several PTX texts the device takes the newest that is not too new for it.
    for capability in ("8.0", "9.0"):
        done, launches, accesses = run(job=SEVERAL, REPRISE_SOFT_CAPABILITY=capability)
        wrote = [int(line) for line in done.stdout.split()]
        wrong = [launch for launch, at in zip(launches, wrote)
                 if accesses[launch["seq"]] != {("write", "exact", at, 1)}]
        claim(f"of several texts the one that a device of {capability} takes is proved",
              len(wrote) == len(launches) == 3 and not wrong, done, launches, accesses)

    # A real driver's linker makes machine code of PTX: then what it was given is what counts.
    done, launches, accesses = run(REPRISE_TEST_DISABLE="linked-text")
    kinds = [event["fields"]["kind"] for event in events if event.get("name") == "image"]
    claim("what was linked from PTX is proved by that PTX",
          kinds.count("linked") == 1 and
          all(accesses[launch["seq"]] == same for launch in by_kernel(launches, "increase")), kinds)

    done, launches, accesses = run(REPRISE_TEST_DISABLE="images")
    claim("without the images nothing of it is proved",
          done.stdout == "21 4\n" and
          {launch["verdict"] for launch in launches} == {"everything"}, launches)
    claim("and every launch says why", all(launch["reason"] for launch in launches))
    said = json.loads(subprocess.run([REPRISE, "info", "--json", "data"], capture_output=True,
                                     text=True, timeout=60, check=True).stdout)
    claim("which info counts", sum(said["reasons"].values()) == len(launches), said["reasons"])
    run()
    proof = subprocess.run([REPRISE, "info", "--proof", "increase", "data"], capture_output=True,
                           text=True, timeout=60, check=True).stdout
    claim("info --proof says it in words", "updates param 0" in proof and "if" in proof, proof)
finish()
