/* SPDX-License-Identifier: Apache-2.0 */
/* Problems whose optimum is known from elsewhere. */
#include "tests/planner/instance.h"

#include <stdlib.h>
#include <string.h>

static uint64_t number(json_t *value)
{
    return (uint64_t)json_integer_value(value);
}

/* ---- golden.json: the whole curve of 14 instances, by enumeration -------------- */

static void check_budget(struct rp_question *question, uint64_t budget, uint64_t peak,
                         uint64_t time)
{
    question->budget = budget;
    struct rp_plan *plan = instance_solve(question);
    assert_int_equal(plan->answer, RP_ANSWER_OPTIMAL);
    assert_false(plan->truncated);
    assert_int_equal(plan->peak, peak);
    assert_int_equal(plan->time, time);
    rp_plan_destroy(plan);
}

static void check_infeasible(struct rp_question *question, uint64_t budget, uint64_t min_budget)
{
    question->budget = budget;
    struct rp_plan *plan = instance_solve(question);
    assert_int_equal(plan->answer, RP_ANSWER_INFEASIBLE);
    assert_true(plan->has_min_budget);
    assert_int_equal(plan->min_budget, min_budget);
    assert_null(plan->choices);
    rp_plan_destroy(plan);
}

/* Every point, the last budget before it, and one between it and the next. */
static void check_instance(json_t *instance, bool plain)
{
    struct rp_profile *profile = instance_from_golden(instance);
    struct rp_question question = rp_question_default(profile, 0);
    json_t *frontier = json_object_get(instance, "frontier");
    uint64_t min_budget = number(json_object_get(instance, "min_budget"));

    question.plain = plain;
    check_infeasible(&question, min_budget - 1, min_budget);
    check_infeasible(&question, 0, min_budget);
    for (size_t i = 0; i < json_array_size(frontier); i++) {
        json_t *point = json_array_get(frontier, i), *next = json_array_get(frontier, i + 1);
        uint64_t peak = number(json_array_get(point, 0)), time = number(json_array_get(point, 1));
        uint64_t end = next != NULL ? number(json_array_get(next, 0)) - 1 : INT64_MAX;
        check_budget(&question, peak, peak, time);
        check_budget(&question, end, peak, time);
        check_budget(&question, peak + (end - peak) / 2, peak, time);
    }
    rp_profile_destroy(profile);
}

static void check_curve(json_t *instance)
{
    struct rp_profile *profile = instance_from_golden(instance);
    struct rp_question question = rp_question_default(profile, 0);
    json_t *frontier = json_object_get(instance, "frontier");
    struct rp_curve *curve;
    char message[200];

    assert_ok(rp_planner_curve(&question, &curve, message, sizeof(message)));
    assert_false(curve->truncated);
    assert_int_equal(curve->count, json_array_size(frontier));
    for (size_t i = 0; i < curve->count; i++) {
        json_t *point = json_array_get(frontier, i);
        assert_int_equal(curve->points[i].peak, number(json_array_get(point, 0)));
        assert_int_equal(curve->points[i].time, number(json_array_get(point, 1)));
    }
    rp_curve_destroy(curve);
    rp_profile_destroy(profile);
}

static void each_point_of_the_golden_curves_is_found(void **state)
{
    json_t *root = instance_load("golden.json"), *instances, *instance;
    size_t i, points = 0;

    (void)state;
    instances = json_object_get(root, "instances");
    assert_int_equal(json_array_size(instances), 14);
    json_array_foreach (instances, i, instance) {
        check_instance(instance, false);
        check_instance(instance, true);
        check_curve(instance);
        points += json_array_size(json_object_get(instance, "frontier"));
    }
    assert_int_equal(points, 157);
    json_decref(root);
}

/* ---- torch-knapsack.json ------------------------------------------------------ */

/* One thing to save or to compute again: retain (m, m, 0), replay (0, 0, r). */
static void set_item(uint64_t rows[RP_CHOICE_COUNT][3], uint64_t memory, uint64_t runtime)
{
    uint64_t item[3][3] = {{memory, memory, 0}, {0, 0, runtime}, {0, 0, runtime}};

    memcpy(rows, item, sizeof(item));
}

static uint64_t replay_time(size_t count, uint64_t (*rows)[RP_CHOICE_COUNT][3], uint64_t budget)
{
    struct rp_profile *profile = instance_from_rows(0, count, rows);
    struct rp_question question = rp_question_default(profile, budget);
    struct rp_plan *plan = instance_solve(&question);
    uint64_t time = plan->time;

    assert_int_equal(plan->answer, RP_ANSWER_OPTIMAL);
    rp_plan_destroy(plan);
    rp_profile_destroy(profile);
    return time;
}

static void knapsacks_save_as_much_as_they_should(void **state)
{
    json_t *root = instance_load("torch-knapsack.json"), *test;
    json_t *tests = json_object_get(root, "knapsack_cases");
    size_t i;

    (void)state;
    assert_int_equal(json_array_size(tests), 9);
    json_array_foreach (tests, i, test) {
        uint64_t rows[8][RP_CHOICE_COUNT][3];
        json_t *memory = json_object_get(test, "memory");
        json_t *runtime = json_object_get(test, "runtime");
        for (size_t k = 0; k < json_array_size(memory); k++)
            set_item(rows[k], number(json_array_get(memory, k)),
                     number(json_array_get(runtime, k)));
        uint64_t time = replay_time(json_array_size(memory), rows,
                                    number(json_object_get(test, "max_memory")));
        double expected = json_number_value(json_object_get(test, "replay_runtime"));
        assert_int_equal(time, (uint64_t)expected);
    }
    json_decref(root);
}

/* Operators that stand or fall together are one item; what is saved anyway is the constant. */
static void selective_checkpointing_saves_as_much_as_it_should(void **state)
{
    static const uint64_t items[4][2] = {{100, 5}, {100, 8}, {120, 15}, {100, 14}};
    const uint64_t sum = 5 + 8 + 15 + 14, saved_anyway = 20;
    json_t *root = instance_load("torch-knapsack.json"), *test;
    json_t *tests = json_object_get(root, "sac_budgets");
    uint64_t rows[4][RP_CHOICE_COUNT][3];
    size_t i;

    (void)state;
    for (size_t k = 0; k < 4; k++)
        set_item(rows[k], items[k][0], items[k][1]);
    assert_int_equal(json_array_size(tests), 5);
    json_array_foreach (tests, i, test) {
        uint64_t time = replay_time(4, rows, number(json_object_get(test, "memory_budget")));
        assert_int_equal(saved_anyway + sum - time,
                         number(json_object_get(test, "saved_runtime")));
    }
    json_decref(root);
}

/* Three items of one unit: no part of a search may take more than its share of the room. */
static void three_unit_items_fit_one_at_a_time(void **state)
{
    uint64_t rows[3][RP_CHOICE_COUNT][3];

    (void)state;
    for (size_t k = 0; k < 3; k++)
        set_item(rows[k], 1, 1);
    assert_int_equal(replay_time(3, rows, 0), 3);
    assert_int_equal(replay_time(3, rows, 1), 2);
    assert_int_equal(replay_time(3, rows, 2), 1);
    assert_int_equal(replay_time(3, rows, 3), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_point_of_the_golden_curves_is_found),
        cmocka_unit_test(knapsacks_save_as_much_as_they_should),
        cmocka_unit_test(selective_checkpointing_saves_as_much_as_it_should),
        cmocka_unit_test(three_unit_items_fit_one_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
