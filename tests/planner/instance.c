/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/planner/instance.h"

#include <stdlib.h>
#include <string.h>

struct rp_profile *instance_from_rows(uint64_t base, size_t count,
                                      uint64_t (*rows)[RP_CHOICE_COUNT][3])
{
    struct rp_profile *profile;
    char name[24], message[200];

    assert_ok(rp_profile_create(&profile));
    rp_profile_set_base(profile, base);
    for (size_t k = 0; k < count; k++) {
        struct rp_cost costs[RP_CHOICE_COUNT] = {{.allowed = false}};
        for (int c = 0; c < RP_CHOICE_COUNT; c++)
            costs[c] = (struct rp_cost){.allowed = rows[k][c][2] != UINT64_MAX,
                                        .hold = rows[k][c][0],
                                        .peak = rows[k][c][1],
                                        .time = rows[k][c][2]};
        snprintf(name, sizeof(name), "s%zu", k);
        assert_ok(rp_profile_add_row(profile, name, costs));
    }
    assert_ok(rp_profile_close(profile, message, sizeof(message)));
    return profile;
}

json_t *instance_load(const char *file)
{
    char path[512];
    json_error_t error;

    snprintf(path, sizeof(path), "%s/%s", RP_TEST_DATA, file);
    json_t *root = json_load_file(path, 0, &error);
    if (root == NULL)
        fail_msg("%s: %s", path, error.text);
    return root;
}

struct rp_profile *instance_from_golden(json_t *instance)
{
    uint64_t rows[12][RP_CHOICE_COUNT][3];
    json_t *all = json_object_get(instance, "rows");
    size_t count = json_array_size(all);

    assert_in_range(count, 1, 12);
    for (size_t k = 0; k < count; k++)
        for (size_t c = 0; c < RP_CHOICE_COUNT; c++)
            for (size_t i = 0; i < 3; i++) {
                json_t *row = json_array_get(json_array_get(all, k), c);
                rows[k][c][i] = (uint64_t)json_integer_value(json_array_get(row, i));
            }
    return instance_from_rows((uint64_t)json_integer_value(json_object_get(instance, "base")),
                              count, rows);
}

struct rp_plan *instance_solve(const struct rp_question *question)
{
    struct rp_plan *plan;
    char message[400] = "";
    uint64_t peak, time;
    struct rp_moment binding;

    if (rp_planner_solve(question, &plan, message, sizeof(message)) != RP_OK)
        fail_msg("refused: %s", message);
    if (!rp_plan_has_choices(plan))
        return plan;
    assert_ok(rp_planner_walk(question->profile, question->model, plan->choices, &peak, &time,
                              &binding, NULL));
    assert_int_equal(peak, plan->peak);
    assert_int_equal(time, plan->time);
    assert_int_equal(binding.segment, plan->binding.segment);
    assert_int_equal(binding.pass, plan->binding.pass);
    assert_true(peak <= question->budget);
    for (size_t k = 0; k < plan->count; k++)
        assert_true(question->allowed & RP_CHOICE_BIT(plan->choices[k]));
    return plan;
}

/* ---- random ------------------------------------------------------------------- */

static void random_row(struct random *random, uint64_t scale, uint64_t row[RP_CHOICE_COUNT][3])
{
    uint64_t activation = 1 + random_below(random, 20 * scale);
    uint64_t work = random_below(random, 8 * scale), peak = activation + work;
    uint64_t time = 5 + random_below(random, 60 * scale);
    uint64_t whole = random_below(random, 25 * scale);
    uint64_t part = whole > 0 ? random_below(random, whole + 1) : 0;
    uint64_t once = time / 2 + random_below(random, 20 * scale);
    uint64_t fixed = random_below(random, 2) ? random_below(random, 60 * scale) : 0;
    uint64_t figures[RP_CHOICE_COUNT][3] = {
        {activation, peak, time},
        {whole, 2 * whole > whole + peak ? 2 * whole : whole + peak, time + once + 2 * whole},
        {part, part + peak + random_below(random, 6 * scale), time + once + 2 * part + fixed}};

    memcpy(row, figures, sizeof(figures));
}

struct rp_profile *instance_random_sized(struct random *random, size_t count, uint64_t scale)
{
    uint64_t (*rows)[RP_CHOICE_COUNT][3] = calloc(count + 1, sizeof(*rows));

    for (size_t k = 0; k < count; k++)
        random_row(random, scale, rows[k]);
    struct rp_profile *profile = instance_from_rows(random_below(random, 6), count, rows);
    free(rows);
    return profile;
}

struct rp_profile *instance_random(struct random *random, size_t count)
{
    return instance_random_sized(random, count, 1);
}

#define TERM(name, value) "\"" name "\": {\"value\": " #value ", \"source\": \"stated\"}"
#define REGIONS(later)                                                                           \
    "\"regions\": {\"terms\": {" TERM("hold_bytes", 9) ", " TERM("stash_bytes", 3) ", "            \
    TERM("peak_forward_bytes", 20) ", " TERM("peak_backward_bytes", 30) ", "                     \
    TERM("forward_ns", 10) ", " TERM("backward_ns", 20) ", " TERM("preserve_ns", 1) ", "         \
    TERM("stash_ns", 1) ", " TERM("restore_ns", 1) ", " TERM("replay_ns", 10) ", "               \
    TERM("reinstate_ns", 1) ", " TERM("tracking_ns", 0) "}" later "}"
#define RETAIN "\"retain\": {\"hold_bytes\": 18, \"peak_bytes\": 25, \"time_ns\": 30}"

const char instance_later_text[] =
    "{\"version\": 1, \"base_bytes\": 5, \"segments\": [\n"
    "{\"name\": \"s0\", \"options\": {" RETAIN ", " REGIONS(", \"later\": ["
    "{\"pass\": \"forward\", \"segment\": 1, \"bytes\": 2}, "
    "{\"pass\": \"backward\", \"segment\": 1, \"bytes\": 6}]") "}},\n"
    "{\"name\": \"s1\", \"options\": {" RETAIN ", " REGIONS(", \"later\": ["
    "{\"pass\": \"backward\", \"segment\": 2, \"bytes\": 9}]") "}},\n"
    "{\"name\": \"s2\", \"options\": {" RETAIN ", " REGIONS("") "}}]}";

struct rp_profile *instance_later(void)
{
    struct rp_profile *profile;
    char message[300] = "";

    if (rp_profile_parse(instance_later_text, strlen(instance_later_text), "later", &profile,
                         message, sizeof(message)) != RP_OK)
        fail_msg("%s", message);
    return profile;
}

struct rp_profile *instance_layers(struct random *random, size_t count)
{
    uint64_t (*rows)[RP_CHOICE_COUNT][3] = calloc(count + 1, sizeof(*rows));
    size_t kinds = 2 + random_below(random, 3);

    for (size_t k = 0; k < count; k++) {
        if (k < kinds)
            random_row(random, 50, rows[k]);
        else
            memcpy(rows[k], rows[k % kinds], sizeof(rows[k]));
    }
    struct rp_profile *profile = instance_from_rows(0, count, rows);
    free(rows);
    return profile;
}

struct rp_profile *instance_realistic(struct random *random, size_t count)
{
    uint64_t (*rows)[RP_CHOICE_COUNT][3] = calloc(count + 1, sizeof(*rows));
    const uint64_t unit = 512, mib = 1 << 20;

    for (size_t k = 0; k < count; k++) {
        uint64_t a = (8 * mib + random_below(random, 504 * mib)) / unit * unit;
        uint64_t work = random_below(random, 64 * mib) / unit * unit;
        uint64_t whole = random_below(random, a / 2) / unit * unit;
        uint64_t part = random_below(random, whole + 1) / unit * unit;
        uint64_t once = 100000 + random_below(random, 10000000);
        memcpy(rows[k],
               (uint64_t[3][3]){{a, a + work, 3 * once},
                                {whole, 2 * whole + a + work, 4 * once + whole / 500 + 20000},
                                {part, 2 * part + a + work, 4 * once + part / 400 + 60000}},
               sizeof(rows[k]));
    }
    struct rp_profile *profile = instance_from_rows(random_below(random, 1 << 30), count, rows);
    free(rows);
    return profile;
}

uint64_t instance_min_budget(const struct rp_profile *profile)
{
    struct rp_question question = rp_question_default(profile, 0);
    uint64_t bytes;
    char message[200];

    assert_ok(rp_planner_min_budget(&question, &bytes, NULL, message, sizeof(message)));
    return bytes;
}

uint64_t instance_eager_peak(const struct rp_profile *profile)
{
    enum rp_choice *retain = calloc(rp_profile_count(profile) + 1, sizeof(*retain));
    uint64_t peak, time;

    assert_ok(rp_planner_walk(profile, RP_MODEL_NESTED, retain, &peak, &time, NULL, NULL));
    free(retain);
    return peak;
}

/* ---- enumeration -------------------------------------------------------------- */

static int compare_points(const void *a, const void *b)
{
    const struct rp_curve_point *x = a, *y = b;

    if (x->peak != y->peak)
        return x->peak < y->peak ? -1 : 1;
    return (x->time > y->time) - (x->time < y->time);
}

bool instance_next_plan(enum rp_choice *choices, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        if (choices[k] + 1 < RP_CHOICE_COUNT) {
            choices[k]++;
            return true;
        }
        choices[k] = RP_CHOICE_RETAIN;
    }
    return false;
}

size_t instance_enumerate(const struct rp_profile *profile, enum rp_model model,
                          unsigned allowed, struct rp_curve_point **points)
{
    size_t count = rp_profile_count(profile), total = 1, found = 0, kept = 0;
    enum rp_choice choices[12] = {RP_CHOICE_RETAIN};

    assert_in_range(count, 0, 12);
    for (size_t k = 0; k < count; k++)
        total *= RP_CHOICE_COUNT;
    struct rp_curve_point *all = calloc(total, sizeof(*all));
    do {
        bool is_allowed = true;
        for (size_t k = 0; k < count; k++)
            is_allowed &= (allowed & RP_CHOICE_BIT(choices[k])) != 0;
        if (is_allowed && rp_planner_walk(profile, model, choices, &all[found].peak,
                                          &all[found].time, NULL, NULL) == RP_OK)
            found++;
    } while (instance_next_plan(choices, count));
    qsort(all, found, sizeof(*all), compare_points);
    for (size_t i = 0; i < found; i++)
        if (kept == 0 || all[i].time < all[kept - 1].time)
            all[kept++] = all[i];
    *points = all;
    return kept;
}

/* ---- rows beside facts ----------------------------------------------------------- */

static void add_measured(const struct rp_profile *facts, size_t k, struct random *random,
                         struct rp_profile *both)
{
    const struct rp_segment *segment = rp_profile_segment(facts, k);
    struct rp_cost costs[RP_CHOICE_COUNT];

    memcpy(costs, segment->costs, sizeof(costs));
    for (int c = 0; c < RP_CHOICE_COUNT && random != NULL; c++)
        for (int t = 0; t < RP_TERM_COUNT; t++) {
            bool is_hold = t == RP_TERM_HOLD; /* never more than the peaks */
            costs[c].terms[t].value += is_hold ? 0 : random_below(random, 4);
        }
    assert_ok(rp_profile_add_both(both, segment->name, costs, rp_profile_facts(facts, k)));
}

struct rp_profile *instance_with_rows(const struct rp_profile *facts, struct random *random)
{
    size_t buffer_count;
    const struct rp_buffer *buffers = rp_profile_buffers(facts, &buffer_count);
    struct rp_profile *both;
    char message[200] = "";

    assert_ok(rp_profile_create(&both));
    rp_profile_set_base(both, rp_profile_base(facts));
    rp_profile_set_quantum(both, rp_profile_quantum(facts));
    rp_profile_set_copy_price(both, rp_profile_copy_price(facts));
    for (size_t b = 0; b < buffer_count; b++)
        assert_ok(rp_profile_add_buffer(both, buffers[b].name, buffers[b].bytes));
    for (size_t k = 0; k < rp_profile_count(facts); k++)
        add_measured(facts, k, random, both);
    if (rp_profile_close(both, message, sizeof(message)) != RP_OK)
        fail_msg("%s", message);
    return both;
}

/* ---- against enumeration ------------------------------------------------------ */

const struct rp_curve_point *instance_best_within(const struct rp_curve_point *points, size_t count,
                                                  uint64_t budget)
{
    const struct rp_curve_point *best = NULL;

    for (size_t i = 0; i < count && points[i].peak <= budget; i++)
        best = &points[i];
    return best;
}

void instance_check_budget(const struct rp_question *question, const struct rp_curve_point *points,
                           size_t count)
{
    const struct rp_curve_point *best = instance_best_within(points, count, question->budget);
    struct rp_plan *plan = instance_solve(question);

    assert_true(plan->has_min_budget);
    assert_int_equal(plan->min_budget, points[0].peak);
    if (best == NULL) {
        assert_int_equal(plan->answer, RP_ANSWER_INFEASIBLE);
    } else {
        assert_int_equal(plan->answer, RP_ANSWER_OPTIMAL);
        assert_int_equal(plan->time, best->time);
        assert_int_equal(plan->peak, best->peak);
    }
    rp_plan_destroy(plan);
}

void instance_check_curve(const struct rp_question *question, const struct rp_curve_point *points,
                          size_t count)
{
    struct rp_curve *curve;
    char message[200] = "";

    if (rp_planner_curve(question, &curve, message, sizeof(message)) != RP_OK)
        fail_msg("%s", message);
    assert_false(curve->truncated);
    assert_int_equal(curve->gap, 0);
    assert_int_equal(curve->count, count);
    assert_memory_equal(curve->points, points, count * sizeof(*points));
    rp_curve_destroy(curve);
}
