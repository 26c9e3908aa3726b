/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/calls/calls.h"
#include "tests/tracker/check.h"

#include <limits.h>
#include <string.h>

static void every_symbol_is_found_by_name(void **state)
{
    (void)state;
    assert_int_equal(RP_CALL_COUNT, 637);
    for (int id = 0; id < RP_CALL_COUNT; id++)
        assert_int_equal(rp_call_find(rp_calls[id].name), id);
}

static void a_name_that_is_no_symbol_is_not_found(void **state)
{
    (void)state;
    static const char *const names[] = {"", "c", "cu", "cuMemAlloc_v", "cuMemAlloc_v22", "cuZzz",
                                        "cudnnCreate", "cublasCreate_v2", "curl_easy_init", "a"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(rp_call_find(names[i]), RP_CALL_NONE);
}

/* The youngest symbol of the same base and mode that `version` already knows. */
static enum rp_call_id expected(const char *base, int version, bool per_thread)
{
    enum rp_call_id best = RP_CALL_NONE;
    for (int id = 0; id < RP_CALL_COUNT; id++) {
        const struct rp_call_info *call = &rp_calls[id];
        bool own = call->mode != RP_MODE_LEGACY;
        if (strcmp(call->base, base) == 0 && own == per_thread && call->version <= version
            && (best == RP_CALL_NONE || call->version > rp_calls[best].version))
            best = (enum rp_call_id)id;
    }
    return best == RP_CALL_NONE && per_thread ? expected(base, version, false) : best;
}

static void a_base_means_the_youngest_symbol_of_its_version_and_mode(void **state)
{
    (void)state;
    for (int id = 0; id < RP_CALL_COUNT; id++) {
        const struct rp_call_info *call = &rp_calls[id];
        bool own = call->mode != RP_MODE_LEGACY;
        assert_int_equal(rp_call_resolve(call->base, call->version, own), id);
        for (int step = -1; step <= 10000; step += 1000) {
            int version = call->version + step;
            assert_int_equal(rp_call_resolve(call->base, version, false),
                             expected(call->base, version, false));
            assert_int_equal(rp_call_resolve(call->base, version, true),
                             expected(call->base, version, true));
        }
    }
}

static void known_traps_resolve_as_the_toolkit_says(void **state)
{
    (void)state;
    assert_int_equal(rp_call_resolve("cuMemAlloc", 2000, false), RP_CALL_cuMemAlloc);
    assert_int_equal(rp_call_resolve("cuMemAlloc", 12000, false), RP_CALL_cuMemAlloc_v2);
    assert_int_equal(rp_call_resolve("cuCtxGetDevice", 12090, false), RP_CALL_cuCtxGetDevice);
    assert_int_equal(rp_call_resolve("cuCtxGetDevice", 13000, false), RP_CALL_cuCtxGetDevice_v2);
    assert_int_equal(rp_call_resolve("cuGetProcAddress", 11030, false), RP_CALL_cuGetProcAddress);
    assert_int_equal(rp_call_resolve("cuGetProcAddress", 12000, true),
                     RP_CALL_cuGetProcAddress_v2);
    assert_int_equal(rp_call_resolve("cuMemcpyHtoD", 6050, true), RP_CALL_cuMemcpyHtoD_v2);
    assert_int_equal(rp_call_resolve("cuMemcpyHtoD", 7000, true), RP_CALL_cuMemcpyHtoD_v2_ptds);
    assert_int_equal(rp_call_resolve("cuStreamCreate", 13000, true), RP_CALL_cuStreamCreate);
    assert_int_equal(rp_call_resolve("cuLogsCurrent", 12080, false), RP_CALL_NONE);
    assert_int_equal(rp_call_resolve("cuMemAlloc_v2", INT_MAX, false), RP_CALL_NONE);
    assert_int_equal(rp_call_resolve("cudnnCreate", INT_MAX, false), RP_CALL_NONE);
    assert_true(rp_call_base_known("cuMemAlloc"));
    assert_false(rp_call_base_known("cuMemAllo"));
    assert_false(rp_call_base_known("cuMemAlloc_v2"));
}

static size_t natural_size(const struct rp_arg_info *arg)
{
    switch ((enum rp_arg_kind)arg->kind) {
    case RP_ARG_ENUM:
    case RP_ARG_FLOAT:
        return 4;
    case RP_ARG_SIZE:
    case RP_ARG_HANDLE:
    case RP_ARG_STREAM:
    case RP_ARG_TEXT:
    case RP_ARG_POINTER:
    case RP_ARG_FUNCTION:
        return 8;
    case RP_ARG_UINT:
    case RP_ARG_SINT:
    case RP_ARG_ADDRESS:
    case RP_ARG_STRUCT:
        return arg->size;
    }
    return 0;
}

static void arguments_lie_in_order_inside_their_structure(void **state)
{
    (void)state;
    for (int id = 0; id < RP_CALL_COUNT; id++) {
        const struct rp_call_info *call = &rp_calls[id];
        size_t end = 0;
        for (int i = 0; i < call->arg_count; i++) {
            const struct rp_arg_info *arg = &call->args[i];
            assert_true(arg->offset >= end);
            assert_int_equal(arg->size, natural_size(arg));
            assert_true(!arg->out || (arg->kind == RP_ARG_POINTER && arg->value_size > 0));
            end = arg->offset + arg->size;
        }
        assert_true(end <= call->args_size);
        if (call->stream_arg >= 0)
            assert_int_equal(call->args[call->stream_arg].kind, RP_ARG_STREAM);
    }
}

static void rows_say_what_arguments_mean(void **state)
{
    (void)state;
    const struct rp_call_info *launch = &rp_calls[RP_CALL_cuLaunchKernel];
    assert_int_equal(launch->arg_count, 11);
    assert_string_equal(launch->args[launch->stream_arg].name, "hStream");
    assert_int_equal(launch->args_size, sizeof(struct rp_args_cuLaunchKernel));

    const struct rp_arg_info *dptr = &rp_calls[RP_CALL_cuMemAlloc_v2].args[0];
    assert_true(dptr->out);
    assert_int_equal(dptr->value_kind, RP_ARG_ADDRESS);
    assert_int_equal(dptr->value_size, 8);
    assert_int_equal(rp_calls[RP_CALL_cuMemAlloc].args[0].value_size, 4);
    assert_int_equal(rp_calls[RP_CALL_cuMemAlloc].args[1].size, 4);

    const struct rp_arg_info *location = &rp_calls[RP_CALL_cuMemPrefetchAsync_v2].args[2];
    assert_int_equal(location->kind, RP_ARG_STRUCT);
    assert_int_equal(location->size, sizeof(CUmemLocation));
    assert_int_equal(rp_calls[RP_CALL_cuMemPrefetchAsync].args[2].kind, RP_ARG_SINT);
    assert_false(rp_calls[RP_CALL_cuMemcpyBatchAsync_v2].args[0].out);
}

static void classes_nest(void **state)
{
    (void)state;
    assert_true(rp_call_in_class(RP_CALL_cuMemsetD8_v2, "write"));
    assert_true(rp_call_in_class(RP_CALL_cuMemsetD8_v2, "write.memset"));
    assert_false(rp_call_in_class(RP_CALL_cuMemsetD8_v2, "writ"));
    assert_false(rp_call_in_class(RP_CALL_cuMemsetD8_v2, "write.memset.more"));
    assert_true(rp_call_in_class(RP_CALL_cuLaunchKernelEx_ptsz, "launch.kernel"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_symbol_is_found_by_name),
        cmocka_unit_test(a_name_that_is_no_symbol_is_not_found),
        cmocka_unit_test(a_base_means_the_youngest_symbol_of_its_version_and_mode),
        cmocka_unit_test(known_traps_resolve_as_the_toolkit_says),
        cmocka_unit_test(arguments_lie_in_order_inside_their_structure),
        cmocka_unit_test(rows_say_what_arguments_mean),
        cmocka_unit_test(classes_nest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
