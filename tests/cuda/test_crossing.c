/* SPDX-License-Identifier: Apache-2.0 */
/* What is copied where claims cross is what the calls left there in the order in which they came,
 * whatever order the streams run in: random jobs without a race, over host memory. */
#include "cuda/driver_host.h"
#include "cuda/preserve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { BYTES = 24, CALLS = 20, STREAMS = 3, SEEDS = 1000 };
#define LIMIT (UINT64_C(16) << 20)

struct call {
    rp_stream stream;
    size_t lo, hi;     /* what it claims ... */
    bool writes[BYTES]; /* ... and what it writes of that */
    bool is_certain;    /* all of it */
    size_t from, to;    /* what is copied before it: what it claims and more, or nothing */
    unsigned char past[BYTES]; /* what stands there before it, by the order of the calls */
};

struct world {
    struct rp_host *host;
    struct rp_driver driver;
    struct rp_workbench bench;
    struct rp_kept *kept[CALLS];
    rp_alloc_id id;
    unsigned char *live;
    uint64_t random;
};

static unsigned draw(struct world *world, unsigned below)
{
    world->random = world->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(world->random >> 33) % below;
}

static struct rp_driver host_driver;
static int waits, events;

static enum rp_status counted_wait(void *self, rp_stream stream, rp_event_handle event)
{
    waits++;
    return host_driver.stream_wait(self, stream, event);
}

static enum rp_status counted_event(void *self, rp_event_handle event, rp_stream stream)
{
    events++;
    return host_driver.event_record(self, event, stream);
}

static void begin_world(struct world *world, uint64_t seed)
{
    rp_device_ptr address;
    *world = (struct world){.random = seed};
    assert_int_equal(rp_host_create(LIMIT, &world->host), RP_OK);
    host_driver = world->driver = rp_host_driver(world->host);
    world->driver.stream_wait = counted_wait;
    world->driver.event_record = counted_event;
    world->bench.driver = &world->driver;
    assert_int_equal(rp_memory_create(&world->bench.memory), RP_OK);
    assert_int_equal(rp_versions_create(&world->bench.versions), RP_OK);
    assert_int_equal(rp_order_create(&world->driver, &world->bench.order), RP_OK);
    assert_int_equal(rp_crossing_create(world->bench.order, world->bench.versions,
                                        &world->bench.crossing), RP_OK);
    assert_int_equal(rp_store_create(&world->driver, world->bench.order, &world->bench.store),
                     RP_OK);
    assert_int_equal(world->driver.alloc(world->host, BYTES, &address), RP_OK);
    assert_int_equal(rp_memory_add(world->bench.memory, RP_ALLOC_DEVICE, BYTES, address, 0, 1, NULL,
                                   &world->id), RP_OK);
    for (int i = 0; i < CALLS; i++)
        assert_int_equal(rp_kept_create(&world->kept[i]), RP_OK);
    world->live = (unsigned char *)(uintptr_t)address;
    memset(world->live, 0, BYTES);
    waits = 0;
}

static void end_world(struct world *world)
{
    for (int i = 0; i < CALLS; i++)
        rp_kept_destroy(world->kept[i]);
    rp_store_destroy(world->bench.store);
    rp_crossing_destroy(world->bench.crossing);
    rp_order_destroy(world->bench.order);
    rp_versions_destroy(world->bench.versions);
    rp_memory_destroy(world->bench.memory);
    rp_host_destroy(world->host);
}

/* ---- a job ------------------------------------------------------------------------------ */

struct work {
    unsigned char *live, value;
    bool writes[BYTES];
};

static void run_work(void *ctx)
{
    const struct work *work = ctx;
    for (int i = 0; i < BYTES; i++)
        if (work->writes[i])
            work->live[i] = work->value;
}

static void submit(struct world *world, const struct call *call, unsigned char value)
{
    struct work *work = malloc(sizeof *work);
    *work = (struct work){.live = world->live, .value = value};
    memcpy(work->writes, call->writes, sizeof work->writes);
    assert_int_equal(rp_host_submit(world->host, call->stream, run_work, work), RP_OK);
}

/* The job's own events: who writes the same bytes comes in turn. */
static void order_by_job(struct world *world, const struct call *calls, int at)
{
    for (int i = 0; i < at; i++) {
        bool meets = false;
        for (int j = 0; j < BYTES; j++)
            meets |= calls[i].writes[j] && calls[at].writes[j];
        rp_event_handle event;
        if (!meets || calls[i].stream == calls[at].stream)
            continue;
        assert_int_equal(host_driver.event_create(world->host, calls[i].stream, &event), RP_OK);
        assert_int_equal(host_driver.event_record(world->host, event, calls[i].stream), RP_OK);
        assert_int_equal(host_driver.stream_wait(world->host, calls[at].stream, event), RP_OK);
    }
}

/* As the layer does it. */
static void make_call(struct world *world, const struct call *call, int at)
{
    const struct rp_workbench *bench = &world->bench;
    const struct rp_writer writer = {.version = (rp_version)at + 1, .stream = call->stream};
    assert_int_equal(rp_order_meet(bench->order, call->stream), RP_OK);
    assert_int_equal(rp_crossing_after_copies(bench->crossing, world->id, call->lo, call->hi,
                                              call->stream), RP_OK);
    if (call->to)
        assert_int_equal(rp_kept_preserve(world->kept[at], bench, world->id, call->from, call->to,
                                          call->stream), RP_OK);
    if (call->to && (!call->is_certain || call->from < call->lo || call->to > call->hi))
        assert_int_equal(rp_crossing_copied(bench->crossing, world->id, call->from, call->to,
                                            call->stream), RP_OK);
    submit(world, call, (unsigned char)(at + 1));
    if (!call->is_certain)
        rp_crossing_claim(bench->crossing, world->id, call->lo, call->hi, call->stream);
    assert_int_equal(rp_versions_write(bench->versions, world->id, call->lo, call->hi, &writer),
                     RP_OK);
}

static void assert_copied(const struct world *world, const struct call *calls, uint64_t seed)
{
    for (int i = 0; i < CALLS; i++) {
        const struct rp_copies *copies = &world->kept[i]->copies;
        for (size_t j = 0; j < copies->count; j++) {
            const unsigned char *copy = (const unsigned char *)(uintptr_t)copies->items[j].block.at;
            for (size_t at = calls[i].from; at < calls[i].to; at++)
                if (copy[at - calls[i].from] != calls[i].past[at])
                    fail_msg("seed %d: byte %zu, copied before call %d, is of call %d, not %d",
                             (int)seed, at, i, copy[at - calls[i].from], calls[i].past[at]);
        }
    }
}

static void what_is_copied_is_what_came_before(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct call calls[CALLS] = {0};
        unsigned char now[BYTES] = {0};
        struct world world;
        begin_world(&world, seed);
        for (int i = 0; i < CALLS; i++) {
            struct call *call = &calls[i];
            call->stream = 1 + draw(&world, STREAMS);
            call->lo = draw(&world, BYTES - 1);
            call->hi = call->lo + 1 + draw(&world, (unsigned)(BYTES - call->lo));
            call->is_certain = draw(&world, 4) == 0;
            if (draw(&world, 2)) {
                call->from = draw(&world, (unsigned)call->lo + 1);
                call->to = BYTES - draw(&world, (unsigned)(BYTES - call->hi) + 1);
            }
            memcpy(call->past, now, sizeof now);
            for (size_t at = call->lo; at < call->hi; at++)
                if ((call->writes[at] = call->is_certain || draw(&world, 6) == 0))
                    now[at] = (unsigned char)(i + 1);
            order_by_job(&world, calls, i);
            make_call(&world, call, i);
        }
        assert_true(rp_host_run(world.host, seed));
        assert_copied(&world, calls, seed);
        assert_memory_equal(world.live, now, BYTES);
        end_world(&world);
    }
}

/* ---- who need not wait ---------------------------------------------------------------- */

static const struct call all_even = {.stream = 1, .hi = BYTES, .to = BYTES,
                                     .writes = {[0] = true, [2] = true}};

static void nobody_waits_in_one_stream(void **state)
{
    (void)state;
    struct world world;
    begin_world(&world, 1);
    for (int i = 0; i < CALLS; i++)
        make_call(&world, &all_even, i);
    assert_int_equal(waits, 0);
    assert_true(rp_host_run(world.host, 1));
    end_world(&world);
}

static void nobody_waits_for_a_copy_of_what_is_certainly_written(void **state)
{
    (void)state;
    struct call certain = all_even, beside = all_even;
    struct world world;
    certain.is_certain = true;
    beside.stream = 2;
    beside.to = 0;
    begin_world(&world, 1);
    make_call(&world, &beside, 0);
    waits = 0;
    make_call(&world, &certain, 1);
    waits = 0; /* for whoever wrote before */
    make_call(&world, &beside, 2);
    assert_int_equal(waits, 0);
    assert_true(rp_host_run(world.host, 1));
    end_world(&world);
}

/* Whoever waits for the second has waited for the first. */
static void a_copy_over_a_copy_waits_for_it(void **state)
{
    (void)state;
    const struct call first = {.stream = 1, .hi = 4, .from = 16, .to = BYTES};
    const struct call second = {.stream = 2, .lo = 8, .hi = 12, .from = 16, .to = BYTES};
    struct world world;
    begin_world(&world, 1);
    make_call(&world, &first, 0);
    make_call(&world, &second, 1);
    assert_int_equal(waits, 1);
    assert_true(rp_host_run(world.host, 1));
    end_world(&world);
}

static void a_stream_waits_once_for_a_copy(void **state)
{
    (void)state;
    struct call beside = all_even;
    struct world world;
    beside.stream = 2;
    beside.to = 0;
    begin_world(&world, 1);
    make_call(&world, &all_even, 0);
    make_call(&world, &beside, 1);
    assert_int_equal(waits, 1);
    make_call(&world, &beside, 2);
    assert_int_equal(waits, 1);
    rp_crossing_opened(world.bench.crossing, 2); /* another one by that handle */
    make_call(&world, &beside, 3);
    assert_int_equal(waits, 2);
    rp_crossing_forget(world.bench.crossing, world.id);
    rp_crossing_opened(world.bench.crossing, 2);
    make_call(&world, &beside, 4);
    assert_int_equal(waits, 2);
    assert_true(rp_host_run(world.host, 1));
    end_world(&world);
}

/* ---- replays ---------------------------------------------------------------------------- */

static void begin_streams(struct world *world)
{
    begin_world(world, 1);
    for (rp_stream stream = 1; stream <= STREAMS; stream++)
        assert_int_equal(rp_order_mark(world->bench.order, stream), RP_OK);
}

static struct rp_crosser crosser(const struct world *world, rp_stream stream, bool writes)
{
    return (struct rp_crosser){.id = world->id, .lo = 4, .hi = 8, .stream = stream,
                               .writes = writes};
}

static int waits_of(struct world *world, struct rp_crosser call)
{
    int before = waits;
    assert_int_equal(rp_crossing_after_replays(world->bench.crossing, &call), RP_OK);
    return waits - before;
}

static void who_overwrites_what_a_replay_reads_waits_once(void **state)
{
    (void)state;
    struct world world;
    begin_streams(&world);
    const struct rp_crosser read = crosser(&world, 1, false);
    struct rp_crosser beside = crosser(&world, 2, true);
    beside.lo = beside.hi;
    beside.hi++;
    rp_crossing_replayed(world.bench.crossing, &read);
    assert_int_equal(waits_of(&world, beside), 0);
    assert_int_equal(waits_of(&world, crosser(&world, 2, false)), 0);
    assert_int_equal(waits_of(&world, crosser(&world, 1, true)), 0);
    assert_int_equal(waits_of(&world, crosser(&world, 2, true)), 1);
    assert_int_equal(waits_of(&world, crosser(&world, 2, true)), 0);
    assert_int_equal(waits_of(&world, crosser(&world, 3, true)), 1);
    rp_crossing_replayed(world.bench.crossing, &read);
    assert_int_equal(waits_of(&world, crosser(&world, 2, true)), 1);
    end_world(&world);
}

static void who_meets_what_a_replay_writes_waits(void **state)
{
    (void)state;
    struct world world;
    begin_streams(&world);
    struct rp_crosser write = crosser(&world, 1, true), twin = crosser(&world, 2, false);
    write.instance = 7;
    rp_crossing_replayed(world.bench.crossing, &write);
    twin.instance = 7; /* the replay's own */
    assert_int_equal(waits_of(&world, twin), 0);
    twin.instance = 8;
    assert_int_equal(waits_of(&world, twin), 1);
    assert_int_equal(waits_of(&world, crosser(&world, 3, true)), 1);
    end_world(&world);
}

/* What a stream is given behind a replay's end is none of those who meet the replay. */
static void after_its_end_nobody_waits_for_more_than_the_replay(void **state)
{
    (void)state;
    struct world world;
    begin_streams(&world);
    const struct rp_crosser read = crosser(&world, 1, false);
    rp_crossing_replayed(world.bench.crossing, &read);
    rp_crossing_replay_over(world.bench.crossing);
    events = 0;
    assert_int_equal(waits_of(&world, crosser(&world, 2, true)), 1);
    assert_int_equal(events, 0);
    end_world(&world);
}

static void nobody_waits_for_what_was_released(void **state)
{
    (void)state;
    struct world world;
    begin_streams(&world);
    const struct rp_crosser read = crosser(&world, 1, false);
    rp_crossing_replayed(world.bench.crossing, &read);
    rp_crossing_released(world.bench.crossing);
    assert_int_equal(waits_of(&world, crosser(&world, 2, true)), 0);
    rp_crossing_replayed(world.bench.crossing, &read);
    rp_crossing_forget(world.bench.crossing, world.id);
    assert_int_equal(waits_of(&world, crosser(&world, 2, true)), 0);
    end_world(&world);
}

/* Of a lone stream's replay nothing is noted: whoever comes later waits for it, once. */
static void a_replay_in_the_only_stream_is_waited_for_by_whoever_comes(void **state)
{
    (void)state;
    struct world world;
    begin_world(&world, 1);
    const struct rp_crosser read = crosser(&world, 1, false);
    assert_int_equal(rp_order_mark(world.bench.order, 1), RP_OK);
    rp_crossing_replayed(world.bench.crossing, &read);
    assert_int_equal(waits_of(&world, crosser(&world, 1, true)), 0);
    assert_int_equal(rp_order_mark(world.bench.order, 2), RP_OK);
    assert_int_equal(waits_of(&world, crosser(&world, 2, true)), 1);
    assert_int_equal(waits_of(&world, crosser(&world, 2, true)), 0);
    assert_int_equal(waits_of(&world, crosser(&world, 1, true)), 0);
    end_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_copied_is_what_came_before),
        cmocka_unit_test(nobody_waits_in_one_stream),
        cmocka_unit_test(nobody_waits_for_a_copy_of_what_is_certainly_written),
        cmocka_unit_test(a_copy_over_a_copy_waits_for_it),
        cmocka_unit_test(a_stream_waits_once_for_a_copy),
        cmocka_unit_test(who_overwrites_what_a_replay_reads_waits_once),
        cmocka_unit_test(who_meets_what_a_replay_writes_waits),
        cmocka_unit_test(after_its_end_nobody_waits_for_more_than_the_replay),
        cmocka_unit_test(nobody_waits_for_what_was_released),
        cmocka_unit_test(a_replay_in_the_only_stream_is_waited_for_by_whoever_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
