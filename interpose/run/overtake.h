/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that may run in another order than they came in.
 *
 * A copy is taken for what its source holds when it is called. That is so where what came before
 * has run before it, and what comes later waits: in the legacy default stream, as far as all other
 * streams wait for that one. Streams that do not (CU_STREAM_NON_BLOCKING) and other contexts' are
 * in turn by events and by waits of the host only. A copy that is not vouches for nothing; where
 * only a later write tells, it vouches no more from then on.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_OVERTAKE_H
#define RP_INTERPOSE_OVERTAKE_H

#include "interpose/run/footprint.h"

/* All streams there are wait for the legacy default stream of the one context, and it for them. */
bool rp_overtake_is_plain(void);
/* The call is about to go out. */
void rp_overtake_meet(struct rp_footprint *call);
/* The allocation is gone. */
void rp_overtake_forget(rp_alloc_id id);
/* After a fork. */
void rp_overtake_forget_all(void);

/* What the job's own calls say of order, by rp_stream and event handle. `seq` is the latest call's
 * before this one. */
void rp_overtake_opened(rp_stream stream, bool waits);
void rp_overtake_recorded(uint64_t event, rp_stream stream, uint64_t seq);
/* Other processes may record it: what this one does says little of it. */
void rp_overtake_event_shared(uint64_t event);
/* It was recorded by what is not followed. */
void rp_overtake_event_gone(uint64_t event);
void rp_overtake_event_destroyed(uint64_t event);
void rp_overtake_events_gone(void); /* nobody knows which */
void rp_overtake_waits(rp_stream stream, uint64_t event);
void rp_overtake_settled(rp_stream stream, uint64_t seq);
/* ... of all streams of the context that `stream` is in. */
void rp_overtake_settled_context(rp_stream stream, uint64_t seq);
void rp_overtake_settled_event(uint64_t event);

#endif
