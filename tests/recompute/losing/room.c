/* SPDX-License-Identifier: Apache-2.0 */
/* Less memory than the job asks for, or than it uses. */
#include "tests/recompute/losing/job.h"

#include <nvtx3/nvToolsExt.h>

/* Gives back what it can do without, one piece after the other, for as long as it is refused. */
static void show_somehow(const char *name, CUdeviceptr memory, CUdeviceptr *ballast, int count)
{
    static unsigned words[WORDS];
    CUresult result = cuMemcpyDtoH(words, memory, BYTES);
    while (result == CUDA_ERROR_OUT_OF_MEMORY && count > 0) {
        CU(cuMemFree(ballast[--count]));
        result = cuMemcpyDtoH(words, memory, BYTES);
    }
    show(name, memory);
}

/* There is no room for the output, then none for the transaction's copies. */
void case_refused(void)
{
    enum { MOST = 16 };
    CUdeviceptr in = device_words(7), out = device_words(0), ballast[MOST];
    int count = 0;
    nvtxRangePushA("forward/0");
    affine(out, in, 5);
    nvtxRangePop();
    CU(cuMemsetD32Async(in, 1234, WORDS, stream));
    CU(cuStreamSynchronize(stream));
    while (count < MOST && cuMemAlloc(&ballast[count], BYTES) == CUDA_SUCCESS &&
           cuMemsetD32(ballast[count], 9, WORDS) == CUDA_SUCCESS)
        count++;
    show_somehow("out", out, ballast, count);
    show("in", in);
}

/* The device has half of what the output takes. That is the job's own when it asks for it. */
void case_half_refilled(void)
{
    enum { MOST = 512, GRANULE = 4096, LEFT = BYTES / GRANULE / 2 };
    CUdeviceptr in = device_words(7), out = device_words(0), ballast[MOST];
    static unsigned words[WORDS];
    int count = 0;
    forward("forward/0", out, in);
    while (count < MOST && cuMemAlloc(&ballast[count], GRANULE) == CUDA_SUCCESS)
        count++;
    for (int i = 0; i < LEFT; i++)
        CU(cuMemFree(ballast[--count]));
    (void)cuMemcpyDtoH(words, out, BYTES); /* finds no room, under a budget */
    for (int i = 0; i < LEFT; i++)
        CU(cuMemAlloc(&ballast[count++], GRANULE));
    while (count)
        CU(cuMemFree(ballast[--count]));
    show("out", out);
}

/* In the end the job only looks at what it has made, step by step. */
void case_evaluated(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0);
    for (int i = 0; i < 12; i++) {
        nvtxRangePop();
        nvtxRangePushA("step");
        if (i < 4)
            forward("forward/0", out, in);
        show("out", out);
    }
}

/* For luck, more than there is; and some that comes and goes unused. */
void case_asked(void)
{
    CUdeviceptr much, passing, in = device_words(7), out = device_words(0);
    if (cuMemAlloc(&much, 4096 * BYTES) == CUDA_SUCCESS)
        CU(cuMemFree(much));
    CU(cuMemAllocAsync(&passing, 40 * BYTES, stream));
    CU(cuMemFreeAsync(passing, stream));
    nvtxRangePushA("forward/0");
    affine(out, in, 5);
    nvtxRangePop();
    show("out", out);
}

/* An open forward's output goes to the host, with a page beside it; that page's use brings both
 * back, and at once the output is in the way. */
void case_neighbour(void)
{
    enum { LARGE = 256 * BYTES, PAGE = BYTES / 4 };
    CUdeviceptr all, more, last, sums = device_words(0);
    CUfunction function;
    void *params[] = {&sums, &all};
    CU(cuModuleGetFunction(&function, module, "sums"));
    CU(cuMemAlloc(&all, LARGE));
    CU(cuMemsetD32(all, 9, LARGE / 4));
    CU(cuCtxSynchronize());
    nvtxRangePushA("forward/0");
    CU(cuMemsetD32Async(all + PAGE, 5, (LARGE - 2 * PAGE) / 4, stream));
    CU(cuLaunchKernel(function, LARGE / 1024, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    CU(cuStreamSynchronize(stream));
    CU(cuMemAlloc(&more, 2 * LARGE));
    nvtxRangePop();
    CU(cuMemsetD8Async(all, 1, 4, stream));
    CU(cuMemAlloc(&last, LARGE / 4 * 3));
    show("out", all);
    show("sums", sums);
}

/* One allocation, which the job divides by itself: a page of it is dropped, and its neighbours are
 * used meanwhile. */
void case_block(void)
{
    CUdeviceptr all, in, between, out;
    CU(cuMemAlloc(&all, 3 * BYTES + 512));
    in = all;
    between = all + BYTES + 512; /* shares its first page with what lies before it */
    out = all + 2 * BYTES + 512;
    CU(cuMemsetD32(all, 7, 3 * WORDS + 128));
    CU(cuCtxSynchronize());
    nvtxRangePushA("forward/0");
    affine(between, in, 3);
    affine(out, between, 5);
    nvtxRangePop();
    CU(cuMemsetD32Async(in, 1234, WORDS + 128, stream));
    CU(cuStreamSynchronize(stream));
    device_words(0);
    show("between", between);
    show("out", out);
    show("in", in);
}

/* One allocation of more than the budget: a chain of activations in it, and the way back. */
void case_large_block(void)
{
    enum { LAYERS = 20 };
    CUdeviceptr all, sums = device_words(0);
    CU(cuMemAlloc(&all, (LAYERS + 1) * BYTES));
    CU(cuMemsetD32Async(all, 7, WORDS, stream));
    for (int i = 0; i < LAYERS; i++)
        forward("forward/0", all + (CUdeviceptr)(i + 1) * BYTES, all + (CUdeviceptr)i * BYTES);
    for (int i = LAYERS; i >= 0; i--) {
        affine(sums, all + (CUdeviceptr)i * BYTES, (unsigned)i + 1);
        show("out", sums);
    }
    printf("past %d\n", (int)cuMemAlloc(&all, (size_t)1 << 45));
}

/* A call that meets more than any before it, when two forwards in a row have been dropped that it
 * needs: neither can be followed again beside what it meets. */
void case_larger(void)
{
    enum { PARTS = 12 };
    CUdeviceptr in = device_words(7), between = device_words(0), sums = device_words(0), all;
    CUfunction function;
    void *params[] = {&sums, &all};
    CU(cuModuleGetFunction(&function, module, "sums"));
    CU(cuMemAlloc(&all, PARTS * BYTES));
    for (int i = 0; i < PARTS; i++)
        CU(cuMemsetD32Async(all + (CUdeviceptr)i * BYTES, 3, WORDS, stream));
    forward("forward/0", between, in);
    forward("forward/1", all + 4 * BYTES, between);
    for (int i = 0; i < PARTS; i++)
        if (i != 4)
            CU(cuMemsetD32Async(all + (CUdeviceptr)i * BYTES, 9, WORDS, stream));
    CU(cuLaunchKernel(function, PARTS * WORDS / 256, 1, 1, 256, 1, 1, 0, stream, params, NULL));
    show("out", sums);
    show("between", between);
}

/* More and more, until there is no more: as many blocks as the device would hold. */
void case_asked_until_refused(void)
{
    CUdeviceptr block;
    size_t left, total;
    int count = 0;
    CU(cuMemGetInfo(&left, &total));
    while (count < 100 && cuMemAlloc(&block, total / 10 * 3) == CUDA_SUCCESS)
        count++;
    printf("out %d\n", count);
}

/* Each piece has room in the budget, and all of them on the device. Few are used. */
void case_asked_in_pieces(void)
{
    enum { PIECES = 44 };
    CUdeviceptr pieces[PIECES];
    for (int i = 0; i < PIECES; i++)
        CU(cuMemAlloc(&pieces[i], BYTES));
    for (int i = 0; i < PIECES; i += PIECES / 4) {
        CU(cuMemsetD32(pieces[i], (unsigned)i, WORDS));
        show("out", pieces[i]);
    }
}

/* More and more, until there is no more room for what they hold. */
void case_filled_until_refused(void)
{
    enum { MOST = 400 };
    CUdeviceptr piece;
    int count = 0;
    while (count < MOST && cuMemAlloc(&piece, BYTES) == CUDA_SUCCESS &&
           cuMemsetD32(piece, (unsigned)count, WORDS) == CUDA_SUCCESS)
        count++;
    printf("out %d\n", count);
}

/* The device is full of outputs when the driver needs memory of its own. */
void case_loaded_late(void)
{
    static const char image[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                                ".visible .global .align 8 .b8 table[131072];\n";
    enum { OUTPUTS = 60 };
    CUdeviceptr in = device_words(7), out[OUTPUTS];
    CUmodule late;
    for (int i = 0; i < OUTPUTS; i++) {
        CU(cuMemAlloc(&out[i], BYTES));
        nvtxRangePushA("forward/0");
        affine(out[i], in, (unsigned)i);
        nvtxRangePop();
    }
    CU(cuModuleLoadData(&late, image));
    for (int i = 0; i < OUTPUTS; i++)
        show("out", out[i]);
}

/* It is to be given to a network card, when more is used than there is room for beside it. */
void case_given_to_a_card(void)
{
    CUdeviceptr memory = device_words(7), more;
    int file = -1;
    (void)cuMemGetHandleForAddressRange(&file, memory, BYTES, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
                                        0);
    CU(cuMemAlloc(&more, 2 * BYTES));
    CU(cuMemsetD32(more, 9, 2 * WORDS));
    show("out", memory);
}

/* Calls that fail in any case, which meet what was dropped, or more than there is memory for. */
void case_failing(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0), bad = 16;
    unsigned factor = 5, word;
    CUfunction function;
    void *good_params[] = {&in, &out, &factor}, *bad_params[] = {&bad, &in, &factor};
    forward("forward/0", out, in);
    CU(cuModuleGetFunction(&function, module, "affine"));
    printf("out %d", (int)cuLaunchKernel(function, WORDS / 256, 1, 1, 5000, 1, 1, 0, stream,
                                         good_params, NULL));
    printf(" %d", (int)cuLaunchKernel(function, WORDS / 256, 1, 1, 256, 1, 1, 0, (CUstream)&word,
                                      good_params, NULL));
    CU(cuLaunchKernel(function, WORDS / 256, 1, 1, 256, 1, 1, 0, stream, bad_params, NULL));
    printf(" %d", (int)cuStreamSynchronize(stream));
    printf(" %d", (int)cuMemcpyDtoH(&word, out, sizeof word));
    printf(" %d\n", (int)cuMemFree(out));
}
