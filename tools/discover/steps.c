/* SPDX-License-Identifier: Apache-2.0 */
/* What a step is: the range whose own kind holds most of the launches, again and again. */
#include "tools/discover/finding.h"

#include "tracker/array.h"

#include <stdlib.h>
#include <string.h>

struct tally {
    uint64_t count;    /* ranges of this kind that lie in none of the same name */
    uint64_t launches; /* in them */
};

static bool inside_its_own(const struct rp_story *story, const struct rp_story_range *range)
{
    for (uint32_t up = range->parent; up != RP_STORY_NONE; up = story->ranges[up].parent)
        if (story->ranges[up].name == range->name)
            return true;
    return false;
}

/* Of all threads. */
static uint64_t launches_in(const struct rp_story *story, size_t first, size_t end)
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

/* Of ranges: a name, or a series of names that are numbered through, counted behind the names. */
static uint32_t kind_of(const struct rp_story *story, const struct rp_series_of *series, size_t at)
{
    return series->of[at] == RP_STORY_NONE ? story->ranges[at].name
                                           : (uint32_t)story->names.count + series->of[at];
}

static const char *kind_name(const struct rp_story *story, const struct rp_series_of *series,
                             uint32_t kind)
{
    return kind < story->names.count ? rp_story_name(story, kind)
                                     : series->globs.items[kind - story->names.count];
}

/* The kind whose ranges hold the most launches, and the outermost of equals: it opened first. */
static uint32_t find_best(const struct rp_story *story, const struct rp_series_of *series,
                          struct tally *tallies, uint64_t all)
{
    uint32_t best = RP_STORY_NONE;

    for (size_t i = 0; i < story->range_count; i++) {
        const struct rp_story_range *range = &story->ranges[i];
        struct tally *tally = &tallies[kind_of(story, series, i)];
        if (inside_its_own(story, range))
            continue;
        tally->count++;
        tally->launches += launches_in(story, range->opened, range->closed);
    }
    for (size_t i = 0; i < story->range_count; i++) {
        uint32_t kind = kind_of(story, series, i);
        if (tallies[kind].count >= 2 && tallies[kind].launches * 2 > all &&
            (best == RP_STORY_NONE || tallies[kind].launches > tallies[best].launches))
            best = kind;
    }
    return best;
}

static void take_steps(struct rp_finding *finding, const struct rp_series_of *series, uint32_t kind,
                       const struct tally *tally, uint64_t all)
{
    const struct rp_story *story = finding->story;

    for (size_t i = 0; i < story->range_count; i++)
        if (kind_of(story, series, i) == kind && !inside_its_own(story, &story->ranges[i]))
            add_step(finding, story->ranges[i].opened, story->ranges[i].closed);
    snprintf(finding->step, sizeof(finding->step), "%s", kind_name(story, series, kind));
    snprintf(finding->step_evidence, sizeof(finding->step_evidence),
             "the range '%.100s' comes %llu times and holds %llu of %llu launches", finding->step,
             (unsigned long long)tally->count, (unsigned long long)tally->launches,
             (unsigned long long)all);
}

void rp_find_steps(struct rp_finding *finding)
{
    const struct rp_story *story = finding->story;
    uint64_t all = launches_in(story, 0, story->call_count);
    struct rp_series_of series;
    bool is_whole = rp_find_series(story, &series);
    struct tally *tallies = calloc(story->names.count + series.globs.count + 1, sizeof(*tallies));

    finding->no_memory |= !is_whole || !tallies;
    if (is_whole && tallies) {
        uint32_t best = find_best(story, &series, tallies, all);
        if (best != RP_STORY_NONE)
            take_steps(finding, &series, best, &tallies[best], all);
    }
    free(tallies);
    rp_series_release(&series);
}

size_t rp_find_step_of(const struct rp_finding *finding, size_t call)
{
    for (size_t i = 0; i < finding->step_count; i++)
        if (call >= finding->steps[i].forward && call < finding->steps[i].forward_end)
            return i;
    return SIZE_MAX;
}
