/* SPDX-License-Identifier: Apache-2.0 */
/* What a forward worked with goes, or becomes something else, before its outputs are used. */
#include "tests/recompute/losing/job.h"

#include <nvtx3/nvToolsExt.h>

/* What is between is not what the first forward has made of it when the second reads it. */
void case_freed(void)
{
    CUdeviceptr in = device_words(7), between = device_words(0), beside = device_words(0),
                out = device_words(0);
    nvtxRangePushA("forward/0");
    affine(between, in, 3);
    affine(beside, between, 3);
    nvtxRangePop();
    affine(between, between, 9);
    forward("forward/1", out, between);
    CU(cuMemFree(between));
    show("beside", beside);
    show("out", out);
}

/* When its input goes, its output is made for the last time, over bytes that are the job's own by
 * then; the output itself nobody looks at. */
void case_under(void)
{
    CUdeviceptr in = device_words(7), over = device_words(0), unseen = device_words(0);
    nvtxRangePushA("forward/0");
    affine(over, in, 3);
    affine(unseen, over, 5);
    nvtxRangePop();
    CU(cuMemsetD32Async(over, 99, WORDS, stream));
    CU(cuStreamSynchronize(stream));
    device_words(0);
    CU(cuMemFree(in));
    show("out", over);
}

void case_pool(void)
{
    CUdeviceptr in, next, out = device_words(0);
    CU(cuMemAllocAsync(&in, BYTES, stream));
    CU(cuMemsetD32Async(in, 7, WORDS, stream));
    forward("forward/0", out, in);
    CU(cuMemFreeAsync(in, stream));
    CU(cuMemAllocAsync(&next, BYTES, stream));
    CU(cuMemsetD32Async(next, 1234, WORDS, stream));
    show("out", out);
}

static void map(CUdeviceptr at)
{
    CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = location};
    CUmemAccessDesc access = {location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle physical;
    CU(cuMemCreate(&physical, BYTES, &prop, 0));
    CU(cuMemMap(at, BYTES, 0, physical, 0));
    CU(cuMemSetAccess(at, BYTES, &access, 1));
    CU(cuMemRelease(physical));
}

void case_mapped(void)
{
    CUdeviceptr in, out = device_words(0);
    CU(cuMemAddressReserve(&in, BYTES, 0, 0, 0));
    map(in);
    CU(cuMemsetD32(in, 7, WORDS));
    CU(cuCtxSynchronize());
    forward("forward/0", out, in);
    CU(cuMemUnmap(in, BYTES));
    map(in);
    CU(cuMemsetD32(in, 1234, WORDS));
    CU(cuCtxSynchronize());
    show("out", out);
}

void case_unloaded(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0);
    forward("forward/0", out, in);
    CU(cuModuleUnload(module));
    show("out", out);
}

/* The context goes, with all that there is, and the job goes on in another. */
void case_in_another_context(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0);
    CUcontext context;
    forward("forward/0", out, in);
    for (unsigned i = 0; i < 6; i++)
        device_words(i);
    CU(cuCtxGetCurrent(&context));
    CU(cuCtxDestroy(context));
    CU(cuCtxCreate(&context, NULL, 0, 0));
    CU(cuModuleLoad(&module, kernels));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    in = device_words(9);
    out = device_words(0);
    forward("forward/0", out, in);
    show("out", out);
}
