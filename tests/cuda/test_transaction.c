/* SPDX-License-Identifier: Apache-2.0 */
/* The laws of a transaction, over host memory whose streams run in every legal order. */
#include "cuda/driver_host.h"
#include "cuda/transaction.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { BYTES = 64, SEEDS = 200 };
#define LIMIT (UINT64_C(16) << 20)

struct world {
    struct rp_host *host;
    struct rp_driver driver;
    struct rp_bench bench;
    struct rp_kept *kept;
    rp_alloc_id id;
    unsigned char *live;
    rp_version version;
};

static struct world begin_world(void)
{
    struct world world = {0};
    rp_device_ptr address;
    assert_int_equal(rp_host_create(LIMIT, &world.host), RP_OK);
    world.driver = rp_host_driver(world.host);
    assert_int_equal(rp_memory_create(&world.bench.memory), RP_OK);
    assert_int_equal(rp_versions_create(&world.bench.versions), RP_OK);
    assert_int_equal(world.driver.alloc(world.host, BYTES, &address), RP_OK);
    assert_int_equal(rp_memory_add(world.bench.memory, RP_ALLOC_DEVICE, BYTES, address, 0, 1, NULL,
                                   &world.id),
                     RP_OK);
    assert_int_equal(rp_kept_create(&world.kept), RP_OK);
    world.live = (unsigned char *)(uintptr_t)address;
    memset(world.live, 'a', BYTES);
    return world;
}

/* The bench points into the world, so it is finished where the world stands. */
static void settle(struct world *world)
{
    world->bench.driver = &world->driver;
    assert_int_equal(rp_order_create(&world->driver, &world->bench.order), RP_OK);
    assert_int_equal(rp_crossing_create(world->bench.order, world->bench.versions,
                                        &world->bench.crossing),
                     RP_OK);
    assert_int_equal(rp_store_create(&world->driver, world->bench.order, &world->bench.store),
                     RP_OK);
}

static void end_world(struct world *world)
{
    rp_host_run(world->host, 1);
    rp_kept_destroy(world->kept);
    rp_store_destroy(world->bench.store);
    rp_crossing_destroy(world->bench.crossing);
    rp_order_destroy(world->bench.order);
    rp_versions_destroy(world->bench.versions);
    rp_memory_destroy(world->bench.memory);
    rp_host_destroy(world->host);
}

/* ---- the job's own work ----------------------------------------------------------- */

struct fill {
    unsigned char *at;
    size_t bytes;
    unsigned char value;
};

static void run_fill(void *ctx)
{
    const struct fill *fill = ctx;
    memset(fill->at, fill->value, fill->bytes);
}

/* A write by the job: bytes when its turn comes, versions at once. */
static void job_writes(struct world *world, rp_stream stream, size_t lo, size_t hi,
                       unsigned char value)
{
    struct fill *fill = malloc(sizeof *fill);
    *fill = (struct fill){world->live + lo, hi - lo, value};
    assert_int_equal(rp_host_submit(world->host, stream, run_fill, fill), RP_OK);
    const struct rp_writer writer = {.version = ++world->version, .stream = stream,
                                     .seq = world->version};
    assert_int_equal(rp_versions_write(world->bench.versions, world->id, lo, hi, &writer), RP_OK);
}

struct look {
    const unsigned char *at;
    unsigned char *out;
};

static void run_look(void *ctx)
{
    const struct look *look = ctx;
    memcpy(look->out, look->at, BYTES);
}

/* What a kernel of the job would see in its turn. */
static void job_reads(struct world *world, rp_stream stream, unsigned char *out)
{
    struct look *look = malloc(sizeof *look);
    *look = (struct look){world->live, out};
    assert_int_equal(rp_host_submit(world->host, stream, run_look, look), RP_OK);
}

static void preserve(struct world *world, size_t lo, size_t hi, rp_stream stream)
{
    assert_int_equal(rp_kept_preserve(world->kept, &world->bench, world->id, lo, hi, stream),
                     RP_OK);
}

static struct rp_transaction *begin(struct world *world, rp_stream stream)
{
    struct rp_transaction *transaction;
    assert_int_equal(rp_transaction_begin(&world->bench, world->kept, NULL, NULL, stream,
                                          &transaction),
                     RP_OK);
    return transaction;
}

static void end(struct rp_transaction *transaction)
{
    assert_int_equal(rp_transaction_end(transaction, NULL), RP_OK);
}

static void assert_bytes(const unsigned char *bytes, size_t lo, size_t hi, unsigned char value)
{
    for (size_t i = lo; i < hi; i++)
        if (bytes[i] != value)
            fail_msg("byte %zu is %d, not '%c'", i, bytes[i], value);
}

static rp_version version_at(const struct world *world, uint64_t at);

static enum rp_status take_version(void *ctx, uint64_t lo, uint64_t hi,
                                   const struct rp_writer *writer)
{
    (void)lo, (void)hi;
    *(rp_version *)ctx = writer->version;
    return RP_OK;
}

static rp_version version_at(const struct world *world, uint64_t at)
{
    rp_version version = UINT64_MAX;
    assert_int_equal(rp_versions_read(world->bench.versions, world->id, at, at + 1, take_version,
                                      &version),
                     RP_OK);
    return version;
}

/* ---- laws --------------------------------------------------------------------------- */

static void the_replay_sees_its_past(void **state)
{
    (void)state;
    unsigned char seen[BYTES];
    struct world world = begin_world();
    settle(&world);
    job_writes(&world, 1, 0, BYTES, 'p');
    rp_version past = world.version;
    preserve(&world, 8, 24, 1);
    job_writes(&world, 1, 8, 24, 'n');
    struct rp_transaction *transaction = begin(&world, 1);
    assert_int_equal(version_at(&world, 8), past);
    job_reads(&world, 1, seen);
    end(transaction);
    rp_host_run(world.host, 1);
    assert_bytes(seen, 0, BYTES, 'p');
    end_world(&world);
}

static void it_leaves_no_trace(void **state)
{
    (void)state;
    struct world world = begin_world();
    settle(&world);
    preserve(&world, 8, 24, 1);
    job_writes(&world, 1, 8, 24, 'n');
    rp_version now = world.version;
    struct rp_transaction *transaction = begin(&world, 1);
    assert_int_equal(rp_transaction_stash(transaction, world.id, 30, 40, 1), RP_OK);
    job_writes(&world, 1, 8, 40, 'r'); /* the replay steps the state once more */
    end(transaction);
    rp_host_run(world.host, 1);
    assert_bytes(world.live, 0, 8, 'a');
    assert_bytes(world.live, 8, 24, 'n');
    assert_bytes(world.live, 24, 30, 'r'); /* its output: not stashed, so it stays */
    assert_bytes(world.live, 30, 40, 'a');
    assert_int_equal(version_at(&world, 8), now);
    assert_int_equal(version_at(&world, 30), 0);
    end_world(&world);
}

static void live_writes_survive(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct world world = begin_world();
        settle(&world);
        preserve(&world, 0, 32, 1);
        job_writes(&world, 1, 0, 32, 'n');
        struct rp_transaction *transaction = begin(&world, 1);
        /* A gradient arrives in another stream while the bytes around it are rewound. */
        assert_int_equal(rp_transaction_join(transaction, 2), RP_OK);
        assert_int_equal(rp_transaction_live_write(transaction, world.id, 10, 20), RP_OK);
        job_writes(&world, 2, 10, 20, 'g');
        end(transaction);
        assert_true(rp_host_run(world.host, seed));
        assert_bytes(world.live, 0, 10, 'n');
        assert_bytes(world.live, 10, 20, 'g');
        assert_bytes(world.live, 20, 32, 'n');
        end_world(&world);
    }
}

static void content_is_kept_and_not_a_pointer(void **state)
{
    (void)state;
    unsigned char seen[BYTES];
    struct world world = begin_world();
    settle(&world);
    preserve(&world, 0, BYTES, 1);
    job_writes(&world, 1, 0, BYTES, 'n');
    job_writes(&world, 1, 0, BYTES, 'm');
    struct rp_transaction *transaction = begin(&world, 1);
    job_reads(&world, 1, seen);
    end(transaction);
    rp_host_run(world.host, 1);
    assert_bytes(seen, 0, BYTES, 'a');
    assert_bytes(world.live, 0, BYTES, 'm');
    end_world(&world);
}

static void the_stash_waits_for_writers_in_other_streams(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct world world = begin_world();
        settle(&world);
        preserve(&world, 0, BYTES, 2);
        job_writes(&world, 2, 0, BYTES, 'n');
        end(begin(&world, 1)); /* nothing orders stream 1 after stream 2 but we ourselves */
        assert_true(rp_host_run(world.host, seed));
        assert_bytes(world.live, 0, BYTES, 'n');
        end_world(&world);
    }
}

static void a_replay_may_use_several_streams(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        unsigned char seen[BYTES], after[BYTES];
        struct world world = begin_world();
        settle(&world);
        preserve(&world, 0, BYTES, 1);
        job_writes(&world, 1, 0, BYTES, 'n');
        struct rp_transaction *transaction = begin(&world, 1);
        assert_int_equal(rp_transaction_join(transaction, 3), RP_OK);
        job_reads(&world, 3, seen);
        end(transaction);
        job_reads(&world, 3, after);
        assert_true(rp_host_run(world.host, seed));
        assert_bytes(seen, 0, BYTES, 'a');
        assert_bytes(after, 0, BYTES, 'n');
        end_world(&world);
    }
}

static void a_full_device_rolls_back(void **state)
{
    (void)state;
    struct world world = begin_world();
    settle(&world);
    preserve(&world, 0, 32, 1);
    preserve(&world, 32, BYTES, 1);
    job_writes(&world, 1, 0, BYTES, 'n');
    rp_version now = world.version;
    /* Fill the store, so that the transaction's second stash finds no room. */
    rp_store_limit(world.bench.store, rp_store_reserved(world.bench.store));
    struct rp_block filler[4096];
    size_t count = 0;
    while (count < 4096 && rp_store_take(world.bench.store, 256, 1, &filler[count]) == RP_OK)
        count++;
    assert_in_range(count, 1, 4095);
    assert_int_equal(rp_store_give(world.bench.store, &filler[--count], 1), RP_OK);
    struct rp_transaction *transaction;
    assert_int_equal(rp_transaction_begin(&world.bench, world.kept, NULL, NULL, 1, &transaction),
                     RP_NO_MEMORY);
    rp_host_run(world.host, 1);
    assert_bytes(world.live, 0, BYTES, 'n');
    assert_int_equal(version_at(&world, 0), now);
    assert_int_equal(version_at(&world, BYTES - 1), now);
    end_world(&world);
}

static void the_dead_are_not_restored(void **state)
{
    (void)state;
    struct world world = begin_world();
    settle(&world);
    preserve(&world, 0, BYTES, 1);
    job_writes(&world, 1, 0, BYTES, 'n');
    assert_int_equal(rp_memory_free(world.bench.memory, world.id, 9), RP_OK);
    /* Its address is another allocation's now; nothing of the old one may reach it. */
    rp_alloc_id heir;
    assert_int_equal(rp_memory_add(world.bench.memory, RP_ALLOC_DEVICE, BYTES,
                                   (uintptr_t)world.live, 0, 10, NULL, &heir),
                     RP_OK);
    end(begin(&world, 1));
    rp_host_run(world.host, 1);
    assert_bytes(world.live, 0, BYTES, 'n');
    end_world(&world);
}

static void aliases_are_one_place(void **state)
{
    (void)state;
    unsigned char seen[BYTES];
    struct world world = begin_world();
    settle(&world);
    /* The same storage in two mappings that meet in the middle. */
    uint64_t base = (uintptr_t)world.live;
    assert_int_equal(rp_memory_unmap(world.bench.memory, base, BYTES), RP_OK);
    assert_int_equal(rp_memory_map(world.bench.memory, base, 40, world.id, 0), RP_OK);
    assert_int_equal(rp_memory_map(world.bench.memory, base + 40, BYTES - 40, world.id, 40), RP_OK);
    preserve(&world, 30, 50, 1);
    job_writes(&world, 1, 30, 50, 'n');
    struct rp_transaction *transaction = begin(&world, 1);
    job_reads(&world, 1, seen);
    end(transaction);
    rp_host_run(world.host, 1);
    assert_bytes(seen, 0, BYTES, 'a');
    assert_bytes(world.live, 30, 50, 'n');
    end_world(&world);
}

/* A second instance wants what the first one's transaction has stashed: it gets its own copy,
 * of just the versions that it expects. */
static void the_stash_serves_other_instances(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct world world = begin_world();
        struct rp_kept *other;
        struct rp_versions *expected;
        struct rp_spans handed = {0};
        settle(&world);
        assert_int_equal(rp_kept_create(&other), RP_OK);
        assert_int_equal(rp_versions_create(&expected), RP_OK);
        preserve(&world, 0, 32, 1);
        job_writes(&world, 1, 0, 32, 'n');
        const struct rp_writer wanted = {.version = world.version};
        job_writes(&world, 1, 24, 32, 'm'); /* not what the other one saw */
        assert_int_equal(rp_versions_write(expected, world.id, 0, 32, &wanted), RP_OK);
        struct rp_transaction *transaction = begin(&world, 1);
        assert_int_equal(rp_transaction_hand_on(transaction, other, expected, world.id, 8, 40, 2,
                                                &handed),
                         RP_OK);
        assert_int_equal(handed.count, 1);
        assert_int_equal(handed.items[0].lo, 8);
        assert_int_equal(handed.items[0].hi, 24);
        /* The stashed bytes are replaced for good: the copy is all that is left of them. */
        assert_int_equal(rp_transaction_join(transaction, 2), RP_OK);
        assert_int_equal(rp_transaction_live_write(transaction, world.id, 8, 24), RP_OK);
        job_writes(&world, 2, 8, 24, 'g');
        end(transaction);
        unsigned char seen[BYTES];
        assert_int_equal(
            rp_transaction_begin(&world.bench, other, NULL, NULL, 3, &transaction), RP_OK);
        job_reads(&world, 3, seen);
        end(transaction);
        assert_true(rp_host_run(world.host, seed));
        assert_bytes(seen, 8, 24, 'n');
        assert_bytes(world.live, 8, 24, 'g');
        rp_spans_release(&handed);
        rp_versions_destroy(expected);
        rp_kept_destroy(other);
        end_world(&world);
    }
}

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
    end(begin(&world, 1));
    assert_int_equal(waits, 0);
    struct rp_transaction *transaction = begin(&world, 1);
    assert_int_equal(rp_transaction_stash(transaction, world.id, 0, 8, 1), RP_OK);
    assert_true(waits >= 2); /* for what the other two hold */
    end(transaction);
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

static void what_is_restored_late_is_seen_by_all_streams_of_the_replay(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        unsigned char seen[BYTES], after[BYTES];
        struct world world = begin_world();
        struct rp_kept *late;
        settle(&world);
        assert_int_equal(rp_kept_create(&late), RP_OK);
        assert_int_equal(
            rp_kept_preserve(late, &world.bench, world.id, 0, BYTES, 2), RP_OK);
        job_writes(&world, 2, 0, BYTES, 'n');
        struct rp_transaction *transaction = begin(&world, 1);
        assert_int_equal(rp_transaction_join(transaction, 3), RP_OK);
        assert_int_equal(rp_transaction_restore(transaction, late, world.id, 0, 16), RP_OK);
        job_reads(&world, 3, seen);
        end(transaction);
        job_reads(&world, 3, after);
        assert_true(rp_host_run(world.host, seed));
        assert_bytes(seen, 0, 16, 'a');
        assert_bytes(after, 0, BYTES, 'n');
        rp_kept_destroy(late);
        end_world(&world);
    }
}

/* ---- halves ----------------------------------------------------------------------------- */

enum { LARGE_BYTES = 3000 };

static struct {
    enum rp_copying what;
    unsigned copies;
    enum rp_status (*copy)(void *self, rp_device_ptr to, rp_device_ptr from, uint64_t bytes,
                           rp_stream stream);
} metered;

static void note_kind(uint32_t owner, enum rp_copying what, uint64_t bytes, rp_stream stream)
{
    (void)owner, (void)bytes, (void)stream;
    metered.what = what;
}

static enum rp_status count_copy(void *self, rp_device_ptr to, rp_device_ptr from, uint64_t bytes,
                                 rp_stream stream)
{
    metered.copies++;
    return metered.copy(self, to, from, bytes, stream);
}

static unsigned char *add_pattern(struct world *world, rp_alloc_id *id)
{
    rp_device_ptr address;
    assert_int_equal(world->driver.alloc(world->host, LARGE_BYTES, &address), RP_OK);
    assert_int_equal(rp_memory_add(world->bench.memory, RP_ALLOC_DEVICE, LARGE_BYTES, address, 0, 2,
                                   NULL, id),
                     RP_OK);
    unsigned char *bytes = (unsigned char *)(uintptr_t)address;
    for (size_t i = 0; i < LARGE_BYTES; i++)
        bytes[i] = (unsigned char)(i / 7);
    return bytes;
}

/* [lo, hi) is kept in halves and then overwritten; what was kept is what stood there. */
static void keep_in_halves(size_t lo, size_t hi, enum rp_copying what, unsigned copies)
{
    struct world world = begin_world();
    rp_alloc_id id;
    unsigned char *live = add_pattern(&world, &id), past[LARGE_BYTES];
    settle(&world);
    memcpy(past, live, sizeof past);
    metered.copies = 0;
    metered.copy = world.driver.copy;
    world.driver.copy = count_copy;
    world.bench.meter = note_kind;
    world.bench.in_halves = true;
    assert_int_equal(rp_kept_preserve(world.kept, &world.bench, id, lo, hi, 1), RP_OK);
    struct fill *fill = malloc(sizeof *fill);
    *fill = (struct fill){live, LARGE_BYTES, 'n'};
    assert_int_equal(rp_host_submit(world.host, 1, run_fill, fill), RP_OK);
    assert_true(rp_host_run(world.host, 1));
    assert_int_equal(world.kept->copies.count, 1);
    rp_device_ptr block = world.kept->copies.items[0].block.at;
    assert_true(block != 0);
    assert_memory_equal((const unsigned char *)(uintptr_t)block, past + lo, hi - lo);
    assert_int_equal(metered.what, what);
    assert_int_equal(metered.copies, copies);
    end_world(&world);
}

static void halves_hold_what_a_single_copy_holds(void **state)
{
    (void)state;
    keep_in_halves(100, 2900, RP_COPYING_HALVES, 2);
    keep_in_halves(0, LARGE_BYTES, RP_COPYING_HALVES, 2);
    keep_in_halves(100, 1123, RP_COPYING_PRESERVE, 1); /* halves would not be aligned */
}

/* ---- refuge ----------------------------------------------------------------------------- */

static struct {
    struct rp_store *store;
    uint64_t asked;
    enum rp_copying told[8];
    size_t count;
} refuge;

static struct rp_store *give_refuge(uint64_t bytes)
{
    refuge.asked += bytes;
    return refuge.store;
}

static void note_every_kind(uint32_t owner, enum rp_copying what, uint64_t bytes,
                            rp_stream stream)
{
    (void)owner, (void)bytes, (void)stream;
    assert_in_range(refuge.count, 0, 7);
    refuge.told[refuge.count++] = what;
}

/* Preserved, stashed, restored and reinstated all the same, and the meter is told. */
static void what_the_store_has_no_room_for_takes_refuge(void **state)
{
    (void)state;
    static const enum rp_copying told[] = {
        RP_COPYING_PRESERVE, RP_COPYING_ABROAD, RP_COPYING_STASH,     RP_COPYING_ABROAD,
        RP_COPYING_RESTORE,  RP_COPYING_ABROAD, RP_COPYING_REINSTATE, RP_COPYING_ABROAD};
    unsigned char seen[BYTES];
    struct world world = begin_world();
    settle(&world);
    assert_int_equal(rp_store_create(&world.driver, world.bench.order, &refuge.store), RP_OK);
    world.bench.refuge = give_refuge;
    world.bench.meter = note_every_kind;
    rp_store_limit(world.bench.store, 0);
    preserve(&world, 8, 24, 1);
    job_writes(&world, 1, 8, 24, 'n');
    struct rp_transaction *transaction = begin(&world, 1);
    job_reads(&world, 1, seen);
    end(transaction);
    rp_host_run(world.host, 1);
    assert_bytes(seen, 0, BYTES, 'a');
    assert_bytes(world.live, 8, 24, 'n');
    assert_int_equal(refuge.asked, 2 * 16);
    assert_int_equal(rp_store_held(world.bench.store), 0);
    assert_int_equal(refuge.count, sizeof told / sizeof *told);
    assert_memory_equal(refuge.told, told, sizeof told);
    assert_int_equal(rp_kept_clear(world.kept), RP_OK);
    rp_store_destroy(refuge.store);
    end_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_replay_sees_its_past),
        cmocka_unit_test(it_leaves_no_trace),
        cmocka_unit_test(live_writes_survive),
        cmocka_unit_test(content_is_kept_and_not_a_pointer),
        cmocka_unit_test(the_stash_waits_for_writers_in_other_streams),
        cmocka_unit_test(a_replay_may_use_several_streams),
        cmocka_unit_test(a_full_device_rolls_back),
        cmocka_unit_test(the_dead_are_not_restored),
        cmocka_unit_test(aliases_are_one_place),
        cmocka_unit_test(the_stash_serves_other_instances),
        cmocka_unit_test(nobody_waits_where_nothing_is_rewound),
        cmocka_unit_test(a_stream_that_captured_waits_for_what_was_released_meanwhile),
        cmocka_unit_test(what_a_stream_held_when_it_began_to_capture_is_waited_for),
        cmocka_unit_test(a_stream_by_an_old_handle_comes_after_what_that_one_held),
        cmocka_unit_test(a_stream_that_goes_while_it_captures_is_waited_for_as_it_was),
        cmocka_unit_test(what_is_restored_late_is_seen_by_all_streams_of_the_replay),
        cmocka_unit_test(halves_hold_what_a_single_copy_holds),
        cmocka_unit_test(what_the_store_has_no_room_for_takes_refuge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
