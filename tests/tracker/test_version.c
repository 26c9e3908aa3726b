/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/tracker/check.h"
#include "tests/tracker/random.h"
#include "tracker/version.h"

#include <string.h>

#define assert_ok(call) assert_int_equal(call, RP_OK)

static int setup(void **state)
{
    return rp_versions_create((struct rp_versions **)state) == RP_OK ? 0 : -1;
}

static int teardown(void **state)
{
    rp_versions_destroy(*state);
    return 0;
}

static struct rp_writer writer(uint64_t number)
{
    return (struct rp_writer){.version = number, .seq = number};
}

struct seen {
    uint64_t lo, hi;
    rp_version version;
};

struct walk {
    struct seen items[16];
    size_t count, stop_after;
};

static enum rp_status collect(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *by)
{
    struct walk *walk = ctx;

    assert_true(walk->count < 16);
    walk->items[walk->count++] = (struct seen){lo, hi, by->version};
    return walk->count == walk->stop_after ? RP_UNSUPPORTED : RP_OK;
}

static void assert_ranges(struct rp_versions *versions, rp_alloc_id id, uint64_t lo, uint64_t hi,
                          size_t count, const struct seen *want)
{
    struct walk walk = {.count = 0};

    assert_true(rp_versions_validate(versions));
    assert_ok(rp_versions_read(versions, id, lo, hi, collect, &walk));
    assert_int_equal(walk.count, count);
    assert_memory_equal(walk.items, want, count * sizeof(*want));
}

#define ASSERT_RANGES(versions, id, lo, hi, ...)                                                 \
    assert_ranges(versions, id, lo, hi,                                                          \
                  sizeof((struct seen[]){__VA_ARGS__}) / sizeof(struct seen),                    \
                  (struct seen[]){__VA_ARGS__})

static enum rp_status has_no_source(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *by)
{
    (void)ctx, (void)lo, (void)hi;
    assert_int_equal(by->source, 0);
    return RP_OK;
}

static void copies_are_the_same_bytes_until_others_may_write_them(void **state)
{
    struct rp_versions *versions = *state;
    struct rp_writer made = writer(3), copy = writer(4), shifted = writer(5), other = writer(6);
    made.place = copy.place = other.place = 100;
    shifted.place = 104;
    copy.source = shifted.source = made.version;

    assert_true(rp_writer_same_bytes(&made, &copy));
    assert_false(rp_writer_same_bytes(&made, &shifted));
    assert_false(rp_writer_same_bytes(&made, &other));
    assert_ok(rp_versions_write(versions, 1, 0, 8, &copy));
    assert_ok(rp_versions_write(versions, 1, 8, 16, &shifted));
    rp_versions_disown(versions, 1);
    ASSERT_RANGES(versions, 1, 0, 16, {0, 8, 4}, {8, 16, 5});
    assert_ok(rp_versions_read(versions, 1, 0, 16, has_no_source, NULL));
    rp_versions_disown(versions, 2); /* nothing is known of it */
}

static struct rp_provenance made_by(uint64_t number, uint64_t begin, uint64_t bytes)
{
    return (struct rp_provenance){number, begin, bytes};
}

static void what_was_seen_to_be_alike_is_the_same_bytes(void **state)
{
    struct rp_versions *versions = *state;
    struct rp_writer a = writer(3), b = writer(4), c = writer(5);

    b.place = 100; /* it has its first byte there */
    assert_false(rp_versions_same_bytes(versions, 100, 200, &a, &b));
    assert_ok(rp_versions_alike(versions, made_by(3, 100, 60), made_by(4, 0, 60)));
    assert_true(rp_versions_same_bytes(versions, 100, 160, &a, &b));
    assert_true(rp_versions_same_bytes(versions, 120, 130, &b, &a));
    assert_false(rp_versions_same_bytes(versions, 100, 161, &a, &b)); /* nobody saw the last one */
    assert_false(rp_versions_same_bytes(versions, 99, 160, &a, &b));
    b.place = 96; /* alike, but not here */
    assert_false(rp_versions_same_bytes(versions, 120, 130, &a, &b));
    assert_false(rp_versions_same_bytes(versions, 100, 160, &a, &c));
    assert_int_equal(rp_versions_alike(versions, made_by(3, 0, 1), made_by(0, 0, 1)), RP_INVALID);
    assert_int_equal(rp_versions_alike(versions, made_by(3, 0, 1), made_by(4, 0, 2)), RP_INVALID);
    assert_ok(rp_versions_alike(versions, made_by(3, 0, 1), made_by(3, 0, 1)));
}

static void who_is_alike_is_found_by_way_of_others(void **state)
{
    struct rp_versions *versions = *state;
    struct rp_writer a = writer(1), b = writer(2), c = writer(3), d = writer(4);

    assert_ok(rp_versions_alike(versions, made_by(1, 0, 8), made_by(2, 0, 8)));
    assert_ok(rp_versions_alike(versions, made_by(3, 0, 8), made_by(4, 0, 8)));
    assert_false(rp_versions_same_bytes(versions, 0, 8, &a, &d));
    assert_ok(rp_versions_alike(versions, made_by(2, 0, 8), made_by(3, 0, 8)));
    assert_true(rp_versions_same_bytes(versions, 0, 8, &a, &d));
    assert_true(rp_versions_same_bytes(versions, 2, 4, &c, &b));
    for (uint64_t i = 0; i < 2000; i++) /* far more than are remembered */
        assert_ok(rp_versions_alike(versions, made_by(10 + i, 0, 8), made_by(11 + i, 0, 8)));
    assert_false(rp_versions_same_bytes(versions, 0, 8, &a, &d));
    a = writer(2000), d = writer(2010);
    assert_true(rp_versions_same_bytes(versions, 0, 8, &a, &d));
}

static void it_is_known_whether_bytes_stand_anywhere(void **state)
{
    struct rp_versions *versions = *state;
    struct rp_writer by = writer(3);

    by.place = 10;
    assert_ok(rp_versions_write(versions, 1, 20, 30, &by));
    assert_true(rp_versions_have(versions, made_by(3, 10, 10)));
    assert_true(rp_versions_have(versions, made_by(3, 0, 11)));
    assert_false(rp_versions_have(versions, made_by(3, 0, 10)));
    assert_false(rp_versions_have(versions, made_by(3, 20, 5)));
    assert_false(rp_versions_have(versions, made_by(4, 10, 10)));
}

static void write_range(struct rp_versions *versions, uint64_t lo, uint64_t hi, uint64_t number)
{
    struct rp_writer by = writer(number);

    assert_ok(rp_versions_write(versions, 1, lo, hi, &by));
}

static void what_nobody_wrote_has_version_0(void **state)
{
    struct rp_versions *versions = *state;

    ASSERT_RANGES(versions, 1, 5, 50, {5, 50, 0});
    write_range(versions, 10, 20, 1);
    ASSERT_RANGES(versions, 1, 5, 50, {5, 10, 0}, {10, 20, 1}, {20, 50, 0});
    ASSERT_RANGES(versions, 2, 5, 50, {5, 50, 0}); /* another allocation */
    assert_ranges(versions, 1, 5, 5, 0, NULL);
}

static void a_later_write_covers_an_earlier_one(void **state)
{
    struct rp_versions *versions = *state;

    write_range(versions, 0, 100, 1);
    write_range(versions, 40, 60, 2);
    ASSERT_RANGES(versions, 1, 0, 100, {0, 40, 1}, {40, 60, 2}, {60, 100, 1});
    ASSERT_RANGES(versions, 1, 50, 70, {50, 60, 2}, {60, 70, 1});
    write_range(versions, 30, 70, 3);
    ASSERT_RANGES(versions, 1, 0, 100, {0, 30, 1}, {30, 70, 3}, {70, 100, 1});
}

static void a_restored_range_melts_into_its_neighbours(void **state)
{
    struct rp_versions *versions = *state;

    write_range(versions, 0, 100, 1);
    write_range(versions, 40, 60, 2);
    write_range(versions, 40, 60, 1);
    ASSERT_RANGES(versions, 1, 0, 100, {0, 100, 1});
}

static void restoring_the_birth_leaves_no_range(void **state)
{
    struct rp_versions *versions = *state;
    const struct rp_writer nobody = {0};

    write_range(versions, 0, 100, 1);
    assert_ok(rp_versions_write(versions, 1, 40, 60, &nobody));
    ASSERT_RANGES(versions, 1, 0, 100, {0, 40, 1}, {40, 60, 0}, {60, 100, 1});
    assert_ok(rp_versions_write(versions, 1, 0, 100, &nobody));
    ASSERT_RANGES(versions, 1, 0, 100, {0, 100, 0});
}

static enum rp_status copy_writer(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *by)
{
    (void)lo, (void)hi;
    *(struct rp_writer *)ctx = *by;
    return RP_OK;
}

/* Part by part: between them lie bytes that belong to nobody. */
static void assert_same_writer(const struct rp_writer *a, const struct rp_writer *b)
{
    assert_int_equal(a->version, b->version);
    assert_int_equal(a->origin, b->origin);
    assert_int_equal(a->seq, b->seq);
    assert_int_equal(a->launch, b->launch);
    assert_int_equal(a->stream, b->stream);
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->name, b->name);
    assert_int_equal(a->speculative, b->speculative);
}

static void each_part_of_a_writer_is_kept_and_tells_it_apart(void **state)
{
    struct rp_versions *versions = *state;
    const struct rp_writer base = {.version = 1, .origin = 2, .seq = 3, .launch = 4,
                                   .stream = 5, .step = 6, .name = 7};
    struct rp_writer others[8] = {base, base, base, base, base, base, base, base}, got;

    others[0].version++, others[1].origin++, others[2].seq++, others[3].launch++;
    others[4].stream++, others[5].step++, others[6].name++, others[7].speculative = true;
    for (size_t i = 0; i < 8; i++) {
        struct walk walk = {.count = 0};
        assert_ok(rp_versions_write(versions, 1, 0, 10, &base));
        assert_ok(rp_versions_write(versions, 1, 10, 20, &others[i]));
        assert_ok(rp_versions_read(versions, 1, 0, 20, collect, &walk));
        assert_int_equal(walk.count, 2);
        assert_ok(rp_versions_read(versions, 1, 10, 20, copy_writer, &got));
        assert_same_writer(&got, &others[i]);
    }
}

static void a_walk_stops_where_it_is_told(void **state)
{
    struct rp_versions *versions = *state;
    struct walk walk = {.stop_after = 2};

    write_range(versions, 10, 20, 1);
    assert_int_equal(rp_versions_read(versions, 1, 0, 30, collect, &walk), RP_UNSUPPORTED);
    assert_int_equal(walk.count, 2);
}

static void dirty_is_what_is_younger(void **state)
{
    struct rp_versions *versions = *state;
    struct rp_spans dirty = {0};

    write_range(versions, 0, 100, 1);
    write_range(versions, 20, 30, 2);
    write_range(versions, 30, 40, 3);
    assert_ok(rp_versions_dirty_since(versions, 1, 0, 100, 1, &dirty));
    assert_int_equal(dirty.count, 1);
    assert_int_equal(dirty.items[0].lo, 20);
    assert_int_equal(dirty.items[0].hi, 40);
    assert_ok(rp_versions_dirty_since(versions, 1, 25, 100, 0, &dirty));
    assert_int_equal(rp_spans_bytes(&dirty), 75);
    assert_ok(rp_versions_dirty_since(versions, 1, 0, 100, 3, &dirty));
    assert_int_equal(dirty.count, 0);
    rp_spans_release(&dirty);
}

static void a_dead_allocation_is_forgotten(void **state)
{
    struct rp_versions *versions = *state;

    write_range(versions, 0, 100, 1);
    rp_versions_forget(versions, 1);
    rp_versions_forget(versions, 1);
    ASSERT_RANGES(versions, 1, 0, 100, {0, 100, 0});
}

static void what_is_cleared_is_as_it_was_created(void **state)
{
    struct rp_versions *versions = *state;
    const struct rp_writer first = writer(1), second = writer(2);

    assert_ok(rp_versions_write(versions, 1, 0, 16, &first));
    assert_ok(rp_versions_write(versions, 1, 16, 32, &second));
    assert_ok(rp_versions_alike(versions, (struct rp_provenance){1, 0, 16},
                                (struct rp_provenance){2, 0, 16}));
    assert_true(rp_versions_same_bytes(versions, 0, 16, &first, &second));
    assert_ok(rp_versions_distrust(versions, 3));
    rp_versions_clear(versions);
    ASSERT_RANGES(versions, 1, 0, 32, {0, 32, 0});
    assert_true(rp_versions_trust(versions, 3));
    assert_false(rp_versions_same_bytes(versions, 0, 16, &first, &second));
    assert_ok(rp_versions_write(versions, 1, 8, 16, &second));
    ASSERT_RANGES(versions, 1, 0, 16, {0, 8, 0}, {8, 16, 2});
}

static void impossible_ranges_are_refused(void **state)
{
    struct rp_versions *versions = *state;
    struct rp_writer by = writer(1);
    struct walk walk = {.count = 0};

    assert_int_equal(rp_versions_write(versions, 0, 0, 1, &by), RP_INVALID);
    assert_int_equal(rp_versions_write(versions, 1, 2, 1, &by), RP_INVALID);
    assert_int_equal(rp_versions_read(versions, 1, 2, 1, collect, &walk), RP_INVALID);
    assert_ok(rp_versions_write(versions, 1, 1, 1, &by));
    ASSERT_RANGES(versions, 1, 0, 9, {0, 9, 0});
    write_range(versions, 0, UINT64_MAX, 5);
    ASSERT_RANGES(versions, 1, 0, UINT64_MAX, {0, UINT64_MAX, 5});
}

/* ---- against a byte map ----------------------------------------------------------- */

#define BYTES 80
#define ALLOCS 40

struct compare {
    const uint64_t *model;
    uint64_t at;
};

static enum rp_status compare_bytes(void *ctx, uint64_t lo, uint64_t hi,
                                    const struct rp_writer *by)
{
    struct compare *compare = ctx;

    assert_int_equal(lo, compare->at);
    for (uint64_t i = lo; i < hi; i++)
        assert_int_equal(by->version, compare->model[i]);
    compare->at = hi;
    return RP_OK;
}

static void assert_same_dirt(struct rp_versions *versions, rp_alloc_id id, const uint64_t *model,
                             uint64_t since, struct rp_spans *dirty)
{
    assert_ok(rp_versions_dirty_since(versions, id, 0, BYTES, since, dirty));
    assert_true(rp_spans_validate(dirty));
    for (uint64_t i = 0; i < BYTES; i++)
        assert_int_equal(rp_spans_covers(dirty, i, i + 1), model[i] > since);
}

static void any_sequence_equals_a_byte_map(void **state)
{
    struct rp_versions *versions = *state;
    struct random random = random_begin("versions");
    static uint64_t models[ALLOCS][BYTES];
    struct rp_spans dirty = {0};

    memset(models, 0, sizeof(models));
    for (int round = 0; round < 20000; round++) {
        uint64_t which = random_below(&random, ALLOCS), number = random_below(&random, 6);
        uint64_t *model = models[which];
        rp_alloc_id id = which * 1024 + 1;
        uint64_t lo = random_below(&random, BYTES + 1);
        uint64_t hi = lo + random_below(&random, (BYTES - lo) / (1 + round % 8) + 1);
        struct rp_writer by = writer(number);

        if (random_below(&random, 50) == 0) {
            rp_versions_forget(versions, id);
            memset(model, 0, sizeof(models[0]));
        } else {
            assert_ok(rp_versions_write(versions, id, lo, hi, &by));
            for (uint64_t i = lo; i < hi; i++)
                model[i] = number;
        }
        struct compare compare = {model, lo / 2};
        assert_true(rp_versions_validate(versions));
        assert_ok(rp_versions_read(versions, id, lo / 2, BYTES, compare_bytes, &compare));
        assert_int_equal(compare.at, BYTES);
        assert_same_dirt(versions, id, model, number, &dirty);
    }
    rp_spans_release(&dirty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(copies_are_the_same_bytes_until_others_may_write_them,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_seen_to_be_alike_is_the_same_bytes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_is_alike_is_found_by_way_of_others, setup, teardown),
        cmocka_unit_test_setup_teardown(it_is_known_whether_bytes_stand_anywhere, setup, teardown),
        cmocka_unit_test_setup_teardown(what_nobody_wrote_has_version_0, setup, teardown),
        cmocka_unit_test_setup_teardown(a_later_write_covers_an_earlier_one, setup, teardown),
        cmocka_unit_test_setup_teardown(a_restored_range_melts_into_its_neighbours, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(restoring_the_birth_leaves_no_range, setup, teardown),
        cmocka_unit_test_setup_teardown(each_part_of_a_writer_is_kept_and_tells_it_apart, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_walk_stops_where_it_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(dirty_is_what_is_younger, setup, teardown),
        cmocka_unit_test_setup_teardown(a_dead_allocation_is_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_cleared_is_as_it_was_created, setup, teardown),
        cmocka_unit_test_setup_teardown(impossible_ranges_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(any_sequence_equals_a_byte_map, setup, teardown),
    };
    return cmocka_run_group_tests_name("version", tests, NULL, NULL);
}
