/* SPDX-License-Identifier: Apache-2.0 */
/* Liveness: when a holding will be missed, learned from the steps before.
 *
 * Steps are alike. A holding is known by its owner's place in the chain and its own number among
 * the owner's; a use by its place among the step's calls. Whatever is learned here decides only
 * what is dropped first, never whether bytes are right. All functions want the core's lock. */
#ifndef RP_INTERPOSE_LIVENESS_H
#define RP_INTERPOSE_LIVENESS_H

#include "interpose/recompute/holding.h"
#include "interpose/run/footprint.h"

/* A step begins: what was seen of the last one is what is known now. */
void rp_liveness_step_begins(void);
/* A call goes out. */
void rp_liveness_call(const struct rp_footprint *call);
/* The place of the next call in the step that uses the holding; UINT64_MAX for none. A holding of
 * which nothing is known counts as needed in the reverse order of the forwards. */
uint64_t rp_liveness_next(const struct rp_holding *holding);
/* After a fork. */
void rp_liveness_forget(void);

#endif
