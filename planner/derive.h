/* SPDX-License-Identifier: Apache-2.0 */
/* From facts to rows: what each option of each segment costs.
 *
 * Internal to planner/. With P the preserved and T the stashed bytes, a the activation, w and g
 * the workspaces of forward and backward, and copy() the profile's price:
 *
 *                 retain   whole                      regions
 *   P             0        all of each touched buffer what is clobbered
 *   T             0        the same                   what is clobbered or written
 *   hold          a        P                          P
 *   peak forward  w+a      P+w+a                      P+w+a
 *   peak backward a+g      max(P+T, T+w+a, a+g)       the same
 *   extra time    0        copy(P) preserve, copy(T) stash, copy(P) restore, replay,
 *                          copy(T) reinstate; regions: and tracking
 *
 * Sizes are rounded up to the profile's quantum, those of copies piece by piece.
 *
 * This is right as long as a replay leaves all state as it found it. */
#ifndef RP_PLANNER_DERIVE_H
#define RP_PLANNER_DERIVE_H

#include "planner/clobber.h"
#include "planner/profile.h"

/* Fills segments[k].costs for every segment of a profile with facts. RP_INVALID, with one line
 * in `message` and the segment in *culprit if it is one, when a fact is absent, a range leaves its
 * buffer or a figure leaves 63 bits. */
enum rp_status rp_derive_costs(const struct rp_profile *profile,
                               const struct rp_copy_price *price, struct rp_segment *segments,
                               size_t *culprit, char *message, size_t message_size);

/* The row from the terms: what the search sees. RP_INVALID when the time leaves 63 bits. */
enum rp_status rp_cost_sum(struct rp_cost *cost);

/* A replay of one segment, as a model sees it. Sizes of allocations are rounded up already. */
struct rp_replay {
    uint64_t held_forward;  /* allocated for copies at the end of the forward */
    uint64_t held;          /* the same when the replay begins */
    uint64_t preserve_time; /* of making those copies, whenever that is */
    uint64_t restored, restored_pieces; /* bytes put back, and in how many contiguous pieces */
    uint64_t stashed, stashed_pieces;   /* bytes put aside meanwhile, which ... */
    uint64_t held_stash;                /* ... take this much */
    bool tracks;
};
enum rp_status rp_derive_replay(const struct rp_profile *profile, const struct rp_facts *facts,
                                const struct rp_replay *replay, struct rp_cost *cost);

/* The replay under the regions option of segment k, when all copies are its own and made at the
 * forward. The other models start from it. */
enum rp_status rp_derive_regions(const struct rp_profile *profile,
                                 const struct rp_clobbers *clobbers, size_t k,
                                 struct rp_replay *replay);

#endif
