/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/hazard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    const char *advice;
} kinds[RP_HAZARD_KIND_COUNT] = {
    [RP_HAZARD_STALE_READ] = {"stale-read", "run under -m guard, which restores these bytes for "
                                            "the replay"},
    [RP_HAZARD_FOREIGN_READ] = {"foreign-read", "make the replay read what the forward read, or "
                                                "keep the forward's buffer alive"},
    [RP_HAZARD_STATE_LEFT] = {"state-left", "run under -m guard, which reinstates these bytes "
                                            "after the replay"},
    [RP_HAZARD_LIVE_READ] = {"live-read", "order this call before or after the replay"},
    [RP_HAZARD_NOT_PRESERVED] = {"not-preserved", "give the layer memory for its copies (a larger "
                                                  "--budget), or retain this segment"},
    [RP_HAZARD_UNPROVED] = {"unproved", "declare the buffers that this call writes, or keep it out "
                                        "of the segment"},
    [RP_HAZARD_UNPAIRED] = {"unpaired", "check the contract's segment rules: the replay began "
                                        "without a forward to repeat"},
    [RP_HAZARD_DIVERGED] = {"diverged", "the job itself replays other launches; look for host "
                                        "state that changed in between"},
};

const char *rp_hazard_kind_name(enum rp_hazard_kind kind)
{
    return kinds[kind].name;
}

const char *rp_hazard_advice(enum rp_hazard_kind kind, bool declared)
{
    if (kind == RP_HAZARD_STALE_READ && !declared)
        return "declare this buffer in the contract, or set \"state\": \"discovered\"";
    return kinds[kind].advice;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_hazard(const struct rp_hazard *a, const struct rp_hazard *b)
{
    if (a->kind != b->kind || !same_text(a->segment, b->segment) ||
        !same_text(a->buffer, b->buffer) || !same_text(a->writer, b->writer) ||
        !same_text(a->reader, b->reader))
        return false;
    return a->buffer || (a->allocation_bytes == b->allocation_bytes && a->offset == b->offset);
}

enum rp_status rp_hazards_add(struct rp_hazards *list, const struct rp_hazard *hazard,
                              bool *is_new)
{
    if (is_new)
        *is_new = false;
    for (size_t i = 0; i < list->count; i++) {
        if (same_hazard(&list->items[i], hazard)) {
            list->items[i].count++;
            return RP_OK;
        }
    }
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 16;
        struct rp_hazard *bigger = realloc(list->items, capacity * sizeof *bigger);
        if (!bigger)
            return RP_NO_MEMORY;
        list->items = bigger;
        list->capacity = capacity;
    }
    struct rp_hazard *added = &list->items[list->count];
    *added = *hazard;
    added->count = 1;
    added->order = list->count++;
    if (is_new)
        *is_new = true;
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

static void describe_bytes(const struct rp_hazard *hazard, char *text, size_t size)
{
    if (hazard->buffer)
        snprintf(text, size, "%s bytes %" PRIu64 "..%" PRIu64, hazard->buffer, hazard->offset,
                 hazard->offset + hazard->bytes);
    else if (hazard->allocation)
        snprintf(text, size, "allocation %" PRIu64 " (%" PRIu64 " bytes) bytes %" PRIu64
                             "..%" PRIu64,
                 hazard->allocation, hazard->allocation_bytes, hazard->offset,
                 hazard->offset + hazard->bytes);
    else
        snprintf(text, size, "no bytes");
}

void rp_hazard_format(const struct rp_hazard *hazard, char *text, size_t size)
{
    char bytes[256], writer[256] = "";
    describe_bytes(hazard, bytes, sizeof bytes);
    if (hazard->writer)
        snprintf(writer, sizeof writer, ", written by %s (step %" PRIu32 ", launch %" PRIu64 ")",
                 hazard->writer, hazard->written.step, hazard->written.launch);
    snprintf(text, size, "%s: %s%s%s%s%s in step %" PRIu32 ": %s, version %" PRIu64
                         " where %" PRIu64 " was wanted%s",
             rp_hazard_kind_name(hazard->kind), hazard->segment ? "segment " : "",
             hazard->segment ? hazard->segment : "no segment", hazard->reader ? ", at " : "",
             hazard->reader ? hazard->reader : "", "", hazard->step, bytes, hazard->version_read,
             hazard->version_wanted, writer);
}
