/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/planner.h"

#include "planner/parallel.h"

struct sweep {
    const struct rp_question *question;
    const uint64_t *budgets;
    struct rp_plan **plans;
};

static enum rp_status solve_one(void *context, size_t index, char *message, size_t message_size)
{
    const struct sweep *sweep = context;
    struct rp_question question = *sweep->question;

    question.budget = sweep->budgets[index];
    question.watch = NULL; /* it hears of budgets */
    return rp_planner_solve(&question, &sweep->plans[index], message, message_size);
}

enum rp_status rp_planner_sweep(const struct rp_question *question, const uint64_t *budgets,
                                size_t count, struct rp_plan **plans, char *message,
                                size_t message_size)
{
    struct sweep sweep = {question, budgets, plans};

    for (size_t i = 0; i < count; i++)
        plans[i] = NULL;
    enum rp_status status = rp_parallel_run(solve_one, &sweep, count, question->watch, message,
                                            message_size);
    for (size_t i = 0; i < count && status != RP_OK; i++) {
        rp_plan_destroy(plans[i]);
        plans[i] = NULL;
    }
    return status;
}
