/* SPDX-License-Identifier: Apache-2.0 */
/* Growth: what of a segment's copies is there only from a later pass on, over a sample's steps.
 *
 * Steps need not be alike, and a plan has to hold in each: at any time the most that a step held
 * counts. Wants the core's lock. */
#ifndef RP_INTERPOSE_GROWTH_H
#define RP_INTERPOSE_GROWTH_H

#include "interpose/plan/sample.h"
#include "planner/profile.h"

enum { RP_GROWTH_MOST = (RP_COST_STEPS + 1) * RP_KEEPING_LATER };

struct rp_growth_of {
    uint64_t held;  /* bytes in blocks, when the segments within have been replayed */
    uint64_t start; /* from its forward on */
    struct rp_later later[RP_GROWTH_MOST]; /* what comes to it; in order of time */
    size_t count;
};

/* Of the keeping at `member` (RP_PART) of the segment at `place`. */
void rp_growth_find(const struct rp_sample *sample, size_t place, size_t member,
                    struct rp_growth_of *growth);

/* Whether it is enough of what a step takes to be told. It makes planning dearer. */
bool rp_growth_tells(const struct rp_sample *sample);

#endif
