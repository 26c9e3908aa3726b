/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping: what a write is about to destroy, and a replay will have to see again, is copied
 * before. Only a guard keeps; in check nothing of this does anything. All functions want the
 * core's lock. */
#ifndef RP_INTERPOSE_KEEP_H
#define RP_INTERPOSE_KEEP_H

#include "interpose/run/execution.h"

/* True when the contract leaves it to discovery what is state, or the layer itself replays. */
bool rp_keep_discovers(void);
/* True when what the forward makes of the allocation for itself, and reads, is kept for a replay
 * that finds it ready: all that a first run makes, or else declared state. */
bool rp_keep_recalls(const struct rp_execution *execution, rp_alloc_id id);
/* state = the bytes of [lo, hi) that must stand again after a replay of `execution`:
 * declared ranges, or with `discovered` its live-in. */
enum rp_status rp_keep_state(const struct rp_execution *execution, rp_alloc_id id, uint64_t lo,
                             uint64_t hi, struct rp_spans *state);
/* wanted = what of the exposed stretches the contract wants kept: state, by regions or whole. */
enum rp_status rp_keep_wanted(const struct rp_execution *execution, rp_alloc_id id,
                              const struct rp_spans *exposed, struct rp_spans *wanted);

/* True when the bytes are written by an earlier node of the graph launch that is looked at: a
 * copy before the launch would not see them. */
bool rp_keep_is_yet_to_come(rp_alloc_id id, uint64_t lo, uint64_t hi);

/* False for an execution that nobody will replay rightly any more, or that has had its
 * replays. */
bool rp_keep_protects(const struct rp_execution *execution);

/* `call` writes: keeps what it would clobber of every execution that is protected, but
 * `replayed` (may be NULL), the one whose replay it belongs to. */
void rp_keep_clobber(const struct rp_footprint *call, const struct rp_execution *replayed);
/* The same of one execution and one stretch. */
void rp_keep_bytes(struct rp_execution *execution, const struct rp_footprint *call,
                   const struct rp_reach *reach);
/* `call` may write what others may write beside it: what was copied of that in other streams is
 * copied before, or else the call is early. */
void rp_keep_let_copy(struct rp_footprint *call);
/* The job is short of memory, in a run that is planned or is to be: moves what is kept of one
 * execution, or stashed in one transaction, to the host. False when there is none. */
bool rp_keep_evict(void);
/* Policy whole: the forward touches state for the first time; its buffers are kept whole. */
void rp_keep_touch(struct rp_execution *execution, const struct rp_footprint *call);

#endif
