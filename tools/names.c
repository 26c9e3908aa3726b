/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/names.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static size_t slot_of(const struct rp_names *names, const char *name)
{
    size_t mask = names->slot_count - 1, at = XXH3_64bits(name, strlen(name)) & mask;
    while (names->slots[at] && strcmp(names->items[names->slots[at] - 1], name) != 0)
        at = (at + 1) & mask;
    return at;
}

static bool grow(struct rp_names *names)
{
    size_t slot_count = names->slot_count ? 2 * names->slot_count : 64;
    char **items = realloc(names->items, slot_count / 2 * sizeof(*items));
    uint32_t *slots = calloc(slot_count, sizeof(*slots));

    if (items)
        names->items = items;
    if (!items || !slots) {
        free(slots);
        return false;
    }
    free(names->slots);
    names->slots = slots;
    names->slot_count = slot_count;
    names->capacity = slot_count / 2;
    for (size_t i = 0; i < names->count; i++)
        names->slots[slot_of(names, names->items[i])] = (uint32_t)i + 1;
    return true;
}

uint32_t rp_names_of(struct rp_names *names, const char *name)
{
    if (names->count == names->capacity && !grow(names)) {
        names->no_memory = true;
        return 0;
    }
    size_t at = slot_of(names, name);
    if (names->slots[at])
        return names->slots[at] - 1;
    char *copy = strdup(name);
    if (!copy) {
        names->no_memory = true;
        return 0;
    }
    names->items[names->count++] = copy;
    names->slots[at] = (uint32_t)names->count;
    return (uint32_t)names->count - 1;
}

void rp_names_json(const struct rp_names *names, struct rp_builder *out)
{
    rp_builder_char(out, '[');
    for (size_t i = 0; i < names->count; i++) {
        if (i > 0)
            rp_builder_char(out, ',');
        rp_builder_json(out, names->items[i], strlen(names->items[i]));
    }
    rp_builder_char(out, ']');
}

void rp_names_release(struct rp_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
    free(names->slots);
    *names = (struct rp_names){0};
}
