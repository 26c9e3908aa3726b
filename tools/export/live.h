/* SPDX-License-Identifier: Apache-2.0 */
/* The device memory that is alive while a trace is read, and what the layer holds beside it. */
#ifndef RP_TOOLS_EXPORT_LIVE_H
#define RP_TOOLS_EXPORT_LIVE_H

#include "tools/group.h"

/* Where physical memory without an address is said to lie: above all that devices use, below
 * 2^53, which a double still counts exactly. */
#define RP_LIVE_UNMAPPED (UINT64_C(1) << 51)

struct rp_live_allocation {
    uint64_t id;
    uint64_t bytes, address;
    char *where; /* "forward/block1;cuMemAlloc_v2": the open segments and the call */
    char kind[16];
};

struct rp_live_held {
    uint64_t instance, bytes; /* preserved for a forward whose replay is still to come */
};

struct rp_live {
    struct rp_live_allocation *items; /* device memory, in order of id */
    size_t count, capacity;
    struct rp_live_held *held;
    size_t held_count, held_capacity;
    char *segments; /* the open ones, outermost first, joined by ';' */
    uint64_t bytes, held_bytes, unmapped_bytes;
};

enum rp_live_change { RP_LIVE_NOTHING, RP_LIVE_ALLOCATED, RP_LIVE_FREED, RP_LIVE_HELD };

/* Takes note of one event of `group`. What was allocated is the last item; what is freed is
 * put into *freed, whose `where` the caller frees (NULL: it is only forgotten). False in *good
 * when the host is out of memory. */
enum rp_live_change rp_live_take(struct rp_live *live, const struct rp_group *group,
                                 const struct rp_event *event, struct rp_live_allocation *freed,
                                 bool *good);
void rp_live_release(struct rp_live *live);

#endif
