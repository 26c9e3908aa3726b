/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/baseline.h"

#include "planner/answer.h"
#include "planner/grid.h"
#include "planner/oblivious.h"
#include "planner/parallel.h"
#include "planner/search.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- chains with a choice taken away ------------------------------------------ */

static void restrict_link(struct rp_link *link, unsigned allowed)
{
    struct rp_link full = *link;

    link->count = 0;
    for (uint8_t c = 0; c < full.count; c++) {
        if (!(allowed & RP_CHOICE_BIT(full.choice[c])))
            continue;
        link->rows[link->count] = full.rows[c];
        link->choice[link->count++] = full.choice[c];
    }
}

static unsigned choices_of(const struct rp_link *link)
{
    unsigned choices = 0;

    for (uint8_t c = 0; c < link->count; c++)
        choices |= RP_CHOICE_BIT(link->choice[c]);
    return choices;
}

#define REPLAYS (RP_CHOICE_BIT(RP_CHOICE_WHOLE) | RP_CHOICE_BIT(RP_CHOICE_REGIONS))

/* All are replayed but each `every`-th (none with 0) and those that can't be. */
static unsigned fixed_choices(const struct rp_link *link, size_t index, size_t every)
{
    unsigned has = choices_of(link), retain = RP_CHOICE_BIT(RP_CHOICE_RETAIN);
    bool retained = every > 0 && (index + 1) % every == 0;

    if ((retained && (has & retain)) || !(has & REPLAYS))
        return retain;
    return REPLAYS;
}

/* Whole buffers where that is possible, otherwise whatever is. */
static unsigned whole_choices(const struct rp_link *link)
{
    unsigned has = choices_of(link);

    for (int c = 0; c < RP_CHOICE_COUNT; c++) {
        static const enum rp_choice order[] = {RP_CHOICE_WHOLE, RP_CHOICE_RETAIN,
                                               RP_CHOICE_REGIONS};
        if (has & RP_CHOICE_BIT(order[c]))
            return RP_CHOICE_BIT(order[c]);
    }
    return has;
}

static enum rp_status baseline_chain(const struct rp_question *question,
                                     enum rp_baseline baseline, size_t every,
                                     struct rp_chain *chain)
{
    static const unsigned allowed[RP_BASELINE_COUNT] = {
        [RP_BASELINE_EAGER] = RP_CHOICE_BIT(RP_CHOICE_RETAIN),
        [RP_BASELINE_WHOLE] = RP_CHOICE_ALL,
        [RP_BASELINE_OR_WHOLE] = RP_CHOICE_BIT(RP_CHOICE_RETAIN) | RP_CHOICE_BIT(RP_CHOICE_WHOLE),
        [RP_BASELINE_OR_REGIONS] =
            RP_CHOICE_BIT(RP_CHOICE_RETAIN) | RP_CHOICE_BIT(RP_CHOICE_REGIONS),
        [RP_BASELINE_FIXED] = RP_CHOICE_ALL,
        [RP_BASELINE_GRID] = RP_CHOICE_BIT(RP_CHOICE_RETAIN) | RP_CHOICE_BIT(RP_CHOICE_REGIONS),
        [RP_BASELINE_JOINT] = RP_CHOICE_ALL,
    };
    char message[160];
    enum rp_status status = rp_chain_create(question->profile, allowed[baseline], chain, message,
                                            sizeof(message));

    for (size_t k = 0; status == RP_OK && k < chain->count; k++) {
        if (baseline == RP_BASELINE_WHOLE)
            restrict_link(&chain->links[k], whole_choices(&chain->links[k]));
        if (baseline == RP_BASELINE_FIXED)
            restrict_link(&chain->links[k], fixed_choices(&chain->links[k], k, every));
    }
    if (status == RP_OK)
        rp_chain_drop_dominated(chain);
    return status;
}

/* ---- one trial ---------------------------------------------------------------- */

static enum rp_status try_chain(const struct rp_question *question, const struct rp_chain *chain,
                                uint64_t budget, struct rp_trial *trial)
{
    uint64_t base = rp_profile_base(question->profile);
    struct rp_search search = {.chain = chain, .max_labels = question->max_labels};

    *trial = (struct rp_trial){.certain = true};
    if (budget < base || (int64_t)(budget - base) < rp_chain_need(chain).room)
        return RP_OK;
    search.room = (int64_t)(budget - base);
    search.rows = calloc(chain->count + 1, 1);
    enum rp_status status = search.rows != NULL ? rp_search_run(&search) : RP_NO_MEMORY;
    if (status == RP_OK && search.found) {
        trial->fits = true;
        trial->certain = search.lower >= search.time;
        trial->peak = base + (uint64_t)search.peak;
        trial->time = (uint64_t)search.time;
    }
    free(search.rows);
    return status;
}

/* 0, 2, 3, 4, 6, 8, 12, 16, ... up to the number of segments. */
static size_t next_every(size_t every)
{
    if (every == 0)
        return 2;
    bool is_power = (every & (every - 1)) == 0;
    return is_power ? every + every / 2 : every / 3 * 4;
}

static enum rp_status try_fixed(const struct rp_question *question, uint64_t budget,
                                struct rp_trial *trial)
{
    size_t count = rp_profile_count(question->profile);
    enum rp_status status = RP_OK;

    *trial = (struct rp_trial){.certain = true};
    for (size_t every = 0; status == RP_OK && every <= count; every = next_every(every)) {
        struct rp_chain chain;
        struct rp_trial one;
        status = baseline_chain(question, RP_BASELINE_FIXED, every, &chain);
        if (status != RP_OK)
            return status;
        status = try_chain(question, &chain, budget, &one);
        rp_chain_release(&chain);
        one.every = every;
        if (one.fits && (!trial->fits || one.time < trial->time))
            *trial = one;
    }
    return status;
}

static enum rp_status try_baseline(const struct rp_question *question, enum rp_baseline baseline,
                                   uint64_t budget, struct rp_trial *trial)
{
    struct rp_chain chain;

    if (baseline == RP_BASELINE_FIXED)
        return try_fixed(question, budget, trial);
    if (baseline == RP_BASELINE_OBLIVIOUS)
        return rp_oblivious_solve(question, budget, trial);
    enum rp_status status = baseline_chain(question, baseline, 0, &chain);
    if (status == RP_OK) {
        status = try_chain(question, &chain, budget, trial);
        rp_chain_release(&chain);
    }
    return status;
}

/* ---- smallest budgets --------------------------------------------------------- */

static enum rp_status least_of(const struct rp_question *question, enum rp_baseline baseline,
                               size_t every, uint64_t *least)
{
    struct rp_chain chain;
    enum rp_status status = baseline_chain(question, baseline, every, &chain);

    if (status != RP_OK)
        return status;
    uint64_t need = rp_profile_base(question->profile) + (uint64_t)rp_chain_need(&chain).room;
    if (need < *least)
        *least = need;
    rp_chain_release(&chain);
    return RP_OK;
}

/* Of the oblivious planner there is none: whether it fits is no matter of more or less. */
static enum rp_status find_least(const struct rp_question *question, enum rp_baseline baseline,
                                 struct rp_comparison *comparison)
{
    uint64_t *least = &comparison->min_budget[baseline];
    size_t count = rp_profile_count(question->profile), every = 0;
    enum rp_status status = RP_OK;

    if (baseline == RP_BASELINE_OBLIVIOUS)
        return RP_OK;
    *least = UINT64_MAX;
    do
        status = least_of(question, baseline, every, least);
    while (status == RP_OK && baseline == RP_BASELINE_FIXED &&
           (every = next_every(every)) <= count);
    comparison->has_min_budget[baseline] = status == RP_OK;
    return status;
}

/* What each baseline is asked: the same of all, but for the one that sees pages only. */
struct contest {
    struct rp_question questions[RP_BASELINE_COUNT];
    struct rp_comparison *comparison;
    struct rp_profile *grid; /* NULL when it can't be had */
};

static enum rp_status open_contest(const struct rp_question *question, struct contest *contest)
{
    for (int b = 0; b < RP_BASELINE_COUNT; b++)
        contest->questions[b] = *question;
    enum rp_status status = rp_grid_create(question->profile, RP_GRID_BYTES, &contest->grid);
    if (status == RP_OK)
        contest->questions[RP_BASELINE_GRID].profile = contest->grid;
    else if (status == RP_UNSUPPORTED)
        contest->comparison->impossible[RP_BASELINE_GRID] = "the profile tells no ranges";
    else if (status == RP_INVALID)
        contest->comparison->impossible[RP_BASELINE_GRID] = "its figures would leave 63 bits";
    return status == RP_NO_MEMORY ? status : RP_OK;
}

static enum rp_status find_obstacles(const struct contest *contest,
                                     struct rp_comparison *comparison)
{
    const struct rp_question *question = &contest->questions[RP_BASELINE_JOINT];

    comparison->impossible[RP_BASELINE_OBLIVIOUS] = rp_oblivious_obstacle(question->profile);
    for (int b = 0; b < RP_BASELINE_COUNT; b++) {
        enum rp_status status = RP_OK;
        if (comparison->impossible[b] == NULL)
            status = find_least(&contest->questions[b], (enum rp_baseline)b, comparison);
        if (status == RP_INVALID)
            comparison->impossible[b] = "a segment has none of its options";
        else if (status != RP_OK)
            return status;
    }
    return RP_OK;
}

/* ---- budgets ------------------------------------------------------------------ */

static enum rp_status eager_peak(const struct rp_question *question, uint64_t *peak)
{
    struct rp_chain chain;
    enum rp_status status = baseline_chain(question, RP_BASELINE_EAGER, 0, &chain);

    *peak = 0;
    if (status != RP_OK)
        return status == RP_INVALID ? RP_OK : status;
    *peak = rp_profile_base(question->profile) + (uint64_t)rp_chain_need(&chain).room;
    rp_chain_release(&chain);
    return RP_OK;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* `count` budgets from `least` to `most`, and one more in its place. */
static enum rp_status space(uint64_t least, uint64_t most, size_t count, uint64_t extra,
                            uint64_t **budgets, size_t *found)
{
    uint64_t *all = calloc(count + 1, sizeof(*all));
    size_t kept = 0;

    if (all == NULL)
        return RP_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        all[i] = least + (uint64_t)((rp_wide)(most - least) * (rp_wide)i /
                                    (rp_wide)(count > 1 ? count - 1 : 1));
    all[count] = extra > 0 ? extra : least;
    qsort(all, count + 1, sizeof(*all), compare);
    for (size_t i = 0; i <= count; i++)
        if (kept == 0 || all[i] != all[kept - 1])
            all[kept++] = all[i];
    *budgets = all;
    *found = kept;
    return RP_OK;
}

enum rp_status rp_budget_grid(const struct rp_question *question, size_t count,
                              uint64_t **budgets, size_t *found, char *message,
                              size_t message_size)
{
    struct rp_question largest = *question;
    struct rp_plan *plan;
    uint64_t least;

    largest.budget = INT64_MAX;
    enum rp_status status =
        rp_planner_min_budget(question, &least, NULL, message, message_size);
    if (status == RP_OK)
        status = rp_planner_solve(&largest, &plan, message, message_size);
    if (status != RP_OK)
        return status;
    uint64_t most = plan->peak > least ? plan->peak : least;
    rp_plan_destroy(plan);
    return space(least, most, count, 0, budgets, found);
}

/* ---- comparing ---------------------------------------------------------------- */

static enum rp_status try_one(void *context, size_t index, char *message, size_t message_size)
{
    const struct contest *contest = context;
    struct rp_comparison *comparison = contest->comparison;
    enum rp_baseline baseline = (enum rp_baseline)(index / comparison->count);
    size_t i = index % comparison->count;

    (void)message;
    (void)message_size;
    if (comparison->impossible[baseline] != NULL)
        return RP_OK;
    return try_baseline(&contest->questions[baseline], baseline, comparison->budgets[i],
                        &comparison->trials[baseline][i]);
}

static enum rp_status find_knee(struct rp_comparison *comparison)
{
    struct rp_curve_point *points = calloc(comparison->count + 1, sizeof(*points));
    size_t kept = 0, first = 0;

    if (points == NULL)
        return RP_NO_MEMORY;
    for (size_t i = 0; i < comparison->count; i++) {
        const struct rp_trial *trial = &comparison->trials[RP_BASELINE_JOINT][i];
        if (!trial->fits)
            first = i + 1;
        else
            points[kept++] = (struct rp_curve_point){comparison->budgets[i], trial->time};
    }
    comparison->knee = first + rp_curve_knee(points, kept);
    free(points);
    return RP_OK;
}

static enum rp_status prepare(const struct contest *contest, size_t count, char *message,
                              size_t message_size)
{
    const struct rp_question *question = &contest->questions[RP_BASELINE_JOINT];
    struct rp_comparison *comparison = contest->comparison;
    struct rp_question largest = *question;
    struct rp_plan *plan = NULL;
    enum rp_status status = find_obstacles(contest, comparison);

    if (status == RP_OK)
        status = eager_peak(question, &comparison->eager_peak);
    largest.budget = INT64_MAX;
    if (status == RP_OK)
        status = rp_planner_solve(&largest, &plan, message, message_size);
    if (status != RP_OK)
        return status;
    uint64_t most =
        plan->peak > comparison->eager_peak ? plan->peak : comparison->eager_peak;
    rp_plan_destroy(plan);
    status = space(comparison->min_budget[RP_BASELINE_JOINT], most, count, question->budget,
                   &comparison->budgets, &comparison->count);
    for (int b = 0; b < RP_BASELINE_COUNT && status == RP_OK; b++) {
        comparison->trials[b] = calloc(comparison->count, sizeof(struct rp_trial));
        if (comparison->trials[b] == NULL)
            status = RP_NO_MEMORY;
    }
    return status;
}

enum rp_status rp_baseline_compare(const struct rp_question *question, size_t count,
                                   struct rp_comparison **out, char *message,
                                   size_t message_size)
{
    struct rp_comparison *comparison;
    enum rp_status status;

    *out = NULL;
    if (question->model != RP_MODEL_NESTED || rp_profile_departure(question->profile) != NULL) {
        snprintf(message, message_size, "baselines are compared under the nested model");
        return RP_UNSUPPORTED;
    }
    comparison = calloc(1, sizeof(*comparison));
    if (comparison == NULL)
        return RP_NO_MEMORY;
    struct contest contest = {.comparison = comparison};
    status = open_contest(question, &contest);
    if (status == RP_OK)
        status = prepare(&contest, count, message, message_size);
    if (status == RP_OK)
        status = rp_parallel_run(try_one, &contest, RP_BASELINE_COUNT * comparison->count,
                                 message, message_size);
    if (status == RP_OK)
        status = find_knee(comparison);
    rp_profile_destroy(contest.grid);
    if (status == RP_OK)
        *out = comparison;
    else
        rp_comparison_destroy(comparison);
    return status;
}

void rp_comparison_destroy(struct rp_comparison *comparison)
{
    if (comparison == NULL)
        return;
    for (int b = 0; b < RP_BASELINE_COUNT; b++)
        free(comparison->trials[b]);
    free(comparison->budgets);
    free(comparison);
}
