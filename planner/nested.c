/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/nested.h"

#include "planner/answer.h"
#include "planner/chain.h"
#include "planner/search.h"

#include <stdlib.h>

struct rp_moment rp_moment_of(const struct rp_profile *profile, size_t segment,
                              enum rp_choice choice)
{
    if (rp_profile_count(profile) == 0)
        return (struct rp_moment){RP_PASS_NONE, 0};
    const struct rp_cost *cost = &rp_profile_segment(profile, segment)->costs[choice];
    if (!cost->has_terms)
        return (struct rp_moment){RP_PASS_EITHER, segment};
    bool forward = cost->terms[RP_TERM_PEAK_FORWARD].value == cost->peak;
    return (struct rp_moment){forward ? RP_PASS_FORWARD : RP_PASS_BACKWARD, segment};
}

static enum rp_status adopt_search(const struct rp_question *question,
                                   const struct rp_search *search, struct rp_plan *plan)
{
    const struct rp_chain *chain = search->chain;
    size_t binding;
    int64_t peak, time;

    rp_chain_walk(chain, search->rows, &peak, &time, &binding);
    plan->truncated = search->truncated;
    plan->labels = search->work;
    if (!search->found) {
        plan->answer = RP_ANSWER_UNKNOWN;
        return RP_OK;
    }
    if (rp_answer_allot(plan) != RP_OK)
        return RP_NO_MEMORY;
    for (size_t k = 0; k < chain->count; k++) {
        enum rp_choice choice = (enum rp_choice)chain->links[k].choice[search->rows[k]];
        rp_answer_choose(plan, k, choice,
                         &rp_profile_segment(question->profile, k)->costs[choice]);
    }
    plan->peak = (uint64_t)peak + rp_profile_base(question->profile);
    plan->time = (uint64_t)time;
    plan->binding = rp_moment_of(question->profile, binding,
                                 chain->count > 0 ? plan->choices[binding] : RP_CHOICE_RETAIN);
    rp_answer_judge(plan, (uint64_t)(search->lower > 0 ? search->lower : 0));
    return RP_OK;
}

static enum rp_status solve(const struct rp_question *question, struct rp_plan *plan,
                            char *message, size_t message_size)
{
    uint64_t base = rp_profile_base(question->profile);
    struct rp_chain chain;
    struct rp_need need;
    enum rp_status status =
        rp_chain_create(question, &chain, message, message_size);

    if (status != RP_OK)
        return status;
    need = rp_chain_need(&chain);
    plan->has_min_budget = true;
    plan->min_budget = base + (uint64_t)need.room;
    plan->min_binding = rp_moment_of(question->profile, need.link, need.choice);
    if (question->budget < plan->min_budget) {
        plan->answer = RP_ANSWER_INFEASIBLE;
        rp_chain_release(&chain);
        return RP_OK;
    }
    uint64_t room = question->budget - base;
    if (!question->plain)
        rp_chain_drop_dominated(&chain);
    struct rp_search search = {.chain = &chain,
                               .room = (int64_t)(room < INT64_MAX ? room : INT64_MAX - 1),
                               .max_labels = question->max_labels,
                               .plain = question->plain,
                               .watch = question->watch,
                               .rows = calloc(chain.count + 1, 1)};
    status = search.rows != NULL ? rp_search_run(&search) : RP_NO_MEMORY;
    if (status == RP_OK)
        status = adopt_search(question, &search, plan);
    free(search.rows);
    rp_chain_release(&chain);
    return status;
}

enum rp_status rp_nested_solve(const struct rp_question *question, struct rp_plan **out,
                               char *message, size_t message_size)
{
    struct rp_plan *plan;
    enum rp_status status = rp_answer_create(question, &plan);

    *out = NULL;
    if (status == RP_OK)
        status = solve(question, plan, message, message_size);
    if (status == RP_OK)
        *out = plan;
    else
        rp_plan_destroy(plan);
    return status;
}

enum rp_status rp_nested_min_budget(const struct rp_question *question, uint64_t *bytes,
                                    struct rp_moment *binding, char *message,
                                    size_t message_size)
{
    struct rp_chain chain;
    enum rp_status status =
        rp_chain_create(question, &chain, message, message_size);

    if (status != RP_OK)
        return status;
    struct rp_need need = rp_chain_need(&chain);
    *bytes = rp_profile_base(question->profile) + (uint64_t)need.room;
    *binding = rp_moment_of(question->profile, need.link, need.choice);
    rp_chain_release(&chain);
    return RP_OK;
}
