/* SPDX-License-Identifier: Apache-2.0 */
/* The nested problem as a mixed integer program, for solvers that know nothing of labels. */
#ifndef RP_TESTS_PLANNER_MILP_H
#define RP_TESTS_PLANNER_MILP_H

#include "planner/planner.h"

#include <stdio.h>

enum milp_solver { MILP_GLPK, MILP_CBC };

const char *milp_name(enum milp_solver solver);
/* Whether the solver's program is installed. */
bool milp_is_installed(enum milp_solver solver);

/* Objective and rows of the shared model, for a profile whose costs are sums: of facts, with a
 * quantum of 1, pieces for nothing, a byte a nanosecond. */
bool milp_write_shared(FILE *out, const struct rp_profile *profile, uint64_t budget);

/* Minimises the time within the budget. False when the solver finds it infeasible, or runs for
 * more than `seconds`. All sizes are divided by `unit` first, which must divide the rows (room
 * that doesn't make a unit is of no use). `choices` receives the solver's plan, `seconds_taken`,
 * may be NULL, the processor's time of the whole process. */
bool milp_solve(enum milp_solver solver, enum rp_model model, const struct rp_profile *profile,
                uint64_t budget, uint64_t unit, int seconds, enum rp_choice *choices,
                double *seconds_taken);

/* Processor seconds, of user and system, of all child processes that are over: unlike a clock it
 * does not count what else runs on the machine. */
double milp_children_seconds(void);

#endif
