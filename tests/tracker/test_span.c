/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/tracker/check.h"
#include "tests/tracker/random.h"
#include "tracker/span.h"

#include <string.h>

#define assert_ok(call) assert_int_equal(call, RP_OK)

static void assert_spans(const struct rp_spans *set, size_t count, const struct rp_span *want)
{
    assert_true(rp_spans_validate(set));
    assert_int_equal(set->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(set->items[i].lo, want[i].lo);
        assert_int_equal(set->items[i].hi, want[i].hi);
    }
}

#define ASSERT_SPANS(set, ...)                                                                   \
    assert_spans(set, sizeof((struct rp_span[]){__VA_ARGS__}) / sizeof(struct rp_span),          \
                 (struct rp_span[]){__VA_ARGS__})

static void touching_spans_merge(void **state)
{
    (void)state;
    struct rp_spans set = {0};

    assert_ok(rp_spans_add(&set, 10, 20));
    assert_ok(rp_spans_add(&set, 30, 40));
    ASSERT_SPANS(&set, {10, 20}, {30, 40});
    assert_ok(rp_spans_add(&set, 40, 50));
    ASSERT_SPANS(&set, {10, 20}, {30, 50});
    assert_ok(rp_spans_add(&set, 5, 10));
    ASSERT_SPANS(&set, {5, 20}, {30, 50});
    assert_ok(rp_spans_add(&set, 20, 30));
    ASSERT_SPANS(&set, {5, 50});
    rp_spans_release(&set);
}

static void removing_splits(void **state)
{
    (void)state;
    struct rp_spans set = {0};

    assert_ok(rp_spans_add(&set, 0, 100));
    assert_ok(rp_spans_remove(&set, 40, 60));
    ASSERT_SPANS(&set, {0, 40}, {60, 100});
    assert_ok(rp_spans_remove(&set, 30, 70));
    ASSERT_SPANS(&set, {0, 30}, {70, 100});
    assert_ok(rp_spans_remove(&set, 0, 100));
    assert_spans(&set, 0, NULL);
    rp_spans_release(&set);
}

static void an_empty_range_changes_nothing(void **state)
{
    (void)state;
    struct rp_spans set = {0};

    assert_ok(rp_spans_add(&set, 7, 7));
    assert_spans(&set, 0, NULL);
    assert_ok(rp_spans_add(&set, 0, 10));
    assert_ok(rp_spans_remove(&set, 5, 5));
    ASSERT_SPANS(&set, {0, 10});
    assert_false(rp_spans_overlaps(&set, 5, 5));
    assert_true(rp_spans_covers(&set, 99, 99));
    assert_int_equal(rp_spans_add(&set, 9, 8), RP_INVALID);
    assert_int_equal(rp_spans_remove(&set, 9, 8), RP_INVALID);
    rp_spans_release(&set);
}

static void the_whole_range_of_offsets_works(void **state)
{
    (void)state;
    struct rp_spans set = {0};

    assert_ok(rp_spans_add(&set, UINT64_MAX - 1, UINT64_MAX));
    assert_ok(rp_spans_add(&set, 0, 1));
    ASSERT_SPANS(&set, {0, 1}, {UINT64_MAX - 1, UINT64_MAX});
    assert_ok(rp_spans_add(&set, 0, UINT64_MAX));
    ASSERT_SPANS(&set, {0, UINT64_MAX});
    assert_int_equal(rp_spans_bytes(&set), UINT64_MAX);
    rp_spans_release(&set);
}

static void a_set_combined_with_itself(void **state)
{
    (void)state;
    struct rp_spans set = {0};

    assert_ok(rp_spans_add(&set, 1, 2));
    assert_ok(rp_spans_add_all(&set, &set));
    ASSERT_SPANS(&set, {1, 2});
    assert_ok(rp_spans_copy(&set, &set));
    ASSERT_SPANS(&set, {1, 2});
    assert_ok(rp_spans_remove_all(&set, &set));
    assert_spans(&set, 0, NULL);
    rp_spans_release(&set);
}

static void broken_sets_do_not_validate(void **state)
{
    (void)state;
    struct rp_span items[2];
    struct rp_spans set = {items, 2, 2};

    items[0] = (struct rp_span){0, 10}, items[1] = (struct rp_span){10, 20};
    assert_false(rp_spans_validate(&set)); /* touch */
    items[1] = (struct rp_span){5, 20};
    assert_false(rp_spans_validate(&set)); /* overlap */
    items[1] = (struct rp_span){15, 15};
    assert_false(rp_spans_validate(&set)); /* empty */
    items[1] = (struct rp_span){15, 16};
    assert_true(rp_spans_validate(&set));
    set.capacity = 1;
    assert_false(rp_spans_validate(&set)); /* more than there is room for */
}

/* ---- against a byte map ----------------------------------------------------------- */

#define BYTES 96

static void assert_same_bytes(const struct rp_spans *set, const bool *model)
{
    uint64_t bytes = 0;

    assert_true(rp_spans_validate(set));
    for (size_t i = 0; i < BYTES; i++) {
        size_t at = rp_spans_seek(set, i);
        bool inside = at < set->count && set->items[at].lo <= i;
        assert_int_equal(inside, model[i]);
        bytes += model[i];
    }
    assert_int_equal(rp_spans_bytes(set), bytes);
}

static void assert_same_answers(const struct rp_spans *set, const bool *model, uint64_t lo,
                                uint64_t hi)
{
    bool inside[BYTES] = {0}, missing[BYTES] = {0}, any = false, all = true;
    struct rp_spans part = {0};

    for (uint64_t i = lo; i < hi; i++) {
        inside[i] = model[i];
        missing[i] = !model[i];
        any = any || model[i];
        all = all && model[i];
    }
    assert_int_equal(rp_spans_overlaps(set, lo, hi), any);
    assert_int_equal(rp_spans_covers(set, lo, hi), all);
    assert_ok(rp_spans_within(set, lo, hi, &part));
    assert_same_bytes(&part, inside);
    assert_ok(rp_spans_missing(set, lo, hi, &part));
    assert_same_bytes(&part, missing);
    rp_spans_release(&part);
}

static void any_sequence_equals_a_byte_map(void **state)
{
    (void)state;
    struct random random = random_begin("spans");
    struct rp_spans sets[2] = {{0}, {0}};
    bool models[2][BYTES] = {{0}};

    for (int round = 0; round < 20000; round++) {
        size_t which = random_below(&random, 2);
        uint64_t lo = random_below(&random, BYTES + 1);
        uint64_t hi = lo + random_below(&random, (BYTES - lo) / (1 + round % 8) + 1);
        uint64_t what = random_below(&random, 40);
        struct rp_spans *set = &sets[which], *other = &sets[!which];
        bool *model = models[which], *other_model = models[!which];

        if (what < 18) {
            assert_ok(rp_spans_add(set, lo, hi));
            memset(model + lo, 1, hi - lo);
        } else if (what < 36) {
            assert_ok(rp_spans_remove(set, lo, hi));
            memset(model + lo, 0, hi - lo);
        } else if (what == 36) {
            assert_ok(rp_spans_add_all(set, other));
            for (size_t i = 0; i < BYTES; i++)
                model[i] = model[i] || other_model[i];
        } else if (what == 37) {
            assert_ok(rp_spans_remove_all(set, other));
            for (size_t i = 0; i < BYTES; i++)
                model[i] = model[i] && !other_model[i];
        } else if (what == 38) {
            assert_ok(rp_spans_copy(set, other));
            memcpy(model, other_model, BYTES);
        } else {
            rp_spans_clear(set);
            memset(model, 0, BYTES);
        }
        assert_same_bytes(set, model);
        assert_same_answers(set, model, lo, hi);
    }
    rp_spans_release(&sets[0]);
    rp_spans_release(&sets[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(touching_spans_merge),
        cmocka_unit_test(removing_splits),
        cmocka_unit_test(an_empty_range_changes_nothing),
        cmocka_unit_test(the_whole_range_of_offsets_works),
        cmocka_unit_test(a_set_combined_with_itself),
        cmocka_unit_test(broken_sets_do_not_validate),
        cmocka_unit_test(any_sequence_equals_a_byte_map),
    };
    return cmocka_run_group_tests_name("span", tests, NULL, NULL);
}
