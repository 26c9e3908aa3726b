/* SPDX-License-Identifier: Apache-2.0 */
/* The nested model's search for one budget.
 *
 * Internal to planner/. A relaxation (planner/hull.h) says what each row costs at least; rows
 * that cost too much over the relaxed optimum are left out, links that keep one row are folded
 * away, and the label search runs over the few that remain. When it finds a plan below the
 * threshold by which rows were left out, that plan is the optimum; when it finds none, the
 * threshold is a new lower bound and is raised. So the work depends on how near the optimum is
 * to its relaxation rather than on the length of the chain. */
#ifndef RP_PLANNER_SEARCH_H
#define RP_PLANNER_SEARCH_H

#include "planner/chain.h"

struct rp_search {
    /* The question. */
    const struct rp_chain *chain;
    int64_t room;
    size_t max_labels;
    bool plain; /* the label search alone */
    const struct rp_watch *watch; /* or NULL */

    /* The answer. */
    bool found;
    uint8_t *rows; /* of the best plan, one a link; the caller's array, chain->count long */
    int64_t peak, time;
    int64_t lower; /* no plan within the room takes less time */
    bool truncated;
    uint64_t work; /* labels kept */
};

/* The chain must have rp_chain_need() <= room. */
enum rp_status rp_search_run(struct rp_search *search);

#endif
