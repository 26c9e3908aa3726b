/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/alive.h"

#include "tracker/array.h"

#include <stdlib.h>
#include <string.h>

static bool grow(void **items, size_t count, size_t *capacity, size_t size)
{
    void *grown = rp_array_reserve(*items, capacity, count + 1, size);
    if (grown)
        *items = grown;
    return grown != NULL;
}

/* ---- segments ----------------------------------------------------------------- */

/* Names may hold ';', which separates frames, and line ends. */
static void clean(char *text)
{
    for (; *text; text++)
        if (*text == ';' || *text == '\n' || *text == '\r')
            *text = '_';
}

static bool open_segment(struct rp_alive *live, const struct rp_segment_note *note)
{
    char frame[sizeof(note->name) + 16];
    const char *open = live->segments ? live->segments : "";

    snprintf(frame, sizeof(frame), "%s %s", note->name, note->phase);
    clean(frame);
    char *joined = malloc(strlen(open) + strlen(frame) + 2);
    if (!joined)
        return false;
    sprintf(joined, "%s%s%s", open, *open ? ";" : "", frame);
    free(live->segments);
    live->segments = joined;
    return true;
}

static bool take_segment(struct rp_alive *live, const struct rp_event *event)
{
    struct rp_segment_note note;

    rp_event_segment(event, &note);
    if (note.begins)
        return open_segment(live, &note);
    char *last = live->segments ? strrchr(live->segments, ';') : NULL;
    if (last)
        *last = 0;
    else if (live->segments)
        *live->segments = 0;
    return true;
}

/* ---- allocations -------------------------------------------------------------- */

static size_t place_of(const struct rp_alive *live, uint64_t id)
{
    size_t low = 0, high = live->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (live->items[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static char *where_of(const struct rp_alive *live, const struct rp_group *group)
{
    const char *open = live->segments && *live->segments ? live->segments : "";
    const char *call = group->enters ? group->events[0].def->name : "unknown call";
    char *where = malloc(strlen(open) + strlen(call) + 2);
    if (where)
        sprintf(where, "%s%s%s", open, *open ? ";" : "", call);
    return where;
}

static bool is_device_memory(const char *kind)
{
    return strcmp(kind, "pinned") != 0 && strcmp(kind, "host") != 0;
}

static bool add(struct rp_alive *live, const struct rp_alive_allocation *item)
{
    size_t at = place_of(live, item->id);

    if (!grow((void **)&live->items, live->count, &live->capacity, sizeof(*item)))
        return false;
    memmove(live->items + at + 1, live->items + at, (live->count - at) * sizeof(*item));
    live->items[at] = *item;
    live->count++;
    live->bytes += item->on_device ? item->bytes : 0;
    return true;
}

static enum rp_alive_change take_allocation(struct rp_alive *live, const struct rp_group *group,
                                            const struct rp_event *event,
                                            struct rp_alive_allocation *item, bool *good)
{
    *item = (struct rp_alive_allocation){.id = rp_event_number(event, "allocation"),
                                         .bytes = rp_event_number(event, "bytes"),
                                         .address = rp_event_number(event, "address"),
                                         .where = where_of(live, group)};

    rp_event_text(event, "kind", item->kind, sizeof(item->kind));
    item->on_device = is_device_memory(item->kind);
    if (item->address == 0) { /* physical memory has none, but readers tell blocks by theirs */
        item->address = RP_ALIVE_UNMAPPED + live->unmapped_bytes;
        live->unmapped_bytes += item->bytes;
    }
    if (item->where && add(live, item))
        return RP_ALIVE_ALLOCATED;
    free(item->where);
    *good = false;
    return RP_ALIVE_NOTHING;
}

struct rp_alive_allocation *rp_alive_find(struct rp_alive *live, uint64_t id)
{
    size_t at = place_of(live, id);
    return at < live->count && live->items[at].id == id ? &live->items[at] : NULL;
}

static enum rp_alive_change take_free(struct rp_alive *live, const struct rp_event *event,
                                      struct rp_alive_allocation *freed)
{
    struct rp_alive_allocation *item = rp_alive_find(live, rp_event_number(event, "allocation"));

    if (!item)
        return RP_ALIVE_NOTHING;
    *freed = *item;
    live->bytes -= item->on_device ? item->bytes : 0;
    live->count--;
    memmove(item, item + 1, (size_t)(live->items + live->count - item) * sizeof(*item));
    return RP_ALIVE_FREED;
}

/* ---- what the layer holds ------------------------------------------------------ */

static enum rp_alive_change take_preserve(struct rp_alive *live, const struct rp_event *event,
                                          bool *good)
{
    uint64_t instance = rp_event_number(event, "instance");
    uint64_t bytes = rp_event_number(event, "bytes");

    live->held_bytes += bytes;
    for (size_t i = live->held_count; i-- > 0;)
        if (live->held[i].instance == instance) {
            live->held[i].bytes += bytes;
            return RP_ALIVE_HELD;
        }
    if (grow((void **)&live->held, live->held_count, &live->held_capacity, sizeof(*live->held)))
        live->held[live->held_count++] = (struct rp_alive_held){instance, bytes};
    else
        *good = false;
    return RP_ALIVE_HELD;
}

static enum rp_alive_change drop_instance(struct rp_alive *live, const struct rp_event *event)
{
    uint64_t instance = rp_event_number(event, "instance");
    struct rp_segment_note note;

    rp_event_segment(event, &note);
    if (!note.is_replay || note.begins)
        return RP_ALIVE_NOTHING;
    for (size_t i = 0; i < live->held_count; i++)
        if (live->held[i].instance == instance) {
            live->held_bytes -= live->held[i].bytes;
            live->held[i] = live->held[--live->held_count];
            return RP_ALIVE_HELD;
        }
    return RP_ALIVE_NOTHING;
}

/* ---- events ------------------------------------------------------------------- */

enum rp_alive_change rp_alive_take(struct rp_alive *live, const struct rp_group *group,
                                   const struct rp_event *event, struct rp_alive_allocation *item,
                                   bool *good)
{
    struct rp_alive_allocation own;
    enum rp_alive_change change = RP_ALIVE_NOTHING;

    if (rp_event_is(event, "note", "allocation")) {
        if (!live->beside)
            change = take_allocation(live, group, event, item ? item : &own, good);
    } else if (rp_event_is(event, "note", "free")) {
        change = take_free(live, event, item ? item : &own);
        if (change == RP_ALIVE_FREED && !item)
            free(own.where);
    } else if (rp_event_is(event, "note", "preserve")) {
        change = take_preserve(live, event, good);
    } else if (rp_event_is(event, "note", "segment")) {
        *good &= take_segment(live, event);
        change = drop_instance(live, event);
    }
    return change;
}

void rp_alive_release(struct rp_alive *live)
{
    for (size_t i = 0; i < live->count; i++)
        free(live->items[i].where);
    free(live->items);
    free(live->held);
    free(live->segments);
    *live = (struct rp_alive){0};
}
