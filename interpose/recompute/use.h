/* SPDX-License-Identifier: Apache-2.0 */
/* Uses: what a call may meet is there when it goes out. All functions want the core's lock. */
#ifndef RP_INTERPOSE_USE_H
#define RP_INTERPOSE_USE_H

#include "interpose/recompute/holding.h"
#include "interpose/run/footprint.h"

/* Something dropped that the call meets, and does not just overwrite; or NULL. */
const struct rp_holding *rp_use_first_needed(const struct rp_footprint *call);
/* Makes all that it meets stand, in its stream. It is under way (run/underway.h). RP_NO_MEMORY
 * where there is no room for that; anything else says that content is lost. */
enum rp_status rp_use_begins(const struct rp_footprint *call);

#endif
