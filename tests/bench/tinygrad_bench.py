#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast tinygrad trains on the software device, bare and observed: its own MNIST network at
batch 64 (goal: 0.8 s a step on two cores) and an MLP. Processor time is told beside, because only
it means something on a machine that is busy.

usage: tinygrad_bench.py REPRISE DEVICE_FOLDER SOURCE"""
import pathlib
import subprocess
import sys
import tempfile

from figures import figure

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "clients"))
from clients import SKIPPED, Missing, Place, clean_environment, tinygrad  # noqa: E402

RUNS = (("mlp", 100), ("large-cnn", 10))


def figures(command, environment):
    done = subprocess.run([str(word) for word in command], env=environment, text=True,
                          stdout=subprocess.PIPE, check=True)
    told = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    return float(told["seconds_a_step"]), float(told["processor_seconds_a_step"])


def main():
    print(f"{'tinygrad, batch 64':<20} {'renderer':<9} {'run':<9} {'s a step':>9} "
          f"{'steps a s':>9} {'processor s':>11}")
    with tempfile.TemporaryDirectory() as scratch:
        place = Place(*sys.argv[1:4], scratch)
        for network, steps in RUNS:
            for renderer in ("CUDA:PTX", "CUDA"):
                command, changes = tinygrad(renderer, network, steps)(place, place.scratch / "out")
                environment = clean_environment(changes)
                bare = {**environment, "LD_LIBRARY_PATH": str(place.device)}
                observed = [place.reprise, "run", "-q", "-m", "observe", "--device", "soft", "-o",
                            place.scratch / "trace", "--", *command]
                for how, run in (("bare", (command, bare)), ("observed", (observed, environment))):
                    wall, processor = figures(*run)
                    figure(f"tinygrad.{network}-{renderer}-{how}", wall, "s",
                           "<= 0.8" if (network, how) == ("large-cnn", "bare") else None)
                    print(f"{network:<20} {renderer:<9} {how:<9} {wall:>9.4f} {1 / wall:>9.1f} "
                          f"{processor:>11.4f}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except Missing as missing:
        print(f"skipped: {missing}")
        sys.exit(SKIPPED)
