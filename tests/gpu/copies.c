/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the layer moves bytes on a device: preserving, keeping for an audit and comparing, each
 * against the driver's own copy, in turns.
 *
 * usage: copies MIB ROUNDS
 *
 * A line each: name, the median of the rounds in nanoseconds, the bytes that were read and written
 * in it. Each round is timed by the host from the first submission to the end of all work. */
#include "tests/gpu/device.h"

#include "cuda/compare.h"
#include "cuda/driver_real.h"
#include "cuda/preserve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ROUNDS = 1001 };

static CUdeviceptr from, to;
static uint64_t bytes;

static void good(enum rp_status status, const char *what)
{
    if (status == RP_OK)
        return;
    fprintf(stderr, "copies: %s: %s\n", what, rp_status_text(status));
    exit(1);
}

/* ---- what is measured ------------------------------------------------------------ */

static void copy(void)
{
    DO(cuMemcpyDtoDAsync_v2, to, from, bytes, NULL);
    DO(cuCtxSynchronize);
}

static struct rp_workbench bench;
static struct rp_driver driver;
static struct rp_kept *kept;
static rp_alloc_id id;

static void preserve(void)
{
    good(rp_kept_preserve(kept, &bench, id, 0, bytes, 0), "preserve");
    DO(cuCtxSynchronize);
    rp_kept_clear(kept); /* its block serves the next round */
}

static struct rp_compare *compare;
static struct rp_compare_area area;

static void keep(void)
{
    good(rp_compare_keep(compare, &area, 1, NULL), "keep");
    DO(cuCtxSynchronize);
}

static void check(void)
{
    struct rp_change change;
    if (rp_compare_check(compare, NULL, &change) != RP_END)
        good(RP_INVALID, "bytes that nobody wrote differ");
}

static void sum_up(void)
{
    rp_compare_use_sums(compare, true);
    keep();
}

/* ---- rounds ---------------------------------------------------------------------- */

static const struct measured {
    const char *name;
    void (*run)(void);
    int moved; /* times the bytes */
} table[] = {
    {"copy", copy, 2},     {"preserve", preserve, 2}, {"keep", keep, 2},
    {"compare", check, 2}, {"sum", sum_up, 1},
};
#define ROWS (sizeof(table) / sizeof(table[0]))

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void prepare(void)
{
    struct rp_real *real = device_open();
    DO(cuMemAlloc_v2, &from, bytes);
    DO(cuMemAlloc_v2, &to, bytes);
    DO(cuMemsetD8_v2, from, 0x5a, bytes);
    driver = rp_driver_real(real);
    bench.driver = &driver;
    good(rp_order_create(&driver, &bench.order), "order");
    good(rp_store_create(&driver, bench.order, &bench.store), "store");
    good(rp_memory_create(&bench.memory), "memory");
    good(rp_versions_create(&bench.versions), "versions");
    good(rp_crossing_create(bench.order, bench.versions, &bench.crossing), "crossing");
    good(rp_memory_add(bench.memory, RP_ALLOC_DEVICE, bytes, from, 0, 1, NULL, &id), "allocation");
    good(rp_kept_create(&kept), "kept");
    good(rp_compare_create(real, &compare), "compare");
    area = (struct rp_compare_area){from, bytes, 0};
}

int main(int argc, char **argv)
{
    static uint64_t times[ROWS][MOST_ROUNDS];
    long mib = argc > 1 ? atol(argv[1]) : 0, rounds = argc > 2 ? atol(argv[2]) : 0;
    if (mib < 1 || rounds < 1 || rounds >= MOST_ROUNDS) {
        fprintf(stderr, "usage: copies MIB ROUNDS (fewer than %d)\n", MOST_ROUNDS);
        return 2;
    }
    bytes = (uint64_t)mib << 20;
    prepare();
    for (long round = 0; round <= rounds; round++) /* the first warms up */
        for (size_t i = 0; i < ROWS; i++) {
            rp_compare_use_sums(compare, false);
            if (table[i].run == check)
                keep();
            uint64_t start = now_ns();
            table[i].run();
            times[i][round] = now_ns() - start;
        }
    for (size_t i = 0; i < ROWS; i++) {
        qsort(&times[i][1], (size_t)rounds, sizeof(times[i][0]), by_value);
        printf("%s %llu %llu\n", table[i].name, (unsigned long long)times[i][1 + rounds / 2],
               (unsigned long long)(bytes * (uint64_t)table[i].moved));
    }
    return 0;
}
