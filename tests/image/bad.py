#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input: the driver's answers are its own, whatever the layer makes of what it sees.
usage: bad.py JOB FOLDER REPRISE"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from tap import claim, finish  # noqa: E402

JOB, FOLDER, REPRISE = map(os.path.abspath, sys.argv[1:4])


def run(*command):
    return subprocess.run([*command, JOB, FOLDER], capture_output=True, text=True, timeout=120,
                          check=False)


def difference(a, b):
    return [pair for pair in zip(a.splitlines(), b.splitlines()) if pair[0] != pair[1]]


with tempfile.TemporaryDirectory() as folder_:
    os.chdir(folder_)
    bare = run()
    claim("the job comes to its end", bare.returncode == 0 and bare.stdout.count("\n") > 80, bare)
    for options in (["--no-trace"], [], ["--audit", "1"]):
        layered = run(REPRISE, "run", "--device", "soft", "-q", "-m", "observe", "-o", "data",
                      *options, "--")
        claim(f"under the layer {' '.join(options) or 'with a trace'}: the same answers",
              layered.returncode == 0 and layered.stdout == bare.stdout,
              difference(layered.stdout, bare.stdout), layered.returncode, layered.stderr)
        ours = [line for line in layered.stderr.splitlines() if line.startswith("reprise:")]
        claim("and not a word", not ours, ours)

    run(REPRISE, "run", "--device", "soft", "-q", "-m", "observe", "-o", "data", "--")
    # The child's trace breaks off, as the child does; the job's is there.
    dump = subprocess.run([REPRISE, "dump", "--json", "data"], capture_output=True, text=True,
                          timeout=60, check=False)
    events = [json.loads(line) for line in dump.stdout.splitlines()]
    launches = [event["fields"] for event in events if event.get("name") == "launch"]
    accesses = {}
    for event in events:
        if event.get("name") == "access":
            note = event["fields"]
            accesses.setdefault(note["seq"], set()).add(
                (note["effect"], note["verdict"], note["offset"], note["bytes"]))
    increases = [accesses.get(launch["seq"], set()) for launch in launches
                 if launch["kernel"] == "increase"]
    claim("a pointer that is null at first is followed when it is none",
          set() in increases and
          {("read", "exact", 0, 400), ("write", "exact", 0, 400)} in increases, increases)
    claim("a namesake with its parameters the other way round is another kernel",
          {("write", "exact", 400, 4)} in increases, increases)
finish()
