/* SPDX-License-Identifier: Apache-2.0 */
/* What the joint planner is measured against: simpler ways to plan the same job, under the same
 * model, with the same costs, the same solver and the same walk. Only what they may choose
 * differs. */
#ifndef RP_PLANNER_BASELINE_H
#define RP_PLANNER_BASELINE_H

#include "planner/planner.h"

enum rp_baseline {
    RP_BASELINE_EAGER,     /* retain everywhere */
    RP_BASELINE_WHOLE,     /* replay everything, with whole buffers, whatever it costs */
    RP_BASELINE_OR_WHOLE,  /* the optimum over {retain, whole} */
    RP_BASELINE_OR_REGIONS, /* the optimum over {retain, regions} */
    RP_BASELINE_FIXED,     /* replay all segments but each k-th, for the best k; only how they
                            * preserve is optimised */
    RP_BASELINE_GRID, /* the optimum over {retain, regions}, where regions are whole pages of
                       * 64 KiB. Needs a profile that tells ranges. Fewer, larger copies may
                       * cost less than what joint would make: the only one that can be ahead */
    RP_BASELINE_OBLIVIOUS, /* choose what to replay as if state cost nothing, then preserve what
                            * is clobbered; where that breaks the budget, plan again for a
                            * smaller one until it holds. Needs rows with terms */
    RP_BASELINE_JOINT,     /* the optimum over everything */
    RP_BASELINE_COUNT
};

/* One baseline at one budget. */
struct rp_trial {
    bool fits;
    bool certain; /* the solver's answer was optimal, or there was nothing to solve */
    uint64_t peak, time;
    uint64_t overrun; /* OBLIVIOUS: bytes over the budget before the repair */
    size_t every;     /* FIXED: the k; 0 when all are replayed */
};

struct rp_comparison {
    enum rp_model model;
    uint64_t *budgets; /* ascending */
    size_t count;
    struct rp_trial *trials[RP_BASELINE_COUNT];   /* one a budget */
    const char *impossible[RP_BASELINE_COUNT];    /* why a baseline can't be had, or NULL */
    bool has_min_budget[RP_BASELINE_COUNT];
    uint64_t min_budget[RP_BASELINE_COUNT];
    uint64_t eager_peak;
    size_t knee; /* index of the budget after which the joint plan gains least */
};

/* How far a baseline is behind the joint plan, over the budgets at which both fit. */
struct rp_lag {
    size_t budgets;      /* at which both fit */
    size_t equal;        /* at which they take the same time */
    size_t lost;         /* at which only the joint plan fits */
    double largest, mean; /* of (time - joint) / joint */
};

/* Compares at `count` budgets from the smallest feasible one to the eager peak, and at
 * question->budget if that is not 0. */
enum rp_status rp_baseline_compare(const struct rp_question *question, size_t count,
                                   struct rp_comparison **out, char *message,
                                   size_t message_size);
void rp_comparison_destroy(struct rp_comparison *comparison);

struct rp_lag rp_comparison_lag(const struct rp_comparison *comparison,
                                enum rp_baseline baseline);

/* Evenly spaced budgets from the smallest feasible one to the one from which more buys nothing,
 * both included; the caller frees them. */
enum rp_status rp_budget_grid(const struct rp_question *question, size_t count,
                              uint64_t **budgets, size_t *found, char *message,
                              size_t message_size);

const char *rp_baseline_name(enum rp_baseline baseline);  /* "retain or whole" */
const char *rp_baseline_about(enum rp_baseline baseline); /* one line */

#endif
