/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/descent.h"

#include "planner/chain.h"
#include "planner/parallel.h"
#include "tracker/array.h"

#include <stdlib.h>
#include <string.h>

/* As many whatever the number of processors is, so that truncated curves are the same too. */
enum { STRETCHES = 16 };

/* Budgets from `low` to `high`, both included, and the points found for them. */
struct stretch {
    uint64_t low, high;
    struct rp_curve curve;
    size_t capacity;
};

struct descent {
    const struct rp_question *question;
    struct stretch stretches[STRETCHES];
};

static enum rp_status add_point(struct stretch *stretch, const struct rp_plan *plan)
{
    struct rp_curve *curve = &stretch->curve;
    struct rp_curve_point *points =
        rp_array_reserve(curve->points, &stretch->capacity, curve->count + 1, sizeof(*points));

    if (points == NULL)
        return RP_NO_MEMORY;
    curve->points = points;
    points[curve->count++] = (struct rp_curve_point){plan->peak, plan->time};
    return RP_OK;
}

/* A plan holds from its peak up to the budget that it was made for, and its gap with it. */
static enum rp_status take_plan(struct stretch *stretch, const struct rp_plan *plan)
{
    struct rp_curve *curve = &stretch->curve;

    curve->truncated |= plan->truncated;
    curve->labels += plan->labels;
    if (!rp_plan_has_choices(plan))
        return RP_OK;
    if (plan->gap > curve->gap)
        curve->gap = plan->gap;
    return add_point(stretch, plan);
}

static enum rp_status descend(void *context, size_t index, char *message, size_t message_size)
{
    struct descent *descent = context;
    struct stretch *stretch = &descent->stretches[index];
    struct rp_question question = *descent->question;
    enum rp_status status = RP_OK;
    bool more = stretch->low <= stretch->high;

    question.watch = NULL; /* it hears of stretches */
    for (uint64_t budget = stretch->high; more && status == RP_OK;) {
        struct rp_plan *plan;
        question.budget = budget;
        status = rp_planner_solve(&question, &plan, message, message_size);
        if (status != RP_OK)
            break;
        status = take_plan(stretch, plan);
        more = rp_plan_has_choices(plan) && plan->peak > stretch->low;
        budget = plan->peak - 1;
        rp_plan_destroy(plan);
    }
    return status;
}

/* The peak of the fastest plan: from there on more memory buys nothing. */
static enum rp_status find_most(const struct rp_question *question, uint64_t *most, char *message,
                                size_t message_size)
{
    struct rp_question largest = *question;
    struct rp_plan *plan;

    largest.budget = INT64_MAX - 1;
    enum rp_status status = rp_planner_solve(&largest, &plan, message, message_size);
    if (status != RP_OK)
        return status;
    *most = plan->peak;
    rp_plan_destroy(plan);
    return RP_OK;
}

static void divide(struct descent *descent, uint64_t least, uint64_t most)
{
    rp_wide width = most > least ? most - least : 0;

    for (size_t i = 0; i < STRETCHES; i++) {
        struct stretch *stretch = &descent->stretches[i];
        stretch->low = least + (uint64_t)(width * (rp_wide)i / STRETCHES) + (i > 0);
        stretch->high = least + (uint64_t)(width * (rp_wide)(i + 1) / STRETCHES);
    }
}

static enum rp_status join(const struct descent *descent, struct rp_curve **out)
{
    struct rp_curve *all = calloc(1, sizeof(*all));
    size_t count = 0;

    for (size_t i = 0; i < STRETCHES; i++)
        count += descent->stretches[i].curve.count;
    *out = all;
    if (all != NULL)
        all->points = calloc(count + 1, sizeof(*all->points));
    if (all == NULL || all->points == NULL)
        return RP_NO_MEMORY;
    for (size_t i = 0; i < STRETCHES; i++) {
        const struct rp_curve *one = &descent->stretches[i].curve;
        if (one->count > 0)
            memcpy(all->points + all->count, one->points, one->count * sizeof(*one->points));
        all->count += one->count;
        all->truncated |= one->truncated;
        all->gap = one->gap > all->gap ? one->gap : all->gap;
        all->labels += one->labels;
    }
    rp_curve_settle(all);
    return RP_OK;
}

enum rp_status rp_descend(const struct rp_question *question, uint64_t least,
                          struct rp_curve **out, char *message, size_t message_size)
{
    struct descent descent = {.question = question};
    uint64_t most;
    enum rp_status status = find_most(question, &most, message, message_size);

    if (status != RP_OK)
        return status;
    divide(&descent, least, most);
    status = rp_parallel_run(descend, &descent, STRETCHES, question->watch, message, message_size);
    if (status == RP_OK)
        status = join(&descent, out);
    for (size_t i = 0; i < STRETCHES; i++)
        free(descent.stretches[i].curve.points);
    return status;
}
