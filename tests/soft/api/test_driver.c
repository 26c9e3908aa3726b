/* SPDX-License-Identifier: Apache-2.0 */
/* The driver as a whole: before cuInit, devices, contexts, finding calls, fork and exit. */
#include "tests/soft/api/child.h"
#include "tests/soft/api/soft_test.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void nothing_works_before_initialisation(void **state)
{
    (void)state;
    int number, count;
    size_t bytes;
    CUdeviceptr address;
    CUcontext context;
    void *pointer;

    ok(cuDriverGetVersion(&number));
    assert_int_equal(number, 13000);
    ok(cuGetProcAddress("cuInit", &pointer, 13000, 0, NULL));
    assert_non_null(pointer);
    expect(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
    expect(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGet(&number, 0));
    expect(CUDA_ERROR_NOT_INITIALIZED, cuCtxGetCurrent(&context));
    expect(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&address, 4));
    expect(CUDA_ERROR_NOT_INITIALIZED, cuMemGetInfo(&bytes, &bytes));
    expect(CUDA_ERROR_NOT_INITIALIZED, cuCtxSynchronize());
    expect(CUDA_ERROR_NOT_INITIALIZED, cuStreamSynchronize(NULL));
    expect(CUDA_ERROR_NOT_INITIALIZED, cuTexRefCreate(NULL)); /* one that is not there */
    expect(CUDA_ERROR_INVALID_VALUE, cuInit(1));
    ok(cuInit(0));
    ok(cuInit(0));
    ok(cuDeviceGetCount(&count));
    assert_int_equal(count, 2);
}

static void devices_answer_what_clients_ask(void **state)
{
    (void)state;
    char name[64], bus[16];
    int major, minor, value;
    size_t total;
    CUdevice device;
    CUuuid first, second;

    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 2));
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, -1));
    ok(cuDeviceGet(&device, 1));
    ok(cuDeviceGetName(name, sizeof name, device));
    assert_string_equal(name, "reprise software device");
    ok(cuDeviceGetName(name, 8, device));
    assert_string_equal(name, "reprise");
    ok(cuDeviceComputeCapability(&major, &minor, device));
    assert_int_equal(10 * major + minor, 75);
    ok(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    assert_int_equal(value, 7);
    ok(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
    assert_int_equal(value, 32);
    ok(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device));
    assert_int_equal(value, 64 * 1024);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&value, 0, device));
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&value, 4000, device));
    ok(cuDeviceTotalMem(&total, device));
    assert_int_equal(total, 32 << 20);
    ok(cuDeviceGetUuid(&first, 0));
    ok(cuDeviceGetUuid(&second, 1));
    assert_memory_not_equal(&first, &second, sizeof first);
    ok(cuDeviceGetPCIBusId(bus, sizeof bus, 1));
    ok(cuDeviceGetByPCIBusId(&device, bus));
    assert_int_equal(device, 1);
    ok(cuDeviceCanAccessPeer(&value, 0, 1));
    assert_int_equal(value, 1);
    ok(cuDeviceCanAccessPeer(&value, 1, 1));
    assert_int_equal(value, 0);
}

static void errors_have_names(void **state)
{
    (void)state;
    const char *text = NULL;
    ok(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    assert_string_equal(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    ok(cuGetErrorString(CUDA_SUCCESS, &text));
    assert_string_equal(text, "no error");
    expect(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)4242, &text));
    assert_null(text);
}

static CUcontext current(void)
{
    CUcontext context = (CUcontext)1;
    ok(cuCtxGetCurrent(&context));
    return context;
}

static void contexts_stack_up(void **state)
{
    (void)state;
    CUcontext a, b, popped;
    CUdevice device;

    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice(&device));
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
    assert_null(current());
    ok(cuCtxCreate(&a, NULL, 0, 0));
    ok(cuCtxCreate(&b, NULL, CU_CTX_SCHED_BLOCKING_SYNC, 1));
    assert_ptr_equal(current(), b);
    ok(cuCtxGetDevice(&device));
    assert_int_equal(device, 1);
    ok(cuCtxPopCurrent(&popped));
    assert_ptr_equal(popped, b);
    assert_ptr_equal(current(), a);
    ok(cuCtxPushCurrent(b));
    ok(cuCtxDestroy(a)); /* not on top */
    expect(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxDestroy(a));
    ok(cuCtxDestroy(b)); /* on top: popped */
    assert_ptr_equal(current(), a);
    CUdeviceptr address;
    expect(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&address, 4));
    ok(cuCtxSetCurrent(NULL));
    assert_null(current());
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent(&popped));
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent((CUcontext)0x1234));
}

/* All four ways to make a context, as programs of different ages call them. */
static void contexts_of_every_age(void **state)
{
    (void)state;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(driver);
    CUresult (*v2)(CUcontext *, unsigned, CUdevice);
    CUresult (*v3)(CUcontext *, CUexecAffinityParam *, int, unsigned, CUdevice);
    CUresult (*get_device)(CUdevice *); /* called as if it took one argument */
    CUcontext context;
    CUdevice device = -1;
    unsigned version;

    *(void **)&v2 = dlsym(driver, "cuCtxCreate_v2");
    *(void **)&v3 = dlsym(driver, "cuCtxCreate_v3");
    *(void **)&get_device = dlsym(driver, "cuCtxGetDevice_v2");
    ok(v2(&context, 0, 1));
    ok(get_device(&device));
    assert_int_equal(device, 1);
    ok(cuCtxGetDevice_v2(&device, context));
    ok(cuCtxGetApiVersion(context, &version));
    ok(cuCtxDetach(context));
    ok(v3(&context, NULL, 0, 0, 0));
    ok(cuCtxAttach(&context, 0));
    ok(cuCtxDetach(context));
    assert_ptr_equal(current(), context);
    ok(cuCtxDetach(context));
    assert_null(current());
    dlclose(driver);
}

static void the_primary_context_is_counted(void **state)
{
    (void)state;
    CUcontext first, second;
    unsigned flags;
    int active;
    CUdeviceptr address;

    ok(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_int_equal(active, 0);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0));
    ok(cuDevicePrimaryCtxRetain(&first, 0));
    ok(cuDevicePrimaryCtxRetain(&second, 0));
    assert_ptr_equal(first, second);
    ok(cuCtxSetCurrent(first));
    ok(cuMemAlloc(&address, 64));
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(first));
    ok(cuDevicePrimaryCtxRelease(0));
    ok(cuMemFree(address));
    ok(cuMemAlloc(&address, 64));
    ok(cuDevicePrimaryCtxRelease(0));
    expect(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemFree(address));
    ok(cuDevicePrimaryCtxRetain(&second, 0));
    assert_ptr_equal(first, second);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFree(address)); /* went with the context */
    ok(cuDevicePrimaryCtxRelease(0));
    ok(cuCtxSetCurrent(NULL));
}

static void calls_are_found_by_base_version_and_flags(void **state)
{
    (void)state;
    static const struct {
        const char *base;
        int version;
        cuuint64_t flags;
        const char *symbol;
    } rows[] = {
        {"cuMemAlloc", 13000, 0, "cuMemAlloc_v2"},
        {"cuMemAlloc", 2000, 0, "cuMemAlloc"},
        {"cuCtxCreate", 13000, 0, "cuCtxCreate_v4"},
        {"cuCtxCreate", 12000, 0, "cuCtxCreate_v3"},
        {"cuStreamSynchronize", 13000, 0, "cuStreamSynchronize"},
        {"cuStreamSynchronize", 13000, 2, "cuStreamSynchronize_ptsz"},
        {"cuMemcpyHtoD", 13000, 2, "cuMemcpyHtoD_v2_ptds"},
        {"cuGetProcAddress", 13000, 0, "cuGetProcAddress_v2"},
    };
    CUdriverProcAddressQueryResult status;
    void *found;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        Dl_info info;
        ok(cuGetProcAddress(rows[i].base, &found, rows[i].version, rows[i].flags, &status));
        assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
        assert_true(dladdr(found, &info) != 0);
        assert_string_equal(info.dli_sname, rows[i].symbol);
    }
    ok(cuGetProcAddress("cuNoSuchCall", &found, 13000, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    assert_null(found);
    ok(cuGetProcAddress("cuMemCreate", &found, 2000, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    ok(cuGetProcAddress("cuNoSuchCall", &found, 13000, 0, NULL));
    assert_null(found);
    expect(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuInit", &found, 13010, 0, NULL));
    CUresult (*first)(const char *, void **, int, cuuint64_t);
    *(void **)&first = dlsym(RTLD_DEFAULT, "cuGetProcAddress");
    ok(first("cuMemAlloc", &found, 12000, 0));
    expect(CUDA_ERROR_NOT_FOUND, first("cuNoSuchCall", &found, 12000, 0));
    const void *table;
    expect(CUDA_ERROR_NOT_FOUND, cuGetExportTable(&table, &(CUuuid){{0}}));
}

/* What `act` writes to stderr, up to the size of `text`. */
static void capture_stderr(void (*act)(void), char *text, size_t size)
{
    int ends[2], saved = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    act();
    dup2(saved, STDERR_FILENO);
    close(saved);
    ssize_t got = read(ends[0], text, size - 1);
    close(ends[0]);
    text[got > 0 ? got : 0] = '\0';
}

static void call_what_is_not_there(void)
{
    CUtexref texture;
    for (int i = 0; i < 3; i++)
        expect(CUDA_ERROR_NOT_SUPPORTED, cuTexRefCreate(&texture));
}

static void a_missing_call_is_named_once(void **state)
{
    (void)state;
    char text[256];
    capture_stderr(call_what_is_not_there, text, sizeof text);
    assert_string_equal(text, "reprise software device: cuTexRefCreate is not supported\n");
}

static void peers_see_each_other_when_enabled(void **state)
{
    (void)state;
    CUcontext a, b;
    CUdeviceptr on_a, on_b;
    uint32_t word = 0;

    ok(cuCtxCreate(&a, NULL, 0, 0));
    ok(cuMemAlloc(&on_a, 64));
    ok(cuMemsetD32(on_a, 3, 16));
    ok(cuCtxCreate(&b, NULL, 0, 1));
    ok(cuMemAlloc(&on_b, 64));
    ok(cuMemcpyPeer(on_b, b, on_a, a, 64));
    ok(cuMemcpyDtoH(&word, on_b, 4));
    assert_int_equal(word, 3);
    /* A stream's own words go through the device's view: that needs the permission. */
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(NULL, on_a, 1, 0));
    ok(cuCtxEnablePeerAccess(a, 0));
    expect(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(a, 0));
    ok(cuStreamWriteValue32(NULL, on_a, 1, 0));
    ok(cuCtxSynchronize());
    ok(cuCtxDisablePeerAccess(a));
    expect(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(a));
    ok(cuCtxDestroy(b));
    ok(cuCtxDestroy(a));
}

static int wait_for(pid_t child)
{
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

static void a_forked_child_is_told_so(void **state)
{
    (void)state;
    struct gate gate;
    CUcontext context;
    ok(cuCtxCreate(&context, NULL, 0, 0));
    gate_close(&gate, NULL);
    gate_wait_reached(&gate);
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        CUdeviceptr address;
        int good = cuMemAlloc(&address, 4) == CUDA_ERROR_NOT_INITIALIZED &&
                   cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED &&
                   cuInit(0) == CUDA_ERROR_NOT_INITIALIZED;
        _exit(good ? 0 : 1);
    }
    assert_int_equal(wait_for(child), 0);
    gate_open(&gate);
    ok(cuCtxSynchronize());
    ok(cuCtxDestroy(context));
}

/* The program ends with work pending, a function of its own running, and another that would
 * crash if it still ran. */
static int leave_in_the_middle(void)
{
    static struct gate gate;
    CUcontext context;
    CUdeviceptr a;
    if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate(&context, NULL, 0, 0) != CUDA_SUCCESS ||
        cuMemAlloc(&a, 1 << 20) != CUDA_SUCCESS)
        return 1;
    gate_close(&gate, NULL);
    gate_wait_reached(&gate);
    for (int i = 0; i < 100; i++)
        if (cuMemsetD8Async(a, (unsigned char)i, 1 << 20, NULL) != CUDA_SUCCESS)
            return 1;
    return 0;
}

static void leaving_with_work_pending_is_clean(void **state)
{
    (void)state;
    char text[256], errors[256];
    assert_int_equal(child_run("leave", SETTINGS(NULL), text, errors, sizeof text), 0);
    assert_string_equal(errors, "");
    assert_string_equal(text, "");
}

static int init_program(void)
{
    return (int)cuInit(0);
}

/* All of a device of one mebibyte is the program's: nothing of it is the device's own. */
static int small_program(void)
{
    CUcontext context;
    CUdeviceptr all, more;
    size_t free_bytes, total;

    ok(cuInit(0));
    ok(cuCtxCreate(&context, NULL, 0, 0));
    ok(cuMemGetInfo(&free_bytes, &total));
    assert_int_equal(total, 1 << 20);
    assert_int_equal(free_bytes, total);
    ok(cuMemAlloc(&all, total));
    ok(cuMemsetD8(all, 1, total));
    expect(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&more, 1));
    ok(cuCtxSynchronize());
    return 0;
}

static void wrong_options_are_named(void **state)
{
    (void)state;
    char errors[256];
    assert_int_equal(child_run("init", SETTINGS("REPRISE_SOFT_MEMORY=8GB"), NULL, errors,
                               sizeof errors),
                     CUDA_ERROR_INVALID_VALUE);
    assert_string_equal(errors, "reprise software device: REPRISE_SOFT_MEMORY=8GB: expected a "
                                "size from 1MiB to 1TiB\n");
}

static void the_smallest_device_is_whole(void **state)
{
    (void)state;
    char errors[256];
    assert_int_equal(
        child_run("small", SETTINGS("REPRISE_SOFT_MEMORY=1MiB"), NULL, errors, sizeof errors), 0);
    assert_string_equal(errors, "");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_works_before_initialisation),
        cmocka_unit_test(devices_answer_what_clients_ask),
        cmocka_unit_test(errors_have_names),
        cmocka_unit_test(contexts_stack_up),
        cmocka_unit_test(contexts_of_every_age),
        cmocka_unit_test(the_primary_context_is_counted),
        cmocka_unit_test(calls_are_found_by_base_version_and_flags),
        cmocka_unit_test(a_missing_call_is_named_once),
        cmocka_unit_test(peers_see_each_other_when_enabled),
        cmocka_unit_test(a_forked_child_is_told_so),
        cmocka_unit_test(leaving_with_work_pending_is_clean),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(the_smallest_device_is_whole),
    };
    static const struct child_program programs[] = {
        {"init", init_program}, {"leave", leave_in_the_middle}, {"small", small_program}};
    child_main(argc, argv, programs, sizeof programs / sizeof programs[0]);
    setenv("REPRISE_SOFT_DEVICES", "2", 1);
    setenv("REPRISE_SOFT_CAPABILITY", "7.5", 1);
    setenv("REPRISE_SOFT_MEMORY", "32MiB", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
