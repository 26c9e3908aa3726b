/* SPDX-License-Identifier: Apache-2.0 */
/* usage: building_job CASE. Builds graphs of sets and copies, by calls or by a capture, of memory
 * that may have gone elsewhere; prints each answer, and what it holds in the end. Loads no
 * kernel. */
#include "cases.h"

#define ANSWER(call) printf("%s: %d\n", #call, (int)(call))

enum { WORDS = 4096, BYTES = WORDS * 4, MANY = 4 };
static CUdeviceptr memory[MANY];
static CUcontext context;
static CUstream stream;
static CUgraph graph;
static CUgraphExec exec;

static CUdeviceptr filled(unsigned value)
{
    CUdeviceptr made;
    CU(cuMemAlloc(&made, BYTES));
    CU(cuMemsetD32(made, value, WORDS));
    return made;
}

/* Something has to go for it. */
static void make_way(void)
{
    CU(cuMemFree(filled(1)));
}

static void launch(void)
{
    make_way();
    ANSWER(cuGraphLaunch(exec, stream));
    CU(cuStreamSynchronize(stream));
}

static void capture(void)
{
    ANSWER(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ANSWER(cuMemsetD32Async(memory[0], 3, WORDS, stream));
    ANSWER(cuMemcpyDtoDAsync(memory[1], memory[0], BYTES, stream));
    ANSWER(cuStreamEndCapture(stream, &graph));
    ANSWER(cuGraphInstantiate(&exec, graph, 0));
    launch();
}

static CUDA_MEMCPY3D copy_of(CUdeviceptr from, CUdeviceptr to)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = from,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = to,
                           .WidthInBytes = BYTES, .Height = 1, .Depth = 1};
}

static void nodes(void)
{
    CUDA_MEMSET_NODE_PARAMS fill = {.dst = memory[0], .value = 5, .elementSize = 4,
                                    .width = WORDS / 2, .height = 1};
    CUDA_MEMCPY3D copy = copy_of(memory[0], memory[1]);
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
    CUgraphNode set, copied, again;
    CU(cuGraphCreate(&graph, 0));
    ANSWER(cuGraphAddMemsetNode(&set, graph, NULL, 0, &fill, context));
    make_way();
    ANSWER(cuGraphAddMemcpyNode(&copied, graph, &set, 1, &copy, context));
    make_way();
    any.memset = (CUDA_MEMSET_NODE_PARAMS_v2){.dst = memory[1], .value = 9, .elementSize = 4,
                                              .width = 8, .height = 1, .ctx = context};
    ANSWER(cuGraphAddNode(&again, graph, &copied, NULL, 1, &any));
    make_way();
    fill.width = 16;
    ANSWER(cuGraphMemsetNodeSetParams(set, &fill));
    make_way();
    ANSWER(cuGraphInstantiate(&exec, graph, 0));
    make_way();
    fill.dst = memory[2];
    ANSWER(cuGraphExecMemsetNodeSetParams(exec, set, &fill, context));
    make_way();
    copy = copy_of(memory[2], memory[1]);
    ANSWER(cuGraphExecMemcpyNodeSetParams(exec, copied, &copy, context));
    launch();
}

/* What is wrong remains wrong. */
static void wrong(void)
{
    CUDA_MEMSET_NODE_PARAMS fill = {.dst = 4096, .value = 5, .elementSize = 4, .width = 1,
                                    .height = 1};
    CUgraphNode set;
    CU(cuGraphCreate(&graph, 0));
    ANSWER(cuGraphAddMemsetNode(&set, graph, NULL, 0, &fill, context));
    ANSWER(cuStreamBeginCapture(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_GLOBAL));
    make_way();
}

static void show(void)
{
    static unsigned words[WORDS];
    for (int i = 0; i < MANY; i++) {
        unsigned sum = 0;
        CU(cuMemcpyDtoH(words, memory[i], BYTES));
        for (int k = 0; k < WORDS; k++)
            sum = sum * 31 + words[k];
        printf("%d: %u\n", i, sum);
    }
}

static const struct job_case cases[] = {
    {"capture", capture}, {"nodes", nodes}, {"wrong", wrong}, {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    CU(cuInit(0));
    CU(cuCtxCreate(&context, NULL, 0, 0));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < MANY; i++)
        memory[i] = filled(i + 7);
    make_way();
    run_case(cases, argv[1]);
    show();
    return 0;
}
