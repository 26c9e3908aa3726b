#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each driver call that the layer makes on its own account fails once, in turn.

usage: faults.py JOB KERNELS DIGITS REPRISE [--all] [--part K/N] [--jobs N] [SCENARIO|digits...]

The job sees what it would have seen without the layer, or it is stopped on one line; in the mode
recompute, where all memory is the layer's, it may also be refused memory, as any driver does. No
other bytes, no signal, no wait without end. Without --all only the first, the middle and the last
call of each name fail, each with one code. A part takes each N-th of the faults, from the K-th:
all parts make the whole. A fault that never came to be (another run makes fewer calls) proves
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
    reader = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].splitlines()[0])
    for name in ("job", "kernels", "digits", "reprise"):
        reader.add_argument(name, type=os.path.abspath)
    reader.add_argument("--all", action="store_true")
    reader.add_argument("--part", type=part, default="1/1")
    reader.add_argument("--jobs", type=int, default=os.cpu_count())
    reader.add_argument("scenarios", nargs="*")
    return reader.parse_intermixed_args()


GIVEN = arguments()
JOB, KERNELS, DIGITS, REPRISE = GIVEN.job, GIVEN.kernels, GIVEN.digits, GIVEN.reprise
STOPPED = 70  # the exit code of a job that was stopped on a hazard
GIVEN_UP = 2  # of one that could not be guarded from the start
OUT_OF_MEMORY, INVALID_VALUE, LAUNCH_FAILED = 2, 1, 719  # cuda.h, CUresult
SCENARIOS = ["accumulator", "queue", "lifo", "alias", "side-stream", "two-streams",
             "second-context", "recycled-address", "live-write-aside", "lazy-state", "digits"]
MODES = {"observe": ["--no-trace", "--audit", "3"], "check": [], "guard": ["--no-trace"],
         "guard, whole": ["--no-trace", "--policy", "whole"],
         "guard, joint": ["--no-trace", "--policy", "joint", "--budget", "1GiB"],
         "recompute": ["--no-trace"]}
CODES = (OUT_OF_MEMORY, INVALID_VALUE, LAUNCH_FAILED)
MANY = 600  # calls of one job, behind which each fails with one code: recompute makes ten thousand
DROPPED = {"REPRISE_TEST_DISABLE": "plenty",  # all that can be dropped is, at every chance
           "REPRISE_SOFT_GRANULARITY": "4KiB"}
ATTEMPTS = 3
MOST_MET = 0.8  # of the faults have to come to be
REFUSED_MEMORY = re.compile("CUDA_ERROR_OUT_OF_MEMORY|^law_job: .* failed with 2$", re.M)
JOBS_OWN = re.compile("^(law_job|digits): cuMemAlloc", re.M)  # made for it, and answered as it was
STOP_LINE = re.compile("reprise: (stopped: |the host is out of memory$)")
WAIT = 600  # seconds, on a machine that is busy: a run takes a fraction of one

CONTRACT = {"version": 1, "state": "discovered", "policy": "regions", "on_violation": "stop",
            "step": {"nvtx": "step"},
            "segments": [{"name": "segment", "forward": {"nvtx": "forward/*"},
                          "replay": {"nvtx": "recompute/*"}}]}
PAIRED = {"two-streams": "key"}


def job(scenario, way):
    if scenario == "digits":
        return [DIGITS, "-n", "2", "-b", "16", *(["--checkpoint"] if way == "replay" else [])]
    return [JOB, KERNELS, scenario, way]


def ways(mode):
    """How the job runs under the layer, and the bare run whose bytes it must leave."""
    if mode == "recompute":
        return "eager", "eager"
    return "replay", "eager" if mode.startswith("guard") else "replay"


def bare(scenario, way):
    run = subprocess.run([REPRISE, "run", "--device", "soft", "--no-trace", "-q", "-o", "bare",
                          "--", *job(scenario, way)], capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"Bail out! {scenario} {way}: {run.stderr}")
    return run.stdout


Outcome = collections.namedtuple("Outcome", "code out said calls")


def run(scenario, mode, fault):
    """The job under the layer, in a folder of its own: exit code, output, what was said, and the
    names of the calls that the layer made, in their order."""
    with tempfile.TemporaryDirectory() as folder:
        contract = pathlib.Path(folder, "contract.json")
        contract.write_text(json.dumps(CONTRACT | {"segments": [
            CONTRACT["segments"][0] | {"pair": PAIRED.get(scenario, "lifo")}]}))
        log = pathlib.Path(folder, "calls")
        log.touch()
        environment = os.environ | {"REPRISE_TEST_FAULT": fault, "REPRISE_TEST_FAULT_LOG": str(log)}
        if mode == "recompute":
            environment |= DROPPED
        command = [REPRISE, "run", "--device", "soft", "-m", mode.split(",")[0], "-o", "out",
                   *MODES[mode]] + ([] if mode == "observe" else ["-c", str(contract)])
        try:
            done = subprocess.run([*command, "--", *job(scenario, ways(mode)[0])], cwd=folder,
                                  env=environment, capture_output=True, text=True, timeout=WAIT)
        except subprocess.TimeoutExpired:
            return Outcome(None, "", f"no end within {WAIT} s", log.read_text().split())
        return Outcome(done.returncode, done.stdout, done.stderr, log.read_text().split())


def own_calls(scenario, mode):
    """The names of the calls that the layer makes when nothing fails, in their order: of some runs
    the fewest, so that others make so many, too."""
    outcomes = [run(scenario, mode, "0") for _ in range(ATTEMPTS)]
    for outcome in outcomes:
        if outcome.code not in (0, STOPPED):
            raise SystemExit(f"Bail out! {scenario}, {mode}: exit {outcome.code}\n{outcome.said}")
    return min((outcome.calls for outcome in outcomes), key=len)


def chosen(calls):
    """Which calls are to fail, from 1, and with what."""
    if GIVEN.all and len(calls) <= MANY:
        return [(nth, code) for nth in range(1, len(calls) + 1) for code in CODES]
    if GIVEN.all:
        return [(nth, CODES[nth % 3]) for nth in range(1, len(calls) + 1)]
    places = collections.defaultdict(list)
    for nth, name in enumerate(calls, 1):
        places[name].append(nth)
    some = {at for nths in places.values() for at in (nths[0], nths[len(nths) // 2], nths[-1])}
    return [(nth, CODES[i % 3]) for i, nth in enumerate(sorted(some))]


def run_until_met(scenario, mode, nth, code):
    """How many calls a job makes depends on how long its copies take: the last may not come."""
    for _ in range(ATTEMPTS):
        outcome = run(scenario, mode, f"{nth}:{code}")
        if len(outcome.calls) >= nth:
            break
    return outcome


def may_stop(mode):
    return mode.startswith("guard") or mode == "recompute"


def verdict(mode, failed, expected, outcome):
    """What is wrong with an outcome when the call `failed` did; empty where nothing is."""
    code, out, said, _ = outcome
    if code is None:
        return said
    if mode == "recompute" and failed == "cuMemAlloc_v2" and JOBS_OWN.search(said):
        return "" if code == 1 else f"exit {code}, though its own call failed\n{said}"
    if mode == "recompute" and REFUSED_MEMORY.search(said):
        return "" if code == 1 else f"exit {code}, though refused memory\n{said}"
    if may_stop(mode) and code in (STOPPED, GIVEN_UP):
        lines = [line for line in said.splitlines() if STOP_LINE.match(line)]
        return "" if len(lines) == 1 else f"stopped, and said:\n{said}"
    if code != 0:
        return f"exit {code}\n{said}"
    return "" if out == expected else f"other bytes\n{said}"


stops = collections.Counter()


def fail_each(pool, scenario, mode):
    expected = bare(scenario, ways(mode)[1])
    calls = own_calls(scenario, mode)
    faults = chosen(calls)[GIVEN.part]
    wrong, stopped, met = [], 0, 0
    for (nth, code), outcome in zip(faults, pool.map(
            lambda fault: run_until_met(scenario, mode, *fault), faults)):
        trouble = verdict(mode, calls[nth - 1], expected, outcome)
        met += len(outcome.calls) >= nth
        stopped += outcome.code in (STOPPED, GIVEN_UP)
        if trouble:
            wrong.append(f"call {nth}, {calls[nth - 1]}, answers {code}: {trouble}")
    stops[mode] += stopped
    claim(f"{scenario}, {mode}: {met} faults in {len(calls)} calls, {stopped} runs are stopped, "
          f"{len(faults) - met} faults came to no call",
          met >= len(faults) * MOST_MET and not wrong, "\n".join(wrong))


def main():
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(GIVEN.jobs) as pool:
        os.chdir(folder)
        for scenario in GIVEN.scenarios or SCENARIOS:
            for mode in MODES:
                fail_each(pool, scenario, mode)
    for mode in MODES:
        claim(f"{mode}: faults stop {'some runs' if may_stop(mode) else 'no run'}",
              (stops[mode] > 0) == may_stop(mode), f"{stops[mode]} runs were stopped")
    finish()


main()
