/* SPDX-License-Identifier: Apache-2.0 */
/* Hazards are listed once each, the most damaging first. */
#include "check.h"

#include "tracker/hazard.h"

static struct rp_hazard stale(void)
{
    return (struct rp_hazard){.kind = RP_HAZARD_STALE_READ, .segment = "block", .buffer = "queue",
                              .allocation = 7, .allocation_bytes = 8192, .offset = 16, .bytes = 64,
                              .version_read = 9, .version_wanted = 4, .wants_version = true,
                              .writer = "enqueue", .reader = "attend", .step = 3,
                              .written = {.version = 9, .step = 2, .launch = 17, .stream = 0x55d0}};
}

static void an_assumption_is_a_warning(void **state)
{
    (void)state;
    assert_true(rp_hazard_kind_warns(RP_HAZARD_ASSUMED));
    assert_false(rp_hazard_kind_warns(RP_HAZARD_DIVERGED));
}

static void an_assumption_is_told_once_whoever_reads(void **state)
{
    (void)state;
    struct rp_hazards list = {0};
    struct rp_hazard assumed = stale();
    assumed.kind = RP_HAZARD_ASSUMED;
    assumed.assumed = RP_ASSUMED_OUTPUT;
    assumed.other = "norm";
    enum rp_hazard_news news;
    assert_int_equal(rp_hazards_add(&list, &assumed, &news), RP_OK);
    assumed.reader = "log";
    assumed.writer = "put";
    assumed.offset = 128;
    assert_int_equal(rp_hazards_add(&list, &assumed, &news), RP_OK);
    assert_int_equal(news, RP_HAZARD_KNOWN);
    assumed.assumed = RP_ASSUMED_STATE;
    assert_int_equal(rp_hazards_add(&list, &assumed, &news), RP_OK);
    assert_int_equal(news, RP_HAZARD_NEW);
    assert_int_equal(list.items[0].count, 2);
    rp_hazards_release(&list);
}

static void kinds_are_found_by_their_names(void **state)
{
    (void)state;
    for (int kind = 0; kind < RP_HAZARD_KIND_COUNT; kind++) {
        assert_int_equal(rp_hazard_kind_find(rp_hazard_kind_name((enum rp_hazard_kind)kind)), kind);
        assert_true(*rp_hazard_kind_meaning((enum rp_hazard_kind)kind));
    }
    assert_int_equal(rp_hazard_kind_find("stale"), RP_HAZARD_KIND_COUNT);
}

static void each_is_listed_once_and_the_worst_comes_first(void **state)
{
    (void)state;
    struct rp_hazards list = {0};
    enum rp_hazard_news news;
    struct rp_hazard unpaired = {.kind = RP_HAZARD_UNPAIRED, .segment = "block", .key = "a"};
    assert_int_equal(rp_hazards_add(&list, &unpaired, &news), RP_OK);
    assert_int_equal(news, RP_HAZARD_NEW);
    unpaired.key = "b"; /* another replay */
    assert_int_equal(rp_hazards_add(&list, &unpaired, &news), RP_OK);
    assert_int_equal(news, RP_HAZARD_NEW);
    struct rp_hazard small = stale(), large = stale();
    small.buffer = "mean";
    large.bytes = 4096;
    assert_int_equal(rp_hazards_add(&list, &small, NULL), RP_OK);
    assert_int_equal(rp_hazards_add(&list, &large, NULL), RP_OK);
    large.step = 9;
    assert_int_equal(rp_hazards_add(&list, &large, &news), RP_OK);
    assert_int_equal(news, RP_HAZARD_NEW_IN_STEP);
    assert_int_equal(rp_hazards_add(&list, &large, &news), RP_OK);
    assert_int_equal(news, RP_HAZARD_KNOWN);
    rp_hazards_sort(&list);
    assert_int_equal(list.count, 4);
    assert_string_equal(list.items[0].buffer, "queue");
    assert_int_equal(list.items[0].count, 3);
    assert_int_equal(list.items[0].step, 3); /* the first occurrence's figures stay */
    assert_int_equal(list.items[0].order, 3);
    assert_string_equal(list.items[1].buffer, "mean");
    assert_int_equal(list.items[2].kind, RP_HAZARD_UNPAIRED);
    rp_hazards_release(&list);
}

static void what_is_harmless_comes_last(void **state)
{
    (void)state;
    struct rp_hazards list = {0};
    struct rp_hazard harmless = stale();
    struct rp_hazard unpaired = {.kind = RP_HAZARD_UNPAIRED, .segment = "block"};
    harmless.harmless = true;
    assert_int_equal(rp_hazards_add(&list, &harmless, NULL), RP_OK);
    assert_int_equal(rp_hazards_add(&list, &unpaired, NULL), RP_OK);
    rp_hazards_sort(&list);
    assert_int_equal(list.items[0].kind, RP_HAZARD_UNPAIRED);
    rp_hazards_release(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_assumption_is_a_warning),
        cmocka_unit_test(an_assumption_is_told_once_whoever_reads),
        cmocka_unit_test(kinds_are_found_by_their_names),
        cmocka_unit_test(each_is_listed_once_and_the_worst_comes_first),
        cmocka_unit_test(what_is_harmless_comes_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
