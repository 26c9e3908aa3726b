/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/forward_hunt.h"

#include "planner/watch.h"
#include "tracker/array.h"

#include <stdlib.h>
#include <string.h>

struct label {
    int64_t time, bound;
    uint64_t preserved;
    uint32_t parent;
    uint8_t choice;
    size_t held; /* where its figures begin in the level's */
};

struct level {
    struct label *labels;
    size_t count, capacity;
    int64_t *figures;
    size_t figure_capacity;
};

/* The way back: what each kept label was made of. */
struct trail {
    uint32_t parent;
    uint8_t choice;
};

struct search {
    struct rp_forward_hunt *hunt;
    struct rp_hulls after[RP_MAX_RELAXATIONS];
    struct level now, next;
    struct trail **trails;
};

/* ---- bounds ------------------------------------------------------------------- */

static void forget_times(struct rp_chain *chain)
{
    for (size_t k = 0; k < chain->count; k++)
        for (uint8_t c = 0; c < chain->links[k].count; c++)
            chain->links[k].rows[c].time = 0;
}

static enum rp_status bound(struct search *search)
{
    const struct rp_forward_model *model = search->hunt->model;
    enum rp_status status = RP_OK;

    for (size_t r = 0; r < model->relaxation_count && status == RP_OK; r++) {
        const struct rp_chain *chain = &model->relaxations[r].chain;
        struct rp_chain copy = {malloc((chain->count + 1) * sizeof(struct rp_link)), chain->count};
        if (copy.links == NULL)
            return RP_NO_MEMORY;
        memcpy(copy.links, chain->links, (chain->count + 1) * sizeof(struct rp_link));
        if (search->hunt->ignore_time)
            forget_times(&copy);
        status = rp_hulls_after(&copy, search->hunt->room, &search->after[r]);
        rp_chain_release(&copy);
    }
    return status;
}

/* The least time of any plan behind a label at level k; INT64_MAX when none can fit. */
static int64_t bound_label(const struct search *search, size_t k, const int64_t *held,
                           int64_t time)
{
    const struct rp_forward_model *model = search->hunt->model;
    int64_t most = 0;

    for (size_t r = 0; r < model->relaxation_count && !search->hunt->plain; r++) {
        struct rp_hull hull = rp_hulls_level(&search->after[r], model->count - k);
        int64_t outside = model->width[k] > 0 ? held[model->relaxations[r].figure[k]] : 0;
        int64_t rest = rp_hull_at(hull, search->hunt->room - outside);
        if (rest == INT64_MAX)
            return INT64_MAX;
        if (rest > most)
            most = rest;
    }
    return time + most;
}

/* ---- one level ---------------------------------------------------------------- */

static enum rp_status reserve(struct level *level, size_t labels, size_t figures)
{
    struct label *all = rp_array_reserve(level->labels, &level->capacity, labels, sizeof(*all));
    if (all == NULL)
        return RP_NO_MEMORY;
    level->labels = all;
    int64_t *beside =
        rp_array_reserve(level->figures, &level->figure_capacity, figures, sizeof(*beside));
    if (beside == NULL)
        return RP_NO_MEMORY;
    level->figures = beside;
    return RP_OK;
}

/* Adds what a choice makes of a label, unless it can't fit or can't be fast enough. */
static void extend_label(struct search *search, size_t k, uint32_t parent, enum rp_choice choice)
{
    const struct rp_forward_hunt *hunt = search->hunt;
    const struct rp_forward_model *model = hunt->model;
    const struct label *from = &search->now.labels[parent];
    struct level *next = &search->next;
    size_t width = model->width[k + 1];
    struct label label = {
        .parent = parent, .choice = (uint8_t)choice, .held = next->count * width};
    struct rp_label_step step;

    model->step(model, k, choice, search->now.figures + from->held, from->preserved,
                next->figures + label.held, &label.preserved, &step);
    if (step.forward > hunt->room || step.backward > hunt->room)
        return;
    label.time = from->time + (hunt->ignore_time ? 0 : step.time);
    label.bound = bound_label(search, k + 1, next->figures + label.held, label.time);
    if (label.bound < hunt->cutoff)
        next->labels[next->count++] = label;
}

/* Best first, so that no label is dominated by a later one. */
struct order {
    const int64_t *figures;
    size_t width;
};

static int compare(const void *a, const void *b, void *context)
{
    const struct label *x = a, *y = b;
    const struct order *order = context;
    const int64_t *held_x = order->figures + x->held, *held_y = order->figures + y->held;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    for (size_t i = 0; i < order->width; i++)
        if (held_x[i] != held_y[i])
            return held_x[i] < held_y[i] ? -1 : 1;
    int more = __builtin_popcountll(y->preserved) - __builtin_popcountll(x->preserved);
    if (more != 0)
        return more;
    if (x->preserved != y->preserved)
        return x->preserved < y->preserved ? -1 : 1;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    return x->choice - y->choice;
}

static bool dominates(const struct level *level, size_t width, const struct label *a,
                      const struct label *b)
{
    const int64_t *held_a = level->figures + a->held, *held_b = level->figures + b->held;

    if (b->preserved & ~a->preserved)
        return false;
    for (size_t i = 0; i < width; i++)
        if (held_a[i] > held_b[i])
            return false;
    return a->time <= b->time;
}

static void drop_dominated(struct level *level, size_t width)
{
    struct order order = {level->figures, width};
    size_t kept = 0;

    qsort_r(level->labels, level->count, sizeof(*level->labels), compare, &order);
    for (size_t i = 0; i < level->count; i++) {
        bool dominated = false;
        for (size_t j = 0; j < kept && !dominated; j++)
            dominated = dominates(level, width, &level->labels[j], &level->labels[i]);
        if (!dominated)
            level->labels[kept++] = level->labels[i];
    }
    level->count = kept;
}

static int compare_bounds(const void *a, const void *b)
{
    const struct label *x = a, *y = b;

    if (x->bound != y->bound)
        return x->bound < y->bound ? -1 : 1;
    return (x->held > y->held) - (x->held < y->held);
}

/* Keeps the labels with the best bounds. */
static void drop(struct search *search, size_t limit)
{
    struct rp_forward_hunt *hunt = search->hunt;
    struct level *next = &search->next;

    qsort(next->labels, next->count, sizeof(*next->labels), compare_bounds);
    if (next->labels[limit].bound < hunt->dropped_bound)
        hunt->dropped_bound = next->labels[limit].bound;
    hunt->dropped = true;
    next->count = limit;
}

static enum rp_status remember(struct search *search, size_t k)
{
    struct trail *trail = malloc((search->next.count + 1) * sizeof(*trail));

    if (trail == NULL)
        return RP_NO_MEMORY;
    for (size_t i = 0; i < search->next.count; i++)
        trail[i] =
            (struct trail){search->next.labels[i].parent, search->next.labels[i].choice};
    search->trails[k] = trail;
    search->hunt->work += search->next.count;
    return RP_OK;
}

static enum rp_status step(struct search *search, size_t k)
{
    const struct rp_forward_model *model = search->hunt->model;
    size_t most = RP_CHOICE_COUNT * search->now.count + 1, width = model->width[k + 1];
    size_t limit = search->hunt->max_labels;
    enum rp_status status = reserve(&search->next, most, most * width + 1);

    if (status != RP_OK)
        return status;
    search->next.count = 0;
    for (uint32_t i = 0; i < search->now.count; i++)
        for (int c = 0; c < RP_CHOICE_COUNT; c++)
            if (rp_question_allows(&model->question, k, (enum rp_choice)c))
                extend_label(search, k, i, (enum rp_choice)c);
    drop_dominated(&search->next, width);
    if (limit > RP_FORWARD_MAX_LABELS)
        limit = RP_FORWARD_MAX_LABELS;
    if (search->next.count > limit)
        drop(search, limit);
    status = remember(search, k);
    rp_watch_labels(search->hunt->watch, search->hunt->work);
    struct level now = search->now;
    search->now = search->next;
    search->next = now;
    return status;
}

/* ---- the whole ---------------------------------------------------------------- */

static void follow_back(const struct search *search)
{
    const struct rp_forward_hunt *hunt = search->hunt;
    size_t best = 0;

    for (size_t i = 1; i < search->now.count; i++)
        if (search->now.labels[i].time < search->now.labels[best].time)
            best = i;
    for (size_t k = hunt->model->count; k-- > 0;) {
        hunt->choices[k] = (enum rp_choice)search->trails[k][best].choice;
        best = search->trails[k][best].parent;
    }
}

static void release(struct search *search)
{
    for (size_t k = 0; search->trails != NULL && k < search->hunt->model->count; k++)
        free(search->trails[k]);
    free(search->trails);
    for (size_t r = 0; r < RP_MAX_RELAXATIONS; r++)
        rp_hulls_release(&search->after[r]);
    free(search->now.labels);
    free(search->now.figures);
    free(search->next.labels);
    free(search->next.figures);
}

enum rp_status rp_forward_hunt_run(struct rp_forward_hunt *hunt)
{
    size_t count = hunt->model->count, width = hunt->model->width[0];
    struct search search = {.hunt = hunt, .trails = calloc(count + 1, sizeof(struct trail *))};
    enum rp_status status = search.trails != NULL ? RP_OK : RP_NO_MEMORY;

    hunt->found = hunt->dropped = false;
    hunt->dropped_bound = INT64_MAX;
    hunt->work = 0;
    if (status == RP_OK)
        status = reserve(&search.now, 1, width + 1);
    if (status == RP_OK && !hunt->plain)
        status = bound(&search);
    if (status == RP_OK) {
        memset(search.now.figures, 0, (width + 1) * sizeof(int64_t));
        search.now.labels[0] = (struct label){.time = 0};
        search.now.count = hunt->room >= 0 && hunt->cutoff > 0;
    }
    for (size_t k = 0; k < count && status == RP_OK; k++)
        status = step(&search, k);
    if (status == RP_OK && search.now.count > 0) {
        hunt->found = true;
        follow_back(&search);
    }
    release(&search);
    return status;
}
