/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/tracker/check.h"
#include "tracker/turn.h"

enum { LEGACY = 1, SIDE = 0x100, OTHER = 0x200, BLOCKING = 0x300 };
enum { EVENT = 0x1000, SECOND = 0x2000 };

static int setup(void **state)
{
    struct rp_turns *turns;
    if (rp_turns_create((struct rp_turns **)state) != RP_OK)
        return -1;
    turns = *state;
    rp_turns_take(turns, LEGACY, 1);
    return rp_turns_open(turns, SIDE, false, 1) == RP_OK ? 0 : -1;
}

static int teardown(void **state)
{
    rp_turns_destroy(*state);
    return 0;
}

static void streams_that_wait_are_one_line(void **state)
{
    struct rp_turns *turns = *state;
    assert_int_equal(rp_turns_line(turns, BLOCKING, LEGACY), LEGACY);
    assert_int_equal(rp_turns_line(turns, SIDE, LEGACY), SIDE);
    assert_true(rp_turns_after(turns, LEGACY, LEGACY, 5));
    assert_false(rp_turns_are_plain(turns));
}

static void nothing_orders_others_by_itself(void **state)
{
    struct rp_turns *turns = *state;
    rp_turns_take(turns, SIDE, 2);
    rp_turns_take(turns, LEGACY, 3);
    assert_false(rp_turns_after(turns, LEGACY, SIDE, 2));
    assert_false(rp_turns_after(turns, SIDE, LEGACY, 3));
}

static void an_event_orders_what_came_before_it(void **state)
{
    struct rp_turns *turns = *state;
    rp_turns_take(turns, SIDE, 4);
    rp_turns_record(turns, EVENT, SIDE, 4);
    rp_turns_take(turns, SIDE, 5);
    rp_turns_wait(turns, LEGACY, EVENT);
    assert_true(rp_turns_after(turns, LEGACY, SIDE, 4));
    assert_false(rp_turns_after(turns, LEGACY, SIDE, 5));
    assert_false(rp_turns_after(turns, SIDE, LEGACY, 4));
}

static void events_that_are_forgotten_order_nothing(void **state)
{
    struct rp_turns *turns = *state;
    rp_turns_take(turns, SIDE, 4);
    rp_turns_record(turns, EVENT, SIDE, 4);
    rp_turns_forget_events(turns);
    rp_turns_wait(turns, LEGACY, EVENT);
    assert_false(rp_turns_after(turns, LEGACY, SIDE, 4));
}

static void order_goes_through_others(void **state)
{
    struct rp_turns *turns = *state;
    assert_int_equal(rp_turns_open(turns, OTHER, false, 3), RP_OK);
    rp_turns_record(turns, EVENT, SIDE, 6);
    rp_turns_wait(turns, OTHER, EVENT);
    rp_turns_record(turns, SECOND, OTHER, 7);
    rp_turns_wait(turns, LEGACY, SECOND);
    assert_true(rp_turns_after(turns, LEGACY, SIDE, 6));
    assert_true(rp_turns_after(turns, LEGACY, OTHER, 7));
}

static void what_the_host_has_seen_comes_before_all(void **state)
{
    struct rp_turns *turns = *state;
    rp_turns_settle(turns, SIDE, 8);
    assert_true(rp_turns_after(turns, LEGACY, SIDE, 8));
    assert_false(rp_turns_after(turns, LEGACY, SIDE, 9));
    rp_turns_record(turns, EVENT, LEGACY, 10);
    rp_turns_settle_event(turns, EVENT);
    assert_true(rp_turns_after(turns, SIDE, LEGACY, 10));
}

static void an_event_that_is_gone_says_nothing(void **state)
{
    struct rp_turns *turns = *state;
    rp_turns_record(turns, EVENT, SIDE, 4);
    rp_turns_forget(turns, EVENT);
    rp_turns_wait(turns, LEGACY, EVENT);
    assert_false(rp_turns_after(turns, LEGACY, SIDE, 4));
}

static void a_handle_that_comes_back_is_another_stream(void **state)
{
    struct rp_turns *turns = *state;
    rp_turns_take(turns, SIDE, 5);
    assert_int_equal(rp_turns_open(turns, SIDE, false, 6), RP_OK);
    rp_turns_settle(turns, SIDE, 9);
    assert_false(rp_turns_after(turns, LEGACY, SIDE, 5)); /* may still be under way */
    assert_false(rp_turns_after(turns, SIDE, SIDE, 5));
    assert_true(rp_turns_after(turns, LEGACY, SIDE, 9));
}

static void of_too_many_nothing_is_known(void **state)
{
    struct rp_turns *turns = *state;
    enum rp_status status = RP_OK;
    rp_turns_settle(turns, SIDE, 9);
    for (uint64_t stream = 0x10000; status == RP_OK; stream++)
        status = rp_turns_open(turns, stream, false, 2);
    assert_int_equal(status, RP_NO_MEMORY);
    assert_false(rp_turns_after(turns, LEGACY, SIDE, 9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(streams_that_wait_are_one_line, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_orders_others_by_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(an_event_orders_what_came_before_it, setup, teardown),
        cmocka_unit_test_setup_teardown(events_that_are_forgotten_order_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(order_goes_through_others, setup, teardown),
        cmocka_unit_test_setup_teardown(what_the_host_has_seen_comes_before_all, setup, teardown),
        cmocka_unit_test_setup_teardown(an_event_that_is_gone_says_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_handle_that_comes_back_is_another_stream, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(of_too_many_nothing_is_known, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
