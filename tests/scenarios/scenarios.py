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
import os
import pathlib
import sys
import tempfile

import coverage
import mechanisms
from judge import difference
from program import read_programs, shrink
from runner import counting, tell
from runs import Runner, generate, is_repaired, judge_all, way_of


def schedules(runner, programs, first, count):
    """Programs with several streams, guarded under one legal order of their work after another."""
    programs = [program for program in programs
                if {"order", "threads"} & set(program.words) and is_repaired(program)]
    eager = runner.run(programs, "eager")

    ways = collections.defaultdict(list)
    for program in programs:
        ways[way_of(program)].append(program)

    def raced(way):
        races = runner.run(ways[way], "replay", ("guard", *way), races=True).races
        return (f"{len(ways[way])} programs guarded, {', '.join(way)}: events order all that meets",
                not races, "; ".join(races[:3]))

    def under(schedule):
        wrong = []
        for (state, policy), group in sorted(ways.items()):
            guarded = runner.run(group, "replay", ("guard", state, policy),
                                 {"REPRISE_SOFT_SCHEDULE": str(schedule)})
            for program in group:
                found, wanted = guarded.lines[program.name], eager.lines[program.name]
                hazards = counting(guarded.hazards[program.name])
                if hazards:
                    wrong.append(f"{program.name}: {tell(hazards[0])}")
                elif found != wanted:
                    wrong.append(program.name + difference(wanted, found))
        return f"{len(programs)} programs under schedule {schedule}", not wrong, "; ".join(wrong)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        yield from pool.map(raced, sorted(ways))
        yield from pool.map(under, range(first, first + count))


def costs(runner):
    """(claim, holds, detail): of each kind about the least possible was kept, where there was
    anything to keep."""
    for kind in sorted(runner.least):
        kept, least, first = runner.kept[kind], runner.least[kind], runner.first[kind]
        yield (f"{kind}: bytes preserved {kept}, least possible {least}: "
               f"{kept / least if least else 1:.3f} (and {first} of first runs)",
               kept <= 1.05 * least, "")
    if runner.options.policy == "retain":
        yield f"{runner.served} launches served from kept outputs", runner.served > 0, ""


def report(number, program, wrong, runner):
    """A line of TAP; of what is red, a small program that is red in the same way."""
    print(f"{'not ok' if wrong else 'ok'} {number} - {program.name} {' '.join(program.words)}: "
          f"{', '.join(way_of(program))}", flush=True)
    if not wrong:
        return
    print(f"# {wrong}")
    if runner.options.no_shrink:
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


def report_claims(claims, before=0):
    """Prints them as TAP; the number that do not hold."""
    failed, number = 0, before
    for number, (text, holds, detail) in enumerate(claims, before + 1):
        print(f"{'ok' if holds else 'not ok'} {number} - {text}", flush=True)
        if not holds:
            print(f"# {detail}")
        failed += not holds
    print(f"1..{number}")
    return failed


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=500, help="how many seeds")
    parser.add_argument("--seed", type=int, help="just this one")
    parser.add_argument("--kind", help="just this kind, whatever the seed")
    parser.add_argument("--program", help="a file of programs instead of seeds")
    parser.add_argument("--no-shrink", action="store_true", help="only say what is wrong")
    parser.add_argument("--schedules", type=int, metavar="N",
                        help="run those with several streams under N schedules")
    parser.add_argument("--first-schedule", type=int, default=1, metavar="N")
    parser.add_argument("--policy", help="instead of whole or regions, each in its turn")
    parser.add_argument("--mechanisms", action="store_true",
                        help="switch each mechanism off: the programs that mechanisms.json names "
                             "for it go red")
    parser.add_argument("--find-mechanisms", action="store_true",
                        help="see which programs go red, and write mechanisms.json")
    parser.add_argument("--coverage", action="store_true",
                        help="run nothing; print what the programs cover, by kind and axis")
    parser.add_argument("--by-kind", action="store_true",
                        help="no two kinds in a process, so that the bytes kept are told for each")
    for name in ("scenario", "kernels", "reprise"):
        parser.add_argument(name, type=os.path.abspath)
    return parser.parse_args()


def read_or_generate(options):
    if options.program:
        return read_programs(pathlib.Path(options.program).read_text())
    if options.seed is not None:
        return generate(options, options.seed, 1, options.kind)
    return generate(options, options.first, options.count, options.kind)


def judge_and_report(runner, programs):
    """How many are wrong."""
    verdicts = judge_all(runner, programs)
    for number, (program, wrong) in enumerate(verdicts, 1):
        report(number, program, wrong, runner)
    failed = report_claims(costs(runner), len(verdicts))
    print(f"# {runner.runs} processes")
    return failed + sum(wrong is not None for _, wrong in verdicts)


def main():
    options = read_options()
    programs = read_or_generate(options)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options, folder)
        if options.coverage:
            table = coverage.count(programs)
            coverage.print_table(table)
            failed = report_claims(coverage.claims(table))
        elif options.schedules:
            failed = report_claims(schedules(runner, programs, options.first_schedule,
                                             options.schedules))
        elif options.mechanisms:
            failed = report_claims(mechanisms.claims(runner))
        elif options.find_mechanisms:
            failed = mechanisms.find(runner, programs)
        else:
            failed = judge_and_report(runner, programs)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
