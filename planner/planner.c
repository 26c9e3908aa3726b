/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/planner.h"

#include "planner/answer.h"
#include "planner/chain.h"
#include "planner/model.h"
#include "planner/nested.h"

#include <stdio.h>

struct rp_question rp_question_default(const struct rp_profile *profile, uint64_t budget)
{
    return (struct rp_question){.profile = profile,
                                .model = RP_MODEL_NESTED,
                                .allowed = RP_CHOICE_ALL,
                                .budget = budget,
                                .max_labels = RP_PLANNER_MAX_LABELS};
}

bool rp_question_allows(const struct rp_question *question, size_t segment, enum rp_choice choice)
{
    const struct rp_cost *cost = &rp_profile_segment(question->profile, segment)->costs[choice];
    unsigned each = question->allowed_each != NULL ? question->allowed_each[segment]
                                                   : RP_CHOICE_ALL;

    return cost->allowed && (question->allowed & each & RP_CHOICE_BIT(choice));
}

/* Whether the model says anything true about this profile. */
static enum rp_status check_model(const struct rp_question *question, char *message,
                                  size_t message_size)
{
    const struct rp_profile *profile = question->profile;
    const char *departure = rp_profile_departure(profile);

    if (departure != NULL) {
        snprintf(message, message_size, "no model covers this job: %s", departure);
        return RP_UNSUPPORTED;
    }
    if (question->model != RP_MODEL_NESTED && rp_profile_count(profile) > 0 &&
        rp_profile_facts(profile, 0) == NULL) {
        const char *why = rp_profile_no_facts(profile);
        snprintf(message, message_size,
                 "the %s model needs facts, with the byte ranges of state, and the profile has "
                 "only options%s%s; the nested model does with them",
                 rp_model_name(question->model), why != NULL ? ": " : "",
                 why != NULL ? why : "");
        return RP_UNSUPPORTED;
    }
    return RP_OK;
}

/* ---- models that are searched forwards ---------------------------------------- */

/* The restriction must leave each segment an option, as for the nested model. */
static enum rp_status open_model(const struct rp_question *question, struct rp_open_model *open,
                                 char *message, size_t message_size)
{
    struct rp_chain chain;
    enum rp_status status =
        rp_chain_create(question, &chain, message, message_size);

    if (status != RP_OK)
        return status;
    rp_chain_release(&chain);
    return rp_model_open(question, open, message, message_size);
}

static enum rp_status solve_forward(const struct rp_question *question, struct rp_plan **out,
                                    char *message, size_t message_size)
{
    struct rp_open_model open;
    struct rp_plan *plan;
    enum rp_status status = open_model(question, &open, message, message_size);

    if (status != RP_OK)
        return status;
    status = rp_answer_create(question, &plan);
    if (status == RP_OK)
        status = rp_forward_solve(open.forward, question, plan);
    rp_model_close(&open);
    if (status == RP_OK)
        *out = plan;
    else
        rp_plan_destroy(plan);
    return status;
}

static enum rp_status min_budget_forward(const struct rp_question *question, uint64_t *bytes,
                                         struct rp_moment *binding, char *message,
                                         size_t message_size)
{
    struct rp_open_model open;
    bool certain = true;
    enum rp_status status = open_model(question, &open, message, message_size);

    if (status == RP_OK) {
        status = rp_forward_min_budget(open.forward, question, bytes, binding, &certain);
        rp_model_close(&open);
    }
    if (status == RP_OK && !certain) {
        snprintf(message, message_size, "labels were dropped; the smallest budget is not known");
        status = RP_UNSUPPORTED;
    }
    return status;
}

/* ---- questions ---------------------------------------------------------------- */

enum rp_status rp_planner_solve(const struct rp_question *question, struct rp_plan **out,
                                char *message, size_t message_size)
{
    enum rp_status status = check_model(question, message, message_size);

    *out = NULL;
    if (status != RP_OK)
        return status;
    status = rp_model_is_scalar(question->profile, question->model)
                 ? rp_nested_solve(question, out, message, message_size)
                 : solve_forward(question, out, message, message_size);
    if (status == RP_NO_MEMORY)
        snprintf(message, message_size, "%s", rp_status_text(status));
    return status;
}

enum rp_status rp_planner_min_budget(const struct rp_question *question, uint64_t *bytes,
                                     struct rp_moment *binding, char *message,
                                     size_t message_size)
{
    struct rp_moment at;
    enum rp_status status = check_model(question, message, message_size);

    if (status != RP_OK)
        return status;
    status = rp_model_is_scalar(question->profile, question->model)
                 ? rp_nested_min_budget(question, bytes, &at, message, message_size)
                 : min_budget_forward(question, bytes, &at, message, message_size);
    if (status == RP_OK && binding != NULL)
        *binding = at;
    return status;
}
