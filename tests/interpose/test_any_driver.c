/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold over any driver that knows its own names: the software device (suite soft)
 * or a GPU's (suite gpu; exit 77 where there is none). Prints what nothing documents. */
#include "tests/interpose/preloaded.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef CUresult (*resolver)(const char *base, void **pfn, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status);

static void *driver;
static resolver resolve;

/* The call whose wrapper is at `pointer`; fails for anything but a wrapper. */
static enum rp_call_id call_at(void *pointer)
{
    Dl_info info;
    assert_object(pointer, "libreprise-listener.so");
    assert_int_not_equal(dladdr(pointer, &info), 0);
    enum rp_call_id id = rp_call_find(info.dli_sname);
    assert_int_not_equal(id, RP_CALL_NONE);
    return id;
}

static void every_symbol_is_the_wrapper_or_missing(void **state)
{
    (void)state;
    int missing = 0;
    for (int id = 0; id < RP_CALL_COUNT; id++) {
        void *pointer = dlsym(driver, rp_calls[id].name);
        if (pointer != NULL)
            assert_int_equal(call_at(pointer), id);
        else
            missing++;
    }
    print_message("%d of %d calls are missing in this driver\n", missing, RP_CALL_COUNT);
    assert_true(missing < RP_CALL_COUNT / 4);
}

static void every_answer_is_a_wrapper_of_the_base_in_the_mode_asked_for(void **state)
{
    (void)state;
    int otherwise = 0;
    for (int row = 0; row < RP_CALL_COUNT; row++) {
        const struct rp_call_info *call = &rp_calls[row];
        for (cuuint64_t flags = 0; flags <= 2; flags++) {
            CUdriverProcAddressQueryResult status;
            void *pointer = NULL;
            CUresult result = resolve(call->base, &pointer, call->version, flags, &status);
            if (result != CUDA_SUCCESS || pointer == NULL)
                continue;
            const struct rp_call_info *found = &rp_calls[call_at(pointer)];
            enum rp_call_id table = rp_call_resolve(call->base, call->version, flags == 2);
            assert_string_equal(found->base, call->base);
            if (flags != 2)
                assert_int_equal(found->mode, RP_MODE_LEGACY);
            if (found != &rp_calls[table]) {
                print_message("%s at %d, flags %d: %s; the table says %s\n", call->base,
                              call->version, (int)flags, found->name, rp_calls[table].name);
                otherwise++;
            }
        }
    }
    print_message("%d answers differ from the table\n", otherwise);
}

static void nothing_that_the_table_knows_goes_unseen(void **state)
{
    (void)state;
    listener_unknown_fn unknown = (listener_unknown_fn)layer_function("reprise_test_unknown");
    for (size_t i = 0; unknown(i) != NULL; i++)
        assert_false(rp_call_base_known(unknown(i)) || rp_call_find(unknown(i)) != RP_CALL_NONE);
}

static void the_driver_answers_through_the_wrapper(void **state)
{
    (void)state;
    int version = 0;
    CUresult (*get_version)(int *) = (CUresult(*)(int *))function_at(
        dlsym(driver, "cuDriverGetVersion"));
    unsigned long heard = the_listener()->after[RP_CALL_cuDriverGetVersion];
    assert_int_equal(get_version(&version), CUDA_SUCCESS);
    assert_true(version >= 11000);
    assert_int_equal(the_listener()->after[RP_CALL_cuDriverGetVersion], heard + 1);
}

static int open_driver(void **state)
{
    (void)state;
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *pointer = driver != NULL ? dlsym(driver, "cuGetProcAddress_v2") : NULL;
    if (pointer == NULL)
        return -1;
    resolve = (resolver)function_at(pointer);
    return 0;
}

static bool is_there_a_driver(void)
{
    int version;
    CUresult (*get_version)(int *) =
        (CUresult(*)(int *))layer_function("cuDriverGetVersion");
    return get_version(&version) == CUDA_SUCCESS; /* a stub library is no driver */
}

int main(int argc, char **argv)
{
    bool required = argc > 1 && strcmp(argv[1], "required") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_symbol_is_the_wrapper_or_missing),
        cmocka_unit_test(every_answer_is_a_wrapper_of_the_base_in_the_mode_asked_for),
        cmocka_unit_test(nothing_that_the_table_knows_goes_unseen),
        cmocka_unit_test(the_driver_answers_through_the_wrapper),
    };
    if (!is_there_a_driver())
        return required ? 1 : 77;
    return cmocka_run_group_tests(tests, open_driver, NULL);
}
