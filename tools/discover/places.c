/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/discover/finding.h"

#include "tracker/array.h"

#include <stdlib.h>

static struct rp_place *find(const struct rp_places *places, uint64_t allocation)
{
    for (size_t i = 0; i < places->count; i++)
        if (places->items[i].allocation == allocation)
            return &places->items[i];
    return NULL;
}

void rp_places_add(struct rp_places *places, const struct rp_story_access *access)
{
    struct rp_place *place = find(places, access->allocation);
    if (!place) {
        struct rp_place *grown = rp_array_reserve(places->items, &places->capacity,
                                                  places->count + 1, sizeof(*grown));
        places->no_memory |= !grown;
        if (!grown)
            return;
        places->items = grown;
        place = &places->items[places->count++];
        *place = (struct rp_place){.allocation = access->allocation};
    }
    places->no_memory |= rp_spans_add(&place->spans, access->lo, access->hi) != RP_OK;
}

bool rp_places_cover(const struct rp_places *places, const struct rp_story_access *access)
{
    const struct rp_place *place = find(places, access->allocation);
    return place && rp_spans_covers(&place->spans, access->lo, access->hi);
}

bool rp_places_overlap(const struct rp_places *places, const struct rp_story_access *access)
{
    const struct rp_place *place = find(places, access->allocation);
    return place && rp_spans_overlaps(&place->spans, access->lo, access->hi);
}

void rp_places_release(struct rp_places *places)
{
    for (size_t i = 0; i < places->count; i++)
        rp_spans_release(&places->items[i].spans);
    free(places->items);
    *places = (struct rp_places){0};
}
