/* SPDX-License-Identifier: Apache-2.0 */
/* REPRISE_SOFT_ORACLE: every operation leaves exactly the bytes that it read and wrote. */
#include "tests/soft/api/soft_test.h"

#include "cuda/soft/oracle.h"
#include "tests/soft/api/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/reprise-oracle-XXXXXX";
static struct soft_oracle_reader *reader;
static CUmodule module;

/* The records of what ran since the last look. */
static const struct soft_oracle_record *next(void)
{
    const struct soft_oracle_record *record = NULL;
    enum rp_status status;
    ok(cuCtxSynchronize());
    if (reader == NULL)
        assert_int_equal(soft_oracle_open(path, &reader), RP_OK);
    status = soft_oracle_next(reader, &record);
    if (status == RP_END)
        return NULL;
    assert_int_equal(status, RP_OK);
    return record;
}

static void skip_all(void)
{
    while (next() != NULL)
        ;
}

/* The spans are these `count` pairs of offset and length from `base`. */
static void expect_spans(const struct rp_spans *spans, CUdeviceptr base, size_t count,
                         const size_t pairs[][2])
{
    assert_int_equal(spans->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(spans->items[i].lo - base, pairs[i][0]);
        assert_int_equal(spans->items[i].hi - spans->items[i].lo, pairs[i][1]);
    }
}

#define SPANS(spans, base, ...)                                                                    \
    do {                                                                                           \
        const size_t pairs_[][2] = {__VA_ARGS__};                                                  \
        expect_spans(spans, base, sizeof pairs_ / sizeof pairs_[0], pairs_);                       \
    } while (0)

static void copies_and_fills_leave_their_ranges(void **state)
{
    (void)state;
    CUdeviceptr a = words(4096, 0), b = words(4096, 0);
    unsigned char host[64] = {0};
    const struct soft_oracle_record *record;

    skip_all();
    ok(cuMemcpyHtoD(a + 10, host, 20)); /* pageable memory does not show */
    record = next();
    assert_string_equal(record->name, "copy");
    assert_int_equal(record->reads.count, 0);
    SPANS(&record->writes, a, {10, 20});
    ok(cuMemcpyDtoD(b + 4090, a + 4095, 5)); /* over the edge of a page */
    record = next();
    SPANS(&record->reads, a, {4095, 5});
    SPANS(&record->writes, b, {4090, 5});
    ok(cuMemsetD2D16(a, 64, 7, 3, 4));
    record = next();
    assert_string_equal(record->name, "fill");
    assert_int_equal(record->reads.count, 0);
    SPANS(&record->writes, a, {0, 6}, {64, 6}, {128, 6}, {192, 6});
    assert_null(next());
    ok(cuMemFree(a));
    ok(cuMemFree(b));
}

static void a_kernel_leaves_what_its_threads_touched(void **state)
{
    (void)state;
    CUdeviceptr a = words(8192, 1), b = words(8192, 1), shift;
    uint32_t n = 1500, value = 3;
    void *added[] = {&a, &b, &n}, *stored[] = {&a, &value};
    CUfunction add, store;
    const struct soft_oracle_record *record;

    ok(cuModuleGetFunction(&add, module, "add"));
    ok(cuModuleGetFunction(&store, module, "store"));
    ok(cuModuleGetGlobal(&shift, NULL, module, "shift"));
    skip_all();
    /* 2048 threads, of which 1500 do something, in blocks that run on several workers. */
    ok(cuLaunchKernel(add, 8, 1, 1, 256, 1, 1, 0, NULL, added, NULL));
    record = next();
    assert_string_equal(record->name, "add");
    SPANS(&record->writes, a, {0, 6000});
    assert_int_equal(record->reads.count, 2);
    CUdeviceptr low = a < b ? a : b, high = a < b ? b : a;
    struct rp_spans first = {.items = record->reads.items, .count = 1};
    struct rp_spans second = {.items = record->reads.items + 1, .count = 1};
    SPANS(&first, low, {0, 6000});
    SPANS(&second, high, {0, 6000});
    ok(cuLaunchKernel(store, 1, 1, 1, 5, 1, 1, 0, NULL, stored, NULL));
    record = next();
    SPANS(&record->reads, shift, {0, 4});
    SPANS(&record->writes, a, {0, 20});
    ok(cuMemFree(a));
    ok(cuMemFree(b));
}

static void records_tell_stream_and_order(void **state)
{
    (void)state;
    CUstream one;
    unsigned long long id;
    CUdeviceptr a = words(2, 0), pooled;
    const struct soft_oracle_record *record;

    ok(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    ok(cuStreamGetId(one, &id));
    skip_all();
    ok(cuStreamWriteValue32(one, a, 5, 0));
    ok(cuStreamWaitValue32(one, a, 5, CU_STREAM_WAIT_VALUE_EQ));
    ok(cuMemAllocAsync(&pooled, 100, one));
    record = next();
    assert_string_equal(record->name, "value write");
    assert_int_equal(record->stream, id);
    assert_int_equal(record->device, 0);
    SPANS(&record->writes, a, {0, 4});
    uint64_t seq = record->seq;
    record = next();
    assert_string_equal(record->name, "value wait");
    assert_true(record->seq > seq);
    SPANS(&record->reads, a, {0, 4});
    record = next();
    assert_string_equal(record->name, "allocation");
    SPANS(&record->writes, pooled, {0, 100});
    ok(cuMemFreeAsync(pooled, one));
    ok(cuMemFree(a));
    ok(cuStreamDestroy(one));
}

static void other_files_are_refused_and_torn_ones_end(void **state)
{
    (void)state;
    char other[] = "/tmp/reprise-other-XXXXXX";
    struct soft_oracle_reader *torn;
    const struct soft_oracle_record *record;
    int file = mkstemp(other);
    assert_int_equal(write(file, "reprise oracle 2\n", 17), 17);
    assert_int_equal(soft_oracle_open(other, &torn), RP_DAMAGED);
    assert_int_equal(soft_oracle_open("/nonexistent", &torn), RP_IO);
    assert_int_equal(pwrite(file, "reprise oracle 1\n\x09\x01\x01", 20, 0), 20);
    assert_int_equal(soft_oracle_open(other, &torn), RP_OK);
    assert_int_equal(soft_oracle_next(torn, &record), RP_END);
    soft_oracle_close(torn);
    assert_int_equal(pwrite(file, "reprise oracle 1\n\x03\x01\x01\xff", 21, 0), 21);
    assert_int_equal(soft_oracle_open(other, &torn), RP_OK);
    assert_int_equal(soft_oracle_next(torn, &record), RP_DAMAGED);
    soft_oracle_close(torn);
    close(file);
    unlink(other);
}

static int up(void **state)
{
    int file = mkstemp(path);
    if (file < 0)
        return 1;
    close(file);
    setenv("REPRISE_SOFT_ORACLE", path, 1);
    return context_up(state) != 0 || cuModuleLoadData(&module, kernels) != CUDA_SUCCESS;
}

static int down(void **state)
{
    if (reader != NULL)
        soft_oracle_close(reader);
    unlink(path);
    return context_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_and_fills_leave_their_ranges),
        cmocka_unit_test(a_kernel_leaves_what_its_threads_touched),
        cmocka_unit_test(records_tell_stream_and_order),
        cmocka_unit_test(other_files_are_refused_and_torn_ones_end),
    };
    return cmocka_run_group_tests(tests, up, down);
}
