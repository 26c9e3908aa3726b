/* SPDX-License-Identifier: Apache-2.0 */
/* The many ways to write device memory without a kernel, and by names other than its own. */
#include "tests/seen/job.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- calls ------------------------------------------------------------------------------ */

static void batch(void)
{
    CUdeviceptr to[2] = {queue + WORDS(n), queue + WORDS(3 * n)}, from[2] = {x, x};
    size_t bytes[2] = {WORDS(n), WORDS(10)}, first = 0;
    CUmemcpyAttributes how = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    static CUstream stream;
    if (!stream)
        CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuCtxSynchronize());
    CU(cuMemcpyBatchAsync(to, from, bytes, 2, &how, &first, 1, stream));
    CU(cuStreamSynchronize(stream));
}

static void copy_batch(void)
{
    run_steps(queue_forward, batch);
}

static void stream_write(void)
{
    CU(cuStreamWriteValue32(NULL, queue + 4 * 123, 4711, 0));
}

static void write_value(void)
{
    run_steps(queue_forward, stream_write);
}

static void stream_operations(void)
{
    CUstreamBatchMemOpParams items[2] = {
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = queue + 8}},
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64, .address = queue + 16}}};
    items[0].writeValue.value = 17;
    items[1].writeValue.value64 = (cuuint64_t)18 << 32;
    CU(cuStreamBatchMemOp(NULL, 2, items, 0));
}

static void batch_mem_op(void)
{
    run_steps(queue_forward, stream_operations);
}

static void fill_rows(void)
{
    CU(cuMemsetD2D16(queue + WORDS(n), WORDS(n), 0x1234, 100, 3));
}

static void fill_2d(void)
{
    run_steps(queue_forward, fill_rows);
}

static void copy_rows(void)
{
    CU(cuMemcpy2D(&(CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                   .srcDevice = x,
                                   .srcPitch = 400,
                                   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                   .dstDevice = queue,
                                   .dstPitch = WORDS(n),
                                   .dstY = 2,
                                   .dstXInBytes = 40,
                                   .WidthInBytes = 400,
                                   .Height = 4}));
}

static void copy_2d(void)
{
    run_steps(queue_forward, copy_rows);
}

static void copy_box(void)
{
    CU(cuMemcpy3D(&(CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                   .srcDevice = x,
                                   .srcPitch = 100,
                                   .srcHeight = 4,
                                   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                   .dstDevice = queue,
                                   .dstPitch = 2000,
                                   .dstHeight = 8,
                                   .dstZ = 1,
                                   .WidthInBytes = 100,
                                   .Height = 4,
                                   .Depth = 1}));
}

static void copy_3d(void)
{
    run_steps(queue_forward, copy_box);
}

/* ---- other names ------------------------------------------------------------------------ */

static CUdeviceptr second_address;

static void write_by_second_address(void)
{
    CU(cuMemsetD32(second_address + WORDS(n), 99, 100));
}

/* The queue is physical memory, mapped twice. */
static void alias(void)
{
    CUmemAllocationProp kind = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemAccessDesc access = {.location = kind.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle, again;
    const size_t bytes = 2 << 20;
    CU(cuMemCreate(&handle, bytes, &kind, 0));
    CU(cuMemAddressReserve(&queue, bytes, 0, 0, 0));
    CU(cuMemAddressReserve(&second_address, bytes, 0, 0, 0));
    CU(cuMemMap(queue, bytes, 0, handle, 0));
    CU(cuMemSetAccess(queue, bytes, &access, 1));
    CU(cuMemRetainAllocationHandle(&again, (void *)queue));
    CU(cuMemRelease(handle));
    CU(cuMemMap(second_address, bytes, 0, again, 0)); /* by what is left of two handles */
    CU(cuMemRelease(again));
    CU(cuMemSetAccess(second_address, bytes, &access, 1));
    CU(cuMemsetD8(queue, 0, bytes));
    print_too("mapped", queue, WORDS(ROWS * n));
    run_steps(queue_forward, write_by_second_address);
}

static int *pinned;

static void write_pinned(void *unused)
{
    (void)unused;
    pinned[5]++;
}

static void call_host(void)
{
    CU(cuLaunchHostFunc(NULL, write_pinned, NULL));
}

/* The queue is host memory that a host function changes, in stream order. */
static void host_function(void)
{
    CU(cuMemAllocHost((void **)&pinned, WORDS(ROWS * n)));
    memset(pinned, 0, WORDS(ROWS * n));
    CU(cuMemHostGetDevicePointer(&queue, pinned, 0));
    run_steps(queue_forward, call_host);
}

/* ---- threads ---------------------------------------------------------------------------- */

static sem_t launched;

/* Its default stream is not the main thread's, though both are called the same. */
static void *write_slowly(void *context)
{
    unsigned value = 77;
    int rounds = 20;
    CU(cuCtxSetCurrent(context));
    LAUNCH_IN(CU_STREAM_PER_THREAD, "slow_fill", &queue, &value, &n, &rounds);
    sem_post(&launched);
    pause(); /* its stream must not end with it */
    return NULL;
}

static void write_in_other_thread(void)
{
    pthread_t thread;
    CUcontext context;
    CU(cuCtxGetCurrent(&context));
    CU(cuStreamSynchronize(CU_STREAM_PER_THREAD)); /* the forward has read */
    sem_init(&launched, 0, 0);
    pthread_create(&thread, NULL, write_slowly, context);
    sem_wait(&launched);
}

static void read_in_own_stream(void)
{
    LAUNCH_IN(CU_STREAM_PER_THREAD, "read_queue", &queue, &x, &y, &rows, &n);
}

static void write_unless_replaying(void)
{
    if (!replaying)
        write_in_other_thread();
}

/* Right before the replay's own call: nothing of the job's lies between in the legacy stream, which
 * would make the one wait for the other. */
static void write_and_read(void)
{
    write_in_other_thread();
    read_in_own_stream();
}

static void threads(void)
{
    for (int step = 1; step <= STEPS; step++)
        run_step(step, read_in_own_stream, write_unless_replaying, write_and_read);
}

/* ---- contexts --------------------------------------------------------------------------- */

static CUcontext other;

static void write_in_other_context(void)
{
    CUcontext context;
    CU(cuCtxGetCurrent(&context));
    CU(cuCtxSynchronize());
    CU(cuCtxSetCurrent(other));
    CU(cuMemsetD32(queue, 3, 10));
    CU(cuCtxSynchronize());
    CU(cuCtxSetCurrent(context));
}

static void contexts(void)
{
    CUdevice device;
    CUcontext context;
    CU(cuCtxGetCurrent(&context));
    CU(cuDeviceGet(&device, 0));
    CU(cuCtxCreate(&other, NULL, 0, device));
    CU(cuCtxSetCurrent(context));
    run_steps(queue_forward, write_in_other_context);
}

/* Destroyed again: what the job's own context holds goes on being followed. */
static void passing_context(void)
{
    CUdevice device;
    CUcontext context;
    CUdeviceptr memory;
    CU(cuCtxGetCurrent(&context));
    CU(cuDeviceGet(&device, 0));
    CU(cuCtxCreate(&other, NULL, 0, device));
    CU(cuMemAlloc(&memory, 1000));
    CU(cuCtxDestroy(other));
    CU(cuCtxSetCurrent(context));
    run_steps(queue_forward, write_row);
}

const struct scenario writer_scenarios[] = {
    {"copy-batch", copy_batch},
    {"write-value", write_value},
    {"batch-mem-op", batch_mem_op},
    {"fill-2d", fill_2d},
    {"copy-2d", copy_2d},
    {"copy-3d", copy_3d},
    {"alias-by-two-handles", alias},
    {"host-function", host_function},
    {"threads", threads},
    {"contexts", contexts},
    {"passing-context", passing_context},
    {NULL, NULL},
};
