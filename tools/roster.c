/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/roster.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static size_t slot_of(const struct rp_roster *roster, const char *name)
{
    size_t mask = roster->slot_count - 1, at = XXH3_64bits(name, strlen(name)) & mask;
    while (roster->slots[at] && strcmp(roster->items[roster->slots[at] - 1], name) != 0)
        at = (at + 1) & mask;
    return at;
}

static bool grow(struct rp_roster *roster)
{
    size_t slot_count = roster->slot_count ? 2 * roster->slot_count : 64;
    char **items = realloc(roster->items, slot_count / 2 * sizeof(*items));
    uint32_t *slots = calloc(slot_count, sizeof(*slots));

    if (items)
        roster->items = items;
    if (!items || !slots) {
        free(slots);
        return false;
    }
    free(roster->slots);
    roster->slots = slots;
    roster->slot_count = slot_count;
    roster->capacity = slot_count / 2;
    for (size_t i = 0; i < roster->count; i++)
        roster->slots[slot_of(roster, roster->items[i])] = (uint32_t)i + 1;
    return true;
}

uint32_t rp_roster_number(struct rp_roster *roster, const char *name)
{
    if (roster->count == roster->capacity && !grow(roster)) {
        roster->no_memory = true;
        return 0;
    }
    size_t at = slot_of(roster, name);
    if (roster->slots[at])
        return roster->slots[at] - 1;
    char *copy = strdup(name);
    if (!copy) {
        roster->no_memory = true;
        return 0;
    }
    roster->items[roster->count++] = copy;
    roster->slots[at] = (uint32_t)roster->count;
    return (uint32_t)roster->count - 1;
}

void rp_roster_json(const struct rp_roster *roster, struct rp_builder *out)
{
    rp_builder_char(out, '[');
    for (size_t i = 0; i < roster->count; i++) {
        if (i > 0)
            rp_builder_char(out, ',');
        rp_builder_json(out, roster->items[i], strlen(roster->items[i]));
    }
    rp_builder_char(out, ']');
}

void rp_roster_release(struct rp_roster *roster)
{
    for (size_t i = 0; i < roster->count; i++)
        free(roster->items[i]);
    free(roster->items);
    free(roster->slots);
    *roster = (struct rp_roster){0};
}
