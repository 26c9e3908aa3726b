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
from runner import contract_of, run_job, tell

PER_PROCESS = 64
# Kinds that have red programs without a mechanism. Controls stay right without any of them.
SEES = {"H02", "H03", "H04", "H06", "H07", "H08", "H09", "H10", "H11", "H12", "H13"}
RED = {
    "preserve": SEES | {"H01", "H05"},
    "copy-on-save": SEES,
    "restore": SEES,
    "reinstate": {"H02", "H03", "H04", "H05", "H06", "H07", "H09", "H10", "H11"},
    "live-writes": {"H12"},
    "pairing": {"H03", "H05", "H07", "H11"},
    "absence": {"H14"},
    "graphs": {"H05", "H09", "H11"},
    "order": {"H09"},
}
POLICY = None  # of every program, instead of each in its turn
# What the layer is known not to do yet: red until it does, and never counted as passed.
NOT_YET = {}


class Runner:
    """Runs files of programs; results are by the program's name."""

    def __init__(self, options, folder):
        self.options, self.folder, self.runs = options, pathlib.Path(folder), 0
        # Bytes, of programs whose ranges are proved: kept for what forwards read, for what a
        # segment's first forward made (each program has its own segments), and the least.
        self.kept = self.first = self.least = self.served = 0

    def file_of(self, programs):
        path = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / "programs"
        path.write_text("".join(program.text for program in programs))
        return str(path)

    def expect(self, programs):
        """What the model says of each program, by name."""
        run = subprocess.run([self.options.scenario, "expect", self.file_of(programs)],
                             capture_output=True, text=True)
        told = map(json.loads, run.stdout.splitlines())
        told = {each["name"]: each for each in told}
        return {program.name: told.get(program.name, {"exact": False}) for program in programs}

    def run(self, programs, how, layer=None, environment=None):
        """`how` is eager or replay; `layer` is mode, state and policy."""
        self.runs += 1
        mode, contract = None, None
        if layer:
            mode, state, policy = layer
            contract = contract_of([(f"{program.name}/{name}", pair) for program in programs
                                    for name, pair in program.segments], state, policy)
        command = [self.options.scenario, how, self.options.kernels, self.file_of(programs)]
        return run_job(self.options.reprise, command, self.folder, mode, contract, environment)


def way_of(program):
    """The state and policy that a program is guarded with: each has its turn."""
    state = "declared" if "declared" in program.words or program.seed % 8 == 5 else "discovered"
    if "discovered" in program.words:
        state = "discovered"
    whole = program.seed % 8 in (2, 5) and "regions" not in program.words
    return state, POLICY or ("whole" if whole else "regions")


def misreported(program, expected, checked, steps_before):
    """How the stale reads that a check of the bare run found differ from the model's, or None."""
    def key(stale):
        return stale["allocation_bytes"], stale.get("writer"), stale.get("reader")

    def figures(stale, before):
        step = max(0, stale["writer_step"] - before)
        return stale["offset"], stale["bytes"], step, stale["writer_launch"] if step else 0

    wanted = {key(stale): figures(stale, 0) for stale in expected["stale"]}
    found = {}
    for stale in sorted(checked.hazards[program.name], key=lambda stale: stale["order"]):
        if stale["hazard"] == "stale-read":
            found.setdefault(key(stale), figures(stale, steps_before))
    for each in wanted.keys() | found.keys():
        if wanted.get(each) != found.get(each):
            return (f"a check misreports [{each[0]}] written by {each[1]} read by {each[2]}: "
                    f"offset, bytes, step, launch {found.get(each)} for {wanted.get(each)}")
    return None


def judge(program, eager, bare, guarded, checked):
    """What is wrong with it, or None."""
    if not eager.lines[program.name]:
        return f"the retaining run did not come to an end: {eager.stderr.strip()[-300:]}"
    differs = eager.lines[program.name] != bare.lines[program.name]
    right = eager.lines[program.name] == guarded.lines[program.name]
    if "report" in program.words and differs:
        served = POLICY == "retain" and right  # from outputs, whatever became of the rest
        return None if guarded.hazards[program.name] or served else "nothing was reported"
    if differs == program.control:
        return ("no control: wrong without a guard" if differs else
                "no hazard: right without a guard")
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


def bare_of(runner, programs, eager):
    """The bare run. Where streams race, a hazard need not show in the first schedule."""
    bare = runner.run(programs, "replay")
    for schedule in range(1, 25):
        hidden = [program for program in programs if "order" in program.words
                  and not program.control and eager.lines[program.name] == bare.lines[program.name]]
        if not hidden:
            break
        another = runner.run(hidden, "replay", environment={"REPRISE_SOFT_SCHEDULE": str(schedule)})
        bare.lines.update(another.lines)
    return bare


def judge_all(runner, programs, environment=None):
    """(program, what is wrong or None) of each, in batches that share processes."""
    expected = runner.expect(programs)
    alike = collections.defaultdict(list)
    for program in programs:
        alike[way_of(program), expected[program.name]["exact"]].append(program)
    batches = [(way, group[i:i + PER_PROCESS]) for (way, _), group in sorted(
        alike.items(), key=lambda item: item[0]) for i in range(0, len(group), PER_PROCESS)]

    def one(batch):
        (state, policy), group = batch
        eager = runner.run(group, "eager")
        bare = bare_of(runner, group, eager)
        guarded = runner.run(group, "replay", ("guard", state, policy), environment)
        checked = runner.run(group, "replay", ("check", state, policy))
        if (state, policy) == ("discovered", "regions") and expected[group[0].name]["exact"]:
            runner.kept += guarded.summary.get("bytes_preserved", 0)
            runner.first += guarded.summary.get("bytes_recalled", 0)
            runner.least += sum(expected[program.name]["least"] for program in group)
        runner.served += guarded.summary.get("launches_served", 0)
        verdicts = []
        for index, program in enumerate(group):
            wrong = judge(program, eager, bare, guarded, checked)
            if (not wrong and state == "discovered" and expected[program.name]["exact"]
                    and program.words[0] != "wild"):
                before = sum(other.steps for other in group[:index])
                wrong = misreported(program, expected[program.name], checked, before)
            verdicts.append((program, wrong))
        return verdicts

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        return [verdict for verdicts in pool.map(one, batches) for verdict in verdicts]


def mended(verdicts):
    """Features on the list whose programs, a good number of them, are all right."""
    for feature in NOT_YET:
        its = [wrong for program, wrong in verdicts if f"needs={feature}" in program.words]
        if len(its) >= 3 and not any(its):
            yield feature


def schedules(runner, programs, count):
    """Programs with several streams, guarded under one legal order of their work after another."""
    programs = [program for program in programs if "order" in program.words
                and not known_red(program) and "report" not in program.words]
    eager = runner.run(programs, "eager")

    def under(schedule):
        wrong = []
        for state, policy in sorted(set(map(way_of, programs))):
            group = [program for program in programs if way_of(program) == (state, policy)]
            guarded = runner.run(group, "replay", ("guard", state, policy),
                                 {"REPRISE_SOFT_SCHEDULE": str(schedule)})
            for program in group:
                found, wanted = guarded.lines[program.name], eager.lines[program.name]
                if guarded.hazards[program.name]:
                    wrong.append(f"{program.name}: {tell(guarded.hazards[program.name][0])}")
                elif found != wanted:
                    wrong.append(program.name + difference(wanted, found))
        return f"{len(programs)} programs under schedule {schedule}", not wrong, "; ".join(wrong)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        yield from pool.map(under, range(1, count + 1))


def without(runner, programs, mechanism):
    """The programs that go red when a mechanism is switched off."""
    disabled = {"REPRISE_TEST_DISABLE": mechanism}
    if mechanism != "order":
        return [program for program, wrong in judge_all(runner, programs, disabled) if wrong]
    programs = generate(runner.options, 0, 80, "H09")  # others need less order than these
    programs = [program for program in programs if "order" in program.words]
    red = {}  # what is not ordered may come out right
    for schedule in ("1", "2", "3", "4"):
        verdicts = judge_all(runner, programs, disabled | {"REPRISE_SOFT_SCHEDULE": schedule})
        red |= {program.name: program for program, wrong in verdicts if wrong}
    return list(red.values())


def mechanisms(runner, programs):
    """(claim, holds, detail) for each mechanism that can be switched off."""
    programs = [program for program in programs if not known_red(program)
                and "report" not in program.words]
    for mechanism, expected in RED.items():
        red = without(runner, programs, mechanism)
        kinds = collections.Counter(program.words[0] for program in red)
        told = ", ".join(f"{kinds[kind]} of {kind}" for kind in sorted(kinds))
        yield (f"without {mechanism}: {told or 'nothing'} red", expected <= set(kinds),
               f"missing: {sorted(expected - set(kinds))}")
        # Idempotent ones write state; pairing with another instance is reported for any.
        idle = [program.name for program in red
                if program.control and "idempotent" not in program.words]
        if mechanism not in ("pairing", "absence"):
            yield f"without {mechanism}: controls stay right", not idle, idle[:5]


def costs(runner):
    """Whether about the least possible was kept, where there was anything to keep."""
    if runner.least:
        ratio = runner.kept / runner.least
        yield (f"bytes preserved {runner.kept}, least possible {runner.least}: {ratio:.3f} (and "
               f"{runner.first} of first runs)", ratio <= 1.05)
    if POLICY == "retain":
        yield f"{runner.served} launches served from kept outputs", runner.served > 0


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


def report_claims(claims):
    """Prints them as TAP; the number that do not hold."""
    failed = number = 0
    for number, (text, holds, detail) in enumerate(claims, 1):
        print(f"{'ok' if holds else 'not ok'} {number} - {text}", flush=True)
        if not holds:
            print(f"# {detail}")
        failed += not holds
    print(f"1..{number}")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=500, help="how many seeds")
    parser.add_argument("--seed", type=int, help="just this one")
    parser.add_argument("--kind", help="just this kind, whatever the seed")
    parser.add_argument("--program", help="a file of programs instead of seeds")
    parser.add_argument("--no-shrink", action="store_true", help="only say what is wrong")
    parser.add_argument("--schedules", type=int, metavar="N",
                        help="run those with several streams under N schedules")
    parser.add_argument("--policy", help="instead of whole or regions, each in its turn")
    parser.add_argument("--mechanisms", action="store_true",
                        help="switch each mechanism off and see what goes red")
    parser.add_argument("--explain", action="store_true", help="shrink what is known to be red too")
    for name in ("scenario", "kernels", "reprise"):
        parser.add_argument(name, type=os.path.abspath)
    options = parser.parse_args()
    globals()["POLICY"] = options.policy
    if options.program:
        programs = read_programs(pathlib.Path(options.program).read_text())
    elif options.seed is not None:
        programs = generate(options, options.seed, 1, options.kind)
    else:
        programs = generate(options, options.first, options.count, options.kind)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options, folder)
        if options.schedules:
            sys.exit(report_claims(schedules(runner, programs, options.schedules)) > 0)
        if options.mechanisms:
            sys.exit(report_claims(mechanisms(runner, programs)) > 0)
        verdicts = judge_all(runner, programs)
        further = [(f"{feature} is not red any more: take it off the list", False)
                   for feature in mended(verdicts)] + list(costs(runner))
        explain = False if options.no_shrink else True if options.explain else None
        for number, (program, wrong) in enumerate(verdicts, 1):
            report(number, program, wrong, runner, explain)
        for number, (text, holds) in enumerate(further, len(verdicts) + 1):
            print(f"{'ok' if holds else 'not ok'} {number} - {text}")
        print(f"1..{len(verdicts) + len(further)}\n# {runner.runs} processes")
    sys.exit(any(wrong and not known_red(program) for program, wrong in verdicts)
             or not all(holds for _, holds in further))


if __name__ == "__main__":
    main()
