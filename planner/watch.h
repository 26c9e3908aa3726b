/* SPDX-License-Identifier: Apache-2.0 */
/* Telling a question's watch how far the work has come. Internal to planner/. */
#ifndef RP_PLANNER_WATCH_H
#define RP_PLANNER_WATCH_H

#include "planner/planner.h"

static inline void rp_watch_parts(const struct rp_watch *watch, uint64_t done, uint64_t all)
{
    if (watch != NULL)
        watch->at(watch->context, done, all);
}

static inline void rp_watch_labels(const struct rp_watch *watch, uint64_t labels)
{
    rp_watch_parts(watch, labels, 0);
}

#endif
