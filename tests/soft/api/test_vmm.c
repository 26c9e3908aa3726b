/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual memory management: aliases share bytes, access is what was set, unmapping takes the
 * memory away from work that is still to come. */
#include "tests/soft/api/soft_test.h"

#include <stdlib.h>
#include <unistd.h>

#define CHUNK ((size_t)2 << 20)

static const CUmemAllocationProp on_device = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};

static CUmemGenericAllocationHandle physical(size_t bytes)
{
    CUmemGenericAllocationHandle handle = 0;
    ok(cuMemCreate(&handle, bytes, &on_device, 0));
    return handle;
}

static CUdeviceptr reserve(size_t bytes)
{
    CUdeviceptr address = 0;
    ok(cuMemAddressReserve(&address, bytes, 0, 0, 0));
    return address;
}

static void allow(CUdeviceptr address, size_t bytes, CUmemAccess_flags flags)
{
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                              .flags = flags};
    ok(cuMemSetAccess(address, bytes, &access, 1));
}

static void granularity_is_what_sizes_must_keep(void **state)
{
    (void)state;
    size_t granularity;
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    ok(cuMemGetAllocationGranularity(&granularity, &on_device, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    assert_int_equal(granularity, CHUNK);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, CHUNK + 1, &on_device, 0));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&address, CHUNK / 2, 0, 0, 0));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, CHUNK, NULL, 0));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemRelease(0x1234));
}

static void aliases_share_bytes(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle handle = physical(CHUNK);
    CUdeviceptr space = reserve(3 * CHUNK), first = space, second = space + 2 * CHUNK;

    ok(cuMemMap(first, CHUNK, 0, handle, 0));
    ok(cuMemMap(second, CHUNK, 0, handle, 0));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemMap(first, CHUNK, 0, handle, 0)); /* is mapped */
    allow(first, CHUNK, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    allow(second, CHUNK, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    expect_words(first, CHUNK / 4, 0x7fc0dead);
    ok(cuMemsetD32(first, 11, CHUNK / 4));
    expect_words(second, CHUNK / 4, 11);
    ok(cuMemsetD32(second + 64, 12, 1));
    expect_words(first + 64, 1, 12);
    ok(cuMemRelease(handle)); /* the mappings keep it */
    expect(CUDA_ERROR_INVALID_VALUE, cuMemRelease(handle));
    ok(cuMemUnmap(first, CHUNK));
    expect_words(second + 64, 1, 12);
    ok(cuMemUnmap(second, CHUNK));
    ok(cuMemAddressFree(space, 3 * CHUNK));
}

static void a_mapping_is_closed_until_access_is_set(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle handle = physical(CHUNK);
    CUdeviceptr a = reserve(CHUNK);
    CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    unsigned long long flags;
    uint32_t word;

    ok(cuMemMap(a, CHUNK, 0, handle, 0));
    ok(cuMemGetAccess(&flags, &here, a));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&word, a, 4));
    allow(a, CHUNK, CU_MEM_ACCESS_FLAGS_PROT_READ);
    ok(cuMemGetAccess(&flags, &here, a));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READ);
    ok(cuMemcpyDtoH(&word, a, 4));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(a, 0, 1));
    allow(a, CHUNK, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    ok(cuMemsetD32(a, 0, 1));
    ok(cuCtxSynchronize());
    ok(cuMemUnmap(a, CHUNK));
    ok(cuMemAddressFree(a, CHUNK));
    ok(cuMemRelease(handle));
}

static void neighbours_count_as_one_range(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle one = physical(CHUNK), two = physical(2 * CHUNK);
    CUdeviceptr a = reserve(3 * CHUNK);
    uint32_t pair[2] = {1, 2}, back[2] = {0};

    ok(cuMemMap(a, CHUNK, 0, one, 0));
    ok(cuMemMap(a + CHUNK, 2 * CHUNK, 0, two, 0));
    allow(a, 3 * CHUNK, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    ok(cuMemcpyHtoD(a + CHUNK - 4, pair, 8));
    ok(cuMemcpyDtoH(back, a + CHUNK - 4, 8));
    assert_memory_equal(pair, back, 8);
    /* Only whole mappings can be taken away. */
    expect(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(a + CHUNK, CHUNK));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(a, 2 * CHUNK));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(a, 3 * CHUNK));
    ok(cuMemUnmap(a, 3 * CHUNK));
    ok(cuMemAddressFree(a, 3 * CHUNK));
    ok(cuMemRelease(one));
    ok(cuMemRelease(two));
}

static void the_limit_counts_handles_and_mappings_once(void **state)
{
    (void)state;
    size_t before, now;
    ok(cuMemGetInfo(&before, NULL));
    CUmemGenericAllocationHandle handle = physical(4 * CHUNK), more;
    ok(cuMemGetInfo(&now, NULL));
    assert_int_equal(before - now, 4 * CHUNK);
    expect(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&more, 64 * CHUNK, &on_device, 0));
    CUdeviceptr a = reserve(4 * CHUNK), b = reserve(4 * CHUNK);
    ok(cuMemMap(a, 4 * CHUNK, 0, handle, 0));
    ok(cuMemMap(b, 4 * CHUNK, 0, handle, 0));
    ok(cuMemRelease(handle));
    ok(cuMemUnmap(a, 4 * CHUNK));
    ok(cuMemGetInfo(&now, NULL));
    assert_int_equal(before - now, 4 * CHUNK);
    ok(cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)(b + 100)));
    ok(cuMemUnmap(b, 4 * CHUNK));
    ok(cuMemGetInfo(&now, NULL));
    assert_int_equal(before - now, 4 * CHUNK);
    ok(cuMemRelease(handle));
    ok(cuMemGetInfo(&now, NULL));
    assert_int_equal(before, now);
    ok(cuMemAddressFree(a, 4 * CHUNK));
    ok(cuMemAddressFree(b, 4 * CHUNK));
}

static void identity_follows_the_mapping_not_the_address(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle one = physical(CHUNK), two = physical(CHUNK);
    CUdeviceptr a = reserve(CHUNK);
    unsigned long long first, second, block_one, block_two;

    ok(cuMemMap(a, CHUNK, 0, one, 0));
    ok(cuPointerGetAttribute(&first, CU_POINTER_ATTRIBUTE_BUFFER_ID, a));
    ok(cuPointerGetAttribute(&block_one, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, a));
    ok(cuMemUnmap(a, CHUNK));
    ok(cuMemMap(a, CHUNK, 0, two, 0));
    ok(cuPointerGetAttribute(&second, CU_POINTER_ATTRIBUTE_BUFFER_ID, a));
    ok(cuPointerGetAttribute(&block_two, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, a));
    assert_int_not_equal(first, second);
    assert_int_not_equal(block_one, block_two);
    ok(cuMemUnmap(a, CHUNK));
    ok(cuMemAddressFree(a, CHUNK));
    ok(cuMemRelease(one));
    ok(cuMemRelease(two));
}

static void a_shared_file_is_the_same_memory(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle handle = physical(CHUNK), again;
    CUdeviceptr a = reserve(CHUNK), b = reserve(CHUNK);
    int file = -1;

    ok(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    ok(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)file,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(file);
    ok(cuMemMap(a, CHUNK, 0, handle, 0));
    ok(cuMemMap(b, CHUNK, 0, again, 0));
    allow(a, CHUNK, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    allow(b, CHUNK, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    ok(cuMemsetD32(a, 77, 16));
    expect_words(b, 16, 77);
    ok(cuMemUnmap(a, CHUNK));
    ok(cuMemUnmap(b, CHUNK));
    ok(cuMemRelease(handle));
    ok(cuMemRelease(again));
    ok(cuMemAddressFree(a, CHUNK));
    ok(cuMemAddressFree(b, CHUNK));
}

static void a_reservation_honours_hint_and_alignment(void **state)
{
    (void)state;
    CUdeviceptr a = reserve(CHUNK), again, aligned;
    ok(cuMemAddressFree(a, CHUNK));
    ok(cuMemAddressReserve(&again, CHUNK, 0, a, 0));
    assert_int_equal(again, a);
    ok(cuMemAddressReserve(&aligned, CHUNK, 16 * CHUNK, a, 0)); /* the hint is taken */
    assert_int_equal(aligned % (16 * CHUNK), 0);
    assert_int_not_equal(aligned, a);
    ok(cuMemAddressFree(again, CHUNK));
    ok(cuMemAddressFree(aligned, CHUNK));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(again, CHUNK));
}

/* Last: the fault ends the context. */
static void work_that_comes_after_the_unmapping_faults(void **state)
{
    (void)state;
    CUmemGenericAllocationHandle handle = physical(CHUNK);
    CUdeviceptr a = reserve(CHUNK);
    CUcontext own;
    struct gate gate;

    ok(cuCtxCreate(&own, NULL, 0, 0));
    ok(cuMemMap(a, CHUNK, 0, handle, 0));
    allow(a, CHUNK, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    gate_close(&gate, NULL);
    ok(cuMemsetD32Async(a, 1, 1, NULL));
    ok(cuMemUnmap(a, CHUNK)); /* does not wait for what is to come */
    gate_open(&gate);
    expect(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    expect(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    CUdeviceptr other;
    expect(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc(&other, 4));
    ok(cuCtxDestroy(own));
    ok(cuMemAlloc(&other, 4)); /* the context below is well */
    ok(cuMemFree(other));
    ok(cuMemAddressFree(a, CHUNK));
    ok(cuMemRelease(handle));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(granularity_is_what_sizes_must_keep),
        cmocka_unit_test(aliases_share_bytes),
        cmocka_unit_test(a_mapping_is_closed_until_access_is_set),
        cmocka_unit_test(neighbours_count_as_one_range),
        cmocka_unit_test(the_limit_counts_handles_and_mappings_once),
        cmocka_unit_test(identity_follows_the_mapping_not_the_address),
        cmocka_unit_test(a_shared_file_is_the_same_memory),
        cmocka_unit_test(a_reservation_honours_hint_and_alignment),
        cmocka_unit_test(work_that_comes_after_the_unmapping_faults),
    };
    setenv("REPRISE_SOFT_MEMORY", "64MiB", 1);
    return cmocka_run_group_tests(tests, context_up, context_down);
}
