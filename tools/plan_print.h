/* SPDX-License-Identifier: Apache-2.0 */
/* What `reprise plan` prints: one function an answer, three formats each. */
#ifndef RP_TOOLS_PLAN_PRINT_H
#define RP_TOOLS_PLAN_PRINT_H

#include "planner/baseline.h"

#include <stdio.h>

enum rp_plan_format { RP_PLAN_TEXT, RP_PLAN_CSV, RP_PLAN_JSON };

struct rp_plan_output {
    FILE *out;
    enum rp_plan_format format;
    bool raw; /* in texts: plain byte counts */
};

/* A size for a table or a sentence, exact, as --budget takes it ("1536MiB"); plain bytes of raw
 * output. Returns `out`. */
#define RP_CELL_SIZE 160
char *rp_cell_exact(const struct rp_plan_output *to, char out[RP_CELL_SIZE], uint64_t bytes);

/* All return RP_NO_MEMORY when they could not make what they were to print. */
enum rp_status rp_print_plan(const struct rp_plan_output *to, const struct rp_plan *plan,
                             const struct rp_profile *profile);
/* The best plan for each of several budgets, of which all are feasible. */
enum rp_status rp_print_budgets(const struct rp_plan_output *to,
                                const struct rp_question *question,
                                struct rp_plan *const *plans, size_t count);
enum rp_status rp_print_curve(const struct rp_plan_output *to, const struct rp_curve *curve);
enum rp_status rp_print_comparison(const struct rp_plan_output *to,
                                   const struct rp_comparison *comparison);

#endif
