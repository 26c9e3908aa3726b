# SPDX-License-Identifier: Apache-2.0
"""Without one mechanism the scenarios named for it go red, and no others.

By day these are compared with every third of the others; at night ("all mechanisms") with each."""
import pathlib
import sys

from runs import by_launches, contract_of, declared, discovered, guarded, without
from scenarios import FEWER, RACES, REFUSED, SCENARIOS, STATE, STEPPED
from tap import claim

# Those that print the right bytes though nothing that their forward found is kept: nothing of
# theirs is state, or their replay only writes it, or what the replay makes of it is not printed.
NEED_NOTHING = {"pure", *RACES, "in-place", "in-place-from-host", "write-only-state",
                "recycled-address"} - {"prefetched"}
NEED_THEIR_PAST = set(SCENARIOS) - NEED_NOTHING

UNKNOWN = 999  # cuda.h, CUresult
OTHERS = 1 if sys.argv[4].startswith("all") else 3

# Which scenarios go red without a mechanism. The others are compared too, and stay right.
RED = {
    # The host's variables are kept by other means, and put back by the same.
    "preserve": NEED_THEIR_PAST - {"host-generator"},
    "copy-on-save": NEED_THEIR_PAST - {"host-generator"},
    "restore": NEED_THEIR_PAST,
    # A replay right after its forward steps the state to where it stands anyway.
    "reinstate": {
        "adjacent-mappings", "alias", "cache-missed", "captured-meanwhile", "chain",
        "clobbered-later", "context-left", "copied-elsewhere", "copied-inside", "early",
        "errand-left", "errands", "errands-gone", "expired-instance", "first-run", "graph-mixed",
        "host-function", "host-generator", "interleaved", "interleaved-before", "key",
        "lazy-state", "lifo", "live-write-aside", "loaded-inside", "neighbours", "nested",
        "nested-replays", "never-written", "only-last-by-seed", "only-last-of-own", "patch",
        "pinned-slab", "queue", "read-before-put", "reader-after", "recycled-address",
        "recycled-output", "reordered", "replayed-twice", "reset-beside", "reset-inside", "rolled",
        "side-stream", "state-brought", "stopped-early", "stream-left", "streams-left",
        "thread-left", "turned-outputs", "two-streams", "without-last", "write-only-state"},
    "live-writes": {"live-write", "live-write-late", "reset-inside"},
    "pairing": {"chain", "fifo", "key", "lifo", "recycled-output", "told-by-buffers"},
    "absence": {"host-function", "lazy-state", "never-written", "pinned-slab"},
    "order": {"reader-after", "two-streams"},
    "crossings": {"interleaved", "interleaved-before", "interleaved-inside"},
    "races": set(RACES),
}
# Which of them go well now and then, by chance: all that are races, and what nobody orders.
BY_CHANCE = {name for name, scenario in SCENARIOS.items() if scenario.get("races")} | RED["order"]
# The same of those whose absence a job does not survive: it is stopped, though all is well.
STOPPED_WITHOUT = {
    "copies": {"moved", "moved-beside", "moved-in-pieces", "moved-through-host", "moved-alike",
               "brought-back", "in-place", "in-place-from-host", "pool-recycled"},
}
# The same of those that are stopped for a good reason, and pass for right without it.
SILENT_WITHOUT = {
    "turns": {"overtaken", "passed-aside", "copied-too-early", "copied-after-graphs-event",
              "copied-after-launchs-event"},
    "doubts": {f"{fewer}-of-{kind}" for fewer in FEWER for kind in STEPPED} |
              {"only-one-of-alike", "stepped-between", "written-between"},
}


def with_others(expected, scenarios):
    """Those named, and of the others those whose turn it is."""
    others = [name for name in scenarios if name not in expected]
    chosen = {"pure", *expected, *others[::OTHERS]}
    return {name: scenario for name, scenario in scenarios.items() if name in chosen}


def runs_without(mechanism, scenarios, on_violation="stop"):
    """(name, run) of each under its declared state."""
    for name, scenario in scenarios.items():
        contract = contract_of(scenario, "declared", "regions", on_violation)
        yield name, guarded(name, contract, environment=without(mechanism))


def wrong_without(mechanism, scenarios):
    return {name for name, run in runs_without(mechanism, scenarios, "report") if not run.right}


def go_red(mechanism, expected):
    red = wrong_without(mechanism, with_others(expected, SCENARIOS))
    for _ in range(4):
        red |= wrong_without(mechanism, {name: SCENARIOS[name]
                                         for name in (expected - red) & BY_CHANCE})
    claim(f"without {mechanism}: {', '.join(sorted(red)) or 'nothing'} red", expected == red,
          f"missing: {expected - red}", f"not expected: {red - expected}")
    claim(f"without {mechanism}: the control stays right", "pure" not in red)


def are_stopped(mechanism, expected):
    chosen = with_others(expected, SCENARIOS)
    stopped = {name for name, run in runs_without(mechanism, chosen) if run.stopped}
    claim(f"without {mechanism}: {', '.join(sorted(stopped))} are stopped", expected == stopped,
          expected ^ stopped)


def pass_silently(mechanism, expected):
    refused = {name: scenario for name, scenario in REFUSED.items() if "buffers" in scenario}
    silent = {name for name, run in runs_without(mechanism, with_others(expected, refused))
              if run.went_on and not run.right}
    claim(f"without {mechanism}: {', '.join(sorted(silent))} pass for right, and are not",
          expected == silent, expected ^ silent)
    run = guarded("moved", contract_of(SCENARIOS["moved"], "declared"),
                  environment=without(mechanism))
    claim(f"without {mechanism}: a copy in one stream stays right", run.right, run.detail())


def crossings_when_served():
    contract = contract_of(SCENARIOS["interleaved-over-output"], "declared", "retain", "report")
    run = guarded("interleaved-over-output", contract, environment=without("crossings"))
    claim("without crossings: interleaved-over-output is served what is not its own",
          run.summary["launches_served"] and not run.right, run.detail())


def calls_under_way():
    """A call that is not handed on as soon as it was seen to leaves time for another's."""
    launches = by_launches(discovered(), first="read_queue", last="slow_fill")
    for name, told, contract in (("set-meanwhile", "", discovered()),
                                 ("set-by-graph-meanwhile", "", discovered()),
                                 ("set-meanwhile", ", told by launches,", launches)):
        for off, right in (("haste", True), ("haste,in-flight", False)):
            run = guarded(name, contract, environment=without(off))
            claim(f"without {off}: {name}{told} is {'right' if right else 'wrong'}",
                  run.went_on and run.right == right, run.detail())


def doubts_about_the_host():
    run = guarded("counted-on-host", declared(STATE), environment=without("doubts"))
    claim("without doubts: counted-on-host passes for right, and is not",
          run.went_on and ("an output on the host",) not in run.each("taken_for") and
          not run.right, run.detail())


def graphs_that_can_not_be_read():
    """The driver does not tell what memory a node of a graph is about."""
    name = "given-back-by-graph"
    log = pathlib.Path("calls")
    guarded(name, discovered(), environment={"REPRISE_TEST_FAULT": "0",
                                             "REPRISE_TEST_FAULT_LOG": str(log)})
    for number, call in enumerate(log.read_text().split(), 1):
        if call.startswith("cuGraphMem"):
            run = guarded(name, discovered(), environment={
                "REPRISE_TEST_FAULT": f"{number}:{UNKNOWN}"})
            claim(f"where {call} fails {name} is right or stopped", run.right or run.stopped,
                  run.detail())


def suite():
    for mechanism, expected in RED.items():
        go_red(mechanism, expected)
    for mechanism, expected in STOPPED_WITHOUT.items():
        are_stopped(mechanism, expected)
    for mechanism, expected in SILENT_WITHOUT.items():
        pass_silently(mechanism, expected)
    crossings_when_served()
    calls_under_way()
    doubts_about_the_host()
    graphs_that_can_not_be_read()
