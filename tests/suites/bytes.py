#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Storage and generators through replays: random programs, exact after every step.

usage: bytes.py --build FOLDER [--records FILE] [--first N] [--count N]

Programs of several segments over shared state and generators (scenario kind `wild`) run
retaining, bare, and guarded with state declared and discovered. After each replay and each step
every byte of every buffer is compared: a match when all are the retaining run's, a rejection when
the layer reported the program's replay, a divergence otherwise. A program whose segments write
state that they do not read (condition `written`) cannot be discovered: it is declared, and when it
is discovered all the same (run `unread`), what comes out wrong must have been told, by a hazard, a
warning or a remark."""
import argparse
import concurrent.futures
import os
import pathlib
import sys
import tempfile
import types

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "scenarios"))
from records import Records  # noqa: E402
from judge import difference  # noqa: E402
from runner import counting, tell  # noqa: E402
from runs import Runner, generate  # noqa: E402

PER_PROCESS = 64
DISCOVERED = ("guard", "discovered", "regions")


def told(runner, program, outcome):
    """What was said of a program that came out wrong: its hazards and warnings, or else what its
    own process remarks."""
    hazards = outcome.hazards[program.name]
    if hazards:
        return tell(hazards[0])
    alone = runner.run([program], "replay", DISCOVERED).summary
    taken = [remark for remark in alone.get("unknown", []) if remark.get("taken")]
    return f"{taken[0]['call']}: {taken[0]['reason']}" if taken else None


def run_batch(runner, programs):
    """The retaining run, and by name the runs to hold against it."""
    read = [program for program in programs if "declared" not in program.words]
    written = [program for program in programs if "declared" in program.words]
    return (programs, runner.run(programs, "eager"), {
        "bare": (programs, runner.run(programs, "replay")),
        "declared": (programs, runner.run(programs, "replay", ("guard", "declared", "regions"))),
        "discovered": (read, runner.run(read, "replay", DISCOVERED)),
        "unread": (written, runner.run(written, "replay", DISCOVERED))})


def record_unread(runner, records, program, eager, outcome):
    """One record: it is right, or told to be wrong, as a whole."""
    same = eager.lines[program.name] == outcome.lines[program.name]
    reason = "" if same else told(runner, program, outcome)
    records.add("bytes", program.name, "written", "unread", 0,
                "match" if same else "rejection" if reason else "divergence",
                difference(eager.lines[program.name], outcome.lines[program.name])
                if reason is None else reason)


def record(records, run, program, eager, outcome):
    condition = "written" if "declared" in program.words else "read"
    wanted, found = eager.lines[program.name], outcome.lines[program.name]
    hazards = counting(outcome.hazards[program.name])
    for step, line in enumerate(wanted):
        same = step < len(found) and found[step] == line
        verdict = "rejection" if hazards else "match" if same else "divergence"
        reason = tell(hazards[0]) if hazards else "" if same else difference(
            [line], found[step:step + 1]).lstrip(": ")
        records.add("bytes", program.name, condition, run, step, verdict, reason)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--records")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", "--seeds", dest="count", type=int, default=1024, metavar="N",
                        help="how many programs, one a seed")
    options = parser.parse_args()
    build = pathlib.Path(options.build).resolve()
    tools = types.SimpleNamespace(
        scenario=str(build / "tests/scenarios/scenario"), reprise=str(build / "tools/reprise"),
        kernels=str(pathlib.Path(__file__).resolve().parent.parent / "scenarios/kernels.ptx"))
    records = Records(options.records)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(tools, folder)
        programs = generate(tools, options.first, options.count, "wild")
        batches = [programs[i:i + PER_PROCESS] for i in range(0, len(programs), PER_PROCESS)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            for group, eager, runs in pool.map(lambda batch: run_batch(runner, batch), batches):
                for run, (those, outcome) in runs.items():
                    for program in those:
                        if run == "unread":
                            record_unread(runner, records, program, eager, outcome)
                        else:
                            record(records, run, program, eager, outcome)
                for program in group:
                    if not eager.lines[program.name]:
                        records.add("bytes", program.name, "", "declared", 0, "divergence",
                                    "the retaining run did not come to its end")
    claims = records.claims("bytes", ("declared", "discovered"))
    right, rejected, silent = (records.counts["unread", outcome]
                               for outcome in ("match", "rejection", "divergence"))
    claims.append((f"bytes, unread: {right} match, {rejected} rejections, {silent} divergences: "
                   "what is wrong is told", rejected > 0 and not silent,
                   records.first.get(("unread", "divergence"))))
    wrong = records.counts["bare", "divergence"]
    claims.append((f"bytes, bare: {wrong} divergences: the hazards are real", wrong > 0, ""))
    sys.exit(records.finish(claims))


if __name__ == "__main__":
    main()
