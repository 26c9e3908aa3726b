/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/baseline.h"

#include "planner/chain.h"
#include "planner/grid.h"
#include "planner/oblivious.h"
#include "planner/parallel.h"

#include <stdlib.h>

/* ---- what each may choose ----------------------------------------------------- */

#define RETAIN RP_CHOICE_BIT(RP_CHOICE_RETAIN)
#define WHOLE RP_CHOICE_BIT(RP_CHOICE_WHOLE)
#define REGIONS RP_CHOICE_BIT(RP_CHOICE_REGIONS)

static unsigned options_of(const struct rp_question *question, size_t k)
{
    unsigned options = 0;

    for (int c = 0; c < RP_CHOICE_COUNT; c++)
        if (rp_question_allows(question, k, (enum rp_choice)c))
            options |= RP_CHOICE_BIT(c);
    return options;
}

/* All are replayed but each `every`-th (none with 0) and those that can't be. */
static unsigned fixed_choices(unsigned has, size_t k, size_t every)
{
    bool retained = every > 0 && (k + 1) % every == 0;

    if ((retained && (has & RETAIN)) || !(has & (WHOLE | REGIONS)))
        return RETAIN;
    return WHOLE | REGIONS;
}

/* Whole buffers where that is possible, otherwise whatever is. */
static unsigned whole_choices(unsigned has)
{
    return has & WHOLE ? WHOLE : has & RETAIN ? RETAIN : has;
}

/* The question as a baseline asks it; `each` has room for a byte a segment. */
static struct rp_question ask(const struct rp_question *question, enum rp_baseline baseline,
                              size_t every, uint8_t *each)
{
    static const unsigned allowed[RP_BASELINE_COUNT] = {
        [RP_BASELINE_EAGER] = RETAIN,
        [RP_BASELINE_WHOLE] = RP_CHOICE_ALL,
        [RP_BASELINE_OR_WHOLE] = RETAIN | WHOLE,
        [RP_BASELINE_OR_REGIONS] = RETAIN | REGIONS,
        [RP_BASELINE_FIXED] = RP_CHOICE_ALL,
        [RP_BASELINE_GRID] = RETAIN | REGIONS,
        [RP_BASELINE_OBLIVIOUS] = RP_CHOICE_ALL,
        [RP_BASELINE_JOINT] = RP_CHOICE_ALL,
    };
    struct rp_question asked = *question;

    asked.allowed &= allowed[baseline];
    asked.watch = NULL; /* it hears of trials */
    for (size_t k = 0; k < rp_profile_count(question->profile); k++) {
        unsigned has = options_of(&asked, k);
        each[k] = (uint8_t)(baseline == RP_BASELINE_WHOLE   ? whole_choices(has)
                            : baseline == RP_BASELINE_FIXED ? fixed_choices(has, k, every)
                                                            : has);
    }
    asked.allowed_each = each;
    return asked;
}

/* ---- one trial ---------------------------------------------------------------- */

static enum rp_status try_question(const struct rp_question *asked, struct rp_trial *trial,
                                   char *message, size_t message_size)
{
    struct rp_plan *plan;
    enum rp_status status = rp_planner_solve(asked, &plan, message, message_size);

    if (status != RP_OK)
        return status;
    *trial = (struct rp_trial){
        .fits = rp_plan_has_choices(plan),
        .certain = plan->answer != RP_ANSWER_FEASIBLE && plan->answer != RP_ANSWER_UNKNOWN,
        .peak = plan->peak,
        .time = plan->time};
    rp_plan_destroy(plan);
    return RP_OK;
}

/* 0, 2, 3, 4, 6, 8, 12, 16, ... up to the number of segments. */
static size_t next_every(size_t every)
{
    if (every == 0)
        return 2;
    bool is_power = (every & (every - 1)) == 0;
    return is_power ? every + every / 2 : every / 3 * 4;
}

static enum rp_status try_fixed(const struct rp_question *question, uint8_t *each,
                                struct rp_trial *trial, char *message, size_t message_size)
{
    size_t count = rp_profile_count(question->profile);
    enum rp_status status = RP_OK;

    *trial = (struct rp_trial){.certain = true};
    for (size_t every = 0; status == RP_OK && every <= count; every = next_every(every)) {
        struct rp_question asked = ask(question, RP_BASELINE_FIXED, every, each);
        struct rp_trial one = {.fits = false};
        status = try_question(&asked, &one, message, message_size);
        one.every = every;
        if (one.fits && (!trial->fits || one.time < trial->time))
            *trial = one;
    }
    return status;
}

static enum rp_status try_baseline(const struct rp_question *question, enum rp_baseline baseline,
                                   struct rp_trial *trial, char *message, size_t message_size)
{
    uint8_t *each = calloc(rp_profile_count(question->profile) + 1, sizeof(*each));
    enum rp_status status;

    if (each == NULL)
        return RP_NO_MEMORY;
    struct rp_question asked = ask(question, baseline, 0, each);
    if (baseline == RP_BASELINE_FIXED)
        status = try_fixed(question, each, trial, message, message_size);
    else if (baseline == RP_BASELINE_OBLIVIOUS)
        status = rp_oblivious_solve(&asked, trial);
    else
        status = try_question(&asked, trial, message, message_size);
    free(each);
    return status;
}

/* ---- smallest budgets --------------------------------------------------------- */

/* Of the fixed ones, that of the best k. */
static enum rp_status least_of(const struct rp_question *question, enum rp_baseline baseline,
                               uint64_t *least, char *message, size_t message_size)
{
    size_t count = rp_profile_count(question->profile), every = 0;
    uint8_t *each = calloc(count + 1, sizeof(*each));
    enum rp_status status = each != NULL ? RP_OK : RP_NO_MEMORY;

    *least = UINT64_MAX;
    while (status == RP_OK && every <= count) {
        struct rp_question asked = ask(question, baseline, every, each);
        uint64_t one = UINT64_MAX;
        status = rp_planner_min_budget(&asked, &one, NULL, message, message_size);
        if (one < *least)
            *least = one;
        every = baseline == RP_BASELINE_FIXED ? next_every(every) : count + 1;
    }
    free(each);
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

/* Of the oblivious planner there is no smallest budget: whether it fits is no matter of more or
 * less. */
static enum rp_status find_least(const struct contest *contest, enum rp_baseline baseline,
                                 char *message, size_t message_size)
{
    struct rp_comparison *comparison = contest->comparison;

    if (baseline == RP_BASELINE_OBLIVIOUS || comparison->impossible[baseline] != NULL)
        return RP_OK;
    enum rp_status status = least_of(&contest->questions[baseline], baseline,
                                     &comparison->min_budget[baseline], message, message_size);
    comparison->has_min_budget[baseline] = status == RP_OK;
    if (status == RP_OK || baseline == RP_BASELINE_JOINT)
        return status;
    if (status == RP_INVALID)
        comparison->impossible[baseline] = "a segment has none of its options";
    if (status == RP_UNSUPPORTED)
        comparison->impossible[baseline] = "it is too large for this model";
    return comparison->impossible[baseline] != NULL ? RP_OK : status;
}

/* Where the joint plan can't be had, nothing is compared. */
static enum rp_status find_obstacles(const struct contest *contest, char *message,
                                     size_t message_size)
{
    const struct rp_question *question = &contest->questions[RP_BASELINE_JOINT];
    enum rp_status status = RP_OK;

    contest->comparison->impossible[RP_BASELINE_OBLIVIOUS] =
        rp_oblivious_obstacle(question->profile);
    for (int b = RP_BASELINE_COUNT; status == RP_OK && b-- > 0;)
        status = find_least(contest, (enum rp_baseline)b, message, message_size);
    return status;
}

/* ---- budgets ------------------------------------------------------------------ */

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
    struct rp_question question = contest->questions[baseline];
    size_t i = index % comparison->count;

    if (comparison->impossible[baseline] != NULL)
        return RP_OK;
    question.budget = comparison->budgets[i];
    return try_baseline(&question, baseline, &comparison->trials[baseline][i], message,
                        message_size);
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
    enum rp_status status = find_obstacles(contest, message, message_size);

    if (comparison->has_min_budget[RP_BASELINE_EAGER]) /* the only plan that it has */
        comparison->eager_peak = comparison->min_budget[RP_BASELINE_EAGER];
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
    comparison = calloc(1, sizeof(*comparison));
    if (comparison == NULL)
        return RP_NO_MEMORY;
    comparison->model = question->model;
    struct contest contest = {.comparison = comparison};
    status = open_contest(question, &contest);
    if (status == RP_OK)
        status = prepare(&contest, count, message, message_size);
    if (status == RP_OK)
        status = rp_parallel_run(try_one, &contest, RP_BASELINE_COUNT * comparison->count,
                                 question->watch, message, message_size);
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
