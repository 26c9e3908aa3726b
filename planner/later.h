/* SPDX-License-Identifier: Apache-2.0 */
/* The nested model where rows say that some of what they hold is held later (rp_later in
 * planner/profile.h). Internal to planner/. */
#ifndef RP_PLANNER_LATER_H
#define RP_PLANNER_LATER_H

#include "planner/growth.h"

/* For rp_growth_create. */
enum rp_status rp_later_fill(const struct rp_question *question, struct rp_growth *growth);

#endif
