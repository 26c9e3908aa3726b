/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/laws/driver.h"

#include <dlfcn.h>
#include <errno.h>

#include <stdio.h>
#include <stdlib.h>

struct driver driver;
const char *kernels;
CUcontext context;
CUmodule module;

void check_call(CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "%s: %s failed with %d\n", program_invocation_short_name, call, (int)result);
    exit(1);
}

static void *look_up(void *library, const char *name)
{
    void *address = dlsym(library, name);
    if (!address) {
        fprintf(stderr, "%s: no %s\n", program_invocation_short_name, name);
        exit(1);
    }
    return address;
}

#define TEXT(x) #x
#define NAME(x) TEXT(x)
#define LOAD(name) *(void **)(void *)&driver.name = look_up(library, NAME(cu##name));

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (!file || !text || !fread(text, 1, (1 << 20) - 1, file)) {
        fprintf(stderr, "%s: can't read %s\n", program_invocation_short_name, path);
        exit(1);
    }
    fclose(file);
    return text;
}

void open_context_on(int ordinal)
{
    CUdevice device;
    char *text = read_file(kernels);
    CU(DeviceGet, &device, ordinal);
    CU(CtxCreate, &context, NULL, 0, device);
    CU(ModuleLoadData, &module, text);
    free(text);
}

void open_context(void)
{
    open_context_on(0);
}

void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, dlerror());
        exit(1);
    }
    CALLS(LOAD)
    CU(Init, 0);
    open_context();
}

CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr memory;
    CU(MemAlloc, &memory, bytes);
    CU(MemsetD8, memory, 0, bytes);
    return memory;
}

void launch_in(CUstream stream, const char *name, int threads, void **params)
{
    launch_of(module, stream, name, threads, params);
}

void launch_of(CUmodule from, CUstream stream, const char *name, int threads, void **params)
{
    CUfunction function;
    CU(ModuleGetFunction, &function, from, name);
    CU(LaunchKernel, function, (unsigned)(threads + 127) / 128, 1, 1, 128, 1, 1, 0, stream, params,
       NULL);
}

void synchronize(void)
{
    check_call(driver.CtxSynchronize(), "cuCtxSynchronize");
}
