/* SPDX-License-Identifier: Apache-2.0 */
/* Work that reaches the device through graphs: built node by node or captured, changed after
 * instantiation, in the forward, in between, or in both. */
#include "tests/seen/job.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CUstream stream;
static CUgraph graph;
static CUgraphNode node;
static CUgraphExec exec;
static CUdeviceptr scratch;

static void make_stream(void)
{
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    scratch = allocate(WORDS(ROWS * n));
}

/* In order with the default stream on either side, as the scenarios are about graphs only. */
static void launch_graph(void)
{
    CU(cuCtxSynchronize());
    CU(cuGraphLaunch(exec, stream));
    CU(cuStreamSynchronize(stream));
}

static CUDA_KERNEL_NODE_PARAMS kernel_params(const char *kernel, void **params)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = function(kernel),
                                     .gridDimX = (N + 127) / 128,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 128,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = params};
}

static int row = 1;
#define ROW_OF(memory) ((void *[]){&(memory), &x, &row, &n})

/* ---- captured -------------------------------------------------------------------------- */

static void capture(void (*work)(void), size_t expected)
{
    size_t count;
    CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    work();
    CU(cuStreamEndCapture(stream, &graph));
    CU(cuGraphGetNodes(graph, NULL, &count));
    if (count != expected) {
        fprintf(stderr, "seen_job: %zu nodes instead of %zu\n", count, expected);
        exit(1);
    }
    CU(cuGraphInstantiate(&exec, graph, 0));
}

static void step_in_stream(void)
{
    LAUNCH_IN(stream, "step_state", &state, &x, &y, &n);
}

/* The forward itself is a graph, captured once, before. */
static void forward(void)
{
    make_stream();
    capture(step_in_stream, 1);
    run_steps(launch_graph, NULL);
}

/* Captured anew in each forward and each replay: nothing may be added to what is captured. */
static void capture_and_launch(void)
{
    capture(step_in_stream, 1);
    launch_graph();
    CU(cuGraphExecDestroy(exec));
    CU(cuGraphDestroy(graph));
}

static void captured_inside(void)
{
    make_stream();
    run_steps(capture_and_launch, NULL);
}

static void read_and_write_in_stream(void)
{
    LAUNCH_IN(stream, "read_queue", &queue, &x, &y, &rows, &n);
    LAUNCH_IN(stream, "enqueue", &queue, &x, &row, &n);
}

/* One node destroys what another one read. */
static void clobbers_itself(void)
{
    make_stream();
    capture(read_and_write_in_stream, 2);
    run_steps(launch_graph, NULL);
}

static void write_somewhere_in_stream(void)
{
    LAUNCH_IN(stream, "enqueue_somewhere", &queue, &x, &scratch, &n);
    LAUNCH_IN(stream, "read_queue", &queue, &x, &y, &rows, &n);
    LAUNCH_IN(stream, "enqueue", &queue, &x, &row, &n);
}

/* What the second node reads, the first one may just have written, and the third destroys: to keep
 * it would take a copy between two nodes. */
static void needs_copy_between_nodes(void)
{
    make_stream();
    capture(write_somewhere_in_stream, 3);
    run_steps(launch_graph, NULL);
}

static void write_by_own_memory(void)
{
    CUdeviceptr own;
    CU(cuMemAllocAsync(&own, WORDS(n), stream));
    CU(cuMemsetD32Async(own, 31, (size_t)n, stream));
    CU(cuMemcpyDtoDAsync(queue + WORDS(n), own, WORDS(n), stream));
    CU(cuMemFreeAsync(own, stream));
}

/* The graph allocates memory, and frees it, in each launch. */
static void own_memory(void)
{
    make_stream();
    capture(write_by_own_memory, 4);
    run_steps(queue_forward, launch_graph);
}

/* A clobber while another stream is captured: it must be kept without harming the capture. */
static void write_while_capturing(void)
{
    static CUstream other;
    if (!other)
        CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CU(cuCtxSynchronize());
    CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    LAUNCH_IN(other, "enqueue", &queue, &x, &row, &n);
    step_in_stream();
    CU(cuStreamEndCapture(stream, &graph));
    CU(cuGraphDestroy(graph));
    CU(cuStreamSynchronize(other));
}

static void written_while_capturing(void)
{
    make_stream();
    run_steps(queue_forward, write_while_capturing);
}

/* ---- built ----------------------------------------------------------------------------- */

static void add_kernel(CUgraph where, void **params)
{
    CUDA_KERNEL_NODE_PARAMS kernel = kernel_params("enqueue", params);
    CU(cuGraphAddKernelNode(&node, where, NULL, 0, &kernel));
}

static void build_kernel(void **params)
{
    make_stream();
    CU(cuGraphCreate(&graph, 0));
    add_kernel(graph, params);
    CU(cuGraphInstantiate(&exec, graph, 0));
}

static void kernel_between(void)
{
    build_kernel(ROW_OF(queue));
    run_steps(queue_forward, launch_graph);
}

/* The call's first version, whose parameters end earlier. */
static void old_kernel_node(void)
{
    CUresult (*add)(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
                    const CUDA_KERNEL_NODE_PARAMS_v1 *);
    CUDA_KERNEL_NODE_PARAMS now = kernel_params("enqueue", ROW_OF(queue));
    CUDA_KERNEL_NODE_PARAMS_v1 old;
    make_stream();
    *(void **)(void *)&add = dlsym(RTLD_DEFAULT, "cuGraphAddKernelNode");
    memcpy(&old, &now, sizeof old);
    CU(cuGraphCreate(&graph, 0));
    CU(add(&node, graph, NULL, 0, &old));
    CU(cuGraphInstantiate(&exec, graph, 0));
    run_steps(queue_forward, launch_graph);
}

static void launch_nowhere(void)
{
    REJECTED(cuGraphLaunch(exec, (CUstream)(void *)&exec));
}

/* The stream is none: the graph has not run. */
static void rejected(void)
{
    build_kernel(ROW_OF(queue));
    run_steps(queue_forward, launch_nowhere);
}

static void copy_between(void)
{
    CUcontext context;
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = x,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = queue + WORDS(n),
                          .WidthInBytes = WORDS(n),
                          .Height = 1,
                          .Depth = 1};
    make_stream();
    CU(cuCtxGetCurrent(&context));
    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
    CU(cuGraphInstantiate(&exec, graph, 0));
    run_steps(queue_forward, launch_graph);
}

static void set_between(void)
{
    CUcontext context;
    CUDA_MEMSET_NODE_PARAMS fill = {
        .dst = queue, .pitch = 4096, .value = 7, .elementSize = 4, .width = 100, .height = 3};
    make_stream();
    CU(cuCtxGetCurrent(&context));
    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, context));
    CU(cuGraphInstantiate(&exec, graph, 0));
    run_steps(queue_forward, launch_graph);
}

static void values_between(void)
{
    CUstreamBatchMemOpParams items[2] = {
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = queue + 8}},
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64, .address = queue + 16}}};
    CUDA_BATCH_MEM_OP_NODE_PARAMS batch = {.count = 2, .paramArray = items};
    items[0].writeValue.value = 17;
    items[1].writeValue.value64 = (cuuint64_t)18 << 32;
    make_stream();
    CU(cuCtxGetCurrent(&batch.ctx));
    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &batch));
    CU(cuGraphInstantiate(&exec, graph, 0));
    run_steps(queue_forward, launch_graph);
}

static void child_between(void)
{
    CUgraph child;
    make_stream();
    CU(cuGraphCreate(&child, 0));
    add_kernel(child, ROW_OF(queue));
    CU(cuGraphCreate(&graph, 0));
    CU(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    CU(cuGraphDestroy(child));
    CU(cuGraphInstantiate(&exec, graph, 0));
    run_steps(queue_forward, launch_graph);
}

/* Made from a clone of a clone, and launched from inside another graph's capture. */
static void launch_in_stream(void)
{
    CU(cuGraphLaunch(exec, stream));
}

static void clone_between(void)
{
    CUgraph clone;
    make_stream();
    CU(cuGraphCreate(&graph, 0));
    add_kernel(graph, ROW_OF(queue));
    CU(cuGraphClone(&clone, graph));
    CU(cuGraphInstantiate(&exec, clone, 0));
    capture(launch_in_stream, 1);
    run_steps(queue_forward, launch_graph);
}

/* ---- changed --------------------------------------------------------------------------- */

/* Instantiated to write elsewhere; changed to write to the queue, or the other way round. */
static void kernel_changed(void)
{
    build_kernel(ROW_OF(scratch));
    CUDA_KERNEL_NODE_PARAMS kernel = kernel_params("enqueue", ROW_OF(queue));
    CU(cuGraphExecKernelNodeSetParams(exec, node, &kernel));
    run_steps(queue_forward, launch_graph);
}

static void kernel_changed_away(void)
{
    build_kernel(ROW_OF(queue));
    CUDA_KERNEL_NODE_PARAMS kernel = kernel_params("enqueue", ROW_OF(scratch));
    CU(cuGraphExecKernelNodeSetParams(exec, node, &kernel));
    run_steps(queue_forward, launch_graph);
}

static void template_changed(void)
{
    make_stream();
    CU(cuGraphCreate(&graph, 0));
    add_kernel(graph, ROW_OF(scratch));
    CUDA_KERNEL_NODE_PARAMS kernel = kernel_params("enqueue", ROW_OF(queue));
    CU(cuGraphKernelNodeSetParams(node, &kernel));
    CU(cuGraphInstantiate(&exec, graph, 0));
    run_steps(queue_forward, launch_graph);
}

static void update_from_new_graph(void **params)
{
    CUgraph other;
    CUgraphExecUpdateResultInfo info;
    CUgraphNode original = node;
    CU(cuGraphCreate(&other, 0));
    add_kernel(other, params);
    node = original;
    CU(cuGraphExecUpdate(exec, other, &info));
    CU(cuGraphDestroy(other));
}

static void updated(void)
{
    build_kernel(ROW_OF(scratch));
    update_from_new_graph(ROW_OF(queue));
    run_steps(queue_forward, launch_graph);
}

/* After an update the layer does not know any more which node this is. */
static void updated_then_changed(void)
{
    build_kernel(ROW_OF(scratch));
    update_from_new_graph(ROW_OF(scratch));
    CUDA_KERNEL_NODE_PARAMS kernel = kernel_params("enqueue", ROW_OF(queue));
    CU(cuGraphExecKernelNodeSetParams(exec, node, &kernel));
    run_steps(queue_forward, launch_graph);
}

static void disabled(void)
{
    build_kernel(ROW_OF(queue));
    CU(cuGraphNodeSetEnabled(exec, node, 0));
    run_steps(queue_forward, launch_graph);
}

static void enabled_again(void)
{
    build_kernel(ROW_OF(queue));
    CU(cuGraphNodeSetEnabled(exec, node, 0));
    CU(cuGraphNodeSetEnabled(exec, node, 1));
    run_steps(queue_forward, launch_graph);
}

const struct scenario graph_scenarios[] = {
    {"graph-forward", forward},
    {"graph-captured-inside", captured_inside},
    {"graph-clobbers-itself", clobbers_itself},
    {"graph-needs-copy-between-nodes", needs_copy_between_nodes},
    {"graph-written-while-capturing", written_while_capturing},
    {"graph-own-memory", own_memory},
    {"graph-kernel", kernel_between},
    {"graph-old-kernel-node", old_kernel_node},
    {"graph-rejected", rejected},
    {"graph-copy", copy_between},
    {"graph-set", set_between},
    {"graph-values", values_between},
    {"graph-child", child_between},
    {"graph-clone", clone_between},
    {"graph-kernel-changed", kernel_changed},
    {"graph-kernel-changed-away", kernel_changed_away},
    {"graph-template-changed", template_changed},
    {"graph-updated", updated},
    {"graph-updated-then-changed", updated_then_changed},
    {"graph-disabled", disabled},
    {"graph-enabled-again", enabled_again},
    {NULL, NULL},
};
