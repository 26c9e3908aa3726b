# SPDX-License-Identifier: Apache-2.0
"""A guarded replay leaves the bytes of the eager run, or is stopped where none can.

Under each policy and kind of state that a scenario allows; bare, it leaves other bytes."""
import subprocess

from runs import (DEVICE, JOB, KERNELS, REPRISE, Case, bare, by_launches, contract_of, declared,
                  discovered, guarded, hold, run_bare, states_of)
from scenarios import GENERATOR, NOWHERE, QUEUE, REFUSED, SCENARIOS, SCHEDULED, STATE
from tap import claim


def goes_wrong(name, scenario):
    """Whether its bare replay does; where that is a race, now and then it goes well by chance."""
    tries = 5 if scenario.get("races") else 1
    return any(run_bare(name, "replay") != bare(name, "eager") for _ in range(tries))


def scenario_holds(name, scenario):
    eager = bare(name, "eager")
    if scenario.get("control"):
        claim(f"{name}: a control, right without a guard", bare(name, "replay") == eager)
    else:
        claim(f"{name}: a real hazard, wrong without a guard", goes_wrong(name, scenario))
    states = ("declared", "discovered") if scenario.get("discover") else ("declared",)
    for state, policy in [(state, policy) for state in states for policy in ("regions", "whole")]:
        run = guarded(name, contract_of(scenario, state, policy))
        claim(f"{name}: {state}, {policy}: the bytes of the eager run",
              run.went_on and run.right, f"{eager}{run.detail()}")
        if scenario.get("control"):
            kept = run.summary.get("bytes_preserved")
            claim(f"{name}: {state}, {policy}: keeps nothing without need",
                  kept == 0 or policy == "whole", f"{kept} bytes preserved")
    run = guarded(name, contract_of(scenario, "declared"), "eager")
    claim(f"{name}: guarding a job that does not replay changes nothing", run.right, run.detail())


def schedules():
    for name in SCHEDULED:
        for seed in range(1, 5):
            run = guarded(name, contract_of(SCENARIOS[name], "declared"),
                          environment={"REPRISE_SOFT_SCHEDULE": str(seed)})
            claim(f"{name}: right under schedule {seed}", run.right, run.detail())


def refused():
    for name, scenario in REFUSED.items():
        for state in states_of(scenario):
            run = guarded(name, contract_of(scenario, state))
            claim(f"{name}: {state}: stopped on {scenario['kind']}, and says so in one line",
                  run.stopped and run.kinds == {scenario["kind"]} and
                  run.said.count("reprise: stopped") == 1, run.detail())
            claim(f"{name}: what the job had printed is not lost",
                  run.stdout.startswith(f"{name}\n"), run.detail())


def fork():
    run = subprocess.run([REPRISE, "run", "--device", DEVICE, "-m", "observe", "-q", "-o", "traced",
                          "--", JOB, KERNELS, "fork", "eager"], capture_output=True, text=True,
                         timeout=60)
    claim("fork: a traced job that forks goes on", run.stdout == bare("fork", "eager"), run.stderr)


ORDERED = [Case(name, discovered(pair="fifo"), {
    "the bytes of the eager run where the rule names the order":
        lambda run: run.went_on and run.right})
    for name in ("refilled", "host-refilled")]

UNSURE = [
    Case("diverging", declared(STATE, GENERATOR), {
        "a call that the replay leaves out, and nobody misses, is only remarked":
            lambda run: run.went_on and not run.counting and "advance" in run.unknown}),
    Case("patch", discovered(), {
        "discovery refuses what it cannot prove, and names the call":
            lambda run: run.stopped and "read_queue" in run.unknown,
        "... in the hazard too, with the memory and the reason":
            lambda run: run.first_is(reader="read_queue") and
            run.first.get("allocation_bytes", 0) > 0 and
            run.first.get("advice", "").endswith(": declare the state")}),
]

BOTH = [
    Case("write-only-state", declared(STATE) | {"state": "discovered"}, {
        "discovered and declared: the bytes of the eager run": lambda run: run.right,
        "... and no doubt about it":
            lambda run: run.each("allocation_bytes") <= {(4000,)} and not run.counting}),
    Case("accumulator", declared(NOWHERE), {
        "a declared buffer that cannot be found is a hazard, not unprotected":
            lambda run: run.stopped and run.first_is(hazard="unproved")}),
    Case("key", declared(STATE), {
        "pairing by order that the keys contradict is reported":
            lambda run: run.stopped and run.first_is(hazard="unpaired")}),
]

STEPS = by_launches(declared(STATE), first="step_state", last="step_state", nth=0)
ENDS = by_launches(declared(STATE), first="step_state", last="gradient")

LAUNCHES = [
    Case("queue", by_launches(declared(QUEUE), first="read_queue", last="enqueue", nth=0), {
        "right when segments are found by launches and their repetition":
            lambda run: run.right and run.segment.get("replays") == 3}),
    *[Case("lifo", STEPS | {"policy": policy}, {
        f"{policy}: that launches which come again, elsewhere, are no forward is not "
        "taken for granted":
            lambda run: run.stopped and run.first_is(hazard="unpaired") and
            "may as well be the next forward" in run.said})
      for policy in ("regions", "retain")],
    *[Case("unfinished", ENDS | {"state": state}, {
        f"{state}: what reads rewound bytes is told that the last launch is missing":
            lambda run: run.stopped and run.kinds == {"live-read"} and
            'the launch that the contract names as its "last" has not come' in run.said})
      for state in ("declared", "discovered")],
    Case("next-batch", STEPS | {"state": "discovered"}, {
        "a warning where launches come again, and their input was filled anew":
            lambda run: run.each("hazard", "taken_for", "writer") ==
            {("assumed", "a replay", "fill")}}, mode="eager"),
    Case("fresh-activations", STEPS, {
        "a warning where launches come again with other outputs":
            lambda run: run.right and run.each("taken_for") == {("a replay",)}}),
]


def suite():
    for name, scenario in SCENARIOS.items():
        scenario_holds(name, scenario)
    schedules()
    hold(ORDERED)
    refused()
    hold(UNSURE)
    fork()
    hold(BOTH)
    hold(LAUNCHES)
