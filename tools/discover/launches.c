/* SPDX-License-Identifier: Apache-2.0 */
/* Segments without names: a run of launches that comes again within a step, on the same
 * parameters, is replayed. Layers alike come again too, but on parameters of their own. */
#include "tools/discover/finding.h"

#include <stdlib.h>
#include <string.h>

enum { FEWEST_LAUNCHES = 3 };

/* The launches of one step, by their place in the story: those of one thread behind those of
 * another, for a run of launches is one thread's. */
struct step {
    const struct rp_story *story;
    size_t *calls;
    uint64_t *sights; /* of each: what it is and which lasting memory it reads */
    size_t count;
};

static void add_thread(struct step *step, size_t first, size_t end)
{
    const struct rp_story *story = step->story;
    for (size_t i = first; i < end; i = rp_story_next(story, i, end)) {
        if (!story->calls[i].is_launch)
            continue;
        step->sights[step->count] = rp_find_sight(story, i);
        step->calls[step->count++] = i;
    }
}

/* No call of [first, at) is of the thread of call `at`. */
static bool is_first_of_thread(const struct rp_story *story, size_t first, size_t at)
{
    while (first < at && story->calls[first].thread != story->calls[at].thread)
        first++;
    return first == at;
}

static struct step launches_of(struct rp_finding *finding, size_t at)
{
    const struct rp_story *story = finding->story;
    size_t first = finding->steps[at].forward, end = finding->steps[at].forward_end;
    struct step step = {story, malloc((end - first + 1) * sizeof(*step.calls)),
                        malloc((end - first + 1) * sizeof(*step.sights)), 0};

    finding->no_memory |= !step.calls || !step.sights;
    for (size_t i = first; !finding->no_memory && i < end; i++)
        if (is_first_of_thread(story, first, i))
            add_thread(&step, i, end);
    return step;
}

static uint64_t thread_of(const struct step *step, size_t at)
{
    return step->story->calls[step->calls[at]].thread;
}

/* How many launches from `later` on are those from `from` on, which were over before. */
static size_t alike(const struct step *step, size_t from, size_t later)
{
    size_t length = 0;
    while (from + length < step->count && later + length < step->count &&
           step->calls[from + length] < step->calls[later] &&
           step->sights[from + length] == step->sights[later + length] &&
           thread_of(step, from + length) == thread_of(step, from) &&
           thread_of(step, later + length) == thread_of(step, later))
        length++;
    return length;
}

/* The longest run that begins at `later` and was there before, and the latest of equals; its place
 * in *earlier. */
static size_t longest(const struct step *step, size_t later, size_t *earlier)
{
    size_t best = 0;

    for (size_t from = step->count; from-- > 0;) {
        size_t length = alike(step, from, later);
        if (length > best) {
            best = length;
            *earlier = from;
        }
    }
    return best;
}

/* Which match of its first kernel opens the run, from 0, whichever threads launch it. */
static uint64_t nth_of(const struct rp_story *story, const struct step *step, size_t at)
{
    uint32_t name = story->calls[step->calls[at]].name;
    uint64_t nth = 0;
    for (size_t i = 0; i < step->count; i++)
        nth += step->calls[i] < step->calls[at] && story->calls[step->calls[i]].name == name;
    return nth;
}

/* The run ends with the first launch of this name, or it can't be described by its ends. */
static bool ends_first(const struct rp_story *story, const struct step *step, size_t at,
                       size_t length)
{
    uint32_t last = story->calls[step->calls[at + length - 1]].name;
    for (size_t i = at; i + 1 < at + length; i++)
        if (story->calls[step->calls[i]].name == last)
            return false;
    return true;
}

/* Of what is not proposed, the longest is told of. */
static void leave_out(struct rp_left_out *left_out, const struct rp_story *story,
                      const struct step *step, size_t at, size_t length)
{
    if (length <= left_out->launches)
        return;
    left_out->launches = length;
    snprintf(left_out->first, sizeof(left_out->first), "%s",
             rp_story_name(story, story->calls[step->calls[at]].name));
    snprintf(left_out->last, sizeof(left_out->last), "%s",
             rp_story_name(story, story->calls[step->calls[at + length - 1]].name));
}

/* A part of a run is none: what the rest writes would be taken for what others have written. */
static bool is_segment(struct rp_finding *finding, const struct step *step, size_t at,
                       size_t length)
{
    const struct rp_story *story = finding->story;
    bool too_short = length < FEWEST_LAUNCHES;

    if (!too_short && ends_first(story, step, at, length))
        return true;
    leave_out(too_short ? &finding->too_short : &finding->endless, story, step, at, length);
    return false;
}

static struct rp_found_segment *segment_of(struct rp_finding *finding, const char *first,
                                           const char *last, uint64_t nth)
{
    for (size_t i = 0; i < finding->segment_count; i++) {
        struct rp_found_segment *segment = &finding->segments[i];
        if (segment->nth == nth && strcmp(segment->forward, first) == 0 &&
            strcmp(segment->replay, last) == 0)
            return segment;
    }
    struct rp_found_segment *segment = rp_find_segment(finding);
    if (segment) {
        snprintf(segment->forward, sizeof(segment->forward), "%s", first);
        snprintf(segment->replay, sizeof(segment->replay), "%s", last);
        segment->nth = nth;
        snprintf(segment->name, sizeof(segment->name), "segment%zu", finding->segment_count);
    }
    return segment;
}

static bool is_doubted(struct rp_finding *finding, const struct rp_occurrence *both)
{
    const struct rp_story *story = finding->story;
    enum rp_doubt doubt = rp_find_doubt(finding, both);

    if (doubt == RP_DOUBT_NONE)
        return false;
    rp_find_doubted(finding, rp_story_name(story, story->calls[both->forward].name),
                    rp_story_name(story, story->calls[both->forward_end - 1].name), doubt);
    return true;
}

static void search_step(struct rp_finding *finding, const struct step *step)
{
    const struct rp_story *story = finding->story;
    size_t earlier = 0;

    for (size_t later = 0; later < step->count && !finding->no_memory; later++) {
        size_t length = longest(step, later, &earlier);
        if (length == 0)
            continue;
        size_t last = later + length - 1;
        if (!is_segment(finding, step, earlier, length)) {
            later = length < FEWEST_LAUNCHES ? later : last;
            continue;
        }
        const struct rp_occurrence both = {step->calls[earlier],
                                           step->calls[earlier + length - 1] + 1,
                                           step->calls[later], step->calls[last] + 1};
        later = last;
        if (is_doubted(finding, &both))
            continue;
        struct rp_found_segment *segment =
            segment_of(finding, rp_story_name(story, story->calls[step->calls[earlier]].name),
                       rp_story_name(story, story->calls[step->calls[earlier + length - 1]].name),
                       nth_of(story, step, earlier));
        if (segment)
            rp_find_occurrence(finding, segment, both);
    }
}

/* What was met in one step alone was chance. */
static void drop_rare(struct rp_finding *finding, size_t steps)
{
    size_t kept = 0;

    for (size_t i = 0; i < finding->segment_count; i++) {
        struct rp_found_segment *segment = &finding->segments[i];
        double agreeing = (double)segment->count / (double)steps;
        if (agreeing < 0.5) {
            finding->rare = true;
            free(segment->occurrences);
            continue;
        }
        /* Where runs alike are other work, this one may be, too, or one of several. */
        segment->confidence = finding->doubted ? "guess" : rp_find_confidence(agreeing, 1.0);
        snprintf(segment->evidence, sizeof(segment->evidence),
                 "in %zu of %zu steps the launches from %.60s to %.60s come again on the same "
                 "parameters",
                 segment->count, steps, segment->forward, segment->replay);
        finding->segments[kept++] = *segment;
    }
    finding->segment_count = kept;
}

void rp_find_launches(struct rp_finding *finding)
{
    size_t steps = finding->step_count < 8 ? finding->step_count : 8;

    for (size_t i = 0; i < steps && !finding->no_memory; i++) {
        struct step step = launches_of(finding, i);
        if (!finding->no_memory)
            search_step(finding, &step);
        free(step.calls);
        free(step.sights);
    }
    if (steps > 0)
        drop_rare(finding, steps);
    for (size_t i = 0; i < finding->segment_count; i++)
        snprintf(finding->segments[i].name, sizeof(finding->segments[i].name), "segment%zu", i + 1);
}
