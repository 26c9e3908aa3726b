/* SPDX-License-Identifier: Apache-2.0 */
/* The many ways to write device memory without a kernel, and by names other than its own. */
#include "tests/seen/job.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
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
    CUmemAccessDesc access = {.location = kind.location,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
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

/* Each forward copies from pinned memory that the device has written at first, and host code
 * changes in between. */
static void load_forward(void)
{
    CU(cuMemcpyHtoDAsync(queue, pinned, WORDS(ROWS * n), NULL));
    queue_forward();
}

static void load_done_forward(void)
{
    CU(cuCtxSynchronize());
    load_forward();
}

static void refill(void)
{
    CU(cuCtxSynchronize());
    pinned[5]++;
}

static void pinned_once_written(void)
{
    CU(cuMemAllocHost((void **)&pinned, WORDS(ROWS * n)));
    CU(cuMemcpyDtoH(pinned, queue, WORDS(ROWS * n)));
    run_steps(load_done_forward, refill);
}

static atomic_bool is_loaded; /* the forward has copied */

static void CUDA_CB rest(void *unused)
{
    enum { MOST_MS = 3000 }; /* a layer that waits here before the copy is not waited for */
    (void)unused;
    for (int i = 0; i < MOST_MS && !is_loaded; i++)
        usleep(1000);
}

static void load_and_tell(void)
{
    load_forward();
    CU(cuStreamSynchronize(NULL)); /* not the other stream, which waits for this */
    is_loaded = true;
}

/* The device is still to write there, the bytes that stand there, when the forward copies: what
 * host code changes after that can't be told from it. */
static void pinned_written_late(void)
{
    CUstream aside;
    CU(cuStreamCreate(&aside, CU_STREAM_NON_BLOCKING));
    CU(cuMemAllocHost((void **)&pinned, WORDS(ROWS * n)));
    memset(pinned, 0, WORDS(ROWS * n));
    for (int step = 1; step <= STEPS; step++) {
        is_loaded = false;
        CU(cuLaunchHostFunc(aside, rest, NULL));
        CU(cuMemcpyDtoHAsync(pinned + n, state, WORDS(n), aside));
        run_step(step, load_and_tell, refill, load_forward);
    }
}

/* The queue is managed memory, which host code changes without a call. */
static void write_managed(void)
{
    CU(cuCtxSynchronize());
    pinned[5]++;
}

static void managed(void)
{
    CU(cuMemAllocManaged(&queue, WORDS(ROWS * n), CU_MEM_ATTACH_GLOBAL));
    pinned = (int *)(void *)queue;
    memset(pinned, 0, WORDS(ROWS * n));
    run_steps(queue_forward, write_managed);
}

/* The queue's address shows other physical memory when it is replayed for. */
static CUmemGenericAllocationHandle two[2];
static const size_t mapped_bytes = 2 << 20;
static const CUmemAccessDesc readwrite = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                          .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static void show(int which)
{
    CU(cuCtxSynchronize());
    CU(cuMemUnmap(queue, mapped_bytes));
    CU(cuMemMap(queue, mapped_bytes, 0, two[which], 0));
    CU(cuMemSetAccess(queue, mapped_bytes, &readwrite, 1));
}

static void show_other(void)
{
    show(1);
    CU(cuMemsetD32(queue, 5, 1000));
}

static void remapped(void)
{
    CUmemAllocationProp kind = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = readwrite.location};
    CU(cuMemAddressReserve(&queue, mapped_bytes, 0, 0, 0));
    for (int i = 0; i < 2; i++)
        CU(cuMemCreate(&two[i], mapped_bytes, &kind, 0));
    CU(cuMemMap(queue, mapped_bytes, 0, two[0], 0));
    CU(cuMemSetAccess(queue, mapped_bytes, &readwrite, 1));
    CU(cuMemsetD8(queue, 0, mapped_bytes));
    for (int step = 1; step <= STEPS; step++) {
        run_step(step, queue_forward, show_other, queue_forward);
        show(0);
    }
}

/* Unmapped, and mapped again as it was: the same bytes. */
static void show_other_and_back(void)
{
    show(1);
    show(0);
    write_row();
}

static void mapped_again(void)
{
    CUmemAllocationProp kind = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = readwrite.location};
    CU(cuMemAddressReserve(&queue, mapped_bytes, 0, 0, 0));
    for (int i = 0; i < 2; i++)
        CU(cuMemCreate(&two[i], mapped_bytes, &kind, 0));
    CU(cuMemMap(queue, mapped_bytes, 0, two[0], 0));
    CU(cuMemSetAccess(queue, mapped_bytes, &readwrite, 1));
    CU(cuMemsetD8(queue, 0, mapped_bytes));
    print_too("mapped", queue, WORDS(ROWS * n));
    run_steps(queue_forward, show_other_and_back);
}

/* ---- ways to launch ----------------------------------------------------------------------- */

static int which_row;

static void launch_cooperative(void)
{
    void *params[] = {&queue, &x, &which_row, &n};
    CU(cuLaunchCooperativeKernel(function("enqueue"), 8, 1, 1, 128, 1, 1, 0, NULL, params));
}

static void launch_ex(void)
{
    void *params[] = {&queue, &x, &which_row, &n};
    CUlaunchConfig config = {.gridDimX = 8, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 128,
                             .blockDimY = 1, .blockDimZ = 1};
    CU(cuLaunchKernelEx(&config, function("enqueue"), params, NULL));
}

static void launch_by_block(void)
{
    struct {
        CUdeviceptr queue, x;
        int row, n;
    } block = {queue, x, which_row, n};
    size_t bytes = sizeof block;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    CU(cuLaunchKernel(function("enqueue"), 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
}

static void by_cooperative_launch(void)
{
    run_steps(queue_forward, launch_cooperative);
}

static void by_launch_ex(void)
{
    run_steps(queue_forward, launch_ex);
}

static void by_parameter_block(void)
{
    run_steps(queue_forward, launch_by_block);
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
    for (int step = 1; step <= STEPS; step++) {
        CU(cuCtxSynchronize()); /* the next forward reads what the last step's thread has written */
        run_step(step, read_in_own_stream, write_unless_replaying, write_and_read);
    }
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
    {"pinned-once-written", pinned_once_written},
    {"pinned-written-late", pinned_written_late},
    {"managed", managed},
    {"remapped", remapped},
    {"mapped-again", mapped_again},
    {"by-cooperative-launch", by_cooperative_launch},
    {"by-launch-ex", by_launch_ex},
    {"by-parameter-block", by_parameter_block},
    {"threads", threads},
    {NULL, NULL},
};
