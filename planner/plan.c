/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/plan.h"

#include "planner/answer.h"
#include "planner/copy.h"
#include "planner/purpose.h"
#include "tracker/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rp_plan_destroy(struct rp_plan *plan)
{
    if (plan == NULL)
        return;
    for (size_t k = 0; plan->names != NULL && k < plan->count; k++)
        free(plan->names[k]);
    free(plan->names);
    free(plan->choices);
    free(plan->charged);
    free(plan->job);
    free(plan->device);
    free(plan->contract);
    free(plan);
}

enum rp_status rp_answer_create(const struct rp_question *question, struct rp_plan **out)
{
    const struct rp_profile *profile = question->profile;
    const struct rp_purpose *purpose = rp_profile_purpose(profile);
    struct rp_plan *plan = calloc(1, sizeof(*plan));
    size_t count = rp_profile_count(profile);

    *out = NULL;
    if (plan == NULL)
        return RP_NO_MEMORY;
    *plan = (struct rp_plan){.answer = RP_ANSWER_UNKNOWN,
                             .model = question->model,
                             .budget = question->budget,
                             .count = count,
                             .names = calloc(count + 1, sizeof(*plan->names)),
                             .fingerprint = rp_profile_fingerprint(profile),
                             .least = rp_profile_least(profile)};
    bool copied = plan->names != NULL && rp_copy_text(purpose->job, &plan->job) &&
                  rp_copy_text(purpose->device, &plan->device) &&
                  rp_copy_text(purpose->contract, &plan->contract);
    for (size_t k = 0; copied && k < count; k++)
        copied = rp_copy_text(rp_profile_segment(profile, k)->name, &plan->names[k]);
    if (!copied) {
        rp_plan_destroy(plan);
        return RP_NO_MEMORY;
    }
    *out = plan;
    return RP_OK;
}

enum rp_status rp_answer_allot(struct rp_plan *plan)
{
    plan->choices = calloc(plan->count + 1, sizeof(*plan->choices));
    plan->charged = calloc(plan->count + 1, sizeof(*plan->charged));
    return plan->choices != NULL && plan->charged != NULL ? RP_OK : RP_NO_MEMORY;
}

void rp_answer_choose(struct rp_plan *plan, size_t segment, enum rp_choice choice,
                      const struct rp_cost *cost)
{
    plan->choices[segment] = choice;
    plan->charged[segment] = *cost;
    plan->charged[segment].masked = NULL; /* both are the profile's */
    plan->charged[segment].later = NULL;
    plan->charged[segment].later_count = 0;
}

void rp_answer_judge(struct rp_plan *plan, uint64_t lower)
{
    plan->gap = 0;
    if (!plan->truncated) {
        plan->answer = RP_ANSWER_OPTIMAL;
    } else if (plan->time <= lower) {
        plan->answer = RP_ANSWER_CERTIFIED;
    } else {
        plan->answer = RP_ANSWER_FEASIBLE;
        plan->gap = plan->time - lower;
    }
}

/* ---- obeying a plan ----------------------------------------------------------- */

enum { TEXT_SIZE = 200 }; /* of a job or a name in a message */

static char *shown(char text[TEXT_SIZE], const char *name)
{
    return rp_text_escape(text, TEXT_SIZE, name, strlen(name));
}

static enum rp_status fit_names(const struct rp_plan *plan, const char *const *names,
                                size_t count, char *message, size_t message_size)
{
    if (count != plan->count) {
        snprintf(message, message_size, "the plan was made for %zu segments, and there are %zu",
                 plan->count, count);
        return RP_INVALID;
    }
    for (size_t k = 0; k < count; k++) {
        char one[TEXT_SIZE], other[TEXT_SIZE];
        if (strcmp(plan->names[k], names[k]) == 0)
            continue;
        snprintf(message, message_size, "the plan's segment %zu is '%s', and the job's is '%s'", k,
                 shown(one, plan->names[k]), shown(other, names[k]));
        return RP_INVALID;
    }
    return RP_OK;
}

enum rp_status rp_plan_fits(const struct rp_plan *plan, const struct rp_purpose *purpose,
                            const char *const *names, size_t count, char *message,
                            size_t message_size)
{
    const struct rp_purpose made_for = {plan->job, plan->device, plan->contract};
    enum rp_status status = rp_purpose_fits("plan", &made_for, purpose, message, message_size);

    return status == RP_OK ? fit_names(plan, names, count, message, message_size) : status;
}

enum rp_status rp_plan_holds(const struct rp_plan *plan, char *message, size_t message_size)
{
    if (plan->model == RP_MODEL_NESTED)
        return RP_OK;
    snprintf(message, message_size,
             "the plan was made under the %s model, which counts less memory than the copies of a "
             "run take",
             rp_model_name(plan->model));
    return RP_INVALID;
}

bool rp_plan_totals(const struct rp_plan *plan, enum rp_choice choice, size_t *segments,
                    uint64_t totals[RP_TERM_COUNT])
{
    *segments = 0;
    memset(totals, 0, RP_TERM_COUNT * sizeof(*totals));
    for (size_t k = 0; plan->charged != NULL && k < plan->count; k++) {
        if (!plan->charged[k].has_terms)
            return false;
        if (plan->choices[k] != choice)
            continue;
        ++*segments;
        for (int t = 0; t < RP_TERM_COUNT; t++)
            totals[t] += plan->charged[k].terms[t].value;
    }
    return plan->charged != NULL;
}

/* ---- words -------------------------------------------------------------------- */

const char *rp_pass_name(enum rp_pass pass)
{
    static const char *const names[] = {"none", "either", "forward", "backward"};

    return names[pass];
}

static const char *const model_names[] = {"nested", "shared", "lazy"};

const char *rp_model_name(enum rp_model model)
{
    return model_names[model];
}

const char *rp_model_exactness(enum rp_model model)
{
    static const char *const texts[] = {
        "exact for backwards in reverse order and private copies, made at the forward or as the "
        "profile says",
        "exact for backwards in reverse order and one copy of a version for all its readers",
        "exact for backwards in reverse order and private copies made at the first clobber, each "
        "beside all of the pass that clobbers",
    };

    return texts[model];
}

const char *rp_answer_name(enum rp_answer answer)
{
    static const char *const names[] = {"optimal", "optimal (certified despite truncation)",
                                        "feasible", "infeasible", "unknown"};

    return names[answer];
}

char *rp_answer_format(const struct rp_plan *plan, char *text, size_t size)
{
    const char *name = rp_answer_name(plan->answer);

    if (plan->answer == RP_ANSWER_FEASIBLE)
        snprintf(text, size, "%s, gap %llu ns", name, (unsigned long long)plan->gap);
    else if (plan->answer == RP_ANSWER_INFEASIBLE && plan->has_min_budget)
        snprintf(text, size, "%s, smallest budget is %llu", name,
                 (unsigned long long)plan->min_budget);
    else
        snprintf(text, size, "%s", name);
    return text;
}
