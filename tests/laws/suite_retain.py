# SPDX-License-Identifier: Apache-2.0
"""Served from kept outputs where that can be done, and by regions where it can't."""
from runs import contract_of, guarded, states_of
from scenarios import REFUSED, SCENARIOS
from tap import claim

NOT_SERVED = {name: scenario for name, scenario in SCENARIOS.items()
              if not scenario.get("serves", True)}


def served():
    """The scenarios that are, under one kind of state at least."""
    names = set()
    for name, scenario in SCENARIOS.items():
        for state in states_of(scenario) if name not in NOT_SERVED else []:
            run = guarded(name, contract_of(scenario, state, "retain"))
            claim(f"{name}: {state}, retain: the bytes of the eager run",
                  run.went_on and run.right, run.detail())
            reasons = [segment.get("unserved") for segment in run.summary.get("segments", [])]
            if run.summary.get("launches_served"):
                names.add(name)
            claim(f"{name}: {state}, retain: served, or it says why not",
                  run.summary.get("launches_served") or all(reasons), reasons)
    return names


def suite():
    names = served()
    claim(f"most are served: {len(names)} of {len(SCENARIOS)}", 2 * len(names) > len(SCENARIOS),
          set(SCENARIOS) - names)
    for name in ("two-streams", "interleaved-over-output"):
        for seed in range(1, 9):
            run = guarded(name, contract_of(SCENARIOS[name], "declared", "retain"),
                          environment={"REPRISE_SOFT_SCHEDULE": str(seed)})
            claim(f"{name}: retain is right under schedule {seed}", run.right, run.detail())
    for name, scenario in (REFUSED | NOT_SERVED).items():
        run = guarded(name, contract_of(scenario, states_of(scenario)[0], "retain"))
        claim(f"{name}: retain makes it right or stops it",
              run.stopped and run.counting or run.went_on and run.right, run.detail())
