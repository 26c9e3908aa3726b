# SPDX-License-Identifier: Apache-2.0
"""Programs in batches that share processes, each batch run three ways, and their verdicts."""
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import tempfile

from judge import judge, misreported
from program import read_programs
from runner import contract_of, run_job

PER_PROCESS = 64


def generate(options, first, count, kind=None):
    command = [options.scenario, "generate", str(first), str(count)] + ([kind] if kind else [])
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return read_programs(text)


def is_repaired(program):
    """Whether a guard leaves it as it is without replays."""
    return not ("report" in program.words or program.race or program.noise)


class Runner:
    """Runs files of programs; results are by the program's name."""

    def __init__(self, options, folder):
        self.options, self.folder, self.runs = options, pathlib.Path(folder), 0
        # Bytes by kind, of programs whose ranges are proved: kept for what forwards read, for what
        # a segment's first forward made (each program has its own segments), and the least.
        self.kept, self.first, self.least = (collections.Counter() for _ in range(3))
        self.served = 0

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

    def run(self, programs, how, layer=None, environment=None, races=False):
        """`how` is eager or replay; `layer` is mode, state and policy."""
        self.runs += 1
        mode, contract = None, None
        if layer:
            mode, state, policy = layer
            contract = contract_of([(f"{program.name}/{name}", pair) for program in programs
                                    for name, pair in program.segments], state, policy)
        command = [self.options.scenario, how, self.options.kernels, self.file_of(programs)]
        return run_job(self.options.reprise, command, self.folder, mode, contract, environment,
                       races)


def way_of(program):
    """The state and policy that a program is guarded with, unless told: each has its turn."""
    state = "declared" if "declared" in program.words or program.seed % 8 == 5 else "discovered"
    if "discovered" in program.words:
        state = "discovered"
    whole = program.seed % 8 in (2, 5) and "regions" not in program.words
    return state, "whole" if whole else "regions"


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


class Batch:
    """Programs that are guarded in one way, in one process for each way to run them."""

    def __init__(self, runner, way, programs, expected, environment):
        self.runner, self.programs = runner, programs
        self.state, self.policy = way
        self.policy = runner.options.policy or self.policy
        self.expected, self.environment = expected, environment
        self.exact = expected[programs[0].name]["exact"]  # all are, or none

    def replay(self, mode, state=None, environment=None):
        layer = (mode, state or self.state, self.policy)
        return self.runner.run(self.programs, "replay", layer, environment)

    def verdicts(self):
        """(program, what is wrong or None) of each."""
        eager = self.runner.run(self.programs, "eager", races=self.programs[0].race)
        bare = bare_of(self.runner, self.programs, eager)
        guarded = self.replay("guard", environment=self.environment)
        checked = self.replay("check")
        reports = self.reports(checked)
        self.add_costs(guarded.summary)
        for index, program in enumerate(self.programs):
            wrong = judge(program, eager, bare, guarded, checked, self.runner.options.policy)
            yield program, wrong or self.misreported(index, reports)

    def reports(self, checked):
        """By name, runs whose reports are to be the model's, bytes, writers and readers: a check,
        and a guard that was told of no state and so repairs nothing."""
        if not self.exact or self.state != "discovered":
            return {}
        reports = {"check": checked}
        if self.policy != "retain":  # a replay that is served reads nothing
            reports["guard"] = self.replay("guard", "undeclared")
        return reports

    def misreported(self, index, reports):
        program = self.programs[index]
        if program.race or program.kind == "wild" or self.environment:
            return None
        before = sum(other.steps for other in self.programs[:index])
        for how, outcome in reports.items():
            wrong = misreported(program, self.expected[program.name], outcome, before)
            if wrong:
                return f"a {how} {wrong}"
        return None

    def add_costs(self, summary):
        runner = self.runner
        runner.served += summary.get("launches_served", 0)
        if not self.exact or (self.state, self.policy) != ("discovered", "regions"):
            return
        kind = self.programs[0].kind if runner.options.by_kind else "all"
        runner.kept[kind] += summary.get("bytes_preserved", 0)
        runner.first[kind] += summary.get("bytes_recalled", 0)
        runner.least[kind] += sum(self.expected[each.name]["least"] for each in self.programs)


def judge_all(runner, programs, environment=None):
    """(program, what is wrong or None) of each, in batches that share processes."""
    expected = runner.expect(programs)
    alike = collections.defaultdict(list)
    for program in programs:
        apart = program.name if program.race else program.kind if runner.options.by_kind else ""
        alike[way_of(program), expected[program.name]["exact"], apart].append(program)
    batches = [Batch(runner, way, group[i:i + PER_PROCESS], expected, environment)
               for (way, _, _), group in sorted(alike.items(), key=lambda item: item[0])
               for i in range(0, len(group), PER_PROCESS)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        return [verdict for verdicts in pool.map(lambda batch: list(batch.verdicts()), batches)
                for verdict in verdicts]
