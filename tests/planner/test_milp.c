/* SPDX-License-Identifier: Apache-2.0 */
/* The nested and the shared search against GLPK and CBC. A solver that is not installed is a
 * skipped test. */
#include "tests/planner/milp.h"
#include "tests/planner/walker.h"

#include <stdlib.h>

#define SECONDS 20

static void compare(enum milp_solver solver, enum rp_model model,
                    const struct rp_profile *profile, uint64_t budget, uint64_t unit)
{
    struct rp_question question = rp_question_default(profile, budget);
    question.model = model;
    struct rp_plan *plan = instance_solve(&question);
    enum rp_choice *choices = calloc(plan->count + 1, sizeof(*choices));
    uint64_t peak, time;

    bool solved = milp_solve(solver, model, profile, budget, unit, SECONDS, choices, NULL);
    if (plan->answer == RP_ANSWER_INFEASIBLE) {
        assert_false(solved);
    } else {
        assert_int_equal(plan->answer, RP_ANSWER_OPTIMAL);
        assert_true(solved);
        assert_ok(
            rp_planner_walk(profile, model, choices, &peak, &time, NULL, NULL));
        assert_true(peak <= budget);
        assert_int_equal(time, plan->time);
    }
    free(choices);
    rp_plan_destroy(plan);
}

/* Facts, and rows with figures small enough for a solver's tolerances. */
static void agree(enum milp_solver solver)
{
    struct random random = random_begin(milp_name(solver));

    if (!milp_is_installed(solver)) {
        printf("skipped: %s is not installed\n", milp_name(solver));
        skip();
    }
    for (int round = 0; round < 10; round++) {
        struct rp_profile *profile = round % 2
                                         ? instance_random(&random, 5 + random_below(&random, 30))
                                         : walker_random(&random, 2 + random_below(&random, 9));
        uint64_t least = instance_min_budget(profile), most = instance_eager_peak(profile);
        uint64_t span = most > least ? most - least : 1;
        compare(solver, RP_MODEL_NESTED, profile, least + random_below(&random, span), 1);
        if (round < 2)
            compare(solver, RP_MODEL_NESTED, profile, least - 1, 1);
        rp_profile_destroy(profile);
    }
}

/* The same facts where all costs are sums. */
static struct rp_profile *plain_copy(const struct rp_profile *profile)
{
    const struct rp_copy_price price = {{0, RP_SOURCE_STATED}, {1000, RP_SOURCE_STATED}};
    size_t buffer_count;
    const struct rp_buffer *buffers = rp_profile_buffers(profile, &buffer_count);
    struct rp_profile *copy;
    char message[200];

    assert_ok(rp_profile_create(&copy));
    rp_profile_set_base(copy, rp_profile_base(profile));
    rp_profile_set_copy_price(copy, &price);
    for (size_t i = 0; i < buffer_count; i++)
        assert_ok(rp_profile_add_buffer(copy, buffers[i].name, buffers[i].bytes));
    for (size_t k = 0; k < rp_profile_count(profile); k++)
        assert_ok(rp_profile_add_facts(copy, rp_profile_segment(profile, k)->name,
                                       rp_profile_facts(profile, k)));
    assert_ok(rp_profile_close(copy, message, sizeof(message)));
    return copy;
}

static void agree_on_shared_copies(enum milp_solver solver)
{
    struct random random = random_begin("shared");
    size_t ahead = 0;

    if (!milp_is_installed(solver))
        skip();
    for (int round = 0; round < 20 || (ahead == 0 && round < 500); round++) {
        struct rp_profile *any = walker_random(&random, 2 + random_below(&random, 8));
        struct rp_profile *profile = plain_copy(any);
        uint64_t least = instance_min_budget(profile), most = instance_eager_peak(profile);
        uint64_t budget = least + random_below(&random, most > least ? most - least : 1);
        struct rp_question question = rp_question_default(profile, budget);
        struct rp_plan *private = instance_solve(&question);
        question.model = RP_MODEL_SHARED;
        struct rp_plan *shared = instance_solve(&question);
        ahead += shared->time < private->time;
        if (round < 20 || shared->time < private->time)
            compare(solver, RP_MODEL_SHARED, profile, budget, 1);
        rp_plan_destroy(shared);
        rp_plan_destroy(private);
        rp_profile_destroy(profile);
        rp_profile_destroy(any);
    }
    assert_true(ahead > 0);
}

static void glpk_finds_no_better_plan_with_shared_copies(void **state)
{
    (void)state;
    agree_on_shared_copies(MILP_GLPK);
}

static void cbc_finds_no_better_plan_with_shared_copies(void **state)
{
    (void)state;
    agree_on_shared_copies(MILP_CBC);
}

static void glpk_finds_no_better_plan(void **state)
{
    (void)state;
    agree(MILP_GLPK);
}

static void cbc_finds_no_better_plan(void **state)
{
    (void)state;
    agree(MILP_CBC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(glpk_finds_no_better_plan),
        cmocka_unit_test(cbc_finds_no_better_plan),
        cmocka_unit_test(glpk_finds_no_better_plan_with_shared_copies),
        cmocka_unit_test(cbc_finds_no_better_plan_with_shared_copies),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    if (failed == 0 && !milp_is_installed(MILP_GLPK) && !milp_is_installed(MILP_CBC))
        return 77;
    return failed;
}
