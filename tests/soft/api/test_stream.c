/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: work is asynchronous, ordered within a stream, and between streams by events and by
 * the legacy default stream. */
#include "tests/soft/api/soft_test.h"

#include <string.h>

static CUstream stream(unsigned flags)
{
    CUstream made = NULL;
    ok(cuStreamCreate(&made, flags));
    return made;
}

static void a_blocked_stream_does_not_stop_another(void **state)
{
    (void)state;
    CUstream blocked = stream(CU_STREAM_NON_BLOCKING), other = stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr a = words(64, 1), b = words(64, 1);
    struct gate gate;

    gate_close(&gate, blocked);
    ok(cuMemsetD32Async(a, 2, 64, blocked));
    ok(cuMemsetD32Async(b, 3, 64, other));
    ok(cuStreamSynchronize(other));
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery(blocked));
    ok(cuStreamQuery(other));
    gate_open(&gate);
    ok(cuStreamSynchronize(blocked));
    expect_words(a, 64, 2);
    expect_words(b, 64, 3);
    ok(cuMemFree(a));
    ok(cuMemFree(b));
    ok(cuStreamDestroy(blocked));
    ok(cuStreamDestroy(other));
}

static void many_blocked_streams_leave_room_for_one_more(void **state)
{
    (void)state;
    enum { BLOCKED = 12 };
    CUstream blocked[BLOCKED], other = stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr a = words(64, 1);
    struct gate gates[BLOCKED];

    for (int i = 0; i < BLOCKED; i++) {
        blocked[i] = stream(CU_STREAM_NON_BLOCKING);
        gate_close(&gates[i], blocked[i]);
    }
    for (int i = 0; i < BLOCKED; i++)
        gate_wait_reached(&gates[i]);
    ok(cuMemsetD32Async(a, 2, 64, other));
    ok(cuStreamSynchronize(other));
    for (int i = 0; i < BLOCKED; i++) {
        gate_open(&gates[i]);
        ok(cuStreamDestroy(blocked[i]));
    }
    expect_words(a, 64, 2);
    ok(cuMemFree(a));
    ok(cuStreamDestroy(other));
}

static void an_event_orders_two_streams(void **state)
{
    (void)state;
    CUstream first = stream(CU_STREAM_NON_BLOCKING), second = stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr a = words(64, 1), b = words(64, 1);
    CUevent event;
    struct gate gate;

    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    ok(cuEventQuery(event)); /* never recorded */
    gate_close(&gate, first);
    ok(cuMemsetD32Async(a, 5, 64, first));
    ok(cuEventRecord(event, first));
    ok(cuStreamWaitEvent(second, event, 0));
    ok(cuMemcpyDtoDAsync(b, a, 256, second));
    expect(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery(second));
    gate_open(&gate);
    ok(cuEventSynchronize(event));
    ok(cuStreamSynchronize(second));
    expect_words(b, 64, 5);
    ok(cuEventDestroy(event));
    ok(cuMemFree(a));
    ok(cuMemFree(b));
    ok(cuStreamDestroy(first));
    ok(cuStreamDestroy(second));
}

static void an_event_of_a_context_comes_after_all_its_streams(void **state)
{
    (void)state;
    CUstream first = stream(CU_STREAM_NON_BLOCKING), second = stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr a = words(1, 1), b = words(1, 1);
    CUcontext current;
    CUevent event;
    struct gate gate;

    ok(cuCtxGetCurrent(&current));
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    expect(CUDA_ERROR_INVALID_HANDLE, cuCtxRecordEvent(current, (CUevent)&gate));
    gate_close(&gate, first);
    ok(cuMemsetD32Async(a, 5, 1, first));
    ok(cuCtxRecordEvent(current, event));
    ok(cuMemsetD32Async(b, 6, 1, second)); /* no stream waits for it by itself */
    ok(cuStreamSynchronize(second));
    ok(cuStreamWaitEvent(second, event, 0));
    ok(cuMemcpyDtoDAsync(b, a, 4, second));
    expect(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    gate_open(&gate);
    ok(cuStreamSynchronize(second));
    expect_words(b, 1, 5);
    ok(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    expect(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxRecordEvent(current, event));
    CUgraph graph;
    ok(cuStreamEndCapture(first, &graph));
    ok(cuGraphDestroy(graph));
    ok(cuEventDestroy(event));
    ok(cuMemFree(a));
    ok(cuMemFree(b));
    ok(cuStreamDestroy(first));
    ok(cuStreamDestroy(second));
}

static void waiting_means_the_record_at_the_time_of_the_call(void **state)
{
    (void)state;
    CUstream first = stream(CU_STREAM_NON_BLOCKING), second = stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr a = words(1, 1);
    CUevent event;
    struct gate gate;

    ok(cuEventCreate(&event, 0));
    ok(cuEventRecord(event, first));
    ok(cuStreamWaitEvent(second, event, 0));
    gate_close(&gate, first);
    ok(cuEventRecord(event, first)); /* later: does not concern `second` */
    ok(cuMemsetD32Async(a, 7, 1, second));
    ok(cuStreamSynchronize(second));
    gate_open(&gate);
    expect_words(a, 1, 7);
    ok(cuEventDestroy(event));
    ok(cuMemFree(a));
    ok(cuStreamDestroy(first));
    ok(cuStreamDestroy(second));
}

static void the_legacy_stream_waits_for_blocking_streams_and_they_for_it(void **state)
{
    (void)state;
    CUstream before = stream(CU_STREAM_DEFAULT), after = stream(CU_STREAM_DEFAULT);
    CUdeviceptr a = words(64, 1), b = words(64, 1), c = words(64, 1);
    struct gate gate;

    gate_close(&gate, before);
    ok(cuMemsetD32Async(a, 5, 64, before));
    ok(cuMemcpyDtoDAsync(b, a, 256, NULL));  /* after `before` */
    ok(cuMemcpyDtoDAsync(c, b, 256, after)); /* after the legacy stream */
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery(after));
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
    gate_open(&gate);
    ok(cuStreamSynchronize(after));
    expect_words(c, 64, 5);
    ok(cuMemFree(a));
    ok(cuMemFree(b));
    ok(cuMemFree(c));
    ok(cuStreamDestroy(before));
    ok(cuStreamDestroy(after));
}

static void non_blocking_streams_ignore_the_legacy_stream(void **state)
{
    (void)state;
    CUstream apart = stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr a = words(64, 1);
    struct gate gate;

    gate_close(&gate, NULL);
    ok(cuMemsetD32Async(a, 5, 64, apart));
    ok(cuStreamSynchronize(apart));
    gate_open(&gate);
    expect_words(a, 64, 5);
    ok(cuMemFree(a));
    ok(cuStreamDestroy(apart));
}

static void the_per_thread_stream_is_a_blocking_stream_of_its_own(void **state)
{
    (void)state;
    CUdeviceptr a = words(1, 0);
    unsigned long long own, legacy, again;
    struct gate gate;

    ok(cuStreamGetId(CU_STREAM_PER_THREAD, &own));
    ok(cuStreamGetId(CU_STREAM_PER_THREAD, &again));
    ok(cuStreamGetId(NULL, &legacy));
    assert_int_equal(own, again);
    assert_int_not_equal(own, legacy);
    gate_close(&gate, NULL);
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery(CU_STREAM_LEGACY));
    ok(cuMemsetD8Async(a, 1, 4, CU_STREAM_PER_THREAD));
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery(CU_STREAM_PER_THREAD));
    gate_open(&gate);
    ok(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    expect_words(a, 1, 0x01010101);
    ok(cuMemFree(a));
}

static void a_destroyed_stream_finishes_its_work(void **state)
{
    (void)state;
    CUstream gone = stream(CU_STREAM_DEFAULT);
    CUdeviceptr a = words(64, 1);
    struct gate gate;

    gate_close(&gate, gone);
    ok(cuMemsetD32Async(a, 9, 64, gone));
    ok(cuStreamDestroy(gone));
    expect(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(gone));
    expect(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(gone));
    gate_open(&gate);
    expect_words(a, 64, 9); /* the legacy stream still waits for it */
    ok(cuMemFree(a));
}

struct log {
    int entries[8];
    int count;
};
struct entry {
    struct log *log;
    int value;
};

static void append(void *argument)
{
    struct entry *entry = argument;
    entry->log->entries[entry->log->count++] = entry->value;
}

static void CUDA_CB append_from_callback(CUstream stream_, CUresult status, void *argument)
{
    (void)stream_;
    assert_int_equal(status, CUDA_SUCCESS);
    append(argument);
}

static void host_functions_and_callbacks_run_in_order(void **state)
{
    (void)state;
    CUstream one = stream(CU_STREAM_NON_BLOCKING);
    struct log log = {.count = 0};
    struct entry entries[4] = {{&log, 10}, {&log, 11}, {&log, 12}, {&log, 13}};
    struct gate gate;

    gate_close(&gate, one);
    ok(cuLaunchHostFunc(one, append, &entries[0]));
    ok(cuStreamAddCallback(one, append_from_callback, &entries[1], 0));
    ok(cuLaunchHostFunc(one, append, &entries[2]));
    ok(cuStreamAddCallback(one, append_from_callback, &entries[3], 0));
    assert_int_equal(log.count, 0);
    gate_open(&gate);
    ok(cuStreamSynchronize(one));
    assert_int_equal(log.count, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(log.entries[i], 10 + i);
    ok(cuStreamDestroy(one));
}

static CUresult result_inside;

static void call_the_driver(void *argument)
{
    (void)argument;
    size_t free_, total;
    result_inside = cuMemGetInfo(&free_, &total);
}

static void host_functions_may_not_call_the_driver(void **state)
{
    (void)state;
    ok(cuLaunchHostFunc(NULL, call_the_driver, NULL));
    ok(cuStreamSynchronize(NULL));
    assert_int_equal(result_inside, CUDA_ERROR_NOT_PERMITTED);
}

static void events_tell_time(void **state)
{
    (void)state;
    CUevent start, end, silent;
    float ms = -1;
    struct gate gate;

    ok(cuEventCreate(&start, 0));
    ok(cuEventCreate(&end, 0));
    ok(cuEventCreate(&silent, CU_EVENT_DISABLE_TIMING));
    expect(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, start, end));
    ok(cuEventRecord(start, NULL));
    gate_close(&gate, NULL);
    ok(cuEventRecord(end, NULL));
    expect(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&ms, start, end));
    gate_open(&gate);
    ok(cuEventSynchronize(end));
    ok(cuEventElapsedTime(&ms, start, end));
    assert_true(ms >= 0);
    ok(cuEventElapsedTime(&ms, end, start));
    assert_true(ms <= 0);
    ok(cuEventRecord(silent, NULL));
    expect(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, start, silent));
    ok(cuEventDestroy(start));
    ok(cuEventDestroy(end));
    ok(cuEventDestroy(silent));
    expect(CUDA_ERROR_INVALID_HANDLE, cuEventSynchronize(silent));
}

static void pageable_memory_is_read_in_the_call(void **state)
{
    (void)state;
    CUstream one = stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr a = words(2, 1);
    uint32_t source[2] = {42, 42};
    struct gate gate;

    gate_close(&gate, one);
    ok(cuMemcpyHtoDAsync(a, source, sizeof source, one));
    memset(source, 0, sizeof source); /* too late to matter */
    gate_open(&gate);
    ok(cuStreamSynchronize(one));
    expect_words(a, 2, 42);
    ok(cuMemFree(a));
    ok(cuStreamDestroy(one));
}

static void pinned_memory_is_read_in_stream_order(void **state)
{
    (void)state;
    CUstream one = stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr a = words(2, 1);
    uint32_t *source;
    struct gate gate;

    ok(cuMemHostAlloc((void **)&source, 8, 0));
    source[0] = source[1] = 42;
    gate_close(&gate, one);
    ok(cuMemcpyHtoDAsync(a, source, 8, one));
    source[0] = source[1] = 43; /* in time */
    gate_open(&gate);
    ok(cuStreamSynchronize(one));
    expect_words(a, 2, 43);
    ok(cuMemFreeHost(source));
    ok(cuMemFree(a));
    ok(cuStreamDestroy(one));
}

static void priorities_are_kept_and_clamped(void **state)
{
    (void)state;
    int least, greatest, got;
    CUstream one;

    ok(cuCtxGetStreamPriorityRange(&least, &greatest));
    assert_true(greatest < least);
    ok(cuStreamCreateWithPriority(&one, CU_STREAM_NON_BLOCKING, greatest));
    ok(cuStreamGetPriority(one, &got));
    assert_int_equal(got, greatest);
    ok(cuStreamDestroy(one));
    ok(cuStreamCreateWithPriority(&one, 0, -1000));
    ok(cuStreamGetPriority(one, &got));
    assert_int_equal(got, greatest);
    ok(cuStreamDestroy(one));
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(&one, 0x80));
}

static void attributes_are_kept_and_copied(void **state)
{
    (void)state;
    CUstream one, two;
    CUstreamAttrValue value = {.syncPolicy = CU_SYNC_POLICY_YIELD}, got;
    ok(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    ok(cuStreamCreateWithPriority(&two, CU_STREAM_NON_BLOCKING, -2));
    ok(cuStreamSetAttribute(two, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
    ok(cuStreamCopyAttributes(one, two));
    ok(cuStreamGetAttribute(one, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &got));
    assert_int_equal(got.syncPolicy, CU_SYNC_POLICY_YIELD);
    ok(cuStreamGetAttribute(one, CU_STREAM_ATTRIBUTE_PRIORITY, &got));
    assert_int_equal(got.priority, -2);
    expect(CUDA_ERROR_INVALID_VALUE,
           cuStreamGetAttribute(one, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &got));
    ok(cuStreamDestroy(one));
    ok(cuStreamDestroy(two));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_blocked_stream_does_not_stop_another),
        cmocka_unit_test(many_blocked_streams_leave_room_for_one_more),
        cmocka_unit_test(an_event_orders_two_streams),
        cmocka_unit_test(an_event_of_a_context_comes_after_all_its_streams),
        cmocka_unit_test(waiting_means_the_record_at_the_time_of_the_call),
        cmocka_unit_test(the_legacy_stream_waits_for_blocking_streams_and_they_for_it),
        cmocka_unit_test(non_blocking_streams_ignore_the_legacy_stream),
        cmocka_unit_test(the_per_thread_stream_is_a_blocking_stream_of_its_own),
        cmocka_unit_test(a_destroyed_stream_finishes_its_work),
        cmocka_unit_test(host_functions_and_callbacks_run_in_order),
        cmocka_unit_test(host_functions_may_not_call_the_driver),
        cmocka_unit_test(events_tell_time),
        cmocka_unit_test(pageable_memory_is_read_in_the_call),
        cmocka_unit_test(pinned_memory_is_read_in_stream_order),
        cmocka_unit_test(priorities_are_kept_and_clamped),
        cmocka_unit_test(attributes_are_kept_and_copied),
    };
    return cmocka_run_group_tests(tests, context_up, context_down);
}
