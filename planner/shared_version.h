/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of state that several segments would preserve. Internal to planner/.
 *
 * Bytes are told apart only where it matters: all bytes that the same segments read at the same
 * version, and would have to preserve, are one version here. A version that only one segment
 * reads is private. Each of the others has a bit, which is used again once its last reader is
 * over. */
#ifndef RP_PLANNER_SHARED_VERSION_H
#define RP_PLANNER_SHARED_VERSION_H

#include "planner/clobber.h"

/* The bytes that one contiguous span has of one version. */
struct rp_shared_share {
    uint64_t version; /* its bit; 0 for private bytes */
    uint64_t bytes;
};

/* What a segment preserves in one piece, where it preserves all of it. */
struct rp_shared_span {
    struct rp_shared_share *shares;
    size_t count;
};

struct rp_shared_versions {
    size_t count;         /* segments; the arrays below have one entry each */
    uint64_t *read;       /* bits of the versions that the segment reads */
    uint64_t *first_read; /* those among them that nobody reads before it */
    uint64_t *wanted_after; /* versions that the segment or an earlier one reads, and a later one */
    struct rp_shared_span **spans;
    size_t *span_count;
};

/* RP_UNSUPPORTED when 64 bits are too few. */
enum rp_status rp_shared_versions_create(const struct rp_clobbers *clobbers,
                                         struct rp_shared_versions *versions);
void rp_shared_versions_release(struct rp_shared_versions *versions);

/* What segment k still has to preserve: bytes, spans with any of them, and what copies of those
 * take, each rounded up to the profile's quantum. */
void rp_shared_missing(const struct rp_shared_versions *versions,
                       const struct rp_profile *profile, size_t k, uint64_t preserved,
                       uint64_t *bytes, uint64_t *pieces, uint64_t *held);

#endif
