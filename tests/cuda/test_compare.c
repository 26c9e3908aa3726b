/* SPDX-License-Identifier: Apache-2.0 */
/* The layer's own kernels on the software device: whatever changes in what was kept is found,
 * and nothing else. */
#include "cuda/compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MEMORY_BYTES (300u << 10)

static struct rp_real real;
static CUdeviceptr memory;
static unsigned random_;

static unsigned below(unsigned limit)
{
    random_ = random_ * 1664525u + 1013904223u;
    return (random_ >> 8) % limit;
}

#define ok(call) assert_int_equal(call, CUDA_SUCCESS)

static int open_device(void **state)
{
    (void)state;
    CUcontext context;
    CUdevice device;
    real.cuCtxGetCurrent = cuCtxGetCurrent;
    real.cuModuleLoadData = cuModuleLoadData;
    real.cuModuleGetFunction = cuModuleGetFunction;
    real.cuModuleUnload = cuModuleUnload;
    real.cuLaunchKernel = cuLaunchKernel;
    real.cuMemAlloc_v2 = cuMemAlloc_v2;
    real.cuMemFree_v2 = cuMemFree_v2;
    real.cuMemGetInfo_v2 = cuMemGetInfo_v2;
    real.cuMemcpyHtoDAsync_v2 = cuMemcpyHtoDAsync_v2;
    real.cuMemcpyDtoHAsync_v2 = cuMemcpyDtoHAsync_v2;
    real.cuMemsetD32Async = cuMemsetD32Async;
    real.cuStreamSynchronize = cuStreamSynchronize;
    return cuInit(0) || cuDeviceGet(&device, 0) || cuCtxCreate_v4(&context, NULL, 0, device) ||
           cuMemAlloc_v2(&memory, MEMORY_BYTES);
}

/* Areas of all lengths and alignments, with gaps between them. */
static size_t make_areas(struct rp_compare_area areas[16])
{
    size_t count = 0;
    uint64_t at = below(40);
    while (count < 16) {
        uint64_t bytes = below(3) ? 1 + below(200) : 1 + below(90000);
        if (at + bytes > MEMORY_BYTES)
            break;
        areas[count] = (struct rp_compare_area){memory + at, bytes, count};
        count++;
        at += bytes + below(60);
    }
    return count;
}

static void change(uint64_t address)
{
    unsigned char byte;
    ok(cuMemcpyDtoH_v2(&byte, address, 1));
    byte ^= (unsigned char)(1u << below(8));
    ok(cuMemcpyHtoD_v2(address, &byte, 1));
}

static void check_round(struct rp_compare *compare, bool sums)
{
    struct rp_compare_area areas[16];
    struct rp_change found;
    size_t count = make_areas(areas);
    ok(cuMemsetD8_v2(memory, (unsigned char)below(256), MEMORY_BYTES));
    rp_compare_use_sums(compare, sums);
    assert_int_equal(rp_compare_keep(compare, areas, count, NULL), RP_OK);
    if (count > 1 && areas[0].address + areas[0].bytes < areas[1].address)
        change(areas[0].address + areas[0].bytes); /* a byte that nobody asked for */
    size_t which = below((unsigned)count + 1);
    uint64_t offset = 0;
    if (which < count) {
        offset = below(3) ? below((unsigned)areas[which].bytes)
                          : (uint64_t)below(2) * (areas[which].bytes - 1);
        change(areas[which].address + offset);
    }
    enum rp_status status = rp_compare_check(compare, NULL, &found);
    assert_int_equal(status, which < count ? RP_OK : RP_END);
    if (which == count)
        return;
    assert_int_equal(found.area.tag, which);
    assert_int_equal(found.count, sums ? 0 : 1);
    if (sums)
        assert_true(found.offset <= offset && offset - found.offset < 65536);
    else
        assert_int_equal(found.offset, offset);
}

static void one_changed_bit_is_found_wherever_it_is(void **state)
{
    (void)state;
    struct rp_compare *compare;
    random_ = 11;
    assert_int_equal(rp_compare_create(&real, &compare), RP_OK);
    for (int round = 0; round < 60; round++)
        check_round(compare, round % 2);
    rp_compare_destroy(compare);
}

static void all_changes_of_an_area_are_counted(void **state)
{
    (void)state;
    struct rp_compare *compare;
    struct rp_change found;
    struct rp_compare_area area = {memory + 3, 200000, 7};
    assert_int_equal(rp_compare_create(&real, &compare), RP_OK);
    ok(cuMemsetD8_v2(memory, 1, MEMORY_BYTES));
    assert_int_equal(rp_compare_keep(compare, &area, 1, NULL), RP_OK);
    ok(cuMemsetD8_v2(memory + 1000, 2, 150000));
    assert_int_equal(rp_compare_check(compare, NULL, &found), RP_OK);
    assert_int_equal(found.offset, 997);
    assert_int_equal(found.count, 150000);
    assert_int_equal(found.area.tag, 7);
    rp_compare_destroy(compare);
}

static void nothing_kept_is_nothing_changed(void **state)
{
    (void)state;
    struct rp_compare *compare;
    struct rp_change found;
    assert_int_equal(rp_compare_create(&real, &compare), RP_OK);
    assert_int_equal(rp_compare_keep(compare, NULL, 0, NULL), RP_OK);
    assert_int_equal(rp_compare_check(compare, NULL, &found), RP_END);
    rp_compare_destroy(compare);
}

/* What a 64-bit sum of plain words would miss: bytes that change places. */
static void exchanged_words_are_found_by_sums(void **state)
{
    (void)state;
    struct rp_compare *compare;
    struct rp_change found;
    struct rp_compare_area area = {memory, 4096, 0};
    uint64_t words[512];
    for (int i = 0; i < 512; i++)
        words[i] = (uint64_t)i % 3;
    assert_int_equal(rp_compare_create(&real, &compare), RP_OK);
    rp_compare_use_sums(compare, true);
    for (int i = 0; i < 20; i++) {
        unsigned a = below(512), b = (a + 1) % 512;
        ok(cuMemcpyHtoD_v2(memory, words, sizeof words));
        assert_int_equal(rp_compare_keep(compare, &area, 1, NULL), RP_OK);
        uint64_t swap = words[a];
        words[a] = words[b];
        words[b] = swap;
        ok(cuMemcpyHtoD_v2(memory, words, sizeof words));
        assert_int_equal(rp_compare_check(compare, NULL, &found),
                         words[a] == words[b] ? RP_END : RP_OK);
    }
    rp_compare_destroy(compare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_changed_bit_is_found_wherever_it_is),
        cmocka_unit_test(all_changes_of_an_area_are_counted),
        cmocka_unit_test(nothing_kept_is_nothing_changed),
        cmocka_unit_test(exchanged_words_are_found_by_sums),
    };
    return cmocka_run_group_tests(tests, open_device, NULL);
}
