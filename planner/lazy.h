/* SPDX-License-Identifier: Apache-2.0 */
/* The lazy model: bytes are preserved at the first write that would clobber them.
 *
 * Internal to planner/. Until then they are where they were, and cost nothing. So what a segment
 * under regions holds grows with time, at the events (forwards and backwards) that write its
 * bytes; each such part is an allocation of its own. Where in an event the write is, ranges do not
 * say: the part counts beside all of it, and a run that is seen to copy late in a backward may do
 * with less (struct rp_later). Copies are private, and whole snapshots are taken at the forward. */
#ifndef RP_PLANNER_LAZY_H
#define RP_PLANNER_LAZY_H

#include "planner/growth.h"

/* For rp_growth_create. The profile must have facts. */
enum rp_status rp_lazy_fill(const struct rp_question *question, struct rp_growth *growth);

#endif
