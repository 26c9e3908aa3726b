/* SPDX-License-Identifier: Apache-2.0 */
/* A stream takes some thousand operations; a call that finds more waits until there is room.
 * It never waits for the program itself. */
#include "tests/soft/api/kernels.h"
#include "tests/soft/api/soft_test.h"

#include <pthread.h>
#include <time.h>

enum { FIT = 1024, MANY = 3 * FIT, WORDS = 16 };

static CUcontext context;
static CUfunction spin;
static uint32_t *flag; /* pinned: the spinning kernel reads it */

static int up(void **state)
{
    CUmodule module;
    if (context_up(state) != 0)
        return 1;
    ok(cuCtxGetCurrent(&context));
    ok(cuModuleLoadData(&module, kernels));
    ok(cuModuleGetFunction(&spin, module, "spin"));
    ok(cuMemHostAlloc((void **)&flag, sizeof *flag, 0));
    return 0;
}

static CUstream stream(void)
{
    CUstream made = NULL;
    ok(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
    return made;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* From here on the stream stands still, and the device is busy, until `flag` is set. */
static void occupy(CUstream on)
{
    void *params[] = {&flag};
    __atomic_store_n(flag, 0, __ATOMIC_SEQ_CST);
    ok(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, on, params, NULL));
}

/* A thread that submits MANY operations, or until one fails. */
struct writer {
    pthread_t thread;
    CUstream stream;
    CUdeviceptr at;
    _Atomic unsigned submitted;
    _Atomic CUresult result;
};

static void *write_many(void *argument)
{
    struct writer *writer = argument;
    CUresult result = cuCtxSetCurrent(context);
    for (unsigned i = 0; i < MANY && result == CUDA_SUCCESS; i++) {
        result = cuMemsetD32Async(writer->at, i, WORDS, writer->stream);
        writer->submitted += result == CUDA_SUCCESS;
    }
    writer->result = result;
    return NULL;
}

/* Occupies the stream and has the thread fill it. */
static void start(struct writer *writer, CUstream on)
{
    *writer = (struct writer){.stream = on, .at = words(WORDS, 7)};
    occupy(on);
    assert_int_equal(pthread_create(&writer->thread, NULL, write_many, writer), 0);
}

/* Waits until the thread does not get on any more; how far it got. */
static unsigned standstill(const struct writer *writer)
{
    unsigned before, now = writer->submitted;
    do {
        before = now;
        sleep_ms(100);
        now = writer->submitted;
    } while (now != before || now == 0);
    return now;
}

static void a_call_waits_when_the_queue_is_full(void **state)
{
    (void)state;
    CUstream busy = stream();
    struct writer writer;

    start(&writer, busy);
    assert_in_range(standstill(&writer), FIT - 1, FIT + 1);
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
    pthread_join(writer.thread, NULL);
    assert_int_equal(writer.submitted, MANY);
    ok(writer.result);
    ok(cuStreamSynchronize(busy));
    expect_words(writer.at, WORDS, MANY - 1);
    ok(cuMemFree(writer.at));
    ok(cuStreamDestroy(busy));
}

static void other_streams_have_queues_of_their_own(void **state)
{
    (void)state;
    CUstream busy = stream(), other = stream();
    struct writer writer;
    CUdeviceptr at = words(WORDS, 1);

    start(&writer, busy);
    standstill(&writer);
    for (unsigned i = 0; i < MANY; i++)
        ok(cuMemsetD32Async(at, i, WORDS, other));
    ok(cuStreamSynchronize(other));
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
    pthread_join(writer.thread, NULL);
    ok(writer.result);
    expect_words(at, WORDS, MANY - 1);
    ok(cuMemFree(at));
    ok(cuMemFree(writer.at));
    ok(cuStreamDestroy(busy));
    ok(cuStreamDestroy(other));
}

/* The stream waits for a word that this very thread writes afterwards. */
static void what_waits_for_the_host_does_not_hold_it_up(void **state)
{
    (void)state;
    CUstream waiting = stream();
    CUdeviceptr at = words(WORDS, 1);

    __atomic_store_n(flag, 0, __ATOMIC_SEQ_CST);
    ok(cuStreamWaitValue32(waiting, (CUdeviceptr)(uintptr_t)flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    for (unsigned i = 0; i < MANY; i++)
        ok(cuMemsetD32Async(at, i, WORDS, waiting));
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
    ok(cuStreamSynchronize(waiting));
    expect_words(at, WORDS, MANY - 1);
    ok(cuMemFree(at));
    ok(cuStreamDestroy(waiting));
}

static void nor_does_a_function_of_the_program(void **state)
{
    (void)state;
    CUstream waiting = stream();
    CUdeviceptr at = words(WORDS, 1);
    struct gate gate;

    gate_close(&gate, waiting);
    for (unsigned i = 0; i < MANY; i++)
        ok(cuMemsetD32Async(at, i, WORDS, waiting));
    gate_open(&gate);
    ok(cuStreamSynchronize(waiting));
    expect_words(at, WORDS, MANY - 1);
    ok(cuMemFree(at));
    ok(cuStreamDestroy(waiting));
}

/* A graph of more nodes than fit is one call; the next one finds the queue full. */
static void a_large_graph_is_submitted_at_once(void **state)
{
    (void)state;
    CUstream busy = stream(), capturing = stream();
    CUdeviceptr at = words(WORDS, 1);
    CUgraph graph;
    CUgraphExec exec;

    ok(cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_RELAXED));
    for (unsigned i = 0; i < MANY; i++) /* nothing waits while capturing */
        ok(cuMemsetD32Async(at, i, WORDS, capturing));
    ok(cuStreamEndCapture(capturing, &graph));
    ok(cuGraphInstantiate(&exec, graph, 0));
    occupy(busy);
    ok(cuGraphLaunch(exec, busy));
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery(busy));
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
    ok(cuStreamSynchronize(busy));
    expect_words(at, WORDS, MANY - 1);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuMemFree(at));
    ok(cuStreamDestroy(busy));
    ok(cuStreamDestroy(capturing));
}

static void a_stream_may_be_destroyed_under_a_call_that_waits(void **state)
{
    (void)state;
    CUstream busy = stream();
    struct writer writer;

    start(&writer, busy);
    unsigned submitted = standstill(&writer);
    ok(cuStreamDestroy(busy));
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
    pthread_join(writer.thread, NULL);
    expect(CUDA_ERROR_INVALID_HANDLE, writer.result);
    assert_int_equal(writer.submitted, submitted + 1); /* the call that waited has submitted */
    expect_words(writer.at, WORDS, submitted);
    ok(cuMemFree(writer.at));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_waits_when_the_queue_is_full),
        cmocka_unit_test(other_streams_have_queues_of_their_own),
        cmocka_unit_test(what_waits_for_the_host_does_not_hold_it_up),
        cmocka_unit_test(nor_does_a_function_of_the_program),
        cmocka_unit_test(a_large_graph_is_submitted_at_once),
        cmocka_unit_test(a_stream_may_be_destroyed_under_a_call_that_waits),
    };
    return cmocka_run_group_tests(tests, up, context_down);
}
