/* SPDX-License-Identifier: Apache-2.0 */
/* What tells a second forward from a replay. A replay makes again what was lost, from what was read
 * before: inputs that somebody has filled anew, and results that are used beside the first ones,
 * are those of other work that runs the same kernels on the same memory. */
#include "tools/discover/finding.h"

#include <ctype.h>
#include <stdlib.h>

typedef struct rp_story_access access_t;

static bool overlap(const access_t *a, const access_t *b)
{
    return a->allocation == b->allocation && a->lo < b->hi && b->lo < a->hi;
}

static bool is_same_place(const access_t *a, const access_t *b)
{
    return a->allocation == b->allocation && a->lo == b->lo && a->hi == b->hi;
}

/* The call's first access to any of the bytes, to read or to write them. */
static const access_t *access_to(const struct rp_story *story, size_t call, const access_t *place,
                                 bool write)
{
    const access_t *accesses = &story->accesses[story->calls[call].access];
    for (size_t i = 0; i < story->calls[call].access_count; i++)
        if (accesses[i].write == write && overlap(&accesses[i], place))
            return &accesses[i];
    return NULL;
}

/* ---- inputs that are filled anew ------------------------------------------------------- */

/* The bytes that the call writes there are those of elsewhere. */
static bool is_copied(const struct rp_story *story, size_t call, access_t *place)
{
    const access_t *accesses = &story->accesses[story->calls[call].access];
    if (story->calls[call].is_launch || story->calls[call].access_count != 2 ||
        accesses[0].write || !accesses[1].write ||
        accesses[0].hi - accesses[0].lo != accesses[1].hi - accesses[1].lo ||
        place->lo < accesses[1].lo)
        return false;
    uint64_t from = accesses[0].lo + (place->lo - accesses[1].lo);
    *place = (access_t){accesses[0].allocation, from, from + (place->hi - place->lo), false, false,
                        false};
    return true;
}

/* The call before `at` that made what stands there, however it was copied since; SIZE_MAX: none. */
static size_t origin_of(const struct rp_story *story, size_t at, access_t place)
{
    while (at-- > 0)
        if (access_to(story, at, &place, true) && !is_copied(story, at, &place))
            return at;
    return SIZE_MAX;
}

static const char *range_of(const struct rp_story *story, size_t call)
{
    uint32_t range = story->calls[call].range;
    return range == RP_STORY_NONE ? "" : rp_story_name(story, story->ranges[range].name);
}

/* By the replay of what had made it: a chain of replays makes its inputs again. */
static bool is_remade(const struct rp_story *story, size_t first, size_t later)
{
    if (first == SIZE_MAX || later == SIZE_MAX)
        return first == later;
    return first == later || (story->calls[first].shape == story->calls[later].shape &&
                              !rp_find_differ_by_numbers(range_of(story, first),
                                                         range_of(story, later)));
}

static void add_writes(const struct rp_story *story, size_t first, size_t end,
                       struct rp_places *places)
{
    struct rp_story_walk walk = {story, first, end, 0};
    for (const access_t *access; (access = rp_story_walk(&walk)) != NULL;)
        if (access->write)
            rp_places_add(places, access);
}

/* What others have written in between, by whether they went on from what was there. */
static void add_others(const struct rp_story *story, const struct rp_occurrence *occurrence,
                       struct rp_places *stepped, struct rp_places *filled)
{
    for (size_t call = occurrence->forward_end; call < occurrence->replay; call++)
        for (size_t i = 0; i < story->calls[call].access_count; i++) {
            const access_t *access = &story->accesses[story->calls[call].access + i];
            if (access->write && access_to(story, call, access, false))
                rp_places_add(stepped, access);
            else if (access->write && access->certain)
                rp_places_add(filled, access);
        }
}

static bool reads_again(const struct rp_story *story, const struct rp_occurrence *occurrence,
                        const access_t *read)
{
    struct rp_story_walk walk = {story, occurrence->replay, occurrence->replay_end, 0};
    for (const access_t *access; (access = rp_story_walk(&walk)) != NULL;)
        if (!access->write && is_same_place(access, read))
            return true;
    return false;
}

/* State is no input: the ranges write it themselves, or somebody steps it. */
static bool is_refilled(const struct rp_story *story, const struct rp_occurrence *occurrence)
{
    struct rp_places stepped = {0}, filled = {0};
    size_t count;
    access_t *reads = rp_find_lasting_reads(story, occurrence->forward, occurrence->forward_end,
                                            &count);

    add_writes(story, occurrence->forward, occurrence->forward_end, &stepped);
    add_writes(story, occurrence->replay, occurrence->replay_end, &stepped);
    add_others(story, occurrence, &stepped, &filled);
    bool found = stepped.no_memory || filled.no_memory; /* unknown is no better than refilled */
    for (size_t i = 0; i < count && !found; i++)
        found = rp_places_cover(&filled, &reads[i]) && !rp_places_overlap(&stepped, &reads[i]) &&
                reads_again(story, occurrence, &reads[i]) &&
                !is_remade(story, origin_of(story, occurrence->forward, reads[i]),
                           origin_of(story, occurrence->replay, reads[i]));
    free(reads);
    rp_places_release(&stepped);
    rp_places_release(&filled);
    return found;
}

/* ---- results that are used beside the first ones ---------------------------------------- */

/* The next call of [at, end) that reads the bytes before any other writes there, or `end`. */
static size_t next_reader(const struct rp_story *story, size_t at, size_t end,
                          const access_t *place)
{
    for (; at < end; at++) {
        if (access_to(story, at, place, false))
            return at;
        if (access_to(story, at, place, true))
            return end;
    }
    return end;
}

static bool survives(const struct rp_story *story, size_t at, size_t end, const access_t *place)
{
    for (; at < end; at++)
        if (access_to(story, at, place, true))
            return false;
    return true;
}

/* The first result was not lost: it is read later, as that of the second is. */
static bool both_are_read(const struct rp_story *story, const struct rp_occurrence *occurrence,
                          size_t end, const access_t *first, const access_t *second)
{
    size_t from = occurrence->replay_end;
    const struct rp_story_allocation *allocation = rp_story_allocation(story, first->allocation);

    return !(allocation && allocation->died <= from) &&
           next_reader(story, from, end, second) < end &&
           next_reader(story, from, end, first) < end &&
           survives(story, occurrence->forward_end, from, first);
}

static bool is_same_call(const struct rp_story *story, size_t a, size_t b)
{
    const struct rp_story_call *x = &story->calls[a], *y = &story->calls[b];
    bool writes = false;

    if (x->shape != y->shape || x->access_count != y->access_count ||
        range_of(story, a) != range_of(story, b))
        return false;
    for (size_t i = 0; i < x->access_count; i++) {
        const access_t *of_x = &story->accesses[x->access + i];
        if (!is_same_place(of_x, &story->accesses[y->access + i]))
            return false;
        writes |= of_x->write;
    }
    return writes;
}

/* The very call that has used the first result, which nobody has lost, uses the second one too. */
static bool is_used_twice(const struct rp_story *story, const struct rp_occurrence *occurrence,
                          size_t end, const access_t *result)
{
    size_t first = next_reader(story, occurrence->forward_end, occurrence->replay, result);
    size_t second = next_reader(story, occurrence->replay_end, end, result);

    return first < occurrence->replay && second < end && is_same_call(story, first, second) &&
           survives(story, occurrence->forward_end, occurrence->replay, result);
}

static enum rp_doubt doubt_results(const struct rp_story *story,
                                   const struct rp_occurrence *occurrence, size_t end)
{
    struct rp_story_walk first = {story, occurrence->forward, occurrence->forward_end, 0};
    struct rp_story_walk second = {story, occurrence->replay, occurrence->replay_end, 0};
    const access_t *a, *b;

    while ((a = rp_story_walk(&first)) != NULL && (b = rp_story_walk(&second)) != NULL) {
        if (!a->write || !b->write || !a->certain || !b->certain)
            continue;
        if (is_same_place(a, b) && is_used_twice(story, occurrence, end, a))
            return RP_DOUBT_USED_TWICE;
        /* What the forward has made too, if elsewhere in turn, is a result of a part of it. */
        if (survives(story, occurrence->forward, occurrence->forward_end, b) &&
            both_are_read(story, occurrence, end, a, b))
            return RP_DOUBT_BOTH_READ;
    }
    return RP_DOUBT_NONE;
}

/* ---- what is asked ------------------------------------------------------------------------ */

enum rp_doubt rp_find_doubt(const struct rp_finding *finding,
                            const struct rp_occurrence *occurrence)
{
    const struct rp_story *story = finding->story;
    size_t step = rp_find_step_of(finding, occurrence->replay);
    size_t end = step == SIZE_MAX ? story->call_count : finding->steps[step].forward_end;

    if (is_refilled(story, occurrence))
        return RP_DOUBT_REFILLED;
    return doubt_results(story, occurrence, end);
}

const char *rp_find_doubt_text(enum rp_doubt doubt)
{
    static const char *const texts[] = {
        [RP_DOUBT_NONE] = "nothing speaks against it",
        [RP_DOUBT_REFILLED] = "an input that both read was filled anew in between, by none of them",
        [RP_DOUBT_BOTH_READ] = "what the first one made is still read beside what the second makes",
        [RP_DOUBT_USED_TWICE] = "what both make in one place is used by the same call after each",
        [RP_DOUBT_NUMBERED] = "they are numbered through, as iterations and layers are"};
    return texts[doubt];
}

void rp_find_doubted(struct rp_finding *finding, const char *first, const char *later,
                     enum rp_doubt doubt)
{
    if (finding->doubted++)
        return;
    finding->first_doubt = doubt;
    snprintf(finding->first_doubted, sizeof(finding->first_doubted), "%.120s to %.120s", first,
             later);
}

/* Walks past digits. */
static const char *after_number(const char *text)
{
    while (isdigit((unsigned char)*text))
        text++;
    return text;
}

bool rp_find_differ_by_numbers(const char *a, const char *b)
{
    for (;; a++, b++) {
        a = after_number(a);
        b = after_number(b);
        if (*a != *b)
            return false;
        if (!*a)
            return true;
    }
}
