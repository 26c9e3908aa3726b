/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of which nobody can tell what should stand there.
 *
 * A forward has made them without reading them, somebody has carried on from their value, and the
 * replay makes them anew. If they are an output, the replay's value is right; if they are state,
 * the other one is. Discovery cannot tell, and as long as nobody reads them it does not matter:
 * most are written over, or freed, unread. Who reads them is reported.
 *
 * The other way round, a forward has gone on from a value, somebody has put that same value there
 * once more, and the replay has gone on from it too. If the bytes are an output, zeroed before it
 * is added to, that is what should stand; if they are state, the value put there is.
 *
 * Where less speaks for the other, one is taken for right and said so: what others have simply
 * overwritten is an output whose memory was used again, and what the forward has read is state. A
 * reader gets a warning where what stood there before had never been read, or by the same kernel;
 * for the others there is a remark. What is declared is state, and no doubt about it.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_UNDECIDED_H
#define RP_INTERPOSE_UNDECIDED_H

#include "interpose/run/segment.h"

/* `call`, of a replay of `execution`, repeats one of the forward and is about to make anew what it
 * writes. */
void rp_undecided_remake(const struct rp_execution *execution, const struct rp_footprint *call);
/* The replay of `execution`, whose latest call was `replayed`, is over: [lo, hi) of `id` is about
 * to be reinstated, at the versions of `live`. */
void rp_undecided_reinstate(const struct rp_execution *execution, uint32_t replayed,
                            const struct rp_versions *live, rp_alloc_id id, uint64_t lo,
                            uint64_t hi);
/* The same of what `call`, of a replay that is served, leaves as it is, for it is state. */
void rp_undecided_leave(const struct rp_execution *execution, const struct rp_footprint *call,
                        rp_alloc_id id, uint64_t lo, uint64_t hi);
/* A call that repeats none of a forward is about to go out: what it certainly writes is decided,
 * what it reads is reported. */
void rp_undecided_meet(const struct rp_footprint *call);
/* The allocation is gone. */
void rp_undecided_forget(rp_alloc_id id);
/* After a fork. */
void rp_undecided_forget_all(void);

#endif
