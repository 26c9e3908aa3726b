/* SPDX-License-Identifier: Apache-2.0 */
/* The three models against plans that are executed byte by byte, and their searches against
 * trying every plan. */
#include "tests/planner/walker.h"

#include <stdlib.h>
#include <string.h>

static bool is_allowed(const struct rp_profile *profile, const enum rp_choice *choices)
{
    for (size_t k = 0; k < rp_profile_count(profile); k++)
        if (!rp_profile_segment(profile, k)->costs[choices[k]].allowed)
            return false;
    return true;
}

/* ---- walking ------------------------------------------------------------------ */

static void check_every_plan(const struct rp_profile *profile, enum rp_model model)
{
    enum rp_choice choices[8] = {RP_CHOICE_RETAIN};

    do {
        uint64_t peak, time, real_peak, real_time;
        if (!is_allowed(profile, choices)) {
            assert_int_equal(
                rp_planner_walk(profile, model, choices, &peak, &time, NULL, NULL), RP_INVALID);
            continue;
        }
        assert_ok(rp_planner_walk(profile, model, choices, &peak, &time, NULL, NULL));
        walker_run(profile, model, choices, &real_peak, &real_time);
        assert_int_equal(peak, real_peak);
        assert_int_equal(time, real_time);
    } while (instance_next_plan(choices, rp_profile_count(profile)));
}

static void plans_need_what_executing_them_needs(void **state)
{
    struct random random = random_begin("walk");

    (void)state;
    for (int round = 0; round < 40; round++) {
        struct rp_profile *profile = walker_random(&random, random_below(&random, 6));
        check_every_plan(profile, RP_MODEL_NESTED);
        check_every_plan(profile, RP_MODEL_SHARED);
        check_every_plan(profile, RP_MODEL_LAZY);
        rp_profile_destroy(profile);
    }
}

/* ---- searching ---------------------------------------------------------------- */

static void check_search(const struct rp_profile *profile, enum rp_model model,
                         struct random *random)
{
    struct rp_question question = rp_question_default(profile, 0);
    struct rp_curve_point *points;
    size_t count = instance_enumerate(profile, model, RP_CHOICE_ALL, &points);
    uint64_t least;
    char message[200];

    question.model = model;
    assert_ok(rp_planner_min_budget(&question, &least, NULL, message, sizeof(message)));
    assert_int_equal(least, points[0].peak);
    instance_check_curve(&question, points, count);
    for (size_t i = 0; i < count; i += 1 + random_below(random, 3)) {
        question.plain = random_below(random, 3) == 0;
        question.budget = points[i].peak;
        instance_check_budget(&question, points, count);
        question.budget = points[i].peak - 1;
        instance_check_budget(&question, points, count);
    }
    free(points);
}

static void every_model_finds_its_optimum(void **state)
{
    struct random random = random_begin("models");

    (void)state;
    for (int round = 0; round < 45; round++) {
        struct rp_profile *profile = walker_random(&random, 1 + random_below(&random, 6));
        check_search(profile, RP_MODEL_NESTED, &random);
        check_search(profile, RP_MODEL_SHARED, &random);
        check_search(profile, RP_MODEL_LAZY, &random);
        rp_profile_destroy(profile);
    }
}

/* Rows that were measured stand for what they say, and the facts beside them for what regions cost
 * under the other models. */
static void so_it_does_where_rows_stand_beside_the_facts(void **state)
{
    struct random random = random_begin("both");

    (void)state;
    for (int round = 0; round < 30; round++) {
        struct rp_profile *facts = walker_random(&random, 1 + random_below(&random, 6));
        struct rp_profile *both = instance_with_rows(facts, &random);
        check_search(both, RP_MODEL_NESTED, &random);
        check_search(both, RP_MODEL_SHARED, &random);
        check_search(both, RP_MODEL_LAZY, &random);
        rp_profile_destroy(both);
        rp_profile_destroy(facts);
    }
}

static void rows_that_follow_from_the_facts_change_nothing(void **state)
{
    struct random random = random_begin("follow");

    (void)state;
    for (int round = 0; round < 20; round++) {
        struct rp_profile *facts = walker_random(&random, 1 + random_below(&random, 5));
        struct rp_profile *both = instance_with_rows(facts, NULL);
        check_every_plan(both, RP_MODEL_NESTED);
        check_every_plan(both, RP_MODEL_SHARED);
        check_every_plan(both, RP_MODEL_LAZY);
        rp_profile_destroy(both);
        rp_profile_destroy(facts);
    }
}

static void truncated_answers_stay_true(void **state)
{
    struct random random = random_begin("truncated");
    size_t truncated = 0;

    (void)state;
    for (int round = 0; round < 60; round++) {
        struct rp_profile *profile = walker_random(&random, 5);
        struct rp_question question = rp_question_default(profile, 0);
        question.model = round % 2 ? RP_MODEL_SHARED : RP_MODEL_LAZY;
        question.budget = instance_min_budget(profile) + random_below(&random, 40);
        struct rp_plan *exact = instance_solve(&question);
        question.max_labels = 1 + random_below(&random, 3);
        question.plain = random_below(&random, 2);
        struct rp_plan *plan = instance_solve(&question);
        truncated += plan->truncated;
        if (plan->answer == RP_ANSWER_INFEASIBLE)
            assert_int_equal(exact->answer, RP_ANSWER_INFEASIBLE);
        if (rp_plan_has_choices(plan)) {
            assert_true(plan->time >= exact->time);
            assert_true(plan->time - plan->gap <= exact->time);
        }
        if (plan->answer == RP_ANSWER_OPTIMAL || plan->answer == RP_ANSWER_CERTIFIED)
            assert_int_equal(plan->time, exact->time);
        rp_plan_destroy(plan);
        rp_plan_destroy(exact);
        rp_profile_destroy(profile);
    }
    assert_true(truncated > 0);
}

/* ---- what the models have to do with one another ------------------------------ */

static struct rp_measure measured(uint64_t value)
{
    return (struct rp_measure){value, RP_SOURCE_MEASURED};
}

struct access {
    struct rp_buffer_range reads[2], writes[2], backward[2];
    size_t read_count, write_count, backward_count;
};

/* Segments of equal cost: 100 bytes of activation, copies of one byte a nanosecond. */
static struct rp_profile *profile_of(const struct access *accesses, size_t count)
{
    struct rp_profile *profile;
    struct rp_copy_price price = {measured(0), measured(1000)};
    char name[24], message[200];

    assert_ok(rp_profile_create(&profile));
    rp_profile_set_copy_price(profile, &price);
    assert_ok(rp_profile_add_buffer(profile, "queue", 64));
    for (size_t k = 0; k < count; k++) {
        struct rp_facts facts = {
            .forward_time = measured(1000), .backward_time = measured(2000),
            .replay_time = measured(1000),  .tracking_time = measured(0),
            .activation = measured(100),    .forward_workspace = measured(0),
            .backward_workspace = measured(0), .forward_base = measured(0),
            .backward_base = measured(0),   .reads = accesses[k].reads,
            .writes = accesses[k].writes,   .backward_writes = accesses[k].backward,
            .read_count = accesses[k].read_count, .write_count = accesses[k].write_count,
            .backward_write_count = accesses[k].backward_count,
        };
        snprintf(name, sizeof(name), "s%zu", k);
        assert_ok(rp_profile_add_facts(profile, name, &facts));
    }
    assert_ok(rp_profile_close(profile, message, sizeof(message)));
    return profile;
}

static uint64_t least_budget(const struct rp_profile *profile, enum rp_model model)
{
    struct rp_question question = rp_question_default(profile, 0);
    uint64_t bytes;
    char message[200];

    question.model = model;
    assert_ok(rp_planner_min_budget(&question, &bytes, NULL, message, sizeof(message)));
    return bytes;
}

/* Three segments read the queue as it is, and the last one changes it. */
static void three_readers_of_a_version_need_one_copy(void **state)
{
    const struct access accesses[] = {
        {.reads = {{0, 0, 64}}, .read_count = 1},
        {.reads = {{0, 0, 64}}, .read_count = 1},
        {.reads = {{0, 0, 64}}, .writes = {{0, 0, 64}}, .read_count = 1, .write_count = 1},
    };
    const enum rp_choice all[] = {RP_CHOICE_REGIONS, RP_CHOICE_REGIONS, RP_CHOICE_REGIONS};
    struct rp_profile *profile = profile_of(accesses, 3);
    uint64_t nested, shared, nested_time, shared_time;

    (void)state;
    assert_ok(rp_planner_walk(profile, RP_MODEL_NESTED, all, &nested, &nested_time, NULL, NULL));
    assert_ok(rp_planner_walk(profile, RP_MODEL_SHARED, all, &shared, &shared_time, NULL, NULL));
    assert_int_equal(nested, 64 + 64 + 64 + 100);
    assert_int_equal(shared, 64 + 64 + 100); /* one copy, and what the last one stashes */
    assert_int_equal(nested_time - shared_time, 2 * 64);
    rp_profile_destroy(profile);
}

/* s1 reads two versions, one with s0 and one with s2: they must not be taken for one another. */
static void versions_that_meet_in_a_segment_are_told_apart(void **state)
{
    const struct access accesses[] = {
        {.reads = {{0, 0, 24}}, .read_count = 1},
        {.reads = {{0, 0, 24}, {0, 32, 64}}, .read_count = 2},
        {.reads = {{0, 32, 64}}, .read_count = 1},
        {.writes = {{0, 0, 64}}, .write_count = 1},
    };
    const enum rp_choice all[] = {RP_CHOICE_REGIONS, RP_CHOICE_REGIONS, RP_CHOICE_REGIONS,
                                  RP_CHOICE_RETAIN};
    struct rp_profile *profile = profile_of(accesses, 4);
    uint64_t peak, time, real_peak, real_time, held[9];

    (void)state;
    assert_ok(rp_planner_walk(profile, RP_MODEL_SHARED, all, &peak, &time, NULL, held));
    walker_run(profile, RP_MODEL_SHARED, all, &real_peak, &real_time);
    assert_int_equal(held[3], 24 + 32 + 100); /* one copy of each at the forward of s3 */
    assert_int_equal(peak, real_peak);
    assert_int_equal(time, real_time);
    rp_profile_destroy(profile);
}

/* The queue is not written before the last backward but one: until then it is no copy's
 * business. */
static void a_late_clobber_costs_late(void **state)
{
    const struct access accesses[] = {
        {.reads = {{0, 0, 64}}, .read_count = 1},
        {.backward = {{0, 0, 64}}, .backward_count = 1},
        {.read_count = 0},
    };
    const enum rp_choice first[] = {RP_CHOICE_REGIONS, RP_CHOICE_RETAIN, RP_CHOICE_RETAIN};
    struct rp_profile *profile = profile_of(accesses, 3);
    uint64_t peak, time, held[7];
    struct rp_moment binding;

    (void)state;
    assert_ok(rp_planner_walk(profile, RP_MODEL_LAZY, first, &peak, &time, &binding, held));
    assert_int_equal(held[0], 100);
    assert_int_equal(held[2], 200); /* the forward of s2, without the copy */
    assert_int_equal(held[3], 200); /* its backward */
    assert_int_equal(held[4], 100 + 64); /* the backward of s1 makes the copy */
    assert_int_equal(held[5], 64 + 100); /* the replay of s0: stash and activation */
    assert_int_equal(held[6], 0);
    assert_int_equal(peak, 200);
    assert_ok(rp_planner_walk(profile, RP_MODEL_NESTED, first, &peak, &time, &binding, held));
    assert_int_equal(held[0], 164);
    assert_int_equal(held[2], 264);
    assert_int_equal(peak, 264);
    assert_int_equal(binding.segment, 2);
    rp_profile_destroy(profile);
}

static void shared_never_needs_more_than_nested(void **state)
{
    struct random random = random_begin("shared");
    size_t less = 0;

    (void)state;
    for (int round = 0; round < 60; round++) {
        struct rp_profile *profile = walker_random(&random, 6);
        uint64_t nested = least_budget(profile, RP_MODEL_NESTED);
        uint64_t shared = least_budget(profile, RP_MODEL_SHARED);
        assert_true(shared <= nested);
        less += shared < nested;
        rp_profile_destroy(profile);
    }
    assert_true(less > 0);
}

/* ---- refusals ----------------------------------------------------------------- */

static void assert_refused(const struct rp_profile *profile, enum rp_model model,
                           const char *reason)
{
    struct rp_question question = rp_question_default(profile, 1000);
    struct rp_plan *plan;
    char message[300] = "";

    question.model = model;
    assert_int_equal(rp_planner_solve(&question, &plan, message, sizeof(message)),
                     RP_UNSUPPORTED);
    assert_null(plan);
    if (strstr(message, reason) == NULL)
        fail_msg("'%s' doesn't say '%s'", message, reason);
}

static void models_that_need_facts_refuse_rows(void **state)
{
    struct random random = random_begin("rows");
    struct rp_profile *profile = instance_random(&random, 3);

    (void)state;
    assert_refused(profile, RP_MODEL_SHARED, "byte ranges");
    assert_refused(profile, RP_MODEL_LAZY, "byte ranges");
    rp_profile_destroy(profile);
}

static void a_departure_fits_no_model(void **state)
{
    struct random random = random_begin("departure");
    struct rp_profile *profile = walker_random(&random, 3);

    (void)state;
    assert_ok(rp_profile_set_departure(profile, "two streams overlap"));
    assert_refused(profile, RP_MODEL_NESTED, "two streams overlap");
    assert_refused(profile, RP_MODEL_SHARED, "two streams overlap");
    assert_refused(profile, RP_MODEL_LAZY, "two streams overlap");
    rp_profile_destroy(profile);
}

/* 65 bytes, each read at one version by the first segment and by one other. */
static void sixty_five_shared_versions_are_too_many(void **state)
{
    struct rp_profile *profile;
    struct rp_copy_price price = {measured(0), measured(1000)};
    struct rp_facts facts = {
        .forward_time = measured(1), .backward_time = measured(1), .replay_time = measured(1),
        .tracking_time = measured(0), .activation = measured(1), .forward_workspace = measured(0),
        .backward_workspace = measured(0), .forward_base = measured(0),
        .backward_base = measured(0)};
    struct rp_buffer_range range = {0, 0, 65};
    char name[24], message[200];

    (void)state;
    assert_ok(rp_profile_create(&profile));
    rp_profile_set_copy_price(profile, &price);
    assert_ok(rp_profile_add_buffer(profile, "b", 65));
    for (uint64_t k = 0; k < 67; k++) {
        facts.reads = facts.writes = &range;
        facts.read_count = k < 66;
        facts.write_count = k == 66;
        if (k > 0)
            range = (struct rp_buffer_range){0, k == 66 ? 0 : k - 1, k == 66 ? 65 : k};
        snprintf(name, sizeof(name), "s%d", (int)k);
        assert_ok(rp_profile_add_facts(profile, name, &facts));
    }
    assert_ok(rp_profile_close(profile, message, sizeof(message)));
    assert_refused(profile, RP_MODEL_SHARED, "64 versions");
    rp_profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_need_what_executing_them_needs),
        cmocka_unit_test(every_model_finds_its_optimum),
        cmocka_unit_test(so_it_does_where_rows_stand_beside_the_facts),
        cmocka_unit_test(rows_that_follow_from_the_facts_change_nothing),
        cmocka_unit_test(truncated_answers_stay_true),
        cmocka_unit_test(three_readers_of_a_version_need_one_copy),
        cmocka_unit_test(versions_that_meet_in_a_segment_are_told_apart),
        cmocka_unit_test(a_late_clobber_costs_late),
        cmocka_unit_test(shared_never_needs_more_than_nested),
        cmocka_unit_test(models_that_need_facts_refuse_rows),
        cmocka_unit_test(a_departure_fits_no_model),
        cmocka_unit_test(sixty_five_shared_versions_are_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
