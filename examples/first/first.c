/* SPDX-License-Identifier: Apache-2.0 */
/* usage: first [checkpoint]. The smallest training loop whose replay is wrong: a layer subtracts a
 * running mean, which each run of it moves on. With `checkpoint` the layer runs once more for the
 * backward pass, as if its output had been thrown away. It knows nothing of reprise. */
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CU(call)                                                                                  \
    do {                                                                                          \
        CUresult result_ = (call);                                                                \
        if (result_ != CUDA_SUCCESS) {                                                            \
            fprintf(stderr, #call " failed with %d\n", (int)result_);                             \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

enum { COUNT = 1024, BLOCK = 128, STEPS = 20 };

/* Where in a kernel's arrays its thread works. */
#define AT                                                                                        \
    ".reg .f32 %f<4>; .reg .b64 %a<5>; .reg .b32 %r<5>;\n"                                        \
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"                         \
    "mad.lo.s32 %r4, %r1, %r2, %r3; mul.wide.s32 %a4, %r4, 4;\n"

static const char ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    /* mean += 0.1 (x[0] - mean) */
    ".visible .entry follow(.param .u64 x, .param .u64 mean) {\n" AT
    "ld.param.u64 %a1, [x]; ld.param.u64 %a2, [mean];\n"
    "ld.global.f32 %f1, [%a1]; ld.global.f32 %f2, [%a2];\n"
    "sub.f32 %f3, %f1, %f2; fma.rn.f32 %f2, %f3, 0f3DCCCCCD, %f2;\n"
    "st.global.f32 [%a2], %f2; ret; }\n"
    /* y = x - mean */
    ".visible .entry centre(.param .u64 x, .param .u64 mean, .param .u64 y) {\n" AT
    "ld.param.u64 %a1, [x]; ld.param.u64 %a2, [mean]; ld.param.u64 %a3, [y];\n"
    "add.s64 %a1, %a1, %a4; add.s64 %a3, %a3, %a4;\n"
    "ld.global.f32 %f1, [%a1]; ld.global.f32 %f2, [%a2]; sub.f32 %f3, %f1, %f2;\n"
    "st.global.f32 [%a3], %f3; ret; }\n"
    /* weight -= 0.1 y */
    ".visible .entry descend(.param .u64 weight, .param .u64 y) {\n" AT
    "ld.param.u64 %a1, [weight]; ld.param.u64 %a2, [y];\n"
    "add.s64 %a1, %a1, %a4; add.s64 %a2, %a2, %a4;\n"
    "ld.global.f32 %f1, [%a1]; ld.global.f32 %f2, [%a2];\n"
    "fma.rn.f32 %f1, %f2, 0fBDCCCCCD, %f1; st.global.f32 [%a1], %f1; ret; }\n";

static CUfunction follow, centre, descend;
static CUdeviceptr x, mean, y, weight;

static void start(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    CU(cuModuleLoadData(&module, ptx));
    CU(cuModuleGetFunction(&follow, module, "follow"));
    CU(cuModuleGetFunction(&centre, module, "centre"));
    CU(cuModuleGetFunction(&descend, module, "descend"));
    CU(cuMemAlloc(&x, COUNT * sizeof(float)));
    CU(cuMemAlloc(&y, COUNT * sizeof(float)));
    CU(cuMemAlloc(&weight, COUNT * sizeof(float)));
    CU(cuMemAlloc(&mean, sizeof(float)));
    CU(cuMemsetD32(weight, 0, COUNT));
    CU(cuMemsetD32(mean, 0, 1));
}

static void layer(const char *range)
{
    void *of_follow[] = {&x, &mean}, *of_centre[] = {&x, &mean, &y};
    nvtxRangePushA(range);
    CU(cuLaunchKernel(follow, 1, 1, 1, 1, 1, 1, 0, NULL, of_follow, NULL));
    CU(cuLaunchKernel(centre, COUNT / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, of_centre, NULL));
    nvtxRangePop();
}

static void train(int number, int checkpoint)
{
    float batch[COUNT];
    void *of_descend[] = {&weight, &y};
    nvtxRangePushA("step");
    for (int i = 0; i < COUNT; i++)
        batch[i] = (float)((i * 7 + number * 13) % 31) / 31;
    CU(cuMemcpyHtoD(x, batch, sizeof(batch)));
    layer("forward/layer");
    if (checkpoint)
        layer("recompute/layer");
    CU(cuLaunchKernel(descend, COUNT / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, of_descend, NULL));
    nvtxRangePop();
}

int main(int argc, char **argv)
{
    float weights[COUNT], last;
    double sum = 0;
    start();
    for (int number = 0; number < STEPS; number++)
        train(number, argc > 1 && strcmp(argv[1], "checkpoint") == 0);
    CU(cuMemcpyDtoH(weights, weight, sizeof(weights)));
    CU(cuMemcpyDtoH(&last, mean, sizeof(last)));
    for (int i = 0; i < COUNT; i++)
        sum += (double)weights[i];
    printf("weights %.6f, mean %.6f\n", sum, (double)last);
    return 0;
}
