/* SPDX-License-Identifier: Apache-2.0 */
/* Behind: what the device was given since the first of the gates that are still shut (gate.h), and
 * what may be made anew meanwhile without waiting for what may wait for it.
 *
 * A stream is shut (cuda/order.h) that holds such a gate, or waits for one that does. What is made
 * anew while any is shut is made in a stream of the layer's own: it waits for all that the device
 * had before the gates, for streams that are not shut where those were given what matters to it,
 * and for no shut one. So a shut stream may not be given what matters to anything dropped: that is
 * made anew before. Where memory is too short for that, whoever needs it then waits for the gates,
 * as long as rp_gates_await has patience.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_BEHIND_H
#define RP_INTERPOSE_BEHIND_H

#include "interpose/run/execution.h"

/* The first gate is about to be given: all that the device has is before it. */
void rp_behind_begins(void);
/* A gate is about to be given to `stream`, or it is about to wait for another one. */
void rp_behind_shuts(rp_stream stream);
/* All are open. */
void rp_behind_ends(void);
bool rp_behind_is_shut(rp_stream stream);

/* A call is about to be given to the device; something that may meet anything is. */
void rp_behind_call(const struct rp_footprint *call);
void rp_behind_anything(void);

/* True when what `call` does matters to the forward's being followed again later. */
bool rp_behind_matters(const struct rp_footprint *call, const struct rp_execution *execution);
/* True when the forward may be followed again beside shut streams, as long as they are. */
bool rp_behind_may_follow(const struct rp_execution *execution);
/* The same, and where: `*aside` waits for what that has to come after. */
bool rp_behind_let_follow(const struct rp_execution *execution, rp_stream *aside);

/* After a fork, and when the context is gone. */
void rp_behind_forget(void);

#endif
