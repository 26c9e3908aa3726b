/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates: memory that may be moved to the host (exile.h), what was used longest ago first.
 *
 * What recipes hold goes by another way, and what somebody is about to use stays. Wants the core's
 * lock. */
#ifndef RP_INTERPOSE_CANDIDATE_H
#define RP_INTERPOSE_CANDIDATE_H

#include "interpose/recompute/backing.h"

/* A run of granules that were last used at the same time. */
struct rp_candidate {
    rp_alloc_id id;
    struct rp_backed *backed;
    uint64_t lo, hi; /* bytes of the allocation */
    struct rp_use used;
};

struct rp_candidates {
    struct rp_candidate *items; /* the caller frees them */
    size_t count, capacity;
    uint64_t reach; /* see rp_fence_reach */
};

/* Into an empty list. Fewer where the host is short of memory. */
void rp_candidates_find(struct rp_candidates *all);
/* No more of it than is wanted, in whole granules. */
void rp_candidate_shorten(struct rp_candidate *one, uint64_t wanted);
/* What nobody has used yet has no content to be moved: its memory goes, up to `bytes`, and comes
 * with its first use. Only where the device could hold all that the job has: beyond that there has
 * to be a place for it. Returns how much went; the rest is left in the list. */
uint64_t rp_candidates_spare_unused(struct rp_candidates *all, uint64_t bytes);

#endif
