/* SPDX-License-Identifier: Apache-2.0 */
/* Earlier: what an earlier run of the job in recompute has left for this one: its profile, or a
 * plan that was made of it.
 *
 * Both are read before the job starts, and looked at again when its first step begins: only then is
 * the device known. All functions want the core's lock. */
#ifndef RP_INTERPOSE_EARLIER_H
#define RP_INTERPOSE_EARLIER_H

#include "planner/plan.h"

/* Reads what the configuration names. Without a budget the plan's is in force. RP_INVALID with one
 * line in `message` when it is neither, of another job, or when it says that the budget is too
 * small. */
enum rp_status rp_earlier_start(char *message, size_t message_size);
/* The first step begins. Stops the job where it is of another device. */
void rp_earlier_check_device(void);

/* The profile, which stays ours, or NULL. */
const struct rp_profile *rp_earlier_profile(void);
/* The plan, the first time; it is the caller's then. NULL without one. */
struct rp_plan *rp_earlier_take_plan(void);
/* Also after a fork. */
void rp_earlier_forget(void);

#endif
