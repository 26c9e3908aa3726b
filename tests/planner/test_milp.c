/* SPDX-License-Identifier: Apache-2.0 */
/* The nested search against GLPK and CBC. A solver that is not installed is a skipped test. */
#include "tests/planner/milp.h"
#include "tests/planner/walker.h"

#include <stdlib.h>

#define SECONDS 20

static void compare(enum milp_solver solver, const struct rp_profile *profile, uint64_t budget,
                    uint64_t unit)
{
    struct rp_question question = rp_question_default(profile, budget);
    struct rp_plan *plan = instance_solve(&question);
    enum rp_choice *choices = calloc(plan->count + 1, sizeof(*choices));
    uint64_t peak, time;

    bool solved = milp_solve(solver, profile, budget, unit, SECONDS, choices, NULL);
    if (plan->answer == RP_ANSWER_INFEASIBLE) {
        assert_false(solved);
    } else {
        assert_int_equal(plan->answer, RP_ANSWER_OPTIMAL);
        assert_true(solved);
        assert_ok(
            rp_planner_walk(profile, RP_MODEL_NESTED, choices, &peak, &time, NULL, NULL));
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
        compare(solver, profile, least + random_below(&random, span), 1);
        if (round < 2)
            compare(solver, profile, least - 1, 1);
        rp_profile_destroy(profile);
    }
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
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    if (failed == 0 && !milp_is_installed(MILP_GLPK) && !milp_is_installed(MILP_CBC))
        return 77;
    return failed;
}
