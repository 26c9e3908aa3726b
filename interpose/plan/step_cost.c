/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/step_cost.h"

#include <stdlib.h>

void rp_step_cost_clear(struct rp_step_cost *cost)
{
    const struct rp_step_cost old = *cost;
    *cost = (struct rp_step_cost){.parts = old.parts, .capacity = old.capacity, .notes = old.notes};
    rp_notes_clear(&cost->notes);
}

void rp_step_cost_release(struct rp_step_cost *cost)
{
    free(cost->parts);
    rp_notes_release(&cost->notes);
    *cost = (struct rp_step_cost){0};
}

static bool make_room(struct rp_step_cost *cost, size_t count)
{
    if (count <= cost->capacity)
        return true;
    size_t capacity = cost->capacity ? cost->capacity * 2 : 16;
    while (capacity < count)
        capacity *= 2;
    struct rp_part *bigger = realloc(cost->parts, capacity * sizeof *bigger);
    if (!bigger)
        return false;
    cost->parts = bigger;
    cost->capacity = capacity;
    return true;
}

struct rp_part *rp_step_cost_part(struct rp_step_cost *cost, uint32_t place)
{
    if (place >= RP_PROFILE_MAX_SEGMENTS || !make_room(cost, place + 1))
        return NULL;
    for (; cost->count <= place; cost->count++)
        cost->parts[cost->count] = (struct rp_part){0};
    return &cost->parts[place];
}
