/* SPDX-License-Identifier: Apache-2.0 */
/* Segments by NVTX: a range whose launches come again, with the same parameters, in a later range
 * of the same step is a forward, and the later one its replay. */
#include "tools/discover/name_pair.h"

#include "tracker/array.h"

#include <stdlib.h>
#include <string.h>

/* ---- pairs of names ------------------------------------------------------------------- */

enum { MOST_CANDIDATES = 16 }; /* earlier ranges that one range repeats, the latest */

static struct rp_name_pair *pair_of(struct rp_finding *finding, struct rp_name_pairs *pairs,
                                    uint32_t forward, uint32_t replay)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (pairs->items[i].forward == forward && pairs->items[i].replay == replay)
            return &pairs->items[i];
    struct rp_name_pair *grown =
        rp_array_reserve(pairs->items, &pairs->capacity, pairs->count + 1, sizeof(*grown));
    if (!grown) {
        finding->no_memory = true;
        return NULL;
    }
    pairs->items = grown;
    struct rp_name_pair *pair = &pairs->items[pairs->count++];
    *pair = (struct rp_name_pair){.forward = forward, .replay = replay, .shared = 1.0,
                          .memory = 1.0,
                          .numbered = rp_find_differ_by_numbers(
                              rp_story_name(finding->story, forward),
                              rp_story_name(finding->story, replay))};
    return pair;
}

double rp_find_repetition(const struct rp_story *story, const struct rp_story_range *range,
                          const struct rp_story_range *later, bool whole)
{
    bool all;
    if (range->name == later->name) /* no contract could tell the two apart */
        return 0;
    if (!rp_find_same_launches(story, range->first, range->end, later->first, later->end, &all) ||
        all != whole)
        return 0;
    double shared = whole ? rp_find_shared_reads(story, range->first, range->end, later->first,
                                                 later->end)
                          : rp_find_shared_reads(story, later->first, later->end, range->first,
                                                 range->end);
    /* One launch that comes again, or a part, may well be another layer's of the same shape: it has
     * to read the very same parameters. */
    bool is_sure =
        shared >= 0.999 && rp_find_has_lasting_reads(story, later->first, later->end);
    bool is_much = whole && rp_find_launches_in(story, range->first, range->end) > 1;
    return is_sure || (is_much && shared >= 0.5) ? shared : 0;
}

/* An earlier range that a later one may be the replay of. */
struct candidate {
    const struct rp_story_range *range; /* NULL: there is none */
    double shared, memory;
    enum rp_doubt doubt;
    bool keyed; /* the two names end alike */
};

static struct candidate candidate_of(const struct rp_finding *finding,
                                     const struct rp_story_range *range,
                                     const struct rp_story_range *later, double shared)
{
    const struct rp_story *story = finding->story;
    const char *name = rp_story_name(story, range->name);
    struct rp_occurrence both = {range->first, range->end, later->first, later->end};

    size_t key = rp_name_pair_key(name, rp_story_name(story, later->name));
    enum rp_doubt doubt = rp_find_doubt(finding, &both);
    if (doubt == RP_DOUBT_NONE && rp_find_is_further(story, range, later))
        doubt = RP_DOUBT_NUMBERED;
    return (struct candidate){range, shared, rp_find_shared_memory(story, range, later), doubt,
                              key < strlen(name)};
}

/* Nothing speaks against it, and it works on the same memory, outputs included. */
static bool is_likelier(const struct candidate *one, const struct candidate *than)
{
    if (!than->range || (one->doubt == RP_DOUBT_NONE) != (than->doubt == RP_DOUBT_NONE))
        return !than->range || one->doubt == RP_DOUBT_NONE;
    if (one->memory > than->memory || one->memory < than->memory)
        return one->memory > than->memory;
    return one->keyed && !than->keyed;
}

/* The likeliest range of the step before `at` that `later`, which is range `at` or a part of it,
 * repeats, as a whole or in part, and the latest of equals. */
static struct candidate likeliest(const struct rp_finding *finding, size_t at,
                                  const struct rp_story_range *later, bool whole)
{
    const struct rp_story *story = finding->story;
    size_t step = rp_find_step_of(finding, later->first), seen = 0;
    struct candidate best = {0};

    for (size_t i = at; i-- > 0 && seen < MOST_CANDIDATES;) {
        const struct rp_story_range *range = &story->ranges[i];
        if (range->end > story->ranges[at].first ||
            !rp_find_launches_in(story, range->first, range->end))
            continue;
        if (rp_find_step_of(finding, range->first) != step)
            break;
        double shared = rp_find_repetition(story, range, later, whole);
        if (shared <= 0)
            continue;
        struct candidate next = candidate_of(finding, range, later, shared);
        if (is_likelier(&next, &best))
            best = next;
        if (best.doubt == RP_DOUBT_NONE && best.keyed && best.memory >= 1.0)
            break;
        seen++;
    }
    return best;
}

static struct candidate repeated_by(const struct rp_finding *finding, size_t at,
                                    const struct rp_story_range *later)
{
    struct candidate whole = likeliest(finding, at, later, true);
    return whole.range ? whole : likeliest(finding, at, later, false);
}

static void take_candidate(struct rp_finding *finding, struct rp_name_pair *pair,
                           const struct candidate *candidate, const struct rp_story_range *later)
{
    const struct rp_story_range *range = candidate->range;

    pair->shared = candidate->shared < pair->shared ? candidate->shared : pair->shared;
    pair->memory = candidate->memory < pair->memory ? candidate->memory : pair->memory;
    if (candidate->doubt != RP_DOUBT_NONE && pair->doubted++ == 0)
        pair->doubt = candidate->doubt;
    rp_find_occurrence(finding, &pair->found,
                       (struct rp_occurrence){range->first, range->end, later->first, later->end});
}

/* What the range launches itself comes in pieces, between the ranges that it holds. */
static struct candidate repeated_in_pieces(const struct rp_finding *finding, uint32_t at)
{
    const struct rp_story *story = finding->story;
    double alike = 0;
    uint32_t earlier = rp_find_earlier_own(finding, at, &alike);
    struct rp_story_range core;

    if (earlier == RP_STORY_NONE || alike < 0.5 || rp_find_core(story, at, &core))
        return (struct candidate){0};
    return (struct candidate){.range = &story->ranges[earlier], .shared = alike};
}

/* Where no range is a step, those that differ by numbers alone may well be the steps. */
static bool may_be_steps(const struct rp_finding *finding, const struct rp_story_range *range,
                         const struct rp_story_range *later)
{
    return !finding->step_count &&
           rp_find_differ_by_numbers(rp_story_name(finding->story, range->name),
                                     rp_story_name(finding->story, later->name));
}

/* The range as a whole, or what it launches beside the ranges that it holds. */
static void collect_range(struct rp_finding *finding, struct rp_name_pairs *pairs, uint32_t at)
{
    const struct rp_story *story = finding->story;
    struct rp_story_range later = story->ranges[at];
    struct candidate found = repeated_by(finding, at, &later);
    bool holds = !found.range && rp_find_core(story, at, &later);

    if (holds)
        found = repeated_by(finding, at, &later);
    bool in_pieces = !found.range;
    if (in_pieces)
        found = repeated_in_pieces(finding, at);
    if (!found.range || may_be_steps(finding, found.range, &later))
        return;
    struct rp_name_pair *pair = pair_of(finding, pairs, found.range->name, later.name);
    if (!pair)
        return;
    pair->holds |= holds || in_pieces;
    pair->in_pieces |= in_pieces;
    take_candidate(finding, pair, &found, &later);
}

static void collect(struct rp_finding *finding, struct rp_name_pairs *pairs)
{
    const struct rp_story *story = finding->story;

    for (uint32_t i = 0; i < story->range_count && !finding->no_memory; i++)
        if (rp_find_launches_in(story, story->ranges[i].first, story->ranges[i].end))
            collect_range(finding, pairs, i);
    for (size_t i = 0; i < pairs->count; i++)
        for (size_t at = 0; at < story->range_count; at++)
            pairs->items[i].replays += story->ranges[at].name == pairs->items[i].replay;
}

/* Where most of what it would explain is other work that does the same, it is none. */
static void drop_doubted(struct rp_finding *finding, struct rp_name_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        struct rp_name_pair *pair = &pairs->items[i];
        if (pair->doubted * 2 <= pair->found.count)
            continue;
        pair->taken = true;
        rp_find_doubted(finding, rp_story_name(finding->story, pair->forward),
                        rp_story_name(finding->story, pair->replay), pair->doubt);
    }
}

/* A pair inside of another one, as the layers of a block are, says nothing more. */
static bool is_part_of(const struct rp_story *story, const struct rp_name_pair *inner,
                       const struct rp_name_pair *outer)
{
    for (size_t i = 0; i < inner->found.count; i++) {
        const struct rp_occurrence *in = &inner->found.occurrences[i];
        bool held = false;
        for (size_t at = 0; !held && at < outer->found.count; at++) {
            const struct rp_occurrence *out = &outer->found.occurrences[at];
            held = rp_story_holds(story, out->forward, out->forward_end, in->forward,
                                  in->forward_end) &&
                   rp_story_holds(story, out->replay, out->replay_end, in->replay, in->replay_end);
        }
        if (!held)
            return false;
    }
    return true;
}

static void drop_parts(const struct rp_story *story, struct rp_name_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++)
        for (size_t at = 0; at < pairs->count && !pairs->items[i].taken; at++)
            if (at != i && !pairs->items[at].taken &&
                is_part_of(story, &pairs->items[i], &pairs->items[at]))
                pairs->items[i].taken = true;
}

/* ---- names that would be both forward and replay ------------------------------------------ */

static double share_of(const struct rp_name_pair *pair)
{
    return pair->replays ? (double)pair->found.count / (double)pair->replays : 0.0;
}

static bool may_be_told(const struct rp_name_pair *pair)
{
    return !pair->taken && share_of(pair) >= 0.5;
}

/* The one's names say more than which of many it is, or it explains more of its replays, and
 * better, or works on the same memory, or came first where both do as well. */
static bool is_better(const struct rp_name_pair *pair, const struct rp_name_pair *other)
{
    double mine = share_of(pair) * pair->shared, its = share_of(other) * other->shared;
    if (pair->numbered != other->numbered)
        return !pair->numbered;
    if (mine > its || mine < its)
        return mine > its;
    if (pair->memory > other->memory || pair->memory < other->memory)
        return pair->memory > other->memory;
    return pair < other;
}

static struct rp_name_pair *best_unsettled(const struct rp_name_pairs *pairs, const bool *settled)
{
    struct rp_name_pair *best = NULL;
    for (size_t i = 0; i < pairs->count; i++)
        if (!settled[i] && may_be_told(&pairs->items[i]) &&
            (!best || is_better(&pairs->items[i], best)))
            best = &pairs->items[i];
    return best;
}

/* What replays one range is no forward of others, and the other way round: of names in a chain the
 * best pairs are kept. Layers alike that follow each other make such chains. */
static void drop_chained(struct rp_finding *finding, struct rp_name_pairs *pairs)
{
    bool *settled = calloc(pairs->count + 1, sizeof(*settled));
    struct rp_name_pair *best;

    finding->no_memory |= !settled;
    while (settled && (best = best_unsettled(pairs, settled)) != NULL) {
        settled[best - pairs->items] = true;
        for (size_t i = 0; i < pairs->count; i++) {
            struct rp_name_pair *other = &pairs->items[i];
            if (settled[i] || !may_be_told(other) ||
                (other->forward != best->replay && other->replay != best->forward))
                continue;
            other->taken = true;
            finding->chained++;
            snprintf(finding->first_chained, sizeof(finding->first_chained), "%.120s to %.120s",
                     rp_story_name(finding->story, other->forward),
                     rp_story_name(finding->story, other->replay));
        }
    }
    free(settled);
}

void rp_find_ranges(struct rp_finding *finding)
{
    struct rp_name_pairs pairs = {0};

    collect(finding, &pairs);
    drop_doubted(finding, &pairs);
    drop_parts(finding->story, &pairs);
    drop_chained(finding, &pairs);
    for (size_t i = 0; i < pairs.count && !finding->no_memory; i++) {
        struct rp_name_pair *pair = &pairs.items[i];
        if (may_be_told(pair))
            rp_name_pair_segment(finding, &pairs, pair);
    }
    for (size_t i = 0; i < pairs.count; i++)
        free(pairs.items[i].found.occurrences);
    free(pairs.items);
}
