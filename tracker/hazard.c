/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/hazard.h"

#include "tracker/array.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *meaning;
} kinds[RP_HAZARD_KIND_COUNT] = {
    [RP_HAZARD_STALE_READ] = {"stale-read",
                              "a replay read bytes that were overwritten since its forward"},
    [RP_HAZARD_FOREIGN_READ] = {"foreign-read",
                                "a replay read bytes that its forward did not read"},
    [RP_HAZARD_STATE_LEFT] = {"state-left", "a replay left live state changed"},
    [RP_HAZARD_LIVE_READ] = {"live-read",
                             "a call outside the replay read bytes while they were rewound"},
    [RP_HAZARD_NOT_PRESERVED] = {"not-preserved",
                                 "bytes were overwritten before they could be copied"},
    [RP_HAZARD_UNPROVED] = {"unproved", "it is not known what a call reads or writes"},
    [RP_HAZARD_UNPAIRED] = {"unpaired", "a replay began that no forward belongs to"},
    [RP_HAZARD_DIVERGED] = {"diverged", "a replay launched something else than its forward"},
    [RP_HAZARD_ASSUMED] = {"assumed", "nothing tells what was meant: a warning"},
};

const char *rp_hazard_kind_name(enum rp_hazard_kind kind)
{
    return kinds[kind].name;
}

const char *rp_hazard_kind_meaning(enum rp_hazard_kind kind)
{
    return kinds[kind].meaning;
}

enum rp_hazard_kind rp_hazard_kind_find(const char *name)
{
    int kind = 0;
    while (kind < RP_HAZARD_KIND_COUNT && strcmp(kinds[kind].name, name) != 0)
        kind++;
    return (enum rp_hazard_kind)kind;
}

bool rp_hazard_kind_wants_version(enum rp_hazard_kind kind)
{
    return kind == RP_HAZARD_STALE_READ || kind == RP_HAZARD_STATE_LEFT;
}

bool rp_hazard_kind_warns(enum rp_hazard_kind kind)
{
    return kind == RP_HAZARD_ASSUMED;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* What is assumed of a replay's call, it is assumed wherever that writes and whoever reads. */
static bool same_assumption(const struct rp_hazard *a, const struct rp_hazard *b)
{
    return a->assumed == b->assumed && a->allocation_bytes == b->allocation_bytes &&
           same_text(a->segment, b->segment) && same_text(a->buffer, b->buffer) &&
           same_text(a->other, b->other);
}

static bool same_hazard(const struct rp_hazard *a, const struct rp_hazard *b)
{
    if (a->kind == RP_HAZARD_ASSUMED && b->kind == RP_HAZARD_ASSUMED)
        return same_assumption(a, b);
    if (a->kind != b->kind || !same_text(a->segment, b->segment) ||
        !same_text(a->buffer, b->buffer) || !same_text(a->writer, b->writer) ||
        !same_text(a->reader, b->reader) || !same_text(a->other, b->other) ||
        !same_text(a->key, b->key))
        return false;
    return a->buffer || (a->allocation_bytes == b->allocation_bytes && a->offset == b->offset);
}

static enum rp_hazard_news meet_again(struct rp_hazard *known, uint32_t step)
{
    bool is_new = known->last_step != step;
    known->count++;
    known->last_step = step;
    return is_new ? RP_HAZARD_NEW_IN_STEP : RP_HAZARD_KNOWN;
}

enum rp_status rp_hazards_add(struct rp_hazards *list, const struct rp_hazard *hazard,
                              enum rp_hazard_news *news)
{
    enum rp_hazard_news unasked;
    news = news ? news : &unasked;
    *news = RP_HAZARD_KNOWN;
    for (size_t i = 0; i < list->count; i++) {
        if (same_hazard(&list->items[i], hazard)) {
            *news = meet_again(&list->items[i], hazard->step);
            return RP_OK;
        }
    }
    struct rp_hazard *bigger = rp_array_reserve(list->items, &list->capacity, list->count + 1,
                                                sizeof *bigger);
    if (!bigger)
        return RP_NO_MEMORY;
    list->items = bigger;
    struct rp_hazard *added = &list->items[list->count];
    *added = *hazard;
    added->count = 1;
    added->last_step = hazard->step;
    added->order = list->count++;
    *news = RP_HAZARD_NEW;
    return RP_OK;
}

void rp_hazards_release(struct rp_hazards *list)
{
    free(list->items);
    *list = (struct rp_hazards){0};
}

static int by_damage(const void *left, const void *right)
{
    const struct rp_hazard *a = left, *b = right;
    if (a->harmless != b->harmless)
        return a->harmless ? 1 : -1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->instance < b->instance ? -1 : a->instance > b->instance;
}

void rp_hazards_sort(struct rp_hazards *list)
{
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_damage);
}
