/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT (UINT64_C(16) << 20)

struct world begin_world(void)
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

void settle(struct world *world)
{
    world->bench.driver = &world->driver;
    assert_int_equal(rp_order_create(&world->driver, &world->bench.order), RP_OK);
    assert_int_equal(rp_crossing_create(world->bench.order, world->bench.versions,
                                        &world->bench.crossing),
                     RP_OK);
    assert_int_equal(rp_store_create(&world->driver, world->bench.order, &world->bench.store),
                     RP_OK);
}

void end_world(struct world *world)
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

void run_fill(void *ctx)
{
    const struct fill *fill = ctx;
    memset(fill->at, fill->value, fill->bytes);
}

void job_writes(struct world *world, rp_stream stream, size_t lo, size_t hi, unsigned char value)
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

void job_reads(struct world *world, rp_stream stream, unsigned char *out)
{
    struct look *look = malloc(sizeof *look);
    *look = (struct look){world->live, out};
    assert_int_equal(rp_host_submit(world->host, stream, run_look, look), RP_OK);
}

void preserve(struct world *world, size_t lo, size_t hi, rp_stream stream)
{
    assert_int_equal(rp_kept_preserve(world->kept, &world->bench, world->id, lo, hi, stream),
                     RP_OK);
}

struct rp_transaction *begin_replay(struct world *world, rp_stream stream)
{
    struct rp_transaction *transaction;
    assert_int_equal(rp_transaction_begin(&world->bench, world->kept, NULL, NULL, stream,
                                          &transaction),
                     RP_OK);
    return transaction;
}

void end_replay(struct rp_transaction *transaction)
{
    assert_int_equal(rp_transaction_end(transaction, NULL), RP_OK);
}

void assert_bytes(const unsigned char *bytes, size_t lo, size_t hi, unsigned char value)
{
    for (size_t i = lo; i < hi; i++)
        if (bytes[i] != value)
            fail_msg("byte %zu is %d, not '%c'", i, bytes[i], value);
}

static enum rp_status take_version(void *ctx, uint64_t lo, uint64_t hi,
                                   const struct rp_writer *writer)
{
    (void)lo, (void)hi;
    *(rp_version *)ctx = writer->version;
    return RP_OK;
}

rp_version version_at(const struct world *world, uint64_t at)
{
    rp_version version = UINT64_MAX;
    assert_int_equal(rp_versions_read(world->bench.versions, world->id, at, at + 1, take_version,
                                      &version),
                     RP_OK);
    return version;
}
