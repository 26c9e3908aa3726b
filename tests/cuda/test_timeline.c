/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines over host memory, where copying a byte takes a nanosecond. */
#include "cuda/driver_host.h"
#include "cuda/timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { FORWARD = 1, COPY, BACKWARD, BYTES = 4096, NEAR = 1, FAR = 2 };

struct world {
    struct rp_host *host;
    struct rp_driver driver;
    struct rp_timeline *timeline;
    rp_device_ptr from, to;
    uint64_t spent[8];
    size_t intervals;
};

static int begin(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    *state = world;
    assert_int_equal(rp_host_create(1 << 20, &world->host), RP_OK);
    world->driver = rp_host_driver(world->host);
    assert_int_equal(world->driver.alloc(world->host, BYTES, &world->from), RP_OK);
    assert_int_equal(world->driver.alloc(world->host, BYTES, &world->to), RP_OK);
    assert_int_equal(rp_timeline_create(&world->driver, &world->timeline), RP_OK);
    return 0;
}

static int end(void **state)
{
    struct world *world = *state;
    rp_timeline_destroy(world->timeline);
    rp_host_destroy(world->host);
    free(world);
    return 0;
}

static void work(struct world *world, uint64_t ns, rp_stream stream)
{
    assert_int_equal(world->driver.copy(world->host, world->to, world->from, ns, stream), RP_OK);
}

static void add(void *ctx, uint64_t what, uint64_t ns)
{
    struct world *world = ctx;
    world->spent[what] += ns;
    world->intervals++;
}

static void step(struct world *world)
{
    rp_timeline_begin(world->timeline);
    rp_timeline_mark(world->timeline, FORWARD, NEAR);
    work(world, 100, NEAR);
    rp_timeline_mark(world->timeline, COPY, NEAR);
    work(world, 7, NEAR);
    rp_timeline_mark(world->timeline, COPY, NEAR); /* says nothing new */
    work(world, 8, NEAR);
    rp_timeline_mark(world->timeline, FORWARD, NEAR);
    work(world, 200, NEAR);
    rp_timeline_mark(world->timeline, BACKWARD, NEAR);
    work(world, 1000, NEAR);
    rp_timeline_end(world->timeline);
}

static void time_counts_for_the_mark_before_it(void **state)
{
    struct world *world = *state;
    step(world);
    assert_true(rp_host_run(world->host, 1));
    assert_true(rp_timeline_is_over(world->timeline));
    assert_int_equal(rp_timeline_each(world->timeline, add, world), RP_OK);
    assert_int_equal(world->spent[FORWARD], 300);
    assert_int_equal(world->spent[COPY], 15);
    assert_int_equal(world->spent[BACKWARD], 1000);
    assert_int_equal(world->intervals, 4);
    assert_false(rp_timeline_is_parallel(world->timeline));
}

static void it_is_not_over_before_the_device_is(void **state)
{
    struct world *world = *state;
    step(world);
    assert_false(rp_timeline_is_over(world->timeline));
    assert_true(rp_host_run(world->host, 1));
    assert_true(rp_timeline_is_over(world->timeline));
}

static void it_can_be_used_again(void **state)
{
    struct world *world = *state;
    for (int i = 1; i <= 3; i++) {
        step(world);
        assert_true(rp_host_run(world->host, (uint64_t)i));
        assert_int_equal(rp_timeline_each(world->timeline, add, world), RP_OK);
        assert_int_equal(world->spent[BACKWARD], 1000 * i);
    }
}

static void what_was_spoilt_measures_nothing(void **state)
{
    struct world *world = *state;
    step(world);
    rp_timeline_spoil(world->timeline, "the reason");
    assert_true(rp_timeline_is_over(world->timeline));
    assert_int_equal(rp_timeline_each(world->timeline, add, world), RP_INVALID);
    assert_int_equal(world->intervals, 0);
    assert_string_equal(rp_timeline_spoilt(world->timeline), "the reason");
}

/* Two streams that nobody orders: under some seeds the second mark passes before the first,
 * and then there is no time to tell; under none is there a wrong one. */
static void marks_that_pass_out_of_order_spoil_it(void **state)
{
    struct world *world = *state;
    unsigned told = 0, spoilt = 0;
    for (uint64_t seed = 1; seed <= 64; seed++) {
        rp_timeline_begin(world->timeline);
        work(world, 50, NEAR);
        rp_timeline_mark(world->timeline, FORWARD, NEAR);
        work(world, 50, FAR);
        rp_timeline_mark(world->timeline, BACKWARD, FAR);
        rp_timeline_end(world->timeline);
        assert_true(rp_host_run(world->host, seed));
        assert_true(rp_timeline_is_over(world->timeline));
        assert_true(rp_timeline_is_parallel(world->timeline));
        if (rp_timeline_each(world->timeline, add, world) == RP_OK)
            told++;
        else
            spoilt++;
    }
    assert_true(told > 0 && spoilt > 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(time_counts_for_the_mark_before_it),
        TEST(it_is_not_over_before_the_device_is),
        TEST(it_can_be_used_again),
        TEST(what_was_spoilt_measures_nothing),
        TEST(marks_that_pass_out_of_order_spoil_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
