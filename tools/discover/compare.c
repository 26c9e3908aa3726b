/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/discover/finding.h"

#include "tracker/array.h"

#include <stdlib.h>
#include <string.h>

/* Parameters and state live long, activations die young. */
static bool lives_long(const struct rp_story *story, uint64_t id)
{
    const struct rp_story_allocation *allocation = rp_story_allocation(story, id);
    if (!allocation)
        return true;
    size_t died = allocation->died < story->call_count ? allocation->died : story->call_count;
    return died - allocation->born > story->call_count / 2;
}

static int compare_reads(const void *a, const void *b)
{
    const struct rp_story_access *x = a, *y = b;
    if (x->allocation != y->allocation)
        return x->allocation < y->allocation ? -1 : 1;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    return x->hi < y->hi ? -1 : x->hi > y->hi;
}

/* What the calls have written themselves is left out: these are activations, even where their
 * memory lasts, as that of a graph does. */
struct rp_story_access *rp_find_lasting_reads(const struct rp_story *story, size_t first,
                                              size_t end, size_t *count)
{
    size_t most = 0;
    for (size_t i = first; i < end; i = rp_story_next(story, i, end))
        most += story->calls[i].access_count;
    struct rp_story_access *reads = most ? malloc(most * sizeof(*reads)) : NULL;
    struct rp_places own = {0};
    struct rp_story_walk walk = {story, first, end, 0};

    *count = 0;
    if (!reads)
        return NULL;
    for (const struct rp_story_access *access; (access = rp_story_walk(&walk)) != NULL;)
        if (access->write && access->certain)
            rp_places_add(&own, access);
        else if (!access->write && lives_long(story, access->allocation) &&
                 !rp_places_cover(&own, access))
            reads[(*count)++] = *access;
    rp_places_release(&own);
    qsort(reads, *count, sizeof(*reads), compare_reads);
    return reads;
}

uint64_t rp_find_sight(const struct rp_story *story, size_t call)
{
    uint64_t hash = story->calls[call].shape;
    size_t count;
    struct rp_story_access *reads = rp_find_lasting_reads(story, call, call + 1, &count);

    for (size_t i = 0; i < count; i++) {
        const uint64_t words[] = {reads[i].allocation, reads[i].lo, reads[i].hi};
        for (size_t at = 0; at < 3; at++)
            hash = (hash ^ words[at]) * UINT64_C(0x9E3779B97F4A7C15) ^ hash >> 29;
    }
    free(reads);
    return hash;
}

double rp_find_shared_reads(const struct rp_story *story, size_t a, size_t a_end, size_t b,
                            size_t b_end)
{
    size_t a_count, b_count, at = 0, found = 0;
    struct rp_story_access *of_a = rp_find_lasting_reads(story, a, a_end, &a_count);
    struct rp_story_access *of_b = rp_find_lasting_reads(story, b, b_end, &b_count);

    for (size_t i = 0; i < a_count; i++) {
        while (at < b_count && compare_reads(&of_b[at], &of_a[i]) < 0)
            at++;
        found += at < b_count && compare_reads(&of_b[at], &of_a[i]) == 0;
    }
    free(of_a);
    free(of_b);
    return a_count ? (double)found / (double)a_count : 1.0;
}

double rp_find_shared_memory(const struct rp_story *story, const struct rp_story_range *forward,
                             const struct rp_story_range *replay)
{
    struct rp_story_walk of_forward = {story, forward->first, forward->end, 0};
    struct rp_story_walk of_replay = {story, replay->first, replay->end, 0};
    size_t count = 0, found = 0;

    for (const struct rp_story_access *x; (x = rp_story_walk(&of_forward)) != NULL; count++) {
        const struct rp_story_access *y = rp_story_walk(&of_replay);
        found += y && x->allocation == y->allocation && x->lo == y->lo && x->write == y->write;
    }
    return count ? (double)found / (double)count : 1.0;
}

bool rp_find_has_lasting_reads(const struct rp_story *story, size_t a, size_t a_end)
{
    size_t count;
    free(rp_find_lasting_reads(story, a, a_end, &count));
    return count > 0;
}

static size_t next_launch(const struct rp_story *story, size_t at, size_t end)
{
    while (at < end && !story->calls[at].is_launch)
        at = rp_story_next(story, at, end);
    return at;
}

static size_t launch_after(const struct rp_story *story, size_t at, size_t end)
{
    return next_launch(story, rp_story_next(story, at, end), end);
}

uint64_t rp_find_launches_in(const struct rp_story *story, size_t first, size_t end)
{
    uint64_t count = 0;
    for (size_t i = next_launch(story, first, end); i < end; i = launch_after(story, i, end))
        count++;
    return count;
}

bool rp_find_same_launches(const struct rp_story *story, size_t a, size_t a_end, size_t b,
                           size_t b_end, bool *all)
{
    a = next_launch(story, a, a_end);
    b = next_launch(story, b, b_end);
    while (a < a_end && b < b_end) {
        if (story->calls[a].shape != story->calls[b].shape)
            return false;
        a = launch_after(story, a, a_end);
        b = launch_after(story, b, b_end);
    }
    *all = a >= a_end;
    return b >= b_end;
}

const char *rp_find_confidence(double agreeing, double shared)
{
    if (agreeing >= 0.999 && shared >= 0.999)
        return "certain";
    return agreeing >= 0.8 && shared >= 0.5 ? "likely" : "guess";
}

/* ---- findings --------------------------------------------------------------------------- */

struct rp_found_segment *rp_find_segment(struct rp_finding *finding)
{
    struct rp_found_segment *grown =
        rp_array_reserve(finding->segments, &finding->segment_capacity,
                         finding->segment_count + 1, sizeof(*finding->segments));
    if (!grown) {
        finding->no_memory = true;
        return NULL;
    }
    finding->segments = grown;
    struct rp_found_segment *segment = &finding->segments[finding->segment_count++];
    memset(segment, 0, sizeof(*segment));
    return segment;
}

bool rp_find_occurrence(struct rp_finding *finding, struct rp_found_segment *segment,
                        struct rp_occurrence occurrence)
{
    struct rp_occurrence *grown =
        rp_array_reserve(segment->occurrences, &segment->capacity, segment->count + 1,
                         sizeof(*segment->occurrences));
    if (!grown) {
        finding->no_memory = true;
        return false;
    }
    segment->occurrences = grown;
    segment->occurrences[segment->count++] = occurrence;
    return true;
}

void rp_finding_release(struct rp_finding *finding)
{
    for (size_t i = 0; i < finding->segment_count; i++)
        free(finding->segments[i].occurrences);
    free(finding->segments);
    free(finding->buffers);
    free(finding->steps);
    *finding = (struct rp_finding){0};
}
