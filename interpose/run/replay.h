/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a replay, held against the log of its forward.
 *
 * A replay may leave calls out, at its end (it stops early) or in the middle (a one-off
 * initialisation), and make them in another order: it is right as long as every call reads
 * what its twin in the forward read, byte for byte, which is told by versions. It may also
 * make calls that the forward did not have, which are taken for the job's own live work.
 * Both together, calls left out and others made, are a replay of something else. All functions
 * want the core's lock. */
#ifndef RP_INTERPOSE_REPLAY_H
#define RP_INTERPOSE_REPLAY_H

#include "interpose/run/segment.h"

/* The first call that the forward had too settles which forward it was. */
void rp_replay_settle(struct rp_scope *scope, const struct rp_footprint *call);
/* A call inside the replay's range is about to go out. Sets call->replay, entry and repeats; if
 * it repeats one of the forward, it is rewound for and checked, and gets its version. */
void rp_replay_before(struct rp_scope *scope, struct rp_footprint *call);
/* It went out. What a call that the forward did not have writes from nothing but history is
 * taken for history too: a value that the forward found ready, made once more. */
void rp_replay_after(struct rp_scope *scope, const struct rp_footprint *call);

/* It went out in a replay that this one is a part of, and was checked there. */
void rp_replay_echo(struct rp_scope *scope, const struct rp_footprint *call);

/* The range is over: what it left out is reported, or remarked where it is harmless. */
void rp_replay_close(struct rp_scope *scope);

/* Where it has left out the end, that begins with this call. */
struct rp_left_out rp_replay_left_out(const struct rp_scope *scope);
/* `call` is the next one of a thread whose latest replay left that out: where it is that very call,
 * and steps something, the marks may be wrong. */
void rp_replay_beyond(struct rp_thread *thread, const struct rp_footprint *call);

#endif
