/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture, and memory that belongs to graphs. */
#include "tests/soft/api/soft_test.h"

#include "tests/soft/api/kernels.h"

#include <pthread.h>
#include <string.h>

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

static CUgraphExec instantiate(CUgraph graph)
{
    CUgraphExec exec = NULL;
    ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static void host(void *argument)
{
    ++*(int *)argument;
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_work_runs_when_the_graph_does),
        cmocka_unit_test(waiting_for_a_capturing_stream_spoils_the_capture),
        cmocka_unit_test(the_mode_says_what_else_is_forbidden),
        cmocka_unit_test(global_captures_bind_other_threads),
        cmocka_unit_test(mistakes_of_captures_have_their_own_errors),
        cmocka_unit_test(graphs_have_memory_of_their_own),
        cmocka_unit_test(captured_allocations_are_nodes),
    };
    return cmocka_run_group_tests(tests, module_up, context_down);
}
