/* SPDX-License-Identifier: Apache-2.0 */
/* Profile files: what is written is read back. */
#include "tests/planner/profile_text.h"

#include <stdlib.h>

/* ---- reading ------------------------------------------------------------------ */

static void the_reduced_form_of_the_manual_is_read(void **state)
{
    struct rp_profile *profile = read_profile(
        "{ \"version\": 1, \"base_bytes\": 0,\n"
        "  \"segments\": [ { \"name\": \"s0\", \"options\": {\n"
        "      \"retain\":  { \"hold_bytes\": 2, \"peak_bytes\": 8,  \"time_ns\": 34 },\n"
        "      \"whole\":   { \"hold_bytes\": 10, \"peak_bytes\": 20, \"time_ns\": 99 },\n"
        "      \"regions\": { \"hold_bytes\": 0, \"peak_bytes\": 11, \"time_ns\": 75 } } } ] }");
    const struct rp_segment *segment = rp_profile_segment(profile, 0);

    (void)state;
    assert_int_equal(rp_profile_count(profile), 1);
    assert_string_equal(segment->name, "s0");
    assert_int_equal(segment->costs[RP_CHOICE_RETAIN].hold, 2);
    assert_int_equal(segment->costs[RP_CHOICE_WHOLE].peak, 20);
    assert_int_equal(segment->costs[RP_CHOICE_REGIONS].time, 75);
    assert_false(segment->costs[RP_CHOICE_REGIONS].has_terms);
    rp_profile_destroy(profile);
}

static void the_least_that_the_run_works_in_is_kept(void **state)
{
    struct rp_profile *profile = read_profile(
        "{\"version\": 1, \"base_bytes\": 0, \"least_bytes\": 422148, \"segments\": []}");
    char *text = rp_profile_to_json(profile, false);
    struct rp_profile *again = read_profile(text);
    struct rp_profile *silent =
        read_profile("{\"version\": 1, \"base_bytes\": 0, \"segments\": []}");

    (void)state;
    assert_int_equal(rp_profile_least(profile), 422148);
    assert_int_equal(rp_profile_least(again), 422148);
    assert_int_equal(rp_profile_least(silent), 0);
    free(text);
    rp_profile_destroy(profile);
    rp_profile_destroy(again);
    rp_profile_destroy(silent);
}

static void an_option_that_is_left_out_or_masked_is_not_allowed(void **state)
{
    struct rp_profile *profile = read_profile(
        "{\"version\": 1, \"base_bytes\": 7, \"segments\": [{\"name\": \"s0\", \"options\": {"
        "\"retain\": " ROW(1, 2, 3) ", \"whole\": {\"masked\": \"it reads the clock\"}}}]}");
    const struct rp_cost *costs = rp_profile_segment(profile, 0)->costs;

    (void)state;
    assert_int_equal(rp_profile_base(profile), 7);
    assert_true(costs[RP_CHOICE_RETAIN].allowed);
    assert_false(costs[RP_CHOICE_WHOLE].allowed);
    assert_string_equal(costs[RP_CHOICE_WHOLE].masked, "it reads the clock");
    assert_false(costs[RP_CHOICE_REGIONS].allowed);
    assert_null(costs[RP_CHOICE_REGIONS].masked);
    rp_profile_destroy(profile);
}

static void the_full_form_adds_its_terms_up(void **state)
{
    struct rp_profile *profile = read_profile(
        "{\"version\": 1, \"base_bytes\": 0, \"segments\": [{\"name\": \"s0\", \"options\": {"
        "\"regions\": {\"terms\": {\"hold_bytes\": " MEASURED(5) ", \"stash_bytes\": " MEASURED(6)
        ", \"peak_forward_bytes\": " MEASURED(20) ", \"peak_backward_bytes\": " MEASURED(30)
        ", \"forward_ns\": " MEASURED(1) ", \"backward_ns\": " MEASURED(2)
        ", \"preserve_ns\": " MEASURED(4) ", \"stash_ns\": " MEASURED(8)
        ", \"restore_ns\": " MEASURED(16) ", \"replay_ns\": " MEASURED(32)
        ", \"reinstate_ns\": " MEASURED(64)
        ", \"tracking_ns\": {\"value\": 128, \"source\": \"derived\"}}}}}]}");
    const struct rp_cost *cost = &rp_profile_segment(profile, 0)->costs[RP_CHOICE_REGIONS];

    (void)state;
    assert_int_equal(cost->hold, 5);
    assert_int_equal(cost->peak, 30);
    assert_int_equal(cost->time, 255);
    assert_int_equal(cost->terms[RP_TERM_REPLAY_TIME].source, RP_SOURCE_MEASURED);
    assert_int_equal(cost->terms[RP_TERM_TRACKING_TIME].source, RP_SOURCE_DERIVED);
    rp_profile_destroy(profile);
}

static void a_chain_of_no_segments_needs_its_base(void **state)
{
    struct rp_profile *profile =
        read_profile("{\"version\": 1, \"base_bytes\": 9, \"segments\": []}");
    struct rp_question question = rp_question_default(profile, 9);
    struct rp_plan *plan = instance_solve(&question);

    (void)state;
    assert_int_equal(plan->answer, RP_ANSWER_OPTIMAL);
    assert_int_equal(plan->peak, 9);
    assert_int_equal(plan->time, 0);
    rp_plan_destroy(plan);
    question.budget = 8;
    plan = instance_solve(&question);
    assert_int_equal(plan->answer, RP_ANSWER_INFEASIBLE);
    assert_int_equal(plan->min_budget, 9);
    rp_plan_destroy(plan);
    rp_profile_destroy(profile);
}

/* ---- there and back ----------------------------------------------------------- */

static void assert_same_rows(const struct rp_profile *a, const struct rp_profile *b)
{
    assert_int_equal(rp_profile_count(a), rp_profile_count(b));
    assert_int_equal(rp_profile_base(a), rp_profile_base(b));
    assert_int_equal(rp_profile_fingerprint(a), rp_profile_fingerprint(b));
    for (size_t k = 0; k < rp_profile_count(a); k++)
        for (int c = 0; c < RP_CHOICE_COUNT; c++) {
            const struct rp_cost *x = &rp_profile_segment(a, k)->costs[c];
            const struct rp_cost *y = &rp_profile_segment(b, k)->costs[c];
            assert_int_equal(x->allowed, y->allowed);
            assert_int_equal(x->hold, y->hold);
            assert_int_equal(x->peak, y->peak);
            assert_int_equal(x->time, y->time);
            assert_int_equal(x->masked == NULL, y->masked == NULL);
            if (x->masked != NULL)
                assert_string_equal(x->masked, y->masked);
        }
}

static void profiles_survive_being_written(void **state)
{
    struct random random = random_begin("files");

    (void)state;
    for (int round = 0; round < 20; round++) {
        struct rp_profile *profile = round % 2 ? walker_random(&random, 4)
                                               : instance_random(&random, 4);
        for (int rows = 0; rows < 2; rows++) {
            char *text = rp_profile_to_json(profile, rows);
            struct rp_profile *again = read_profile(text);
            assert_same_rows(profile, again);
            assert_int_equal(rp_profile_facts(again, 0) != NULL, !rows && round % 2);
            char *twice = rp_profile_to_json(again, false);
            char *once = rp_profile_to_json(profile, rows);
            assert_string_equal(once, twice);
            free(text);
            free(once);
            free(twice);
            rp_profile_destroy(again);
        }
        rp_profile_destroy(profile);
    }
}

/* What stands beside facts is what the options cost; the facts are for other models. */
static void options_may_have_facts_beside_them(void **state)
{
    struct random random = random_begin("both");

    (void)state;
    for (int round = 0; round < 20; round++) {
        struct rp_profile *facts = walker_random(&random, 4);
        struct rp_profile *both = instance_with_rows(facts, &random);
        char *text = rp_profile_to_json(both, false);
        struct rp_profile *again = read_profile(text);
        char *twice = rp_profile_to_json(again, false);
        assert_string_equal(text, twice);
        assert_same_rows(both, again);
        assert_true(rp_profile_has_rows(again));
        assert_non_null(rp_profile_facts(again, 0));
        free(text);
        free(twice);
        rp_profile_destroy(again);
        rp_profile_destroy(both);
        rp_profile_destroy(facts);
    }
}

/* ---- what is held later -------------------------------------------------------- */

static void what_is_held_later_is_read_and_written(void **state)
{
    struct rp_profile *profile = instance_later();
    char *text = rp_profile_to_json(profile, false);
    struct rp_profile *again = read_profile(text);
    const struct rp_cost *cost = &rp_profile_segment(again, 0)->costs[RP_CHOICE_REGIONS];
    char *twice = rp_profile_to_json(again, true);

    (void)state;
    assert_true(rp_profile_has_later(again));
    assert_int_equal(cost->hold, 9);
    assert_int_equal(cost->later_count, 2);
    assert_false(cost->later[0].backward);
    assert_true(cost->later[1].backward);
    assert_int_equal(cost->later[1].segment, 1);
    assert_int_equal(cost->later[1].bytes, 6);
    assert_string_equal(text, twice);
    free(text);
    free(twice);
    rp_profile_destroy(again);
    rp_profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reduced_form_of_the_manual_is_read),
        cmocka_unit_test(the_least_that_the_run_works_in_is_kept),
        cmocka_unit_test(an_option_that_is_left_out_or_masked_is_not_allowed),
        cmocka_unit_test(the_full_form_adds_its_terms_up),
        cmocka_unit_test(a_chain_of_no_segments_needs_its_base),
        cmocka_unit_test(profiles_survive_being_written),
        cmocka_unit_test(options_may_have_facts_beside_them),
        cmocka_unit_test(what_is_held_later_is_read_and_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
