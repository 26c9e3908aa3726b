/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls are made again, and which are not: what they do must be the same each time. */
#include "tests/recompute/losing/job.h"

#include <nvtx3/nvToolsExt.h>

/* A copy and two sets beside the launch, and their input is another by the time of the look. */
void case_copied(void)
{
    CUdeviceptr in = device_words(7), between = device_words(0), out = device_words(0);
    nvtxRangePushA("forward/0");
    CU(cuMemcpyDtoDAsync(between, in, BYTES, stream));
    CU(cuMemsetD16Async(between + 64, 0x1234, 32, stream));
    affine(out, between, 5);
    CU(cuMemsetD8Async(out, 0x5a, 128, stream));
    nvtxRangePop();
    CU(cuMemsetD32Async(in, 1234, WORDS, stream));
    CU(cuStreamSynchronize(stream));
    device_words(0);
    show("out", out);
    show("between", between);
}

/* By rows: such calls are not issued again. */
void case_copied_by_rows(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0);
    CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = in,
                          .srcPitch = BYTES / 4, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = out, .dstPitch = BYTES / 4, .WidthInBytes = BYTES / 8,
                          .Height = 4};
    nvtxRangePushA("forward/0");
    CU(cuMemsetD2D32Async(out, BYTES / 4, 5, WORDS / 8, 4, stream));
    CU(cuMemcpy2DAsync(&rows, stream));
    nvtxRangePop();
    CU(cuStreamSynchronize(stream));
    device_words(0);
    show("out", out);
}

/* What its kernel has written there the host has read, and has put something else in its place. */
void case_pinned(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0);
    unsigned *words;
    CU(cuMemAllocHost((void **)&words, BYTES));
    nvtxRangePushA("forward/0");
    affine((CUdeviceptr)(size_t)words, in, 3);
    affine(out, in, 5);
    nvtxRangePop();
    CU(cuStreamSynchronize(stream));
    memset(words, 0, BYTES);
    device_words(0);
    show("out", out);
    printf("words %u %u\n", words[0], words[WORDS - 1]);
}

/* The same, of memory that is given to other processes after the forward. */
void case_exported(void)
{
    CUdeviceptr in = device_words(7), small, out = device_words(0);
    CUfunction function;
    unsigned factor = 3, words[16], zero[16] = {0};
    CUipcMemHandle handle;
    CU(cuMemAlloc(&small, 64));
    void *params[] = {&small, &in, &factor};
    CU(cuModuleGetFunction(&function, module, "affine"));
    nvtxRangePushA("forward/0");
    CU(cuLaunchKernel(function, 1, 1, 1, 16, 1, 1, 0, stream, params, NULL));
    affine(out, in, 5);
    nvtxRangePop();
    CU(cuStreamSynchronize(stream));
    CU(cuIpcGetMemHandle(&handle, small));
    for (int i = 0; i < 8; i++)
        device_words(0);
    CU(cuMemcpyHtoD(small, zero, sizeof zero)); /* as another process would */
    show("out", out);
    CU(cuMemcpyDtoH(words, small, sizeof words));
    printf("words %u %u\n", words[0], words[15]);
}

/* A table that the first forward alone makes, of what is something else by then; the second one
 * reads it. */
void case_made_once(void)
{
    CUdeviceptr in = device_words(7), table = device_words(0), out = device_words(0),
                later = device_words(0);
    nvtxRangePushA("forward/0");
    affine(table, in, 3);
    affine(out, table, 5);
    nvtxRangePop();
    CU(cuMemsetD32Async(in, 1234, WORDS, stream));
    CU(cuStreamSynchronize(stream));
    forward("forward/1", later, table);
    show("out", out);
    show("later", later);
    show("table", table);
}

static void CUDA_CB do_nothing(void *unused)
{
    (void)unused;
}

/* Host code runs between, and might write pinned memory: none of it is read. */
void case_called(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0);
    void *words;
    CU(cuMemAllocHost(&words, 64));
    forward("forward/0", out, in);
    CU(cuLaunchHostFunc(stream, do_nothing, NULL));
    CU(cuMemsetD32Async(in, 1234, WORDS, stream));
    show("out", out);
}

/* What opens another stream needs what was dropped. */
void case_opened(void)
{
    CUdeviceptr in = device_words(7), mine = device_words(0), out = device_words(0), flag;
    CUdeviceptr copy = device_words(0);
    CUstream waiting;
    CU(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc(&flag, 64));
    CU(cuMemsetD32(flag, 0, 16));
    forward("forward/0", out, in);
    CU(cuStreamWaitValue32(waiting, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    CU(cuMemsetD32Async(mine, 1234, WORDS, waiting));
    CU(cuMemcpyDtoDAsync(copy, out, BYTES, stream));
    CU(cuStreamWriteValue32(stream, flag, 1, 0));
    CU(cuStreamSynchronize(waiting));
    show("out", copy);
    show("mine", mine);
}

/* Nobody has written it between two looks. */
static void looked_at_twice(const char *kernel)
{
    static unsigned first[WORDS], second[WORDS];
    CUdeviceptr out = device_words(0), state = device_words(0);
    CUfunction function;
    void *params[] = {&out, &state};
    CU(cuModuleGetFunction(&function, module, kernel));
    nvtxRangePushA("forward/0");
    CU(cuLaunchKernel(function, WORDS / 256, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    nvtxRangePop();
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH(first, out, BYTES));
    device_words(0);
    CU(cuMemcpyDtoH(second, out, BYTES));
    printf("out %s\n", memcmp(first, second, BYTES) ? "changed" : "stays");
}

void case_timed(void)
{
    looked_at_twice("timed");
}

void case_counted(void)
{
    looked_at_twice("counted");
}
