#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generated scenarios, each run three ways: retaining, replaying bare, replaying guarded.

usage: scenarios.py [option...] SCENARIO KERNELS REPRISE

Each program is judged: bare, its replay leaves other bytes than the retaining run (or it is a
control and leaves the same); guarded, every byte at every check is the retaining run's and
nothing is reported; what no layer can put right is reported. Many programs share a process; one
that fails is run alone, shrunk, and printed as a program that runs again with --program."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from program import Program, read_programs, shrink

PER_PROCESS = 64
# What the layer is known not to do yet: red until it does, and never counted as passed.
NOT_YET = {}


class Runner:
    """Runs files of programs; results are by the program's name."""

    def __init__(self, options, folder):
        self.options, self.folder, self.runs = options, pathlib.Path(folder), 0

    def contract(self, programs, state, policy):
        segments = [{"name": f"{program.name}/{name}", "pair": pair,
                     "forward": {"nvtx": f"{program.name}/{name}/forward/*"},
                     "replay": {"nvtx": f"{program.name}/{name}/replay/*"}}
                    for program in programs for name, pair in program.segments]
        contract = {"version": 1, "segments": segments, "state": state, "policy": policy,
                    "step": {"nvtx": "step"}, "on_violation": "report"}
        if state == "declared":
            contract["buffers"] = [{"name": "state", "at": {"kernel": "tag", "param": 0}}]
        return contract

    def run(self, programs, how, layer=(), environment=None):
        """lines by program, hazards by program, the summary; how is eager or replay."""
        self.runs += 1
        work = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (work / "programs").write_text("".join(program.text for program in programs))
        command = [self.options.reprise, "run", "--device", "soft", "-q", "--no-trace", "-o",
                   str(work / "out")]
        if layer:
            mode, state, policy = layer
            (work / "contract.json").write_text(
                json.dumps(self.contract(programs, state, policy)))
            command += ["-m", mode, "-c", str(work / "contract.json")]
        command += ["--", self.options.scenario, how, self.options.kernels,
                    str(work / "programs")]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=300,
                                 env=os.environ | (environment or {}))
        except subprocess.TimeoutExpired as expired:
            run = subprocess.CompletedProcess(command, 124, expired.stdout or "", "it hangs")
        return Outcome(run, work / "out")


class Outcome:
    def __init__(self, run, output):
        self.returncode, self.stderr = run.returncode, run.stderr
        self.lines = collections.defaultdict(list)
        for line in run.stdout.splitlines() if isinstance(run.stdout, str) else ():
            self.lines[line.split()[0]].append(line)
        summaries = [json.loads(path.read_text()) for path in output.glob("summary-*")]
        self.summary = summaries[0] if summaries else {}
        self.hazards = collections.defaultdict(list)
        for hazard in self.summary.get("hazards", []):
            self.hazards[hazard.get("segment", "").split("/")[0]].append(hazard)


def way_of(program):
    """The state and policy that a program is guarded with: each has its turn."""
    state = "declared" if "declared" in program.words or program.seed % 8 == 5 else "discovered"
    if "discovered" in program.words:
        state = "discovered"
    whole = program.seed % 8 in (2, 5) and "regions" not in program.words
    return state, "whole" if whole else "regions"


def tell(hazard):
    return "{hazard} {buffer}+{offset}:{bytes} by {writer} met {reader}".format(
        **{"buffer": f"[{hazard.get('allocation_bytes')}]", "writer": None, "reader": None,
           **hazard})


def judge(program, eager, bare, guarded, checked):
    """What is wrong with it, or None."""
    if not eager.lines[program.name]:
        return f"the retaining run did not come to an end: {eager.stderr.strip()[-300:]}"
    differs = eager.lines[program.name] != bare.lines[program.name]
    if "report" in program.words and differs:
        return None if guarded.hazards[program.name] else "nothing was reported"
    if differs == program.control:
        return "no control: wrong without a guard" if differs else "no hazard: right without a guard"
    if guarded.hazards[program.name]:
        return "reported: " + "; ".join(map(tell, guarded.hazards[program.name][:3]))
    if eager.lines[program.name] != guarded.lines[program.name]:
        return "not the bytes of the retaining run" + difference(
            eager.lines[program.name], guarded.lines[program.name])
    if bool(checked.hazards[program.name]) == program.control and "idempotent" not in program.words:
        return "a check of the bare run " + (
            "finds a hazard: " + tell(checked.hazards[program.name][0]) if program.control
            else "finds nothing")
    return None


def difference(wanted, found):
    for one, other in zip(wanted, found):
        if one != other:
            pairs = [(a, b) for a, b in zip(one.split(), other.split()) if a != b]
            return f": at check {one.split()[1]}: " + ", ".join(f"{b} for {a}" for a, b in pairs)
    return f": {len(found)} of {len(wanted)} checks came"


def judge_all(runner, programs, environment=None):
    """(program, what is wrong or None) of each, in batches that share processes."""
    batches = []
    for way in sorted(set(map(way_of, programs))):
        group = [program for program in programs if way_of(program) == way]
        batches += [(way, group[i:i + PER_PROCESS]) for i in range(0, len(group), PER_PROCESS)]

    def one(batch):
        (state, policy), group = batch
        eager = runner.run(group, "eager")
        bare = runner.run(group, "replay")
        guarded = runner.run(group, "replay", ("guard", state, policy), environment)
        checked = runner.run(group, "replay", ("check", state, policy))
        return [(program, judge(program, eager, bare, guarded, checked)) for program in group]

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        return [verdict for verdicts in pool.map(one, batches) for verdict in verdicts]


def mended(verdicts):
    """Features on the list whose programs, a good number of them, are all right."""
    for feature in NOT_YET:
        its = [wrong for program, wrong in verdicts if f"needs={feature}" in program.words]
        if len(its) >= 3 and not any(its):
            yield feature


def generate(options, first, count, kind=None):
    command = [options.scenario, "generate", str(first), str(count)] + ([kind] if kind else [])
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return read_programs(text)


def known_red(program):
    """Why it may be red, or None."""
    return next((NOT_YET[word[6:]] for word in program.words
                 if word.startswith("needs=") and word[6:] in NOT_YET), None)


def report(number, program, wrong, runner, explain):
    line = (f"{'not ok' if wrong else 'ok'} {number} - {program.name} {' '.join(program.words)}: "
            f"{', '.join(way_of(program))}")
    if wrong and known_red(program) and explain is not True:
        line = f"ok{line[6:]} # SKIP known red: {known_red(program)}"
        wrong = None
    print(line, flush=True)
    if not wrong:
        return
    print(f"# {wrong}")
    if explain is False:
        return
    alone = judge_all(runner, [program])[0][1]
    if not alone:
        print("# alone it is right")
        return
    small = shrink(program, lambda other: (judge_all(runner, [other])[0][1] or "")[:12] ==
                   alone[:12])
    print(f"# shrunk: {judge_all(runner, [small])[0][1]}")
    for line in small.text.splitlines():
        print(f"#   {line}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=500, help="how many seeds")
    parser.add_argument("--seed", type=int, help="just this one")
    parser.add_argument("--kind", help="just this kind, whatever the seed")
    parser.add_argument("--program", help="a file of programs instead of seeds")
    parser.add_argument("--no-shrink", action="store_true", help="only say what is wrong")
    parser.add_argument("--explain", action="store_true", help="shrink what is known to be red too")
    for name in ("scenario", "kernels", "reprise"):
        parser.add_argument(name, type=os.path.abspath)
    options = parser.parse_args()
    if options.program:
        programs = read_programs(pathlib.Path(options.program).read_text())
    elif options.seed is not None:
        programs = generate(options, options.seed, 1, options.kind)
    else:
        programs = generate(options, options.first, options.count, options.kind)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options, folder)
        verdicts = judge_all(runner, programs)
        explain = False if options.no_shrink else True if options.explain else None
        for number, (program, wrong) in enumerate(verdicts, 1):
            report(number, program, wrong, runner, explain)
        claims = list(verdicts) + [(None, feature) for feature in mended(verdicts)]
        for number, (_, feature) in enumerate(claims[len(verdicts):], len(verdicts) + 1):
            print(f"not ok {number} - {feature} is not red any more: take it off the list")
        print(f"1..{len(claims)}")
        print(f"# {runner.runs} processes")
    sys.exit(any(wrong for program, wrong in claims if not (program and known_red(program))))


if __name__ == "__main__":
    main()
