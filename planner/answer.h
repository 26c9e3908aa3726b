/* SPDX-License-Identifier: Apache-2.0 */
/* From a search's result to a plan. Internal to planner/. */
#ifndef RP_PLANNER_ANSWER_H
#define RP_PLANNER_ANSWER_H

#include "planner/planner.h"

/* A plan that has no answer yet, with names and purpose taken from the question's profile. */
enum rp_status rp_answer_create(const struct rp_question *question, struct rp_plan **out);

/* Makes room for choices, and records one of them and what it costs. */
enum rp_status rp_answer_allot(struct rp_plan *plan);
void rp_answer_choose(struct rp_plan *plan, size_t segment, enum rp_choice choice,
                      const struct rp_cost *cost);

/* Sets the answer and the gap of a plan with choices. `lower`: no plan takes less time. */
void rp_answer_judge(struct rp_plan *plan, uint64_t lower);

/* The moment at which a segment reaches its own peak under a choice. */
struct rp_moment rp_moment_of(const struct rp_profile *profile, size_t segment,
                              enum rp_choice choice);

#endif
