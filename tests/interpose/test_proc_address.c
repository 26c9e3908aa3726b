/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetProcAddress in both forms: every row of the call table, at its own version, at those
 * between it and the next, and in both stream modes. Run twice: over a driver that hands out
 * what it exports, and (FAKE_THUNKS) over one that does not. */
#include "tests/interpose/preloaded.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static CUresult first_form(const char *base, int version, cuuint64_t flags, void **pointer)
{
    *pointer = NULL;
    return cuGetProcAddress(base, pointer, version, flags);
}

static CUresult second_form(const char *base, int version, cuuint64_t flags, void **pointer)
{
    CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)-1;
    *pointer = NULL;
    CUresult result = cuGetProcAddress_v2(base, pointer, version, flags, &status);
    assert_int_equal(status, result == CUDA_SUCCESS ? CU_GET_PROC_ADDRESS_SUCCESS
                             : rp_call_base_known(base)
                                 ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                 : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    return result;
}

/* The fake takes cuCtxGetDevice at any version for the first one. Whoever hands out what it
 * exports is believed; otherwise there is only the table to go by. */
static enum rp_call_id expected(const char *base, int version, cuuint64_t flags)
{
    enum rp_call_id id =
        rp_call_resolve(base, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    bool disputed = id == RP_CALL_cuCtxGetDevice_v2 && getenv("FAKE_THUNKS") == NULL;
    return disputed ? RP_CALL_cuCtxGetDevice : id;
}

static void assert_answer(const char *base, int version, cuuint64_t flags)
{
    void *pointer;
    enum rp_call_id want = expected(base, version, flags);
    if (want == RP_CALL_NONE) {
        assert_int_equal(first_form(base, version, flags, &pointer), CUDA_ERROR_NOT_FOUND);
        assert_null(pointer);
        assert_int_equal(second_form(base, version, flags, &pointer), CUDA_ERROR_NOT_FOUND);
        assert_null(pointer);
        return;
    }
    assert_int_equal(first_form(base, version, flags, &pointer), CUDA_SUCCESS);
    assert_wrapper(pointer, rp_calls[want].name);
    assert_int_equal(second_form(base, version, flags, &pointer), CUDA_SUCCESS);
    assert_wrapper(pointer, rp_calls[want].name);
}

static void every_row_is_answered_at_the_callers_version_and_mode(void **state)
{
    (void)state;
    for (int id = 0; id < RP_CALL_COUNT; id++) {
        const struct rp_call_info *call = &rp_calls[id];
        for (cuuint64_t flags = 0; flags <= 2; flags++) {
            assert_answer(call->base, call->version - 10, flags);
            assert_answer(call->base, call->version, flags);
            assert_answer(call->base, call->version + 10, flags);
            assert_answer(call->base, INT_MAX, flags);
        }
    }
}

static void the_resolver_resolves_to_ourselves(void **state)
{
    (void)state;
    void *pointer;
    assert_int_equal(second_form("cuGetProcAddress", 12000, 0, &pointer), CUDA_SUCCESS);
    assert_wrapper(pointer, "cuGetProcAddress_v2");
    assert_int_equal(second_form("cuGetProcAddress", 11030, 0, &pointer), CUDA_SUCCESS);
    assert_wrapper(pointer, "cuGetProcAddress");

    /* And from there on, as the runtime does it: found by dlsym, asked for the rest. */
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    CUresult (*resolve)(const char *, void **, int, cuuint64_t) =
        (CUresult(*)(const char *, void **, int, cuuint64_t))function_at(
            dlsym(driver, "cuGetProcAddress"));
    assert_int_equal(resolve("cuLaunchKernel", &pointer, 7000, 2), CUDA_SUCCESS);
    assert_wrapper(pointer, "cuLaunchKernel_ptsz");
}

static void a_null_status_is_fine(void **state)
{
    (void)state;
    void *pointer = NULL;
    assert_int_equal(cuGetProcAddress_v2("cuInit", &pointer, 12000, 0, NULL), CUDA_SUCCESS);
    assert_wrapper(pointer, "cuInit");
}

static void what_the_table_lacks_stays_as_it_is_and_is_counted(void **state)
{
    (void)state;
    void *pointer;
    listener_lookups_fn lookups = (listener_lookups_fn)layer_function("reprise_test_lookups");
    listener_unknown_fn unknown = (listener_unknown_fn)layer_function("reprise_test_unknown");
    uint64_t before = lookups().unknown;
    assert_int_equal(cuGetProcAddress_v2("cuBrandNew", &pointer, 13000, 0, NULL), CUDA_SUCCESS);
    assert_object(pointer, "libcuda.so.1");
    assert_int_equal(lookups().unknown, before + 1);
    assert_string_equal(unknown(0), "cuBrandNew");
    assert_null(unknown(1));
}

static void what_does_not_exist_stays_unknown(void **state)
{
    (void)state;
    void *pointer;
    assert_int_equal(second_form("cudnnCreate", 13000, 0, &pointer), CUDA_ERROR_NOT_FOUND);
    assert_null(pointer);
    assert_int_equal(second_form("cuMemAlloc_v2", 13000, 0, &pointer), CUDA_ERROR_NOT_FOUND);
    assert_null(pointer);
}

static void the_drivers_answer_counts_before_the_table(void **state)
{
    (void)state;
    void *pointer;
    assert_int_equal(second_form("cuCtxGetDevice", 13000, 0, &pointer), CUDA_SUCCESS);
    assert_wrapper(pointer,
                   getenv("FAKE_THUNKS") == NULL ? "cuCtxGetDevice" : "cuCtxGetDevice_v2");
}

static void the_driver_was_of_the_kind_meant(void **state)
{
    (void)state;
    assert_int_equal(the_fake()->hand_out_thunks, getenv("FAKE_THUNKS") != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_answered_at_the_callers_version_and_mode),
        cmocka_unit_test(the_resolver_resolves_to_ourselves),
        cmocka_unit_test(a_null_status_is_fine),
        cmocka_unit_test(what_the_table_lacks_stays_as_it_is_and_is_counted),
        cmocka_unit_test(what_does_not_exist_stays_unknown),
        cmocka_unit_test(the_drivers_answer_counts_before_the_table),
        cmocka_unit_test(the_driver_was_of_the_kind_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
