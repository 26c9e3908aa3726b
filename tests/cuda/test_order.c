/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for whom: as little as possible, and also where streams capture, go, or come back. */
#include "world.h"

static enum rp_status (*real_wait)(void *self, rp_stream stream, rp_event_handle event);
static int waits;

static enum rp_status counted_wait(void *self, rp_stream stream, rp_event_handle event)
{
    waits++;
    return real_wait(self, stream, event);
}

/* Of three streams that are known, from now on. */
static void count_waits(struct world *world)
{
    settle(world);
    real_wait = world->driver.stream_wait;
    world->driver.stream_wait = counted_wait;
    for (rp_stream stream = 1; stream <= 3; stream++)
        assert_int_equal(rp_order_meet(world->bench.order, stream), RP_OK);
    waits = 0;
}

static void nobody_waits_where_nothing_is_rewound(void **state)
{
    (void)state;
    struct world world = begin_world();
    count_waits(&world);
    end_replay(begin_replay(&world, 1));
    assert_int_equal(waits, 0);
    struct rp_transaction *transaction = begin_replay(&world, 1);
    assert_int_equal(rp_transaction_stash(transaction, world.id, 0, 8, 1), RP_OK);
    assert_true(waits >= 2); /* for what the other two hold */
    end_replay(transaction);
    assert_true(waits >= 6);
    end_world(&world);
}

static void a_stream_that_captured_waits_for_what_was_released_meanwhile(void **state)
{
    (void)state;
    struct world world = begin_world();
    count_waits(&world);
    rp_host_capture(world.host, 2);
    assert_int_equal(rp_order_release(world.bench.order, 1), RP_OK);
    assert_int_equal(rp_order_meet(world.bench.order, 2), RP_OK);
    assert_int_equal(waits, 1); /* the third */
    rp_host_capture(world.host, 1);
    assert_int_equal(rp_order_meet(world.bench.order, 2), RP_OK);
    assert_int_equal(waits, 2);
    rp_host_capture(world.host, 0);
    assert_int_equal(rp_order_meet(world.bench.order, 2), RP_OK);
    assert_int_equal(waits, 2);
    end_world(&world);
}

static void what_a_stream_held_when_it_began_to_capture_is_waited_for(void **state)
{
    (void)state;
    struct world world = begin_world();
    count_waits(&world);
    assert_int_equal(rp_order_seal(world.bench.order, 2), RP_OK);
    rp_host_capture(world.host, 2);
    assert_int_equal(rp_order_after(world.bench.order, 1, 2), RP_OK);
    assert_int_equal(waits, 1);
    assert_int_equal(rp_order_gather(world.bench.order, 1), RP_OK);
    assert_int_equal(waits, 3);
    rp_host_capture(world.host, 3); /* drawn in by another: where it stood then nobody knows */
    assert_int_equal(rp_order_after(world.bench.order, 1, 3), RP_UNSUPPORTED);
    assert_int_equal(waits, 3);
    rp_host_capture(world.host, 0);
    end_world(&world);
}

static void a_stream_by_an_old_handle_comes_after_what_that_one_held(void **state)
{
    (void)state;
    struct world world = begin_world();
    count_waits(&world);
    assert_int_equal(rp_order_retire(world.bench.order, 2), RP_OK);
    rp_order_revive(world.bench.order, 2);
    assert_int_equal(waits, 0);
    assert_int_equal(rp_order_meet(world.bench.order, 2), RP_OK);
    assert_int_equal(waits, 1);
    assert_int_equal(rp_order_meet(world.bench.order, 2), RP_OK);
    assert_int_equal(waits, 1);
    end_world(&world);
}

static enum rp_status unwanted_record(void *self, rp_event_handle event, rp_stream stream)
{
    (void)self, (void)event, (void)stream;
    fail_msg("it would be a part of the capture");
    return RP_OK;
}

static void a_stream_that_goes_while_it_captures_is_waited_for_as_it_was(void **state)
{
    (void)state;
    struct world world = begin_world();
    count_waits(&world);
    assert_int_equal(rp_order_seal(world.bench.order, 2), RP_OK);
    rp_host_capture(world.host, 2);
    world.driver.event_record = unwanted_record;
    assert_int_equal(rp_order_retire(world.bench.order, 2), RP_OK);
    rp_host_capture(world.host, 0);
    assert_int_equal(rp_order_after(world.bench.order, 1, 2), RP_OK);
    assert_int_equal(waits, 1);
    end_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_waits_where_nothing_is_rewound),
        cmocka_unit_test(a_stream_that_captured_waits_for_what_was_released_meanwhile),
        cmocka_unit_test(what_a_stream_held_when_it_began_to_capture_is_waited_for),
        cmocka_unit_test(a_stream_by_an_old_handle_comes_after_what_that_one_held),
        cmocka_unit_test(a_stream_that_goes_while_it_captures_is_waited_for_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
