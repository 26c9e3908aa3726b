/* SPDX-License-Identifier: Apache-2.0 */
/* What is preserved: content, in one copy or in halves, and abroad where there is no room. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

static void content_is_kept_and_not_a_pointer(void **state)
{
    (void)state;
    unsigned char seen[BYTES];
    struct world world = begin_world();
    settle(&world);
    preserve(&world, 0, BYTES, 1);
    job_writes(&world, 1, 0, BYTES, 'n');
    job_writes(&world, 1, 0, BYTES, 'm');
    struct rp_transaction *transaction = begin_replay(&world, 1);
    job_reads(&world, 1, seen);
    end_replay(transaction);
    rp_host_run(world.host, 1);
    assert_bytes(seen, 0, BYTES, 'a');
    assert_bytes(world.live, 0, BYTES, 'm');
    end_world(&world);
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
    struct rp_transaction *transaction = begin_replay(&world, 1);
    job_reads(&world, 1, seen);
    end_replay(transaction);
    rp_host_run(world.host, 1);
    assert_bytes(seen, 0, BYTES, 'a');
    assert_bytes(world.live, 8, 24, 'n');
    assert_int_equal(refuge.asked, 2 * 16);
    assert_int_equal(rp_store_held(world.bench.store), 0);
    assert_int_equal(refuge.count, sizeof told / sizeof *told);
    assert_memory_equal(refuge.told, told, sizeof told);
    rp_kept_clear(world.kept);
    rp_store_destroy(refuge.store);
    end_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_is_kept_and_not_a_pointer),
        cmocka_unit_test(halves_hold_what_a_single_copy_holds),
        cmocka_unit_test(what_the_store_has_no_room_for_takes_refuge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
