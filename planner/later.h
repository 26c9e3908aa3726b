/* SPDX-License-Identifier: Apache-2.0 */
/* The nested model where rows say that some of what they hold is held later (rp_later in
 * planner/profile.h). Internal to planner/. */
#ifndef RP_PLANNER_LATER_H
#define RP_PLANNER_LATER_H

#include "planner/growth.h"

/* As rp_growth_create, filled in. The profile must outlive it. */
enum rp_status rp_later_create(const struct rp_question *question, struct rp_growth **out,
                               char *message, size_t message_size);

#endif
