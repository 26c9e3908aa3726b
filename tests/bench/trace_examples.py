#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What traces of training programs take on disk, in bytes a driver call: digits observed and
guarded, digits in four ranks under mpirun, and tinygrad's networks. And whether readers take the
same memory for a trace ten times as long.

usage: trace_examples.py REPRISE DIGITS CONTRACT RANKS PEAK DEVICE_FOLDER SOURCE

An absent program (mpirun, tinygrad) is told and passed over. A call of uftrace's takes 32 bytes: a
record of 16 as it is entered and one as it is left."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from figures import figure

REPRISE, DIGITS, CONTRACT, RANKS, PEAK = sys.argv[1:6]
STEPS, GOAL = 200, 16
READERS = {"dump": ["dump"], "info": ["info"], "check": ["check"], "report": ["report", "-o", "-"],
           "chrome": ["export", "-f", "chrome", "-o", "-"],
           "csv": ["export", "-f", "csv", "-o", "-"], "jsonl": ["export", "-f", "jsonl", "-o", "-"],
           "memviz": ["export", "-f", "memviz", "-o", "-"],
           "folded": ["export", "-f", "folded", "-o", "-"]}


def observe(folder, *command, mode="observe", words=(), environment=None):
    data = folder / "data"
    shutil.rmtree(data, ignore_errors=True)
    subprocess.run([REPRISE, "run", "-q", "-d", "soft", "-m", mode, "-o", data, *words, "--",
                    *map(str, command)], check=True, stdout=subprocess.DEVNULL, env=environment)
    return data


def tell_size(name, data):
    info = json.loads(subprocess.run([REPRISE, "info", "--json", data], check=True,
                                     stdout=subprocess.PIPE).stdout)
    calls = sum(info["calls"].values())
    each = sum(path.stat().st_size for path in data.glob("*.rpt")) / calls
    figure(f"trace.bytes-{name}", each, "bytes/call", f"<= {GOAL}")
    print(f"  {name:<24} {calls:>9,} calls {each:6.1f} bytes a call    goal {GOAL}", flush=True)


def tell_digits(folder):
    contract = ["-c", CONTRACT]
    tell_size("digits-observe", observe(folder, DIGITS, "-c", "-n", STEPS))
    tell_size("digits-guard", observe(folder, DIGITS, "-c", "-n", STEPS, mode="guard",
                                      words=contract))


def tell_ranks(folder):
    if not shutil.which("mpirun") or not os.path.exists(RANKS):
        print("  ranks: no mpirun")
        return
    tell_size("ranks-observe", observe(
        folder, "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", 4, RANKS, "-n", STEPS))


def tell_tinygrad(folder):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "clients"))
    from clients import Missing, Place, clean_environment, tinygrad
    try:
        place = Place(REPRISE, *sys.argv[6:8], folder)
        for network, steps in (("mlp", 200), ("cnn", 40)):
            command, changes = tinygrad("CUDA:PTX", network, steps)(place, place.scratch / "out")
            tell_size(f"tinygrad-{network}", observe(
                folder, *command, environment=clean_environment(changes)))
    except Missing as missing:
        print(f"  tinygrad: {missing}")


def peak_kib(*words):
    """Of the resident memory of one reader, as the kernel counts it."""
    return int(subprocess.run([PEAK, *words], check=True, stdout=subprocess.PIPE).stdout)


def tell_memory(folder):
    few = observe(folder, DIGITS, "-c", "-n", STEPS // 5).rename(folder / "few")
    many = observe(folder, DIGITS, "-c", "-n", STEPS * 2)
    for name, words in READERS.items():
        small = peak_kib(REPRISE, *words, str(few))
        large = peak_kib(REPRISE, *words, str(many))
        figure(f"trace.memory-{name}", large / small, "ratio", "<= 1.5")
        print(f"  {name:<10} peak {small:>7,} KiB, of a trace ten times as long {large:>7,} KiB: "
              f"{large / small:.2f}    goal 1.5", flush=True)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        print("traces of training programs")
        tell_digits(folder)
        tell_ranks(folder)
        tell_tinygrad(folder)
        print("peak memory of readers")
        tell_memory(folder)


main()
