/* SPDX-License-Identifier: Apache-2.0 */
/* Guard: keeps what writes would clobber, and turns replays into transactions. In check it
 * does nothing but look. All functions want the core's lock. */
#ifndef RP_INTERPOSE_GUARD_H
#define RP_INTERPOSE_GUARD_H

#include "interpose/segment.h"

/* True when the contract leaves it to discovery what is state. */
bool rp_guard_discovers(void);

/* `call` writes: keeps what it would clobber of every execution that is not served, but
 * `replayed` (may be NULL), the one whose replay it belongs to. */
void rp_guard_clobber(const struct rp_footprint *call, const struct rp_execution *replayed);

/* Policy whole: the forward touches state for the first time; its buffers are kept whole. */
void rp_guard_touch(struct rp_execution *execution, const struct rp_footprint *call);

/* A replay's call is about to go out: begins the transaction with the first one, lets each
 * further stream join, and stashes the state that the call will write. */
void rp_guard_replay(struct rp_scope *scope, const struct rp_footprint *call);

/* A call that belongs to no replay meets open transactions. */
void rp_guard_outside(struct rp_footprint *call);

/* The replay is over: reinstates. */
void rp_guard_end(struct rp_scope *scope);

/* state = the bytes of [lo, hi) that must stand again after a replay of `execution`:
 * declared ranges, or with `discovered` its live-in. */
enum rp_status rp_guard_state(const struct rp_execution *execution, rp_alloc_id id, uint64_t lo,
                              uint64_t hi, struct rp_spans *state);

#endif
