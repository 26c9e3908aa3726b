/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that write words and wait for them. */
#include "tests/soft/api/soft_test.h"

#include <string.h>

static CUstream stream(void)
{
    CUstream made = NULL;
    ok(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
    return made;
}

static void a_stream_waits_for_what_another_writes(void **state)
{
    (void)state;
    CUstream one = stream(), two = stream();
    CUdeviceptr flag = words(1, 0), a = words(4, 1);

    ok(cuStreamWaitValue32(one, flag, 3, CU_STREAM_WAIT_VALUE_GEQ));
    ok(cuMemsetD32Async(a, 2, 4, one));
    ok(cuStreamWriteValue32(two, flag, 2, 0));
    ok(cuStreamSynchronize(two));
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery(one));
    ok(cuStreamWriteValue32(two, flag, 4, 0));
    ok(cuStreamSynchronize(one));
    expect_words(a, 4, 2);
    ok(cuMemFree(flag));
    ok(cuMemFree(a));
    ok(cuStreamDestroy(one));
    ok(cuStreamDestroy(two));
}

static void the_host_can_write_it_too(void **state)
{
    (void)state;
    CUstream one = stream();
    uint64_t *flag;

    ok(cuMemHostAlloc((void **)&flag, 8, 0));
    ok(cuStreamWaitValue64(one, (CUdeviceptr)(uintptr_t)flag, UINT64_C(1) << 40,
                           CU_STREAM_WAIT_VALUE_EQ));
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery(one));
    __atomic_store_n(flag, UINT64_C(1) << 40, __ATOMIC_SEQ_CST);
    ok(cuStreamSynchronize(one));
    ok(cuMemFreeHost(flag));
    ok(cuStreamDestroy(one));
}

/* Each condition with a word that does not meet it and one that does. */
static void every_condition_means_what_it_says(void **state)
{
    (void)state;
    static const struct {
        unsigned flags;
        uint32_t value, unmet, met;
    } rows[] = {
        {CU_STREAM_WAIT_VALUE_GEQ, 5, 4, 5},
        {CU_STREAM_WAIT_VALUE_GEQ, 0xfffffff0u, 0xffffff00u, 3}, /* cyclic */
        {CU_STREAM_WAIT_VALUE_EQ, 5, 6, 5},
        {CU_STREAM_WAIT_VALUE_AND, 6, 9, 4},
        {CU_STREAM_WAIT_VALUE_NOR, 0xffff0000u, 0xffffu, 0xfffeu},
    };
    CUstream one = stream();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CUdeviceptr flag = words(1, rows[i].unmet);
        CUstream two = stream();
        ok(cuStreamWaitValue32(one, flag, rows[i].value, rows[i].flags));
        ok(cuStreamWriteValue32(two, flag, rows[i].unmet, 0));
        ok(cuStreamSynchronize(two));
        expect(CUDA_ERROR_NOT_READY, cuStreamQuery(one));
        ok(cuStreamWriteValue32(two, flag, rows[i].met, 0));
        ok(cuStreamSynchronize(one));
        ok(cuStreamDestroy(two));
        ok(cuMemFree(flag));
    }
    ok(cuStreamDestroy(one));
}

static void a_batch_is_in_order_or_not_at_all(void **state)
{
    (void)state;
    CUstream one = stream(), two = stream();
    CUdeviceptr flags = words(4, 0);
    CUstreamBatchMemOpParams batch[3];

    memset(batch, 0, sizeof batch);
    batch[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    batch[0].writeValue.address = flags;
    batch[0].writeValue.value = 1;
    batch[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    batch[1].waitValue.address = flags + 4;
    batch[1].waitValue.value = 1;
    batch[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    batch[2].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    batch[2].writeValue.address = flags + 8;
    batch[2].writeValue.value64 = UINT64_C(0x0000000100000001);
    ok(cuStreamBatchMemOp(one, 3, batch, 0));
    ok(cuStreamWaitValue32(two, flags, 1, CU_STREAM_WAIT_VALUE_EQ)); /* the first was written */
    ok(cuStreamSynchronize(two));
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery(one));
    ok(cuStreamWriteValue32(two, flags + 4, 1, 0));
    ok(cuStreamSynchronize(one));
    expect_words(flags, 4, 1);

    batch[2].writeValue.address = flags + 9; /* misaligned: none of the three happens */
    batch[0].writeValue.value = 2;
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(one, 3, batch, 0));
    expect_words(flags, 4, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(one, flags + 2, 0, 0));
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(one, 64, 0, 0));
    ok(cuMemFree(flags));
    ok(cuStreamDestroy(one));
    ok(cuStreamDestroy(two));
}

/* The nodes of a graph do the same, in their order, and tell what they do. */
static void a_graph_holds_batches(void **state)
{
    (void)state;
    CUstream one = stream();
    CUdeviceptr flags = words(4, 0);
    CUstreamBatchMemOpParams list[3];
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {.count = 3, .paramArray = list}, told;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;

    memset(list, 0, sizeof list);
    list[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    list[0].writeValue.address = flags;
    list[0].writeValue.value = 1;
    list[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    list[1].waitValue.address = flags + 4;
    list[1].waitValue.value = 5;
    list[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    list[2].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    list[2].writeValue.address = flags + 8;
    list[2].writeValue.value = 2;
    ok(cuCtxGetCurrent(&params.ctx));
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &params));
    ok(cuGraphBatchMemOpNodeGetParams(node, &told));
    assert_int_equal(told.count, 3);
    assert_int_equal(told.paramArray[2].writeValue.value, 2);
    ok(cuGraphInstantiate(&exec, graph, 0));
    told.paramArray[2].writeValue.value = 3; /* from now on, and only in the executable */
    ok(cuGraphExecBatchMemOpNodeSetParams(exec, node, &told));
    ok(cuGraphLaunch(exec, one));
    ok(cuMemsetD32(flags + 12, 4, 1));
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery(one)); /* it waits */
    ok(cuMemsetD32(flags + 4, 5, 1));
    ok(cuStreamSynchronize(one));
    uint32_t seen[4];
    ok(cuMemcpyDtoH(seen, flags, sizeof seen));
    const uint32_t expected[4] = {1, 5, 3, 4};
    assert_memory_equal(seen, expected, sizeof seen);

    list[0].writeValue.address = flags + 1;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphBatchMemOpNodeSetParams(node, &params));
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuMemFree(flags));
    ok(cuStreamDestroy(one));
}

static void a_captured_batch_is_one_node(void **state)
{
    (void)state;
    CUstream one = stream();
    CUdeviceptr flags = words(2, 0);
    CUstreamBatchMemOpParams list[2];
    CUDA_BATCH_MEM_OP_NODE_PARAMS told;
    CUgraph graph;
    CUgraphNode nodes[4];
    size_t count = 4;

    memset(list, 0, sizeof list);
    for (int i = 0; i < 2; i++) {
        list[i].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        list[i].writeValue.address = flags + 4 * (unsigned)i;
        list[i].writeValue.value = 7;
    }
    ok(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
    ok(cuStreamBatchMemOp(one, 2, list, 0));
    ok(cuStreamEndCapture(one, &graph));
    ok(cuGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 1);
    ok(cuGraphBatchMemOpNodeGetParams(nodes[0], &told));
    assert_int_equal(told.count, 2);
    ok(cuGraphDestroy(graph));
    ok(cuMemFree(flags));
    ok(cuStreamDestroy(one));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_waits_for_what_another_writes),
        cmocka_unit_test(the_host_can_write_it_too),
        cmocka_unit_test(every_condition_means_what_it_says),
        cmocka_unit_test(a_batch_is_in_order_or_not_at_all),
        cmocka_unit_test(a_graph_holds_batches),
        cmocka_unit_test(a_captured_batch_is_one_node),
    };
    return cmocka_run_group_tests(tests, context_up, context_down);
}
