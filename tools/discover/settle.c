/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/discover/settle.h"

#include <stdlib.h>

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* The first call after the moment. */
static size_t call_after(const struct rp_story *story, uint64_t moment)
{
    size_t low = 0, high = story->call_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (story->calls[middle].moment <= moment)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- calls ------------------------------------------------------------------------------ */

static int compare_calls(const void *a, const void *b)
{
    const struct rp_story_call *x = a, *y = b;
    int order = compare(x->moment, y->moment);
    return order ? order : compare(x->thread, y->thread);
}

static void settle_calls(struct rp_story *story, uint64_t until)
{
    if (story->call_count)
        qsort(story->calls, story->call_count, sizeof(*story->calls), compare_calls);
    story->call_count = call_after(story, until);
    if (story->call_count > RP_STORY_CALLS) {
        story->call_count = RP_STORY_CALLS;
        story->cut = true;
    }
}

/* ---- ranges ----------------------------------------------------------------------------- */

static int compare_ranges(const void *a, const void *b)
{
    const struct rp_story_range *x = a, *y = b;
    int order = compare(x->begun, y->begun);
    return order ? order : compare(x->first, y->first);
}

static void find_stretch(const struct rp_story *story, struct rp_story_range *range)
{
    size_t first = call_after(story, range->begun), end = call_after(story, range->ended);

    range->opened = first;
    range->closed = end;
    while (first < end && story->calls[first].thread != range->thread)
        first++;
    while (end > first && story->calls[end - 1].thread != range->thread)
        end--;
    range->first = first;
    range->end = end;
}

/* Calls and ranges name ranges by their places, which change. */
static void rename_ranges(struct rp_story *story, const uint32_t *places)
{
    for (size_t i = 0; i < story->call_count; i++)
        if (story->calls[i].range != RP_STORY_NONE)
            story->calls[i].range = places[story->calls[i].range];
    for (size_t i = 0; i < story->range_count; i++)
        if (story->ranges[i].parent != RP_STORY_NONE)
            story->ranges[i].parent = places[story->ranges[i].parent];
}

static void settle_ranges(struct rp_story *story)
{
    uint32_t *places = calloc(story->range_count + 1, sizeof(*places));

    story->no_memory |= !places;
    if (!places)
        return;
    if (story->range_count)
        qsort(story->ranges, story->range_count, sizeof(*story->ranges), compare_ranges);
    for (size_t i = 0; i < story->range_count; i++)
        places[story->ranges[i].first] = (uint32_t)i;
    rename_ranges(story, places);
    free(places);
    for (size_t i = 0; i < story->range_count; i++)
        find_stretch(story, &story->ranges[i]);
    while (story->cut && story->range_count &&
           story->ranges[story->range_count - 1].opened == story->call_count)
        story->range_count--; /* of what is left out */
}

/* ---- allocations ------------------------------------------------------------------------ */

static int compare_allocations(const void *a, const void *b)
{
    const struct rp_story_allocation *x = a, *y = b;
    int order = compare(x->id, y->id);
    return order ? order : compare(x->made, y->made);
}

/* A free stands behind what it frees, if that was made in the trace. */
static void join_frees(struct rp_story *story)
{
    size_t kept = 0;

    for (size_t i = 0; i < story->allocation_count; i++) {
        const struct rp_story_allocation now = story->allocations[i];
        if (now.made != UINT64_MAX)
            story->allocations[kept++] = now;
        else if (kept && story->allocations[kept - 1].id == now.id)
            story->allocations[kept - 1].freed = now.freed;
    }
    story->allocation_count = kept;
}

static void settle_allocations(struct rp_story *story)
{
    if (story->allocation_count)
        qsort(story->allocations, story->allocation_count, sizeof(*story->allocations),
              compare_allocations);
    join_frees(story);
    for (size_t i = 0; i < story->allocation_count; i++) {
        struct rp_story_allocation *allocation = &story->allocations[i];
        allocation->born = call_after(story, allocation->made);
        allocation->died = allocation->freed == UINT64_MAX ? SIZE_MAX
                                                           : call_after(story, allocation->freed);
    }
}

void rp_story_settle(struct rp_story *story, uint64_t until)
{
    settle_calls(story, until);
    settle_ranges(story);
    settle_allocations(story);
}
