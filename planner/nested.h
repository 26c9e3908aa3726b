/* SPDX-License-Identifier: Apache-2.0 */
/* The nested model by one figure: all that a row holds counts from its forward on.
 *
 * Internal to planner/. Where rows say that some of it is held later (rp_later), a plan for this
 * is one for that too, which needs no more memory than it is charged here. */
#ifndef RP_PLANNER_NESTED_H
#define RP_PLANNER_NESTED_H

#include "planner/planner.h"

/* As rp_planner_solve and rp_planner_min_budget; `binding` is not NULL. */
enum rp_status rp_nested_solve(const struct rp_question *question, struct rp_plan **out,
                               char *message, size_t message_size);
enum rp_status rp_nested_min_budget(const struct rp_question *question, uint64_t *bytes,
                                    struct rp_moment *binding, char *message,
                                    size_t message_size);

#endif
