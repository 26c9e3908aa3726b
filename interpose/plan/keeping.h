/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping: the copies that a segment holds until its replay, by when they are made.
 *
 * `later` says from when on what of `held` is there that its own forward has not made. There are
 * few such moments in a step; where there are more than fit, what would begin at one of them
 * counts from an earlier one on. Wants the core's lock, and allocates nothing. */
#ifndef RP_INTERPOSE_KEEPING_H
#define RP_INTERPOSE_KEEPING_H

#include "interpose/plan/amount.h"

#include <stdbool.h>

enum { RP_KEEPING_LATER = 6, RP_KEEPING_SIZES = 6 };

/* From the beginning of a segment's forward on, or of its replay. */
struct rp_kept_from {
    bool backward;
    uint32_t place;
    uint64_t blocks; /* bytes in blocks */
};

/* Copies that take blocks of one size. */
struct rp_kept_size {
    uint64_t bytes; /* in a block */
    uint64_t all, early; /* how many */
};

struct rp_keeping {
    struct rp_amount all;
    struct rp_amount early; /* before its forward is over */
    struct rp_amount held;  /* before the segments within it have been replayed: those made later
                             * never stand beside any but those of the outer ones */
    struct rp_kept_from later[RP_KEEPING_LATER]; /* in order of time */
    size_t later_count;
    struct rp_kept_size sizes[RP_KEEPING_SIZES];
    size_t size_count; /* RP_KEEPING_SIZES + 1: there were more */
};

/* One copy more, of the segment at `place`. `from` is when what the job has begins to count beside
 * it; its blocks are ignored. */
void rp_keeping_add(struct rp_keeping *keeping, uint32_t place, bool early,
                    struct rp_kept_from from, uint64_t bytes);

#endif
