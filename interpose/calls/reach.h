/* SPDX-License-Identifier: Apache-2.0 */
/* From what is proved of a launch to stretches of memory. All functions want the core's lock. */
#ifndef RP_INTERPOSE_REACH_H
#define RP_INTERPOSE_REACH_H

#include "interpose/calls/launch.h"

/* Adds what the launch, of a kernel with a proof and with its parameters gathered, may read and
 * write. */
enum rp_status rp_reach_proved(struct rp_footprint *call, const struct rp_launched *launch);

#endif
