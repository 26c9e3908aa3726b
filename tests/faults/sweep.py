# SPDX-License-Identifier: Apache-2.0
"""What the layer needs fails once, in turn, under small jobs in every mode: of driver calls
faults.py tells, of host memory scarce.py.

The job sees what it would have seen without the layer, or it is stopped on one line; in the mode
recompute, where all memory is the layer's, and under a budget that is no more than it needs, it may
also be refused memory, as any driver does. No other bytes, no signal, no wait without end. A part
takes each N-th of the faults, from the K-th: all parts make the whole. A fault that never came to
be (another run asks for less) proves nothing: they are counted, and may be few.
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
    for name in ("job", "kernels", "digits", "losses", "gates", "cases", "reprise", "object"):
        reader.add_argument(name, type=os.path.abspath)
    reader.add_argument("--all", action="store_true")
    reader.add_argument("--part", type=part, default="1/1")
    reader.add_argument("--jobs", type=int, default=os.cpu_count())
    reader.add_argument("--mode", action="append", choices=MODES)
    reader.add_argument("scenarios", nargs="*", default=list(SCENARIOS))
    return reader.parse_intermixed_args()


STOPPED = 70  # the exit code of a job that was stopped on a hazard
GIVEN_UP = 2  # of one that could not be guarded from the start
MODES = {"observe": ["--no-trace", "--audit", "1"], "check": [], "guard": ["--no-trace"],
         "guard, whole": ["--no-trace", "--policy", "whole"],
         "guard, joint": ["--no-trace", "--policy", "joint", "--budget", "1GiB"],
         "guard, tight": ["--no-trace"], "recompute": ["--no-trace"],
         "recompute, tight": ["--no-trace"]}
# The least budget that a run says has been enough, or would be.
TIGHT = {"guard, tight": lambda summary: summary["device_peak_bytes"],
         "recompute, tight": lambda summary: summary["recompute"]["least_bytes"]}
ROOMY = [mode for mode in MODES if mode not in TIGHT]
GUARDS = ["guard", "guard, tight"]
DROPS = ["recompute", "recompute, tight"]
# In which modes each runs. Those with a kind before their name are tests/recompute's, and eager.
SCENARIOS = {
    **dict.fromkeys(["accumulator", "queue", "lifo", "alias", "side-stream", "two-streams",
                     "second-context", "recycled-address", "live-write-aside", "lazy-state",
                     "digits"], ROOMY),
    **dict.fromkeys(["graph-mixed", "captured-meanwhile", "given-back-by-graph", "pool-recycled",
                     "pool-inside", "engine-thread"], GUARDS + DROPS),
    **dict.fromkeys(["losses/freed", "losses/pool", "losses/mapped", "losses/under-capture",
                     "losses/in-another-context", "gates/met", "gates/default",
                     "gates/given-back"], DROPS)}
GRANULES = {"REPRISE_SOFT_GRANULARITY": "4KiB"}
DROPPED = {"REPRISE_TEST_DISABLE": "plenty"}  # all that can be dropped is, at every chance
ATTEMPTS = 3
MOST_REFUSALS = 4
MOST_MET = 0.8  # of the faults have to come to be
REFUSED_MEMORY = re.compile("CUDA_ERROR_OUT_OF_MEMORY|failed with 2$", re.M)
LAST_WORDS = re.compile(".* failed with \\d+\n\\Z")  # of a job whose call was refused
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
    kind, _, case = scenario.rpartition("/")
    if kind:
        return [getattr(GIVEN, kind), GIVEN.cases, case]
    return [GIVEN.job, GIVEN.kernels, scenario, way]


def ways(mode):
    """How the job runs under the layer, and the bare run whose bytes it must leave."""
    if mode in DROPS:
        return "eager", "eager"
    return "replay", "eager" if mode.startswith("guard") else "replay"


def bare(scenario, mode):
    way = ways(mode)[1]
    run = subprocess.run([GIVEN.reprise, "run", "--device", "soft", "--no-trace", "-q",
                          "-o", "bare", "--", *job(scenario, way)], capture_output=True, text=True,
                         env=os.environ | (GRANULES if mode in DROPS else {}))
    if run.returncode:
        raise SystemExit(f"Bail out! {scenario} {way}: {run.stderr}")
    return run.stdout


Outcome = collections.namedtuple("Outcome", "code out said needs summary")


def may_stop(mode):
    return mode.startswith("guard") or mode in DROPS


def may_refuse(mode):
    return mode in DROPS or mode in TIGHT


class Sweep:
    """Of one kind of need, `noun`. `variable` says in the environment which of them fails, and how.

    A kind says which needs of a job are to fail, from 1, each with a text for the variable
    (`chosen`); what is wrong with an outcome, where it knows better than all kinds (`judge`; None
    where it does not); what it was that failed (`tell`); and what else is to be shown
    (`conclude`)."""
    noun = variable = None

    def __init__(self):
        self.stops = collections.Counter()
        self.least = {}  # budgets of tight modes

    def chosen(self, mode, needs):
        raise NotImplementedError

    def judge(self, mode, fault, failed, whole, outcome):
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
            if mode in DROPS:
                environment |= GRANULES
            if mode == "recompute":
                environment |= DROPPED
            command = [GIVEN.reprise, "run", "--device", "soft", "-m", mode.split(",")[0],
                       "-o", "out", *MODES[mode], *self.budget(scenario, mode),
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

    def budget(self, scenario, mode):
        return (["--budget", str(self.least[scenario, mode])]
                if (scenario, mode) in self.least else [])

    def tighten(self, scenario, mode):
        """The least budget that is told, or what that, once refused, would have taken."""
        summary = self.run(scenario, mode, "0").summary
        self.least[scenario, mode] = TIGHT[mode](json.loads(summary))
        for _ in range(MOST_REFUSALS):
            outcome = self.run(scenario, mode, "0")
            if outcome.code == 0:
                break
            figures = json.loads(outcome.summary)
            self.least[scenario, mode] = figures["recompute"]["needed_bytes"]

    def run_whole(self, scenario, mode):
        """A run in which nothing fails: of some the one with the fewest needs, so that others have
        as many, too."""
        if mode in TIGHT:
            self.tighten(scenario, mode)
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

    def verdict(self, mode, nth, fault, expected, whole, outcome):
        """What is wrong with an outcome when the `nth` need failed; empty where nothing is."""
        code, out, said = outcome[:3]
        if code is None:
            return said
        failed = (outcome.needs[:nth] if len(outcome.needs) >= nth else whole.needs[:nth])[-1]
        wrong = self.judge(mode, fault, failed, whole, outcome)
        if wrong is not None:
            return wrong
        if may_refuse(mode) and REFUSED_MEMORY.search(out + said):
            right = code == 1 and expected.startswith(LAST_WORDS.sub("", out))
            return "" if right else f"exit {code}, and refused memory\n{out}{said}"
        if may_stop(mode) and code in (STOPPED, GIVEN_UP):
            lines = [line for line in said.splitlines() if STOP_LINE.match(line)]
            return "" if len(lines) == 1 else f"stopped, and said:\n{said}"
        if code != 0:
            return f"exit {code}\n{said}"
        return "" if out == expected else f"other bytes\n{said}"

    def fail_each(self, pool, scenario, mode):
        expected = bare(scenario, mode)
        whole = self.run_whole(scenario, mode)
        faults = self.chosen(mode, whole.needs)[GIVEN.part]
        wrong, stopped, met = [], 0, 0
        for (nth, fault), outcome in zip(faults, pool.map(
                lambda chosen: self.run_until_met(scenario, mode, *chosen), faults)):
            trouble = self.verdict(mode, nth, fault, expected, whole, outcome)
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
                for mode in [mode for mode in SCENARIOS[scenario] if mode in modes]:
                    self.fail_each(pool, scenario, mode)
            self.conclude()
        stoppable = [mode for mode in modes if may_stop(mode)]
        claim(f"runs that faults stop: {dict(self.stops)}",
              (not stoppable or any(self.stops[mode] for mode in stoppable)) and
              not any(self.stops[mode] for mode in modes if mode not in stoppable))
        finish()
