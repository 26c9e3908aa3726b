# SPDX-License-Identifier: Apache-2.0
"""The scenarios of the laws: which there are, and what is true of each."""


def kernel(name, kernel_name, param, **more):
    return {"name": name, "at": {"kernel": kernel_name, "param": param}, **more}


STATE = kernel("state", "step_state", 0)
GENERATOR = kernel("generator", "advance", 0)
COUNTERS = kernel("counters", "count", 0)
QUEUE = {"name": "queue", "at": {"allocation": {"bytes": 8 * 1000 * 4}}}
NOWHERE = kernel("state", "step_state", 9)
MAPPINGS = {"name": "queue", "at": {"allocation": {"bytes": 2 << 20}}}
TABLES = kernel("tables", "read_queue", 0)
SLAB = {"name": "slab", "at": {"allocation": {"bytes": 4000, "nth": 3}}}
CROWD = kernel("crowd", "read_queue", 0)
HISTORY = kernel("history", "roll", 0)
PUT = kernel("put", "read_queue", 2)
OWN = kernel("own", "step_state", 0)
JOURNAL = kernel("journal", "append", 0)
STATE_READ = kernel("state", "read_queue", 0)
PATCHED = kernel("state", "patch", 0)
INPUT = kernel("input", "step_state", 1)
NONE = kernel("gradients", "gradient", 1)
HOST = {"name": "host", "at": {"host_symbol": "host_generator"}}
LATE = {"name": "late", "at": {"host_symbol": "stepped_late"}}
TALLY = {"name": "tally", "at": {"host_symbol": "landing_tally"}}

# name: declared buffers, whether discovery can do it, pairing, what a check must name, and that
# kept outputs do not serve it
SCENARIOS = {
    "accumulator": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "generator": dict(buffers=[GENERATOR], discover=True, finds={("stale-read", "generator")}),
    "graph-counter": dict(buffers=[GENERATOR], discover=True,
                          finds={("stale-read", "generator")}),
    "queue": dict(buffers=[QUEUE], discover=True, finds={("stale-read", "queue")}),
    "queue-by-index": dict(buffers=[QUEUE], discover=True, finds={("stale-read", "queue")}),
    "counters": dict(buffers=[COUNTERS, STATE], discover=True, finds={("state-left", "counters")}),
    "scattered": dict(buffers=[kernel("state", "sprinkle", 0)], discover=True,
                      finds={("stale-read", "state")}),
    "padded": dict(buffers=[{"name": "state", "at": {"kernel": "step_padded", "param": 0,
                                                     "field": 8}}],
                   discover=True, finds={("stale-read", "state")}),
    "patch": dict(buffers=[PATCHED], finds={("stale-read", "state")}),
    "live-write": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "side-stream": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "alias": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "wide-names": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "engine-thread": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "lifo": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "fifo": dict(buffers=[STATE], discover=True, pair="fifo", finds={("stale-read", "state")}),
    "key": dict(buffers=[STATE], discover=True, pair="key", finds={("stale-read", "state")}),
    "fresh-activations": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "fork": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "reader-after": dict(buffers=[QUEUE], discover=True, finds={("stale-read", "queue")}),
    "two-streams": dict(buffers=[QUEUE], discover=True, pair="key",
                        finds={("stale-read", "queue")}),
    "adjacent-mappings": dict(buffers=[MAPPINGS], discover=True,
                              finds={("stale-read", "queue[1]")}),
    "whole-side-stream": dict(buffers=[STATE], finds={("stale-read", "state")}),
    "expired-instance": dict(buffers=[TABLES], discover=True, finds={("stale-read", "tables[1]")}),
    "second-context": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "file-module": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "write-only-state": dict(buffers=[STATE], finds={("state-left", "state")}),
    "pure": dict(buffers=[QUEUE], discover=True, control=True, finds=set()),
    "replayed-twice": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "clobbered-later": dict(buffers=[QUEUE], discover=True, replays=2,
                            finds={("stale-read", "queue")}),
    "told-by-buffers": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "nested": dict(buffers=[STATE], discover=True, pair="key", finds={("stale-read", "state")}),
    "pinned-slab": dict(buffers=[SLAB], discover=True, finds={("stale-read", "slab")}),
    "host-function": dict(buffers=[SLAB], finds={("stale-read", "slab")}),
    "recycled-address": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "live-write-aside": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "live-write-late": dict(buffers=[STATE], discover=True, races=True,
                            finds={("stale-read", "state")}),
    "domains": dict(buffers=[STATE], discover=True, finds={("stale-read", "state"),
                                                           ("state-left", "state")}),
    "nested-replays": dict(buffers=[STATE], discover=True, pair="key",
                           finds={("stale-read", "state")}),
    "graph-mixed": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "chain": dict(buffers=[STATE], discover=True, pair="key", finds={("stale-read", "state")}),
    "crowd": dict(buffers=[CROWD], discover=True, pair="key", finds={("stale-read", "crowd[99]")}),
    "stopped-early": dict(buffers=[QUEUE], discover=True, finds={("stale-read", "queue")}),
    "first-run": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "lazy-state": dict(buffers=[STATE], discover=True, finds={("foreign-read", "state")}),
    "never-written": dict(buffers=[STATE], discover=True, finds={("stale-read", "state[2]")}),
    "reordered": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "cache-missed": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "rolled": dict(buffers=[HISTORY], discover=True, finds={("stale-read", "history")}),
    "loaded": dict(buffers=[TABLES], discover=True, finds={("stale-read", "tables")}),
    "recycled-output": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "moved": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "moved-in-pieces": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "moved-through-host": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "moved-alike": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "moved-beside": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "brought-back": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "pool-recycled": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "pool-inside": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "state-brought": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "in-place": dict(buffers=[STATE], finds={("stale-read", "state")}),
    "in-place-from-host": dict(buffers=[STATE], finds={("stale-read", "state")}),
    "without-last": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "only-last-of-own": dict(buffers=[OWN], discover=True, serves=False,
                             finds={("stale-read", "own[2]")}),
    "only-last-by-seed": dict(buffers=[OWN], discover=True, finds={("stale-read", "own[2]")}),
    "turned-outputs": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "read-back": dict(buffers=[kernel("state", "step_through", 0)], discover=True,
                      finds={("stale-read", "state")}),
    "captured-meanwhile": dict(buffers=[STATE_READ], discover=True,
                               finds={("stale-read", "state")}),
    "interleaved": dict(buffers=[PATCHED], discover=True, finds={("stale-read", "state")}),
    "interleaved-before": dict(buffers=[PATCHED], discover=True, finds={("stale-read", "state")}),
    "interleaved-inside": dict(buffers=[PATCHED], discover=True, finds={("stale-read", "state")}),
    "interleaved-over-output": dict(buffers=[STATE], discover=True,
                                    finds={("stale-read", "state")}),
    "prefetched": dict(buffers=[STATE], discover=True, races=True,
                       finds={("stale-read", "state")}),
    "prefetched-late": dict(buffers=[NONE], discover=True, races=True, finds=set()),
    "given-back": dict(buffers=[NONE], discover=True, races=True, finds=set()),
    "given-back-by-graph": dict(buffers=[NONE], discover=True, races=True, finds=set()),
    "scratch-used-late": dict(buffers=[NONE], discover=True, races=True, finds=set()),
    "scratch-used-early": dict(buffers=[NONE], discover=True, races=True, finds=set()),
    "stream-left": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "streams-left": dict(buffers=[STATE, JOURNAL], discover=True,
                         finds={("stale-read", "state")}),
    "context-left": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "reset-beside": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "thread-left": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "read-before-put": dict(buffers=[STATE, PUT], races=True, finds={("stale-read", "state")}),
    "replayed-elsewhere": dict(buffers=[NONE], discover=True, races=True, finds=set()),
    "copied-elsewhere": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "loaded-inside": dict(buffers=[STATE, INPUT], discover=True, finds={("stale-read", "state")}),
    "copied-inside": dict(buffers=[STATE, INPUT], discover=True, finds={("stale-read", "state")}),
    "neighbours": dict(buffers=[QUEUE], finds={("stale-read", "queue")}, touches=True),
    "reset-inside": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "early": dict(buffers=[STATE], discover=True, finds={("stale-read", "state")}),
    "stepped-behind": dict(buffers=[STATE, LATE], finds={("stale-read", "state")}),
    "errands": dict(buffers=[STATE, LATE], finds={("stale-read", "state"), ("stale-read", "late"),
                                                  ("state-left", "late")}),
    "errand-left": dict(buffers=[STATE, LATE], finds={("stale-read", "state"),
                                                      ("stale-read", "late")}),
    "errands-gone": dict(buffers=[STATE, LATE], finds={("stale-read", "state"),
                                                       ("stale-read", "late")}),
    "host-generator": dict(buffers=[HOST], finds={("stale-read", "host"), ("state-left", "host")}),
}
# Jobs that no layer can put right, or that discovery cannot prove: reported, and stopped.
# name: declared buffers (or else discovered), pairing, and the one kind of hazard
REFUSED = {
    "unpaired": dict(buffers=[STATE], kind="unpaired"),
    "other-kernel": dict(buffers=[STATE], kind="diverged"),
    "drifting-seed": dict(buffers=[STATE], kind="diverged"),
    "graph-seed": dict(buffers=[STATE], kind="diverged"),
    "host-data": dict(buffers=[STATE], kind="diverged"),
    "host-data-anyhow": dict(buffers=[STATE], kind="diverged"),
    "host-rows-anyhow": dict(buffers=[STATE], kind="diverged"),
    "output-in-pool": dict(kind="unproved"),
    "write-only-state": dict(kind="unproved"),
    "crossed-replays": dict(pair="key", kind="live-read"),
    "clobbered-later": dict(kind="stale-read"),
    "whose-replay": dict(buffers=[STATE], kind="unpaired"),
    "missed-call": dict(buffers=[STATE], kind="foreign-read"),
    "host-slab": dict(kind="diverged"),
    "context-gone-in-forward": dict(buffers=[STATE], discover=True, kind="not-preserved"),
    "context-each-time": dict(buffers=[STATE], kind="unproved"),
    "context-gone-in-replay": dict(buffers=[STATE], discover=True, kind="state-left"),
    "context-gone-between": dict(buffers=[STATE], discover=True, kind="unpaired"),
    "stepped-late": dict(buffers=[STATE, LATE], kind="unproved"),
    "stepped-inside": dict(buffers=[STATE, LATE], kind="unproved"),
    "stepped-late-by-graph": dict(buffers=[STATE, LATE], kind="unproved"),
    "errand-gone-inside": dict(buffers=[LATE], kind="unproved"),
    "written-between": dict(buffers=[TABLES], discover=True, kind="diverged"),
    "stepped-between": dict(buffers=[STATE], discover=True, kind="diverged"),
    "forward-ends-early": dict(buffers=[GENERATOR], discover=True, kind="live-read"),
    "empty-replay": dict(buffers=[STATE], kind="diverged"),
    "touched-output": dict(buffers=[STATE], kind="diverged"),
    "counted-output": dict(kind="unproved"),
    "zeroed-output": dict(kind="unproved"),
    "captured": dict(buffers=[STATE], kind="unproved"),
    "reset-in-graph": dict(buffers=[STATE], discover=True, kind="not-preserved"),
    "captured-copy": dict(kind="unproved"),
    "empty-forward": dict(buffers=[STATE], kind="diverged"),
    "slots": dict(kind="unpaired"),
    "host-slots": dict(kind="unpaired"),
    "refilled": dict(kind="unpaired"),
    "host-refilled": dict(kind="unpaired"),
    "refilled-alike": dict(kind="unpaired"),
    "evaluated": dict(kind="unpaired"),
    "fifo": dict(buffers=[STATE], kind="unpaired"),
    "tampered": dict(buffers=[STATE], kind="foreign-read"),
    "tampered-on-host": dict(buffers=[STATE], kind="foreign-read"),
    "tampered-on-its-way": dict(buffers=[STATE], kind="foreign-read"),
    "overtaken": dict(buffers=[STATE], kind="foreign-read"),
    "passed-aside": dict(buffers=[STATE], kind="foreign-read"),
    "copied-too-early": dict(buffers=[STATE], kind="foreign-read"),
    "copied-after-graphs-event": dict(buffers=[STATE], kind="foreign-read"),
    "copied-after-launchs-event": dict(buffers=[STATE], kind="foreign-read"),
    "copied-after-shared-event": dict(buffers=[STATE], kind="foreign-read"),
    "copied-after-contexts-event": dict(buffers=[STATE], kind="foreign-read"),
    "shifted": dict(buffers=[STATE], kind="foreign-read"),
    "pool-unwritten": dict(buffers=[STATE], kind="foreign-read"),
    "in-place": dict(kind="unproved"),
    "in-place-from-host": dict(kind="unproved"),
}

# Which of its forward's calls such a replay leaves out, nothing tells, whatever is declared.
FEWER = ["only-last", "without-second", "without-first"]
STEPPED = {"dense": STATE, "generator": GENERATOR, "history": HISTORY, "queue": QUEUE,
           "copies": JOURNAL}
REFUSED |= {f"{fewer}-of-{kind}": dict(buffers=[buffer], discover=True, kind="diverged")
            for fewer in FEWER for kind, buffer in STEPPED.items()}
REFUSED["only-one-of-alike"] = dict(buffers=[STATE], discover=True, kind="diverged")

# Those with several streams or threads run under several schedules too.
RACES = ["prefetched", "prefetched-late", "given-back", "given-back-by-graph", "scratch-used-late",
         "scratch-used-early", "replayed-elsewhere"]
ASIDE = ["read-before-put"]
SCHEDULED = RACES + ASIDE + ["side-stream", "two-streams", "whole-side-stream",
                             "expired-instance", "pinned-slab", "live-write-aside",
                             "live-write-late", "recycled-address", "interleaved",
                             "interleaved-before", "interleaved-inside"]
