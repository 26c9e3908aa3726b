#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Audits: a launch that writes outside its access set is caught, and no other.
usage: audit.py WAYS NEIGHBOUR FOLDER REPRISE"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from tap import claim, finish  # noqa: E402

WAYS, NEIGHBOUR, FOLDER, REPRISE = map(os.path.abspath, sys.argv[1:5])
STOPPED = 70


def run(job, *options, disable="", contract=None, devices=1):
    """The run and its summary."""
    mode = ["-m", "observe"]
    if contract is not None:
        segment = {"name": "none", "forward": {"nvtx": "none"}, "replay": {"nvtx": "none too"}}
        pathlib.Path("contract.json").write_text(
            json.dumps({"version": 1, "segments": [segment], "buffers": []} | contract))
        mode = ["-m", "check", "-c", "contract.json"]
    done = subprocess.run([REPRISE, "run", "--device", "soft", "--no-trace", "-q", *mode, *options,
                           "-o", "data", "--", *job], capture_output=True, text=True, timeout=120,
                          check=False, env=os.environ | {"REPRISE_TEST_DISABLE": disable,
                                                        "REPRISE_SOFT_DEVICES": str(devices)})
    found = [json.loads(path.read_text()) for path in pathlib.Path("data").glob("summary-*")]
    return done, max(found, key=lambda each: each["launches"], default={})


with tempfile.TemporaryDirectory() as folder_:
    os.chdir(folder_)
    ways = [WAYS, FOLDER]
    done, summary = run(ways, "--audit", "1")
    claim("a right job passes its audits", done.returncode == 0 and done.stdout == "21 4\n" and
          summary["audits"] == summary["launches"] == 30 and summary["audit_misses"] == 0 and
          summary["audits_failed"] == 0, done, summary)
    done, summary = run(ways, "--audit", "7")
    claim("every seventh launch is audited", done.returncode == 0 and summary["audits"] == 4,
          done, summary)

    wrong = "whole-claims"
    done, summary = run(ways, disable=wrong)
    claim("without an audit a wrong proof is not noticed", done.returncode == 0, done)
    done, summary = run(ways, "--audit", "1", disable=wrong)
    said = r"stopped: an audit caught increase changing 25 bytes outside its access set, " \
           r"from byte 300 of allocation \d+ \(512 bytes\); it was said to write: " \
           r"exact: \[0, 300\)"
    claim("with one the run is stopped, and kernel, bytes and claim are named",
          done.returncode == STOPPED and not done.stdout and re.search(said, done.stderr) and
          done.stderr.count("reprise: stopped") == 1 and summary["audit_misses"] == 1, done)
    done, summary = run(ways, "--audit", "1", "-e", "9", disable=wrong)
    claim("with the exit code that was asked for", done.returncode == 9, done)
    done, summary = run(ways, "--audit", "1", contract={"on_violation": "report"}, disable=wrong)
    everything = summary.get("proofs", {}).get("everything", 0)
    claim("or goes on, with the kernel poisoned: whatever it writes now is unknown",
          done.returncode == 0 and 1 <= summary["audit_misses"] <= 6 and everything >= 20,
          done, summary)

    outside = [NEIGHBOUR, FOLDER, "out"]
    done, summary = run(outside)
    claim("a kernel that leaves its buffer writes into the next",
          done.returncode == 0 and done.stdout == "1\n", done)
    done, summary = run(outside, "--audit", "1")
    claim("an audit sees the neighbour change", done.returncode == STOPPED and
          "increase_where changing 1 byte outside" in done.stderr, done)
    done, summary = run(outside, "--audit", "1", contract={"assume_in_bounds": False})
    claim("what is not assumed to stay in bounds claims it, and there is nothing to catch",
          done.returncode == 0 and summary["audit_misses"] == 0, done, summary)
    done, summary = run([NEIGHBOUR, FOLDER, "all"], "--audit", "1")
    claim("a kernel that leaves its buffer for certain is said to write into the next",
          done.returncode == 0 and done.stdout == "1\n" and summary["audits"] == 1 and
          summary["audit_misses"] == 0, done, summary)
    done, summary = run([NEIGHBOUR, FOLDER, "in"], "--audit", "1")
    claim("and the same kernel within its buffer is not blamed",
          done.returncode == 0 and summary["audits"] == 1, done, summary)

    done, summary = run([NEIGHBOUR, FOLDER, "in"], "--audit", "1", devices=2)
    claim("what its device may not read is left out", done.returncode == 0 and
          done.stdout == "1\n" and summary["audits"] == 1 and summary["audits_failed"] == 0,
          done, summary)

    done, summary = run([*outside, "graph"])
    claim("in a graph it does the same", done.returncode == 0 and done.stdout == "1\n", done)
    done, summary = run([*outside, "graph"], "--audit", "1")
    claim("the launch of a graph is audited as one", done.returncode == STOPPED and
          "increase_where changing 1 byte outside" in done.stderr and
          summary["audit_misses"] == 1, done, summary)
    done, summary = run([*outside, "graph"], "--audit", "1", contract={"on_violation": "report"})
    claim("and its kernels are poisoned", done.returncode == 0 and done.stdout == "1\n" and
          "increase_where" in [item["call"] for item in summary["unknown"]], done, summary)
    done, summary = run([NEIGHBOUR, FOLDER, "in", "graph"], "--audit", "1")
    claim("a right one passes", done.returncode == 0 and summary["audits"] == 1 and
          summary["audit_misses"] == 0 and summary["audits_failed"] == 0, done, summary)

    done, _ = run(ways, "--audit", "0")
    claim("no audit in no launches", done.returncode == 2, done)
finish()
