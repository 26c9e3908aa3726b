/* SPDX-License-Identifier: Apache-2.0 */
/* usage: compiled_job PTX KERNEL... Launches each of them with six geometries and places. */
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CU(call)                                                                                  \
    do {                                                                                          \
        CUresult result_ = (call);                                                                \
        if (result_ != CUDA_SUCCESS) {                                                            \
            fprintf(stderr, "%s failed with %d\n", #call, (int)result_);                          \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

enum { BYTES = 16384, WORDS = BYTES / 4, ROUNDS = 6 };

struct row {
    CUdeviceptr data;
    int size, stride;
};

struct rows {
    struct row of[2];
    CUdeviceptr other;
};

static CUdeviceptr a, b, x, others; /* BYTES each */

static void fill(void)
{
    static int random[WORDS];
    for (int i = 0; i < WORDS; i++)
        random[i] = rand();
    CU(cuMemcpyHtoD(x, random, BYTES));
    CU(cuMemsetD8(a, 0xab, BYTES));
    CU(cuMemsetD8(b, 0xcd, BYTES));
    CU(cuMemsetD8(others, 0x11, BYTES));
}

static void launch(CUfunction kernel, const char *name, int round)
{
    static const unsigned shapes[ROUNDS][4] = {/* blocks, threads */
                                               {4, 64, 1, 1}, {1, 128, 1, 1}, {2, 16, 4, 1},
                                               {1, 32, 1, 1}, {3, 8, 4, 2},   {1, 64, 1, 1}};
    const unsigned *shape = shapes[round];
    CUdeviceptr to = a + (unsigned)round % 3 * 1024 + 2048, second = b + (round & 1) * 512u + 2048;
    int n = 200 + 13 * round;
    struct row one = {to, round & 1 ? 50 : 100, 2 + round};
    struct rows two = {{{second, 5, 1}, {others + 1024, 5, 1}}, x + 4096};
    void *params[] = {&to, &second, &x, &n}, *structs[] = {&one, &two, &n, &round};
    fill();
    CU(cuLaunchKernel(kernel, shape[0], 1, 1, shape[1], shape[2], shape[3], 0, NULL,
                      strcmp(name, "by_structs") ? params : structs, NULL));
    CU(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    if (argc < 3)
        return 2;
    CU(cuInit(0));
    CU(cuCtxCreate(&context, NULL, 0, 0));
    CU(cuModuleLoad(&module, argv[1]));
    CUdeviceptr *memory[] = {&a, &b, &x, &others};
    for (int i = 0; i < 4; i++)
        CU(cuMemAlloc(memory[i], BYTES));
    for (int i = 2; i < argc; i++) {
        CU(cuModuleGetFunction(&kernel, module, argv[i]));
        for (int round = 0; round < ROUNDS; round++)
            launch(kernel, argv[i], round);
    }
    return 0;
}
