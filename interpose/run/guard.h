/* SPDX-License-Identifier: Apache-2.0 */
/* Guard: turns replays into transactions over what is kept for them. In check it does nothing
 * but look. All functions want the core's lock. */
#ifndef RP_INTERPOSE_GUARD_H
#define RP_INTERPOSE_GUARD_H

#include "interpose/run/segment.h"

/* A replay's call is about to go out: begins the transaction with the first one, lets each
 * further stream join, and stashes the state that the call will write. */
void rp_guard_replay(struct rp_scope *scope, const struct rp_footprint *call);

/* A call that belongs to no replay is about to meet open transactions; and has met those of its own
 * thread, which the driver has not rejected. */
void rp_guard_outside(struct rp_footprint *call);
void rp_guard_outside_ran(struct rp_footprint *call);

/* `stream` is about to be destroyed, and was retired: transactions go on elsewhere, in `heir` where
 * their replays have no other stream. */
void rp_guard_stream_ends(rp_stream stream, rp_stream heir);
/* The copies of all go, with a context: what would have to be reinstated is reported. */
void rp_guard_abandon(void);
/* The replay is over: reinstates. */
void rp_guard_end(struct rp_scope *scope);

#endif
