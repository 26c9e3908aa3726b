/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a forward: what the instance reads and writes, and what discovery can't vouch
 * for. All functions want the core's lock. */
#ifndef RP_INTERPOSE_FORWARD_H
#define RP_INTERPOSE_FORWARD_H

#include "interpose/run/segment.h"

/* A call of the forward is about to go out, respectively went out. */
void rp_forward_before(struct rp_execution *execution, const struct rp_footprint *call);
void rp_forward_after(struct rp_execution *execution, const struct rp_footprint *call);

/* Discovery can't vouch for the execution any more, because of this reach (may be NULL) of the
 * call; what came first stays. */
void rp_forward_refuse(struct rp_execution *execution, const struct rp_footprint *call,
                       const struct rp_reach *reach, const char *reason);

/* spans = the declared bytes that the reach may leave as they were: these are read as much as
 * written, for the old bytes count. */
enum rp_status rp_forward_may_stay(const struct rp_reach *reach, struct rp_spans *spans);

/* A call that may be no part of some forwards that are under way is about to go out, of a thread
 * with `own` scopes: notes what it writes over what they have met, and what it steps, which beside
 * a replay is told. */
void rp_forward_beside(const struct rp_thread *own, const struct rp_footprint *call);

#endif
