/* SPDX-License-Identifier: Apache-2.0 */
/* Stream-ordered memory: addresses at once, lifetimes in stream order. */
#include "tests/soft/api/soft_test.h"

#include <stdlib.h>

static CUstream stream(void)
{
    CUstream made = NULL;
    ok(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
    return made;
}

static size_t used(CUmemoryPool pool, CUmemPool_attribute which)
{
    cuuint64_t value = 0;
    ok(cuMemPoolGetAttribute(pool, which, &value));
    return value;
}

static CUmemoryPool default_pool(void)
{
    CUmemoryPool pool;
    ok(cuDeviceGetDefaultMemPool(&pool, 0));
    return pool;
}

static void memory_lives_from_allocation_to_free_in_stream_order(void **state)
{
    (void)state;
    CUstream one = stream();
    CUdeviceptr a, keep = words(4, 0);
    struct gate gate;

    gate_close(&gate, one);
    ok(cuMemAllocAsync(&a, 16, one));
    ok(cuMemsetD32Async(a, 5, 4, one));
    ok(cuMemcpyDtoDAsync(keep, a, 16, one));
    ok(cuMemFreeAsync(a, one));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(a, one)); /* twice */
    gate_open(&gate);
    ok(cuStreamSynchronize(one));
    expect_words(keep, 4, 5);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(a, 0, 4));
    ok(cuMemFree(keep));
    ok(cuStreamDestroy(one));
}

static void the_same_stream_reuses_at_once_and_sees_fresh_memory(void **state)
{
    (void)state;
    CUstream one = stream();
    CUdeviceptr a, b, keep = words(8, 0);
    unsigned long long first, second;
    struct gate gate;

    gate_close(&gate, one);
    ok(cuMemAllocAsync(&a, 16, one));
    ok(cuPointerGetAttribute(&first, CU_POINTER_ATTRIBUTE_BUFFER_ID, a));
    ok(cuMemsetD32Async(a, 5, 4, one));
    ok(cuMemcpyDtoDAsync(keep, a, 16, one));
    ok(cuMemFreeAsync(a, one));
    ok(cuMemAllocAsync(&b, 16, one));
    ok(cuPointerGetAttribute(&second, CU_POINTER_ATTRIBUTE_BUFFER_ID, b));
    assert_int_equal(a, b);
    assert_int_not_equal(first, second);
    ok(cuMemcpyDtoDAsync(keep + 16, b, 16, one));
    gate_open(&gate);
    ok(cuStreamSynchronize(one));
    expect_words(keep, 4, 5);
    expect_words(keep + 16, 4, 0x7fc0dead);
    ok(cuMemsetD32(b, 1, 4)); /* still alive: the earlier free was of its predecessor */
    ok(cuStreamSynchronize(NULL)); /* a set does not wait, and nothing orders the next free */
    ok(cuMemFreeAsync(b, one));
    ok(cuStreamSynchronize(one));
    ok(cuMemFree(keep));
    ok(cuStreamDestroy(one));
}

static void another_stream_does_not_get_it_before_the_free_is_done(void **state)
{
    (void)state;
    CUstream one = stream(), two = stream();
    CUdeviceptr a, b;
    struct gate gate;

    ok(cuMemAllocAsync(&a, 16, one));
    gate_close(&gate, one);
    ok(cuMemFreeAsync(a, one));
    ok(cuMemAllocAsync(&b, 16, two));
    assert_int_not_equal(a, b);
    gate_open(&gate);
    ok(cuStreamSynchronize(one));
    ok(cuMemFreeAsync(b, two));
    ok(cuStreamSynchronize(two));
    ok(cuStreamDestroy(one));
    ok(cuStreamDestroy(two));
}

static void out_of_memory_waits_for_a_free_elsewhere_in_stream_order(void **state)
{
    (void)state;
    const size_t most = (size_t)40 << 20;
    CUstream one = stream(), two = stream();
    CUdeviceptr a, b;
    struct gate gate;

    ok(cuMemAllocAsync(&a, most, one));
    expect(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&b, most, two));
    gate_close(&gate, one);
    ok(cuMemFreeAsync(a, one));
    ok(cuMemAllocAsync(&b, most, two));
    assert_int_equal(a, b);
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery(two)); /* waits for the free */
    gate_open(&gate);
    ok(cuStreamSynchronize(two));
    ok(cuMemFreeAsync(b, two));
    ok(cuStreamSynchronize(two));
    ok(cuStreamDestroy(one));
    ok(cuStreamDestroy(two));
}

static void a_pool_keeps_up_to_its_threshold(void **state)
{
    (void)state;
    CUmemoryPool pool = default_pool();
    CUdeviceptr a, b;
    size_t before, now;
    cuuint64_t threshold = 1 << 20;

    ok(cuMemGetInfo(&before, NULL));
    ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    ok(cuMemAllocAsync(&a, 4096, NULL));
    assert_int_equal(used(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 4096);
    ok(cuMemFreeAsync(a, NULL));
    ok(cuStreamSynchronize(NULL));
    assert_int_equal(used(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    assert_int_equal(used(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4096);
    ok(cuMemGetInfo(&now, NULL));
    assert_int_equal(before - now, 4096);
    ok(cuMemAllocAsync(&b, 4096, NULL));
    assert_int_equal(a, b);
    ok(cuMemFreeAsync(b, NULL));
    ok(cuStreamSynchronize(NULL));
    ok(cuMemPoolTrimTo(pool, 0));
    ok(cuMemGetInfo(&now, NULL));
    assert_int_equal(before, now);
    threshold = 0;
    ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    assert_true(used(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) >= 4096);
    ok(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &threshold));
    assert_int_equal(used(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
}

static void pools_of_ones_own(void **state)
{
    (void)state;
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUmemoryPool pool, current, told;
    CUdeviceptr a;
    size_t before, now;

    ok(cuMemGetInfo(&before, NULL));
    ok(cuMemPoolCreate(&pool, &properties));
    ok(cuMemAllocFromPoolAsync(&a, 1000, pool, NULL));
    ok(cuPointerGetAttribute(&told, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
    assert_ptr_equal(told, pool);
    ok(cuDeviceSetMemPool(0, pool));
    ok(cuDeviceGetMemPool(&current, 0));
    assert_ptr_equal(current, pool);
    ok(cuMemPoolDestroy(pool)); /* its memory lives on */
    ok(cuDeviceGetMemPool(&current, 0));
    assert_ptr_equal(current, default_pool());
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&a, 1000, pool, NULL));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(default_pool()));
    ok(cuMemsetD8(a, 1, 1000));
    ok(cuMemFree(a));
    ok(cuMemGetInfo(&now, NULL));
    assert_int_equal(before, now);
}

static void thousands_of_rounds_leave_nothing_behind(void **state)
{
    (void)state;
    CUstream one = stream();
    size_t before, now;
    ok(cuMemGetInfo(&before, NULL));
    for (int i = 0; i < 10000; i++) {
        CUdeviceptr a;
        ok(cuMemAllocAsync(&a, (size_t)(512 + 512 * (i % 3)), one));
        ok(cuMemFreeAsync(a, one));
    }
    ok(cuStreamSynchronize(one));
    ok(cuMemGetInfo(&now, NULL));
    assert_int_equal(before, now);
    ok(cuStreamDestroy(one));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_lives_from_allocation_to_free_in_stream_order),
        cmocka_unit_test(the_same_stream_reuses_at_once_and_sees_fresh_memory),
        cmocka_unit_test(another_stream_does_not_get_it_before_the_free_is_done),
        cmocka_unit_test(out_of_memory_waits_for_a_free_elsewhere_in_stream_order),
        cmocka_unit_test(a_pool_keeps_up_to_its_threshold),
        cmocka_unit_test(pools_of_ones_own),
        cmocka_unit_test(thousands_of_rounds_leave_nothing_behind),
    };
    setenv("REPRISE_SOFT_MEMORY", "64MiB", 1);
    return cmocka_run_group_tests(tests, context_up, context_down);
}
