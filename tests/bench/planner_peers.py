#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`reprise plan` beside glpsol and cbc: whole processes, one after the other, on the same chains.

usage: planner_peers.py REPRISE [-n N,...] [-s SEED] [-l SECONDS] [-o FILE]

A chain has activations of 8 to 512 MiB in units of 512 bytes, times in nanoseconds, and a budget
halfway between the smallest that some plan fits and what retaining everything takes. Times are
processor seconds of the process, so that what else runs on the machine doesn't count; of small
chains each is the median of three runs. Memory is the most that was resident, and some 12 MiB of
this interpreter at least, from which the process begins. What any of the three answers is walked
here, in whole numbers: none may take less time than reprise's plan, and those that finish take the
same. A solver that is stopped after SECONDS counts with those, as the least that it would have
taken."""
import argparse
import json
import os
import pathlib
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

from figures import figure

SIZES = (8, 16, 40, 100, 200, 400, 1000)
UNIT, MIB = 512, 1 << 20
OPTIONS = ("retain", "whole", "regions")


# ---- chains -----------------------------------------------------------------------------

def below(draw, limit):
    return draw.randrange(limit) // UNIT * UNIT


def make_segment(draw):
    """(hold, peak, time) of each option; whole copies cost a little a byte, ranges a little more
    and something fixed."""
    activation, workspace = 8 * MIB + below(draw, 504 * MIB), below(draw, 64 * MIB)
    whole = below(draw, activation // 2)
    part = below(draw, whole + 1)
    once, around = 100_000 + draw.randrange(10_000_000), activation + workspace
    return ((activation, around, 3 * once),
            (whole, 2 * whole + around, 4 * once + whole // 125 + 20_000),
            (part, 2 * part + around, 4 * once + part // 100 + 60_000))


def least_budget(rows):
    need = 0
    for segment in reversed(rows):
        need = min(max(peak, hold + need) for hold, peak, _ in segment)
    return need


def walk(rows, choices):
    held = peak = time = 0
    for segment, choice in zip(rows, choices):
        peak = max(peak, held + segment[choice][1])
        held += segment[choice][0]
        time += segment[choice][2]
    return max(peak, held), time


def write_profile(rows, path):
    segments = [{"name": f"s{k}", "options": {
        option: {"hold_bytes": row[0], "peak_bytes": row[1], "time_ns": row[2]}
        for option, row in zip(OPTIONS, segment)}} for k, segment in enumerate(rows)]
    path.write_text(json.dumps({"version": 1, "base_bytes": 0, "segments": segments}))


def write_program(rows, budget, path):
    """In CPLEX's format, for both solvers."""
    def terms(k, what):
        return "".join(f" + {rows[k][c][what] // (UNIT if what < 2 else 1)} x{k}_{c}\n"
                       for c in range(3) if rows[k][c][what])
    with path.open("w") as out:
        out.write("Minimize\n time:" + "".join(terms(k, 2) for k in range(len(rows))))
        out.write("Subject To\n")
        held = ""
        for k in range(len(rows)):
            out.write(f" one{k}: x{k}_0 + x{k}_1 + x{k}_2 = 1\n")
            out.write(f" peak{k}:{held}{terms(k, 1)} <= {budget // UNIT}\n")
            held += terms(k, 0)
        out.write("Binary\n" + "".join(f" x{k}_{c}\n" for k in range(len(rows))
                                       for c in range(3)) + "End\n")


# ---- processes --------------------------------------------------------------------------

def run(words, limit):
    """Output, or None when it was stopped or failed; processor seconds; MiB at most."""
    def bound():
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(words, stdout=out, stderr=subprocess.DEVNULL,
                                   preexec_fn=bound)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode()
    seconds = usage.ru_utime + usage.ru_stime
    return text if process.returncode == 0 else None, seconds, usage.ru_maxrss / 1024


def of_reprise(text, folder):
    return [OPTIONS.index(choice) for choice in json.loads(text)["choices"]]


def of_glpsol(text, folder):
    lines = (folder / "glpsol.txt").read_text().splitlines()
    columns = [line.split() for line in lines if line.startswith("j ")]
    return chosen((int(j) - 1) for _, j, value in columns if float(value) > 0.5)


def of_cbc(text, folder):
    lines = (folder / "cbc.txt").read_text().splitlines()
    found = [re.match(r"\s*\d+ x(\d+)_(\d) +(\S+)", line) for line in lines[1:]]
    return chosen(3 * int(m[1]) + int(m[2]) for m in found if m and float(m[3]) > 0.5)


def chosen(columns):
    return [column % 3 for column in sorted(columns)]


def contenders(reprise, folder, budget):
    program = str(folder / "p.lp")
    yield "reprise", of_reprise, [reprise, "plan", "-P", str(folder / "p.json"), "-b",
                                  str(budget), "--json"]
    if shutil.which("glpsol"):
        yield "glpsol", of_glpsol, ["glpsol", "--lp", program, "--mipgap", "0", "-w",
                                    str(folder / "glpsol.txt")]
    if shutil.which("cbc"):
        yield "cbc", of_cbc, ["cbc", program, "ratioGap", "0", "allowableGap", "0", "solve",
                              "solution", str(folder / "cbc.txt")]


# ---- one chain --------------------------------------------------------------------------

def measure(name, read, words, folder, rows, limit):
    runs = [run(words, limit) for _ in range(3 if len(rows) <= 200 or name == "reprise" else 1)]
    done = all(text is not None for text, _, _ in runs)
    return {"finished": done, "seconds": statistics.median(seconds for _, seconds, _ in runs),
            "runs": [seconds for _, seconds, _ in runs],
            "mib": max(mib for _, _, mib in runs),
            "choices": read(runs[-1][0], folder) if done else None}


def compare(reprise, n, seed, limit):
    draw = random.Random(f"{seed} {n}")
    rows = [make_segment(draw) for _ in range(n)]
    least, eager = least_budget(rows), walk(rows, [0] * n)[0]
    budget = least + (eager - least) // 2
    result = {"n": n, "budget_bytes": budget}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_profile(rows, folder / "p.json")
        write_program(rows, budget, folder / "p.lp")
        for peer, read, words in contenders(reprise, folder, budget):
            result[peer] = measure(peer, read, words, folder, rows, limit)
    check(result, rows, budget)
    return result


def check(result, rows, budget):
    """Certified in whole numbers: a solver's own sums are floating point."""
    peak, best = walk(rows, result["reprise"]["choices"])
    assert peak <= budget, "reprise's plan does not fit"
    result["time_ns"] = best
    for peer in ("glpsol", "cbc"):
        found = result.get(peer, {}).get("choices")
        if found:
            assert len(found) == len(rows), peer
            peak, time = walk(rows, found)
            assert peak > budget or time >= best, f"{peer} found a better plan"
            result[peer]["same"] = peak <= budget and time == best
    for peer in ("reprise", "glpsol", "cbc"):
        result.get(peer, {}).pop("choices", None)


# ---- what is printed --------------------------------------------------------------------

def cell(result, peer):
    one = result.get(peer)
    if one is None:
        return "not installed", ""
    ratio = one["seconds"] / result["reprise"]["seconds"]
    if not one["finished"]:
        return f"> {one['seconds']:.1f}", f"> {ratio:.0f}x"
    return f"{one['seconds']:.4f}", f"{ratio:.1f}x" + ("" if one["same"] else " inexact")


def print_row(result):
    own, (glpk, glpk_ratio), (cbc, cbc_ratio) = (result["reprise"], cell(result, "glpsol"),
                                                 cell(result, "cbc"))
    print(f"{result['n']:5} {own['seconds']:10.4f} {own['mib']:7.1f} {glpk:>14} {glpk_ratio:>10} "
          f"{cbc:>14} {cbc_ratio:>10}", flush=True)


def tell(result):
    n, own = result["n"], result["reprise"]
    limits = {"seconds": "<= 0.3", "MiB": "<= 256"} if n == 1000 else {}
    figure(f"planner.{n}.process", own["runs"], "s", goal=limits.get("seconds"))
    figure(f"planner.{n}.memory", [own["mib"]], "MiB", goal=limits.get("MiB"))
    for peer in ("glpsol", "cbc"):
        if peer in result:
            ratio = result[peer]["seconds"] / own["seconds"]
            goal = ">= 50" if (n, peer) == (1000, "cbc") else ">= 1"
            figure(f"planner.{n}.{peer}-over-reprise", [ratio], "ratio", goal=goal)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("reprise")
    parser.add_argument("-n", type=lambda text: [int(word) for word in text.split(",")],
                        default=SIZES)
    parser.add_argument("-s", type=int, default=1)
    parser.add_argument("-l", type=int, default=90)
    parser.add_argument("-o", type=pathlib.Path)
    words = parser.parse_args()
    print(f"{'n':>5} {'reprise s':>10} {'MiB':>7} {'glpsol s':>14} {'':>10} {'cbc s':>14}")
    results = []
    for n in words.n:
        results.append(compare(words.reprise, n, words.s, words.l))
        print_row(results[-1])
        tell(results[-1])
    if words.o:
        words.o.write_text(json.dumps({"format": "reprise-planner-peers", "version": 1,
                                       "seed": words.s, "limit_s": words.l,
                                       "chains": results}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
