/* SPDX-License-Identifier: Apache-2.0 */
/* Modules and launches: arguments are copied in the call, geometry is checked, launches are
 * asynchronous, faults stay. */
#include "tests/soft/api/soft_test.h"

#include "tests/soft/api/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static CUmodule module;

static int module_up(void **state)
{
    if (context_up(state) != 0)
        return 1;
    return cuModuleLoadData(&module, kernels) != CUDA_SUCCESS;
}

static CUfunction function(const char *name)
{
    CUfunction found = NULL;
    ok(cuModuleGetFunction(&found, module, name));
    return found;
}

static CUresult run(CUfunction kernel, unsigned blocks, unsigned threads, CUstream stream,
                    void **arguments)
{
    return cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, NULL);
}

static void arguments_are_copied_in_the_call(void **state)
{
    (void)state;
    CUdeviceptr out = words(64, 0);
    uint32_t value = 5;
    void *arguments[] = {&out, &value};
    struct gate gate;

    gate_close(&gate, NULL);
    ok(run(function("store"), 2, 32, NULL, arguments));
    value = 6; /* the launch is still waiting */
    arguments[0] = NULL;
    gate_open(&gate);
    expect_words(out, 64, 105);

    struct {
        CUdeviceptr out;
        uint32_t value;
    } block = {out, 7};
    size_t bytes = 12;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    gate_close(&gate, NULL);
    ok(cuLaunchKernel(function("store"), 2, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
    block.value = 8;
    gate_open(&gate);
    expect_words(out, 64, 107);
    bytes = 8; /* shorter than the parameters */
    expect(CUDA_ERROR_INVALID_VALUE,
           cuLaunchKernel(function("store"), 2, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
    expect(CUDA_ERROR_INVALID_VALUE,
           cuLaunchKernel(function("store"), 2, 1, 1, 32, 1, 1, 0, NULL, arguments, extra));
    ok(cuMemFree(out));
}

static void parameters_of_all_sizes_arrive(void **state)
{
    (void)state;
    static const struct {
        size_t offset, bytes;
    } layout[] = {{0, 1}, {8, 8}, {16, 2}, {24, 8}};
    CUfunction twist = function("twist");
    CUdeviceptr out = words(6, 0);
    uint8_t small = 200;
    uint16_t middle = 50000;
    uint64_t large = UINT64_C(0x1122334455667788), got[3];
    void *arguments[] = {&small, &large, &middle, &out};
    size_t offset, bytes;

    ok(run(twist, 1, 1, NULL, arguments));
    ok(cuMemcpyDtoH(got, out, sizeof got));
    assert_int_equal(got[0], small);
    assert_int_equal(got[1], large);
    assert_int_equal(got[2], middle);
    for (size_t i = 0; i < 4; i++) {
        ok(cuFuncGetParamInfo(twist, i, &offset, &bytes));
        assert_int_equal(offset, layout[i].offset);
        assert_int_equal(bytes, layout[i].bytes);
    }
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(twist, 4, &offset, &bytes));
    ok(cuMemFree(out));
}

static void a_launch_returns_before_the_kernel_ends(void **state)
{
    (void)state;
    CUstream one, two;
    uint32_t *flag;
    CUdeviceptr address, out = words(1, 0);

    ok(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    ok(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
    ok(cuMemHostAlloc((void **)&flag, 4, 0));
    ok(cuMemHostGetDevicePointer(&address, flag, 0));
    void *arguments[] = {&address};
    ok(run(function("spin"), 1, 1, one, arguments));
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery(one));
    uint32_t value = 1;
    void *others[] = {&out, &value};
    ok(run(function("store"), 1, 1, two, others)); /* beside the one that spins */
    ok(cuStreamSynchronize(two));
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery(one));
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
    ok(cuStreamSynchronize(one));
    expect_words(out, 1, 101);
    ok(cuMemFreeHost(flag));
    ok(cuMemFree(out));
    ok(cuStreamDestroy(one));
    ok(cuStreamDestroy(two));
}

static void variables_have_addresses(void **state)
{
    (void)state;
    CUdeviceptr shift, table, base;
    size_t bytes, whole;
    uint32_t value = 1000, got[4];
    CUdeviceptr out = words(32, 0);
    void *arguments[] = {&out, &value};

    ok(cuModuleGetGlobal(&shift, &bytes, module, "shift"));
    assert_int_equal(bytes, 4);
    ok(cuModuleGetGlobal(&table, &bytes, module, "table"));
    assert_int_equal(bytes, 16);
    ok(cuMemGetAddressRange(&base, &whole, table + 8));
    assert_int_equal(base, table);
    ok(cuMemcpyDtoH(got, table, 16));
    assert_int_equal(got[3], 4);
    expect(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&shift, NULL, module, "absent"));
    ok(cuMemsetD32(shift, 1, 1));
    ok(run(function("store"), 1, 32, NULL, arguments));
    expect_words(out, 32, 1001);
    ok(cuMemsetD32(shift, 100, 1));
    ok(cuMemFree(out));
}

static void impossible_geometry_is_refused(void **state)
{
    (void)state;
    CUfunction store = function("store"), bounded = function("bounded");
    CUdeviceptr out = words(1, 0);
    uint32_t value = 1;
    void *arguments[] = {&out, &value};

    expect(CUDA_ERROR_INVALID_VALUE, run(store, 0, 1, NULL, arguments));
    expect(CUDA_ERROR_INVALID_VALUE, run(store, 1, 0, NULL, arguments));
    expect(CUDA_ERROR_INVALID_VALUE, run(store, 1, 1025, NULL, arguments));
    expect(CUDA_ERROR_INVALID_VALUE,
           cuLaunchKernel(store, 1, 65536, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    expect(CUDA_ERROR_INVALID_VALUE,
           cuLaunchKernel(store, 1, 1, 1, 32, 32, 2, 0, NULL, arguments, NULL));
    expect(CUDA_ERROR_INVALID_VALUE,
           cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 49 * 1024, NULL, arguments, NULL));
    expect(CUDA_ERROR_INVALID_VALUE, run(store, 1, 1, NULL, NULL));
    expect(CUDA_ERROR_INVALID_HANDLE, run((CUfunction)(uintptr_t)64, 1, 1, NULL, arguments));
    expect(CUDA_ERROR_INVALID_HANDLE, run(store, 1, 1, (CUstream)(uintptr_t)64, arguments));
    ok(run(bounded, 1, 64, NULL, arguments));
    expect(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, run(bounded, 1, 65, NULL, arguments));
    ok(cuCtxSynchronize());
    ok(cuMemFree(out));
}

static void dynamic_shared_memory_grows_by_attribute(void **state)
{
    (void)state;
    const unsigned bytes = 64 * 1024;
    CUfunction dynamic = function("dynamic");
    CUdeviceptr out = words(1, 0);
    uint32_t n = bytes / 4;
    void *arguments[] = {&out, &n};
    int value;

    ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic));
    assert_int_equal(value, 48 * 1024);
    expect(CUDA_ERROR_INVALID_VALUE,
           cuLaunchKernel(dynamic, 1, 1, 1, 1, 1, 1, bytes, NULL, arguments, NULL));
    expect(CUDA_ERROR_INVALID_VALUE,
           cuFuncSetAttribute(dynamic, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20));
    ok(cuFuncSetAttribute(dynamic, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes));
    ok(cuLaunchKernel(dynamic, 1, 1, 1, 1, 1, 1, bytes, NULL, arguments, NULL));
    expect_words(out, 1, n - 1);
    ok(cuMemFree(out));
}

static void a_launch_records_the_event_it_is_given(void **state)
{
    (void)state;
    CUfunction count = function("count");
    CUdeviceptr counter = words(1, 0);
    void *arguments[] = {&counter};
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT};
    CUlaunchConfig config = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 4,
                             .blockDimY = 1, .blockDimZ = 1, .attrs = &attribute, .numAttrs = 1};
    struct gate gate;

    expect(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernelEx(&config, count, arguments, NULL));
    ok(cuEventCreate(&attribute.value.launchCompletionEvent.event, CU_EVENT_DISABLE_TIMING));
    attribute.value.launchCompletionEvent.flags = CU_EVENT_RECORD_EXTERNAL;
    expect(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(&config, count, arguments, NULL));
    expect_words(counter, 1, 0);
    attribute.value.launchCompletionEvent.flags = 0;
    gate_close(&gate, NULL);
    ok(cuLaunchKernelEx(&config, count, arguments, NULL));
    CUevent event = attribute.value.launchCompletionEvent.event;
    expect(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    gate_open(&gate);
    ok(cuEventSynchronize(event));
    expect_words(counter, 1, 4);
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
    attribute.value.programmaticEvent.event = event;
    attribute.value.programmaticEvent.flags = 0;
    attribute.value.programmaticEvent.triggerAtBlockStart = 0;
    ok(cuLaunchKernelEx(&config, count, arguments, NULL));
    ok(cuEventSynchronize(event));
    expect_words(counter, 1, 8);
    ok(cuEventDestroy(event));
    ok(cuMemFree(counter));
}

/* What stands there for who does not wait for other streams. */
static uint32_t seen_by(CUstream stream, CUdeviceptr address)
{
    uint32_t word;
    ok(cuMemcpyDtoHAsync(&word, address, sizeof word, stream));
    ok(cuStreamSynchronize(stream));
    return word;
}

/* Kernels that let the one behind them begin early, and that ask for what the one ahead of them has
 * written. The first ends when somebody else has written to the flag. */
static const char dependent_ptx[] =
    PTX_HEADER
    ".visible .entry announcing(.param .u64 flag)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .u32 %r<2>;\n"
    "    .reg .u64 %rd<2>;\n"
    "    griddepcontrol.launch_dependents;\n"
    "    ld.param.u64 %rd1, [flag];\n"
    "AGAIN:\n"
    "    ld.volatile.global.u32 %r1, [%rd1];\n"
    "    setp.eq.u32 %p, %r1, 0;\n"
    "    @%p bra AGAIN;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry waiting(.param .u64 counter)\n"
    "{\n"
    "    .reg .u64 %rd<2>;\n"
    "    griddepcontrol.wait;\n"
    "    ld.param.u64 %rd1, [counter];\n"
    "    red.global.add.u32 [%rd1], 1;\n"
    "    ret;\n"
    "}\n";

static void a_dependent_launch_begins_where_the_kernel_ahead_lets_it(void **state)
{
    (void)state;
    CUdeviceptr flag = words(1, 0), counter = words(1, 0);
    void *on_flag[] = {&flag}, *on_counter[] = {&counter};
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
    CUlaunchConfig config = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1,
                             .blockDimY = 1, .blockDimZ = 1, .attrs = &attribute, .numAttrs = 1};
    CUmodule dependent;
    CUfunction announcing, waiting;
    CUstream other;

    ok(cuModuleLoadData(&dependent, dependent_ptx));
    ok(cuModuleGetFunction(&announcing, dependent, "announcing"));
    ok(cuModuleGetFunction(&waiting, dependent, "waiting"));
    ok(cuStreamCreate(&config.hStream, CU_STREAM_NON_BLOCKING));
    ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    attribute.value.programmaticStreamSerializationAllowed = 1;
    ok(run(announcing, 1, 1, config.hStream, on_flag));
    ok(cuLaunchKernelEx(&config, function("count"), on_flag, NULL)); /* nobody else ends it */
    ok(cuMemsetD32Async(flag, 0, 1, config.hStream));                /* after both */
    ok(cuStreamSynchronize(config.hStream));
    expect_words(flag, 1, 0);

    const struct {
        CUfunction ahead, behind;
        int allowed;
    } others[] = {{announcing, waiting, 1},
                  {announcing, function("count"), 0},
                  {function("spin"), function("count"), 1}};
    for (uint32_t i = 0; i < 3; i++) {
        attribute.value.programmaticStreamSerializationAllowed = others[i].allowed;
        ok(run(others[i].ahead, 1, 1, config.hStream, on_flag));
        ok(cuLaunchKernelEx(&config, others[i].behind, on_counter, NULL));
        assert_int_equal(seen_by(other, counter), i);
        ok(run(function("count"), 1, 1, other, on_flag));
        ok(cuMemsetD32Async(flag, 0, 1, config.hStream));
        ok(cuStreamSynchronize(config.hStream));
        expect_words(counter, 1, i + 1);
    }
    ok(cuStreamDestroy(config.hStream));
    ok(cuStreamDestroy(other));
    ok(cuModuleUnload(dependent));
    ok(cuMemFree(flag));
    ok(cuMemFree(counter));
}

static void launches_of_every_kind(void **state)
{
    (void)state;
    CUfunction count = function("count");
    CUdeviceptr counter = words(1, 0);
    void *arguments[] = {&counter};
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY};
    CUlaunchConfig config = {.gridDimX = 3, .gridDimY = 2, .gridDimZ = 1, .blockDimX = 4,
                             .blockDimY = 2, .blockDimZ = 2, .attrs = &attribute, .numAttrs = 1};

    ok(cuLaunchKernelEx(&config, count, arguments, NULL)); /* 96 */
    ok(cuLaunchCooperativeKernel(count, 2, 1, 1, 32, 1, 1, 0, NULL, arguments)); /* 64 */
    expect(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
           cuLaunchCooperativeKernel(count, 100000, 1, 1, 32, 1, 1, 0, NULL, arguments));
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = attribute.value.clusterDim.y = 1;
    attribute.value.clusterDim.z = 2;
    expect(CUDA_ERROR_NOT_SUPPORTED, cuLaunchKernelEx(&config, count, arguments, NULL));
    /* As in the first years: geometry and arguments are set one by one. */
    expect(CUDA_ERROR_INVALID_VALUE, cuLaunch(count));
    ok(cuFuncSetBlockShape(count, 8, 1, 1));
    ok(cuParamSetv(count, 0, &counter, sizeof counter));
    ok(cuParamSetSize(count, sizeof counter));
    ok(cuLaunch(count));                     /* 8 */
    ok(cuLaunchGrid(count, 2, 2));           /* 32 */
    ok(cuLaunchGridAsync(count, 1, 1, NULL)); /* 8 */
    expect_words(counter, 1, 96 + 64 + 8 + 32 + 8);
    ok(cuMemFree(counter));
}

static void functions_answer_questions(void **state)
{
    (void)state;
    const char *name;
    CUmodule owner;
    CUfunction store = function("store"), list[16], absent;
    unsigned count;
    int value, blocks, threads;

    assert_ptr_equal(store, function("store"));
    ok(cuFuncGetName(&name, store));
    assert_string_equal(name, "store");
    ok(cuFuncGetModule(&owner, store));
    assert_ptr_equal(owner, module);
    ok(cuModuleGetFunctionCount(&count, module));
    assert_int_equal(count, 9);
    ok(cuModuleEnumerateFunctions(list, count, module));
    assert_ptr_equal(list[0], store);
    ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function("bounded")));
    assert_int_equal(value, 64);
    ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, store));
    assert_int_equal(value, 1024);
    ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, store));
    assert_int_equal(value, 52);
    ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 256, 0));
    assert_int_equal(blocks, 8);
    ok(cuOccupancyMaxPotentialBlockSize(&blocks, &threads, store, NULL, 0, 0));
    assert_int_equal(threads, 1024);
    expect(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&absent, module, "absent"));
    expect(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction(&absent, (CUmodule)store, "store"));
}

static void bad_ptx_is_reported_where_it_is_bad(void **state)
{
    (void)state;
    static const char bad[] = PTX_HEADER ".visible .entry f()\n{\n    add.u32 %r1, ;\n}\n";
    char log[256] = "x";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_TARGET_FROM_CUCONTEXT};
    void *values[] = {log, (void *)(uintptr_t)sizeof log, NULL};
    CUmodule none;

    expect(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx(&none, bad, 3, options, values));
    unsigned line = 0, column = 0;
    if (sscanf(log, "%u:%u:", &line, &column) != 2 || line != 6)
        fail_msg("the log says: %s", log);
    assert_int_equal((uintptr_t)values[1], strlen(log));

    values[1] = (void *)(uintptr_t)8; /* a buffer that is too small for it */
    memset(log, 'x', sizeof log);
    expect(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx(&none, bad, 3, options, values));
    assert_int_equal(strlen(log), 7);

    values[1] = (void *)(uintptr_t)sizeof log;
    expect(CUDA_ERROR_INVALID_PTX,
           cuModuleLoadDataEx(&none,
                              ".version 7.8\n.target sm_90\n.address_size 64\n"
                              ".visible .entry f()\n{\nret;\n}\n",
                              3, options, values));
    assert_non_null(strstr(log, "sm_90"));
    expect(CUDA_ERROR_NO_BINARY_FOR_GPU,
           cuModuleLoadDataEx(&none, "\177ELF\2\1", 3, options, values));
    assert_non_null(strstr(log, "machine code"));
    expect(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadDataEx(&none, "nonsense", 3, options, values));
    expect(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&none, "/nonexistent/kernels.ptx"));
}

static void modules_come_from_files_and_go(void **state)
{
    (void)state;
    char path[] = "/tmp/reprise-test-XXXXXX";
    int file = mkstemp(path);
    size_t before, now;
    CUmodule loaded;
    CUfunction store;
    CUdeviceptr shift;

    assert_int_equal(write(file, kernels, sizeof kernels - 1), sizeof kernels - 1);
    close(file);
    ok(cuMemGetInfo(&before, NULL));
    ok(cuModuleLoad(&loaded, path));
    ok(cuModuleGetFunction(&store, loaded, "store"));
    ok(cuModuleGetGlobal(&shift, NULL, loaded, "shift"));
    ok(cuModuleUnload(loaded));
    expect(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(loaded));
    expect(CUDA_ERROR_INVALID_HANDLE, run(store, 1, 1, NULL, NULL));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(shift, 0, 1));
    ok(cuMemGetInfo(&now, NULL));
    assert_int_equal(before, now);
    unlink(path);
}

/* ---- faults: each in a context of its own ------------------------------------------ */

/* Runs `name` on `address` and gives what stderr got. */
static void fault(const char *name, CUdeviceptr address, CUresult result, char *text, size_t size)
{
    CUcontext own;
    CUmodule loaded;
    CUfunction kernel;
    CUdeviceptr other;
    void *arguments[] = {&address};
    int ends[2], saved = dup(STDERR_FILENO);

    ok(cuCtxCreate(&own, NULL, 0, 0));
    ok(cuMemAlloc(&other, 8));
    if (address == 0)
        address = other + 8; /* just past the end */
    else if (address == 1)
        address = other + 2; /* misaligned */
    ok(cuModuleLoadData(&loaded, kernels));
    ok(cuModuleGetFunction(&kernel, loaded, name));
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    ok(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    CUresult got = cuCtxSynchronize();
    dup2(saved, STDERR_FILENO);
    close(saved);
    ssize_t length = read(ends[0], text, size - 1);
    text[length > 0 ? length : 0] = '\0';
    close(ends[0]);
    assert_int_equal(got, result);
    /* The fault stays, for every call that needs the context. */
    uint32_t word;
    expect(result, cuMemcpyDtoH(&word, other, 4));
    expect(result, cuMemAlloc(&other, 4));
    expect(result, cuStreamSynchronize(NULL));
    expect(result, cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    ok(cuCtxDestroy(own));
    ok(cuMemAlloc(&other, 4)); /* the context below is well */
    ok(cuMemFree(other));
}

static void a_wild_write_faults_with_its_place(void **state)
{
    (void)state;
    char text[512];
    fault("poke", 0, CUDA_ERROR_ILLEGAL_ADDRESS, text, sizeof text);
    assert_non_null(
        strstr(text, "kernel poke, block (0,0,0), thread (0,0,0): illegal write at 0x"));
    fault("poke", 0xdead0000, CUDA_ERROR_ILLEGAL_ADDRESS, text, sizeof text);
    assert_non_null(strstr(text, "0xdead0000"));
    fault("odd", 0x1000000000, CUDA_ERROR_ILLEGAL_ADDRESS, text, sizeof text);
    assert_non_null(strstr(text, "illegal read at 0x1000000000"));
}

static void a_misaligned_access_faults(void **state)
{
    (void)state;
    char text[512];
    fault("odd", 1, CUDA_ERROR_MISALIGNED_ADDRESS, text, sizeof text);
    assert_non_null(strstr(text, "misaligned read"));
}

static void pageable_memory_is_out_of_reach_of_kernels(void **state)
{
    (void)state;
    static uint32_t word;
    char text[512];
    fault("poke", (CUdeviceptr)(uintptr_t)&word, CUDA_ERROR_ILLEGAL_ADDRESS, text, sizeof text);
    assert_int_equal(word, 0);
}

static void an_endless_kernel_times_out(void **state)
{
    (void)state;
    uint32_t *flag;
    char text[512];
    ok(cuMemHostAlloc((void **)&flag, 4, CU_MEMHOSTALLOC_PORTABLE));
    fault("spin", (CUdeviceptr)(uintptr_t)flag, CUDA_ERROR_LAUNCH_TIMEOUT, text, sizeof text);
    assert_non_null(strstr(text, "kernel spin"));
    assert_non_null(strstr(text, "timeout"));
    ok(cuMemFreeHost(flag));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_copied_in_the_call),
        cmocka_unit_test(parameters_of_all_sizes_arrive),
        cmocka_unit_test(a_launch_returns_before_the_kernel_ends),
        cmocka_unit_test(variables_have_addresses),
        cmocka_unit_test(impossible_geometry_is_refused),
        cmocka_unit_test(dynamic_shared_memory_grows_by_attribute),
        cmocka_unit_test(a_launch_records_the_event_it_is_given),
        cmocka_unit_test(a_dependent_launch_begins_where_the_kernel_ahead_lets_it),
        cmocka_unit_test(launches_of_every_kind),
        cmocka_unit_test(functions_answer_questions),
        cmocka_unit_test(bad_ptx_is_reported_where_it_is_bad),
        cmocka_unit_test(modules_come_from_files_and_go),
        cmocka_unit_test(a_wild_write_faults_with_its_place),
        cmocka_unit_test(a_misaligned_access_faults),
        cmocka_unit_test(pageable_memory_is_out_of_reach_of_kernels),
        cmocka_unit_test(an_endless_kernel_times_out),
    };
    setenv("REPRISE_SOFT_TIMEOUT", "2000", 1);
    return cmocka_run_group_tests(tests, module_up, context_down);
}
