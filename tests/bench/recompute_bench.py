#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What half of the memory costs a job that keeps everything: the digits example with sixteen
blocks under `recompute`, on the model clock of an H100 NVL with sizes scaled. That clock gives the
same job the same times, so that one run is enough. The bytes must be those of the bare run.

usage: recompute_bench.py REPRISE DIGITS CONTRACT"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from figures import figure

REPRISE, DIGITS, CONTRACT = map(os.path.abspath, sys.argv[1:4])
JOB = [DIGITS, "-n", "6", "-b", "512", "-l", "16"]
SCALE = 64
SHARES = {0.5: "half", 0.36: "36-percent"}


def run(folder, *layer):
    """The job's bytes, and the summary."""
    out = pathlib.Path(tempfile.mkdtemp(dir=folder))
    clock = out / "clock.json"
    clock.write_text(json.dumps({"version": 1, "base": "h100nl", "name": "scaled",
                                 "bytes_scale": SCALE, "ops_scale": SCALE}))
    environment = os.environ | {"REPRISE_SOFT_CLOCK": str(clock), "REPRISE_SOFT_WORKERS": "1",
                                "REPRISE_SOFT_GRANULARITY": "4KiB"}
    subprocess.run([REPRISE, "run", "-q", "--no-trace", "--device", "soft", "-o", out / "out",
                    *layer, "-c", CONTRACT, "--", *JOB, f"--dump={out / 'dump'}"], check=True,
                   stdout=subprocess.DEVNULL, env=environment)
    summary = json.loads(next((out / "out").glob("summary-*.json")).read_text())
    return (out / "dump").read_bytes(), summary


def main():
    with tempfile.TemporaryDirectory() as folder:
        wanted, eager = run(folder, "-m", "check")
        for share, name in SHARES.items():
            budget = int(eager["device_peak_bytes"] * share)
            found, summary = run(folder, "-m", "recompute", "--budget", str(budget))
            if found != wanted or not found:
                sys.exit(f"{name}: other bytes than the bare run's")
            memory = summary["device_peak_bytes"] / eager["device_peak_bytes"]
            time = summary["step_costs"]["last_ns"] / eager["step_costs"]["last_ns"]
            print(f"digits, sixteen blocks, {share:.0%} of the memory allowed: {memory:.3f} taken, "
                  f"a step takes {time:.3f} of eager's, the same bytes", flush=True)
            figure(f"recompute.{name}-memory-over-eager", memory, "ratio", f"<= {share}")
            figure(f"recompute.{name}-time-over-eager", time, "ratio")


main()
