/* SPDX-License-Identifier: Apache-2.0 */
/* Behind: what the device was given since the first of the gates that are still shut (gate.h).
 *
 * What is made anew waits, as a rule, for all streams. Where a gate is shut in another one, and
 * what is to be made anew meets nothing that others were given since, it waits for what was there
 * before the gate, and no more: else a stream that is about to open it would wait for it.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_BEHIND_H
#define RP_INTERPOSE_BEHIND_H

#include "interpose/run/execution.h"

/* The first gate is about to be given: all that the device has is before it. */
void rp_behind_begins(void);
/* All are open, or nothing is known of them any more. */
void rp_behind_ends(void);

/* A call was given to the device; something that may meet anything was; the forward was followed
 * again in `stream`. */
void rp_behind_call(const struct rp_footprint *call);
void rp_behind_anything(void);
void rp_behind_follows(const struct rp_execution *execution, rp_stream stream);

/* True when the forward may be followed again in `stream` without waiting for other streams: the
 * stream waits for all that was before the gates. */
bool rp_behind_is_clear(const struct rp_execution *execution, rp_stream stream);

/* After a fork, and when the context is gone. */
void rp_behind_forget(void);

#endif
