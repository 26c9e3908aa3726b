/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/name.h"

#include "tracker/array.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct rp_names {
    char **texts; /* by id - 1 */
    size_t capacity;
    uint32_t count;
    uint32_t *slots; /* open addressing, ids, 0 is free; a power of two, at most half full */
    uint32_t slot_count;
};

enum rp_status rp_names_create(struct rp_names **out)
{
    struct rp_names *names = calloc(1, sizeof *names);
    if (!names)
        return RP_NO_MEMORY;
    names->slot_count = 256;
    names->slots = calloc(names->slot_count, sizeof *names->slots);
    if (!names->slots) {
        free(names);
        return RP_NO_MEMORY;
    }
    *out = names;
    return RP_OK;
}

/* The slot that holds `text`, or the free one where it belongs. */
static uint32_t *slot_of(const struct rp_names *names, const char *text)
{
    uint32_t mask = names->slot_count - 1;
    uint32_t at = (uint32_t)XXH3_64bits(text, strlen(text)) & mask;
    while (names->slots[at] && strcmp(names->texts[names->slots[at] - 1], text) != 0)
        at = (at + 1) & mask;
    return &names->slots[at];
}

static enum rp_status widen(struct rp_names *names)
{
    char **bigger = rp_array_reserve(names->texts, &names->capacity, (size_t)names->count + 1,
                                     sizeof *bigger);
    if (!bigger)
        return RP_NO_MEMORY;
    names->texts = bigger;
    if (names->count * 2 < names->slot_count)
        return RP_OK;
    uint32_t *old = names->slots;
    uint32_t *slots = calloc(names->slot_count * 2, sizeof *slots);
    if (!slots)
        return RP_NO_MEMORY;
    names->slots = slots;
    names->slot_count *= 2;
    for (uint32_t id = 1; id <= names->count; id++)
        *slot_of(names, names->texts[id - 1]) = id;
    free(old);
    return RP_OK;
}

uint32_t rp_names_id(struct rp_names *names, const char *text)
{
    uint32_t id = *slot_of(names, text);
    if (id)
        return id;
    if (widen(names) != RP_OK)
        return 0;
    char *copy = strdup(text);
    if (!copy)
        return 0;
    names->texts[names->count++] = copy;
    *slot_of(names, text) = names->count;
    return names->count;
}

const char *rp_names_text(const struct rp_names *names, uint32_t id)
{
    return id && id <= names->count ? names->texts[id - 1] : "?";
}
