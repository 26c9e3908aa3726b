# SPDX-License-Identifier: Apache-2.0
"""Observing changes nothing, and the hazards found are the scenario's."""
from runs import bare, contract_of, guarded, states_of
from scenarios import REFUSED, SCENARIOS
from tap import claim


def suite():
    for name, scenario in SCENARIOS.items():
        contract = contract_of(scenario, "declared")
        run = guarded(name, contract, layer="check")
        if not scenario.get("races"):  # what its bare replay leaves is chance
            claim(f"{name}: check changes nothing", run.stdout == bare(name, "replay"),
                  run.detail())
        claim(f"{name}: check finds the hazard and names the buffer",
              scenario["finds"] <= run.each("hazard", "buffer") and
              (scenario["finds"] or not run.counting), run.detail())
        run = guarded(name, contract, "eager", layer="check")
        claim(f"{name}: an eager run has no hazards", not run.hazards, run.detail())
    for name, scenario in REFUSED.items():
        run = guarded(name, contract_of(scenario, states_of(scenario)[0]), layer="check")
        claim(f"{name}: check goes on, and changes nothing",
              run.code == 0 and run.stdout == bare(name, "replay"), run.detail())
