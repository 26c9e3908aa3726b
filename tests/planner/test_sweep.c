/* SPDX-License-Identifier: Apache-2.0 */
/* Many budgets on many threads: side by side, and the answers of one. */
#include "tests/planner/walker.h"

#include "planner/parallel.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static void a_sweep_answers_as_single_questions_do(void **state)
{
    struct random random = random_begin("sweep");
    struct rp_profile *profile = instance_realistic(&random, 40);
    uint64_t budgets[17], least = instance_min_budget(profile);
    uint64_t most = instance_eager_peak(profile);
    struct rp_question question = rp_question_default(profile, 0);
    struct rp_plan *plans[17], *again[17];
    char message[200];

    (void)state;
    for (size_t i = 0; i < 17; i++)
        budgets[i] = least - 1 + (most - least) / 15 * i;
    assert_ok(rp_planner_sweep(&question, budgets, 17, plans, message, sizeof(message)));
    assert_ok(rp_planner_sweep(&question, budgets, 17, again, message, sizeof(message)));
    for (size_t i = 0; i < 17; i++) {
        question.budget = budgets[i];
        struct rp_plan *single = instance_solve(&question);
        assert_int_equal(plans[i]->answer, single->answer);
        assert_int_equal(plans[i]->time, single->time);
        assert_int_equal(plans[i]->peak, single->peak);
        for (size_t k = 0; single->choices != NULL && k < 40; k++) {
            assert_int_equal(plans[i]->choices[k], single->choices[k]);
            assert_int_equal(again[i]->choices[k], single->choices[k]);
        }
        rp_plan_destroy(single);
        rp_plan_destroy(plans[i]);
        rp_plan_destroy(again[i]);
    }
    assert_int_equal(budgets[0] + 1, least);
    rp_profile_destroy(profile);
}

/* Each waits until the other has begun, or for so long that it can't be by chance. */
struct meeting {
    atomic_int begun;
    atomic_bool met;
};

static enum rp_status meet(void *context, size_t index, char *message, size_t message_size)
{
    struct meeting *meeting = context;

    (void)index, (void)message, (void)message_size;
    atomic_fetch_add(&meeting->begun, 1);
    for (int i = 0; i < 20000 && atomic_load(&meeting->begun) < 2; i++)
        usleep(1000);
    if (atomic_load(&meeting->begun) == 2)
        atomic_store(&meeting->met, true);
    return RP_OK;
}

static void tasks_run_side_by_side(void **state)
{
    struct meeting meeting = {0};
    char message[200];
    cpu_set_t set;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    if (CPU_COUNT(&set) < 2)
        skip();
    assert_ok(rp_parallel_run(meet, &meeting, 2, NULL, message, sizeof(message)));
    assert_true(meeting.met);
}

/* All that is known of the plans for many budgets, and the curve of another model. */
static char *answers(const struct rp_profile *profile, const uint64_t budgets[17],
                     const struct rp_profile *facts)
{
    struct rp_question question = rp_question_default(profile, 0);
    struct rp_plan *plans[17];
    struct rp_curve *curve;
    char message[200], *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    assert_ok(rp_planner_sweep(&question, budgets, 17, plans, message, sizeof(message)));
    for (size_t i = 0; i < 17; i++) {
        char *json = rp_plan_to_json(plans[i], profile);
        fprintf(file, "%s\n", json);
        free(json);
        rp_plan_destroy(plans[i]);
    }
    question.profile = facts;
    question.model = RP_MODEL_LAZY;
    assert_ok(rp_planner_curve(&question, &curve, message, sizeof(message)));
    for (size_t i = 0; i < curve->count; i++)
        fprintf(file, "%llu %llu\n", (unsigned long long)curve->points[i].peak,
                (unsigned long long)curve->points[i].time);
    fprintf(file, "%llu labels\n", (unsigned long long)curve->labels);
    rp_curve_destroy(curve);
    fclose(file);
    return text;
}

static void one_processor_gives_the_same_bytes(void **state)
{
    struct random random = random_begin("bytes");
    struct rp_profile *profile = instance_realistic(&random, 60);
    struct rp_profile *facts = walker_random(&random, 8);
    uint64_t budgets[17], least = instance_min_budget(profile);
    uint64_t most = instance_eager_peak(profile);
    cpu_set_t all, one;

    (void)state;
    for (size_t i = 0; i < 17; i++)
        budgets[i] = least - 1 + (most - least) / 15 * i;
    char *side_by_side = answers(profile, budgets, facts);
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    char *serial = answers(profile, budgets, facts);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    assert_string_equal(side_by_side, serial);
    free(side_by_side);
    free(serial);
    rp_profile_destroy(profile);
    rp_profile_destroy(facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sweep_answers_as_single_questions_do),
        cmocka_unit_test(tasks_run_side_by_side),
        cmocka_unit_test(one_processor_gives_the_same_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
