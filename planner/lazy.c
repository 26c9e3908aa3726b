/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/lazy.h"

#include "planner/clobber.h"
#include "planner/derive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Events are numbered in time: the forward of k is k, its backward 2n - 1 - k. */

/* Bytes of one segment that are clobbered first at one event. */
struct part {
    size_t event;
    uint64_t bytes, pieces;
    int64_t held; /* rounded up, piece by piece */
};

struct segment {
    struct part *parts; /* in order of time */
    size_t part_count;
    struct rp_cost costs[RP_CHOICE_COUNT]; /* as the model charges them */
    size_t *events; /* of a label's figures before this segment is decided; the first is its
                     * own forward */
};

struct rp_lazy {
    struct rp_forward_model model; /* first, so that it leads back here */
    size_t count;
    struct segment *segments; /* count + 1: the last one has events only */
};

static const struct rp_lazy *lazy_of(const struct rp_forward_model *model)
{
    return (const struct rp_lazy *)model;
}

/* ---- parts -------------------------------------------------------------------- */

/* Moves what `writes` clobbers out of `rest` into a part. */
static enum rp_status take_part(const struct rp_profile *profile, struct segment *segment,
                                struct rp_spans *rest, const struct rp_spans *writes,
                                size_t event)
{
    struct rp_spans taken = {NULL, 0, 0}, within = {NULL, 0, 0};
    enum rp_status status = RP_OK;

    for (size_t i = 0; i < rest->count && writes->count > 0 && status == RP_OK; i++) {
        status = rp_spans_within(writes, rest->items[i].lo, rest->items[i].hi, &within);
        if (status == RP_OK)
            status = rp_spans_add_all(&taken, &within);
    }
    if (status == RP_OK && taken.count > 0) {
        uint64_t bytes = rp_spans_bytes(&taken), held;
        struct part *parts =
            realloc(segment->parts, (segment->part_count + 1) * sizeof(*parts));
        if (parts != NULL)
            segment->parts = parts;
        status = parts == NULL ? RP_NO_MEMORY : rp_round_pieces(profile, &taken, &held);
        if (status == RP_OK)
            parts[segment->part_count++] =
                (struct part){event, bytes, taken.count, (int64_t)held};
        if (status == RP_OK)
            status = rp_spans_remove_all(rest, &taken);
    }
    rp_spans_release(&taken);
    rp_spans_release(&within);
    return status;
}

static enum rp_status find_parts(const struct rp_lazy *lazy, const struct rp_clobbers *clobbers,
                                 size_t k)
{
    struct segment *segment = &lazy->segments[k];
    struct rp_spans rest = {NULL, 0, 0};
    size_t events = 2 * lazy->count;
    enum rp_status status = rp_spans_copy(&rest, &clobbers->clobbered[k]);

    for (size_t event = k; event < events - 1 - k && status == RP_OK && rest.count > 0; event++) {
        const struct rp_spans *writes = event < lazy->count
                                            ? &clobbers->writes[event]
                                            : &clobbers->backward_writes[events - 1 - event];
        status = take_part(lazy->model.profile, segment, &rest, writes, event);
    }
    rp_spans_release(&rest);
    return status;
}

/* What segment k holds at a later event under a choice. */
static int64_t held_at(const struct rp_lazy *lazy, size_t k, enum rp_choice choice, size_t event)
{
    const struct segment *segment = &lazy->segments[k];
    int64_t held = 0;

    if (choice != RP_CHOICE_REGIONS)
        return (int64_t)segment->costs[choice].hold;
    for (size_t i = 0; i < segment->part_count && segment->parts[i].event <= event; i++)
        held += segment->parts[i].held;
    return held;
}

/* ---- costs -------------------------------------------------------------------- */

static enum rp_status cost_of_regions(const struct rp_lazy *lazy,
                                      const struct rp_clobbers *clobbers, size_t k)
{
    const struct rp_profile *profile = lazy->model.profile;
    struct segment *segment = &lazy->segments[k];
    struct rp_replay replay;

    if (rp_derive_regions(profile, clobbers, k, &replay) != RP_OK)
        return RP_INVALID;
    replay.held = replay.held_forward = replay.preserve_time = replay.restored_pieces = 0;
    for (size_t i = 0; i < segment->part_count; i++) {
        const struct part *part = &segment->parts[i];
        uint64_t time;
        if (rp_copy_time(profile, part->bytes, part->pieces, &time) != RP_OK ||
            __builtin_add_overflow(replay.preserve_time, time, &replay.preserve_time) ||
            __builtin_add_overflow(replay.held, (uint64_t)part->held, &replay.held) ||
            replay.preserve_time > INT64_MAX || replay.held > INT64_MAX)
            return RP_INVALID;
        replay.restored_pieces += part->pieces;
        if (part->event == k)
            replay.held_forward = (uint64_t)part->held;
    }
    return rp_derive_replay(profile, rp_profile_facts(profile, k), &replay,
                            &segment->costs[RP_CHOICE_REGIONS]);
}

/* Parts are rounded one by one, so that a plan may hold more than the profile's rows, which
 * were checked, would have it. */
static enum rp_status check_sums(const struct rp_lazy *lazy, char *message, size_t message_size)
{
    uint64_t bytes = rp_profile_base(lazy->model.profile), time = 0;

    for (size_t k = 0; k < lazy->count; k++) {
        uint64_t most_bytes = 0, most_time = 0;
        for (int c = 0; c < RP_CHOICE_COUNT; c++) {
            const struct rp_cost *cost = &lazy->segments[k].costs[c];
            if (cost->allowed && cost->peak > most_bytes)
                most_bytes = cost->peak;
            if (cost->allowed && cost->time > most_time)
                most_time = cost->time;
        }
        bytes += most_bytes;
        time += most_time;
        if (bytes >= INT64_MAX || time >= INT64_MAX) {
            snprintf(message, message_size, "the sums of the lazy model leave 63 bits");
            return RP_INVALID;
        }
    }
    return RP_OK;
}

static enum rp_status derive_segment(const struct rp_lazy *lazy,
                                     const struct rp_clobbers *clobbers, size_t k)
{
    const struct rp_segment *from = rp_profile_segment(lazy->model.profile, k);
    enum rp_status status = find_parts(lazy, clobbers, k);

    for (int c = 0; c < RP_CHOICE_COUNT; c++)
        lazy->segments[k].costs[c] = from->costs[c];
    if (status == RP_OK && from->costs[RP_CHOICE_REGIONS].allowed)
        status = cost_of_regions(lazy, clobbers, k);
    return status;
}

/* ---- labels ------------------------------------------------------------------- */

/* The events at which labels differ before segment k is decided: its forward, and those up to
 * its backward at which an earlier segment's copies grow. */
static enum rp_status find_events(struct rp_lazy *lazy, bool *grows, size_t k)
{
    size_t last = 2 * lazy->count - 1 - k, count = 1;

    for (size_t i = 0; k > 0 && i < lazy->segments[k - 1].part_count; i++)
        grows[lazy->segments[k - 1].parts[i].event] = true;
    for (size_t event = k + 1; event <= last && k < lazy->count; event++)
        count += grows[event];
    size_t *events = malloc(count * sizeof(*events));
    if (events == NULL)
        return RP_NO_MEMORY;
    events[0] = k;
    count = 1;
    for (size_t event = k + 1; event <= last && k < lazy->count; event++)
        if (grows[event])
            events[count++] = event;
    lazy->segments[k].events = events;
    lazy->model.width[k] = count;
    return RP_OK;
}

/* Index of the last of a level's events at or before an event. */
static size_t figure_at(const struct rp_lazy *lazy, size_t level, size_t event)
{
    const size_t *events = lazy->segments[level].events;
    size_t low = 0, high = lazy->model.width[level];

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (events[middle] <= event)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void step(const struct rp_forward_model *model, size_t k, enum rp_choice choice,
                 const int64_t *held, uint64_t preserved, int64_t *next_held,
                 uint64_t *next_preserved, struct rp_step *step)
{
    const struct rp_lazy *lazy = lazy_of(model);
    const struct segment *segment = &lazy->segments[k];
    const struct rp_cost *cost = &segment->costs[choice];
    const size_t *events = segment->events, *next_events = lazy->segments[k + 1].events;
    size_t from = 0, part = 0, width = model->width[k];
    int64_t own = choice == RP_CHOICE_REGIONS ? 0 : (int64_t)cost->hold;

    step->forward = held[0] + (int64_t)cost->terms[RP_TERM_PEAK_FORWARD].value;
    step->backward = held[width - 1] + (int64_t)cost->terms[RP_TERM_PEAK_BACKWARD].value;
    step->time = (int64_t)cost->time;
    *next_preserved = preserved;
    for (size_t i = 0; i < model->width[k + 1]; i++) {
        while (from + 1 < width && events[from + 1] <= next_events[i])
            from++;
        while (choice == RP_CHOICE_REGIONS && part < segment->part_count &&
               segment->parts[part].event <= next_events[i])
            own += segment->parts[part++].held;
        next_held[i] = held[from] + own;
    }
}

static void charge(const struct rp_forward_model *model, size_t k, enum rp_choice choice,
                   uint64_t preserved, struct rp_cost *cost)
{
    (void)preserved;
    *cost = lazy_of(model)->segments[k].costs[choice];
}

/* ---- relaxations -------------------------------------------------------------- */

/* "Early": as if nothing grew after the next forward. "Late": only the backwards count, and of
 * growth only what comes before the first of them. */
enum { EARLY, LATE };

static struct rp_row relaxed_row(const struct rp_lazy *lazy, size_t k, enum rp_choice choice,
                                 int which)
{
    const struct rp_cost *cost = &lazy->segments[k].costs[choice];
    bool is_last = k + 1 == lazy->count;

    if (which == EARLY)
        return (struct rp_row){is_last ? 0 : held_at(lazy, k, choice, k + 1),
                               (int64_t)cost->peak, (int64_t)cost->time};
    return (struct rp_row){is_last ? 0 : held_at(lazy, k, choice, lazy->count),
                           (int64_t)cost->terms[RP_TERM_PEAK_BACKWARD].value,
                           (int64_t)cost->time};
}

static void relax(struct rp_lazy *lazy, int which)
{
    struct rp_relaxation *relaxation = &lazy->model.relaxations[which];

    for (size_t k = 0; k < lazy->count; k++) {
        struct rp_link *link = &relaxation->chain.links[k];
        for (int c = 0; c < RP_CHOICE_COUNT; c++) {
            if (!rp_question_allows(&lazy->model.question, k, (enum rp_choice)c))
                continue;
            link->rows[link->count] = relaxed_row(lazy, k, (enum rp_choice)c, which);
            link->choice[link->count++] = (uint8_t)c;
        }
    }
    for (size_t k = 0; k <= lazy->count; k++)
        relaxation->figure[k] = which == EARLY ? 0 : figure_at(lazy, k, lazy->count);
}

/* ---- the whole ---------------------------------------------------------------- */

static enum rp_status build(struct rp_lazy *lazy, const struct rp_clobbers *clobbers)
{
    bool *grows = calloc(2 * lazy->count + 2, sizeof(*grows));
    enum rp_status status = grows != NULL ? RP_OK : RP_NO_MEMORY;

    for (size_t k = 0; k < lazy->count && status == RP_OK; k++)
        status = derive_segment(lazy, clobbers, k);
    for (size_t k = 0; k <= lazy->count && status == RP_OK; k++)
        status = find_events(lazy, grows, k);
    free(grows);
    lazy->model.step = step;
    lazy->model.charge = charge;
    return status;
}

enum rp_status rp_lazy_create(const struct rp_question *question, struct rp_lazy **out,
                              char *message, size_t message_size)
{
    const struct rp_profile *profile = question->profile;
    size_t count = rp_profile_count(profile);
    struct rp_clobbers clobbers;
    struct rp_lazy *lazy;

    *out = NULL;
    if (count > RP_LAZY_MAX_SEGMENTS) {
        snprintf(message, message_size, "the lazy model plans at most %d segments",
                 RP_LAZY_MAX_SEGMENTS);
        return RP_UNSUPPORTED;
    }
    lazy = calloc(1, sizeof(*lazy));
    if (lazy == NULL)
        return RP_NO_MEMORY;
    lazy->count = count;
    lazy->segments = calloc(count + 1, sizeof(*lazy->segments));
    enum rp_status status = lazy->segments != NULL ? RP_OK : RP_NO_MEMORY;
    if (status == RP_OK)
        status = rp_forward_create(&lazy->model, question, 2);
    if (status == RP_OK)
        status = rp_clobbers_create(profile, &clobbers);
    if (status == RP_OK) {
        status = build(lazy, &clobbers);
        rp_clobbers_release(&clobbers);
    }
    if (status == RP_OK)
        status = check_sums(lazy, message, message_size);
    if (status != RP_OK) {
        rp_lazy_destroy(lazy);
        return status;
    }
    relax(lazy, EARLY);
    relax(lazy, LATE);
    *out = lazy;
    return RP_OK;
}

void rp_lazy_destroy(struct rp_lazy *lazy)
{
    if (lazy == NULL)
        return;
    for (size_t k = 0; lazy->segments != NULL && k <= lazy->count; k++) {
        free(lazy->segments[k].parts);
        free(lazy->segments[k].events);
    }
    free(lazy->segments);
    rp_forward_release(&lazy->model);
    free(lazy);
}

const struct rp_forward_model *rp_lazy_model(const struct rp_lazy *lazy)
{
    return &lazy->model;
}
