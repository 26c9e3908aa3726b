/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/growth.h"

#include "cuda/switches.h"

/* Of what a step takes; less does not tell. */
enum { TELLING_SHARE = 200 };

/* What is known of the segment: a keeping a step. */
struct keepings {
    const struct rp_keeping *items[RP_COST_STEPS + 1];
    size_t count;
    size_t chain; /* segments in a step */
};

static void add_step(struct keepings *keepings, const struct rp_step_cost *step, size_t place,
                     size_t member)
{
    const char *part = (const char *)&step->parts[place];
    keepings->items[keepings->count++] = (const struct rp_keeping *)(const void *)(part + member);
}

static struct rp_later later_of(const struct rp_kept_from *from)
{
    return (struct rp_later){.backward = from->backward, .segment = from->place};
}

static size_t event_of(const struct keepings *keepings, const struct rp_kept_from *from)
{
    const struct rp_later later = later_of(from);
    return rp_later_event(&later, keepings->chain);
}

/* At an event, in the step that had most. */
static uint64_t held_at(const struct keepings *keepings, size_t event)
{
    uint64_t most = 0;
    for (size_t i = 0; i < keepings->count; i++) {
        const struct rp_keeping *keeping = keepings->items[i];
        uint64_t held = keeping->held.blocks;
        for (size_t j = 0; j < keeping->later_count; j++)
            if (event_of(keepings, &keeping->later[j]) > event)
                held -= keeping->later[j].blocks; /* which is part of it */
        most = held > most ? held : most;
    }
    return most;
}

/* The first moment after `event` at which any step's grew, or NULL. */
static const struct rp_kept_from *next_after(const struct keepings *keepings, size_t event)
{
    const struct rp_kept_from *next = NULL;
    for (size_t i = 0; i < keepings->count; i++)
        for (size_t j = 0; j < keepings->items[i]->later_count; j++) {
            const struct rp_kept_from *from = &keepings->items[i]->later[j];
            size_t at = event_of(keepings, from);
            if (at > event && (!next || at < event_of(keepings, next)))
                next = from;
        }
    return next;
}

void rp_growth_find(const struct rp_sample *sample, size_t place, size_t member,
                    struct rp_growth_of *growth)
{
    struct keepings keepings = {.chain = sample->steps[0]->count};
    if (sample->first)
        add_step(&keepings, sample->first, place, member);
    for (size_t i = 0; i < sample->count; i++)
        add_step(&keepings, sample->steps[i], place, member);
    size_t event = place;
    *growth = (struct rp_growth_of){.start = held_at(&keepings, event)};
    growth->held = growth->start;
    for (const struct rp_kept_from *from; (from = next_after(&keepings, event));) {
        event = event_of(&keepings, from);
        uint64_t held = held_at(&keepings, event);
        if (held == growth->held)
            continue;
        struct rp_later later = later_of(from);
        later.bytes = held - growth->held;
        growth->later[growth->count++] = later;
        growth->held = held;
    }
}

static uint64_t grown(const struct rp_sample *sample, size_t place, size_t member)
{
    struct rp_growth_of growth;
    rp_growth_find(sample, place, member, &growth);
    return growth.held - growth.start;
}

bool rp_growth_tells(const struct rp_sample *sample)
{
    const struct rp_step_cost *step = sample->steps[0];
    uint64_t later = 0;
    for (size_t k = 0; k < step->count; k++) {
        uint64_t state = grown(sample, k, RP_PART(state));
        uint64_t outputs = grown(sample, k, RP_PART(outputs));
        later += state > outputs ? state : outputs;
    }
    return step->count <= RP_PROFILE_MAX_LATER && later > step->peak / TELLING_SHARE &&
           rp_switch_on(RP_SWITCH_LATER);
}
