/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/forward.h"

#include "planner/forward_hunt.h"

#include "planner/answer.h"
#include "planner/nested.h"

#include <stdlib.h>
#include <string.h>

/* ---- models ------------------------------------------------------------------- */

enum rp_status rp_forward_create(struct rp_forward_model *model,
                                 const struct rp_question *question, size_t relaxations)
{
    size_t count = rp_profile_count(question->profile);
    bool good;

    *model = (struct rp_forward_model){.profile = question->profile,
                                       .question = *question,
                                       .count = count,
                                       .width = calloc(count + 1, sizeof(size_t)),
                                       .relaxation_count = relaxations};
    good = model->width != NULL;
    for (size_t r = 0; r < relaxations; r++) {
        struct rp_relaxation *relaxation = &model->relaxations[r];
        relaxation->chain = (struct rp_chain){calloc(count + 1, sizeof(struct rp_link)), count};
        relaxation->figure = calloc(count + 1, sizeof(size_t));
        good = good && relaxation->chain.links != NULL && relaxation->figure != NULL;
    }
    if (good)
        return RP_OK;
    rp_forward_release(model);
    return RP_NO_MEMORY;
}

void rp_forward_release(struct rp_forward_model *model)
{
    for (size_t r = 0; r < model->relaxation_count; r++) {
        rp_chain_release(&model->relaxations[r].chain);
        free(model->relaxations[r].figure);
    }
    free(model->width);
    *model = (struct rp_forward_model){.count = 0};
}

/* ---- walking ------------------------------------------------------------------ */

struct walk {
    int64_t *held, *next;
    uint64_t preserved, next_preserved;
    int64_t peak, time;
    struct rp_moment binding;
};

static void note_peak(struct walk *walk, size_t k, const struct rp_label_step *step)
{
    if (walk->binding.pass == RP_PASS_NONE || step->forward > walk->peak) {
        walk->peak = step->forward;
        walk->binding = (struct rp_moment){RP_PASS_FORWARD, k};
    }
    if (step->backward > walk->peak) {
        walk->peak = step->backward;
        walk->binding = (struct rp_moment){RP_PASS_BACKWARD, k};
    }
}

static void walk_one(const struct rp_forward_model *model, struct walk *walk, size_t k,
                     enum rp_choice choice, struct rp_label_step *step)
{
    int64_t *held = walk->held;

    model->step(model, k, choice, held, walk->preserved, walk->next, &walk->next_preserved, step);
    walk->time += step->time;
    note_peak(walk, k, step);
    walk->preserved = walk->next_preserved;
    walk->held = walk->next;
    walk->next = held;
}

static size_t widest(const struct rp_forward_model *model)
{
    size_t most = 1;

    for (size_t k = 0; k <= model->count; k++)
        if (model->width[k] > most)
            most = model->width[k];
    return most;
}

enum rp_status rp_forward_walk(const struct rp_forward_model *model,
                               const enum rp_choice *choices, uint64_t *peak, uint64_t *time,
                               struct rp_moment *binding, uint64_t *held, struct rp_plan *plan)
{
    uint64_t base = rp_profile_base(model->profile);
    size_t width = widest(model);
    int64_t *figures = calloc(2 * width, sizeof(*figures));
    struct walk walk = {.held = figures};

    if (figures == NULL)
        return RP_NO_MEMORY;
    walk.next = figures + width;
    for (size_t k = 0; k < model->count; k++) {
        struct rp_label_step step;
        struct rp_cost cost;
        if (plan != NULL) {
            model->charge(model, k, choices[k], walk.preserved, &cost);
            rp_answer_choose(plan, k, choices[k], &cost);
        }
        walk_one(model, &walk, k, choices[k], &step);
        if (held != NULL) {
            held[k] = base + (uint64_t)step.forward;
            held[2 * model->count - 1 - k] = base + (uint64_t)step.backward;
        }
    }
    if (held != NULL)
        held[2 * model->count] = base;
    *peak = base + (uint64_t)walk.peak;
    *time = (uint64_t)walk.time;
    *binding = walk.binding;
    free(figures);
    return RP_OK;
}

/* ---- plans to start from ------------------------------------------------------ */

/* A plan under construction: the best choices so far, as the model sees them. */
struct best {
    enum rp_choice *choices;
    bool found;
    uint64_t peak, time;
    struct rp_moment binding;
};

/* The nested model's plan for a budget, when there is one. */
static enum rp_status start_from_nested(const struct rp_forward_model *model,
                                        const struct rp_question *question, uint64_t budget,
                                        struct best *best)
{
    struct rp_question nested = *question;
    struct rp_plan *plan;
    char message[160];

    nested.model = RP_MODEL_NESTED;
    nested.budget = budget;
    best->found = false;
    enum rp_status status = rp_nested_solve(&nested, &plan, message, sizeof(message));
    if (status != RP_OK)
        return status;
    if (rp_plan_has_choices(plan)) {
        memcpy(best->choices, plan->choices, model->count * sizeof(*best->choices));
        status = rp_forward_walk(model, best->choices, &best->peak, &best->time, &best->binding,
                                 NULL, NULL);
        best->found = status == RP_OK;
    }
    rp_plan_destroy(plan);
    return status;
}

static enum rp_status hunt(const struct rp_forward_model *model,
                           const struct rp_question *question, uint64_t budget, int64_t cutoff,
                           bool ignore_time, struct best *best, struct rp_forward_hunt *hunt)
{
    *hunt = (struct rp_forward_hunt){
        .model = model,
        .room = (int64_t)(budget - rp_profile_base(model->profile)),
        .cutoff = cutoff,
        .max_labels = question->max_labels,
        .ignore_time = ignore_time,
        .plain = question->plain,
        .watch = question->watch,
        .choices = best->choices,
    };
    enum rp_status status = rp_forward_hunt_run(hunt);
    if (status != RP_OK || !hunt->found)
        return status;
    best->found = true;
    return rp_forward_walk(model, best->choices, &best->peak, &best->time, &best->binding, NULL,
                           NULL);
}

/* ---- the smallest budget ------------------------------------------------------ */

static uint64_t relaxed_need(const struct rp_forward_model *model)
{
    int64_t need = 0;

    for (size_t r = 0; r < model->relaxation_count; r++) {
        struct rp_need one = rp_chain_need(&model->relaxations[r].chain);
        if (one.room > need)
            need = one.room;
    }
    return rp_profile_base(model->profile) + (uint64_t)need;
}

/* Between what even the relaxations need and what a nested plan needs, by halves. best->peak
 * becomes the smallest budget; `certain` is false where labels had to be dropped. */
static enum rp_status find_least(const struct rp_forward_model *model,
                                 const struct rp_question *question, struct best *best,
                                 bool *certain)
{
    struct rp_question nested = *question;
    uint64_t low = relaxed_need(model), nested_least;
    struct rp_moment binding;
    char message[160];

    *certain = true;
    nested.model = RP_MODEL_NESTED;
    enum rp_status status =
        rp_nested_min_budget(&nested, &nested_least, &binding, message, sizeof(message));
    if (status == RP_OK)
        status = start_from_nested(model, question, nested_least, best);
    while (status == RP_OK && low < best->peak) {
        struct rp_forward_hunt search;
        uint64_t middle = low + (best->peak - low) / 2;
        status = hunt(model, question, middle, 1, true, best, &search);
        if (status == RP_OK && !search.found) {
            low = middle + 1;
            *certain = *certain && !search.dropped;
        }
    }
    return status;
}

enum rp_status rp_forward_min_budget(const struct rp_forward_model *model,
                                     const struct rp_question *question, uint64_t *bytes,
                                     struct rp_moment *binding, bool *certain)
{
    struct best best = {.choices = calloc(model->count + 1, sizeof(*best.choices))};
    enum rp_status status =
        best.choices != NULL ? find_least(model, question, &best, certain) : RP_NO_MEMORY;

    *bytes = best.peak;
    *binding = best.binding;
    free(best.choices);
    return status;
}

/* ---- solving ------------------------------------------------------------------ */

/* Of equal time, a plan of the smallest peak; by halves, after a first try just below. */
static enum rp_status lower_peak(const struct rp_forward_model *model,
                                 const struct rp_question *question, struct best *best,
                                 uint64_t least)
{
    int64_t cutoff = (int64_t)best->time + 1;
    bool first = true;

    while (least < best->peak) {
        struct rp_forward_hunt search;
        uint64_t budget = first ? best->peak - 1 : least + (best->peak - least) / 2;
        enum rp_status status = hunt(model, question, budget, cutoff, false, best, &search);
        if (status != RP_OK)
            return status;
        if (!search.found)
            least = budget + 1;
        first = false;
    }
    return RP_OK;
}

static enum rp_status adopt(const struct rp_forward_model *model, const struct best *best,
                            struct rp_plan *plan)
{
    if (rp_answer_allot(plan) != RP_OK)
        return RP_NO_MEMORY;
    return rp_forward_walk(model, best->choices, &plan->peak, &plan->time, &plan->binding, NULL,
                           plan);
}

/* A budget that some plan is known to fit: `best` holds it, and is improved on. */
static enum rp_status improve(const struct rp_forward_model *model,
                              const struct rp_question *question, struct best *best,
                              struct rp_plan *plan)
{
    struct rp_forward_hunt search;
    int64_t cutoff = (int64_t)best->time;
    enum rp_status status =
        hunt(model, question, question->budget, cutoff, false, best, &search);

    if (status != RP_OK)
        return status;
    plan->truncated = search.dropped;
    plan->labels = search.work;
    int64_t lower = search.dropped_bound < cutoff ? search.dropped_bound : cutoff;
    if (lower > (int64_t)best->time)
        lower = (int64_t)best->time;
    if (lower == (int64_t)best->time)
        status = lower_peak(model, question, best, plan->min_budget);
    if (status == RP_OK)
        status = adopt(model, best, plan);
    rp_answer_judge(plan, (uint64_t)lower);
    return status;
}

static enum rp_status solve(const struct rp_forward_model *model,
                            const struct rp_question *question, struct best *best,
                            struct best *other, struct rp_plan *plan)
{
    bool certain;
    enum rp_status status = find_least(model, question, best, &certain);

    if (status != RP_OK)
        return status;
    plan->min_budget = best->peak;
    plan->min_binding = best->binding;
    plan->has_min_budget = certain;
    if (question->budget < best->peak) {
        plan->truncated = !certain;
        plan->answer = certain ? RP_ANSWER_INFEASIBLE : RP_ANSWER_UNKNOWN;
        return RP_OK;
    }
    status = start_from_nested(model, question, question->budget, other);
    if (status != RP_OK)
        return status;
    bool better = other->found && other->peak <= question->budget && other->time < best->time;
    return improve(model, question, better ? other : best, plan);
}

enum rp_status rp_forward_solve(const struct rp_forward_model *model,
                                const struct rp_question *question, struct rp_plan *plan)
{
    struct best best = {.choices = calloc(model->count + 1, sizeof(*best.choices))};
    struct best other = {.choices = calloc(model->count + 1, sizeof(*other.choices))};
    enum rp_status status = RP_NO_MEMORY;

    if (best.choices != NULL && other.choices != NULL)
        status = solve(model, question, &best, &other, plan);
    free(best.choices);
    free(other.choices);
    return status;
}
