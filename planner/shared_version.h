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

struct rp_shared_versions {
    size_t count; /* segments; the arrays below have one entry each */
    uint64_t *private_bytes;
    uint64_t *read;         /* bits of the versions that the segment reads */
    uint64_t *first_read;   /* those among them that nobody reads before it */
    uint64_t *wanted_after; /* versions that the segment or an earlier one reads, and a later one */
    uint64_t (*bytes)[64];  /* of each version that the segment reads, by bit */
    /* The contiguous spans that the segment preserves: which versions each has bytes of. */
    struct rp_shared_span {
        uint64_t versions;
        bool has_private;
    } **spans;
    size_t *span_count;
};

/* RP_UNSUPPORTED when 64 bits are too few. */
enum rp_status rp_shared_versions_create(const struct rp_clobbers *clobbers,
                                         struct rp_shared_versions *versions);
void rp_shared_versions_release(struct rp_shared_versions *versions);

/* What segment k still has to preserve: bytes, and spans with any of them. */
void rp_shared_missing(const struct rp_shared_versions *versions, size_t k, uint64_t preserved,
                       uint64_t *bytes, uint64_t *pieces);

#endif
