/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/growth.h"

#include <stdio.h>
#include <stdlib.h>

/* Which simpler chains bound the search: as if nothing grew after the next forward; as if only the
 * backwards counted, and of growth only what comes before the first of them; and the same from
 * the event on at which most is added. */
enum { EARLY, LATE, HEAVY, RELAXATIONS };

struct rp_growth {
    struct rp_forward_model model; /* first, so that it leads back here */
    size_t count;
    struct rp_growth_segment *segments;
    size_t **events; /* count + 1, by level: at which a label's figures are; the first is the next
                      * forward */
};

static const struct rp_growth *growth_of(const struct rp_forward_model *model)
{
    return (const struct rp_growth *)model;
}

/* ---- filling in --------------------------------------------------------------- */

struct rp_growth_segment *rp_growth_segment(struct rp_growth *growth, size_t k)
{
    return &growth->segments[k];
}

enum rp_status rp_growth_add(struct rp_growth_hold *hold, size_t event, int64_t bytes)
{
    struct rp_growth_part *parts =
        realloc(hold->parts, (hold->part_count + 1) * sizeof(*parts));

    if (parts == NULL)
        return RP_NO_MEMORY;
    hold->parts = parts;
    parts[hold->part_count++] = (struct rp_growth_part){event, bytes};
    return RP_OK;
}

/* ---- what is held when -------------------------------------------------------- */

static int64_t held_at(const struct rp_growth *growth, size_t k, enum rp_choice choice,
                       size_t event)
{
    const struct rp_growth_hold *hold = &growth->segments[k].holds[choice];
    int64_t held = hold->start;

    for (size_t i = 0; i < hold->part_count && hold->parts[i].event <= event; i++)
        held += hold->parts[i].held;
    return held;
}

static size_t backward_of(const struct rp_growth *growth, size_t k)
{
    return 2 * growth->count - 1 - k;
}

/* ---- labels ------------------------------------------------------------------- */

static void note_growth(const struct rp_growth_segment *segment, bool *grows)
{
    for (int c = 0; c < RP_CHOICE_COUNT; c++)
        for (size_t i = 0; i < segment->holds[c].part_count; i++)
            grows[segment->holds[c].parts[i].event] = true;
}

/* The events at which labels differ before segment k is decided: its forward, and those up to
 * its backward at which what an earlier segment holds grows. */
static enum rp_status find_events(struct rp_growth *growth, bool *grows, size_t k)
{
    size_t last = backward_of(growth, k), count = 1;

    if (k > 0)
        note_growth(&growth->segments[k - 1], grows);
    for (size_t event = k + 1; event <= last && k < growth->count; event++)
        count += grows[event];
    size_t *events = malloc(count * sizeof(*events));
    if (events == NULL)
        return RP_NO_MEMORY;
    events[0] = k;
    count = 1;
    for (size_t event = k + 1; event <= last && k < growth->count; event++)
        if (grows[event])
            events[count++] = event;
    growth->events[k] = events;
    growth->model.width[k] = count;
    return RP_OK;
}

/* Index of the last of a level's events at or before an event. */
static size_t figure_at(const struct rp_growth *growth, size_t level, size_t event)
{
    const size_t *events = growth->events[level];
    size_t low = 0, high = growth->model.width[level];

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
                 uint64_t *next_preserved, struct rp_label_step *step)
{
    const struct rp_growth *growth = growth_of(model);
    const struct rp_cost *cost = &growth->segments[k].costs[choice];
    const struct rp_growth_hold *hold = &growth->segments[k].holds[choice];
    const size_t *events = growth->events[k], *next_events = growth->events[k + 1];
    size_t from = 0, part = 0, width = model->width[k];
    int64_t own = hold->start;

    step->forward = held[0] + (int64_t)cost->terms[RP_TERM_PEAK_FORWARD].value;
    step->backward = held[width - 1] + (int64_t)cost->terms[RP_TERM_PEAK_BACKWARD].value;
    step->time = (int64_t)cost->time;
    *next_preserved = preserved;
    for (size_t i = 0; i < model->width[k + 1]; i++) {
        while (from + 1 < width && events[from + 1] <= next_events[i])
            from++;
        while (part < hold->part_count && hold->parts[part].event <= next_events[i])
            own += hold->parts[part++].held;
        next_held[i] = held[from] + own;
    }
}

static void charge(const struct rp_forward_model *model, size_t k, enum rp_choice choice,
                   uint64_t preserved, struct rp_cost *cost)
{
    (void)preserved;
    *cost = growth_of(model)->segments[k].costs[choice];
}

/* ---- relaxations -------------------------------------------------------------- */

static struct rp_row early_row(const struct rp_growth *growth, size_t k, enum rp_choice choice)
{
    const struct rp_cost *cost = &growth->segments[k].costs[choice];
    bool is_last = k + 1 == growth->count;

    return (struct rp_row){is_last ? 0 : held_at(growth, k, choice, k + 1), (int64_t)cost->peak,
                           (int64_t)cost->time};
}

/* Only backwards from the event on count; segments whose own comes before are gone by then. */
static struct rp_row late_row(const struct rp_growth *growth, size_t k, enum rp_choice choice,
                              size_t event)
{
    const struct rp_cost *cost = &growth->segments[k].costs[choice];

    if (backward_of(growth, k) < event)
        return (struct rp_row){0, 0, (int64_t)cost->time};
    return (struct rp_row){
        backward_of(growth, k) == event ? 0 : held_at(growth, k, choice, event),
        (int64_t)cost->terms[RP_TERM_PEAK_BACKWARD].value, (int64_t)cost->time};
}

/* Of the backwards, that at which most is added under the choices that add most. */
static size_t heaviest(const struct rp_growth *growth, int64_t *added)
{
    size_t heavy = growth->count;

    for (size_t k = 0; k < growth->count; k++)
        for (int c = 0; c < RP_CHOICE_COUNT; c++) {
            const struct rp_growth_hold *hold = &growth->segments[k].holds[c];
            for (size_t i = 0; i < hold->part_count; i++)
                added[hold->parts[i].event] += hold->parts[i].held / RP_CHOICE_COUNT;
        }
    for (size_t event = growth->count; event < 2 * growth->count; event++)
        if (added[event] > added[heavy])
            heavy = event;
    return heavy;
}

static void relax(struct rp_growth *growth, int which, size_t event)
{
    struct rp_relaxation *relaxation = &growth->model.relaxations[which];

    for (size_t k = 0; k < growth->count; k++) {
        struct rp_link *link = &relaxation->chain.links[k];
        for (int c = 0; c < RP_CHOICE_COUNT; c++) {
            enum rp_choice choice = (enum rp_choice)c;
            if (!rp_question_allows(&growth->model.question, k, choice))
                continue;
            link->rows[link->count] = which == EARLY ? early_row(growth, k, choice)
                                                     : late_row(growth, k, choice, event);
            link->choice[link->count++] = (uint8_t)c;
        }
    }
    for (size_t k = 0; k <= growth->count; k++)
        relaxation->figure[k] = which == EARLY ? 0 : figure_at(growth, k, event);
}

/* ---- the whole ---------------------------------------------------------------- */

/* Parts may be rounded one by one, so that a plan may hold more than the profile's rows, which
 * were checked, would have it. */
static enum rp_status check_sums(const struct rp_growth *growth, char *message,
                                 size_t message_size)
{
    uint64_t bytes = rp_profile_base(growth->model.profile), time = 0;

    for (size_t k = 0; k < growth->count; k++) {
        uint64_t most_bytes = 0, most_time = 0;
        for (int c = 0; c < RP_CHOICE_COUNT; c++) {
            const struct rp_cost *cost = &growth->segments[k].costs[c];
            if (cost->allowed && cost->peak > most_bytes)
                most_bytes = cost->peak;
            if (cost->allowed && cost->time > most_time)
                most_time = cost->time;
        }
        bytes += most_bytes;
        time += most_time;
        if (bytes >= INT64_MAX || time >= INT64_MAX) {
            snprintf(message, message_size, "the sums of the %s model leave 63 bits",
                     rp_model_name(growth->model.question.model));
            return RP_INVALID;
        }
    }
    return RP_OK;
}

/* All segments are filled in. */
static enum rp_status settle(struct rp_growth *growth, char *message, size_t message_size)
{
    enum rp_status status = check_sums(growth, message, message_size);
    bool *grows = calloc(2 * growth->count + 2, sizeof(*grows));
    int64_t *added = calloc(2 * growth->count + 2, sizeof(*added));

    if (grows == NULL || added == NULL)
        status = RP_NO_MEMORY;
    for (size_t k = 0; k <= growth->count && status == RP_OK; k++)
        status = find_events(growth, grows, k);
    if (status == RP_OK) {
        relax(growth, EARLY, 0);
        relax(growth, LATE, growth->count);
        relax(growth, HEAVY, heaviest(growth, added));
    }
    free(grows);
    free(added);
    growth->model.step = step;
    growth->model.charge = charge;
    return status;
}

static enum rp_status growth_create(const struct rp_question *question, struct rp_growth **out)
{
    struct rp_growth *growth = calloc(1, sizeof(*growth));

    *out = growth;
    if (growth == NULL)
        return RP_NO_MEMORY;
    growth->count = rp_profile_count(question->profile);
    growth->segments = calloc(growth->count + 1, sizeof(*growth->segments));
    growth->events = calloc(growth->count + 1, sizeof(*growth->events));
    if (growth->segments == NULL || growth->events == NULL)
        return RP_NO_MEMORY;
    return rp_forward_create(&growth->model, question, RELAXATIONS);
}

enum rp_status rp_growth_create(const struct rp_question *question, rp_growth_fill_fn fill,
                                struct rp_growth **out, char *message, size_t message_size)
{
    struct rp_growth *growth;

    *out = NULL;
    if (rp_profile_count(question->profile) > RP_PROFILE_MAX_LATER) {
        snprintf(message, message_size,
                 "at most %d segments are planned where what they hold grows (lazy, or \"later\" "
                 "in options)",
                 RP_PROFILE_MAX_LATER);
        return RP_UNSUPPORTED;
    }
    enum rp_status status = growth_create(question, &growth);
    if (status == RP_OK)
        status = fill(question, growth);
    if (status == RP_OK)
        status = settle(growth, message, message_size);
    if (status == RP_OK)
        *out = growth;
    else
        rp_growth_destroy(growth);
    return status;
}

void rp_growth_destroy(struct rp_growth *growth)
{
    if (growth == NULL)
        return;
    for (size_t k = 0; growth->segments != NULL && k < growth->count; k++)
        for (int c = 0; c < RP_CHOICE_COUNT; c++)
            free(growth->segments[k].holds[c].parts);
    for (size_t k = 0; growth->events != NULL && k <= growth->count; k++)
        free(growth->events[k]);
    free(growth->segments);
    free(growth->events);
    rp_forward_release(&growth->model);
    free(growth);
}

const struct rp_forward_model *rp_growth_model(const struct rp_growth *growth)
{
    return &growth->model;
}
