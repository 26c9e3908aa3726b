/* SPDX-License-Identifier: Apache-2.0 */
/* Claims: a call that is about to overwrite all of something dropped needs its memory, and not its
 * content. From then until the call is done the holding is claimed: nobody makes it anew.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_CLAIM_H
#define RP_INTERPOSE_CLAIM_H

#include "interpose/recompute/holding.h"
#include "interpose/run/footprint.h"

/* True when `call` overwrites all of [lo, hi), unread, and no recipe but `owner`'s (may be NULL)
 * needs what stands there. */
bool rp_claim_overwrites(const struct rp_footprint *call, rp_alloc_id id, uint64_t lo, uint64_t hi,
                         const struct rp_execution *owner);
/* True for a dropped one that `call` overwrites all of, unread, and that nobody else needs. */
bool rp_claim_may(const struct rp_footprint *call, const struct rp_holding *holding);
/* Claims them, and puts memory there; whatever else the call meets stands by then. RP_NO_MEMORY
 * when there is none; what was claimed stays so until rp_claim_after. */
enum rp_status rp_claim_before(const struct rp_footprint *call);
/* The call is done. `went`: it runs; `sure`: so the driver says, and not perhaps. What it has
 * overwritten is no output any more. */
void rp_claim_after(const struct rp_footprint *call, bool went, bool sure);

#endif
