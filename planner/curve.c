/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/planner.h"

#include "planner/descent.h"
#include "planner/label.h"
#include "planner/model.h"

#include <stdio.h>
#include <stdlib.h>

static enum rp_status curve_from(const struct rp_hunt *hunt, uint64_t base, struct rp_curve **out)
{
    struct rp_curve *curve = calloc(1, sizeof(*curve));

    *out = curve;
    if (curve == NULL)
        return RP_NO_MEMORY;
    *curve = (struct rp_curve){.points = calloc(hunt->count + 1, sizeof(*curve->points)),
                               .count = hunt->count,
                               .truncated = hunt->dropped,
                               .labels = hunt->work};
    for (size_t i = 0; curve->points != NULL && i < hunt->count; i++)
        curve->points[i] = (struct rp_curve_point){base + (uint64_t)hunt->labels[i].need,
                                                   (uint64_t)hunt->labels[i].time};
    if (curve->points != NULL)
        return RP_OK;
    rp_curve_destroy(curve);
    *out = NULL;
    return RP_NO_MEMORY;
}

/* ---- what a truncated curve may miss ------------------------------------------ */

enum { CHECKED = 128 };

/* Exact plans for budgets all along the curve. */
struct checks {
    uint64_t budgets[CHECKED];
    struct rp_plan **plans; /* as many */
    size_t count;
};

static enum rp_status check_budgets(const struct rp_question *question,
                                    const struct rp_curve *curve, struct checks *checks,
                                    char *message, size_t message_size)
{
    checks->count = curve->count < CHECKED ? curve->count : CHECKED;
    for (size_t i = 0; i < checks->count; i++) {
        size_t last = checks->count > 1 ? checks->count - 1 : 1;
        checks->budgets[i] = curve->points[i * (curve->count - 1) / last].peak;
    }
    checks->budgets[checks->count - 1] = INT64_MAX - 1; /* and beyond the curve's end */
    return rp_planner_sweep(question, checks->budgets, checks->count, checks->plans, message,
                            message_size);
}

static void checks_release(struct checks *checks)
{
    for (size_t i = 0; i < checks->count; i++)
        rp_plan_destroy(checks->plans[i]);
}

static int compare_points(const void *a, const void *b)
{
    const struct rp_curve_point *x = a, *y = b;

    if (x->peak != y->peak)
        return x->peak < y->peak ? -1 : 1;
    return (x->time > y->time) - (x->time < y->time);
}

void rp_curve_settle(struct rp_curve *curve)
{
    struct rp_curve_point *all = curve->points;
    size_t kept = 0;

    qsort(all, curve->count, sizeof(*all), compare_points);
    for (size_t i = 0; i < curve->count; i++)
        if (kept == 0 || all[i].time < all[kept - 1].time)
            all[kept++] = all[i];
    curve->count = kept;
}

/* The better of both: a staircase again. */
static enum rp_status mend(struct rp_curve *curve, const struct checks *checks)
{
    struct rp_curve_point *all = realloc(curve->points, (curve->count + checks->count + 1) *
                                                            sizeof(*all));

    if (all == NULL)
        return RP_NO_MEMORY;
    curve->points = all;
    for (size_t i = 0; i < checks->count; i++)
        if (rp_plan_has_choices(checks->plans[i]))
            all[curve->count++] = (struct rp_curve_point){checks->plans[i]->peak,
                                                          checks->plans[i]->time};
    rp_curve_settle(curve);
    return RP_OK;
}

/* A point holds up to the next one, and no smaller budget than a check's can do with less time
 * than that check. */
static uint64_t bound_gap(const struct rp_curve *curve, const struct checks *checks)
{
    uint64_t gap = 0;
    size_t next = 0;

    for (size_t i = 0; i < curve->count; i++) {
        while (next + 1 < checks->count &&
               (i + 1 == curve->count || checks->budgets[next] < curve->points[i + 1].peak))
            next++;
        const struct rp_plan *plan = checks->plans[next];
        uint64_t least = plan->time - plan->gap;
        if (curve->points[i].time > least && curve->points[i].time - least > gap)
            gap = curve->points[i].time - least;
    }
    return gap;
}

static enum rp_status certify(const struct rp_question *question, struct rp_curve *curve,
                              char *message, size_t message_size)
{
    struct rp_plan *plans[CHECKED] = {NULL};
    struct checks checks = {.plans = plans};
    enum rp_status status = check_budgets(question, curve, &checks, message, message_size);

    if (status != RP_OK)
        return status;
    status = mend(curve, &checks);
    if (status == RP_OK)
        curve->gap = bound_gap(curve, &checks);
    checks_release(&checks);
    return status;
}

/* ---- the curve ---------------------------------------------------------------- */

static enum rp_status curve_nested(const struct rp_question *question, struct rp_curve **out,
                                   char *message, size_t message_size)
{
    struct rp_chain chain;
    enum rp_status status = rp_chain_create(question, &chain, message, message_size);

    if (status != RP_OK)
        return status;
    rp_chain_drop_dominated(&chain);
    struct rp_hunt hunt = {.chain = &chain,
                           .room = INT64_MAX,
                           .cutoff = INT64_MAX,
                           .max_labels = question->max_labels,
                           .watch = question->watch,
                           .evenly = true};
    status = rp_hunt_run(&hunt);
    if (status == RP_OK)
        status = curve_from(&hunt, rp_profile_base(question->profile), out);
    rp_hunt_release(&hunt);
    rp_chain_release(&chain);
    if (status == RP_OK && (*out)->truncated && (*out)->count > 0)
        status = certify(question, *out, message, message_size);
    return status;
}

enum rp_status rp_planner_curve(const struct rp_question *question, struct rp_curve **out,
                                char *message, size_t message_size)
{
    uint64_t least;

    *out = NULL;
    enum rp_status status = rp_planner_min_budget(question, &least, NULL, message, message_size);
    if (status == RP_OK)
        status = rp_model_is_scalar(question->profile, question->model)
                     ? curve_nested(question, out, message, message_size)
                     : rp_descend(question, least, out, message, message_size);
    if (status == RP_OK) {
        (*out)->model = question->model;
        return RP_OK;
    }
    rp_curve_destroy(*out);
    *out = NULL;
    return status;
}

void rp_curve_destroy(struct rp_curve *curve)
{
    if (curve != NULL)
        free(curve->points);
    free(curve);
}

size_t rp_curve_knee(const struct rp_curve_point *points, size_t count)
{
    size_t knee = 0;
    rp_wide farthest = 0;

    for (size_t i = 0; i < count; i++) {
        rp_wide dx = points[count - 1].peak - points[0].peak;
        rp_wide dy = points[0].time - points[count - 1].time;
        rp_wide below = dy * (points[count - 1].peak - points[i].peak) -
                         dx * (points[i].time - points[count - 1].time);
        if (below > farthest) {
            farthest = below;
            knee = i;
        }
    }
    return knee;
}
