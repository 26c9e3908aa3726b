/* SPDX-License-Identifier: Apache-2.0 */
/* A driver older than the call table, with versioned symbols. This program is not linked
 * against a driver at all. */
#include "tests/interpose/preloaded.h"

#include <dlfcn.h>
#include <string.h>

static const char *const lacking[] = {"cuGetProcAddress_v2", "cuLogsCurrent", "cuMemAdvise_v2"};

static void *open_by_name(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(driver);
    return driver;
}

static void what_the_driver_lacks_is_not_found(void **state)
{
    (void)state;
    void *driver = open_by_name();
    for (size_t i = 0; i < sizeof(lacking) / sizeof(lacking[0]); i++) {
        assert_null(dlsym(driver, lacking[i]));
        assert_non_null(strstr(dlerror(), lacking[i]));
    }
    assert_hit(dlsym(driver, "cuProfilerStart"), RP_CALL_cuProfilerStart);
}

static void called_all_the_same_it_says_that_the_driver_is_old(void **state)
{
    (void)state;
    CUresult (*call)(void *, unsigned int) =
        (CUresult(*)(void *, unsigned int))layer_function("cuLogsCurrent");
    assert_int_equal(call(NULL, 0), CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
}

static void dlvsym_hits_by_name_and_by_path(void **state)
{
    (void)state;
    void *by_path = dlopen(the_driver_path(), RTLD_NOW | RTLD_LOCAL);
    assert_hit(dlvsym(open_by_name(), "cuProfilerStop", "FAKE_1"), RP_CALL_cuProfilerStop);
    assert_hit(dlvsym(by_path, "cuProfilerStop", "FAKE_1"), RP_CALL_cuProfilerStop);
    assert_null(dlvsym(by_path, "cuProfilerStop", "FAKE_2"));
    assert_non_null(strstr(dlerror(), "FAKE_2"));
    assert_null(dlvsym(open_by_name(), "cuProfilerStop", "FAKE_2"));
    assert_non_null(strstr(dlerror(), "FAKE_2"));
}

static void dlvsym_of_others_is_untouched(void **state)
{
    (void)state;
    void *plain = dlsym(RTLD_DEFAULT, "getenv");
    Dl_info info;
    assert_int_not_equal(dladdr(plain, &info), 0);
#ifdef __x86_64__
    assert_ptr_equal(dlvsym(RTLD_DEFAULT, "getenv", "GLIBC_2.2.5"), plain);
#endif
    assert_null(dlvsym(RTLD_DEFAULT, "getenv", "GLIBC_0.1"));
}

typedef CUresult (*resolver)(const char *base, void **pfn, int version, cuuint64_t flags);

static resolver the_resolver(void)
{
    return (resolver)function_at(dlsym(open_by_name(), "cuGetProcAddress"));
}

static void symbols_that_share_a_function_keep_their_names(void **state)
{
    (void)state;
    static const char *const names[] = {"cuCtxDestroy", "cuCtxDestroy_v2"};
    static const int versions[] = {2000, 11050};
    for (int i = 0; i < 2; i++) {
        void *pointer = NULL;
        assert_wrapper(dlsym(open_by_name(), names[i]), names[i]);
        assert_int_equal(the_resolver()("cuCtxDestroy", &pointer, versions[i], 0), CUDA_SUCCESS);
        assert_wrapper(pointer, names[i]);
    }
}

static void the_first_resolver_serves_alone(void **state)
{
    (void)state;
    void *pointer = NULL;
    resolver resolve = the_resolver();
    assert_int_equal(resolve("cuMemAlloc", &pointer, 11050, 0), CUDA_SUCCESS);
    assert_wrapper(pointer, "cuMemAlloc_v2");
    assert_int_equal(resolve("cuMemcpyHtoD", &pointer, 11050, 2), CUDA_SUCCESS);
    assert_wrapper(pointer, "cuMemcpyHtoD_v2_ptds");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_driver_lacks_is_not_found),
        cmocka_unit_test(called_all_the_same_it_says_that_the_driver_is_old),
        cmocka_unit_test(dlvsym_hits_by_name_and_by_path),
        cmocka_unit_test(dlvsym_of_others_is_untouched),
        cmocka_unit_test(symbols_that_share_a_function_keep_their_names),
        cmocka_unit_test(the_first_resolver_serves_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
