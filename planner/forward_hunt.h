/* SPDX-License-Identifier: Apache-2.0 */
/* One label search of planner/forward.h, for one room. Internal to planner/. */
#ifndef RP_PLANNER_FORWARD_HUNT_H
#define RP_PLANNER_FORWARD_HUNT_H

#include "planner/forward.h"

/* Comparing labels of many figures takes the square of their number. */
#define RP_FORWARD_MAX_LABELS ((size_t)1 << 13)

struct rp_forward_hunt {
    /* The question. */
    const struct rp_forward_model *model;
    int64_t room, cutoff; /* only times below the cutoff are of interest */
    size_t max_labels;    /* a level; RP_FORWARD_MAX_LABELS at most */
    bool ignore_time;     /* any plan that fits will do: all times count as 0 */
    bool plain;           /* without the relaxations */
    const struct rp_watch *watch; /* or NULL */
    enum rp_choice *choices; /* the caller's; written when a plan is found */

    /* The answer. */
    bool found;
    bool dropped;
    int64_t dropped_bound;
    uint64_t work;
};

enum rp_status rp_forward_hunt_run(struct rp_forward_hunt *hunt);

#endif
