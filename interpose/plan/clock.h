/* SPDX-License-Identifier: Apache-2.0 */
/* Whose time it is: a GPU's own, or a software device's model of one. */
#ifndef RP_INTERPOSE_CLOCK_H
#define RP_INTERPOSE_CLOCK_H

#include "planner/profile.h"

/* The source of the times of parts. */
enum rp_source rp_clock_source(void);
/* The device that is timed: its name, with the model of its clock where that is another's.
 * NULL before the job has a context. Lives as long as the process. */
const char *rp_clock_device(void);

#endif
