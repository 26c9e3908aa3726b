/* SPDX-License-Identifier: Apache-2.0 */
/* Costs: what each part of a step takes, in time on the device and in its memory.
 *
 * A step is divided without gaps, by marks in the job's own streams (cuda/timeline.h):
 *
 *     forward k    from the first call of segment k's forward to that of the next segment's, or
 *                  of the first replay. What comes before the first forward counts for it.
 *     replay k     the calls of the replay
 *     backward k   from the replay's end to the next replay, or to the step's end, and calls
 *                  between those of the replay that are no part of it
 *     copies       of the layer's own, by what they are for, whosever calls they stand between
 *
 * Nothing here waits for the device: a step's times are collected when they have come. A step
 * is not measured where times would mislead, and says why (a departure): streams side by side,
 * captures, replays in another order than the reverse.
 *
 * Where all copies of a step have one size, what of their time is by the piece and what by the byte
 * can't be told. After two such steps the next one that is measured by part preserves by two copies
 * instead of one (rp_bench.in_halves): what they take longer is by the piece.
 *
 * Where the pieces are so small that their bytes take next to nothing, copies after the step tell
 * what they would take (trial.h).
 *
 * Marks take time where the host is the bottleneck. In guard some of the steps that are measured by
 * part have none within, and tell what a step takes without them (marks.h).
 *
 * All functions want the core's lock. Without steps in the contract there is nothing to
 * measure, and nothing is done. */
#ifndef RP_INTERPOSE_COST_H
#define RP_INTERPOSE_COST_H

#include "interpose/plan/step_cost.h"
#include "interpose/run/execution.h"

/* A step begins or ends; an end without a beginning is nothing. */
void rp_cost_step_begins(void);
void rp_cost_step_ends(void);
/* The segment at `place` is in this phase now. */
void rp_cost_phase(enum rp_phase phase, uint32_t place);
/* A call is about to go out, after all that the layer has put before it; `repeats`, if it is one
 * of the replay that it stands in. */
void rp_cost_call(rp_stream stream, bool repeats);
/* The job's memory has changed. */
void rp_cost_memory(void);
/* rp_bench.meter. */
void rp_cost_meter(uint32_t place, enum rp_copying what, uint64_t bytes, rp_stream stream);

/* True while this step is measured part by part. */
bool rp_cost_by_part(void);
/* This step is not what a plan can be made from. `reason` lives for ever; the first one stays. */
void rp_cost_depart(const char *reason);
/* The part of this step at `place`; NULL when the step is not measured. */
struct rp_part *rp_cost_part(uint32_t place);
/* A copy that the segment at `place` is to hold until its replay is made now; early, if its
 * forward is not over. */
void rp_cost_keep(struct rp_keeping *keeping, uint32_t place, bool early, uint64_t bytes);
/* Bytes of state were preserved for the execution, for somebody is about to write them. */
void rp_cost_kept(const struct rp_execution *execution, rp_alloc_id id, uint64_t lo, uint64_t hi);
/* Its replay has put these bytes aside, to write them or what was kept of them. */
void rp_cost_stashed(const struct rp_execution *execution, rp_alloc_id id, uint64_t lo,
                     uint64_t hi);
/* The forward of the segment at `place` is over. */
void rp_cost_forward_ends(uint32_t place);
/* The replay of `execution` is about to begin: whether the order is one that can be planned. */
void rp_cost_replay(const struct rp_execution *execution);

/* Takes in the times that have come; of the step that ended last only with `all`, for when
 * nothing is to come. To be told that it is over, as early as that, is to learn where the device
 * is, and on a model clock a host that has run ahead waits for that moment: whether it did would
 * be a matter of luck, and of the step's time. */
void rp_cost_collect(bool all);
/* Forgets the parts (ledger.h): from the next step on, steps are measured by part again. */
void rp_cost_restart(void);
/* The most bytes of job and layer together, in any step. */
uint64_t rp_cost_peak(void);
/* After a fork. */
void rp_cost_forget(void);
/* The contexts of the events are gone. */
void rp_cost_lost(void);

#endif
