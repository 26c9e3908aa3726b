/* SPDX-License-Identifier: Apache-2.0 */
/* Chains whose holds grow: what a segment keeps is not all there from its forward on.
 *
 * Internal to planner/. Events are numbered in time: the forward of segment k is k, its backward
 * 2n - 1 - k. Under a choice a segment holds something from its own forward on, and a part more
 * from each of some later events on. So a label of the search (planner/forward.h) has a figure
 * for each event to come at which anything grows, beginning with the next forward: what is held
 * then. Who fills in the segments are planner/lazy.c, from facts, and planner/later.c, from rows
 * that were measured: only the two of them know why anything grows. */
#ifndef RP_PLANNER_GROWTH_H
#define RP_PLANNER_GROWTH_H

#include "planner/forward.h"

struct rp_growth_part {
    size_t event; /* after the segment's own forward, before its backward */
    int64_t held; /* bytes more from then on */
};

/* Of one segment under one choice. */
struct rp_growth_hold {
    int64_t start; /* bytes from its forward on */
    struct rp_growth_part *parts; /* in order of time; the growth frees them */
    size_t part_count;
};

struct rp_growth_segment {
    struct rp_cost costs[RP_CHOICE_COUNT]; /* as the model charges them, with terms */
    struct rp_growth_hold holds[RP_CHOICE_COUNT];
};

struct rp_growth;

/* Fills in every segment of an empty growth: costs, and holds part by part. */
typedef enum rp_status (*rp_growth_fill_fn)(const struct rp_question *question,
                                            struct rp_growth *growth);

/* With as many segments as the profile has, which must outlive it. RP_UNSUPPORTED for more than
 * RP_PROFILE_MAX_LATER, for a label has up to a figure an event; RP_INVALID when sums leave 63
 * bits: both with one line in `message`. What `fill` fails with is returned as it is. */
enum rp_status rp_growth_create(const struct rp_question *question, rp_growth_fill_fn fill,
                                struct rp_growth **out, char *message, size_t message_size);
void rp_growth_destroy(struct rp_growth *growth);

/* For filling in. */
struct rp_growth_segment *rp_growth_segment(struct rp_growth *growth, size_t k);
/* A part more, not earlier than the last one. */
enum rp_status rp_growth_add(struct rp_growth_hold *hold, size_t event, int64_t bytes);

const struct rp_forward_model *rp_growth_model(const struct rp_growth *growth);

#endif
