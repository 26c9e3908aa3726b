/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses show which bytes of which allocations, and the way back.
 *
 * Internal to tracker/. Mappings lie in order of their addresses and never overlap; views, one for
 * each, in order of the allocation. Lookups are O(log n). A zeroed set is no set yet:
 * rp_mappings_create. Not thread-safe. */
#ifndef RP_TRACKER_MAPPING_H
#define RP_TRACKER_MAPPING_H

#include "tracker/memory.h"

enum { RP_MAPPING_HINT_BITS = 10 };

struct rp_mapping {
    uint64_t address, length;
    rp_alloc_id id;
    uint64_t offset;
};

/* The way back from an allocation to its mappings. */
struct rp_view {
    rp_alloc_id id;
    uint64_t address;
};

struct rp_mappings {
    struct rp_mapping *items; /* by address */
    size_t count, capacity;
    uint32_t *hints; /* by a hash of an address: the index of the mapping that held it last */
    struct rp_view *views; /* by id, then address */
    size_t view_count, view_capacity;
};

enum rp_status rp_mappings_create(struct rp_mappings *mappings);
void rp_mappings_release(struct rp_mappings *mappings);

/* Room for `more` mappings; what changes mappings below can't fail then. */
enum rp_status rp_mappings_reserve(struct rp_mappings *mappings, size_t more);
/* Removes what is mapped in [lo, hi). Needs room for one mapping more: a hole in the middle
 * of one leaves two. */
void rp_mappings_cut(struct rp_mappings *mappings, uint64_t lo, uint64_t hi);
/* Shows a range that is known to be good, instead of what is there. Needs room for two more. */
void rp_mappings_show(struct rp_mappings *mappings, struct rp_mapping mapping);
/* Removes all mappings of an allocation. */
void rp_mappings_hide(struct rp_mappings *mappings, rp_alloc_id id);

/* Index of the first mapping that ends after `address`; the count of them where none does. */
size_t rp_mappings_seek(const struct rp_mappings *mappings, uint64_t address);
/* The mapping at `address`, or NULL; *hint is where to look first the next time. */
const struct rp_mapping *rp_mappings_look(const struct rp_mappings *mappings, uint64_t address,
                                          uint32_t *hint);
/* A mapping that shows byte `offset` of an allocation, or NULL. */
const struct rp_mapping *rp_mappings_reach(const struct rp_mappings *mappings, rp_alloc_id id,
                                           uint64_t offset);

bool rp_mappings_validate(const struct rp_mappings *mappings);

static inline bool rp_mapping_holds(const struct rp_mapping *mapping, uint64_t address)
{
    return address - mapping->address < mapping->length;
}

static inline uint32_t *rp_mappings_hint(const struct rp_mappings *mappings, uint64_t address)
{
    return &mappings->hints[(address * 0x9e3779b97f4a7c15u) >> (64 - RP_MAPPING_HINT_BITS)];
}

/* What a find of `address` will look at first is fetched meanwhile. */
static inline void rp_mappings_expect(const struct rp_mappings *mappings, uint64_t address)
{
    __builtin_prefetch(mappings->items + *rp_mappings_hint(mappings, address));
}

/* The mapping at `address`, or NULL. Programs come to few addresses, and to each again and again:
 * where it was last is looked at first, and is right if the mapping there holds the address, as
 * no two do. */
static inline const struct rp_mapping *rp_mappings_find(const struct rp_mappings *mappings,
                                                        uint64_t address)
{
    uint32_t *hint = rp_mappings_hint(mappings, address);

    if (*hint < mappings->count && rp_mapping_holds(&mappings->items[*hint], address))
        return &mappings->items[*hint];
    return rp_mappings_look(mappings, address, hint);
}

#endif
