# SPDX-License-Identifier: Apache-2.0
"""What the layer needs fails once, in turn, under small jobs in every mode: of driver calls
faults.py tells, of host memory scarce.py.

The job sees what it would have seen without the layer, or it is stopped on one line; in the mode
recompute, where all memory is the layer's, it may also be refused memory, as any driver does. No
other bytes, no signal, no wait without end. A part takes each N-th of the faults, from the K-th:
all parts make the whole. A fault that never came to be (another run asks for less) proves
nothing: they are counted, and may be few.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from tap import claim, finish  # noqa: E402


def part(text):
    """K/N as a slice of all that there is."""
    which, count = map(int, text.split("/"))
    if not 1 <= which <= count:
        raise ValueError
    return slice(which - 1, None, count)


def arguments():
    reader = argparse.ArgumentParser()
    for name in ("job", "kernels", "digits", "reprise", "object"):
        reader.add_argument(name, type=os.path.abspath)
    reader.add_argument("--all", action="store_true")
    reader.add_argument("--part", type=part, default="1/1")
    reader.add_argument("--jobs", type=int, default=os.cpu_count())
    reader.add_argument("--mode", action="append", choices=MODES)
    reader.add_argument("scenarios", nargs="*", default=SCENARIOS)
    return reader.parse_intermixed_args()


STOPPED = 70  # the exit code of a job that was stopped on a hazard
GIVEN_UP = 2  # of one that could not be guarded from the start
SCENARIOS = ["accumulator", "queue", "lifo", "alias", "side-stream", "two-streams",
             "second-context", "recycled-address", "live-write-aside", "lazy-state", "digits"]
MODES = {"observe": ["--no-trace", "--audit", "3"], "check": [], "guard": ["--no-trace"],
         "guard, whole": ["--no-trace", "--policy", "whole"],
         "guard, joint": ["--no-trace", "--policy", "joint", "--budget", "1GiB"],
         "recompute": ["--no-trace"]}
DROPPED = {"REPRISE_TEST_DISABLE": "plenty",  # all that can be dropped is, at every chance
           "REPRISE_SOFT_GRANULARITY": "4KiB"}
ATTEMPTS = 3
MOST_MET = 0.8  # of the faults have to come to be
REFUSED_MEMORY = re.compile("CUDA_ERROR_OUT_OF_MEMORY|^law_job: .* failed with 2$", re.M)
STOP_LINE = re.compile("reprise: (stopped: |(?!plan: ).*out of memory$)")  # but a plan's end
WAIT = 600  # seconds, on a machine that is busy: a run takes a fraction of one

CONTRACT = {"version": 1, "state": "discovered", "policy": "regions", "on_violation": "stop",
            "step": {"nvtx": "step"},
            "segments": [{"name": "segment", "forward": {"nvtx": "forward/*"},
                          "replay": {"nvtx": "recompute/*"}}]}
PAIRED = {"two-streams": "key"}
GIVEN = arguments()


def job(scenario, way):
    if scenario == "digits":
        return [GIVEN.digits, "-n", "2", "-b", "16",
                *(["--checkpoint"] if way == "replay" else [])]
    return [GIVEN.job, GIVEN.kernels, scenario, way]


def ways(mode):
    """How the job runs under the layer, and the bare run whose bytes it must leave."""
    if mode == "recompute":
        return "eager", "eager"
    return "replay", "eager" if mode.startswith("guard") else "replay"


def bare(scenario, way):
    run = subprocess.run([GIVEN.reprise, "run", "--device", "soft", "--no-trace", "-q",
                          "-o", "bare", "--", *job(scenario, way)], capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"Bail out! {scenario} {way}: {run.stderr}")
    return run.stdout


Outcome = collections.namedtuple("Outcome", "code out said needs summary")


def may_stop(mode):
    return mode.startswith("guard") or mode == "recompute"


class Sweep:
    """Of one kind of need, `noun`. `variable` says in the environment which of them fails, and how.

    A kind says which needs of a job are to fail, from 1, each with a text for the variable
    (`chosen`); what is wrong with an outcome, where it knows better than all kinds (`judge`; None
    where it does not); what it was that failed (`tell`); and what else is to be shown
    (`conclude`)."""
    noun = variable = None

    def __init__(self):
        self.stops = collections.Counter()

    def chosen(self, mode, needs):
        raise NotImplementedError

    def judge(self, mode, failed, whole, outcome):
        return None

    def tell(self, need):
        return need

    def conclude(self):
        pass

    def run(self, scenario, mode, fault):
        """The job under the layer, in a folder of its own: exit code, output, what was said, and
        the layer's needs, in their order."""
        with tempfile.TemporaryDirectory() as folder:
            contract = pathlib.Path(folder, "contract.json")
            contract.write_text(json.dumps(CONTRACT | {"segments": [
                CONTRACT["segments"][0] | {"pair": PAIRED.get(scenario, "lifo")}]}))
            log = pathlib.Path(folder, "needs")
            log.touch()
            environment = os.environ | {self.variable: fault, self.variable + "_LOG": str(log)}
            if mode == "recompute":
                environment |= DROPPED
            command = [GIVEN.reprise, "run", "--device", "soft", "-m", mode.split(",")[0],
                       "-o", "out", *MODES[mode],
                       *([] if mode == "observe" else ["-c", str(contract)])]
            try:
                done = subprocess.run([*command, "--", *job(scenario, ways(mode)[0])], cwd=folder,
                                      env=environment, capture_output=True, text=True,
                                      timeout=WAIT)
                seen = done.returncode, done.stdout, done.stderr
            except subprocess.TimeoutExpired:
                seen = None, "", f"no end within {WAIT} s"
            summaries = [file.read_text() for file in pathlib.Path(folder).glob("out/summary-*")]
            return Outcome(*seen, log.read_text().splitlines(), "".join(summaries))

    def run_whole(self, scenario, mode):
        """A run in which nothing fails: of some the one with the fewest needs, so that others have
        as many, too."""
        outcomes = [self.run(scenario, mode, "0") for _ in range(ATTEMPTS)]
        for outcome in outcomes:
            if outcome.code not in (0, STOPPED):
                raise SystemExit(f"Bail out! {scenario}, {mode}: exit {outcome.code}\n"
                                 f"{outcome.said}")
        return min(outcomes, key=lambda outcome: len(outcome.needs))

    def run_until_met(self, scenario, mode, nth, fault):
        """What a job needs depends on how long its copies take: the last may not come."""
        for _ in range(ATTEMPTS):
            outcome = self.run(scenario, mode, fault)
            if len(outcome.needs) >= nth:
                break
        return outcome

    def verdict(self, mode, nth, expected, whole, outcome):
        """What is wrong with an outcome when the `nth` need failed; empty where nothing is."""
        code, out, said = outcome[:3]
        if code is None:
            return said
        wrong = self.judge(mode, whole.needs[nth - 1], whole, outcome)
        if wrong is not None:
            return wrong
        if mode == "recompute" and REFUSED_MEMORY.search(said):
            return "" if code == 1 else f"exit {code}, though refused memory\n{said}"
        if may_stop(mode) and code in (STOPPED, GIVEN_UP):
            lines = [line for line in said.splitlines() if STOP_LINE.match(line)]
            return "" if len(lines) == 1 else f"stopped, and said:\n{said}"
        if code != 0:
            return f"exit {code}\n{said}"
        return "" if out == expected else f"other bytes\n{said}"

    def fail_each(self, pool, scenario, mode):
        expected = bare(scenario, ways(mode)[1])
        whole = self.run_whole(scenario, mode)
        faults = self.chosen(mode, whole.needs)[GIVEN.part]
        wrong, stopped, met = [], 0, 0
        for (nth, fault), outcome in zip(faults, pool.map(
                lambda chosen: self.run_until_met(scenario, mode, *chosen), faults)):
            trouble = self.verdict(mode, nth, expected, whole, outcome)
            met += len(outcome.needs) >= nth
            stopped += outcome.code in (STOPPED, GIVEN_UP)
            if trouble:
                needs = outcome.needs[nth - 1:nth]
                wrong.append(f"{fault}, {self.tell(needs[0]) if needs else 'none'}: {trouble}")
        self.stops[mode] += stopped
        claim(f"{scenario}, {mode}: {met} faults in {len(whole.needs)} {self.noun}, "
              f"{stopped} runs are stopped, {len(faults) - met} faults came to none",
              met >= len(faults) * MOST_MET and not wrong, "\n".join(wrong))

    def main(self):
        modes = GIVEN.mode or MODES
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(GIVEN.jobs) as pool:
            os.chdir(folder)
            for scenario in GIVEN.scenarios:
                for mode in modes:
                    self.fail_each(pool, scenario, mode)
            self.conclude()
        claim(f"runs that faults stop: {dict(self.stops)}",
              any(self.stops[mode] for mode in modes if may_stop(mode)) and
              not any(self.stops[mode] for mode in modes if not may_stop(mode)))
        finish()
