/* SPDX-License-Identifier: Apache-2.0 */
/* The way of one call through the tracker: contract, hazards, preservation, versions. */
#ifndef RP_INTERPOSE_TRACK_H
#define RP_INTERPOSE_TRACK_H

#include "interpose/footprint.h"

/* To be called under the core's lock, before the driver call goes out, with its complete
 * footprint. Gives call->seq. */
void rp_track(struct rp_footprint *call);

/* An allocation dies: nothing can be read or clobbered there any more. */
void rp_track_death(rp_alloc_id id);

#endif
