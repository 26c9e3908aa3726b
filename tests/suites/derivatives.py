#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gradients through replays: random networks with mutable state against forward mode.

usage: derivatives.py --build FOLDER [--records FILE] [--first N] [--count N]

Each network trains for a few steps retaining its activations, replaying bare, and replaying
guarded (state declared, and discovered). A step matches when its line, parameters, gradients
and states in bits, is the retaining run's; it is a rejection when the layer reported the
network's replay, and a divergence otherwise. The retaining run's and the guarded runs' gradients
are also held against dual numbers in C. Every step of every run is a record.

Nothing is rejected by right: not a segment that works in place on what another one made, nor a row
whose number is in device memory."""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "scenarios"))
from records import Records  # noqa: E402
from runner import contract_of, counting, run_job, tell  # noqa: E402

CONDITIONS = ("functional", "running", "queue", "queue-by-index", "counter", "generator",
              "in-place", "mixed")
PER_PROCESS = 64
SEGMENTS = 4
FARTHEST = 8.88e-16  # the largest disagreement published; here of gradients above 1 relative


class Suite:
    def __init__(self, options, folder):
        build = pathlib.Path(options.build).resolve()
        self.job, self.oracle = build / "tests/suites/derive", build / "tests/suites/jacobian"
        self.reprise = str(build / "tools/reprise")
        self.kernels = pathlib.Path(__file__).resolve().parent / "kernels.ptx"
        self.folder, self.records = folder, Records(options.records)
        self.farthest = collections.Counter()  # of a run, relative to gradients above 1
        self.absolute = collections.Counter()
        self.compared = collections.Counter()  # gradients, of a run
        self.hidden = set()                    # networks whose bare replay is right

    def run(self, how, first, count, state=None):
        command = [str(self.job), how, str(self.kernels), str(first), str(count)]
        if not state:
            return run_job(self.reprise, command, self.folder)
        segments = [(f"d{seed}/s{i}", "lifo") for seed in range(first, first + count)
                    for i in range(SEGMENTS)]
        return run_job(self.reprise, command, self.folder, "guard",
                       contract_of(segments, state, "regions"))

    def differentiate(self, run, outcome):
        """Holds the gradients of a run, but for rejected networks, against the oracle's."""
        lines = "".join(line + "\n" for name, lines in outcome.lines.items()
                        if not counting(outcome.hazards[name]) for line in lines)
        told = subprocess.run([str(self.oracle)], input=lines, capture_output=True, text=True)
        answers = told.stdout.splitlines()
        if len(answers) != lines.count("\n") or any("broken" in answer for answer in answers):
            self.farthest[run] = float("inf")
            return
        for answer in answers:
            _, _, absolute, relative, count = answer.split()
            far = float(relative)
            self.farthest[run] = max(self.farthest[run], far if far == far else float("inf"))
            self.absolute[run] = max(self.absolute[run], float(absolute))
            self.compared[run] += int(count)

    def record(self, run, first, count, eager, outcome):
        for seed in range(first, first + count):
            name, condition = f"d{seed}", CONDITIONS[seed % len(CONDITIONS)]
            lines, hazards = outcome.lines[name], counting(outcome.hazards[name])
            for step, wanted in enumerate(eager.lines[name]):
                same = step < len(lines) and lines[step] == wanted
                verdict = "rejection" if hazards else "match" if same else "divergence"
                reason = "" if same else first_difference(
                    wanted, lines[step] if step < len(lines) else "")
                if hazards:
                    reason = outcome.refused.get(name) or tell(hazards[0])
                self.records.add("derivatives", name, condition, run, step, verdict, reason)

    def batch(self, first, count):
        eager = self.run("eager", first, count)
        outcomes = {"bare": self.run("replay", first, count)}
        for state in ("declared", "discovered"):
            outcomes[state] = self.run("replay", first, count, state)
        return first, count, eager, outcomes

    def run_all(self, first, count):
        pieces = [(at, min(PER_PROCESS, first + count - at))
                  for at in range(first, first + count, PER_PROCESS)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            for at, size, eager, outcomes in pool.map(lambda piece: self.batch(*piece), pieces):
                self.differentiate("retained", eager)
                for run, outcome in outcomes.items():
                    self.record(run, at, size, eager, outcome)
                    if run != "bare":
                        self.differentiate(run, outcome)
                for seed in range(at, at + size):
                    name = f"d{seed}"
                    if eager.lines[name] == outcomes["bare"].lines[name]:
                        self.hidden.add(seed)


def first_difference(wanted, found):
    for index, (one, other) in enumerate(zip(wanted.split(), found.split())):
        if one != other:
            kind = {"w": "a parameter", "g": "a gradient", "s": "a state"}.get(one[0], "a word")
            return f"{kind} differs first (word {index}): {other} for {one}"
    return "the step did not come"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--records")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", "--seeds", dest="count", type=int, default=1024, metavar="N",
                        help="how many programs, one a seed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(options, folder)
        suite.run_all(options.first, options.count)
        claims = suite.records.claims("derivatives", ("declared", "discovered"))
        pure = {seed for seed in range(options.first, options.first + options.count)
                if seed % len(CONDITIONS) == 0}
        claims.append(("bare, every network with state diverges and every functional one is right",
                       suite.hidden == pure, sorted(suite.hidden ^ pure)[:9]))
        for run in sorted(suite.farthest | {"retained": 0}):
            far = suite.farthest[run]
            compared, absolute = suite.compared[run], suite.absolute[run]
            claims.append((f"{run}: {compared} gradients agree with forward mode to {far:.3g} "
                           f"({absolute:.3g} absolute)", compared > 0 and far <= FARTHEST, ""))
        sys.exit(suite.records.finish(claims))


if __name__ == "__main__":
    main()
