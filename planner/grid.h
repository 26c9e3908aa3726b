/* SPDX-License-Identifier: Apache-2.0 */
/* A profile as a tracker that knows pages only would see it.
 *
 * Internal to planner/. Every range of state is widened to whole pages of its buffer, so that what
 * two passes have in common is told by the page. Where a profile has rows beside its facts, those
 * of regions change by as much as pages would change what is derived from the facts. */
#ifndef RP_PLANNER_GRID_H
#define RP_PLANNER_GRID_H

#include "planner/profile.h"

/* What such trackers commonly work with. */
#define RP_GRID_BYTES ((uint64_t)64 << 10)

/* A closed copy; the caller destroys it. RP_UNSUPPORTED for a profile of rows, which tells no
 * ranges; RP_INVALID when a figure leaves 63 bits. */
enum rp_status rp_grid_create(const struct rp_profile *profile, uint64_t page,
                              struct rp_profile **out);

#endif
