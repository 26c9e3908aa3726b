/* SPDX-License-Identifier: Apache-2.0 */
/* The law scenarios: small jobs that retain their activations (eager) or replay for them
 * (replay), and print a digest of every byte that a run leaves behind.
 *
 * They know nothing of reprise. An eager run and a guarded replaying run of one scenario must
 * print the same line; a bare replaying run prints another, or there was no hazard. A scenario
 * is a function scenario_NAME, a row below, and a row in laws.py. Scenarios start on one thread,
 * once a process. */
#ifndef RP_TESTS_LAWS_SCENARIO_H
#define RP_TESTS_LAWS_SCENARIO_H

#include "tests/laws/driver.h"

#include <nvtx3/nvToolsExt.h>

#include <stdbool.h>
#include <stdint.h>

/* X(name in the command line, function's name) */
#define SCENARIOS(X)                                                                              \
    X("accumulator", accumulator) X("generator", generator) X("queue", queue)                     \
    X("queue-by-index", queue_by_index) X("counters", counters) X("patch", patch)                 \
    X("scattered", scattered) X("padded", padded)                                                 \
    X("live-write", live_write) X("fresh-activations", fresh_activations) X("pure", pure)         \
    X("write-only-state", write_only_state) X("never-written", never_written) X("alias", alias)   \
    X("fork", fork) X("adjacent-mappings", adjacent_mappings)                                     \
    X("second-context", second_context) X("file-module", file_module)                             \
    X("output-in-pool", output_in_pool) X("lifo", lifo) X("fifo", fifo) X("key", key)             \
    X("unpaired", unpaired) X("expired-instance", expired_instance)                               \
    X("replayed-twice", replayed_twice) X("clobbered-later", clobbered_later)                     \
    X("whose-replay", whose_replay) X("told-by-buffers", told_by_buffers) X("nested", nested)     \
    X("pinned-slab", pinned_slab) X("host-function", host_function)                               \
    X("recycled-address", recycled_address) X("live-write-aside", live_write_aside)               \
    X("live-write-late", live_write_late)                                                        \
    X("nested-replays", nested_replays) X("domains", domains)                                     \
    X("crowd", crowd) X("never-replayed", never_replayed) X("side-stream", side_stream)           \
    X("reader-after", reader_after) X("two-streams", two_streams)                                 \
    X("whole-side-stream", whole_side_stream) X("crossed-replays", crossed_replays)               \
    X("diverging", diverging) X("other-kernel", other_kernel) X("drifting-seed", drifting_seed)   \
    X("host-data", host_data) X("host-data-anyhow", host_data_anyhow)                             \
    X("host-rows-anyhow", host_rows_anyhow) X("stopped-early", stopped_early)                     \
    X("first-run", first_run) X("lazy-state", lazy_state) X("missed-call", missed_call)           \
    X("empty-replay", empty_replay)                                                               \
    X("reordered", reordered) X("cache-missed", cache_missed)                                     \
    X("touched-output", touched_output) X("host-generator", host_generator)                       \
    X("counted-output", counted_output) X("rolled", rolled) X("zeroed-output", zeroed_output)     \
    X("host-slab", host_slab) X("loaded", loaded) X("captured", captured)                         \
    X("captured-copy", captured_copy) X("empty-forward", empty_forward)                           \
    X("engine-thread", engine_thread) X("next-batch", next_batch)                                 \
    X("unfinished", unfinished) X("wide-names", wide_names)                                       \
    X("other-thread", other_thread) X("slots", slots) X("host-slots", host_slots)                 \
    X("refilled", refilled) X("host-refilled", host_refilled) X("evaluated", evaluated)           \
    X("refilled-alike", refilled_alike) X("moved-alike", moved_alike)                             \
    X("refilled-aside", refilled_aside)                                                           \
    X("stepped-aside", stepped_aside) X("recycled-output", recycled_output)                       \
    X("moved", moved) X("moved-in-pieces", moved_in_pieces)                                       \
    X("moved-through-host", moved_through_host) X("brought-back", brought_back)                   \
    X("tampered", tampered) X("tampered-on-host", tampered_on_host) X("shifted", shifted)         \
    X("in-place", in_place) X("in-place-from-host", in_place_from_host)                           \
    X("tampered-on-its-way", tampered_on_its_way) X("overtaken", overtaken)                       \
    X("passed-aside", passed_aside) X("copied-too-early", copied_too_early)                       \
    X("copied-after-graphs-event", copied_after_graphs_event)                                    \
    X("copied-after-launchs-event", copied_after_launchs_event)                                  \
    X("copied-after-shared-event", copied_after_shared_event)                                    \
    X("copied-after-contexts-event", copied_after_contexts_event)                                \
    X("moved-beside", moved_beside) X("in-place-by-rows", in_place_by_rows)                       \
    X("in-place-in-a-batch", in_place_in_a_batch)                                                 \
    X("in-place-from-managed", in_place_from_managed)                                             \
    X("in-place-by-kernel", in_place_by_kernel) X("in-place-by-set", in_place_by_set)             \
    X("state-brought", state_brought) X("pool-recycled", pool_recycled)                           \
    X("pool-inside", pool_inside) X("pool-unwritten", pool_unwritten)           \
    X("read-out", read_out) X("counted-on-host", counted_on_host)                                 \
    X("landed-again", landed_again) X("counted-by-rows", counted_by_rows)                         \
    X("counted-aside", counted_aside) X("landing-shared", landing_shared)                         \
    X("read-back", read_back)                                                                    \
    X("captured-meanwhile", captured_meanwhile)                                                   \
    X("interleaved", interleaved) X("interleaved-before", interleaved_before)                     \
    X("interleaved-inside", interleaved_inside)                                                   \
    X("interleaved-over-output", interleaved_over_output)                                         \
    X("unsteady", unsteady) X("graph-counter", graph_counter) X("graph-seed", graph_seed)         \
    X("only-last-of-dense", only_last_of_dense)                                                   \
    X("only-last-of-generator", only_last_of_generator)                                           \
    X("only-last-of-history", only_last_of_history) X("only-last-of-queue", only_last_of_queue)   \
    X("only-last-of-copies", only_last_of_copies)                                                 \
    X("without-second-of-dense", without_second_of_dense)                                         \
    X("without-second-of-generator", without_second_of_generator)                                 \
    X("without-second-of-history", without_second_of_history)                                     \
    X("without-second-of-queue", without_second_of_queue)                                         \
    X("without-second-of-copies", without_second_of_copies)                                       \
    X("without-first-of-dense", without_first_of_dense)                                           \
    X("without-first-of-generator", without_first_of_generator)                                   \
    X("without-first-of-history", without_first_of_history)                                       \
    X("without-first-of-queue", without_first_of_queue)                                           \
    X("without-first-of-copies", without_first_of_copies) X("without-last", without_last)         \
    X("only-last-of-own", only_last_of_own) X("only-last-by-seed", only_last_by_seed)             \
    X("only-one-of-alike", only_one_of_alike) X("turned-outputs", turned_outputs)                 \
    X("chain", chain) X("graph-mixed", graph_mixed) X("reset-in-graph", reset_in_graph)           \
    X("forward-ends-early", forward_ends_early)                                                   \
    X("replay-ends-early", replay_ends_early) X("both-end-early", both_end_early)                 \
    X("prefetched", prefetched) X("prefetched-late", prefetched_late)                             \
    X("scratch-used-late", scratch_used_late) X("scratch-used-early", scratch_used_early)         \
    X("given-back", given_back) X("given-back-by-graph", given_back_by_graph)                     \
    X("stream-left", stream_left) X("streams-left", streams_left)                                \
    X("context-gone-in-forward", context_gone_in_forward)                                         \
    X("context-gone-in-replay", context_gone_in_replay) X("context-each-time", context_each_time) \
    X("context-gone-between", context_gone_between)                                               \
    X("context-left", context_left) X("thread-left", thread_left) X("throng", throng)             \
    X("reset-beside", reset_beside)                                                               \
    X("stepped-late", stepped_late) X("read-before-put", read_before_put)                         \
    X("stepped-inside", stepped_inside) X("stepped-behind", stepped_behind)                       \
    X("errands", errands) X("errand-left", errand_left) X("errands-gone", errands_gone)           \
    X("errand-gone-inside", errand_gone_inside)                                                   \
    X("stepped-late-by-graph", stepped_late_by_graph)                                             \
    X("replayed-elsewhere", replayed_elsewhere) X("loaded-inside", loaded_inside)                 \
    X("copied-inside", copied_inside) X("reset-inside", reset_inside) X("neighbours", neighbours) \
    X("helped", helped) X("copied-elsewhere", copied_elsewhere) X("set-meanwhile", set_meanwhile) \
    X("set-by-graph-meanwhile", set_by_graph_meanwhile) X("early", early)                         \
    X("written-between", written_between) X("stepped-between", stepped_between)

#define DECLARE_SCENARIO(name, function) void scenario_##function(void);
SCENARIOS(DECLARE_SCENARIO)
#undef DECLARE_SCENARIO

#ifndef LAW_STEPS
#define LAW_STEPS 3
#endif
enum { N = 1000, ROWS = 8, STEPS = LAW_STEPS };
#define WORDS(count) ((size_t)(count) * sizeof(uint32_t))

/* ---- a job that every scenario varies -------------------------------------------------- */

extern bool replaying;
extern int n, rows;       /* as kernel arguments: N and ROWS */
extern unsigned draws;    /* so much a draw advances the generator */
extern int queue_row;     /* that the segment fills */
extern CUdeviceptr state_, generator, queue, counters, x, y, g;
extern CUdeviceptr scratch, where; /* for those who need them */

/* Memory whose last content the run prints: fresh, respectively the scenario's own. */
void result(const char *name, CUdeviceptr *memory, size_t bytes);
void watch(const char *name, CUdeviceptr *memory, size_t bytes);
void watch_nothing(void); /* from here on, of what went before */
void begin_job(void); /* g, x and y */
void set_input(int step);
void in_range(const char *name, void (*work)(void));
/* The activation y is dropped, and made again by the forward's own launches. */
void replay(const char *range, void (*forward)(void));
/* Backward reads y. */
void backward(void);
/* Forward, something in between, backward; the activation y is dropped and replayed for, or
 * retained. */
void run_step(int step, void (*forward)(void), void (*between)(void));
void run_steps(void (*forward)(void), void (*between)(void));

/* ---- work that several scenarios do ------------------------------------------------------ */

void step_forward(void); /* reads and steps the state */
void pure_forward(void); /* reads the queue */
void next_row(void);     /* somebody else fills another row of the queue */
void overwrite(void);    /* somebody else fills the state */

void before_driver(void); /* what "early" does before it is opened */

#endif
