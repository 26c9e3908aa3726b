/* SPDX-License-Identifier: Apache-2.0 */
/* When the host is out of memory, the planner says so, hands nothing out and leaks nothing (the
 * build with sanitizers looks). */
#include "tests/planner/walker.h"
#include "tests/scarce.h"

#include "planner/baseline.h"
#include "planner/document.h"
#include "planner/picture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Runs `attempt` with no memory, then with a few allocations more each time, until it succeeds.
 * There must be failures. */
static void fail_until_it_succeeds(enum rp_status (*attempt)(void *), void *context, int stride)
{
    enum rp_status status = RP_NO_MEMORY;
    int allowed = 0;

    for (; status != RP_OK; allowed += stride) {
        scarce_allow(allowed);
        status = attempt(context);
        scarce_allow(INT_MAX);
        assert_true(status == RP_OK || status == RP_NO_MEMORY);
    }
    assert_true(allowed > stride);
}

/* The parser of JSON doesn't always know that it was memory that it wanted. */
static enum rp_status forgive_parser(enum rp_status status, const char *message)
{
    bool is_parser = status == RP_INVALID && strstr(message, "this is not JSON") != NULL;

    return is_parser ? RP_NO_MEMORY : status;
}

/* ---- profiles ----------------------------------------------------------------- */

static enum rp_status parse(void *context)
{
    struct rp_profile *profile;
    char message[300];
    enum rp_status status =
        rp_profile_parse(context, strlen(context), "p", &profile, message, sizeof(message));

    assert_true((profile != NULL) == (status == RP_OK));
    rp_profile_destroy(profile);
    return forgive_parser(status, message);
}

static enum rp_status write_profile(void *context)
{
    char *text = rp_profile_to_json(context, false);

    free(text);
    return text != NULL ? RP_OK : RP_NO_MEMORY;
}

static void profiles_fail_whole(void **state)
{
    struct random random = random_begin("profiles");
    struct rp_profile *facts = walker_random(&random, 3), *rows = instance_random(&random, 3);
    char *texts[] = {rp_profile_to_json(facts, false), rp_profile_to_json(facts, true),
                     rp_profile_to_json(rows, false), strdup(instance_later_text)};

    (void)state;
    for (int i = 0; i < 4; i++) {
        fail_until_it_succeeds(parse, texts[i], 1);
        free(texts[i]);
    }
    fail_until_it_succeeds(write_profile, facts, 1);
    fail_until_it_succeeds(write_profile, rows, 1);
    rp_profile_destroy(facts);
    rp_profile_destroy(rows);
}

/* ---- plans -------------------------------------------------------------------- */

static enum rp_status solve(void *context)
{
    struct rp_plan *plan;
    char message[300];
    enum rp_status status = rp_planner_solve(context, &plan, message, sizeof(message));

    assert_true((plan != NULL) == (status == RP_OK));
    rp_plan_destroy(plan);
    return status;
}

static enum rp_status draw_curve(void *context)
{
    struct rp_curve *curve;
    char message[300];
    enum rp_status status = rp_planner_curve(context, &curve, message, sizeof(message));

    rp_curve_destroy(curve);
    return status;
}

static enum rp_status sweep(void *context)
{
    const uint64_t budgets[] = {20, 60, 100};
    struct rp_plan *plans[3];
    char message[300];
    enum rp_status status = rp_planner_sweep(context, budgets, 3, plans, message, sizeof(message));

    for (int i = 0; i < 3; i++) {
        assert_true((plans[i] != NULL) == (status == RP_OK));
        rp_plan_destroy(plans[i]);
    }
    return status;
}

static void searches_fail_whole(void **state)
{
    struct random random = random_begin("searches");
    struct rp_profile *profile = walker_random(&random, 5);
    struct rp_question question = rp_question_default(profile, instance_min_budget(profile) + 9);

    (void)state;
    for (int model = RP_MODEL_NESTED; model <= RP_MODEL_LAZY; model++) {
        question.model = (enum rp_model)model;
        fail_until_it_succeeds(solve, &question, model == RP_MODEL_NESTED ? 1 : 5);
        fail_until_it_succeeds(sweep, &question, 9);
    }
    question.model = RP_MODEL_NESTED;
    question.plain = true;
    fail_until_it_succeeds(solve, &question, 1);
    fail_until_it_succeeds(draw_curve, &question, 1);
    rp_profile_destroy(profile);
}

/* The nested model, where it has to be searched forwards. */
static void searches_for_what_is_held_later_fail_whole(void **state)
{
    struct rp_profile *profile = instance_later();
    struct rp_question question = rp_question_default(profile, instance_min_budget(profile) + 9);

    (void)state;
    fail_until_it_succeeds(write_profile, profile, 1);
    fail_until_it_succeeds(solve, &question, 1);
    fail_until_it_succeeds(draw_curve, &question, 7);
    rp_profile_destroy(profile);
}

static enum rp_status write_plan(void *context)
{
    char *text = rp_plan_to_json(context, NULL);

    free(text);
    return text != NULL ? RP_OK : RP_NO_MEMORY;
}

static enum rp_status load_plan(void *context)
{
    struct rp_plan *plan;
    char message[300];
    enum rp_status status = rp_plan_load(context, &plan, message, sizeof(message));

    assert_true((plan != NULL) == (status == RP_OK));
    rp_plan_destroy(plan);
    return forgive_parser(status, message);
}

static void plan_files_fail_whole(void **state)
{
    struct random random = random_begin("files");
    struct rp_profile *profile = walker_random(&random, 4);
    struct rp_question question = rp_question_default(profile, 1000);
    struct rp_plan *plan = instance_solve(&question);
    char path[] = "/tmp/reprise-plan-XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    fail_until_it_succeeds(write_plan, plan, 1);
    char *text = rp_plan_to_json(plan, profile);
    assert_ok(rp_document_write(path, text));
    free(text);
    fail_until_it_succeeds(load_plan, path, 1);
    unlink(path);
    rp_plan_destroy(plan);
    rp_profile_destroy(profile);
}

/* ---- comparisons -------------------------------------------------------------- */

static enum rp_status compare(void *context)
{
    struct rp_comparison *comparison;
    char message[300];
    enum rp_status status =
        rp_baseline_compare(context, 3, &comparison, message, sizeof(message));

    assert_true((comparison != NULL) == (status == RP_OK));
    rp_comparison_destroy(comparison);
    return status;
}

static void comparisons_fail_whole(void **state)
{
    struct random random = random_begin("comparisons");
    struct rp_profile *profile = walker_random(&random, 4);
    struct rp_question question = rp_question_default(profile, 0);

    (void)state;
    fail_until_it_succeeds(compare, &question, 11);
    rp_profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_fail_whole),
        cmocka_unit_test(searches_fail_whole),
        cmocka_unit_test(searches_for_what_is_held_later_fail_whole),
        cmocka_unit_test(plan_files_fail_whole),
        cmocka_unit_test(comparisons_fail_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
