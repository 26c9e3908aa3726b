#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the suites of random programs and of real frameworks, and prints the table of every
execution: a match with the eager run, a rejection (the layer said so and stopped), or a
divergence that nobody reported.

usage: suites.py [--build FOLDER] [--records FILE] [SUITE [ARG...]]

A suite is a program that gets --build FOLDER --records FILE and appends to FILE a line of JSON an
execution: suite, case, condition, run (bare, or how it was guarded), step, outcome, reason. It
exits with 0 when all is as it must be, and with 77 when it can't run here."""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SUITES = {
    "derivatives": [sys.executable, HERE / "derivatives.py"],
    "bytes": [sys.executable, HERE / "bytes.py"],
    "cohort": [sys.executable, HERE / "cohort.py"],
}
OUTCOMES = ("match", "rejection", "divergence")
SKIPPED = 77


def read_records(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def print_table(records):
    """A line for each suite, kind of case, condition and way to run."""
    counts = collections.Counter()
    reasons = collections.defaultdict(collections.Counter)
    for record in records:
        row = (record["suite"], record.get("framework", ""), record.get("condition", ""),
               record["run"])
        counts[row, record["outcome"]] += 1
        if record["outcome"] == "rejection":
            reasons[row][record["reason"]] += 1
    line = "{:<12} {:<10} {:<16} {:<11} {:>10} {:>7} {:>10} {:>11}"
    print(line.format("suite", "framework", "condition", "run", "executions", *OUTCOMES))
    for row in sorted({row for row, _ in counts}):
        numbers = [counts[row, outcome] for outcome in OUTCOMES]
        print(line.format(*row, sum(numbers), *numbers))
    for row, found in sorted(reasons.items()):
        for reason, count in found.most_common(3):
            print(f"rejected {count} times, {' '.join(filter(None, row))}: {reason[:200]}")


def main():
    parser = argparse.ArgumentParser(prog="tools/dev suites", description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"),
                        metavar="FOLDER")
    parser.add_argument("--records", type=pathlib.Path, metavar="FILE",
                        help="where the records are kept (default: BUILD/suites.jsonl)")
    parser.add_argument("suite", nargs="?", choices=SUITES, help="just this one")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the suite is told")
    options = parser.parse_args()
    records = options.records or options.build / "suites.jsonl"
    records.unlink(missing_ok=True)
    records.touch()

    failed = []
    for name in [options.suite] if options.suite else SUITES:
        start = time.monotonic()
        code = subprocess.run([*SUITES[name], "--build", options.build, "--records", records,
                               *options.arguments]).returncode
        print(f"{name}: {'skipped' if code == SKIPPED else 'failed' if code else 'well'}, "
              f"{time.monotonic() - start:.0f} s", flush=True)
        if code not in (0, SKIPPED):
            failed.append(name)
    print_table(read_records(records))
    print(f"records: {records}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
