/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that leaves the memory that it was given: what it means to write beyond the end of
 * one buffer lies in the next. Address arithmetic is assumed to stay in bounds; an audit must
 * catch it where it does not.
 *
 * With "all" the kernel writes everything up to there, for certain: no assumption is needed.
 *
 * usage: image_neighbour FOLDER in|out|all [graph] */
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CU(call) check_call((call), #call)
static void check_call(CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "image_neighbour: %s failed with %d\n", call, (int)result);
    exit(1);
}

/* As a graph of a node that does nothing wrong and then this one. */
static void launch_in_graph(CUfunction function, void **params, void **harmless)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode first, second;
    CUDA_KERNEL_NODE_PARAMS node = {.func = function, .gridDimX = 1, .gridDimY = 1,
                                    .gridDimZ = 1, .blockDimX = 1024, .blockDimY = 1,
                                    .blockDimZ = 1, .kernelParams = harmless};
    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddKernelNode(&first, graph, NULL, 0, &node));
    node.kernelParams = params;
    CU(cuGraphAddKernelNode(&second, graph, &first, 1, &node));
    CU(cuGraphInstantiate(&exec, graph, 0));
    CU(cuGraphLaunch(exec, NULL));
    CU(cuCtxSynchronize());
}

/* Memory of a second device, where there is one, is closed to the first one's kernels. */
static void hold_memory_elsewhere(void)
{
    CUdevice device;
    CUcontext context;
    CUdeviceptr memory;
    if (cuDeviceGet(&device, 1) != CUDA_SUCCESS)
        return;
    CU(cuCtxCreate(&context, NULL, 0, device));
    CU(cuMemAlloc(&memory, 512));
}

int main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr first, second, flags;
    char path[1024];
    int value = 0;
    if (argc < 3)
        return 2;
    snprintf(path, sizeof path, "%s/ways.ptx", argv[1]);
    CU(cuInit(0));
    hold_memory_elsewhere();
    CU(cuDeviceGet(&device, 0));
    CU(cuCtxCreate(&context, NULL, 0, device));
    CU(cuModuleLoad(&module, path));
    CU(cuModuleGetFunction(&function, module, "increase_where"));
    CU(cuMemAlloc(&first, 512));
    CU(cuMemAlloc(&second, 512));
    if (second < first) {
        CUdeviceptr swap = first;
        first = second;
        second = swap;
    }
    int n = (int)((second - first) / 4) + 16, which = n - 10;
    if (n > 1024)
        return 2; /* they are no neighbours */
    CU(cuMemAlloc(&flags, 4096));
    CU(cuMemsetD8(first, 0, 512));
    CU(cuMemsetD8(second, 0, 512));
    CU(cuMemsetD8(flags, 0, 4096));
    if (strcmp(argv[2], "in") == 0)
        which = 10;
    CU(cuMemsetD32(flags + (CUdeviceptr)which * 4, 1, 1));
    int none = 0;
    void *params[] = {&first, &flags, &n}, *harmless[] = {&second, &flags, &none};
    if (strcmp(argv[2], "all") == 0) {
        CU(cuModuleGetFunction(&function, module, "increase"));
        void *whole[] = {&first, &n};
        CU(cuLaunchKernel(function, 1, 1, 1, 1024, 1, 1, 0, NULL, whole, NULL));
    } else if (argc > 3) {
        launch_in_graph(function, params, harmless);
    } else {
        CU(cuLaunchKernel(function, 1, 1, 1, 1024, 1, 1, 0, NULL, params, NULL));
    }
    CU(cuMemcpyDtoH(&value, first + (CUdeviceptr)which * 4, 4));
    printf("%d\n", value);
    return 0;
}
