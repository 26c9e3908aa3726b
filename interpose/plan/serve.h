/* SPDX-License-Identifier: Apache-2.0 */
/* Serving: the calls of a replay are not run, for what they would write is kept (retain.h).
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_SERVE_H
#define RP_INTERPOSE_SERVE_H

#include "interpose/run/segment.h"

/* `call` is the one that the log has at `at`: turns its footprint into what serving it writes.
 * False when it writes elsewhere than the forward's call did, in number or size. */
bool rp_serve(struct rp_execution *execution, size_t at, struct rp_footprint *call);
/* The same call goes out: submits the copies instead of it. */
void rp_serve_deliver(struct rp_execution *execution, const struct rp_footprint *call);

#endif
