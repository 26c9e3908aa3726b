/* SPDX-License-Identifier: Apache-2.0 */
/* Meeting: what a replay's call finds, held against what its twin in the forward found. All
 * functions want the core's lock. */
#ifndef RP_INTERPOSE_MEET_H
#define RP_INTERPOSE_MEET_H

#include "interpose/run/segment.h"

/* A call that repeats number call->entry of the log is about to go out, and what was kept for it
 * stands: reports what it reads that its twin did not, and in check the state that it leaves. */
void rp_meet(struct rp_scope *scope, const struct rp_footprint *call);
/* It is other work than its twin's: why, and what helps, or NULL. */
void rp_meet_other(struct rp_scope *scope, const struct rp_footprint *call, const char *why);

#endif
