/* SPDX-License-Identifier: Apache-2.0 */
/* Options: what a segment costs by one choice, by the steps that were measured.
 *
 * What was not measured and can't be derived is absent. All functions want the core's lock. */
#ifndef RP_INTERPOSE_OPTION_H
#define RP_INTERPOSE_OPTION_H

#include "interpose/plan/growth.h"
#include "interpose/plan/sample.h"

/* What is known beforehand. */
struct rp_basis {
    struct rp_sample sample;
    struct rp_profile *profile;
    uint64_t base;
    bool priced; /* copies that were not made can be priced */
    uint64_t piece; /* see rp_price_piece */
    bool trades;    /* calls that trade idle blocks would tell in a step's time */
    bool grows;     /* what is kept later is told from what is kept from the forward on */
    struct rp_growth_of state, outputs; /* of the segment that is looked at */
};

/* The job retains the segment at this place by itself. */
void rp_option_unreplayed(const struct rp_basis *basis, size_t place, struct rp_cost *cost);
/* The option by which the steps were run: every copy of it was measured. */
void rp_option_measured(const struct rp_basis *basis, size_t place, struct rp_cost *cost);
/* The other option that replays: the same replay, with other copies around it. Whole buffers
 * are preserved, and stashed together with what the replay writes beside them. */
void rp_option_whole(const struct rp_basis *basis, size_t place, struct rp_cost *cost);
void rp_option_retain(const struct rp_basis *basis, size_t place, struct rp_cost *cost);

#endif
