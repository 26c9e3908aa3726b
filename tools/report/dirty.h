/* SPDX-License-Identifier: Apache-2.0 */
/* Dirty-region maps as pictures: for a few allocations, which of their bytes were written when.
 *
 * A picture has RP_DIRTY_TIMES columns over the length of the trace and RP_DIRTY_PLACES rows over
 * the bytes of the allocation. Its cells count writes; cells in which the layer preserved or
 * reinstated bytes are marked beside. */
#ifndef RP_TOOLS_REPORT_DIRTY_H
#define RP_TOOLS_REPORT_DIRTY_H

#include "tools/builder.h"
#include "tools/alive.h"

#define RP_DIRTY_TIMES 240
#define RP_DIRTY_PLACES 32
#define RP_DIRTY_MAPS 16

struct rp_dirty_map {
    uint64_t allocation, bytes, born_ns, weight;
    char kind[16];
    char name[64]; /* the contract's, or "" */
    uint32_t writes[RP_DIRTY_PLACES][RP_DIRTY_TIMES];
    uint8_t layer[RP_DIRTY_PLACES][RP_DIRTY_TIMES]; /* bit 0 preserved, bit 1 restored or
                                                       reinstated */
};

struct rp_dirty {
    struct rp_dirty_map *maps; /* of the heaviest allocations, heaviest first */
    size_t count;
    uint64_t end_ns; /* of the trace */
};

/* First reading: the allocation is a candidate. Keeps the heaviest; false: out of memory. */
bool rp_dirty_offer(struct rp_dirty *dirty, const struct rp_alive_allocation *item);
/* Second reading: the event marks what it touches. */
void rp_dirty_take(struct rp_dirty *dirty, const struct rp_event *event);
void rp_dirty_json(const struct rp_dirty *dirty, struct rp_builder *out);
void rp_dirty_release(struct rp_dirty *dirty);

#endif
