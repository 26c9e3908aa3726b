/* SPDX-License-Identifier: Apache-2.0 */
/* The label search over a chain, from its end to its beginning.
 *
 * Internal to planner/. A label at level k stands for a choice of rows for the links k..n-1: the
 * room that they need and their time. It is as good as another when it needs no more room and
 * takes no more time, because what is added in front of it,
 *
 *   need' = max(peak, hold + need)    time' = time + its row's time,
 *
 * preserves both orders. So each level is a falling staircase, and the last one, level 0, is
 * the whole curve of time over budget. (Searching forwards, a label would need three figures
 * for that: what it holds, the peak so far, and the time.)
 *
 * Labels leave the search in three ways: dominated by another; pruned, when nothing put in
 * front could make them fit the room or beat the cutoff; or dropped, for want of memory. Only
 * the last costs certainty, and `dropped_bound` says how much. */
#ifndef RP_PLANNER_LABEL_H
#define RP_PLANNER_LABEL_H

#include "planner/hull.h"

struct rp_label {
    int64_t need, time;
    uint32_t link; /* parent's index in the level above * 4 + row */
};

struct rp_hunt {
    /* The question. */
    const struct rp_chain *chain;
    const struct rp_hulls *before; /* bounds of this chain and room; NULL: prune by room alone */
    int64_t room;
    int64_t cutoff;    /* only times below it are of interest */
    size_t max_labels; /* a level */
    const struct rp_watch *watch; /* or NULL */
    bool evenly;       /* drop labels all along the staircase: the curve is wanted, not one end */

    /* The answer. */
    struct rp_label *labels; /* level 0: needs ascending, times descending */
    size_t count;
    bool dropped;
    int64_t dropped_bound; /* no dropped label could have led to less time than this */
    uint64_t work;         /* labels kept in all levels */
    uint32_t **links;      /* level by level */
};

/* RP_OK also when nothing was found: then count is 0. */
enum rp_status rp_hunt_run(struct rp_hunt *hunt);
void rp_hunt_release(struct rp_hunt *hunt);

/* The row of each link behind labels[index]. */
void rp_hunt_rows(const struct rp_hunt *hunt, size_t index, uint8_t *rows);

#endif
