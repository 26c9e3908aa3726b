/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: order by edges alone, arguments copied when a node is made, executables that outlive
 * their graphs, both layouts of kernel parameters; and stream capture. */
#include "tests/soft/api/soft_test.h"

#include "tests/soft/api/kernels.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

static CUmodule module;
static CUfunction store, add;

static int module_up(void **state)
{
    return context_up(state) != 0 || cuModuleLoadData(&module, kernels) != CUDA_SUCCESS ||
           cuModuleGetFunction(&store, module, "store") != CUDA_SUCCESS ||
           cuModuleGetFunction(&add, module, "add") != CUDA_SUCCESS;
}

static CUstream stream(void)
{
    CUstream made = NULL;
    ok(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
    return made;
}

static CUDA_KERNEL_NODE_PARAMS kernel(CUfunction function, unsigned threads, void **arguments)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = function,
                                     .gridDimX = 1,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = threads,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = arguments};
}

static CUgraphExec instantiate(CUgraph graph)
{
    CUgraphExec exec = NULL;
    ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static CUDA_MEMCPY3D linear(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = from,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = to,
                           .WidthInBytes = bytes,
                           .Height = 1,
                           .Depth = 1};
}

/* fill a = 3; store b = 105; then a += b; then copy a to c. The edges are added in an order
 * that is not the nodes'. */
static void nodes_run_in_the_order_of_their_edges(void **state)
{
    (void)state;
    CUdeviceptr a = words(32, 0), b = words(32, 0), c = words(32, 0);
    uint32_t value = 5, n = 32;
    void *stored[] = {&b, &value}, *added[] = {&a, &b, &n};
    CUgraph graph;
    CUgraphNode copy, sum, fill, make, from[3], to[3];
    CUDA_KERNEL_NODE_PARAMS sum_params = kernel(add, 32, added);
    CUDA_KERNEL_NODE_PARAMS make_params = kernel(store, 32, stored);
    CUDA_MEMCPY3D copy_params = linear(c, a, 128);
    CUDA_MEMSET_NODE_PARAMS fill_params = {
        .dst = a, .elementSize = 4, .value = 3, .width = 32, .height = 1};
    size_t count = 0;

    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddMemcpyNode(&copy, graph, NULL, 0, &copy_params, NULL));
    ok(cuGraphAddKernelNode(&sum, graph, NULL, 0, &sum_params));
    ok(cuGraphAddMemsetNode(&fill, graph, NULL, 0, &fill_params, NULL));
    ok(cuGraphAddKernelNode(&make, graph, NULL, 0, &make_params));
    from[0] = sum, to[0] = copy;
    from[1] = fill, to[1] = sum;
    from[2] = make, to[2] = sum;
    ok(cuGraphAddDependencies(graph, from, to, NULL, 3));
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies(graph, from, to, NULL, 1)); /* twice */
    ok(cuGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 4);
    ok(cuGraphGetEdges(graph, NULL, NULL, NULL, &count));
    assert_int_equal(count, 3);
    ok(cuGraphGetRootNodes(graph, NULL, &count));
    assert_int_equal(count, 2);
    value = 900; /* the node has its own copy */
    CUgraphExec exec = instantiate(graph);
    ok(cuGraphDestroy(graph));
    for (int round = 0; round < 3; round++)
        ok(cuGraphLaunch(exec, NULL));
    expect_words(c, 32, 108);
    ok(cuGraphExecDestroy(exec));
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, NULL));
    ok(cuMemFree(a));
    ok(cuMemFree(b));
    ok(cuMemFree(c));
}

static void a_circle_is_refused(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphNode one, two;
    CUgraphExec exec;
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddEmptyNode(&one, graph, NULL, 0));
    ok(cuGraphAddEmptyNode(&two, graph, &one, 1));
    ok(cuGraphAddDependencies(graph, &two, &one, NULL, 1));
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, graph, 0));
    ok(cuGraphRemoveDependencies(graph, &two, &one, NULL, 1));
    exec = instantiate(graph);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroyNode(one));
    size_t count;
    ok(cuGraphNodeGetDependencies(two, NULL, NULL, &count));
    assert_int_equal(count, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphDestroyNode(one));
    ok(cuGraphDestroy(graph));
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(graph));
}

static void launches_keep_stream_order_and_do_not_overlap(void **state)
{
    (void)state;
    CUstream one = stream(), two = stream();
    CUdeviceptr a = words(32, 1), b = words(32, 1);
    uint32_t n = 32;
    void *doubled[] = {&a, &a, &n};
    CUgraph graph;
    CUgraphNode node;
    CUDA_KERNEL_NODE_PARAMS params = kernel(add, 32, doubled);
    struct gate gate;

    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
    CUgraphExec exec = instantiate(graph);
    gate_close(&gate, one);
    ok(cuGraphLaunch(exec, one)); /* 2 */
    ok(cuMemcpyDtoDAsync(b, a, 128, one));
    ok(cuGraphLaunch(exec, two)); /* 4, after the launch in `one` */
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery(two));
    gate_open(&gate);
    ok(cuStreamSynchronize(two));
    ok(cuStreamSynchronize(one));
    expect_words(a, 32, 4);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuMemFree(a));
    ok(cuMemFree(b));
    ok(cuStreamDestroy(one));
    ok(cuStreamDestroy(two));
}

/* As tinygrad does it: names without a suffix, which take the first layout, the graph destroyed
 * before its executable, nodes patched by their old handles. */
static void the_first_layout_of_kernel_nodes_works_too(void **state)
{
    (void)state;
    CUresult (*add_node)(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
                         const CUDA_KERNEL_NODE_PARAMS_v1 *);
    CUresult (*set_params)(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1 *);
    CUresult (*instantiate_v2)(CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t);
    CUdeviceptr out = words(64, 0), other = words(64, 0);
    struct {
        CUdeviceptr out;
        uint32_t value;
    } block = {out, 1};
    size_t bytes = 12;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    /* Poison follows the structure: who reads the second layout here would stumble. */
    struct {
        CUDA_KERNEL_NODE_PARAMS_v1 params;
        uintptr_t poison[2];
    } first = {{store, 1, 1, 1, 32, 1, 1, 0, NULL, extra}, {0xbad, 0xbad}};
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;

    *(void **)&add_node = dlsym(RTLD_DEFAULT, "cuGraphAddKernelNode");
    *(void **)&set_params = dlsym(RTLD_DEFAULT, "cuGraphExecKernelNodeSetParams");
    *(void **)&instantiate_v2 = dlsym(RTLD_DEFAULT, "cuGraphInstantiate_v2");
    ok(cuGraphCreate(&graph, 0));
    ok(add_node(&node, graph, NULL, 0, &first.params));
    ok(instantiate_v2(&exec, graph, NULL, NULL, 0));
    ok(cuGraphDestroy(graph));
    ok(cuGraphLaunch(exec, NULL));
    expect_words(out, 32, 101);
    block.out = other;
    block.value = 2;
    first.params.gridDimX = 2; /* the geometry changes, too */
    ok(set_params(exec, node, &first.params));
    block.value = 3;
    ok(cuGraphLaunch(exec, NULL));
    expect_words(other, 64, 102);
    expect_words(out, 32, 101);
    ok(cuGraphExecDestroy(exec));
    ok(cuMemFree(out));
    ok(cuMemFree(other));
}

static void parameters_can_be_asked_for_and_changed(void **state)
{
    (void)state;
    CUdeviceptr out = words(32, 0), other = words(32, 0);
    uint32_t value = 5;
    void *arguments[] = {&out, &value};
    CUDA_KERNEL_NODE_PARAMS params = kernel(store, 32, arguments), got;
    CUDA_MEMSET_NODE_PARAMS fill = {.dst = other,
                                    .elementSize = 2,
                                    .value = 9,
                                    .width = 4,
                                    .height = 1},
                            fill_got;
    CUDA_MEMCPY3D copy = linear(other, out, 64), copy_got;
    CUgraph graph;
    CUgraphNode node, fill_node, copy_node;
    CUgraphNodeType type;
    unsigned enabled;

    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
    ok(cuGraphAddMemsetNode(&fill_node, graph, &node, 1, &fill, NULL));
    ok(cuGraphAddMemcpyNode(&copy_node, graph, &fill_node, 1, &copy, NULL));
    ok(cuGraphNodeGetType(copy_node, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_MEMCPY);
    ok(cuGraphKernelNodeGetParams(node, &got));
    assert_ptr_equal(got.func, store);
    assert_int_equal(got.blockDimX, 32);
    assert_int_equal(*(CUdeviceptr *)got.kernelParams[0], out);
    assert_int_equal(*(uint32_t *)got.kernelParams[1], 5);
    ok(cuGraphMemsetNodeGetParams(fill_node, &fill_got));
    assert_int_equal(fill_got.dst, other);
    assert_int_equal(fill_got.elementSize, 2);
    ok(cuGraphMemcpyNodeGetParams(copy_node, &copy_got));
    assert_int_equal(copy_got.srcDevice, out);
    assert_int_equal(copy_got.WidthInBytes, 64);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphMemcpyNodeGetParams(node, &copy_got));
    fill.elementSize = 3;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphMemsetNodeSetParams(fill_node, &fill));

    CUgraphExec exec = instantiate(graph);
    expect(CUDA_ERROR_INVALID_VALUE,
           cuGraphKernelNodeSetParams(node, &(CUDA_KERNEL_NODE_PARAMS){0}));
    value = 6; /* changes the graph, not what was made of it */
    ok(cuGraphKernelNodeSetParams(node, &params));
    ok(cuGraphNodeSetEnabled(exec, copy_node, 0));
    ok(cuGraphNodeGetEnabled(exec, copy_node, &enabled));
    assert_int_equal(enabled, 0);
    ok(cuGraphLaunch(exec, NULL));
    expect_words(out, 32, 105);
    expect_words(other, 2, 0x00090009);
    expect_words(other + 8, 30, 0);
    ok(cuGraphNodeSetEnabled(exec, copy_node, 1));
    CUgraphExecUpdateResultInfo info;
    ok(cuGraphExecUpdate(exec, graph, &info));
    ok(cuGraphLaunch(exec, NULL));
    expect_words(out, 32, 106);
    expect_words(other, 16, 106);
    ok(cuGraphDestroyNode(copy_node));
    expect(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, graph, &info));
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuMemFree(out));
    ok(cuMemFree(other));
}

static void host(void *argument)
{
    ++*(int *)argument;
}

static void graphs_nest_and_clone(void **state)
{
    (void)state;
    int calls = 0;
    CUDA_HOST_NODE_PARAMS params = {host, &calls};
    CUgraph inner, outer, clone, owned;
    CUgraphNode node, child, last, found;

    ok(cuGraphCreate(&inner, 0));
    ok(cuGraphAddHostNode(&node, inner, NULL, 0, &params));
    ok(cuGraphAddHostNode(&last, inner, &node, 1, &params));
    ok(cuGraphCreate(&outer, 0));
    ok(cuGraphAddChildGraphNode(&child, outer, NULL, 0, inner));
    ok(cuGraphAddHostNode(&last, outer, &child, 1, &params));
    ok(cuGraphDestroy(inner)); /* the node has a copy */
    ok(cuGraphChildGraphNodeGetGraph(child, &owned));
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(owned));
    ok(cuGraphClone(&clone, outer));
    ok(cuGraphNodeFindInClone(&found, last, clone));
    assert_ptr_not_equal(found, last);
    ok(cuGraphDestroy(outer));
    CUgraphExec exec = instantiate(clone);
    ok(cuGraphLaunch(exec, NULL));
    ok(cuGraphLaunch(exec, NULL));
    ok(cuCtxSynchronize());
    assert_int_equal(calls, 6);
    ok(cuGraphDestroy(clone));
    ok(cuGraphExecDestroy(exec));
}

static void events_in_graphs_order_streams(void **state)
{
    (void)state;
    CUstream one = stream(), two = stream();
    CUdeviceptr a = words(4, 1);
    CUevent event;
    CUgraph graph;
    CUgraphNode fill, record;
    CUDA_MEMSET_NODE_PARAMS params = {
        .dst = a, .elementSize = 4, .value = 8, .width = 4, .height = 1};
    struct gate gate;

    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddMemsetNode(&fill, graph, NULL, 0, &params, NULL));
    ok(cuGraphAddEventRecordNode(&record, graph, &fill, 1, event));
    CUgraphExec exec = instantiate(graph);
    gate_close(&gate, one);
    ok(cuGraphLaunch(exec, one));
    expect(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    ok(cuStreamWaitEvent(two, event, 0));
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery(two));
    gate_open(&gate);
    ok(cuStreamSynchronize(two));
    expect_words(a, 4, 8);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuEventDestroy(event));
    ok(cuMemFree(a));
    ok(cuStreamDestroy(one));
    ok(cuStreamDestroy(two));
}

/* ---- capture ----------------------------------------------------------------------- */

static void captured_work_runs_when_the_graph_does(void **state)
{
    (void)state;
    CUstream one = stream(), two = stream();
    CUdeviceptr a = words(32, 0), b = words(32, 0);
    uint32_t value = 1, n = 32;
    void *stored[] = {&a, &value}, *added[] = {&b, &a, &n};
    CUevent fork, join;
    CUgraph graph;
    CUstreamCaptureStatus status;
    cuuint64_t id;
    size_t count;

    ok(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    ok(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    ok(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cuStreamIsCapturing(one, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ok(cuEventRecord(fork, one));
    ok(cuStreamWaitEvent(two, fork, 0)); /* draws `two` in */
    ok(cuLaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, one, stored, NULL));
    value = 77;
    ok(cuMemsetD32Async(b, 10, 32, two));
    ok(cuEventRecord(join, two));
    ok(cuStreamWaitEvent(one, join, 0));
    ok(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, one, added, NULL));
    const CUgraphNode *fronts;
    CUgraph inside;
    ok(cuStreamGetCaptureInfo(one, &status, &id, &inside, &fronts, NULL, &count));
    assert_int_equal(count, 1);
    ok(cuStreamEndCapture(one, &graph));
    assert_ptr_equal(inside, graph);
    ok(cuStreamIsCapturing(two, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
    expect_words(a, 32, 0); /* nothing ran */
    ok(cuGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 3);
    ok(cuGraphGetRootNodes(graph, NULL, &count));
    assert_int_equal(count, 2);
    ok(cuGraphGetEdges(graph, NULL, NULL, NULL, &count));
    assert_int_equal(count, 2);
    CUgraphExec exec = instantiate(graph);
    ok(cuGraphLaunch(exec, one));
    expect_words(b, 32, 111);
    /* A launch into a capture is a child graph. */
    CUgraph outer;
    CUgraphNode node;
    CUgraphNodeType type;
    ok(cuStreamBeginCapture(two, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(cuGraphLaunch(exec, two));
    ok(cuStreamEndCapture(two, &outer));
    count = 1;
    ok(cuGraphGetNodes(outer, &node, &count));
    ok(cuGraphNodeGetType(node, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_GRAPH);
    ok(cuGraphExecDestroy(exec));
    exec = instantiate(outer);
    ok(cuMemsetD32(a, 0, 32));
    ok(cuGraphLaunch(exec, two));
    expect_words(b, 32, 111);
    expect(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(fork));
    ok(cuEventRecord(fork, one)); /* an ordinary event again */
    ok(cuEventSynchronize(fork));
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuGraphDestroy(outer));
    ok(cuEventDestroy(fork));
    ok(cuEventDestroy(join));
    ok(cuMemFree(a));
    ok(cuMemFree(b));
    ok(cuStreamDestroy(one));
    ok(cuStreamDestroy(two));
}

/* Ends a capture that must have been invalidated. */
static void expect_invalid(CUstream captured)
{
    CUgraph graph = (CUgraph)1;
    CUstreamCaptureStatus status;
    ok(cuStreamIsCapturing(captured, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    expect(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuLaunchHostFunc(captured, host, NULL));
    expect(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(captured, &graph));
    assert_null(graph);
    ok(cuStreamIsCapturing(captured, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

static void waiting_for_a_capturing_stream_spoils_the_capture(void **state)
{
    (void)state;
    CUstream one = stream();
    ok(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
    expect(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(one));
    expect_invalid(one);
    ok(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
    expect(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(one));
    expect_invalid(one);
    ok(cuStreamDestroy(one));
}

static void the_mode_says_what_else_is_forbidden(void **state)
{
    (void)state;
    CUstream one = stream();
    CUgraph graph;
    CUdeviceptr a;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

    ok(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    expect(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc(&a, 4));
    expect_invalid(one);
    ok(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(cuMemAlloc(&a, 4));
    ok(cuMemFree(a));
    ok(cuStreamEndCapture(one, &graph));
    ok(cuGraphDestroy(graph));
    ok(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(cuMemAlloc(&a, 4)); /* this thread takes it on itself */
    ok(cuMemFree(a));
    ok(cuThreadExchangeStreamCaptureMode(&mode));
    ok(cuStreamEndCapture(one, &graph));
    ok(cuGraphDestroy(graph));
    ok(cuStreamDestroy(one));
}

static CUresult from_other_thread[2];
static CUcontext shared_context;
static CUstream shared_stream;

static void *allocate_elsewhere(void *unused)
{
    (void)unused;
    CUdeviceptr a = 0;
    CUgraph graph;
    cuCtxSetCurrent(shared_context);
    from_other_thread[0] = cuMemAlloc(&a, 4);
    if (from_other_thread[0] == CUDA_SUCCESS)
        cuMemFree(a);
    from_other_thread[1] = cuStreamEndCapture(shared_stream, &graph);
    return NULL;
}

static void global_captures_bind_other_threads(void **state)
{
    (void)state;
    pthread_t thread;
    CUgraph graph;
    ok(cuCtxGetCurrent(&shared_context));
    shared_stream = stream();
    ok(cuStreamBeginCapture(shared_stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    pthread_create(&thread, NULL, allocate_elsewhere, NULL);
    pthread_join(thread, NULL);
    ok(from_other_thread[0]);
    assert_int_equal(from_other_thread[1], CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    ok(cuStreamEndCapture(shared_stream, &graph));
    ok(cuGraphDestroy(graph));
    ok(cuStreamBeginCapture(shared_stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    pthread_create(&thread, NULL, allocate_elsewhere, NULL);
    pthread_join(thread, NULL);
    assert_int_equal(from_other_thread[0], CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_invalid(shared_stream);
    ok(cuStreamDestroy(shared_stream));
}

static void CUDA_CB callback(CUstream stream_, CUresult status, void *argument)
{
    (void)stream_;
    (void)status;
    (void)argument;
}

static void mistakes_of_captures_have_their_own_errors(void **state)
{
    (void)state;
    CUstream one = stream(), two = stream(), blocking;
    CUevent event, outside;
    CUgraph graph;
    CUstreamCaptureStatus status;
    CUdeviceptr a = words(1, 0);

    ok(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    ok(cuEventCreate(&event, 0));
    ok(cuEventCreate(&outside, 0));
    ok(cuEventRecord(outside, two));
    expect(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(one, &graph));
    expect(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
           cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
    expect(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
    expect(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(one, outside, 0));
    expect_invalid(one);

    /* Work in a second stream that is never joined. */
    ok(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(cuEventRecord(event, one));
    ok(cuStreamWaitEvent(two, event, 0));
    ok(cuMemsetD32Async(a, 1, 1, two));
    expect(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(two, &graph));
    expect(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(one, &graph));
    expect(CUDA_ERROR_CAPTURED_EVENT, cuStreamWaitEvent(two, event, 0));

    /* Two captures that would become one. */
    ok(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(cuStreamBeginCapture(two, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(cuEventRecord(event, one));
    expect(CUDA_ERROR_STREAM_CAPTURE_MERGE, cuStreamWaitEvent(two, event, 0));
    expect_invalid(one);
    expect_invalid(two);

    /* The legacy stream would wait for a capturing one. */
    ok(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    expect(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamIsCapturing(NULL, &status));
    expect(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuMemsetD32Async(a, 1, 1, NULL));
    expect_invalid(blocking);

    /* Callbacks can't be captured, and a stream may die while it captures. */
    ok(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
    expect(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamAddCallback(one, callback, NULL, 0));
    expect_invalid(one);
    ok(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cuStreamDestroy(one));
    ok(cuMemFree(a));
    ok(cuStreamDestroy(two));
    ok(cuStreamDestroy(blocking));
    ok(cuEventDestroy(event));
    ok(cuEventDestroy(outside));
}

/* Memory of the graph's own: a fill of it, copied out before it is freed. */
static void expect_graph_memory(CUgraph graph, CUdeviceptr memory, CUdeviceptr out)
{
    CUgraphExec exec;
    CUdeviceptr base;
    size_t bytes, before, after;
    ok(cuMemGetAddressRange(&base, &bytes, memory + 4));
    assert_int_equal(base, memory);
    assert_int_equal(bytes, 4096);
    ok(cuGraphInstantiate(&exec, graph, 0));
    ok(cuGraphDestroy(graph));
    for (int i = 0; i < 2; i++) {
        ok(cuMemsetD32(out, 0, 1024));
        ok(cuGraphLaunch(exec, NULL));
        expect_words(out, 1024, 9);
    }
    ok(cuMemGetInfo(&before, NULL));
    ok(cuGraphExecDestroy(exec));
    ok(cuMemGetInfo(&after, NULL));
    assert_int_equal(after - before, 4096);
}

static void graphs_have_memory_of_their_own(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphNode allocate, fill, copy, release;
    CUcontext context;
    CUdeviceptr out = words(1024, 0), address;
    CUDA_MEM_ALLOC_NODE_PARAMS params = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
        .bytesize = 4096};
    ok(cuCtxGetCurrent(&context));
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddMemAllocNode(&allocate, graph, NULL, 0, &params));
    CUDA_MEMSET_NODE_PARAMS set = {
        .dst = params.dptr, .elementSize = 4, .value = 9, .width = 1024, .height = 1};
    CUDA_MEMCPY3D bytes = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = params.dptr,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = out,
                           .WidthInBytes = 4096,
                           .Height = 1,
                           .Depth = 1};
    ok(cuGraphAddMemsetNode(&fill, graph, &allocate, 1, &set, context));
    ok(cuGraphAddMemcpyNode(&copy, graph, &fill, 1, &bytes, context));
    ok(cuGraphAddMemFreeNode(&release, graph, &copy, 1, params.dptr));
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemFreeNode(&release, graph, &copy, 1, out));
    ok(cuGraphMemFreeNodeGetParams(release, &address));
    assert_int_equal(address, params.dptr);
    ok(cuGraphMemAllocNodeGetParams(allocate, &params));
    assert_int_equal(params.bytesize, 4096);
    expect_graph_memory(graph, params.dptr, out);
    ok(cuMemFree(out));
}

static void captured_allocations_are_nodes(void **state)
{
    (void)state;
    CUgraph graph;
    CUstream stream;
    CUdeviceptr out = words(1024, 0), memory;
    CUgraphNode nodes[4];
    CUgraphNodeType type;
    size_t count = 4;
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ok(cuMemAllocAsync(&memory, 4096, stream));
    ok(cuMemsetD32Async(memory, 9, 1024, stream));
    ok(cuMemcpyDtoDAsync(out, memory, 4096, stream));
    ok(cuMemFreeAsync(memory, stream));
    ok(cuStreamEndCapture(stream, &graph));
    ok(cuGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 4);
    ok(cuGraphNodeGetType(nodes[0], &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    ok(cuGraphNodeGetType(nodes[3], &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_MEM_FREE);
    expect_graph_memory(graph, memory, out);
    ok(cuStreamDestroy(stream));
    ok(cuMemFree(out));
}

static void count_down(void *argument)
{
    __atomic_fetch_add((int *)argument, 1, __ATOMIC_SEQ_CST);
}

static void expect_destroyed(const int *count, int wanted)
{
    for (int i = 0; i < 2000 && __atomic_load_n(count, __ATOMIC_SEQ_CST) != wanted; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(__atomic_load_n(count, __ATOMIC_SEQ_CST), wanted);
}

static void graphs_keep_objects_of_the_program(void **state)
{
    (void)state;
    static int destroyed;
    CUuserObject object;
    CUgraph graph;
    CUgraphExec exec;

    expect(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate(&object, &destroyed, count_down, 1, 0));
    ok(cuUserObjectCreate(&object, &destroyed, count_down, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    ok(cuUserObjectRetain(object, 2));
    ok(cuUserObjectRelease(object, 2));
    ok(cuGraphInstantiate(&exec, graph, 0));
    ok(cuGraphDestroy(graph));
    assert_int_equal(destroyed, 0);
    ok(cuGraphExecDestroy(exec));
    expect_destroyed(&destroyed, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuUserObjectRetain(object, 1));

    ok(cuUserObjectCreate(&object, &destroyed, count_down, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphRetainUserObject(graph, object, 2, 0));
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphReleaseUserObject(graph, object, 3));
    ok(cuGraphReleaseUserObject(graph, object, 2));
    ok(cuGraphDestroy(graph));
    assert_int_equal(destroyed, 1);
    ok(cuUserObjectRelease(object, 1));
    expect_destroyed(&destroyed, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_run_in_the_order_of_their_edges),
        cmocka_unit_test(a_circle_is_refused),
        cmocka_unit_test(launches_keep_stream_order_and_do_not_overlap),
        cmocka_unit_test(the_first_layout_of_kernel_nodes_works_too),
        cmocka_unit_test(parameters_can_be_asked_for_and_changed),
        cmocka_unit_test(graphs_nest_and_clone),
        cmocka_unit_test(events_in_graphs_order_streams),
        cmocka_unit_test(captured_work_runs_when_the_graph_does),
        cmocka_unit_test(waiting_for_a_capturing_stream_spoils_the_capture),
        cmocka_unit_test(the_mode_says_what_else_is_forbidden),
        cmocka_unit_test(global_captures_bind_other_threads),
        cmocka_unit_test(mistakes_of_captures_have_their_own_errors),
        cmocka_unit_test(graphs_have_memory_of_their_own),
        cmocka_unit_test(captured_allocations_are_nodes),
        cmocka_unit_test(graphs_keep_objects_of_the_program),
    };
    return cmocka_run_group_tests(tests, module_up, context_down);
}
