/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/object.h"

#include "interpose/calls/array.h"
#include "interpose/run/core.h"
#include "interpose/run/report.h"

#include <stdlib.h>
#include <string.h>

static struct object {
    uint64_t handle, address, array;
} *objects;
static size_t object_count, object_capacity;

static struct map {
    unsigned char content[sizeof(CUtensorMap)];
    uint64_t address;
} *maps;
static size_t map_count, map_capacity;
static bool incomplete; /* one could not be written down */

static bool make_room(void **items, size_t size, size_t count, size_t *capacity)
{
    if (count < *capacity)
        return true;
    size_t more = *capacity ? *capacity * 2 : 16;
    void *bigger = realloc(*items, more * size);
    incomplete |= !bigger;
    if (!bigger)
        return false;
    *items = bigger;
    *capacity = more;
    return true;
}

void rp_object_known(uint64_t handle, uint64_t address, uint64_t array)
{
    rp_object_forget(handle);
    if (make_room((void **)&objects, sizeof *objects, object_count, &object_capacity))
        objects[object_count++] = (struct object){handle, address, array};
}

void rp_object_forget(uint64_t handle)
{
    for (size_t i = 0; i < object_count; i++)
        if (objects[i].handle == handle)
            objects[i--] = objects[--object_count];
}

void rp_object_map_known(const CUtensorMap *content, uint64_t address)
{
    for (size_t i = 0; i < map_count; i++)
        if (memcmp(maps[i].content, content, sizeof *content) == 0)
            return; /* the same content means the same address */
    if (!make_room((void **)&maps, sizeof *maps, map_count, &map_capacity))
        return;
    memcpy(maps[map_count].content, content, sizeof *content);
    maps[map_count++].address = address;
}

bool rp_object_map_find(const unsigned char *map, uint64_t *address)
{
    for (size_t i = 0; i < map_count; i++)
        if (memcmp(maps[i].content, map, sizeof maps[i].content) == 0) {
            *address = maps[i].address;
            return true;
        }
    return false;
}

static enum rp_status reach_address(struct rp_footprint *call, uint64_t address, unsigned effects)
{
    enum rp_status status = RP_OK;
    for (unsigned effect = RP_READ; status == RP_OK && effect <= RP_WRITE; effect++) {
        if (!(effects & effect))
            continue;
        status = rp_footprint_root(call, address,
                                   (struct rp_reach){.effect = (enum rp_effect)effect,
                                                     .verdict = RP_VERDICT_REACHABLE});
        if (status == RP_NOT_FOUND)
            status = RP_OK;
    }
    return status;
}

static enum rp_status reach_array(struct rp_footprint *call, uint64_t array, unsigned effects)
{
    enum rp_status status = RP_OK;
    if (effects & RP_READ)
        status = rp_array_reach(call, array, RP_READ);
    if (status == RP_OK && (effects & RP_WRITE))
        status = rp_array_reach(call, array, RP_WRITE);
    return status;
}

static enum rp_status reach_object(struct rp_footprint *call, uint64_t handle, unsigned effects)
{
    for (size_t i = 0; i < object_count; i++)
        if (objects[i].handle == handle)
            return objects[i].array ? reach_array(call, objects[i].array, effects)
                                    : reach_address(call, objects[i].address, effects);
    return RP_OK;
}

static enum rp_status reach_map(struct rp_footprint *call, const unsigned char *content,
                                unsigned effects)
{
    uint64_t address;
    return rp_object_map_find(content, &address) ? reach_address(call, address, effects) : RP_OK;
}

enum rp_status rp_object_reach(struct rp_footprint *call, const unsigned char *params,
                               size_t bytes, unsigned effects)
{
    enum rp_status status = RP_OK;
    if (incomplete)
        return rp_footprint_everything(call, effects & RP_WRITE ? RP_WRITE : RP_READ);
    for (size_t at = 0; object_count && status == RP_OK && at + 8 <= bytes; at++) {
        uint64_t word;
        memcpy(&word, params + at, sizeof word);
        if (word)
            status = reach_object(call, word, effects);
    }
    for (size_t at = 0; map_count && status == RP_OK && at + sizeof(CUtensorMap) <= bytes; at++)
        status = reach_map(call, params + at, effects);
    return status;
}

void rp_objects_forget(void)
{
    object_count = map_count = 0;
    incomplete = false;
}
