/* SPDX-License-Identifier: Apache-2.0 */
/* Each simpler planner against every plan that it may choose, executed byte by byte: what it is
 * called, written down once more and independently of planner/baseline.c. */
#include "tests/planner/walker.h"

#include "planner/baseline.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SEGMENTS = 4, MOST_PLANS = 81, POINTS = 9 };

/* A plan, and what executing it takes. */
struct executed {
    enum rp_choice choices[MOST_SEGMENTS];
    uint64_t peak, time;
};

struct plans {
    const struct rp_profile *profile;
    size_t segments, count;
    struct executed items[MOST_PLANS];
};

/* The plan of this number, as digits; false when a segment doesn't allow its choice. */
static bool decode(const struct rp_profile *profile, size_t number, enum rp_choice *choices)
{
    for (size_t k = 0; k < rp_profile_count(profile); k++, number /= RP_CHOICE_COUNT) {
        choices[k] = (enum rp_choice)(number % RP_CHOICE_COUNT);
        if (!rp_profile_segment(profile, k)->costs[choices[k]].allowed)
            return false;
    }
    return number == 0;
}

static void execute_all(const struct rp_profile *profile, struct plans *plans)
{
    *plans = (struct plans){.profile = profile, .segments = rp_profile_count(profile)};
    for (size_t number = 0; number < MOST_PLANS; number++) {
        struct executed *plan = &plans->items[plans->count];
        if (!decode(profile, number, plan->choices))
            continue;
        walker_run(profile, RP_MODEL_NESTED, plan->choices, &plan->peak, &plan->time);
        plans->count++;
    }
}

static bool allows(const struct plans *plans, size_t k, enum rp_choice choice)
{
    return rp_profile_segment(plans->profile, k)->costs[choice].allowed;
}

static bool replays(const struct plans *plans, size_t k)
{
    return allows(plans, k, RP_CHOICE_WHOLE) || allows(plans, k, RP_CHOICE_REGIONS);
}

/* ---- what each may choose ------------------------------------------------------ */

/* Retains each `every`-th, and what can't be replayed; none with 0. */
static bool follows_rule(const struct plans *plans, const enum rp_choice *choices, size_t every)
{
    for (size_t k = 0; k < plans->segments; k++) {
        bool retained = (every > 0 && (k + 1) % every == 0) || !replays(plans, k);
        if (retained != (choices[k] == RP_CHOICE_RETAIN))
            return false;
    }
    return true;
}

static bool is_fixed(const struct plans *plans, const enum rp_choice *choices)
{
    for (size_t every = 0; every <= plans->segments; every += every == 0 ? 2 : 1)
        if (follows_rule(plans, choices, every))
            return true;
    return false;
}

static bool consists_of(const struct plans *plans, const enum rp_choice *choices,
                        enum rp_choice one, enum rp_choice other)
{
    for (size_t k = 0; k < plans->segments; k++)
        if (choices[k] != one && choices[k] != other)
            return false;
    return true;
}

static bool is_whole(const struct plans *plans, const enum rp_choice *choices)
{
    for (size_t k = 0; k < plans->segments; k++)
        if (choices[k] !=
            (allows(plans, k, RP_CHOICE_WHOLE) ? RP_CHOICE_WHOLE : RP_CHOICE_RETAIN))
            return false;
    return true;
}

static bool may_choose(const struct plans *plans, enum rp_baseline baseline,
                       const enum rp_choice *choices)
{
    const enum rp_choice retain = RP_CHOICE_RETAIN;

    switch (baseline) {
    case RP_BASELINE_EAGER: return consists_of(plans, choices, retain, retain);
    case RP_BASELINE_WHOLE: return is_whole(plans, choices);
    case RP_BASELINE_OR_WHOLE: return consists_of(plans, choices, retain, RP_CHOICE_WHOLE);
    case RP_BASELINE_OR_REGIONS:
    case RP_BASELINE_GRID: return consists_of(plans, choices, retain, RP_CHOICE_REGIONS);
    case RP_BASELINE_FIXED: return is_fixed(plans, choices);
    case RP_BASELINE_JOINT: return true;
    case RP_BASELINE_OBLIVIOUS:
    case RP_BASELINE_COUNT: break;
    }
    return false;
}

/* ---- the best of them ----------------------------------------------------------- */

static const struct executed *best_of(const struct plans *plans, enum rp_baseline baseline,
                                      uint64_t budget)
{
    const struct executed *best = NULL;

    for (size_t i = 0; i < plans->count; i++) {
        const struct executed *plan = &plans->items[i];
        if (plan->peak <= budget && may_choose(plans, baseline, plan->choices) &&
            (best == NULL || plan->time < best->time))
            best = plan;
    }
    return best;
}

static uint64_t least_of(const struct plans *plans, enum rp_baseline baseline)
{
    uint64_t least = UINT64_MAX;

    for (size_t i = 0; i < plans->count; i++)
        if (may_choose(plans, baseline, plans->items[i].choices) && plans->items[i].peak < least)
            least = plans->items[i].peak;
    return least;
}

static void check_baseline(const struct plans *plans, enum rp_baseline baseline,
                           const struct rp_comparison *comparison)
{
    assert_null(comparison->impossible[baseline]);
    assert_int_equal(comparison->min_budget[baseline], least_of(plans, baseline));
    for (size_t i = 0; i < comparison->count; i++) {
        const struct rp_trial *trial = &comparison->trials[baseline][i];
        const struct executed *best = best_of(plans, baseline, comparison->budgets[i]);
        assert_int_equal(trial->fits, best != NULL);
        if (best == NULL)
            continue;
        assert_int_equal(trial->time, best->time);
        assert_true(trial->peak <= comparison->budgets[i]);
        assert_true(trial->certain);
    }
}

/* ---- pages ---------------------------------------------------------------------- */

/* All buffers are smaller than a page: what is touched of one is all of it. */
static void widen(const struct rp_profile *profile, const struct rp_buffer_range *from,
                  size_t count, struct rp_buffer_range *to)
{
    size_t buffers;
    const struct rp_buffer *all = rp_profile_buffers(profile, &buffers);

    assert_true(count <= 3);
    for (size_t i = 0; i < count; i++)
        to[i] = (struct rp_buffer_range){from[i].buffer, 0, all[from[i].buffer].bytes};
}

static struct rp_profile *with_pages(const struct rp_profile *profile)
{
    size_t buffer_count;
    const struct rp_buffer *buffers = rp_profile_buffers(profile, &buffer_count);
    struct rp_profile *pages;
    char message[200] = "";

    assert_ok(rp_profile_create(&pages));
    rp_profile_set_base(pages, rp_profile_base(profile));
    rp_profile_set_quantum(pages, rp_profile_quantum(profile));
    rp_profile_set_copy_price(pages, rp_profile_copy_price(profile));
    for (size_t b = 0; b < buffer_count; b++)
        assert_ok(rp_profile_add_buffer(pages, buffers[b].name, buffers[b].bytes));
    for (size_t k = 0; k < rp_profile_count(profile); k++) {
        struct rp_facts facts = *rp_profile_facts(profile, k);
        struct rp_buffer_range reads[3], writes[3], backward[3];
        widen(profile, facts.reads, facts.read_count, reads);
        widen(profile, facts.writes, facts.write_count, writes);
        widen(profile, facts.backward_writes, facts.backward_write_count, backward);
        facts.reads = reads;
        facts.writes = writes;
        facts.backward_writes = backward;
        assert_ok(rp_profile_add_facts(pages, rp_profile_segment(profile, k)->name, &facts));
    }
    assert_ok(rp_profile_close(pages, message, sizeof(message)));
    return pages;
}

/* ---- as if state cost nothing ----------------------------------------------------- */

/* What such a planner believes that a plan takes. */
static void believe(const struct plans *plans, const struct executed *plan, uint64_t *peak,
                    uint64_t *time)
{
    uint64_t held = 0;

    *peak = *time = 0;
    for (size_t k = 0; k < plans->segments; k++) {
        const struct rp_segment *segment = rp_profile_segment(plans->profile, k);
        const struct rp_cost *retain = &segment->costs[RP_CHOICE_RETAIN];
        const struct rp_facts *facts = rp_profile_facts(plans->profile, k);
        bool is_retained = plan->choices[k] == RP_CHOICE_RETAIN;
        uint64_t own = retain->peak; /* the activation is there at both events either way */
        *peak = held + own > *peak ? held + own : *peak;
        held += is_retained ? retain->hold : 0;
        *time += facts->forward_time.value + facts->backward_time.value +
                 (is_retained ? 0 : facts->replay_time.value);
    }
    *peak = held > *peak ? held : *peak;
    *peak += rp_profile_base(plans->profile);
}

/* The first plan, before any repair: one that it believes to be best. */
static void check_first_plan(const struct plans *plans, uint64_t budget,
                             const struct rp_trial *trial)
{
    uint64_t least = UINT64_MAX;
    bool explained = false;

    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < plans->count; i++) {
            const struct executed *plan = &plans->items[i];
            uint64_t peak, time;
            if (!consists_of(plans, plan->choices, RP_CHOICE_RETAIN, RP_CHOICE_REGIONS))
                continue;
            believe(plans, plan, &peak, &time);
            if (peak > budget)
                continue;
            if (round == 0 && time < least)
                least = time;
            if (round == 1 && time == least)
                explained |= trial->overrun > 0
                                 ? plan->peak == budget + trial->overrun
                                 : plan->peak <= budget && trial->fits &&
                                       plan->time == trial->time;
        }
    assert_true(explained || (least == UINT64_MAX && !trial->fits && trial->overrun == 0));
}

/* What it ends with is a plan that it may make, and that fits. */
static void check_oblivious(const struct plans *plans, const struct rp_comparison *comparison)
{
    for (size_t i = 0; i < comparison->count; i++) {
        const struct rp_trial *trial = &comparison->trials[RP_BASELINE_OBLIVIOUS][i];
        bool is_one = !trial->fits;
        check_first_plan(plans, comparison->budgets[i], trial);
        for (size_t j = 0; j < plans->count; j++)
            is_one |= plans->items[j].peak == trial->peak &&
                      plans->items[j].time == trial->time &&
                      consists_of(plans, plans->items[j].choices, RP_CHOICE_RETAIN,
                                  RP_CHOICE_REGIONS);
        assert_true(is_one);
        assert_true(!trial->fits || trial->peak <= comparison->budgets[i]);
    }
}

/* ---- all ------------------------------------------------------------------------ */

static struct rp_comparison *compare(const struct rp_profile *profile)
{
    struct rp_question question = rp_question_default(profile, 0);
    struct rp_comparison *comparison;
    char message[200] = "";

    if (rp_baseline_compare(&question, POINTS, &comparison, message, sizeof(message)) != RP_OK)
        fail_msg("%s", message);
    return comparison;
}

static void check_all(const struct rp_profile *profile)
{
    struct rp_comparison *comparison = compare(profile);
    struct rp_profile *pages = with_pages(profile);
    struct plans plans;

    execute_all(profile, &plans);
    for (int b = 0; b < RP_BASELINE_COUNT; b++)
        if (b != RP_BASELINE_GRID && b != RP_BASELINE_OBLIVIOUS)
            check_baseline(&plans, (enum rp_baseline)b, comparison);
    check_oblivious(&plans, comparison);
    execute_all(pages, &plans);
    check_baseline(&plans, RP_BASELINE_GRID, comparison);
    rp_profile_destroy(pages);
    rp_comparison_destroy(comparison);
}

static void every_planner_does_its_best_of_what_it_may(void **state)
{
    struct random random = random_begin("rivals");

    (void)state;
    for (int round = 0; round < 60; round++) {
        struct rp_profile *profile =
            walker_random(&random, 1 + random_below(&random, MOST_SEGMENTS));
        check_all(profile);
        rp_profile_destroy(profile);
    }
}

/* A profile of a run: rows beside facts. Rows that follow from the facts change nothing. */
static void so_it_does_where_a_run_has_left_rows_and_facts(void **state)
{
    struct random random = random_begin("rivals with rows");

    (void)state;
    for (int round = 0; round < 30; round++) {
        struct rp_profile *facts =
            walker_random(&random, 1 + random_below(&random, MOST_SEGMENTS));
        struct rp_profile *both = instance_with_rows(facts, NULL);
        check_all(both);
        rp_profile_destroy(both);
        rp_profile_destroy(facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_planner_does_its_best_of_what_it_may),
        cmocka_unit_test(so_it_does_where_a_run_has_left_rows_and_facts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
