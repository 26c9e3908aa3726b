/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/discover/story.h"

#include <stdlib.h>

void rp_story_release(struct rp_story *story)
{
    rp_roster_release(&story->names);
    free(story->calls);
    free(story->accesses);
    free(story->arguments);
    free(story->ranges);
    free(story->allocations);
    *story = (struct rp_story){0};
}

const struct rp_story_allocation *rp_story_allocation(const struct rp_story *story, uint64_t id)
{
    size_t low = 0, high = story->allocation_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (story->allocations[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < story->allocation_count && story->allocations[low].id == id
               ? &story->allocations[low]
               : NULL;
}

size_t rp_story_next(const struct rp_story *story, size_t call, size_t end)
{
    size_t next = call + 1;
    while (next < end && story->calls[next].thread != story->calls[call].thread)
        next++;
    return next < end ? next : end;
}

bool rp_story_holds(const struct rp_story *story, size_t outer, size_t outer_end, size_t inner,
                    size_t inner_end)
{
    return outer <= inner && inner_end <= outer_end &&
           story->calls[outer].thread == story->calls[inner].thread;
}

const struct rp_story_access *rp_story_walk(struct rp_story_walk *walk)
{
    while (walk->call < walk->end) {
        const struct rp_story_call *call = &walk->story->calls[walk->call];
        if (walk->nth < call->access_count)
            return &walk->story->accesses[call->access + walk->nth++];
        walk->call = rp_story_next(walk->story, walk->call, walk->end);
        walk->nth = 0;
    }
    return NULL;
}

const char *rp_story_name(const struct rp_story *story, uint32_t name)
{
    return name < story->names.count ? story->names.items[name] : "";
}
