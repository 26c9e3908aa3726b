/* SPDX-License-Identifier: Apache-2.0 */
/* usage: losing_job KERNELS CASE */
#include "tests/recompute/losing/job.h"

#include <nvtx3/nvToolsExt.h>

#include <stdint.h>

const char *kernels;
CUmodule module;
CUstream stream;

CUdeviceptr device_words(unsigned value)
{
    CUdeviceptr memory;
    CU(cuMemAlloc(&memory, BYTES));
    CU(cuMemsetD32(memory, value, WORDS));
    CU(cuCtxSynchronize());
    return memory;
}

CUresult try_affine(CUdeviceptr out, CUdeviceptr in, unsigned factor)
{
    CUfunction function;
    void *params[] = {&out, &in, &factor};
    CU(cuModuleGetFunction(&function, module, "affine"));
    return cuLaunchKernel(function, WORDS / 256, 1, 1, 256, 1, 1, 0, stream, params, NULL);
}

void affine(CUdeviceptr out, CUdeviceptr in, unsigned factor)
{
    CU(try_affine(out, in, factor));
}

void forward(const char *name, CUdeviceptr out, CUdeviceptr in)
{
    nvtxRangePushA(name);
    affine(out, in, 5);
    nvtxRangePop();
    CU(cuStreamSynchronize(stream));
    device_words(0); /* any call will do: after it the outputs may be dropped */
}

void show(const char *name, CUdeviceptr memory)
{
    static unsigned words[WORDS];
    uint64_t hash = 14695981039346656037U;
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH(words, memory, BYTES));
    for (int i = 0; i < WORDS; i++)
        hash = (hash ^ words[i]) * 1099511628211U;
    printf("%s %016llx\n", name, (unsigned long long)hash);
}

static const struct job_case cases[] = {
#define ROW(name, function) {name, case_##function},
    CASES(ROW)
#undef ROW
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    CUcontext context;
    if (argc != 3)
        return 2;
    CU(cuInit(0));
    CU(cuCtxCreate(&context, NULL, 0, 0));
    kernels = argv[1];
    CU(cuModuleLoad(&module, kernels));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    nvtxRangePushA("step");
    run_case(cases, argv[2]);
    nvtxRangePop();
    return 0;
}
