/* SPDX-License-Identifier: Apache-2.0 */
/* The simpler planners: each does what it says, none beats the joint plan, and the picture
 * shows them all. */
#include "tests/planner/walker.h"

#include "planner/baseline.h"
#include "planner/grid.h"
#include "planner/duration.h"
#include "planner/picture.h"

#include <stdlib.h>
#include <string.h>

static struct rp_comparison *compare_under(enum rp_model model, const struct rp_profile *profile,
                                           size_t points, uint64_t budget)
{
    struct rp_question question = rp_question_default(profile, budget);
    struct rp_comparison *comparison;
    char message[200] = "";

    question.model = model;
    if (rp_baseline_compare(&question, points, &comparison, message, sizeof(message)) != RP_OK)
        fail_msg("%s", message);
    return comparison;
}

static struct rp_comparison *compare(const struct rp_profile *profile, size_t points,
                                     uint64_t budget)
{
    return compare_under(RP_MODEL_NESTED, profile, points, budget);
}

/* ---- what must hold ----------------------------------------------------------- */

static void check_joint_is_best(const struct rp_comparison *comparison)
{
    const struct rp_trial *joint = comparison->trials[RP_BASELINE_JOINT];
    uint64_t least = comparison->min_budget[RP_BASELINE_JOINT];

    for (int b = 0; b < RP_BASELINE_COUNT; b++) {
        /* Pages may be ahead, for one large copy may take less than many small ones. */
        bool may_be_ahead = b == RP_BASELINE_GRID;
        if (comparison->impossible[b] != NULL)
            continue;
        if (comparison->has_min_budget[b] && !may_be_ahead)
            assert_true(least <= comparison->min_budget[b]);
        for (size_t i = 0; i < comparison->count; i++) {
            const struct rp_trial *trial = &comparison->trials[b][i];
            if (comparison->has_min_budget[b])
                assert_int_equal(trial->fits,
                                 comparison->budgets[i] >= comparison->min_budget[b]);
            if (!trial->fits)
                continue;
            assert_true(trial->peak <= comparison->budgets[i]);
            assert_true(may_be_ahead || (joint[i].fits && joint[i].time <= trial->time));
        }
    }
}

/* A profile that the model has what it needs of. */
static struct rp_profile *random_profile(struct random *random, enum rp_model model, size_t most)
{
    size_t count = 1 + random_below(random, (uint32_t)most);

    if (model == RP_MODEL_NESTED && random_below(random, 2) == 0)
        return instance_random(random, count);
    return walker_random(random, count);
}

static void the_joint_plan_is_never_behind(void **state)
{
    struct random random = random_begin("joint");
    size_t ahead = 0;

    (void)state;
    for (int round = 0; round < 30; round++) {
        enum rp_model model = (enum rp_model)(round % 3);
        struct rp_profile *profile = random_profile(&random, model, 10);
        struct rp_comparison *comparison = compare_under(model, profile, 9, 0);
        check_joint_is_best(comparison);
        for (int b = RP_BASELINE_OR_WHOLE; b <= RP_BASELINE_OR_REGIONS; b++) {
            struct rp_lag lag = rp_comparison_lag(comparison, (enum rp_baseline)b);
            ahead += lag.lost > 0 || lag.largest > 0;
        }
        rp_comparison_destroy(comparison);
        rp_profile_destroy(profile);
    }
    assert_true(ahead > 0);
}

/* ---- what each does ----------------------------------------------------------- */

static void check_trial(const struct rp_trial *trial, const struct rp_curve_point *points,
                        size_t count, uint64_t budget)
{
    const struct rp_curve_point *best = NULL;

    for (size_t i = 0; i < count && points[i].peak <= budget; i++)
        best = &points[i];
    assert_int_equal(trial->fits, best != NULL);
    if (best != NULL)
        assert_int_equal(trial->time, best->time);
}

static bool replays_all(const struct rp_profile *profile)
{
    for (size_t k = 0; k < rp_profile_count(profile); k++)
        if (!rp_profile_segment(profile, k)->costs[RP_CHOICE_WHOLE].allowed)
            return false;
    return true;
}

static void restricted_planners_find_their_optimum(void **state)
{
    static const unsigned allowed[RP_BASELINE_COUNT] = {
        [RP_BASELINE_EAGER] = RP_CHOICE_BIT(RP_CHOICE_RETAIN),
        [RP_BASELINE_WHOLE] = RP_CHOICE_BIT(RP_CHOICE_WHOLE),
        [RP_BASELINE_OR_WHOLE] = RP_CHOICE_BIT(RP_CHOICE_RETAIN) | RP_CHOICE_BIT(RP_CHOICE_WHOLE),
        [RP_BASELINE_OR_REGIONS] =
            RP_CHOICE_BIT(RP_CHOICE_RETAIN) | RP_CHOICE_BIT(RP_CHOICE_REGIONS),
        [RP_BASELINE_JOINT] = RP_CHOICE_ALL,
    };
    struct random random = random_begin("restricted");

    (void)state;
    for (int round = 0; round < 30; round++) {
        enum rp_model model = (enum rp_model)(round % 3);
        struct rp_profile *profile = random_profile(&random, model, 6);
        struct rp_comparison *comparison = compare_under(model, profile, 7, 0);
        for (int b = 0; b < RP_BASELINE_COUNT; b++) {
            struct rp_curve_point *points;
            if (allowed[b] == 0 || comparison->impossible[b] != NULL)
                continue;
            if (b == RP_BASELINE_WHOLE && !replays_all(profile))
                continue; /* some can't be replayed: not what is enumerated here */
            size_t count = instance_enumerate(profile, model, allowed[b], &points);
            assert_int_equal(comparison->min_budget[b], points[0].peak);
            for (size_t i = 0; i < comparison->count; i++)
                check_trial(&comparison->trials[b][i], points, count, comparison->budgets[i]);
            free(points);
        }
        rp_comparison_destroy(comparison);
        rp_profile_destroy(profile);
    }
}

/* Three equal segments; preserving regions is dear and small, whole cheap and large. */
static struct rp_profile *three_segments(void)
{
    uint64_t rows[3][RP_CHOICE_COUNT][3];

    for (size_t k = 0; k < 3; k++)
        memcpy(rows[k], (uint64_t[3][3]){{10, 12, 100}, {6, 20, 150}, {0, 14, 190}},
               sizeof(rows[k]));
    return instance_from_rows(0, 3, rows);
}

static void fixed_replays_by_rule_and_preserves_as_it_likes(void **state)
{
    struct rp_profile *profile = three_segments();
    struct rp_comparison *comparison = compare(profile, 2, 32);
    const struct rp_trial *fixed = comparison->trials[RP_BASELINE_FIXED];

    (void)state;
    assert_int_equal(comparison->count, 2); /* 14 and 32, which is also the eager peak */
    assert_int_equal(comparison->budgets[0], 14);
    assert_int_equal(comparison->budgets[1], 32);
    /* Only regions leave enough of 14 for those after them; the last has none after it. */
    assert_true(fixed[0].fits);
    assert_int_equal(fixed[0].every, 3);
    assert_int_equal(fixed[0].time, 190 + 190 + 100);
    /* Of the rules "none", "each 2nd" and "each 3rd" the best retains one segment and
     * preserves whole buffers in the others: 6 + 6 + 12 fit, 6 + 10 + 20 don't. */
    assert_true(fixed[1].fits);
    assert_int_equal(fixed[1].every, 3);
    assert_int_equal(fixed[1].time, 150 + 150 + 100);
    assert_int_equal(comparison->min_budget[RP_BASELINE_FIXED], 14);
    rp_comparison_destroy(comparison);
    rp_profile_destroy(profile);
}

static struct rp_measure measured(uint64_t value)
{
    return (struct rp_measure){value, RP_SOURCE_MEASURED};
}

/* Each segment reads a queue of 40 bytes that it also changes, and computes 50 bytes. */
static struct rp_profile *stateful_segments(size_t count)
{
    const struct rp_buffer_range queue = {0, 0, 40};
    const struct rp_copy_price price = {measured(0), measured(1000)};
    struct rp_facts facts = {
        .forward_time = measured(100), .backward_time = measured(200),
        .replay_time = measured(100),  .tracking_time = measured(0),
        .activation = measured(50),    .forward_workspace = measured(0),
        .backward_workspace = measured(0), .forward_base = measured(0),
        .backward_base = measured(0),  .reads = &queue,
        .writes = &queue,              .read_count = 1,
        .write_count = 1};
    struct rp_profile *profile;
    char name[24], message[200];

    assert_ok(rp_profile_create(&profile));
    rp_profile_set_copy_price(profile, &price);
    assert_ok(rp_profile_add_buffer(profile, "queue", 40));
    for (size_t k = 0; k < count; k++) {
        snprintf(name, sizeof(name), "s%zu", k);
        assert_ok(rp_profile_add_facts(profile, name, &facts));
    }
    assert_ok(rp_profile_close(profile, message, sizeof(message)));
    return profile;
}

/* Of four segments within 180 bytes, one replay would be enough if it held nothing: 150 bytes
 * are left. But it holds 40, so two are needed, and the first two at that: 40 + 40 + 100. Each
 * costs 100 for the replay and four copies of 40. */
static void the_oblivious_planner_breaks_its_budget_and_is_repaired(void **state)
{
    struct rp_profile *profile = stateful_segments(4);
    struct rp_comparison *comparison = compare(profile, 2, 180);
    size_t at = 0;

    (void)state;
    while (comparison->budgets[at] != 180)
        at++;
    const struct rp_trial *oblivious = &comparison->trials[RP_BASELINE_OBLIVIOUS][at];
    const struct rp_trial *joint = &comparison->trials[RP_BASELINE_JOINT][at];
    assert_true(joint->fits);
    assert_int_equal(joint->time, 4 * 300 + 2 * (100 + 4 * 40));
    assert_true(oblivious->overrun >= 10);
    assert_true(oblivious->fits);
    assert_true(oblivious->peak <= 180);
    assert_true(oblivious->time >= joint->time);
    rp_comparison_destroy(comparison);
    rp_profile_destroy(profile);
}

static void what_cannot_be_had_says_why(void **state)
{
    uint64_t rows[1][RP_CHOICE_COUNT][3] = {{{0, 0, UINT64_MAX}, {2, 4, 9}, {1, 3, 12}}};
    struct rp_profile *profile = instance_from_rows(0, 1, rows);
    struct rp_comparison *comparison = compare(profile, 3, 0);

    (void)state;
    assert_string_equal(comparison->impossible[RP_BASELINE_EAGER],
                        "a segment has none of its options");
    assert_non_null(strstr(comparison->impossible[RP_BASELINE_OBLIVIOUS], "terms"));
    assert_null(comparison->impossible[RP_BASELINE_WHOLE]);
    assert_false(comparison->has_min_budget[RP_BASELINE_EAGER]);
    rp_comparison_destroy(comparison);
    rp_profile_destroy(profile);
}

/* ---- pages -------------------------------------------------------------------- */

#define STATED(figure) {figure, RP_SOURCE_STATED}

/* One segment that reads a MiB of state and steps 16 bytes of it, in the middle of a page. */
static struct rp_profile *sparse_segment(void)
{
    static const struct rp_buffer_range reads = {0, 0, 1 << 20}, writes = {0, 100000, 100016};
    const struct rp_facts facts = {.forward_time = STATED(1000), .backward_time = STATED(2000),
                                   .replay_time = STATED(1000), .tracking_time = STATED(0),
                                   .activation = STATED(1 << 24),
                                   .forward_workspace = STATED(0),
                                   .backward_workspace = STATED(0),
                                   .forward_base = STATED(0), .backward_base = STATED(0),
                                   .reads = &reads, .read_count = 1,
                                   .writes = &writes, .write_count = 1};
    const struct rp_copy_price price = {STATED(0), STATED(1000)};
    struct rp_profile *profile;
    char message[200];

    assert_int_equal(rp_profile_create(&profile), RP_OK);
    rp_profile_set_copy_price(profile, &price);
    assert_int_equal(rp_profile_add_buffer(profile, "state", 1 << 20), RP_OK);
    assert_int_equal(rp_profile_add_facts(profile, "s", &facts), RP_OK);
    assert_int_equal(rp_profile_close(profile, message, sizeof(message)), RP_OK);
    return profile;
}

/* At its peak a replay has the activation and the stash: the clobbered bytes, or their page. */
static void pages_lie_between_ranges_and_whole_buffers(void **state)
{
    struct rp_profile *profile = sparse_segment(), *grid;
    struct rp_comparison *comparison = compare(profile, 3, 0);
    uint64_t activation = 1 << 24;

    (void)state;
    assert_null(comparison->impossible[RP_BASELINE_GRID]);
    assert_int_equal(comparison->min_budget[RP_BASELINE_GRID], activation);
    rp_comparison_destroy(comparison);

    struct rp_question question = rp_question_default(profile, 1 << 30);
    question.allowed = RP_CHOICE_BIT(RP_CHOICE_REGIONS);
    struct rp_plan *plan = instance_solve(&question);
    assert_int_equal(plan->peak, activation + 16);
    rp_plan_destroy(plan);
    assert_int_equal(rp_grid_create(profile, RP_GRID_BYTES, &grid), RP_OK);
    question.profile = grid;
    plan = instance_solve(&question);
    assert_int_equal(plan->peak, activation + RP_GRID_BYTES);
    rp_plan_destroy(plan);
    rp_profile_destroy(grid);
    rp_profile_destroy(profile);
}

/* ---- the picture -------------------------------------------------------------- */

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;

    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what))
        count++;
    return count;
}

/* Every tag closes itself or is closed by its own name. */
static void assert_well_formed(const char *text)
{
    const char *open[8], *at = text;
    size_t depth = 0, lengths[8];

    while ((at = strchr(at, '<')) != NULL) {
        const char *end = strchr(at, '>');
        assert_non_null(end);
        size_t length = strcspn(at + 1, " >/");
        if (at[1] == '/') {
            assert_true(depth-- > 0);
            assert_int_equal(strncmp(at + 2, open[depth], lengths[depth]), 0);
        } else if (at[1] != '?' && end[-1] != '/') {
            assert_true(depth < 8);
            open[depth] = at + 1;
            lengths[depth++] = length;
        }
        at = end;
    }
    assert_int_equal(depth, 0);
}

static void the_picture_shows_every_planner_and_the_step(void **state)
{
    struct rp_profile *profile = stateful_segments(5);
    struct rp_comparison *comparison = compare(profile, 6, 0);
    struct rp_question question =
        rp_question_default(profile, comparison->budgets[comparison->knee]);
    struct rp_plan *plan = instance_solve(&question);
    char *picture = rp_picture_draw(comparison, profile, plan);

    (void)state;
    assert_non_null(picture);
    assert_well_formed(picture);
    int possible = 0;
    for (int b = 0; b < RP_BASELINE_COUNT; b++)
        possible += comparison->impossible[b] == NULL;
    assert_true(possible >= RP_BASELINE_COUNT - 1);
    assert_int_equal(count_of(picture, "class='curve'"), possible);
    for (int b = 0; b < RP_BASELINE_COUNT; b++)
        assert_non_null(strstr(picture, rp_baseline_name((enum rp_baseline)b)));
    assert_int_equal(count_of(picture, "class='held'"), 1);
    assert_int_equal(count_of(picture, "http"), 1); /* the name of the format, and nothing else */
    assert_null(strstr(picture, "nan"));
    free(picture);
    picture = rp_picture_draw(comparison, profile, NULL);
    assert_int_equal(count_of(picture, "class='held'"), 0);
    free(picture);
    rp_plan_destroy(plan);
    rp_comparison_destroy(comparison);
    rp_profile_destroy(profile);
}

static void durations_read_well(void **state)
{
    char text[RP_DURATION_TEXT];

    (void)state;
    assert_string_equal(rp_duration_format(text, 0), "0 ns");
    assert_string_equal(rp_duration_format(text, 999), "999 ns");
    assert_string_equal(rp_duration_format(text, 1000), "1.000 us");
    assert_string_equal(rp_duration_format(text, 1234567), "1.234 ms");
    assert_string_equal(rp_duration_format(text, 5000000001), "5.000 s");
    assert_string_equal(rp_duration_format(text, INT64_MAX), "9223372036.854 s");
}

static void the_knee_is_the_point_farthest_from_the_line(void **state)
{
    const struct rp_curve_point points[] = {{0, 100}, {10, 40}, {20, 30}, {100, 0}};
    const struct rp_curve_point huge[] = {
        {0, INT64_MAX}, {INT64_MAX / 4, INT64_MAX / 8}, {INT64_MAX, 0}};

    (void)state;
    assert_int_equal(rp_curve_knee(points, 4), 1);
    assert_int_equal(rp_curve_knee(points, 1), 0);
    assert_int_equal(rp_curve_knee(points, 0), 0);
    assert_int_equal(rp_curve_knee(huge, 3), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_joint_plan_is_never_behind),
        cmocka_unit_test(restricted_planners_find_their_optimum),
        cmocka_unit_test(fixed_replays_by_rule_and_preserves_as_it_likes),
        cmocka_unit_test(the_oblivious_planner_breaks_its_budget_and_is_repaired),
        cmocka_unit_test(what_cannot_be_had_says_why),
        cmocka_unit_test(pages_lie_between_ranges_and_whole_buffers),
        cmocka_unit_test(the_picture_shows_every_planner_and_the_step),
        cmocka_unit_test(durations_read_well),
        cmocka_unit_test(the_knee_is_the_point_farthest_from_the_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
