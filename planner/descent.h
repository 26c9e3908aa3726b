/* SPDX-License-Identifier: Apache-2.0 */
/* The curve over all budgets where no single search gives it: plan by plan, from the largest budget
 * down, each for one byte less than the last one's peak. Internal to planner/. */
#ifndef RP_PLANNER_DESCENT_H
#define RP_PLANNER_DESCENT_H

#include "planner/planner.h"

/* As rp_planner_curve, for any model. `least` is the smallest feasible budget. */
enum rp_status rp_descend(const struct rp_question *question, uint64_t least,
                          struct rp_curve **out, char *message, size_t message_size);

/* Sorts points in whatever order into a staircase: those that no other is as good as in both. */
void rp_curve_settle(struct rp_curve *curve);

#endif
