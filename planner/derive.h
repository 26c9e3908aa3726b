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
 * This is right as long as a replay leaves all state as it found it. */
#ifndef RP_PLANNER_DERIVE_H
#define RP_PLANNER_DERIVE_H

#include "planner/clobber.h"
#include "planner/profile.h"

/* Fills segments[k].costs for every segment of a profile with facts. RP_INVALID, with one line
 * in `message`, when a fact is absent, a range leaves its buffer or a figure leaves 63 bits. */
enum rp_status rp_derive_costs(const struct rp_profile *profile,
                               const struct rp_copy_price *price, struct rp_segment *segments,
                               char *message, size_t message_size);

/* One option's terms from its P and T. `pieces` are the contiguous copies of each. */
struct rp_replay_sizes {
    uint64_t preserved, stashed;
    uint64_t preserved_pieces, stashed_pieces;
};
enum rp_status rp_derive_replay(const struct rp_profile *profile, const struct rp_facts *facts,
                                const struct rp_replay_sizes *sizes, bool tracks,
                                struct rp_cost *cost);

#endif
