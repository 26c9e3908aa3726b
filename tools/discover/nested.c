/* SPDX-License-Identifier: Apache-2.0 */
/* Replays that hold other replays, as those of a chain do that make their inputs again, launch more
 * than their forwards: no comparison of whole ranges finds them. They are told as left out. */
#include "tools/discover/finding.h"

static size_t next_own(const struct rp_story *story, uint32_t range, size_t at)
{
    while (at < story->ranges[range].end &&
           (!story->calls[at].is_launch || story->calls[at].range != range))
        at++;
    return at;
}

/* What the two launch themselves, not by ranges within them, is the same and not nothing. */
static bool have_same_own(const struct rp_story *story, uint32_t a, uint32_t b)
{
    size_t of_a = next_own(story, a, story->ranges[a].first);
    size_t of_b = next_own(story, b, story->ranges[b].first);
    bool any = false;

    while (of_a < story->ranges[a].end && of_b < story->ranges[b].end) {
        if (story->calls[of_a].shape != story->calls[of_b].shape)
            return false;
        any = true;
        of_a = next_own(story, a, of_a + 1);
        of_b = next_own(story, b, of_b + 1);
    }
    return any && of_a >= story->ranges[a].end && of_b >= story->ranges[b].end;
}

static bool is_proposed(const struct rp_finding *finding, const struct rp_story_range *range)
{
    for (size_t i = 0; i < finding->segment_count; i++)
        for (size_t at = 0; at < finding->segments[i].count; at++) {
            const struct rp_occurrence *both = &finding->segments[i].occurrences[at];
            if ((both->forward <= range->first && range->end <= both->forward_end) ||
                (both->replay <= range->first && range->end <= both->replay_end))
                return true;
        }
    return false;
}

/* Some of what is launched in it, another range within it launches. */
static bool holds_others(const struct rp_story *story, uint32_t range)
{
    for (size_t at = story->ranges[range].first; at < story->ranges[range].end; at++)
        if (story->calls[at].is_launch && story->calls[at].range != range)
            return true;
    return false;
}

/* The latest earlier range of the step with the same launches of its own; RP_STORY_NONE: none. */
static uint32_t earlier_alike(const struct rp_finding *finding, uint32_t later)
{
    const struct rp_story *story = finding->story;
    const struct rp_story_range *range = &story->ranges[later];
    size_t step = rp_find_step_of(finding, range->first);

    for (uint32_t i = later; i-- > 0;) {
        const struct rp_story_range *other = &story->ranges[i];
        if (other->end > range->first)
            continue;
        if (rp_find_step_of(finding, other->first) != step)
            break;
        if (!rp_find_differ_by_numbers(rp_story_name(story, other->name),
                                       rp_story_name(story, range->name)) &&
            have_same_own(story, i, later))
            return i;
    }
    return RP_STORY_NONE;
}

void rp_find_nested(struct rp_finding *finding)
{
    const struct rp_story *story = finding->story;

    for (uint32_t i = 0; i < story->range_count; i++) {
        const struct rp_story_range *range = &story->ranges[i];
        if (rp_find_step_of(finding, range->first) == SIZE_MAX || range->parent == RP_STORY_NONE ||
            !holds_others(story, i) || is_proposed(finding, range))
            continue;
        if (earlier_alike(finding, i) != RP_STORY_NONE && finding->nested++ == 0)
            snprintf(finding->first_nested, sizeof(finding->first_nested), "%s",
                     rp_story_name(story, range->name));
    }
}
