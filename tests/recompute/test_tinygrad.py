#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tinygrad job that keeps every activation leaves the same bytes in less memory.

usage: test_tinygrad.py REPRISE DEVICE_FOLDER SOURCE

Its allocator keeps what the job gives back and hands it out again: what is dead in it is nobody's
to know, so that it goes to host memory where it is in the way. Exit status 77 where there is no
tinygrad."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "clients"))
from clients import SKIPPED, Missing, Place  # noqa: E402

CONTRACT = {"version": 1, "state": "discovered", "step": {"nvtx": "step"},
            "segments": [{"name": "layer", "forward": {"nvtx": "forward/*"},
                          "replay": {"nvtx": "recompute/*"}, "pair": "key"}]}
SHARES = (0.9, 0.5, 0.4)
MOST_RECALLS = {0.9: 0.12, 0.5: 1, 0.4: 1.75}  # of a forward, in a step
LAYERS, STEPS = 12, 3


def run(place, python, name, *layer):
    """(the bytes that the job leaves, its summary)"""
    output = place.scratch / name
    environment = os.environ | {"DEV": "CUDA:PTX", "CACHELEVEL": "0",
                                "REPRISE_SOFT_GRANULARITY": "4KiB"}
    done = subprocess.run([place.reprise, "run", "-q", "--no-trace", "--device", "soft", "-o",
                           output, *layer, "-c", place.scratch / "contract.json", "--", python,
                           HERE / "tinygrad_job.py", place.digits(), f"{output}.bytes",
                           str(LAYERS), "512", str(STEPS)],
                          capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{name}: exit status {done.returncode}: {done.stderr[-500:]}")
    summaries = [json.loads(path.read_text()) for path in output.glob("summary-*")]
    return pathlib.Path(f"{output}.bytes").read_bytes(), \
        max(summaries, key=lambda summary: summary["device_peak_bytes"])


def main():
    with tempfile.TemporaryDirectory() as scratch:
        place = Place(*sys.argv[1:4], scratch)
        try:
            python = place.python("tinygrad", "numpy", "nvtx")
        except Missing as reason:
            print(f"skipped: {reason}")
            return SKIPPED
        (place.scratch / "contract.json").write_text(json.dumps(CONTRACT))
        wanted, eager = run(place, python, "eager", "-m", "check")
        for share in SHARES:
            budget = int(eager["device_peak_bytes"] * share)
            found, tight = run(place, python, f"{share}", "-m", "recompute", "-b", str(budget))
            figures = tight["recompute"]
            print(f"{eager['device_peak_bytes']} bytes with enough, {tight['device_peak_bytes']} "
                  f"under {budget}: {figures['drops']} drops, {figures['recalls']} forwards run "
                  f"again, {tight['bytes_kept_on_host']} bytes on the host")
            assert found == wanted and found, "other bytes"
            assert tight["device_peak_bytes"] <= budget and figures["recalls"] > 0
            # What one forward has made goes together: else one recall leads to the next. What the
            # last step has left goes before what this one is going to use.
            assert figures["recalls"] <= MOST_RECALLS[share] * LAYERS * STEPS, figures
        least = tight["recompute"]["least_bytes"]
        found, tight = run(place, python, "least", "-m", "recompute", "-b", str(least))
        print(f"{least} bytes are enough, {tight['bytes_kept_on_host']} on the host")
        assert found == wanted and tight["device_peak_bytes"] <= least < int(
            eager["device_peak_bytes"] * SHARES[-1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
