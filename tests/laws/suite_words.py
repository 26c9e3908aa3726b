# SPDX-License-Identifier: Apache-2.0
"""What is said: of hazards, of what is harmless, and of what cannot be done."""
import json
import re
import subprocess

from runs import (JOB, KERNELS, REPRISE, Case, bare, by_launches, contract_of, declared,
                  discovered, hold)
from scenarios import GENERATOR, HOST, LATE, QUEUE, REFUSED, STATE, TALLY, kernel
from tap import claim


def found(name):
    """The contract that is proposed for the bare job; an empty one where there is none."""
    subprocess.run([REPRISE, "run", "--device", "soft", "-m", "observe", "-q", "-o", "traced", "--",
                    JOB, KERNELS, name, "replay"], capture_output=True, check=True)
    run = subprocess.run([REPRISE, "discover", "-o", "-", "traced"], capture_output=True, text=True)
    return json.loads(run.stdout) if run.returncode == 0 else {"segments": []}


def proposals():
    for name in ("accumulator", "pure", "stopped-early"):
        segments = [(segment["forward"].get("nvtx"), segment["replay"].get("nvtx"))
                    for segment in found(name)["segments"]]
        claim(f"{name}: discover finds the ranges, of one launch and of part of them too",
              segments == [("forward/only", "recompute/only")], segments)
    hold(Case(name, found(name), {
        "what discover writes for it runs, and leaves the bytes of the eager run":
            lambda run: run.went_on and run.right})
        for name in ("chain", "nested-replays", "key"))


STOPS = [
    Case("throng", declared(STATE, pair="key"), {
        "as many forwards as a step has wait for their replays":
            lambda run: run.right and run.stdout != bare("throng", "replay")}),
    Case("throng", declared(STATE) | {"step": {"nvtx": "none"}}, {
        "without steps the oldest are given up, and the stop says so":
            lambda run: run.stopped and "the oldest are given up" in run.said}),
    Case("stepped-late", declared(STATE), {
        "a function of the host's that a replay gives again is remarked":
            lambda run: run.went_on and "cuLaunchHostFunc" in run.unknown}),
    Case("early", declared(STATE, LATE), {
        "of the host's variables nothing was kept for a forward older than the driver":
            lambda run: run.stopped and "had not called the driver yet" in run.said and
            run.kinds == {"unproved"}}),
    Case("accumulator", declared(GENERATOR), {
        "state that nobody declared is a hazard, not a silent wrong":
            lambda run: run.stopped and run.first_is(hazard="stale-read") and
            "buffer" not in run.first,
        "... and the line says what memory that is":
            lambda run: "(4000 bytes of device memory, made by call " in run.said}),
]

HAZARDS = [
    Case("clobbered-later", declared(QUEUE) | {"harmless": ["queue"]}, {
        "what the contract calls harmless is listed and stops nothing":
            lambda run: run.went_on and {True} ==
            {hazard["harmless"] for hazard in run.hazards if "buffer" in hazard}}),
    Case("crossed-replays", discovered(pair="key"), {
        "the race is reported with both calls, its bytes and its memory":
            lambda run: run.first_is(other="read_queue", reader="read_queue", memory="device")}),
    Case("other-kernel", declared(STATE), {
        "a divergence names what the forward called, where, and no versions":
            lambda run: run.first_is(reader="step_state_again", other="step_state", position=0) and
            "version" not in run.said}),
    *[Case("other-thread", contract_of({"buffers": [STATE]}, state), {
        f"{state}: a warning of ranges without a call of their thread":
            lambda run: run.went_on and
            [(hazard["hazard"], hazard.get("taken_for")) for hazard in run.hazards] ==
            [("assumed", "no work")] and "reprise: 1 warning" in run.said})
      for state in ("declared", "discovered")],
    Case("write-only-state", declared(QUEUE), {
        "undeclared, and others have written it since: a warning when it is read":
            lambda run: run.assumes("an output", None, "cuMemcpyDtoH_v2")}),
    Case("recycled-output", declared(STATE), {
        "an output in another's place is a warning where the call tells no more":
            lambda run: run.assumes("the one in order", None, "cuMemsetD8_v2")}),
    Case("turned-outputs", declared(STATE), {
        "all calls come, each with its output in another's place: a warning":
            lambda run: run.went_on and
            {row for row in run.each("taken_for", "buffer", "reader") if row[0] == "other memory"}
            == {("other memory", None, "step_state")}}),
    Case("only-last-of-dense", discovered(), {
        "the line says which call it may be as well, and what helps":
            lambda run: "other work than call 2 of its forward" in run.said and
            "let it make all the calls, or mark as a segment those alone" in run.said}),
    Case("written-between", discovered(), {
        "the line says who wrote in the middle of the forward, and what helps":
            lambda run: ", written by append (step 1, launch " in run.said and
            "while the forward ran, another thread's call has written there" in run.said}),
]

EDGES = [
    Case("forward-ends-early", declared(GENERATOR), {
        "the line says that the forward's range did not hold the call":
            lambda run: "at advance in step 1" in run.said and
            "the replay's range holds it, and its forward's did not" in run.said}),
    Case("helped", declared(STATE), {
        "what a thread without a range steps beside a forward and its replay: a warning":
            lambda run: run.assumes("the job's own", "state[1]", "step_state")}),
    Case("replay-ends-early", declared(GENERATOR), {
        "what comes behind the replay, and its forward held, is a warning":
            lambda run: run.assumes("the job's own", "generator", "advance")}),
    Case("both-end-early", declared(GENERATOR), {
        "... and what neither held is not":
            lambda run: run.went_on and run.hazards and
            ("the job's own",) not in run.each("taken_for")}),
    Case("copied-inside", declared(STATE), {
        "what the replay itself puts where its forward has read: a warning":
            lambda run: run.assumes("what its forward found", None, "step_state")}),
    Case("loaded-inside", declared(STATE), {
        "... and where a call of the same kind puts another value, a stale-read":
            lambda run: run.stopped and run.first_is(hazard="stale-read", writer="fill")}),
]


def landed(run):
    """The calls of replays that have copied over what the host had put there."""
    return {hazard["reader"] for hazard in run.hazards
            if hazard.get("taken_for") == "an output on the host"}


def says_how_many(_):
    told = subprocess.run([REPRISE, "check", "guarded"], capture_output=True, text=True).stdout
    return re.search(r"bytes    [\d.]+ [KM]?i?B of the host's\n", told)


def unseen(run):
    """The calls that copied what can't be compared."""
    return {call["call"] for call in run.summary["unknown"] if call.get("unseen")}


def landing(name, pair):
    """What a replay copies to the host once more, and what the host had made of it by then."""
    return [
        *[Case(name, contract_of({"buffers": [STATE], "pair": pair}, state), {
            f"{state}, {layer}: bytes of the host's that a replay overwrites are a warning":
                lambda run: run.went_on and landed(run) == {"cuMemcpyDtoH_v2"},
            f"{state}, {layer}: ... which says how many": says_how_many}, layer=layer)
          for state, layer in (("declared", "guard"), ("discovered", "guard"),
                               ("declared", "check"))],
        Case(name, declared(STATE, TALLY, pair=pair), {
            "declared, they stand again, and there is no warning":
                lambda run: run.right and not landed(run)}),
    ]


LANDINGS = [
    *landing("counted-on-host", "lifo"), *landing("landed-again", "lifo"),
    *landing("landing-shared", "key"),
    *[Case(name, declared(STATE), {
        "a copy that can't be compared is named in the run's last lines":
            lambda run, call=call: unseen(run) == {call} and call in run.said})
      for name, call in (("counted-by-rows", "cuMemcpy2D_v2"),
                         ("counted-aside", "cuMemcpyDtoHAsync_v2"))],
    *[Case("read-out", contract_of({"buffers": [STATE]}, state), {
        f"{state}: nobody has touched it: right, and nothing to say":
            lambda run: run.right and not landed(run) and not run.unknown})
      for state in ("declared", "discovered")],
]

REMARKS = [
    Case("refilled-aside", discovered(), {
        "what is put where two have read, and is not known, is a warning":
            lambda run: run.went_on and run.right and
            ("the one in order", "step_state", "cuMemcpyHtoDAsync_v2") in
            run.each("taken_for", "reader", "writer")}),
    *[Case(name, declared(STATE, kernel("activation", "append", 0)), {
        "declared, though the replay has its output there: a warning":
            lambda run: run.assumes("state", "activation", "gradient")})
      for name in ("in-place", "in-place-from-host", "in-place-by-rows", "in-place-in-a-batch",
                   "in-place-from-managed", "in-place-by-kernel", "in-place-by-set")],
    Case("state-brought", declared(STATE), {
        "what the job brings over state is remarked, and right":
            lambda run: run.right and not run.counting and
            "its replay was given what the forward found" in
            run.unknown.get("cuMemcpyHtoD_v2", "")}),
    Case("accumulator", declared(STATE), {
        "of state that nobody brings there is nothing to remark":
            lambda run: not run.unknown}),
    Case("fifo", declared(STATE), {
        "refused under lifo: the line says where the output lies, and what helps":
            lambda run: "made where another forward that waits had its output" in run.said and
            '"pair"; "key" names each forward' in run.said}),
    Case("whose-replay", declared(STATE), {
        "that the order alone has told is a warning, before it is a guess":
            lambda run: [(hazard["hazard"], hazard.get("taken_for")) for hazard in run.hazards] ==
            [("unpaired", None), ("assumed", "the one in order")]}),
    *[Case("unsteady", discovered(policy), {
        f"{policy}: a kernel that need not do the same twice is told where it is run":
            lambda run, expected=expected: run.went_on and expected ==
            {hazard["reader"] for hazard in run.hazards if hazard.get("taken_for") == "the same"}})
      for policy, expected in (("regions", {"draw_by_clock"}), ("retain", set()))],
    Case("stepped-aside", discovered(), {
        "what a replay alone steps is remarked":
            lambda run: run.went_on and
            "a replay makes it and its forward did not" in run.unknown.get("advance", "")}),
]

LIMITS = [
    Case("captured", declared(STATE), {
        "a check says that calls of the segment were captured":
            lambda run: [hazard["hazard"] for hazard in run.counting] == ["unproved"] and
            "captured into a graph" in run.first["advice"]}, mode="eager", layer="check"),
    Case("graph-counter", by_launches(declared(GENERATOR), "s", first="draw", last="advance"), {
        "the line says that the segment begins inside a graph, and which it is":
            lambda run: run.stopped and "segment s, at draw" in run.said and
            "begins or ends inside a graph" in run.said}),
    Case("empty-forward", declared(STATE), {
        "the line says that the forward made no call":
            lambda run: "its forward made no call on this thread" in run.said}),
    Case("context-each-time", declared(STATE), {
        "the line says that there were too many contexts, and what helps":
            lambda run: "in a context past the 64th" in run.said and
            "let contexts stay" in run.said}),
    *[Case(name, declared(STATE), {
        "the line says that a context was destroyed, and what helps":
            lambda run, when=when: "a context was destroyed" in run.said and when in run.said and
            "destroy contexts before a forward or after its replay" in run.said})
      for name, when in (("context-gone-in-forward", "while the segment ran"),
                         ("context-gone-in-replay", "while the segment ran"),
                         ("context-gone-between", "and what is kept goes along"))],
    *[Case(name, contract_of(REFUSED[name], "declared"), {
        f"the line says of the host function that it {told}":
            lambda run, told=told: told in run.said})
      for name, told in (("stepped-late-by-graph", "still waits there"),
                         ("errand-gone-inside", "has perhaps run in its midst"))],
    Case("never-replayed", declared(STATE), {
        "ten thousand forwards, and what is held stays within bounds":
            lambda run: run.went_on and run.segment.get("unreplayed") == 10000 and
            0 < run.summary["bytes_held_peak"] < 600 * 4096}, mode="eager"),
    Case("host-generator", by_launches(declared(HOST), "s", first="f", last="g"), {
        "refused before the job starts where segments are found by launches":
            lambda run: run.code == 2 and "found by its launches" in run.said and
            not run.stdout}),
    Case("host-generator", declared(HOST | {"at": {"host_symbol": "no_such_variable"}}), {
        "a variable that is nowhere is a hazard, not unprotected":
            lambda run: run.stopped and run.first_is(hazard="unproved")}),
]


def suite():
    hold(STOPS)
    proposals()
    for cases in (HAZARDS, EDGES, LANDINGS, REMARKS, LIMITS):
        hold(cases)
