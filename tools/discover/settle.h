/* SPDX-License-Identifier: Apache-2.0 */
/* A story as it was read, thread by thread, put into its order. */
#ifndef RP_TOOLS_DISCOVER_SETTLE_H
#define RP_TOOLS_DISCOVER_SETTLE_H

#include "tools/discover/story.h"

/* Sorts calls, ranges and allocations by their moments, and finds where ranges begin and end in
 * that. What came after the moment `until`, or is more than a story holds, is left out. Until then
 * a range's `first` is its place among the ranges as they were read, and a free is an allocation of
 * its own that was never made (`made` is UINT64_MAX). */
void rp_story_settle(struct rp_story *story, uint64_t until);

#endif
