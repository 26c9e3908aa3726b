/* SPDX-License-Identifier: Apache-2.0 */
/* Segments by NVTX: a range whose launches come again, with the same parameters, in a later range
 * of the same step is a forward, and the later one its replay. */
#include "tools/discover/finding.h"

#include "tracker/array.h"

#include <stdlib.h>
#include <string.h>

/* ---- pairs of names ------------------------------------------------------------------- */

enum { MOST_CANDIDATES = 16 }; /* earlier ranges that one range repeats, the latest */

struct pair {
    uint32_t forward, replay;
    struct rp_found_segment found; /* its occurrences and how well they agree */
    double shared, memory;         /* the least of all */
    size_t doubted;                /* occurrences that something speaks against */
    enum rp_doubt doubt;           /* the first of them */
    bool numbered;                 /* the names differ by numbers alone */
    uint64_t replays;              /* ranges of the replay's name, paired or not */
    bool taken;
};

struct pairs {
    struct pair *items;
    size_t count, capacity;
};

static struct pair *pair_of(struct rp_finding *finding, struct pairs *pairs, uint32_t forward,
                            uint32_t replay)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (pairs->items[i].forward == forward && pairs->items[i].replay == replay)
            return &pairs->items[i];
    struct pair *grown =
        rp_array_reserve(pairs->items, &pairs->capacity, pairs->count + 1, sizeof(*grown));
    if (!grown) {
        finding->no_memory = true;
        return NULL;
    }
    pairs->items = grown;
    struct pair *pair = &pairs->items[pairs->count++];
    *pair = (struct pair){.forward = forward, .replay = replay, .shared = 1.0,
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

/* Where the text that both end in begins, after a separator: the key of "forward/x" and
 * "recompute/x" is "x". The length of the name when there is none. */
static size_t key_of(const char *a, const char *b)
{
    size_t a_length = strlen(a), b_length = strlen(b), common = 0;

    while (common < a_length && common < b_length &&
           a[a_length - common - 1] == b[b_length - common - 1])
        common++;
    while (common > 0 && (a_length == common || !strchr("/:._- ", a[a_length - common - 1])))
        common--;
    return a_length - common;
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

    return (struct candidate){range, shared, rp_find_shared_memory(story, range, later),
                              rp_find_doubt(finding, &both),
                              key_of(name, rp_story_name(story, later->name)) < strlen(name)};
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

/* The likeliest earlier range of the step that this one repeats, as a whole or in part, and the
 * latest of equals. */
static struct candidate likeliest(const struct rp_finding *finding, size_t replay, bool whole)
{
    const struct rp_story *story = finding->story;
    const struct rp_story_range *later = &story->ranges[replay];
    size_t step = rp_find_step_of(finding, later->first), seen = 0;
    struct candidate best = {0};

    for (size_t i = replay; i-- > 0 && seen < MOST_CANDIDATES;) {
        const struct rp_story_range *range = &story->ranges[i];
        if (range->end > later->first || !rp_find_launches_in(story, range->first, range->end))
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

static struct candidate repeated_by(const struct rp_finding *finding, size_t replay)
{
    struct candidate whole = likeliest(finding, replay, true);
    return whole.range ? whole : likeliest(finding, replay, false);
}

static void take_candidate(struct rp_finding *finding, struct pair *pair,
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

static void collect(struct rp_finding *finding, struct pairs *pairs)
{
    const struct rp_story *story = finding->story;

    for (size_t i = 0; i < story->range_count && !finding->no_memory; i++) {
        const struct rp_story_range *later = &story->ranges[i];
        if (!rp_find_launches_in(story, later->first, later->end))
            continue;
        struct candidate candidate = repeated_by(finding, i);
        struct pair *pair = candidate.range ? pair_of(finding, pairs, candidate.range->name,
                                                      later->name)
                                            : NULL;
        if (pair)
            take_candidate(finding, pair, &candidate, later);
    }
    for (size_t i = 0; i < pairs->count; i++)
        for (size_t at = 0; at < story->range_count; at++)
            pairs->items[i].replays += story->ranges[at].name == pairs->items[i].replay;
}

/* Where most of what it would explain is other work that does the same, it is none. */
static void drop_doubted(struct rp_finding *finding, struct pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        struct pair *pair = &pairs->items[i];
        if (pair->doubted * 2 <= pair->found.count)
            continue;
        pair->taken = true;
        rp_find_doubted(finding, rp_story_name(finding->story, pair->forward),
                        rp_story_name(finding->story, pair->replay), pair->doubt);
    }
}

/* A pair inside of another one, as the layers of a block are, says nothing more. */
static bool is_part_of(const struct pair *inner, const struct pair *outer)
{
    for (size_t i = 0; i < inner->found.count; i++) {
        const struct rp_occurrence *in = &inner->found.occurrences[i];
        bool held = false;
        for (size_t at = 0; !held && at < outer->found.count; at++) {
            const struct rp_occurrence *out = &outer->found.occurrences[at];
            held = out->forward <= in->forward && out->forward_end >= in->forward_end &&
                   out->replay <= in->replay && out->replay_end >= in->replay_end;
        }
        if (!held)
            return false;
    }
    return true;
}

static void drop_parts(struct pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++)
        for (size_t at = 0; at < pairs->count && !pairs->items[i].taken; at++)
            if (at != i && !pairs->items[at].taken &&
                is_part_of(&pairs->items[i], &pairs->items[at]))
                pairs->items[i].taken = true;
}

/* ---- names that would be both forward and replay ------------------------------------------ */

static double share_of(const struct pair *pair)
{
    return pair->replays ? (double)pair->found.count / (double)pair->replays : 0.0;
}

static bool may_be_told(const struct pair *pair)
{
    return !pair->taken && share_of(pair) >= 0.5;
}

/* The one's names say more than which of many it is, or it explains more of its replays, and
 * better, or works on the same memory, or came first where both do as well. */
static bool is_better(const struct pair *pair, const struct pair *other)
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

static struct pair *best_unsettled(const struct pairs *pairs, const bool *settled)
{
    struct pair *best = NULL;
    for (size_t i = 0; i < pairs->count; i++)
        if (!settled[i] && may_be_told(&pairs->items[i]) &&
            (!best || is_better(&pairs->items[i], best)))
            best = &pairs->items[i];
    return best;
}

/* What replays one range is no forward of others, and the other way round: of names in a chain the
 * best pairs are kept. Layers alike that follow each other make such chains. */
static void drop_chained(struct rp_finding *finding, struct pairs *pairs)
{
    bool *settled = calloc(pairs->count + 1, sizeof(*settled));
    struct pair *best;

    finding->no_memory |= !settled;
    while (settled && (best = best_unsettled(pairs, settled)) != NULL) {
        settled[best - pairs->items] = true;
        for (size_t i = 0; i < pairs->count; i++) {
            struct pair *other = &pairs->items[i];
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

/* ---- one glob for many names ------------------------------------------------------------ */

static void take_pair(struct rp_finding *finding, struct rp_found_segment *segment,
                      struct pair *pair)
{
    for (size_t i = 0; i < pair->found.count; i++)
        rp_find_occurrence(finding, segment, pair->found.occurrences[i]);
    pair->taken = true;
}

static bool has_name(const struct rp_finding *finding, const struct rp_found_segment *but,
                     const char *name)
{
    for (size_t i = 0; i < finding->segment_count; i++)
        if (&finding->segments[i] != but && strcmp(finding->segments[i].name, name) == 0)
            return true;
    return false;
}

/* After its forward; a number behind it where several segments would have the same name. */
static void name_segment(const struct rp_finding *finding, struct rp_found_segment *segment,
                         const char *forward, size_t length)
{
    while (length > 0 && strchr("/:._- ", forward[length - 1]))
        length--;
    const char *stem = length ? forward : "segment";
    int shown = (int)(length ? (length < 100 ? length : 100) : strlen(stem));
    snprintf(segment->name, sizeof(segment->name), "%.*s", shown, stem);
    for (unsigned next = 2; has_name(finding, segment, segment->name); next++)
        snprintf(segment->name, sizeof(segment->name), "%.*s_%u", shown, stem, next);
}

/* An order that forwards without a replay disturb holds as long as these come where they came. */
static const char *confidence_of(const struct rp_found_segment *segment, uint64_t replays,
                                 double shared, bool doubtful)
{
    double agreeing = replays ? (double)segment->count / (double)replays : 0.0;
    if (segment->against || doubtful)
        return "guess";
    return segment->unreplayed ? "likely" : rp_find_confidence(agreeing, shared);
}

static void tell_evidence(struct rp_found_segment *segment, uint64_t replays, double shared)
{
    char against[200] = "";

    if (segment->against)
        snprintf(against, sizeof(against),
                 "; but %zu of them read what another forward that waits has read: replays in "
                 "another order, and forwards that have none, need ranges of other names",
                 segment->against);
    else if (segment->unreplayed)
        snprintf(against, sizeof(against),
                 "; %zu forwards have no replay, and fit into this order: under a range of another "
                 "name they could not be taken for what is replayed",
                 segment->unreplayed);
    else if (segment->replays > 1)
        snprintf(against, sizeof(against), "; each forward is replayed up to %zu times in a step",
                 segment->replays);
    snprintf(segment->evidence, sizeof(segment->evidence),
             "%zu of %llu ranges '%.60s' launch again what the %s '%.60s' launched, with "
             "%.0f %% of the parameters and state that it read%s",
             segment->count, (unsigned long long)replays, segment->replay,
             segment->fifo ? "first waiting" : "latest", segment->forward, shared * 100,
             against);
}

/* Another range replays the same forward in the same memory, and this one in other memory. */
static bool is_second_choice(const struct pairs *pairs, const struct pair *pair)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (pairs->items[i].forward == pair->forward && pairs->items[i].doubted == 0 &&
            pairs->items[i].memory > pair->memory && pairs->items[i].memory >= 1.0)
            return true;
    return false;
}

struct shares {
    size_t step, forwards, replays, most;
};

static void end_step(struct shares *shares)
{
    if (shares->forwards && shares->replays % shares->forwards == 0 &&
        shares->replays / shares->forwards > shares->most)
        shares->most = shares->replays / shares->forwards;
    shares->forwards = shares->replays = 0;
}

/* How often each forward is replayed where those of a step share its replays evenly. */
static size_t replays_of(const struct rp_finding *finding, const struct pair *pair)
{
    const struct rp_story *story = finding->story;
    struct shares shares = {.step = SIZE_MAX};

    for (size_t i = 0; i < story->range_count; i++) {
        const struct rp_story_range *range = &story->ranges[i];
        size_t step = rp_find_step_of(finding, range->first);
        if ((range->name != pair->forward && range->name != pair->replay) ||
            !rp_find_launches_in(story, range->first, range->end))
            continue;
        if (step != shares.step)
            end_step(&shares);
        shares.step = step;
        shares.forwards += range->name == pair->forward;
        shares.replays += range->name == pair->replay;
    }
    end_step(&shares);
    return shares.most;
}

/* `first` and all pairs that differ from it in nothing but the key. */
static void make_segment(struct rp_finding *finding, struct pairs *pairs, struct pair *first)
{
    const char *forward = rp_story_name(finding->story, first->forward);
    const char *replay = rp_story_name(finding->story, first->replay);
    size_t cut = key_of(forward, replay), key = strlen(forward) - cut;
    size_t replay_cut = strlen(replay) - key;
    struct rp_found_segment *segment = rp_find_segment(finding);
    uint64_t names = 0, replays = 0;
    double shared = 1.0;
    bool doubtful = false;

    if (!segment)
        return;
    for (struct pair *pair = first; pair < pairs->items + pairs->count; pair++) {
        const char *other = rp_story_name(finding->story, pair->forward);
        const char *others = rp_story_name(finding->story, pair->replay);
        bool alike = pair == first ||
                     (key > 0 && key_of(other, others) == cut &&
                      strncmp(other, forward, cut) == 0 &&
                      strlen(others) - (strlen(other) - cut) == replay_cut &&
                      strncmp(others, replay, replay_cut) == 0);
        if (pair->taken || !alike)
            continue;
        size_t each = replays_of(finding, pair);
        segment->replays = each > segment->replays ? each : segment->replays;
        take_pair(finding, segment, pair);
        doubtful |= pair->doubted || pair->numbered || is_second_choice(pairs, pair);
        names++;
        replays += pair->replays;
        shared = pair->shared < shared ? pair->shared : shared;
    }
    segment->by_range = true;
    segment->keyed = names > 1;
    if (!segment->keyed)
        rp_find_order(finding, segment, first->forward, first->replay);
    name_segment(finding, segment, forward, segment->keyed ? cut : strlen(forward));
    snprintf(segment->forward, sizeof(segment->forward), "%.*s%s",
             (int)(segment->keyed ? cut : strlen(forward)), forward, segment->keyed ? "*" : "");
    snprintf(segment->replay, sizeof(segment->replay), "%.*s%s",
             (int)(segment->keyed ? replay_cut : strlen(replay)), replay,
             segment->keyed ? "*" : "");
    segment->confidence = confidence_of(segment, replays, shared, doubtful);
    tell_evidence(segment, replays, shared);
}

void rp_find_ranges(struct rp_finding *finding)
{
    struct pairs pairs = {0};

    collect(finding, &pairs);
    drop_doubted(finding, &pairs);
    drop_parts(&pairs);
    drop_chained(finding, &pairs);
    for (size_t i = 0; i < pairs.count && !finding->no_memory; i++) {
        struct pair *pair = &pairs.items[i];
        if (may_be_told(pair))
            make_segment(finding, &pairs, pair);
    }
    for (size_t i = 0; i < pairs.count; i++)
        free(pairs.items[i].found.occurrences);
    free(pairs.items);
}
