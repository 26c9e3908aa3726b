/* SPDX-License-Identifier: Apache-2.0 */
/* Every way from a name to a driver function, one test each: the wrapper is reached, the
 * driver after it, and whatever is not the driver's is left alone. */
#include "tests/interpose/preloaded.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* A call without arguments that nothing else in here uses. */
#define CALL cuCtxResetPersistingL2Cache
#define CALL_NAME "cuCtxResetPersistingL2Cache"
#define CALL_ID RP_CALL_cuCtxResetPersistingL2Cache

static void *open_or_fail(const char *path, int flags)
{
    void *handle = dlopen(path, flags);
    if (handle == NULL)
        print_error("%s\n", dlerror());
    assert_non_null(handle);
    return handle;
}

static void assert_unknown(void *found, const char *name)
{
    assert_null(found);
    const char *message = dlerror();
    assert_non_null(message);
    assert_non_null(strstr(message, name));
    assert_null(dlerror());
}

static void a_linked_program_hits(void **state)
{
    (void)state;
    void *pointer;
    CUresult (*function)(void) = CALL;
    memcpy(&pointer, &function, sizeof(pointer));
    assert_hit(pointer, CALL_ID);
}

static void a_deepbind_library_hits(void **state)
{
    (void)state;
    if (dlsym(RTLD_DEFAULT, "__asan_init") != NULL) {
        print_message("AddressSanitizer refuses RTLD_DEEPBIND\n");
        skip();
    }
    unsigned long before = the_listener()->before[CALL_ID];
    void *rider = open_or_fail(RIDER, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    CUresult (*call)(void) = (CUresult(*)(void))function_at(dlsym(rider, "rider_call"));
    assert_int_equal(call(), FAKE_RESULT(CALL_ID));
    assert_int_equal(the_listener()->before[CALL_ID], before + 1);
}

static void dlopen_by_name_and_dlsym_hits(void **state)
{
    (void)state;
    void *driver = open_or_fail("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_hit(dlsym(driver, CALL_NAME), CALL_ID);
}

static void dlopen_by_absolute_path_and_dlsym_hits(void **state)
{
    (void)state;
    void *driver = open_or_fail(the_driver_path(), RTLD_NOW | RTLD_LOCAL);
    assert_hit(dlsym(driver, CALL_NAME), CALL_ID);
}

static void a_driver_in_another_namespace_hits(void **state)
{
    (void)state;
    void *driver = dlmopen(LM_ID_NEWLM, the_driver_path(), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(driver);
    assert_hit(dlsym(driver, CALL_NAME), CALL_ID);
}

static void the_default_and_main_handles_hit(void **state)
{
    (void)state;
    assert_hit(dlsym(RTLD_DEFAULT, CALL_NAME), CALL_ID);
    assert_hit(dlsym(open_or_fail(NULL, RTLD_NOW), CALL_NAME), CALL_ID);
}

/* The fake's symbols bear no version. As for any driver's, such a look-up finds nothing: the
 * layer must not find more. */
static void dlvsym_finds_what_the_driver_would_answer(void **state)
{
    (void)state;
    void *by_name = open_or_fail("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *by_path = open_or_fail(the_driver_path(), RTLD_NOW | RTLD_LOCAL);
    assert_unknown(dlvsym(by_name, CALL_NAME, "FAKE_1"), CALL_NAME);
    assert_unknown(dlvsym(by_path, CALL_NAME, "FAKE_1"), CALL_NAME);
}

static void every_symbol_leads_to_its_own_wrapper(void **state)
{
    (void)state;
    void *by_name = open_or_fail("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *by_path = open_or_fail(the_driver_path(), RTLD_NOW | RTLD_LOCAL);
    for (int id = 0; id < RP_CALL_COUNT; id++) {
        assert_wrapper(dlsym(by_name, rp_calls[id].name), rp_calls[id].name);
        assert_wrapper(dlsym(by_path, rp_calls[id].name), rp_calls[id].name);
    }
}

static void a_missing_symbol_is_null_with_the_usual_message(void **state)
{
    (void)state;
    void *by_name = open_or_fail("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *by_path = open_or_fail(the_driver_path(), RTLD_NOW | RTLD_LOCAL);
    assert_unknown(dlsym(by_name, "cuNoSuchCall"), "cuNoSuchCall");
    assert_unknown(dlsym(by_path, "cuNoSuchCall"), "cuNoSuchCall");
    assert_unknown(dlsym(open_or_fail(RIDER, RTLD_NOW), "cuLaunchKernelX"), "cuLaunchKernelX");
}

static void a_driver_function_that_the_table_lacks_is_the_drivers(void **state)
{
    (void)state;
    void *by_name = open_or_fail("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *by_path = open_or_fail(the_driver_path(), RTLD_NOW | RTLD_LOCAL);
    listener_lookups_fn lookups = (listener_lookups_fn)layer_function("reprise_test_lookups");
    uint64_t unknown = lookups().unknown;
    assert_object(dlsym(by_name, "cuBrandNew"), "libcuda.so.1");
    assert_ptr_equal(dlsym(by_name, "cuBrandNew"), dlsym(by_path, "cuBrandNew"));
    assert_int_equal(lookups().unknown, unknown + 3);
}

static void whatever_else_the_driver_has_is_found(void **state)
{
    (void)state;
    void *by_name = open_or_fail("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_object(dlsym(by_name, "fake_state"), "libcuda.so.1");
    assert_object(dlsym(by_name, "reprise_test_listener"), "libreprise-listener.so");
    assert_ptr_equal(dlsym(by_name, "printf"), dlsym(RTLD_DEFAULT, "printf"));
    assert_unknown(dlsym(by_name, "no_such_thing"), "no_such_thing");
}

static void names_of_other_libraries_stay(void **state)
{
    (void)state;
    static const char *const names[] = {"cuMemAllocManaged", "cudnnCreate", "cublasCreate_v2",
                                        "curl_easy_init", "bystander_name"};
    void *first = open_or_fail(FIRST, RTLD_NOW);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_object(dlsym(first, names[i]), "libbystander-first.so");
}

/* What RTLD_NEXT means depends on who asks. */
void *first_next(const char *name);
void *first_default(const char *name);
void *second_next(const char *name);

static void rtld_next_starts_after_the_true_caller(void **state)
{
    (void)state;
    assert_object(dlsym(RTLD_DEFAULT, "bystander_name"), "libbystander-first.so");
    assert_object(first_next("bystander_name"), "libbystander-second.so");
    assert_unknown(second_next("bystander_name"), "bystander_name");
    assert_object(first_next("cuMemAllocManaged"), "libbystander-second.so");
    assert_wrapper(first_default(CALL_NAME), CALL_NAME);
}

static void rtld_default_sees_what_the_true_caller_sees(void **state)
{
    (void)state;
    void *library = open_or_fail(ASKER, RTLD_NOW | RTLD_LOCAL);
    void *(*asker)(const char *) =
        (void *(*)(const char *))function_at(dlsym(library, "asker_default"));
    assert_null(dlsym(RTLD_DEFAULT, "secret_value"));
    assert_object(asker("secret_value"), "libsecret.so");
}

static void the_driver_finds_its_own_symbols(void **state)
{
    (void)state;
    assert_int_equal(cuInit(0), FAKE_RESULT(RP_CALL_cuInit));
    assert_int_equal(the_fake()->internal_lookups, 2);
    assert_true(the_fake()->found_itself);
}

/* The first thing that happens here: a driver call, before anyone has opened the driver. */
static int first_call(void **state)
{
    (void)state;
    return cuProfilerStart() == FAKE_RESULT(RP_CALL_cuProfilerStart) ? 0 : -1;
}

static void the_driver_may_call_itself_while_it_is_opened(void **state)
{
    (void)state;
    assert_int_equal(the_fake()->constructor_result, CUDA_ERROR_NO_DEVICE);
    assert_int_equal(the_listener()->starts, 1);
    assert_int_equal(the_listener()->life_at_start, RP_LIFE_INITIALISING);
}

static void lookups_are_counted_by_route(void **state)
{
    (void)state;
    listener_lookups_fn lookups = (listener_lookups_fn)layer_function("reprise_test_lookups");
    struct rp_lookup_counts before = lookups();
    void *driver = open_or_fail("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    dlsym(driver, CALL_NAME);
    dlsym(driver, "cuNoSuchCall");
    dlsym(RTLD_DEFAULT, "printf");
    struct rp_lookup_counts after = lookups();
    assert_int_equal(after.by_dlsym, before.by_dlsym + 1);
    assert_int_equal(after.by_dlvsym, before.by_dlvsym);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_linked_program_hits),
        cmocka_unit_test(a_deepbind_library_hits),
        cmocka_unit_test(dlopen_by_name_and_dlsym_hits),
        cmocka_unit_test(dlopen_by_absolute_path_and_dlsym_hits),
        cmocka_unit_test(a_driver_in_another_namespace_hits),
        cmocka_unit_test(the_default_and_main_handles_hit),
        cmocka_unit_test(dlvsym_finds_what_the_driver_would_answer),
        cmocka_unit_test(every_symbol_leads_to_its_own_wrapper),
        cmocka_unit_test(a_missing_symbol_is_null_with_the_usual_message),
        cmocka_unit_test(a_driver_function_that_the_table_lacks_is_the_drivers),
        cmocka_unit_test(whatever_else_the_driver_has_is_found),
        cmocka_unit_test(names_of_other_libraries_stay),
        cmocka_unit_test(rtld_next_starts_after_the_true_caller),
        cmocka_unit_test(rtld_default_sees_what_the_true_caller_sees),
        cmocka_unit_test(the_driver_finds_its_own_symbols),
        cmocka_unit_test(the_driver_may_call_itself_while_it_is_opened),
        cmocka_unit_test(lookups_are_counted_by_route),
    };
    return cmocka_run_group_tests(tests, first_call, NULL);
}
