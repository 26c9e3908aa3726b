/* SPDX-License-Identifier: Apache-2.0 */
/* usage: moving_job KERNELS CASE. Memory that no recipe can make anew, more of it than the device
 * holds; prints what it holds in the end. */
#include "cases.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { PAGE = 4096, MANY = 9, LARGE = 64 * PAGE };
static CUcontext context;
static CUmodule module;
static CUstream stream;

static CUdeviceptr filled(unsigned value, size_t bytes)
{
    CUdeviceptr memory;
    CU(cuMemAlloc(&memory, bytes));
    CU(cuMemsetD32(memory, value, bytes / 4));
    CU(cuCtxSynchronize());
    return memory;
}

/* The pages of all that do not hold what they should. */
static int wrong_pages(const CUdeviceptr *large)
{
    static unsigned words[PAGE / 4];
    int wrong = 0;
    for (int i = 0; i < MANY * LARGE / PAGE; i++) {
        int owner = i * PAGE / LARGE, k = 0;
        CU(cuMemcpyDtoH(words, large[owner] + (CUdeviceptr)(i % (LARGE / PAGE)) * PAGE, PAGE));
        while (k < PAGE / 4 && words[k] == (unsigned)owner + 1)
            k++;
        wrong += k < PAGE / 4;
    }
    return wrong;
}

static void fill_and_look(void)
{
    CUdeviceptr large[MANY];
    unsigned words[16];
    for (int i = 0; i < MANY; i++)
        large[i] = filled((unsigned)i + 1, LARGE);
    for (int round = 0; round < 30; round++) {
        int i = round * 4 % MANY;
        CUdeviceptr next = large[(i + 1) % MANY];
        CU(cuMemcpyDtoH(words, large[i] + (CUdeviceptr)(round % 8) * PAGE, sizeof words));
        CU(cuMemcpyDtoD(next, next + PAGE, sizeof words));
    }
    printf("wrong %d\n", wrong_pages(large));
}

/* A pool that keeps its memory has part of what there was when the budget was settled. */
static void pool(void)
{
    CUmemoryPool kept;
    uint64_t threshold = UINT64_MAX;
    CUdeviceptr memory = filled(1, 4 * PAGE);
    CU(cuDeviceGetDefaultMemPool(&kept, 0));
    CU(cuMemPoolSetAttribute(kept, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    CU(cuMemAllocAsync(&memory, (size_t)50 * PAGE, stream));
    CU(cuMemFreeAsync(memory, stream));
    CU(cuCtxSynchronize());
    fill_and_look();
}

static void affine(CUstream in_stream, CUdeviceptr out, CUdeviceptr in)
{
    CUfunction function;
    unsigned factor = 3;
    void *params[] = {&out, &in, &factor};
    CU(cuModuleGetFunction(&function, module, "affine"));
    CU(cuLaunchKernel(function, 4 * PAGE / 1024, 1, 1, 256, 1, 1, 0, in_stream, params, NULL));
}

static void show(CUdeviceptr memory)
{
    static unsigned words[PAGE];
    uint64_t hash = 14695981039346656037U;
    CU(cuCtxSynchronize());
    CU(cuMemcpyDtoH(words, memory, sizeof words));
    for (int i = 0; i < PAGE; i++)
        hash = (hash ^ words[i]) * 1099511628211U;
    printf("%016llx\n", (unsigned long long)hash);
}

/* Comes back in one stream while another one captures, which uses it afterwards. */
static void captured(void)
{
    CUdeviceptr a = filled(7, 4 * PAGE), b = filled(9, 4 * PAGE), c = filled(11, 4 * PAGE);
    CUstream other;
    CUgraph graph;
    CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    affine(stream, c, c);
    affine(other, b, b);
    CU(cuCtxSynchronize());
    CU(cuMemFree(filled(1, 4 * PAGE))); /* the first one makes way */
    CU(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED));
    for (int i = 0; i < 20; i++)
        affine(stream, c, c);
    CU(cuMemcpyDtoDAsync(c, a, 64, stream));
    CU(cuStreamEndCapture(other, &graph));
    affine(other, b, a);
    CU(cuStreamSynchronize(other));
    show(b);
    show(a);
    show(c);
}

/* Another context comes and goes, while memory of the first is elsewhere. */
static void contexts(bool allocates, bool is_primary)
{
    CUdeviceptr a = filled(7, 4 * PAGE), b = filled(9, 4 * PAGE), c = filled(11, 4 * PAGE), d;
    CUcontext other;
    if (is_primary) {
        CU(cuDevicePrimaryCtxRetain(&other, 0));
        CU(cuCtxPushCurrent(other));
    } else {
        CU(cuCtxCreate(&other, NULL, 0, 0));
    }
    if (allocates) {
        CU(cuMemAlloc(&d, 4 * PAGE)); /* for which something goes */
        CU(cuMemFree(d));
    }
    CU(is_primary ? cuDevicePrimaryCtxRelease(0) : cuCtxDestroy(other));
    CU(cuCtxSetCurrent(context));
    show(a);
    show(b);
    show(c);
}

static void context_goes(void)
{
    contexts(false, false);
}

static void context_allocates(void)
{
    contexts(true, false);
}

static void primary_goes(void)
{
    contexts(false, true);
}

/* ---- gates -------------------------------------------------------------------------------- */

enum { FEW = 4, MORE = 5 };

static void fill_all(CUstream in_stream, const CUdeviceptr *large, int first, int end)
{
    for (int i = first; i < end; i++)
        CU(cuMemsetD32Async(large[i], (unsigned)i + 1, LARGE / 4, in_stream));
}

static void show_wrong(const CUdeviceptr *large, int count)
{
    static unsigned words[LARGE / 4];
    int wrong = 0;
    for (int i = 0; i < count; i++) {
        CU(cuMemcpyDtoH(words, large[i], LARGE));
        for (int k = 0; k < LARGE / 4; k++)
            wrong += words[k] != (unsigned)i + 1;
    }
    printf("wrong %d\n", wrong);
}

/* A stream waits for a value that another one writes once there is more memory. */
static void gated(void)
{
    CUdeviceptr large[MORE], word = filled(0, 4);
    CUstream waiting;
    CU(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < FEW; i++)
        large[i] = filled(0, LARGE);
    fill_all(stream, large, 1, FEW);
    CU(cuStreamSynchronize(stream));
    CU(cuStreamWaitValue32(waiting, word, 1, CU_STREAM_WAIT_VALUE_EQ));
    fill_all(waiting, large, 0, 1);
    CU(cuMemAlloc(&large[FEW], LARGE));
    fill_all(stream, large, FEW, MORE);
    CU(cuStreamWriteValue32(stream, word, 1, 0));
    CU(cuStreamSynchronize(waiting));
    CU(cuStreamSynchronize(stream));
    show_wrong(large, MORE);
}

static atomic_bool is_open;

static void CUDA_CB wait_for_the_job(void *unused)
{
    (void)unused;
    while (!is_open)
        ;
}

/* A host function waits for the job, and all memory is used after it. */
static void stuck(void)
{
    CUdeviceptr large[MORE];
    CUstream waiting;
    CU(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < FEW; i++)
        large[i] = filled(0, LARGE);
    CU(cuLaunchHostFunc(waiting, wait_for_the_job, NULL));
    fill_all(waiting, large, 0, FEW);
    CUresult result = cuMemAlloc(&large[FEW], LARGE);
    fprintf(stderr, "answered %d\n", (int)result);
    is_open = true;
    CU(cuStreamSynchronize(waiting));
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        result = cuMemAlloc(&large[FEW], LARGE);
    CU(result);
    fill_all(stream, large, FEW, MORE);
    CU(cuStreamSynchronize(stream));
    show_wrong(large, MORE);
}

static const struct job_case cases[] = {
    {"full", fill_and_look}, {"pool", pool}, {"captured", captured}, {"context", context_goes},
    {"allocates", context_allocates}, {"primary", primary_goes}, {"gated", gated},
    {"stuck", stuck}, {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    CU(cuInit(0));
    CU(cuCtxCreate(&context, NULL, 0, 0));
    CU(cuModuleLoad(&module, argv[1]));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    run_case(cases, argv[2]);
    return 0;
}
