/* SPDX-License-Identifier: Apache-2.0 */
/* Sample: the measured steps that a profile is made from, and what they say of one segment.
 *
 * All want the core's lock; a sample is valid until the next call of a function of cost.h. */
#ifndef RP_INTERPOSE_SAMPLE_H
#define RP_INTERPOSE_SAMPLE_H

#include "interpose/plan/ledger.h"

#include <stddef.h>

/* Steps under one policy, with the same chain. Where the chain differs, only the last ones. */
struct rp_sample {
    const struct rp_step_cost *steps[RP_COST_STEPS];
    size_t count;
    const struct rp_step_cost *first; /* the first of all, whose memory alone counts, or NULL */
};

/* Both steps had the same segments, which were replayed by the same choices. */
bool rp_sample_same_chain(const struct rp_step_cost *a, const struct rp_step_cost *b);

void rp_sample_take(struct rp_sample *sample);
/* Why no plan can be made from them, or NULL. */
const char *rp_sample_departure(const struct rp_sample *sample);
/* The least that the job itself has at any time, in bytes. */
uint64_t rp_sample_least_job(const struct rp_sample *sample);

/* A member of struct rp_part, as an argument of the functions below. */
#define RP_PART(member) offsetof(struct rp_part, member)

/* Of a number in nanoseconds: the median of the steps with marks; of those with halves, which take
 * longer, only where there are no others. */
uint64_t rp_sample_median(const struct rp_sample *sample, size_t place, size_t member);
/* The same of any number, which `value` works out from a step's part. */
typedef uint64_t (*rp_sample_value_fn)(const void *ctx, const struct rp_part *part);
uint64_t rp_sample_median_by(const struct rp_sample *sample, size_t place,
                             rp_sample_value_fn value, const void *ctx);
/* Of a number of bytes: the most, in the first step too; steps need not be alike, and a plan
 * has to hold in each. */
uint64_t rp_sample_most(const struct rp_sample *sample, size_t place, size_t member);
/* Of an amount: the most in those steps that are timed. */
struct rp_amount rp_sample_amount(const struct rp_sample *sample, size_t place, size_t member);
/* Of an amount: the most bytes in blocks, in the first step too. */
uint64_t rp_sample_blocks(const struct rp_sample *sample, size_t place, size_t member);
/* Why outputs can't serve, in any of the steps, or NULL. */
const char *rp_sample_no_retain(const struct rp_sample *sample, size_t place);

struct rp_amount rp_amount_most(struct rp_amount a, struct rp_amount b);

#endif
