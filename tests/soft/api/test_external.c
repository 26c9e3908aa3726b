/* SPDX-License-Identifier: Apache-2.0 */
/* Memory from elsewhere, and teams of devices. */
#include "tests/soft/api/soft_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 4, BYTES = PAGES * 4096 };

static int file_of(size_t bytes)
{
    int file = memfd_create("external", 0);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, (off_t)bytes), 0);
    return file;
}

static CUDA_EXTERNAL_MEMORY_HANDLE_DESC handle_of(int file, size_t bytes)
{
    return (CUDA_EXTERNAL_MEMORY_HANDLE_DESC){
        .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .handle.fd = file, .size = bytes};
}

static void a_file_is_device_memory(void **state)
{
    (void)state;
    int file = file_of(BYTES), mine = dup(file);
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC is = handle_of(file, BYTES);
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.offset = 5000, .size = 4096};
    CUexternalMemory memory;
    CUdeviceptr address, base;
    size_t bytes;
    unsigned type;

    uint32_t *view = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, mine, 0);
    assert_ptr_not_equal(view, MAP_FAILED);
    ok(cuImportExternalMemory(&memory, &is));
    ok(cuExternalMemoryGetMappedBuffer(&address, memory, &part));
    ok(cuMemGetAddressRange(&base, &bytes, address + 10));
    assert_int_equal(base, address);
    assert_int_equal(bytes, 4096);
    ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    ok(cuMemsetD32(address, 7, 1024));
    ok(cuCtxSynchronize());
    assert_int_equal(view[1249], 0);
    assert_int_equal(view[1250], 7);
    assert_int_equal(view[1250 + 1023], 7);
    assert_int_equal(view[1250 + 1024], 0);
    ok(cuDestroyExternalMemory(memory)); /* what is mapped stays */
    ok(cuMemsetD32(address, 8, 1));
    ok(cuCtxSynchronize());
    assert_int_equal(view[1250], 8);
    ok(cuMemFree(address));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFree(address));
    expect(CUDA_ERROR_INVALID_HANDLE, cuDestroyExternalMemory(memory));
    munmap(view, BYTES);
    close(mine);
}

static void what_can_not_be_mapped_is_refused(void **state)
{
    (void)state;
    int file = file_of(BYTES);
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC is = handle_of(file, BYTES + 1);
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.offset = BYTES - 8, .size = 9};
    CUexternalMemory memory;
    CUdeviceptr address;

    expect(CUDA_ERROR_INVALID_HANDLE, cuImportExternalMemory(&memory, &is)); /* larger than it */
    is = handle_of(-1, BYTES);
    expect(CUDA_ERROR_INVALID_HANDLE, cuImportExternalMemory(&memory, &is));
    is = handle_of(file, BYTES);
    is.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP;
    expect(CUDA_ERROR_NOT_SUPPORTED, cuImportExternalMemory(&memory, &is));
    is = handle_of(file, BYTES);
    ok(cuImportExternalMemory(&memory, &is));
    expect(CUDA_ERROR_INVALID_VALUE, cuExternalMemoryGetMappedBuffer(&address, memory, &part));
    expect(CUDA_ERROR_INVALID_HANDLE, cuExternalMemoryGetMappedBuffer(&address, NULL, &part));
    ok(cuDestroyExternalMemory(memory));
}

/* Another process would move the counter by its own view of the file. */
static void streams_wait_for_a_counter_and_move_it(void **state)
{
    (void)state;
    int file = file_of(8), mine = dup(file);
    const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC is = {
        .type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, .handle.fd = file};
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC other = is;
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS until = {.params.fence.value = 3};
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS then = {.params.fence.value = 7};
    CUexternalSemaphore semaphore;
    CUstream stream;
    CUdeviceptr a = words(16, 0);

    uint64_t *counter = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, mine, 0);
    assert_ptr_not_equal(counter, MAP_FAILED);
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    other.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
    expect(CUDA_ERROR_NOT_SUPPORTED, cuImportExternalSemaphore(&semaphore, &other));
    ok(cuImportExternalSemaphore(&semaphore, &is));
    ok(cuWaitExternalSemaphoresAsync(&semaphore, &until, 1, stream));
    ok(cuMemsetD32Async(a, 5, 16, stream));
    ok(cuSignalExternalSemaphoresAsync(&semaphore, &then, 1, stream));
    ok(cuDestroyExternalSemaphore(semaphore)); /* what was submitted goes on */
    expect(CUDA_ERROR_INVALID_HANDLE, cuWaitExternalSemaphoresAsync(&semaphore, &until, 1, stream));
    __atomic_store_n(counter, 2, __ATOMIC_SEQ_CST);
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    __atomic_store_n(counter, 3, __ATOMIC_SEQ_CST);
    ok(cuStreamSynchronize(stream));
    assert_int_equal(__atomic_load_n(counter, __ATOMIC_SEQ_CST), 7);
    expect_words(a, 16, 5);
    munmap(counter, 4096);
    close(mine);
    ok(cuMemFree(a));
    ok(cuStreamDestroy(stream));
}

static CUmemGenericAllocationHandle memory_on(int device, size_t bytes)
{
    CUmemGenericAllocationHandle made;
    const CUmemAllocationProp kind = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    ok(cuMemCreate(&made, bytes, &kind, 0));
    return made;
}

static void a_team_binds_memory_of_its_devices(void **state)
{
    (void)state;
    const CUmulticastObjectProp kind = {.numDevices = 2, .size = 8 << 20};
    CUmemGenericAllocationHandle team, first = memory_on(0, 4 << 20),
                                       second = memory_on(1, 4 << 20);
    CUdeviceptr address;
    size_t unit, before, during, after, total;

    ok(cuMulticastGetGranularity(&unit, &kind, CU_MULTICAST_GRANULARITY_MINIMUM));
    assert_int_equal(unit, 2 << 20);
    ok(cuMulticastCreate(&team, &kind));
    ok(cuMulticastAddDevice(team, 0));
    expect(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(team, 0, first, 0, unit, 0)); /* not yet */
    expect(CUDA_ERROR_INVALID_VALUE, cuMulticastAddDevice(team, 0));
    ok(cuMulticastAddDevice(team, 1));
    ok(cuMulticastBindMem(team, 0, first, unit, unit, 0));
    ok(cuMulticastBindMem(team, 0, second, 0, 2 * unit, 0));
    expect(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(team, 0, first, 0, unit, 0)); /* taken */
    expect(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(team, 7 << 20, first, 0, unit, 0));
    expect(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(team, unit, first, 0, 3 * unit, 0));
    ok(cuMemAddressReserve(&address, unit, 0, 0, 0));
    expect(CUDA_ERROR_NOT_SUPPORTED, cuMemMap(address, unit, 0, team, 0));
    ok(cuMulticastUnbind(team, 1, 0, 2 * unit));
    expect(CUDA_ERROR_INVALID_VALUE, cuMulticastUnbind(team, 1, 0, 2 * unit));
    ok(cuMemRelease(second));
    ok(cuMemGetInfo(&before, &total));
    ok(cuMemRelease(first)); /* it is still bound */
    ok(cuMemGetInfo(&during, &total));
    assert_int_equal(before, during);
    ok(cuMemRelease(team));
    ok(cuMemGetInfo(&after, &total));
    assert_int_equal(after - before, 4 << 20);
    expect(CUDA_ERROR_INVALID_VALUE, cuMulticastAddDevice(team, 0));
    ok(cuMemAddressFree(address, unit));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_device_memory),
        cmocka_unit_test(what_can_not_be_mapped_is_refused),
        cmocka_unit_test(streams_wait_for_a_counter_and_move_it),
        cmocka_unit_test(a_team_binds_memory_of_its_devices),
    };
    setenv("REPRISE_SOFT_CAPABILITY", "9.0", 1);
    setenv("REPRISE_SOFT_DEVICES", "2", 1);
    return cmocka_run_group_tests(tests, context_up, context_down);
}
