/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of which nothing is proved: whatever their arguments may lead to. All functions want the
 * core's lock. */
#ifndef RP_INTERPOSE_SUSPECT_H
#define RP_INTERPOSE_SUSPECT_H

#include "interpose/calls/launch.h"

/* Adds whatever any eight bytes of the arguments may point to, and the module's variables;
 * `effects` is an enum rp_effect, or both. Speculation (pointers may lie in memory, or in pieces),
 * and named so: REACHABLE is above every proved verdict. */
enum rp_status rp_suspect_reachable(struct rp_footprint *call, const struct rp_launched *launch,
                                    unsigned effects);
/* The footprint of a launch without a proof, or whose parameters could not be read. */
enum rp_status rp_suspect_unproved(struct rp_footprint *call, const struct rp_launched *launch);
/* What may write anything, for this reason. */
enum rp_status rp_suspect_everything(struct rp_footprint *call, const struct rp_launched *launch,
                                     const char *reason);

#endif
