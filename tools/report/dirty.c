/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/report/dirty.h"

#include "tools/report/slices.h"

#include <stdlib.h>
#include <string.h>

enum { FEWEST_WRITES = 3 }; /* activations, written once and freed, make no picture */

/* ---- choosing ------------------------------------------------------------------- */

bool rp_dirty_offer(struct rp_dirty *dirty, const struct rp_alive_allocation *item)
{
    size_t at = dirty->count;

    if (item->weight < FEWEST_WRITES || item->bytes == 0)
        return true;
    if (!dirty->maps && !(dirty->maps = calloc(RP_DIRTY_MAPS + 1, sizeof(*dirty->maps))))
        return false;
    while (at > 0 && dirty->maps[at - 1].weight < item->weight)
        at--;
    if (at == RP_DIRTY_MAPS)
        return true;
    memmove(dirty->maps + at + 1, dirty->maps + at, (dirty->count - at) * sizeof(*dirty->maps));
    struct rp_dirty_map *map = &dirty->maps[at];
    memset(map, 0, sizeof(*map));
    map->allocation = item->id;
    map->bytes = item->bytes;
    map->weight = item->weight;
    memcpy(map->kind, item->kind, sizeof(map->kind));
    if (dirty->count < RP_DIRTY_MAPS)
        dirty->count++;
    return true;
}

/* ---- drawing -------------------------------------------------------------------- */

static struct rp_dirty_map *map_of(struct rp_dirty *dirty, uint64_t allocation)
{
    for (size_t i = 0; i < dirty->count; i++)
        if (dirty->maps[i].allocation == allocation)
            return &dirty->maps[i];
    return NULL;
}

/* floor(value * cells / whole) without overflow, and inside. */
static size_t cell_of(uint64_t value, uint64_t whole, size_t cells)
{
    size_t cell = (size_t)((double)value / (double)whole * (double)cells);
    return cell < cells ? cell : cells - 1;
}

static void mark(struct rp_dirty *dirty, struct rp_dirty_map *map, const struct rp_event *event,
                 uint8_t layer)
{
    uint64_t offset = rp_event_number(event, "offset"), bytes = rp_event_number(event, "bytes");

    if (offset >= map->bytes || bytes == 0 || dirty->end_ns == 0)
        return;
    if (bytes > map->bytes - offset)
        bytes = map->bytes - offset;
    size_t time = cell_of(event->time_ns, dirty->end_ns, RP_DIRTY_TIMES);
    size_t last = cell_of(offset + bytes - 1, map->bytes, RP_DIRTY_PLACES);
    for (size_t at = cell_of(offset, map->bytes, RP_DIRTY_PLACES); at <= last; at++) {
        if (layer)
            map->layer[at][time] |= layer;
        else
            map->writes[at][time]++;
    }
}

void rp_dirty_take(struct rp_dirty *dirty, const struct rp_event *event)
{
    struct rp_dirty_map *map;
    const char *name = event->def->name;
    char effect[16];

    if (strcmp(event->def->class_, "note") != 0 ||
        !(map = map_of(dirty, rp_event_number(event, "allocation"))))
        return;
    if (strcmp(name, "access") == 0) {
        if (strcmp(rp_event_text(event, "effect", effect, sizeof(effect)), "read") != 0)
            mark(dirty, map, event, 0);
    } else if (strcmp(name, "preserve") == 0) {
        mark(dirty, map, event, 1);
    } else if (strcmp(name, "restore") == 0 || strcmp(name, "reinstate") == 0) {
        mark(dirty, map, event, 2);
    } else if (strcmp(name, "buffer") == 0 && map->name[0] == 0) {
        rp_event_text(event, "buffer", map->name, sizeof(map->name));
    } else if (strcmp(name, "allocation") == 0) {
        map->born_ns = event->time_ns;
        if (map->name[0] == 0)
            rp_event_text(event, "name", map->name, sizeof(map->name));
    }
}

/* ---- writing -------------------------------------------------------------------- */

/* Counts on a scale that a byte holds and the eye can tell apart: 0, 1, 2, 3-4, 5-8, ... */
static uint8_t level(uint32_t count)
{
    return count ? (uint8_t)(1 + 32 - __builtin_clz(count) - (count & (count - 1) ? 0 : 1)) : 0;
}

static void map_json(const struct rp_dirty_map *map, struct rp_builder *out)
{
    uint8_t cells[RP_DIRTY_PLACES][RP_DIRTY_TIMES];

    for (size_t place = 0; place < RP_DIRTY_PLACES; place++)
        for (size_t time = 0; time < RP_DIRTY_TIMES; time++)
            cells[place][time] =
                (uint8_t)(level(map->writes[place][time]) | map->layer[place][time] << 6);
    rp_builder_printf(out, "{\"allocation\":%llu,\"bytes\":%llu,\"born_ns\":%llu,\"kind\":",
                      (unsigned long long)map->allocation, (unsigned long long)map->bytes,
                      (unsigned long long)map->born_ns);
    rp_builder_json(out, map->kind, strlen(map->kind));
    rp_builder_puts(out, ",\"name\":");
    rp_builder_json(out, map->name, strlen(map->name));
    rp_builder_puts(out, ",\"cells\":");
    rp_builder_base64(out, cells, sizeof(cells));
    rp_builder_char(out, '}');
}

void rp_dirty_json(const struct rp_dirty *dirty, struct rp_builder *out)
{
    rp_builder_printf(out, "{\"times\":%d,\"places\":%d,\"maps\":[", RP_DIRTY_TIMES,
                      RP_DIRTY_PLACES);
    for (size_t i = 0; i < dirty->count; i++) {
        if (i > 0)
            rp_builder_char(out, ',');
        map_json(&dirty->maps[i], out);
    }
    rp_builder_puts(out, "]}");
}

void rp_dirty_release(struct rp_dirty *dirty)
{
    free(dirty->maps);
    *dirty = (struct rp_dirty){0};
}
