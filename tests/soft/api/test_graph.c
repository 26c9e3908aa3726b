/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: order by edges alone, arguments copied when a node is made, executables that outlive
 * their graphs, both layouts of kernel parameters. */
#include "tests/soft/api/soft_test.h"

#include "tests/soft/api/kernels.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

/* A child of an executable becomes another graph of the same shape, and of no other. */
static void a_child_is_exchanged(void **state)
{
    (void)state;
    CUdeviceptr a = words(64, 0), b = words(64, 0);
    uint32_t value = 5;
    void *to_a[] = {&a, &value}, *to_b[] = {&b, &value};
    CUDA_KERNEL_NODE_PARAMS first = kernel(store, 64, to_a), second = kernel(store, 64, to_b);
    CUgraph graph, child, other, empty;
    CUgraphNode node, inner;

    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphCreate(&child, 0));
    ok(cuGraphCreate(&other, 0));
    ok(cuGraphCreate(&empty, 0));
    ok(cuGraphAddKernelNode(&inner, child, NULL, 0, &first));
    ok(cuGraphAddKernelNode(&inner, other, NULL, 0, &second));
    ok(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    CUgraphExec exec = instantiate(graph);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphExecChildGraphNodeSetParams(exec, node, empty));
    ok(cuGraphExecChildGraphNodeSetParams(exec, node, other));
    ok(cuGraphLaunch(exec, NULL));
    expect_words(a, 64, 0);
    expect_words(b, 64, 105);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuGraphDestroy(child));
    ok(cuGraphDestroy(other));
    ok(cuGraphDestroy(empty));
    ok(cuMemFree(a));
    ok(cuMemFree(b));
}

static void a_graph_is_drawn(void **state)
{
    (void)state;
    CUdeviceptr a = words(64, 0);
    uint32_t value = 5;
    void *arguments[] = {&a, &value};
    CUDA_KERNEL_NODE_PARAMS params = kernel(store, 64, arguments);
    char path[] = "/tmp/soft-graph-XXXXXX", text[1024] = "";
    CUgraph graph;
    CUgraphNode first, second;
    int file = mkstemp(path);

    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddEmptyNode(&first, graph, NULL, 0));
    ok(cuGraphAddKernelNode(&second, graph, &first, 1, &params));
    ok(cuGraphDebugDotPrint(graph, path, 0));
    assert_true(read(file, text, sizeof text - 1) > 0);
    assert_true(strncmp(text, "digraph", 7) == 0);
    assert_non_null(strstr(text, "KERNEL\\nstore<<<(1,1,1),(64,1,1),0>>>"));
    assert_non_null(strstr(text, " -> "));
    expect(CUDA_ERROR_OPERATING_SYSTEM, cuGraphDebugDotPrint(graph, "/nowhere/at/all", 0));
    close(file);
    unlink(path);
    ok(cuGraphDestroy(graph));
    ok(cuMemFree(a));
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
        cmocka_unit_test(a_child_is_exchanged),
        cmocka_unit_test(a_graph_is_drawn),
        cmocka_unit_test(events_in_graphs_order_streams),
        cmocka_unit_test(graphs_keep_objects_of_the_program),
    };
    return cmocka_run_group_tests(tests, module_up, context_down);
}
