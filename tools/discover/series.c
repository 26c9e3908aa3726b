/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that are numbered through, as "iteration 1", "iteration 2" are: each once, in turn, one
 * behind the other at the same level. */
#include "tools/discover/finding.h"

#include "tracker/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAME = 255 };

struct series {
    uint32_t last;   /* the latest of its ranges ... */
    uint64_t number; /* ... and its number */
    size_t count;
    bool broken;
};

/* The name with a `*` for its last number. False where it has none, or could not be a glob. */
static bool glob_of(const char *name, char glob[MOST_NAME + 1], uint64_t *number)
{
    size_t end = strlen(name);
    if (end >= MOST_NAME || strpbrk(name, "*?\\"))
        return false;
    while (end > 0 && !isdigit((unsigned char)name[end - 1]))
        end--;
    size_t first = end;
    while (first > 0 && isdigit((unsigned char)name[first - 1]))
        first--;
    if (first == end)
        return false;
    *number = strtoull(name + first, NULL, 10);
    snprintf(glob, MOST_NAME + 1, "%.*s*%s", (int)first, name, name + end);
    return true;
}

static bool follows(const struct rp_story_range *before, const struct rp_story_range *range)
{
    return before->parent == range->parent && before->thread == range->thread &&
           before->closed <= range->opened;
}

static void extend(const struct rp_story *story, struct series *series, uint32_t at,
                   uint64_t number)
{
    if (series->count++ && (number != series->number + 1 ||
                            !follows(&story->ranges[series->last], &story->ranges[at])))
        series->broken = true;
    series->last = at;
    series->number = number;
}

bool rp_find_is_further(const struct rp_story *story, const struct rp_story_range *range,
                        const struct rp_story_range *later)
{
    char a[MOST_NAME + 1], b[MOST_NAME + 1];
    uint64_t number, greater;

    return follows(range, later) && glob_of(rp_story_name(story, range->name), a, &number) &&
           glob_of(rp_story_name(story, later->name), b, &greater) && greater > number &&
           strcmp(a, b) == 0;
}

/* As a rule of the contract the glob would mean other ranges too. */
static bool means_others(const struct rp_series_of *found, const struct rp_story *story,
                         uint32_t series)
{
    for (size_t i = 0; i < story->range_count; i++)
        if (found->of[i] != series &&
            rp_glob_match(found->globs.items[series], rp_story_name(story, story->ranges[i].name),
                          NULL, 0))
            return true;
    return false;
}

static void drop(struct rp_series_of *found, size_t range_count, uint32_t series)
{
    for (size_t i = 0; i < range_count; i++)
        if (found->of[i] == series)
            found->of[i] = RP_STORY_NONE;
}

static void collect(const struct rp_story *story, struct rp_series_of *found,
                    struct series *series)
{
    char glob[MOST_NAME + 1];
    uint64_t number;

    for (uint32_t i = 0; i < story->range_count; i++) {
        found->of[i] = RP_STORY_NONE;
        if (!glob_of(rp_story_name(story, story->ranges[i].name), glob, &number))
            continue;
        found->of[i] = rp_roster_number(&found->globs, glob);
        extend(story, &series[found->of[i]], i, number);
    }
    for (uint32_t i = 0; i < found->globs.count; i++)
        if (series[i].broken || series[i].count < 2 || means_others(found, story, i))
            drop(found, story->range_count, i);
}

bool rp_find_series(const struct rp_story *story, struct rp_series_of *found)
{
    struct series *series = calloc(story->range_count + 1, sizeof(*series));

    *found = (struct rp_series_of){.of = calloc(story->range_count + 1, sizeof(*found->of))};
    if (series && found->of)
        collect(story, found, series);
    bool is_whole = series && found->of && !found->globs.no_memory;
    free(series);
    return is_whole;
}

void rp_series_release(struct rp_series_of *found)
{
    rp_roster_release(&found->globs);
    free(found->of);
}
