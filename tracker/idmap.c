/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/idmap.h"

#include <stdlib.h>

/* Multiplying by 2^64/phi spreads ids with any stride: of a thousand buffers born in each
 * step, it may be always the same one that survives. */
static size_t home(const struct rp_idmap *map, uint64_t id)
{
    return (size_t)((id * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (map->slot_count - 1);
}

/* The slot that holds `id`, or the empty one where it would go. */
static size_t locate(const struct rp_idmap *map, uint64_t id)
{
    size_t at = home(map, id);

    while (map->slots[at].id != 0 && map->slots[at].id != id)
        at = (at + 1) & (map->slot_count - 1);
    return at;
}

static enum rp_status grow(struct rp_idmap *map)
{
    struct rp_idmap wider = {.slot_count = map->slot_count == 0 ? 16 : map->slot_count * 2,
                             .count = map->count};

    wider.slots = calloc(wider.slot_count, sizeof(*wider.slots));
    if (wider.slots == NULL)
        return RP_NO_MEMORY;
    for (size_t i = 0; i < map->slot_count; i++) {
        if (map->slots[i].id != 0)
            wider.slots[locate(&wider, map->slots[i].id)] = map->slots[i];
    }
    free(map->slots);
    *map = wider;
    return RP_OK;
}

void rp_idmap_release(struct rp_idmap *map)
{
    free(map->slots);
    *map = (struct rp_idmap){0};
}

void *rp_idmap_find(const struct rp_idmap *map, uint64_t id)
{
    return map->slot_count == 0 ? NULL : map->slots[locate(map, id)].value;
}

enum rp_status rp_idmap_insert(struct rp_idmap *map, uint64_t id, void *value)
{
    if (map->count * 2 >= map->slot_count && grow(map) != RP_OK)
        return RP_NO_MEMORY;
    map->slots[locate(map, id)] = (struct rp_idmap_slot){id, value};
    map->count++;
    return RP_OK;
}

void *rp_idmap_remove(struct rp_idmap *map, uint64_t id)
{
    size_t mask = map->slot_count - 1;
    void *value = rp_idmap_find(map, id);

    if (value == NULL)
        return NULL;
    /* Close the hole: pull back each follower whose way from home leads over it. */
    size_t hole = locate(map, id);
    for (size_t at = (hole + 1) & mask; map->slots[at].id != 0; at = (at + 1) & mask) {
        size_t distance = (at - home(map, map->slots[at].id)) & mask;
        if (distance >= ((at - hole) & mask)) {
            map->slots[hole] = map->slots[at];
            hole = at;
        }
    }
    map->slots[hole] = (struct rp_idmap_slot){0};
    map->count--;
    return value;
}

bool rp_idmap_validate(const struct rp_idmap *map)
{
    size_t count = 0;

    if (map->slot_count & (map->slot_count - 1))
        return false;
    for (size_t i = 0; i < map->slot_count; i++) {
        if ((map->slots[i].id == 0) != (map->slots[i].value == NULL))
            return false;
        if (map->slots[i].id == 0)
            continue;
        count++;
        if (locate(map, map->slots[i].id) != i)
            return false;
    }
    return count == map->count && count * 2 <= map->slot_count;
}
