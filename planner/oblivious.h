/* SPDX-License-Identifier: Apache-2.0 */
/* Planning as if state cost nothing, and what becomes of it. Internal to planner/. */
#ifndef RP_PLANNER_OBLIVIOUS_H
#define RP_PLANNER_OBLIVIOUS_H

#include "planner/baseline.h"

/* NULL when the profile can be planned for that way, else why not. */
const char *rp_oblivious_obstacle(const struct rp_profile *profile);

enum rp_status rp_oblivious_solve(const struct rp_question *question, struct rp_trial *trial);

#endif
