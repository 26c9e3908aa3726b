#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generated scenarios as eager jobs: each runs bare, and again with everything dropped that may be,
at every chance. Every byte at every check must be the bare run's.

usage: scenarios.py [option...] SCENARIO KERNELS REPRISE"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "scenarios"))
from program import read_programs  # noqa: E402
from runner import contract_of, run_job, tell  # noqa: E402

PER_PROCESS = 32
DROPPED = {"REPRISE_SOFT_GRANULARITY": "4KiB"}
# What goes wrong without a mechanism shows in other bytes, in a hazard, or in a fault of the
# device: memory that was taken faults when it is touched.
MECHANISMS = ["recall", "preserve", "restore", "reinstate"]


class Runner:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.recalls = self.drops = 0

    def run(self, programs, mode=None, disabled=()):
        path = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / "programs"
        path.write_text("".join(program.text for program in programs))
        command = [self.options.scenario, "eager", self.options.kernels, str(path)]
        contract = contract_of([(f"{program.name}/{name}", pair) for program in programs
                                for name, pair in program.segments], "discovered", "regions")
        environment = DROPPED | {"REPRISE_TEST_DISABLE": ",".join(("plenty", *disabled))}
        outcome = run_job(self.options.reprise, command, self.folder, mode, contract, environment)
        figures = outcome.summary.get("recompute", {})
        self.recalls += figures.get("recalls", 0)
        self.drops += figures.get("drops", 0)
        return outcome

    def wrong(self, programs, disabled=()):
        """What is wrong with each program that is, by name."""
        bare = self.run(programs)
        dropped = self.run(programs, "recompute", disabled)
        found = {}
        for program in programs:
            name = program.name
            if not bare.lines[name]:
                found[name] = "the bare run did not come to an end: " + bare.stderr[-300:]
            elif dropped.hazards[name]:
                found[name] = tell(dropped.hazards[name][0])
            elif dropped.lines[name] != bare.lines[name]:
                found[name] = f"{dropped.lines[name][-1:]}, not {bare.lines[name][-1:]}: " + \
                    dropped.stderr.strip()[-300:]
        return found


def batches(programs):
    return [programs[at:at + PER_PROCESS] for at in range(0, len(programs), PER_PROCESS)]


def told(runner, batch, found, disabled):
    """The first program that is wrong, alone where it is so alone too."""
    for program in batch:
        if program.name in found:
            alone = runner.wrong([program], disabled).get(program.name)
            return f"{program.name} {' '.join(program.words)}: {alone or found}\n# " + \
                program.text.replace("\n", "\n# ")
    return ""


def laws(runner, programs):
    """(claim, holds, detail): one for each batch, first with everything dropped that may be, then
    with the rest moved to the host as well, before there is anything to drop perhaps."""
    for disabled, how in ((), "dropped"), (("room",), "moved away"):
        runner.recalls = runner.drops = 0
        for number, batch in enumerate(batches(programs)):
            found = runner.wrong(batch, disabled)
            last = number * PER_PROCESS + len(batch) - 1
            yield f"programs {number * PER_PROCESS} to {last}, {how}: the bytes of the bare run", \
                not found, told(runner, batch, found, disabled)
        yield f"{runner.drops} drops, {runner.recalls} instances made anew", \
            runner.recalls > len(programs) / (4 if disabled else 2), ""


def mechanisms(runner, programs):
    for mechanism in MECHANISMS:
        red = sum(len(runner.wrong(batch, (mechanism,))) for batch in batches(programs))
        yield f"without {mechanism}: {red} of {len(programs)} programs go red", red > 0, ""
    made = []
    for disabled in ((), ("claim",)):
        runner.recalls = 0
        for batch in batches(programs):
            runner.run(batch, "recompute", disabled)
        made.append(runner.recalls)
    yield f"without claim: {made[1]} instances are made anew, and {made[0]} with it", \
        made[1] > made[0], ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--mechanisms", action="store_true",
                        help="switch each mechanism off and see what goes red")
    for name in ("scenario", "kernels", "reprise"):
        parser.add_argument(name, type=os.path.abspath)
    options = parser.parse_args()
    text = subprocess.run([options.scenario, "generate", str(options.first), str(options.count)],
                          check=True, capture_output=True, text=True).stdout
    # A race of the job's own, or a kernel that is not the same twice, has no bytes to hold it to.
    programs = [program for program in read_programs(text)
                if not program.race and not program.noise]
    number = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options, folder)
        claims = mechanisms if options.mechanisms else laws
        for number, (claim, holds, detail) in enumerate(claims(runner, programs), 1):
            print(f"{'ok' if holds else 'not ok'} {number} - {claim}", flush=True)
            if not holds:
                print(f"# {detail}")
            failed += not holds
    print(f"1..{number}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
