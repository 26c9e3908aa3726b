/* SPDX-License-Identifier: Apache-2.0 */
/* Segments of pairs of names: one rule for all that differ by their keys. */
#include "tools/discover/name_pair.h"

#include <string.h>

size_t rp_name_pair_key(const char *a, const char *b)
{
    size_t a_length = strlen(a), b_length = strlen(b), common = 0;

    while (common < a_length && common < b_length &&
           a[a_length - common - 1] == b[b_length - common - 1])
        common++;
    while (common > 0 && (a_length == common || !strchr("/:._- ", a[a_length - common - 1])))
        common--;
    return a_length - common;
}

/* ---- one glob for many names ------------------------------------------------------------ */

static void take_pair(struct rp_finding *finding, struct rp_found_segment *segment,
                      struct rp_name_pair *pair)
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

/* Replays are other threads' than their forwards. */
static const char *threads_of(const struct rp_story *story, const struct rp_found_segment *segment)
{
    size_t others = 0;
    for (size_t i = 0; i < segment->count; i++)
        others += story->calls[segment->occurrences[i].forward].thread !=
                  story->calls[segment->occurrences[i].replay].thread;
    if (!others)
        return "";
    return others == segment->count ? ", in another thread," : ", some in another thread,";
}

static void tell_evidence(const struct rp_story *story, struct rp_found_segment *segment,
                          uint64_t replays, double shared)
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
             "%zu of %llu ranges '%.60s' launch again%s%s what the %s '%.60s' launched, with "
             "%.0f %% of the parameters and state that it read%s",
             segment->count, (unsigned long long)replays, segment->replay,
             segment->holds ? ", beside others that they hold," : "", threads_of(story, segment),
             segment->fifo ? "first waiting" : "latest", segment->forward, shared * 100,
             against);
}

/* Another range replays the same forward in the same memory, and this one in other memory. */
static bool is_second_choice(const struct rp_name_pairs *pairs, const struct rp_name_pair *pair)
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
static size_t replays_of(const struct rp_finding *finding, const struct rp_name_pair *pair)
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
void rp_name_pair_segment(struct rp_finding *finding, struct rp_name_pairs *pairs,
                          struct rp_name_pair *first)
{
    const char *forward = rp_story_name(finding->story, first->forward);
    const char *replay = rp_story_name(finding->story, first->replay);
    size_t cut = rp_name_pair_key(forward, replay), key = strlen(forward) - cut;
    size_t replay_cut = strlen(replay) - key;
    struct rp_found_segment *segment = rp_find_segment(finding);
    uint64_t names = 0, replays = 0;
    double shared = 1.0;
    bool doubtful = false;

    if (!segment)
        return;
    for (struct rp_name_pair *pair = first; pair < pairs->items + pairs->count; pair++) {
        const char *other = rp_story_name(finding->story, pair->forward);
        const char *others = rp_story_name(finding->story, pair->replay);
        bool alike = pair == first ||
                     (key > 0 && rp_name_pair_key(other, others) == cut &&
                      strncmp(other, forward, cut) == 0 &&
                      strlen(others) - (strlen(other) - cut) == replay_cut &&
                      strncmp(others, replay, replay_cut) == 0);
        if (pair->taken || !alike)
            continue;
        size_t each = replays_of(finding, pair);
        segment->replays = each > segment->replays ? each : segment->replays;
        take_pair(finding, segment, pair);
        segment->holds |= pair->holds;
        doubtful |= pair->doubted || pair->numbered || pair->in_pieces ||
                    is_second_choice(pairs, pair);
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
    tell_evidence(finding->story, segment, replays, shared);
}

