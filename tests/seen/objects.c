/* SPDX-License-Identifier: Apache-2.0 */
/* Memory behind objects: arrays, textures, what others made, what is given away. */
#include "tests/seen/job.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- arrays ----------------------------------------------------------------------------- */

static CUarray array;

/* An array of ROWS rows of n words, in which every word is 77. */
static void make_array(void)
{
    CUdeviceptr filled = allocate(WORDS(ROWS * n));
    const CUDA_ARRAY3D_DESCRIPTOR is = {.Width = (size_t)n,
                                        .Height = ROWS,
                                        .Format = CU_AD_FORMAT_UNSIGNED_INT32,
                                        .NumChannels = 1,
                                        .Flags = CUDA_ARRAY3D_SURFACE_LDST};
    CU(cuArray3DCreate(&array, &is));
    CU(cuMemsetD32(filled, 77, (size_t)(ROWS * n)));
    CU(cuMemcpy2D(&(CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                   .srcDevice = filled,
                                   .srcPitch = WORDS(n),
                                   .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                   .dstArray = array,
                                   .WidthInBytes = WORDS(n),
                                   .Height = ROWS}));
}

static void copy_line(void)
{
    CU(cuMemcpyAtoD(queue + WORDS(n), array, 0, WORDS(100)));
}

static void from_array(void)
{
    make_array();
    run_steps(queue_forward, copy_line);
}

static void copy_rows(void)
{
    CU(cuMemcpy2D(&(CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                                   .srcArray = array,
                                   .srcY = 1,
                                   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                   .dstDevice = queue,
                                   .dstPitch = WORDS(n),
                                   .WidthInBytes = WORDS(40),
                                   .Height = 3}));
}

static void rows_from_array(void)
{
    make_array();
    run_steps(queue_forward, copy_rows);
}

static void copy_boxes(void)
{
    static CUstream stream;
    CUDA_MEMCPY3D_BATCH_OP op = {
        .src = {.type = CU_MEMCPY_OPERAND_TYPE_ARRAY, .op.array = {array, {2, 1, 0}}},
        .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = queue + WORDS(n)}},
        .extent = {50, 2, 1},
        .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    if (!stream)
        CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuCtxSynchronize());
    CU(cuMemcpy3DBatchAsync(1, &op, 0, stream));
    CU(cuStreamSynchronize(stream));
}

static void batch_from_array(void)
{
    make_array();
    run_steps(queue_forward, copy_boxes);
}

/* The forward reads an array that is written before its replay. */
static void forward_by_array(void)
{
    CU(cuMemcpyAtoD(queue, array, 0, WORDS(n)));
    queue_forward();
}

static void write_array(void)
{
    CU(cuMemcpyDtoA(array, 0, x, WORDS(100)));
}

static void array_written(void)
{
    make_array();
    run_steps(forward_by_array, write_array);
}

/* Objects come and go between the steps, and stand for memory that is not touched. */
static void use_objects(void)
{
    const CUDA_TEXTURE_DESC how = {.filterMode = CU_TR_FILTER_MODE_POINT};
    CUDA_RESOURCE_DESC is = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    CUtexObject texture;
    CUsurfObject surface;
    CU(cuTexObjectCreate(&texture, &is, &how, NULL));
    CU(cuSurfObjectCreate(&surface, &is));
    CU(cuTexObjectDestroy(texture));
    CU(cuSurfObjectDestroy(surface));
    is = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_LINEAR,
                              .res.linear = {queue, CU_AD_FORMAT_UNSIGNED_INT32, 1, WORDS(n)}};
    CU(cuTexObjectCreate(&texture, &is, &how, NULL));
    CU(cuTexObjectDestroy(texture));
    write_row();
}

static void objects(void)
{
    make_array();
    run_steps(queue_forward, use_objects);
}

/* ---- what others made --------------------------------------------------------------------- */

static void external(void)
{
    CUexternalMemory memory;
    int file = memfd_create("external", 0);
    if (ftruncate(file, 65536) != 0)
        return;
    CU(cuImportExternalMemory(
        &memory,
        &(CUDA_EXTERNAL_MEMORY_HANDLE_DESC){
            .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .handle.fd = file, .size = 65536}));
    CU(cuExternalMemoryGetMappedBuffer(
        &queue, memory, &(CUDA_EXTERNAL_MEMORY_BUFFER_DESC){.size = WORDS(ROWS * n)}));
    run_steps(queue_forward, write_row);
}

/* Somebody else may write that memory until the semaphore says so; here nobody does. */
static CUexternalSemaphore semaphore;

static void wait_for_others(void)
{
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS at_once = {.params.fence.value = 0};
    CU(cuWaitExternalSemaphoresAsync(&semaphore, &at_once, 1, NULL));
    write_row();
}

static void external_wait(void)
{
    int file = memfd_create("semaphore", 0);
    if (ftruncate(file, 8) != 0)
        return;
    CU(cuImportExternalSemaphore(
        &semaphore,
        &(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC){
            .type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, .handle.fd = file}));
    run_steps(queue_forward, wait_for_others);
}

/* ---- what is given away ------------------------------------------------------------------- */

static void exported(void)
{
    CUipcMemHandle handle;
    queue = allocate(WORDS(ROWS * n));
    CU(cuIpcGetMemHandle(&handle, queue));
    run_steps(queue_forward, write_row);
}

static CUmemoryPool make_pool(void)
{
    CUmemoryPool pool;
    CU(cuMemPoolCreate(&pool,
                       &(CUmemPoolProps){.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                         .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                         .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}}));
    CU(cuMemAllocFromPoolAsync(&queue, WORDS(ROWS * n), pool, NULL));
    CU(cuMemsetD8(queue, 0, WORDS(ROWS * n)));
    return pool;
}

static void pool_pointer(void)
{
    CUmemPoolPtrExportData data;
    make_pool();
    CU(cuMemPoolExportPointer(&data, queue));
    run_steps(queue_forward, write_row);
}

static void pool_handle(void)
{
    int file;
    CU(cuMemPoolExportToShareableHandle(&file, make_pool(),
                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    run_steps(queue_forward, write_row);
}

static void multicast(void)
{
    const size_t bytes = 2 << 20;
    const CUmemAllocationProp kind = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    const CUmemAccessDesc access = {.location = kind.location,
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle team, memory;
    CU(cuMulticastCreate(&team, &(CUmulticastObjectProp){.numDevices = 1, .size = bytes}));
    CU(cuMulticastAddDevice(team, 0));
    CU(cuMemCreate(&memory, bytes, &kind, 0));
    CU(cuMulticastBindMem(team, 0, memory, 0, bytes, 0));
    CU(cuMemAddressReserve(&queue, bytes, 0, 0, 0));
    CU(cuMemMap(queue, bytes, 0, memory, 0));
    CU(cuMemSetAccess(queue, bytes, &access, 1));
    CU(cuMemsetD8(queue, 0, bytes));
    run_steps(queue_forward, write_row);
}

/* ---- managed memory ------------------------------------------------------------------------ */

static void discard(void)
{
    size_t bytes = WORDS(2 * n);
    CU(cuMemDiscardBatchAsync(&queue, &bytes, 1, 0, NULL));
}

static void discarded(void)
{
    CU(cuMemAllocManaged(&queue, WORDS(ROWS * n), CU_MEM_ATTACH_GLOBAL));
    CU(cuMemsetD8(queue, 0, WORDS(ROWS * n)));
    run_steps(queue_forward, discard);
}

const struct scenario object_scenarios[] = {
    {"copy-from-array", from_array},
    {"copy-rows-from-array", rows_from_array},
    {"copy-batch-from-array", batch_from_array},
    {"array-written", array_written},
    {"texture-objects", objects},
    {"external-memory", external},
    {"external-semaphore", external_wait},
    {"exported", exported},
    {"pool-pointer-exported", pool_pointer},
    {"pool-exported", pool_handle},
    {"multicast", multicast},
    {"discarded", discarded},
    {NULL, NULL},
};
