/* SPDX-License-Identifier: Apache-2.0 */
/* Names by number, each kept once: kernels, streams, segments. */
#ifndef RP_TOOLS_ROSTER_H
#define RP_TOOLS_ROSTER_H

#include "tools/builder.h"

struct rp_roster {
    char **items;
    size_t count, capacity;
    uint32_t *slots; /* a hash table: 0 is empty, else the number plus one */
    size_t slot_count;
    bool no_memory;
};

/* The number of a name; 0, and no_memory, when the host is out of memory. */
uint32_t rp_roster_number(struct rp_roster *roster, const char *name);
/* ["...", "..."] */
void rp_roster_json(const struct rp_roster *roster, struct rp_builder *out);
void rp_roster_release(struct rp_roster *roster);

#endif
