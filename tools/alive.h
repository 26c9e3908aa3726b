/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that is alive while a trace is read, and what the layer holds beside it. */
#ifndef RP_TOOLS_ALIVE_H
#define RP_TOOLS_ALIVE_H

#include "tools/group.h"

/* Where physical memory without an address is said to lie: above all that devices use, below
 * 2^53, which a double still counts exactly. */
#define RP_ALIVE_UNMAPPED (UINT64_C(1) << 51)

struct rp_alive_allocation {
    uint64_t id;
    uint64_t bytes, address;
    char *where; /* "forward/block1;cuMemAlloc_v2": the open segments and the call */
    char kind[16];
    bool on_device;  /* and not page-locked or other memory of the host */
    uint64_t weight; /* for the reader's own use, 0 at first */
};

struct rp_alive_held {
    uint64_t instance, bytes; /* preserved for a forward whose replay is still to come */
};

struct rp_alive {
    struct rp_alive_allocation *items; /* in order of id */
    size_t count, capacity;
    struct rp_alive_held *held;
    size_t held_count, held_capacity;
    char *segments; /* the open ones, outermost first, joined by ';' */
    uint64_t bytes, held_bytes; /* of device memory; of copies for replays to come */
    uint64_t unmapped_bytes;
    bool beside; /* what is taken now does not pass the filters: its allocations are not counted,
                  * but what it frees and which segments it opens is followed */
};

enum rp_alive_change { RP_ALIVE_NOTHING, RP_ALIVE_ALLOCATED, RP_ALIVE_FREED, RP_ALIVE_HELD };

/* Takes note of one event of `group`; *item becomes what was allocated (valid until the next
 * call) or freed (the caller frees its `where`). `item` may be NULL. False in *good when the
 * host is out of memory. */
enum rp_alive_change rp_alive_take(struct rp_alive *live, const struct rp_group *group,
                                   const struct rp_event *event, struct rp_alive_allocation *item,
                                   bool *good);
/* NULL when it is not alive. */
struct rp_alive_allocation *rp_alive_find(struct rp_alive *live, uint64_t id);
void rp_alive_release(struct rp_alive *live);

#endif
