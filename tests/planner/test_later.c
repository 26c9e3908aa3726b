/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of which a part is held later than from the forward on: walked by hand event by event,
 * searched against trying every plan, and held against the lazy model, whose own walker executes
 * plans with values. */
#include "tests/planner/walker.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 6, EVENTS = 2 * MOST };

/* ---- random rows -------------------------------------------------------------- */

static void set_term(struct rp_cost *cost, enum rp_term term, uint64_t value)
{
    cost->terms[term] = (struct rp_measure){value, RP_SOURCE_STATED};
}

/* Divides some of what is held among events after the forward of k and before its backward. */
static void random_later(struct random *random, size_t k, size_t count, struct rp_cost *cost,
                         struct rp_later *later)
{
    uint64_t rest = cost->terms[RP_TERM_HOLD].value;

    cost->later = later;
    for (size_t event = k + 1; event < 2 * count - 1 - k; event++) {
        bool backward = event >= count;
        if (random_below(random, 3) > 0)
            continue;
        uint64_t bytes = random_below(random, rest + 1);
        later[cost->later_count++] = (struct rp_later){
            backward, (uint32_t)(backward ? 2 * count - 1 - event : event), bytes};
        rest -= bytes;
    }
    uint64_t forward = rest + random_below(random, 30), hold = cost->terms[RP_TERM_HOLD].value;
    set_term(cost, RP_TERM_PEAK_FORWARD, forward);
    set_term(cost, RP_TERM_PEAK_BACKWARD, hold + random_below(random, 30));
}

static void random_cost(struct random *random, size_t k, size_t count, enum rp_choice choice,
                        struct rp_cost *cost, struct rp_later *later)
{
    *cost = (struct rp_cost){.allowed = true, .has_terms = true};
    for (int t = 0; t < RP_TERM_COUNT; t++)
        set_term(cost, (enum rp_term)t, 0);
    set_term(cost, RP_TERM_HOLD, random_below(random, choice == RP_CHOICE_RETAIN ? 40 : 25));
    set_term(cost, RP_TERM_FORWARD_TIME, 1 + random_below(random, 60));
    set_term(cost, RP_TERM_REPLAY_TIME,
             choice == RP_CHOICE_RETAIN ? 0 : 20 + random_below(random, 60));
    random_later(random, k, count, cost, later);
}

static struct rp_profile *random_rows(struct random *random, size_t count)
{
    struct rp_profile *profile;
    char name[24], message[200] = "";

    assert_ok(rp_profile_create(&profile));
    rp_profile_set_base(profile, random_below(random, 10));
    for (size_t k = 0; k < count; k++) {
        struct rp_cost costs[RP_CHOICE_COUNT];
        struct rp_later later[RP_CHOICE_COUNT][EVENTS];
        for (int c = 0; c < RP_CHOICE_COUNT; c++)
            random_cost(random, k, count, (enum rp_choice)c, &costs[c], later[c]);
        snprintf(name, sizeof(name), "s%zu", k);
        assert_ok(rp_profile_add_row(profile, name, costs));
    }
    if (rp_profile_close(profile, message, sizeof(message)) != RP_OK)
        fail_msg("%s", message);
    return profile;
}

/* ---- walking ------------------------------------------------------------------ */

static uint64_t held_by(const struct rp_cost *cost, size_t k, size_t count, size_t event)
{
    uint64_t held = cost->hold;

    if (event <= k || event >= 2 * count - 1 - k)
        return 0;
    for (size_t i = 0; i < cost->later_count; i++)
        if (rp_later_event(&cost->later[i], count) > event)
            held -= cost->later[i].bytes;
    return held;
}

/* The most at any event; the time is a sum. */
static struct rp_curve_point walk(const struct rp_profile *profile, const enum rp_choice *choices)
{
    size_t count = rp_profile_count(profile);
    uint64_t base = rp_profile_base(profile);
    struct rp_curve_point point = {base, 0};

    for (size_t event = 0; event < 2 * count; event++) {
        size_t own = event < count ? event : 2 * count - 1 - event;
        const struct rp_cost *cost = &rp_profile_segment(profile, own)->costs[choices[own]];
        enum rp_term term = event < count ? RP_TERM_PEAK_FORWARD : RP_TERM_PEAK_BACKWARD;
        uint64_t held = base + cost->terms[term].value;
        for (size_t k = 0; k < count; k++)
            held += held_by(&rp_profile_segment(profile, k)->costs[choices[k]], k, count, event);
        if (held > point.peak)
            point.peak = held;
        point.time += event < count ? cost->time : 0;
    }
    return point;
}

static void every_plan_takes_what_its_events_take(void **state)
{
    struct random random = random_begin("walk");

    (void)state;
    for (int round = 0; round < 60; round++) {
        struct rp_profile *profile = random_rows(&random, 1 + random_below(&random, 5));
        enum rp_choice choices[MOST] = {RP_CHOICE_RETAIN};
        do {
            struct rp_curve_point wanted = walk(profile, choices);
            uint64_t peak, time;
            assert_ok(rp_planner_walk(profile, RP_MODEL_NESTED, choices, &peak, &time, NULL, NULL));
            assert_int_equal(peak, wanted.peak);
            assert_int_equal(time, wanted.time);
        } while (instance_next_plan(choices, rp_profile_count(profile)));
        rp_profile_destroy(profile);
    }
}

/* ---- searching ---------------------------------------------------------------- */

static void the_best_of_all_plans_is_found(void **state)
{
    struct random random = random_begin("search");

    (void)state;
    for (int round = 0; round < 60; round++) {
        struct rp_profile *profile = random_rows(&random, 1 + random_below(&random, MOST));
        struct rp_question question = rp_question_default(profile, 0);
        struct rp_curve_point *points;
        size_t count = instance_enumerate(profile, RP_MODEL_NESTED, RP_CHOICE_ALL, &points);
        instance_check_curve(&question, points, count);
        for (size_t i = 0; i < count; i++) {
            question.plain = random_below(&random, 3) == 0;
            question.budget = points[i].peak;
            instance_check_budget(&question, points, count);
            question.budget = points[i].peak - 1;
            instance_check_budget(&question, points, count);
        }
        free(points);
        rp_profile_destroy(profile);
    }
}

/* The same rows, with all that they hold counted from the forward on. */
static struct rp_profile *from_the_forward_on(const struct rp_profile *profile)
{
    struct rp_profile *early;
    char message[200];

    assert_ok(rp_profile_create(&early));
    rp_profile_set_base(early, rp_profile_base(profile));
    for (size_t k = 0; k < rp_profile_count(profile); k++) {
        const struct rp_segment *segment = rp_profile_segment(profile, k);
        struct rp_cost costs[RP_CHOICE_COUNT];
        memcpy(costs, segment->costs, sizeof(costs));
        for (int c = 0; c < RP_CHOICE_COUNT; c++) {
            for (size_t i = 0; i < costs[c].later_count; i++)
                costs[c].terms[RP_TERM_PEAK_FORWARD].value += costs[c].later[i].bytes;
            costs[c].later_count = 0;
        }
        assert_ok(rp_profile_add_row(early, segment->name, costs));
    }
    assert_ok(rp_profile_close(early, message, sizeof(message)));
    return early;
}

static void what_is_held_later_never_costs_more(void **state)
{
    struct random random = random_begin("less");
    size_t less = 0;

    (void)state;
    for (int round = 0; round < 60; round++) {
        struct rp_profile *profile = random_rows(&random, MOST);
        struct rp_profile *early = from_the_forward_on(profile);
        assert_true(rp_profile_has_later(profile));
        assert_false(rp_profile_has_later(early));
        assert_true(instance_min_budget(profile) <= instance_min_budget(early));
        less += instance_min_budget(profile) < instance_min_budget(early);
        rp_profile_destroy(early);
        rp_profile_destroy(profile);
    }
    assert_true(less > 10);
}

static void truncated_answers_stay_true(void **state)
{
    struct random random = random_begin("truncated");
    size_t truncated = 0;

    (void)state;
    for (int round = 0; round < 80; round++) {
        struct rp_profile *profile = random_rows(&random, MOST);
        struct rp_question question =
            rp_question_default(profile, instance_min_budget(profile) + random_below(&random, 40));
        struct rp_plan *exact = instance_solve(&question);
        question.max_labels = 1 + random_below(&random, 3);
        struct rp_plan *plan = instance_solve(&question);
        truncated += plan->truncated;
        assert_int_not_equal(plan->answer, RP_ANSWER_INFEASIBLE);
        if (rp_plan_has_choices(plan)) {
            assert_true(plan->time >= exact->time);
            assert_true(plan->time - plan->gap <= exact->time);
        }
        rp_plan_destroy(plan);
        rp_plan_destroy(exact);
        rp_profile_destroy(profile);
    }
    assert_true(truncated > 0);
}

/* ---- the lazy model ----------------------------------------------------------- */

/* What k alone holds at each event, if all others retain. */
static void held_alone(const struct rp_profile *facts, size_t k, enum rp_choice choice,
                       uint64_t held[2 * MOST + 1])
{
    enum rp_choice choices[MOST] = {RP_CHOICE_RETAIN};
    uint64_t peak, time;

    choices[k] = choice;
    assert_ok(rp_planner_walk(facts, RP_MODEL_LAZY, choices, &peak, &time, NULL, held));
}

/* From when on the lazy model has regions hold what it does: `costs` are its charges. */
static void find_later(const struct rp_profile *facts, size_t k, struct rp_cost *cost,
                       struct rp_later *later)
{
    size_t count = rp_profile_count(facts);
    uint64_t with[2 * MOST + 1], without[2 * MOST + 1];
    const struct rp_cost *retain = &rp_profile_segment(facts, k)->costs[RP_CHOICE_RETAIN];

    held_alone(facts, k, RP_CHOICE_REGIONS, with);
    held_alone(facts, k, RP_CHOICE_RETAIN, without);
    cost->later = later;
    for (size_t event = k + 2; event < 2 * count - 1 - k; event++) {
        uint64_t now = with[event] - without[event] + retain->hold;
        uint64_t before = with[event - 1] - without[event - 1] + retain->hold;
        bool backward = event >= count;
        if (now > before)
            later[cost->later_count++] = (struct rp_later){
                backward, (uint32_t)(backward ? 2 * count - 1 - event : event), now - before};
    }
}

/* What grows at the very next event shows in no difference: it is what is left over. */
static void add_first(const struct rp_profile *facts, size_t k, uint64_t start,
                      struct rp_cost *cost, struct rp_later *later)
{
    size_t count = rp_profile_count(facts);
    uint64_t rest = cost->terms[RP_TERM_HOLD].value - start;

    for (size_t i = 0; i < cost->later_count; i++)
        rest -= later[i].bytes;
    if (rest == 0)
        return;
    assert_true(k + 1 < count); /* the last one's next event is its own backward */
    memmove(later + 1, later, cost->later_count++ * sizeof(*later));
    later[0] = (struct rp_later){false, (uint32_t)k + 1, rest};
}

/* Held from the forward on: what regions add to a forward's peak. */
static uint64_t start_of(const struct rp_profile *facts, size_t k, const struct rp_cost *charged)
{
    const struct rp_cost *retain = &rp_profile_segment(facts, k)->costs[RP_CHOICE_RETAIN];

    return charged->terms[RP_TERM_PEAK_FORWARD].value - retain->terms[RP_TERM_PEAK_FORWARD].value;
}

static void add_lazy_row(const struct rp_profile *facts, size_t k, const struct rp_plan *regions,
                         struct rp_profile *rows)
{
    const struct rp_segment *segment = rp_profile_segment(facts, k);
    struct rp_cost costs[RP_CHOICE_COUNT];
    struct rp_later later[EVENTS + 1];

    memcpy(costs, segment->costs, sizeof(costs));
    if (costs[RP_CHOICE_REGIONS].allowed) {
        struct rp_cost *cost = &costs[RP_CHOICE_REGIONS];
        *cost = regions->charged[k];
        find_later(facts, k, cost, later);
        add_first(facts, k, start_of(facts, k, &regions->charged[k]), cost, later);
    }
    assert_ok(rp_profile_add_row(rows, segment->name, costs));
}

static struct rp_plan *all_regions(const struct rp_profile *facts, uint8_t *each)
{
    struct rp_question question = rp_question_default(facts, INT64_MAX - 1);

    for (size_t k = 0; k < rp_profile_count(facts); k++)
        each[k] = rp_profile_segment(facts, k)->costs[RP_CHOICE_REGIONS].allowed
                      ? RP_CHOICE_BIT(RP_CHOICE_REGIONS)
                      : RP_CHOICE_BIT(RP_CHOICE_RETAIN);
    question.model = RP_MODEL_LAZY;
    question.allowed_each = each;
    return instance_solve(&question);
}

static struct rp_profile *lazy_rows(const struct rp_profile *facts)
{
    struct rp_profile *rows;
    uint8_t each[MOST];
    struct rp_plan *regions = all_regions(facts, each);
    char message[200] = "";

    assert_ok(rp_profile_create(&rows));
    rp_profile_set_base(rows, rp_profile_base(facts));
    for (size_t k = 0; k < rp_profile_count(facts); k++)
        add_lazy_row(facts, k, regions, rows);
    if (rp_profile_close(rows, message, sizeof(message)) != RP_OK)
        fail_msg("%s", message);
    rp_plan_destroy(regions);
    return rows;
}

static void rows_that_hold_what_lazy_holds_are_planned_like_it(void **state)
{
    struct random random = random_begin("lazy");
    size_t grown = 0;

    (void)state;
    for (int round = 0; round < 60; round++) {
        struct rp_profile *facts = walker_random(&random, 1 + random_below(&random, MOST));
        struct rp_profile *rows = lazy_rows(facts);
        struct rp_question question = rp_question_default(rows, 0);
        struct rp_curve_point *points;
        size_t count = instance_enumerate(facts, RP_MODEL_LAZY, RP_CHOICE_ALL, &points);
        instance_check_curve(&question, points, count);
        grown += rp_profile_has_later(rows);
        free(points);
        rp_profile_destroy(rows);
        rp_profile_destroy(facts);
    }
    assert_true(grown > 5);
}

/* ---- refusals ----------------------------------------------------------------- */

static void chains_that_are_too_long_for_it_are_refused(void **state)
{
    struct rp_profile *profile;
    struct rp_later later = {true, RP_PROFILE_MAX_LATER, 1};
    struct rp_cost costs[RP_CHOICE_COUNT] = {{.allowed = false}};
    struct rp_plan *plan;
    char name[24], message[300];

    (void)state;
    assert_ok(rp_profile_create(&profile));
    for (uint32_t k = 0; k <= RP_PROFILE_MAX_LATER; k++) {
        costs[0] = (struct rp_cost){.allowed = true, .has_terms = true, .later = &later,
                                    .later_count = k == 0};
        for (int t = 0; t < RP_TERM_COUNT; t++)
            set_term(&costs[0], (enum rp_term)t, 1);
        snprintf(name, sizeof(name), "s%u", k);
        assert_ok(rp_profile_add_row(profile, name, costs));
    }
    assert_ok(rp_profile_close(profile, message, sizeof(message)));
    struct rp_question question = rp_question_default(profile, 1000000);
    assert_int_equal(rp_planner_solve(&question, &plan, message, sizeof(message)), RP_UNSUPPORTED);
    assert_non_null(strstr(message, "at most 512 segments"));
    rp_profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_takes_what_its_events_take),
        cmocka_unit_test(the_best_of_all_plans_is_found),
        cmocka_unit_test(what_is_held_later_never_costs_more),
        cmocka_unit_test(truncated_answers_stay_true),
        cmocka_unit_test(rows_that_hold_what_lazy_holds_are_planned_like_it),
        cmocka_unit_test(chains_that_are_too_long_for_it_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
