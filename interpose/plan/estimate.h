/* SPDX-License-Identifier: Apache-2.0 */
/* From measured steps to a profile: what each segment would cost under each option. */
#ifndef RP_INTERPOSE_ESTIMATE_H
#define RP_INTERPOSE_ESTIMATE_H

#include "planner/profile.h"

/* Why there is no profile, or NULL. One line that lives as long as the process. */
const char *rp_estimate_refused(void);

/* The profile of the steps that were measured so far, not closed yet. Each time is the median
 * over the steps, each size the largest. What was not measured is absent, or its option masked
 * with the reason. RP_NOT_FOUND when no step was measured. Wants the core's lock. */
enum rp_status rp_estimate_profile(struct rp_profile **out);

/* What profiles of this process are made for. Valid for the life of the process. */
const struct rp_purpose *rp_estimate_purpose(void);

/* Writes profile.json into the output folder, where there is one and there are measured steps;
 * profile-PID.json where another process of the job was first. */
void rp_estimate_write(void);

#endif
