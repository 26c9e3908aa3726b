# SPDX-License-Identifier: Apache-2.0
"""An eager job leaves its bytes, though what it holds is dropped at every chance."""
from runs import contract_of, guarded
from scenarios import SCENARIOS
from tap import claim

# Every allocation is the layer's, and its content goes whenever it may.
DROPPED = {"REPRISE_SOFT_GRANULARITY": "4KiB", "REPRISE_TEST_DISABLE": "plenty"}


def suite():
    recalls = 0
    for name, scenario in SCENARIOS.items():
        if scenario.get("touches"):
            continue  # no two allocations that the layer makes lie side by side
        run = guarded(name, contract_of(scenario, "declared"), "eager", DROPPED, "recompute")
        recalls += run.summary.get("recompute", {}).get("recalls", 0)
        claim(f"{name}: dropped at every chance: the bytes of the eager run",
              run.went_on and run.right, run.detail())
    claim("what was dropped was made anew", recalls > 20, f"{recalls} recalls")
