#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmarks one after the other and makes one table of what they measured.

usage: bench.py BUILD [--keep] [BENCHMARK...]

Figures are lines of JSON that benchmarks write (tests/bench/figures.h). Each is shown with its
goal, the quartiles of its runs, what was published or what a peer took in the same run, and, for
ratios, the last committed figure (tests/bench/figures.json, where --keep puts the new ones, if no
benchmark failed; absolute figures say nothing about another machine and are not compared).
BUILD/figures.json gets them all. The exit code is 1 when a benchmark failed or measured nothing;
a goal that is missed is shown."""
import argparse
import json
import operator
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "tests/bench/figures.json"
PATIENCE = 4  # times the benchmarks' limits, which are of an idle machine
COMPARISONS = {"<=": operator.le, ">=": operator.ge, "==": operator.eq}


def run(build, names):
    """The benchmarks' output as it comes, then (did all succeed, their figures)."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "figures")
        done = subprocess.run(["meson", "test", "-C", build, "--benchmark", "--verbose",
                               "--timeout-multiplier", str(PATIENCE), *names],
                              env=os.environ | {"BENCH_FIGURES": str(path)}, check=False)
        lines = path.read_text().splitlines() if path.exists() else []
    return done.returncode == 0, [json.loads(line) for line in lines]


def verdict(figure):
    if "goal" not in figure:
        return ""
    sign, bound = figure["goal"].split()
    return "holds" if COMPARISONS[sign](figure["value"], float(bound)) else "MISSED"


def number(value):
    return "" if value is None else f"{value:.4g}"


def rows(figures, last):
    yield ("figure", "median", "quartiles", "unit", "goal", "", "published", "committed")
    for figure in figures:
        before = last.get(figure["name"]) if figure["unit"] == "ratio" else None
        spread = (f"{number(figure['low'])} to {number(figure['high'])}"
                  if figure["runs"] > 1 else "")
        yield (figure["name"], number(figure["value"]), spread, figure["unit"],
               figure.get("goal", ""), verdict(figure), number(figure.get("published")),
               number(before and before["value"]))


def show(table):
    table = list(table)
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    for row in table:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def keep(last, figures):
    """The new ones in the places of the old; of benchmarks that were not run the old ones stay."""
    by_name = {figure["name"]: figure for figure in last} | {each["name"]: each for each in figures}
    return list(by_name.values())


def document(figures):
    machine = f"{platform.machine()}, {os.cpu_count()} processors"
    return json.dumps({"machine": machine, "figures": figures}, indent=1) + "\n"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("build")
    arguments.add_argument("--keep", action="store_true")
    arguments.add_argument("names", nargs="*")
    given = arguments.parse_args()
    last = json.loads(COMMITTED.read_text())["figures"] if COMMITTED.exists() else []
    good, figures = run(given.build, given.names)
    pathlib.Path(given.build, "figures.json").write_text(document(figures))
    if given.keep and good:
        COMMITTED.write_text(document(keep(last, figures)))
    print()
    show(rows(figures, {figure["name"]: figure for figure in last}))
    missed = sum(verdict(figure) == "MISSED" for figure in figures)
    print(f"\n{len(figures)} figures, {missed} miss their goal; {given.build}/figures.json"
          + ("" if good else "; a benchmark failed, and nothing was kept"))
    return 0 if good and figures else 1


if __name__ == "__main__":
    sys.exit(main())
