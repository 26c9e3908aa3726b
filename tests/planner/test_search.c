/* SPDX-License-Identifier: Apache-2.0 */
/* The nested search against enumeration, against itself without bounds, and against what must
 * hold however a problem is turned. */
#include "tests/planner/instance.h"

#include <stdlib.h>
#include <string.h>

/* ---- against enumeration ------------------------------------------------------ */

static void the_optimum_is_that_of_enumeration(void **state)
{
    struct random random = random_begin("enumeration");

    (void)state;
    for (int round = 0; round < 150; round++) {
        struct rp_profile *profile = instance_random(&random, random_below(&random, 7));
        struct rp_question question = rp_question_default(profile, 0);
        struct rp_curve_point *points;
        unsigned allowed = 1u + (unsigned)random_below(&random, RP_CHOICE_ALL);
        question.allowed = random_below(&random, 2) ? RP_CHOICE_ALL : allowed;
        size_t count =
            instance_enumerate(profile, RP_MODEL_NESTED, question.allowed, &points);
        uint64_t end = points[count - 1].peak + 3;
        instance_check_curve(&question, points, count);
        for (int budgets = 0; budgets < 12; budgets++) {
            question.budget = random_below(&random, end);
            question.plain = budgets % 3 == 0;
            instance_check_budget(&question, points, count);
        }
        free(points);
        rp_profile_destroy(profile);
    }
}

static void twelve_segments_agree_with_enumeration(void **state)
{
    struct random random = random_begin("twelve");
    struct rp_profile *profile = instance_random(&random, 11);
    struct rp_question question = rp_question_default(profile, 0);
    struct rp_curve_point *points;
    size_t count = instance_enumerate(profile, RP_MODEL_NESTED, RP_CHOICE_ALL, &points);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        question.budget = points[i].peak;
        instance_check_budget(&question, points, count);
    }
    instance_check_curve(&question, points, count);
    free(points);
    rp_profile_destroy(profile);
}

/* ---- against the search without bounds ---------------------------------------- */

static struct rp_plan *solve(const struct rp_profile *profile, uint64_t budget, bool plain)
{
    struct rp_question question = rp_question_default(profile, budget);

    question.plain = plain;
    return instance_solve(&question);
}

static void check_bounds(const struct rp_profile *profile, uint64_t budget)
{
    struct rp_plan *bounded = solve(profile, budget, false);
    struct rp_plan *plain = solve(profile, budget, true);

    assert_int_equal(bounded->answer, RP_ANSWER_OPTIMAL);
    assert_int_equal(bounded->time, plain->time);
    assert_int_equal(bounded->peak, plain->peak);
    rp_plan_destroy(bounded);
    rp_plan_destroy(plain);
}

static void bounds_cost_nothing_but_labels(void **state)
{
    struct random random = random_begin("bounds");

    (void)state;
    for (int round = 0; round < 12; round++) {
        struct rp_profile *profile = instance_realistic(&random, 12 + random_below(&random, 24));
        uint64_t least = instance_min_budget(profile), most = instance_eager_peak(profile);
        check_bounds(profile, least + random_below(&random, most - least + 1));
        rp_profile_destroy(profile);
    }
}

/* Chains too long for the first search to see all of, some with many ties. */
static void bounds_lose_neither_time_nor_peak(void **state)
{
    struct random random = random_begin("nanosecond");

    (void)state;
    for (int round = 0; round < 80; round++) {
        size_t count = 20 + random_below(&random, 25);
        struct rp_profile *profile = round % 2 ? instance_layers(&random, count)
                                               : instance_random_sized(&random, count, 50);
        uint64_t least = instance_min_budget(profile), most = instance_eager_peak(profile);
        check_bounds(profile, least + random_below(&random, most > least ? most - least : 1));
        rp_profile_destroy(profile);
    }
}

/* Without bounds this takes some millions of labels. */
static void a_long_chain_is_proved_with_few_labels(void **state)
{
    struct random random = random_begin("long");

    (void)state;
    for (int round = 0; round < 3; round++) {
        struct rp_profile *profile = instance_realistic(&random, 200);
        uint64_t least = instance_min_budget(profile), most = instance_eager_peak(profile);
        struct rp_plan *plan = solve(profile, least + (most - least) / 2, false);
        assert_int_equal(plan->answer, RP_ANSWER_OPTIMAL);
        assert_true(plan->labels < 400000);
        rp_plan_destroy(plan);
        rp_profile_destroy(profile);
    }
}

static void set_row(uint64_t row[3], uint64_t hold, uint64_t peak, uint64_t time)
{
    row[0] = hold;
    row[1] = peak;
    row[2] = time;
}

/* Retain 2^i for a gain of 2^i: no label dominates another. */
static struct rp_profile *powers_of_two(size_t count)
{
    uint64_t rows[16][RP_CHOICE_COUNT][3];

    assert_true(count <= 16);
    for (size_t k = 0; k < count; k++) {
        uint64_t size = (uint64_t)1 << k;
        set_row(rows[k][RP_CHOICE_RETAIN], size, size, 0);
        set_row(rows[k][RP_CHOICE_WHOLE], 0, 0, UINT64_MAX); /* not allowed */
        set_row(rows[k][RP_CHOICE_REGIONS], 0, 0, size);
    }
    return instance_from_rows(0, count, rows);
}

static void powers_of_two_have_a_label_for_every_plan(void **state)
{
    (void)state;
    for (size_t count = 8; count <= 16; count += 4) {
        struct rp_profile *profile = powers_of_two(count);
        struct rp_question question = rp_question_default(profile, 0);
        struct rp_curve *curve;
        char message[200];
        assert_ok(rp_planner_curve(&question, &curve, message, sizeof(message)));
        assert_int_equal(curve->count, (size_t)1 << count);
        assert_false(curve->truncated);
        for (size_t i = 0; i < curve->count; i++) {
            assert_int_equal(curve->points[i].peak, i);
            assert_int_equal(curve->points[i].time, ((size_t)1 << count) - 1 - i);
        }
        rp_curve_destroy(curve);
        rp_profile_destroy(profile);
    }
}

/* What a truncated answer says of itself must be true. */
static void check_truncated(const struct rp_plan *plan, uint64_t optimum)
{
    assert_true(rp_plan_has_choices(plan));
    assert_true(plan->time >= optimum);
    assert_true(plan->answer != RP_ANSWER_OPTIMAL || !plan->truncated);
    if (plan->answer == RP_ANSWER_FEASIBLE) {
        assert_true(plan->truncated);
        assert_true(plan->gap > 0);
        assert_true(plan->time - plan->gap <= optimum);
    } else {
        assert_int_equal(plan->time, optimum);
    }
}

static void powers_of_two_truncate_honestly(void **state)
{
    const size_t count = 16;
    struct rp_profile *profile = powers_of_two(count);
    struct rp_question question = rp_question_default(profile, 0);

    (void)state;
    question.max_labels = 256;
    for (uint64_t budget = 4077; budget < 65535; budget += 6007) {
        uint64_t optimum = 65535 - budget;
        for (int plain = 0; plain < 2; plain++) {
            question.budget = budget;
            question.plain = plain;
            struct rp_plan *plan = instance_solve(&question);
            check_truncated(plan, optimum);
            assert_true(plan->truncated || !plain);
            rp_plan_destroy(plan);
        }
    }
    /* Also where a bound proves the optimum, labels dropped by the caller's wish are dropped. */
    question.max_labels = 16;
    question.plain = false;
    struct rp_plan *plan = instance_solve(&question);
    assert_int_equal(plan->answer, RP_ANSWER_CERTIFIED);
    assert_true(plan->truncated);
    rp_plan_destroy(plan);

    struct rp_curve *curve;
    char message[200];
    question.max_labels = 256;
    assert_ok(rp_planner_curve(&question, &curve, message, sizeof(message)));
    assert_true(curve->truncated);
    assert_int_equal(curve->points[0].peak, 0);
    assert_int_equal(curve->points[curve->count - 1].time, 0);
    assert_true(curve->gap > 0 && curve->gap < 65535 / 8);
    for (uint64_t budget = 0; budget < 65536; budget++) {
        const struct rp_curve_point *best =
            instance_best_within(curve->points, curve->count, budget);
        uint64_t time = best != NULL ? best->time : UINT64_MAX, optimum = 65535 - budget;
        assert_true(time >= optimum && time - optimum <= curve->gap);
    }
    rp_curve_destroy(curve);
    rp_profile_destroy(profile);
}

/* At every budget a truncated curve lies no more above the exact one than it says. */
static void a_truncated_curve_knows_how_far_it_may_be_off(void **state)
{
    struct random random = random_begin("truncated curve");
    size_t truncated = 0;

    (void)state;
    for (int round = 0; round < 60; round++) {
        struct rp_profile *profile = instance_random(&random, 6 + random_below(&random, 12));
        struct rp_question question = rp_question_default(profile, 0);
        struct rp_curve *exact, *curve;
        char message[200];
        assert_ok(rp_planner_curve(&question, &exact, message, sizeof(message)));
        question.max_labels = 2 + random_below(&random, 12);
        assert_ok(rp_planner_curve(&question, &curve, message, sizeof(message)));
        truncated += curve->truncated;
        assert_int_equal(exact->gap, 0);
        assert_int_equal(curve->points[0].peak, exact->points[0].peak);
        for (size_t i = 0; i < exact->count; i++) {
            const struct rp_curve_point *best =
                instance_best_within(curve->points, curve->count, exact->points[i].peak);
            uint64_t time = best != NULL ? best->time : UINT64_MAX;
            assert_true(time >= exact->points[i].time &&
                        time - exact->points[i].time <= curve->gap);
        }
        rp_curve_destroy(curve);
        rp_curve_destroy(exact);
        rp_profile_destroy(profile);
    }
    assert_true(truncated > 0);
}

static void truncation_never_hides_a_plan_nor_a_better_one(void **state)
{
    struct random random = random_begin("truncation");
    size_t truncated = 0, feasible = 0;

    (void)state;
    for (int round = 0; round < 120; round++) {
        struct rp_profile *profile = instance_random(&random, 4 + random_below(&random, 14));
        uint64_t least = instance_min_budget(profile), most = instance_eager_peak(profile);
        uint64_t span = most > least ? most - least : 1;
        uint64_t budget = least + random_below(&random, span);
        struct rp_plan *exact = solve(profile, budget, true);
        struct rp_question question = rp_question_default(profile, budget);
        question.max_labels = 1 + random_below(&random, 12);
        question.plain = random_below(&random, 2);
        struct rp_plan *plan = instance_solve(&question);
        check_truncated(plan, exact->time);
        truncated += plan->truncated;
        feasible += plan->answer == RP_ANSWER_FEASIBLE;
        rp_plan_destroy(plan);
        rp_plan_destroy(exact);
        rp_profile_destroy(profile);
    }
    assert_true(truncated > 0);
    assert_true(feasible > 0);
}

/* ---- however a problem is turned ---------------------------------------------- */

typedef uint64_t problem[RP_CHOICE_COUNT][3];

static problem *rows_of(const struct rp_profile *profile, size_t extra)
{
    size_t count = rp_profile_count(profile);
    problem *rows = calloc(count + extra, sizeof(*rows));

    for (size_t k = 0; k < count; k++)
        for (int c = 0; c < RP_CHOICE_COUNT; c++) {
            const struct rp_cost *cost = &rp_profile_segment(profile, k)->costs[c];
            rows[k][c][0] = cost->hold;
            rows[k][c][1] = cost->peak;
            rows[k][c][2] = cost->allowed ? cost->time : UINT64_MAX;
        }
    return rows;
}

/* The least time, or UINT64_MAX where nothing fits. */
static uint64_t time_of(uint64_t base, size_t count, problem *rows, uint64_t budget)
{
    struct rp_profile *profile = instance_from_rows(base, count, rows);
    struct rp_plan *plan = solve(profile, budget, false);
    uint64_t time = rp_plan_has_choices(plan) ? plan->time : UINT64_MAX;

    rp_plan_destroy(plan);
    rp_profile_destroy(profile);
    return time;
}

static uint64_t random_budget(struct random *random, const struct rp_profile *profile)
{
    return random_below(random, instance_eager_peak(profile) + 10);
}

static void more_budget_never_takes_longer(void **state)
{
    struct random random = random_begin("budget");

    (void)state;
    for (int round = 0; round < 20; round++) {
        struct rp_profile *profile = instance_random(&random, 1 + random_below(&random, 10));
        uint64_t last = UINT64_MAX;
        for (uint64_t budget = 0; budget <= instance_eager_peak(profile) + 2; budget += 3) {
            struct rp_plan *plan = solve(profile, budget, false);
            uint64_t time = rp_plan_has_choices(plan) ? plan->time : UINT64_MAX;
            assert_true(time <= last);
            last = time;
            rp_plan_destroy(plan);
        }
        rp_profile_destroy(profile);
    }
}

static void one_more_option_never_takes_longer(void **state)
{
    struct random random = random_begin("option");

    (void)state;
    for (int round = 0; round < 60; round++) {
        size_t count = 1 + random_below(&random, 10);
        struct rp_profile *profile = instance_random(&random, count);
        uint64_t budget = random_budget(&random, profile), base = rp_profile_base(profile);
        problem *rows = rows_of(profile, 0);
        uint64_t with = time_of(base, count, rows, budget);
        rows[random_below(&random, count)][random_below(&random, 3)][2] = UINT64_MAX;
        assert_true(time_of(base, count, rows, budget) >= with);
        free(rows);
        rp_profile_destroy(profile);
    }
}

static void scaling_bytes_and_budget_changes_nothing(void **state)
{
    struct random random = random_begin("scale");

    (void)state;
    for (int round = 0; round < 40; round++) {
        size_t count = 1 + random_below(&random, 10);
        struct rp_profile *profile = instance_random(&random, count);
        uint64_t budget = random_budget(&random, profile), base = rp_profile_base(profile);
        uint64_t scale = 1 + random_below(&random, (uint64_t)1 << 40);
        problem *rows = rows_of(profile, 0);
        uint64_t before = time_of(base, count, rows, budget);
        for (size_t k = 0; k < count; k++)
            for (int c = 0; c < RP_CHOICE_COUNT; c++) {
                rows[k][c][0] *= scale;
                rows[k][c][1] *= scale;
            }
        assert_int_equal(time_of(base * scale, count, rows, budget * scale), before);
        free(rows);
        rp_profile_destroy(profile);
    }
}

static void a_segment_that_costs_nothing_changes_nothing(void **state)
{
    struct random random = random_begin("split");

    (void)state;
    for (int round = 0; round < 40; round++) {
        size_t count = 1 + random_below(&random, 10), at = random_below(&random, count + 1);
        struct rp_profile *profile = instance_random(&random, count);
        uint64_t budget = random_budget(&random, profile), base = rp_profile_base(profile);
        problem *rows = rows_of(profile, 1);
        uint64_t before = time_of(base, count, rows, budget);
        memmove(rows + at + 1, rows + at, (count - at) * sizeof(*rows));
        memset(rows + at, 0, sizeof(*rows));
        assert_int_equal(time_of(base, count + 1, rows, budget), before);
        free(rows);
        rp_profile_destroy(profile);
    }
}

static void the_order_of_the_options_changes_no_time(void **state)
{
    struct random random = random_begin("ties");

    (void)state;
    for (int round = 0; round < 40; round++) {
        size_t count = 1 + random_below(&random, 10);
        struct rp_profile *profile = instance_random(&random, count);
        uint64_t budget = random_budget(&random, profile), base = rp_profile_base(profile);
        problem *rows = rows_of(profile, 0);
        uint64_t before = time_of(base, count, rows, budget);
        for (size_t k = 0; k < count; k++) {
            uint64_t kept[3];
            size_t a = random_below(&random, 3), b = random_below(&random, 3);
            memcpy(kept, rows[k][a], sizeof(kept));
            memcpy(rows[k][a], rows[k][b], sizeof(kept));
            memcpy(rows[k][b], kept, sizeof(kept));
        }
        assert_int_equal(time_of(base, count, rows, budget), before);
        free(rows);
        rp_profile_destroy(profile);
    }
}

/* ---- refusals ----------------------------------------------------------------- */

static void a_restriction_without_options_is_refused_by_name(void **state)
{
    problem rows[2] = {{{1, 2, 3}, {0, 2, 4}, {0, 2, 4}}, {{1, 2, 3}, {0, 0, 0}, {0, 0, 0}}};
    struct rp_question question;
    struct rp_plan *plan;
    char message[200];
    uint64_t budget = 10;

    (void)state;
    rows[1][RP_CHOICE_WHOLE][2] = rows[1][RP_CHOICE_REGIONS][2] = UINT64_MAX;
    struct rp_profile *profile = instance_from_rows(0, 2, rows);
    question = rp_question_default(profile, budget);
    question.allowed = RP_CHOICE_BIT(RP_CHOICE_WHOLE);
    assert_int_equal(rp_planner_solve(&question, &plan, message, sizeof(message)), RP_INVALID);
    assert_null(plan);
    assert_non_null(strstr(message, "'s1'"));
    assert_int_equal(rp_planner_sweep(&question, &budget, 1, &plan, message, sizeof(message)),
                     RP_INVALID);
    assert_null(plan);
    rp_profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_optimum_is_that_of_enumeration),
        cmocka_unit_test(twelve_segments_agree_with_enumeration),
        cmocka_unit_test(bounds_cost_nothing_but_labels),
        cmocka_unit_test(bounds_lose_neither_time_nor_peak),
        cmocka_unit_test(a_long_chain_is_proved_with_few_labels),
        cmocka_unit_test(powers_of_two_have_a_label_for_every_plan),
        cmocka_unit_test(powers_of_two_truncate_honestly),
        cmocka_unit_test(a_truncated_curve_knows_how_far_it_may_be_off),
        cmocka_unit_test(truncation_never_hides_a_plan_nor_a_better_one),
        cmocka_unit_test(more_budget_never_takes_longer),
        cmocka_unit_test(one_more_option_never_takes_longer),
        cmocka_unit_test(scaling_bytes_and_budget_changes_nothing),
        cmocka_unit_test(a_segment_that_costs_nothing_changes_nothing),
        cmocka_unit_test(the_order_of_the_options_changes_no_time),
        cmocka_unit_test(a_restriction_without_options_is_refused_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
