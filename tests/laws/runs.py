# SPDX-License-Identifier: Apache-2.0
"""Runs of the job, bare and under a layer, the contracts for them, and claims about them."""
import functools
import json
import os
import pathlib
import subprocess
import sys
from typing import Any, Callable, Dict, NamedTuple, Optional

from tap import claim

JOB, KERNELS, REPRISE = map(os.path.abspath, sys.argv[1:4])
DEVICE = os.environ.get("REPRISE_TEST_DEVICE", "soft")
STOPPED = 70  # the exit code of a job that was stopped on a hazard


def states_of(scenario):
    """Declared where something is, and discovered where that can do it."""
    return [state for state, key in (("declared", "buffers"), ("discovered", "discover"))
            if key in scenario] or ["discovered"]


def contract_of(scenario, state, policy="regions", on_violation="stop"):
    segment = {"name": "segment", "forward": {"nvtx": "forward/*"},
               "replay": {"nvtx": "recompute/*"}, "pair": scenario.get("pair", "lifo"),
               "replays": scenario.get("replays", 1)}
    contract = {"version": 1, "segments": [segment], "state": state, "policy": policy,
                "step": {"nvtx": "step"}, "on_violation": on_violation}
    if state == "declared":
        contract["buffers"] = scenario["buffers"]
    return contract


def declared(*buffers, pair="lifo"):
    return contract_of({"buffers": list(buffers), "pair": pair}, "declared")


def discovered(policy="regions", pair="lifo"):
    return contract_of({"pair": pair}, "discovered", policy)


def by_launches(contract, name="segment", **launches):
    """The contract, but its segment is found by launches, and each repetition is a replay."""
    return contract | {"segments": [{"name": name, "replay": {"repeat": True},
                                     "forward": {"launches": launches}}]}


def without(mechanism):
    """The environment in which a mechanism of the layer is switched off."""
    return {"REPRISE_TEST_DISABLE": mechanism}


def run_bare(name, mode):
    """What the job prints without a layer."""
    run = subprocess.run([REPRISE, "run", "--device", DEVICE, "--no-trace", "-q", "-o", "bare",
                          "--", JOB, KERNELS, name, mode], capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"Bail out! {name} {mode}: {run.stderr}")
    return run.stdout


bare = functools.lru_cache(maxsize=None)(run_bare)


class Run:
    """What a job did under a layer, what was said of it, and what its summary holds."""

    def __init__(self, name, process, summary):
        self.name = name
        self.summary = summary
        self.stdout, self.said = process.stdout, process.stderr
        self.went_on = process.returncode == 0
        self.stopped = process.returncode == STOPPED
        self.code = process.returncode
        self.hazards = summary.get("hazards", [])
        # Those that are more than a warning.
        self.counting = [hazard for hazard in self.hazards if not hazard.get("warning")]
        self.kinds = {hazard["hazard"] for hazard in self.counting}
        self.first = self.hazards[0] if self.hazards else {}
        self.unknown = {call["call"]: call.get("reason", "")
                        for call in summary.get("unknown", [])}

    @property
    def right(self):
        return self.stdout == bare(self.name, "eager")

    @property
    def segment(self):
        return self.summary["segments"][0] if self.summary.get("segments") else {}

    def first_is(self, **expected):
        """Whether the first hazard has these fields."""
        return expected.items() <= self.first.items()

    def each(self, *keys):
        """Of each hazard what stands under these keys."""
        return {tuple(hazard.get(key) for key in keys) for hazard in self.hazards}

    def assumes(self, taken_for, buffer, reader):
        """Whether it goes on, and one of its warnings is this one."""
        return self.went_on and (taken_for, buffer, reader) in self.each("taken_for", "buffer",
                                                                         "reader")

    def detail(self):
        return f"exit {self.code}\n{self.hazards}\n{self.unknown}\n{self.stdout}{self.said}"


def guarded(name, contract, mode="replay", environment=None, layer="guard"):
    pathlib.Path("contract.json").write_text(json.dumps(contract))
    process = subprocess.run(
        [REPRISE, "run", "--device", DEVICE, "-m", layer, "-c", "contract.json", "--no-trace",
         "-o", "guarded", "--", JOB, KERNELS, name, mode],
        capture_output=True, text=True, env=os.environ | (environment or {}))
    summaries = [json.loads(path.read_text()) for path in pathlib.Path("guarded").glob("summary-*")]
    # A child that calls the driver has a summary of its own; the job's is the one with launches.
    summary = max(summaries, key=lambda summary: summary["launches"], default={})
    return Run(name, process, summary)


class Case(NamedTuple):
    """A run of one scenario under one contract, and what is claimed of it."""
    scenario: str
    contract: Dict[str, Any]
    claims: Dict[str, Callable[[Run], Any]]
    mode: str = "replay"
    layer: str = "guard"
    environment: Optional[Dict[str, str]] = None


def hold(cases):
    """Runs each and makes its claims before the next begins, as they may look at its folder."""
    for case in cases:
        run = guarded(case.scenario, case.contract, case.mode, case.environment, case.layer)
        for text, holds in case.claims.items():
            claim(f"{case.scenario}: {text}", holds(run), run.detail())
