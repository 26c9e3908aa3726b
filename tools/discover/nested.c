/* SPDX-License-Identifier: Apache-2.0 */
/* Replays that hold other replays, as those of a chain do that make their inputs again, launch more
 * than their forwards: no comparison of whole ranges finds them. What is compared is their own
 * launches. Where these come in pieces it is less sure that they are replays, and where they read
 * other parameters and state they are told as left out. */
#include "tools/discover/finding.h"

static size_t next_own(const struct rp_story *story, uint32_t range, size_t at)
{
    while (at < story->ranges[range].end &&
           (!story->calls[at].is_launch || story->calls[at].range != range))
        at++;
    return at;
}

/* Some of what is launched in it, another range within it launches. */
static bool holds_others(const struct rp_story *story, uint32_t range, size_t first, size_t end)
{
    for (size_t at = first; at < end; at = rp_story_next(story, at, end))
        if (story->calls[at].is_launch && story->calls[at].range != range)
            return true;
    return false;
}

static bool holds_other_ranges(const struct rp_story *story, uint32_t range)
{
    return holds_others(story, range, story->ranges[range].first, story->ranges[range].end);
}

bool rp_find_core(const struct rp_story *story, uint32_t range, struct rp_story_range *core)
{
    const struct rp_story_range *whole = &story->ranges[range];
    size_t first = next_own(story, range, whole->first), end = first;

    for (size_t at = first; at < whole->end; at = next_own(story, range, end))
        end = at + 1;
    if (end == first || holds_others(story, range, first, end) || !holds_other_ranges(story, range))
        return false;
    while (first > whole->first && story->calls[first - 1].range == range)
        first--;
    while (end < whole->end && story->calls[end].range == range)
        end++;
    core->first = first;
    core->end = end;
    return true;
}

/* What the two launch themselves, not by ranges within them, is the same and not nothing: then
 * *alike is how much of it reads the same lasting memory, 0 to 1. */
static bool have_same_own(const struct rp_story *story, uint32_t a, uint32_t b, double *alike)
{
    size_t of_a = next_own(story, a, story->ranges[a].first);
    size_t of_b = next_own(story, b, story->ranges[b].first);
    size_t all = 0, same = 0;

    while (of_a < story->ranges[a].end && of_b < story->ranges[b].end) {
        if (story->calls[of_a].shape != story->calls[of_b].shape)
            return false;
        all++;
        same += rp_find_sight(story, of_a) == rp_find_sight(story, of_b);
        of_a = next_own(story, a, of_a + 1);
        of_b = next_own(story, b, of_b + 1);
    }
    *alike = all ? (double)same / (double)all : 0;
    return all && of_a >= story->ranges[a].end && of_b >= story->ranges[b].end;
}

/* As a whole, within another one, or by its core. */
static bool is_proposed(const struct rp_finding *finding, uint32_t at)
{
    const struct rp_story *story = finding->story;
    const struct rp_story_range *range = &story->ranges[at];
    for (size_t i = 0; i < finding->segment_count; i++)
        for (size_t nth = 0; nth < finding->segments[i].count; nth++) {
            const struct rp_occurrence *both = &finding->segments[i].occurrences[nth];
            if (rp_story_holds(story, both->forward, both->forward_end, range->first, range->end) ||
                rp_story_holds(story, both->replay, both->replay_end, range->first, range->end) ||
                story->calls[both->replay].range == at)
                return true;
        }
    return false;
}

uint32_t rp_find_earlier_own(const struct rp_finding *finding, uint32_t later, double *alike)
{
    const struct rp_story *story = finding->story;
    const struct rp_story_range *range = &story->ranges[later];
    size_t step = rp_find_step_of(finding, range->first);

    if (step == SIZE_MAX || range->opened <= finding->steps[step].forward ||
        !holds_other_ranges(story, later))
        return RP_STORY_NONE;
    for (uint32_t i = later; i-- > 0;) {
        const struct rp_story_range *other = &story->ranges[i];
        if (other->end > range->first)
            continue;
        if (rp_find_step_of(finding, other->first) != step)
            break;
        if (!rp_find_differ_by_numbers(rp_story_name(story, other->name),
                                       rp_story_name(story, range->name)) &&
            have_same_own(story, i, later, alike))
            return i;
    }
    return RP_STORY_NONE;
}

void rp_find_nested(struct rp_finding *finding)
{
    const struct rp_story *story = finding->story;
    double alike;

    for (uint32_t i = 0; i < story->range_count; i++)
        if (rp_find_earlier_own(finding, i, &alike) != RP_STORY_NONE && !is_proposed(finding, i) &&
            finding->nested++ == 0)
            snprintf(finding->first_nested, sizeof(finding->first_nested), "%s",
                     rp_story_name(story, story->ranges[i].name));
}
