#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A loop of calls in the trace and in uftrace (Debian: uftrace), side by side in one run: calls a
second written by one thread into memory-backed storage, bytes a call, lines a second read; then
what a report of a million calls and `info` on a gigabyte take.

usage: trace_peers.py REPRISE TRACE_LOOP PEER_LOOP TRACE_BENCH"""
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from figures import figure

REPRISE, LOOP, PEER, BENCH = (pathlib.Path(word).resolve() for word in sys.argv[1:5])
CALLS, ROUNDS, LARGE, LITTLE = 2_000_000, 5, 1 << 30, 32 << 20


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **more).stdout


def timed(*command):
    """Seconds, and lines printed."""
    start = time.monotonic()
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        lines = sum(chunk.count(b"\n") for chunk in iter(lambda: process.stdout.read(1 << 20), b""))
    return time.monotonic() - start, lines


def size(path):
    return sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())


def ours(folder):
    trace = folder / "loop.rpt"
    trace.unlink(missing_ok=True)
    written = float(run(LOOP, trace, CALLS))
    read, lines = timed(REPRISE, "dump", trace)
    return {"M calls/s": CALLS / written / 1e6, "bytes/call": size(trace) / CALLS,
            "M lines/s": lines / read / 1e6}


def theirs(folder):
    data = folder / "uftrace.data"
    shutil.rmtree(data, ignore_errors=True)
    bare = float(run(PEER, CALLS, cwd=folder))
    traced = float(run("uftrace", "record", "-d", data, "--no-libcall", PEER, CALLS,
                       cwd=folder).split()[0])
    records = sum(file.stat().st_size for file in data.glob("*.dat"))
    read, lines = timed("uftrace", "replay", "-d", data, "--no-pager", "-f", "none")
    return {"M calls/s": CALLS / (traced - bare) / 1e6, "bytes/call": records / CALLS,
            "M lines/s": lines / read / 1e6}


GOALS = {"M calls/s": ">= 10", "M lines/s": ">= 5"}


def table(name, rounds, goals):
    for key in rounds[0]:
        values = [one[key] for one in rounds]
        figure(f"trace.{name}-{key.split('/')[0].replace(' ', '-')}", values, key, goals.get(key))
        print(f"  {name:<10}{key:<12}{statistics.median(values):10.2f}   "
              f"{min(values):8.2f} to {max(values):.2f}")


def report(folder):
    trace = folder / "loop.rpt"
    run(LOOP, trace.with_suffix(".million.rpt"), 1_000_000)
    million = trace.with_suffix(".million.rpt")
    page = folder / "page.html"
    took, _ = timed(REPRISE, "report", "-q", "--force", "-o", page, million)
    figure("trace.report-of-a-million", took, "s", "<= 5")
    figure("trace.page-of-a-million", size(page) / 1e6, "MB", "<= 20")
    print(f"  report of 1,000,000 calls: {took:.2f} s, {size(page) / 1e6:.2f} MB "
          "(goals 5 s, 20 MB)")
    took, _ = timed(REPRISE, "info", million)
    print(f"  info of 1,000,000 calls: {took:.2f} s")


def little_memory():
    resource.setrlimit(resource.RLIMIT_AS, (LITTLE, LITTLE))


def large(folder):
    """In a process that may have so little memory and no more."""
    trace = folder / "large.rpt"
    run(BENCH, trace, LARGE)
    took = []
    for _ in range(3):
        start = time.monotonic()
        run(REPRISE, "info", trace, preexec_fn=little_memory)
        took.append(time.monotonic() - start)
    figure("trace.info-of-a-gigabyte", took, "s", "<= 2")
    print(f"  info of {size(trace) / 1e9:.2f} GB within {LITTLE >> 20} MiB of address space: "
          f"{statistics.median(took):.2f} s (goal 2 s)")


def main():
    storage = "/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=storage) as name:
        folder = pathlib.Path(name)
        print(f"{CALLS:,} calls, {ROUNDS} rounds: median, and from least to most")
        rounds = [(ours(folder), theirs(folder) if shutil.which("uftrace") else None)
                  for _ in range(ROUNDS)]
        table("reprise", [mine for mine, _ in rounds], GOALS)
        if rounds[0][1]:
            table("uftrace", [peer for _, peer in rounds], {})
        else:
            print("  uftrace is not there: no peer")
        print("  goals: 10 M calls/s, 5 M lines/s")
        report(folder)
        large(folder)


main()
