/* SPDX-License-Identifier: Apache-2.0 */
/* The trace's clock against the kernel's. */
#include "tests/tracker/check.h"
#include "tracker/trace_clock.h"

#include <pthread.h>
#include <unistd.h>

enum { CLOSE_NS = 20000 }; /* between asking one and asking the other, on a busy machine */

/* The least difference of many: a busy machine may part the two questions. */
static int64_t difference(struct rp_trace_clock *clock)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < 1000; i++) {
        int64_t ours = (int64_t)rp_trace_clock_now(clock);
        int64_t its = (int64_t)(rp_trace_clock_monotonic() - clock->start_ns);
        int64_t apart = its > ours ? its - ours : ours - its;
        least = apart < least ? apart : least;
    }
    return least;
}

static void it_tells_the_kernels_time(void **state)
{
    (void)state;
    struct rp_trace_clock clock = {0};

    rp_trace_clock_start(&clock);
    for (int round = 0; round < 5; round++) {
        assert_in_range(difference(&clock), 0, CLOSE_NS);
        usleep(25000);
        rp_trace_clock_compare(&clock);
    }
    for (int i = 0; clock.may_tick && clock.rate == 0 && i < 1000; i++)
        rp_trace_clock_compare(&clock); /* a busy machine may have interrupted each */
    assert_true(!clock.may_tick || clock.rate > 0);
    usleep(200000); /* and goes on right until it is compared again */
    assert_in_range(difference(&clock), 0, CLOSE_NS);
}

static void too_short_a_stretch_gives_no_rate(void **state)
{
    (void)state;
    struct rp_trace_clock clock = {0};

    rp_trace_clock_start(&clock);
    rp_trace_clock_compare(&clock);
    if (rp_trace_clock_now(&clock) < 10000000)
        assert_int_equal(clock.rate, 0);
}

/* ---- while it is compared ------------------------------------------------------------- */

static struct rp_trace_clock shared;
static atomic_bool over;

static void *compare_on(void *unused)
{
    (void)unused;
    while (!atomic_load(&over))
        rp_trace_clock_compare(&shared);
    return NULL;
}

static void reading_while_it_changes_is_never_torn(void **state)
{
    (void)state;
    pthread_t thread;

    rp_trace_clock_start(&shared);
    usleep(25000);
    assert_int_equal(pthread_create(&thread, NULL, compare_on, NULL), 0);
    for (int i = 0; i < 300000; i++) {
        uint64_t before = rp_trace_clock_monotonic() - shared.start_ns;
        uint64_t now = rp_trace_clock_now(&shared);
        uint64_t after = rp_trace_clock_monotonic() - shared.start_ns;
        assert_true(now + CLOSE_NS >= before && now <= after + CLOSE_NS);
    }
    atomic_store(&over, true);
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_tells_the_kernels_time),
        cmocka_unit_test(too_short_a_stretch_gives_no_rate),
        cmocka_unit_test(reading_while_it_changes_is_never_torn),
    };
    return cmocka_run_group_tests_name("trace clock", tests, NULL, NULL);
}
