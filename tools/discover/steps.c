/* SPDX-License-Identifier: Apache-2.0 */
/* What a step is: the range whose own kind holds most of the launches, again and again. */
#include "tools/discover/finding.h"

#include "tracker/array.h"

#include <stdlib.h>
#include <string.h>

struct tally {
    uint64_t count;    /* ranges of this name that lie in none of the same name */
    uint64_t launches; /* in them */
};

static bool inside_its_own(const struct rp_story *story, const struct rp_story_range *range)
{
    for (uint32_t up = range->parent; up != RP_STORY_NONE; up = story->ranges[up].parent)
        if (story->ranges[up].name == range->name)
            return true;
    return false;
}

uint64_t rp_find_launches_in(const struct rp_story *story, size_t first, size_t end)
{
    uint64_t count = 0;
    for (size_t i = first; i < end; i++)
        count += story->calls[i].is_launch;
    return count;
}

static bool add_step(struct rp_finding *finding, size_t first, size_t end)
{
    struct rp_occurrence *grown =
        rp_array_reserve(finding->steps, &finding->step_capacity, finding->step_count + 1,
                         sizeof(*finding->steps));
    if (!grown) {
        finding->no_memory = true;
        return false;
    }
    finding->steps = grown;
    finding->steps[finding->step_count++] = (struct rp_occurrence){first, end, 0, 0};
    return true;
}

/* The name whose ranges hold the most launches, and the outermost of equals: it opened first. */
void rp_find_steps(struct rp_finding *finding)
{
    const struct rp_story *story = finding->story;
    struct tally *tallies = calloc(story->names.count + 1, sizeof(*tallies));
    uint64_t all = rp_find_launches_in(story, 0, story->call_count);
    uint32_t best = RP_STORY_NONE;

    finding->no_memory |= !tallies;
    for (size_t i = 0; tallies && i < story->range_count; i++) {
        const struct rp_story_range *range = &story->ranges[i];
        if (inside_its_own(story, range))
            continue;
        tallies[range->name].count++;
        tallies[range->name].launches += rp_find_launches_in(story, range->first, range->end);
    }
    for (size_t i = 0; tallies && i < story->range_count; i++) {
        uint32_t name = story->ranges[i].name;
        if (tallies[name].count >= 2 && tallies[name].launches * 2 > all &&
            (best == RP_STORY_NONE || tallies[name].launches > tallies[best].launches))
            best = name;
    }
    for (size_t i = 0; best != RP_STORY_NONE && i < story->range_count; i++)
        if (story->ranges[i].name == best && !inside_its_own(story, &story->ranges[i]))
            add_step(finding, story->ranges[i].first, story->ranges[i].end);
    if (best != RP_STORY_NONE) {
        snprintf(finding->step, sizeof(finding->step), "%s", rp_story_name(story, best));
        snprintf(finding->step_evidence, sizeof(finding->step_evidence),
                 "the range '%.100s' comes %llu times and holds %llu of %llu launches",
                 finding->step, (unsigned long long)tallies[best].count,
                 (unsigned long long)tallies[best].launches, (unsigned long long)all);
    }
    free(tallies);
}

size_t rp_find_step_of(const struct rp_finding *finding, size_t call)
{
    for (size_t i = 0; i < finding->step_count; i++)
        if (call >= finding->steps[i].forward && call < finding->steps[i].forward_end)
            return i;
    return SIZE_MAX;
}
