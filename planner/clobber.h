/* SPDX-License-Identifier: Apache-2.0 */
/* Which state each replay must find, and what destroys it in between.
 *
 * Internal to planner/. All buffers lie one after another in one line of bytes, with a byte
 * between them, so that a set of ranges over all buffers is one rp_spans. */
#ifndef RP_PLANNER_CLOBBER_H
#define RP_PLANNER_CLOBBER_H

#include "planner/profile.h"
#include "tracker/span.h"

struct rp_clobbers {
    size_t count;             /* segments; the arrays below have one entry each */
    uint64_t *buffer_start;   /* of each buffer on the line */
    struct rp_spans *reads;   /* by the forward, before it writes them */
    struct rp_spans *writes;  /* by the forward */
    struct rp_spans *backward_writes;
    struct rp_spans *whole;     /* the whole of every buffer that the forward touches */
    struct rp_spans *clobbered; /* reads that are written, by the segment's own forward or by
                                 * anything after it, before the segment's replay */
    struct rp_spans *stashed;   /* clobbered bytes and those that the replay writes */
};

/* The profile must have facts. RP_INVALID when the buffers leave 63 bits. */
enum rp_status rp_clobbers_create(const struct rp_profile *profile, struct rp_clobbers *clobbers);
void rp_clobbers_release(struct rp_clobbers *clobbers);

/* Up to the next multiple of the profile's quantum. RP_INVALID beyond 63 bits. */
enum rp_status rp_round_up(const struct rp_profile *profile, uint64_t bytes, uint64_t *rounded);
/* The same of each contiguous piece, in sum: what copies of them take. */
enum rp_status rp_round_pieces(const struct rp_profile *profile, const struct rp_spans *pieces,
                               uint64_t *rounded);

#endif
