/* SPDX-License-Identifier: Apache-2.0 */
/* Plan files: a plan is obeyed as it was made, and only by the job that it was made for. */
#include "planner/document.h"
#include "planner/purpose.h"
#include "tests/planner/instance.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct rp_profile *profile_for(const char *job, const char *device)
{
    uint64_t rows[2][RP_CHOICE_COUNT][3] = {{{4, 6, 10}, {3, 9, 30}, {0, 7, 40}},
                                            {{5, 6, 10}, {3, 9, 30}, {0, 7, 40}}};
    struct rp_profile *profile = instance_from_rows(0, 2, rows);
    struct rp_purpose purpose = {job, device, NULL};

    assert_ok(rp_profile_set_purpose(profile, &purpose));
    rp_profile_set_least(profile, 7);
    return profile;
}

static void save(const struct rp_plan *plan, const struct rp_profile *profile, const char *path)
{
    char *text = rp_plan_to_json(plan, profile);

    assert_non_null(text);
    assert_ok(rp_document_write(path, text));
    free(text);
}

static struct rp_plan *saved_plan(const char *path)
{
    struct rp_profile *profile = profile_for("python train.py", "NVIDIA H200");
    struct rp_question question = rp_question_default(profile, 8);
    struct rp_plan *plan = instance_solve(&question);

    save(plan, profile, path);
    rp_profile_destroy(profile);
    return plan;
}

static void temporary_path(char path[32])
{
    snprintf(path, 32, "/tmp/reprise-plan-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
}

static void a_plan_is_obeyed_as_it_was_made(void **state)
{
    char path[32], message[400];
    struct rp_plan *again;

    (void)state;
    temporary_path(path);
    struct rp_plan *plan = saved_plan(path);
    assert_ok(rp_plan_load(path, &again, message, sizeof(message)));
    assert_int_equal(again->answer, RP_ANSWER_OPTIMAL);
    assert_int_equal(again->budget, 8);
    assert_int_equal(again->peak, plan->peak);
    assert_int_equal(again->time, plan->time);
    assert_int_equal(again->min_budget, plan->min_budget);
    assert_int_equal(again->least, 7);
    assert_int_equal(again->fingerprint, plan->fingerprint);
    assert_int_equal(again->count, 2);
    for (size_t k = 0; k < 2; k++) {
        assert_string_equal(again->names[k], plan->names[k]);
        assert_int_equal(again->choices[k], plan->choices[k]);
    }
    rp_plan_destroy(again);
    rp_plan_destroy(plan);
    unlink(path);
}

/* A job's own folder may be one where others write, too. */
static void what_is_written_follows_no_link_and_is_nobody_elses(void **state)
{
    char path[32], draft[64], victim[48];
    struct stat is;

    (void)state;
    temporary_path(path);
    snprintf(draft, sizeof(draft), "%s.%ld.tmp", path, (long)getpid());
    snprintf(victim, sizeof(victim), "%s.victim", path);
    assert_int_equal(symlink(victim, draft), 0);
    rp_plan_destroy(saved_plan(path));
    assert_int_equal(access(victim, F_OK), -1);
    assert_int_equal(lstat(draft, &is), -1);
    assert_int_equal(stat(path, &is), 0);
    assert_int_equal(is.st_mode & 0777, 0600);
    unlink(path);
}

static void assert_unfit(const struct rp_plan *plan, struct rp_purpose purpose,
                         const char *const *names, size_t count, const char *expected)
{
    char message[400] = "";

    assert_int_equal(rp_plan_fits(plan, &purpose, names, count, message, sizeof(message)),
                     RP_INVALID);
    assert_string_equal(message, expected);
}

static void a_plan_is_refused_by_another_job(void **state)
{
    const char *const names[] = {"s0", "s1", "s2"}, *const others[] = {"s0", "head"};
    char path[32], message[400];
    struct rp_plan *plan;

    (void)state;
    temporary_path(path);
    rp_plan_destroy(saved_plan(path));
    assert_ok(rp_plan_load(path, &plan, message, sizeof(message)));
    const struct rp_purpose same = {"python train.py", "NVIDIA H200", "0x12"};
    assert_ok(rp_plan_fits(plan, &same, names, 2, message, sizeof(message)));
    const struct rp_purpose unknown = {NULL, NULL, NULL};
    assert_ok(rp_plan_fits(plan, &unknown, names, 2, message, sizeof(message)));
    assert_unfit(plan, (struct rp_purpose){"python eval.py", NULL, NULL}, names, 2,
                 "the plan was made for the job 'python train.py', and this is 'python eval.py'");
    assert_unfit(plan, (struct rp_purpose){NULL, "NVIDIA A100", NULL}, names, 2,
                 "the plan was made for the device 'NVIDIA H200', and this is 'NVIDIA A100'");
    free(plan->job);
    plan->job = NULL;
    assert_ok(rp_plan_fits(plan, &unknown, names, 2, message, sizeof(message)));
    assert_unfit(plan, (struct rp_purpose){"python train.py", NULL, NULL}, names, 2,
                 "the plan does not say what job it was made for; its profile, or the plan, must: "
                 "\"made_for\": {\"job\": \"COMMAND...\"}");
    assert_unfit(plan, unknown, names, 3, "the plan was made for 2 segments, and there are 3");
    assert_unfit(plan, unknown, others, 2, "the plan's segment 1 is 's1', and the job's is 'head'");
    rp_plan_destroy(plan);
    unlink(path);
}

/* Loads the plan with one member changed, and expects a refusal. */
static void assert_plan_refused(json_t *root, const char *key, json_t *value,
                                const char *reason)
{
    char path[32], message[400] = "";
    json_t *changed = json_deep_copy(root);
    struct rp_plan *plan;

    temporary_path(path);
    if (value)
        json_object_set_new(changed, key, value);
    else
        json_object_del(changed, key);
    assert_int_equal(json_dump_file(changed, path, 0), 0);
    assert_int_equal(rp_plan_load(path, &plan, message, sizeof(message)), RP_INVALID);
    assert_null(plan);
    if (strstr(message, reason) == NULL || strncmp(message, path, strlen(path)) != 0)
        fail_msg("'%s' doesn't say '%s'", message, reason);
    json_decref(changed);
    unlink(path);
}

static void a_changed_plan_is_refused(void **state)
{
    char path[32];

    (void)state;
    temporary_path(path);
    rp_plan_destroy(saved_plan(path));
    json_t *root = json_load_file(path, 0, NULL);
    assert_non_null(root);
    assert_plan_refused(root, "version", json_integer(2), "version is not known");
    assert_plan_refused(root, "format", json_string("reprise-profile"), "\"format\"");
    assert_plan_refused(root, "status", json_string("infeasible"), "no plan to obey");
    assert_plan_refused(root, "choices", json_array(), "0 choices stand here for 2 segments");
    assert_plan_refused(root, "choices", json_pack("[s, s]", "whole", "whole"),
                        "\"choices\" says something else");
    assert_plan_refused(root, "made_for", json_pack("{s:s}", "segments", "0x1"),
                        "the segments were changed");
    assert_plan_refused(root, "peak_bytes", NULL, "the plan needs \"peak_bytes\"");
    assert_plan_refused(root, "peak_bytes", json_integer(9), "is more than \"budget_bytes\"");
    assert_plan_refused(root, "time_ns", json_integer(INT64_MAX), "\"time_ns\" leaves 63 bits");
    assert_plan_refused(root, "surprise", json_true(), "unknown key \"surprise\"");
    json_decref(root);
    unlink(path);
}

/* Nobody obeys these, and people read them. */
static void what_a_plan_says_for_people_is_checked_too(void **state)
{
    char path[32];

    (void)state;
    temporary_path(path);
    rp_plan_destroy(saved_plan(path));
    json_t *root = json_load_file(path, 0, NULL);
    assert_non_null(root);
    assert_plan_refused(root, "binding", json_pack("{s:s}", "pass", "sideways"),
                        "\"pass\" can't be \"sideways\"");
    assert_plan_refused(root, "min_binding", json_object(), "a moment needs \"pass\"");
    assert_plan_refused(root, "totals", json_pack("{s:{s:i}}", "keep", "segments", 1),
                        "unknown key \"keep\"");
    assert_plan_refused(root, "totals", json_pack("{s:{s:i}}", "whole", "segments", -1),
                        "\"segments\" must not be negative");
    json_t *segment = json_array_get(json_object_get(root, "segments"), 1);
    json_object_set_new(segment, "terms", json_pack("{s:{s:i}}", "hold_bytes", "value", 1));
    assert_plan_refused(root, "labels", json_integer(1), "a figure needs \"source\"");
    json_object_del(segment, "terms");
    json_object_set_new(segment, "masked", json_pack("{s:i}", "whole", 3));
    assert_plan_refused(root, "labels", json_integer(1), "\"whole\" must be a text");
    json_object_del(segment, "masked");
    json_object_set_new(segment, "name", json_string("s0"));
    assert_plan_refused(root, "labels", json_integer(1), "another segment has this name");
    json_decref(root);
    unlink(path);
}

static void a_job_may_leave_open_what_does_not_matter(void **state)
{
    static const struct {
        const char *made_for, *job;
        bool covered;
    } rows[] = {
        {"./train --steps 6", "./train --steps 6", true},
        {"./train --steps 6", "./train --steps 60", false},
        {"./train --steps *", "./train --steps 60", true},
        {"./train * --batch 8", "./train --steps 60 --dump=x --batch 8", true},
        {"./train * --batch 8", "./train --batch 16", false},
        {"./train *--batch 8", "./train --batch 8", true},
        {"./train \"a*b\"", "./train \"a*b\"", true},
        {"./train \"a*b\"", "./train \"axb\"", false},
        {"*", "", true},
        {"", "./train", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rp_purpose_covers(rows[i].made_for, rows[i].job) != rows[i].covered)
            fail_msg("'%s' and '%s'", rows[i].made_for, rows[i].job);
}

static void an_infeasible_answer_says_what_would_do(void **state)
{
    struct rp_profile *profile = profile_for(NULL, NULL);
    struct rp_question question = rp_question_default(profile, 3);
    struct rp_plan *plan = instance_solve(&question);
    char text[100], *json = rp_plan_to_json(plan, profile);
    json_t *root = json_loads(json, 0, NULL);

    (void)state;
    assert_string_equal(rp_answer_format(plan, text, sizeof(text)),
                        "infeasible, smallest budget is 7");
    assert_string_equal(json_string_value(json_object_get(root, "status")), "infeasible");
    assert_int_equal(json_integer_value(json_object_get(root, "min_budget_bytes")), 7);
    assert_null(json_object_get(root, "choices"));
    json_t *binding = json_object_get(root, "min_binding");
    assert_string_equal(json_string_value(json_object_get(binding, "segment")), "s0");
    json_decref(root);
    free(json);
    rp_plan_destroy(plan);
    rp_profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_obeyed_as_it_was_made),
        cmocka_unit_test(what_is_written_follows_no_link_and_is_nobody_elses),
        cmocka_unit_test(a_plan_is_refused_by_another_job),
        cmocka_unit_test(a_job_may_leave_open_what_does_not_matter),
        cmocka_unit_test(a_changed_plan_is_refused),
        cmocka_unit_test(what_a_plan_says_for_people_is_checked_too),
        cmocka_unit_test(an_infeasible_answer_says_what_would_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
