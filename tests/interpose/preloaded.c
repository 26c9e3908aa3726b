/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/interpose/preloaded.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

soft_entry function_at(void *pointer)
{
    soft_entry function;
    memcpy(&function, &pointer, sizeof(function));
    return function;
}

soft_entry layer_function(const char *name)
{
    void *pointer = dlsym(RTLD_DEFAULT, name);
    assert_non_null(pointer);
    return function_at(pointer);
}

struct listener *the_listener(void)
{
    return ((listener_fn)layer_function("reprise_test_listener"))();
}

const char *the_driver_path(void)
{
    const char *path = getenv("REPRISE_DRIVER");
    assert_non_null(path);
    return path;
}

struct fake_state *the_fake(void)
{
    void *driver = dlopen(the_driver_path(), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(driver);
    void *state = dlsym(driver, "fake_state");
    assert_non_null(state);
    return ((fake_state_fn)function_at(state))();
}

void assert_object(void *pointer, const char *object)
{
    Dl_info info;
    assert_non_null(pointer);
    assert_int_not_equal(dladdr(pointer, &info), 0);
    const char *slash = strrchr(info.dli_fname, '/');
    assert_string_equal(slash != NULL ? slash + 1 : info.dli_fname, object);
}

void assert_wrapper(void *pointer, const char *name)
{
    Dl_info info;
    assert_object(pointer, "libreprise-listener.so");
    assert_int_not_equal(dladdr(pointer, &info), 0);
    assert_non_null(info.dli_sname);
    assert_string_equal(info.dli_sname, name);
}

void assert_hit(void *pointer, enum rp_call_id id)
{
    struct fake_state *fake = the_fake();
    struct listener *listener = the_listener();
    unsigned long driver = fake->counts[id], layer = listener->before[id];
    assert_wrapper(pointer, rp_calls[id].name);
    assert_int_equal(((CUresult(*)(void))function_at(pointer))(), FAKE_RESULT(id));
    assert_int_equal(fake->counts[id], driver + 1);
    assert_int_equal(listener->before[id], layer + 1);
}
