/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <dlfcn.h>
#include <errno.h> /* program_invocation_short_name: ranks and banks are here too */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct driver driver;

/* Through memcpy, because C knows no way from a data pointer to a function pointer. */
static void load(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);
    if (address == NULL) {
        fprintf(stderr, "%s: the CUDA driver has no %s\n",
                program_invocation_short_name, name);
        exit(1);
    }
    memcpy(function, &address, sizeof address);
}

#define TEXT(x) #x
#define NAME(x) TEXT(x)
#define LOAD(name) load(library, NAME(cu##name), &driver.name);

void driver_open(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s: no CUDA driver: %s\n", program_invocation_short_name,
                dlerror());
        exit(1);
    }
    DRIVER_CALLS(LOAD)
}

void driver_check(CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return;
    const char *name = NULL;
    if (driver.GetErrorName(result, &name) != CUDA_SUCCESS || name == NULL)
        name = "unknown error";
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, call, name);
    exit(1);
}

static bool pooled;

void device_use_pool(void)
{
    pooled = true;
}

CUdeviceptr device_alloc(size_t bytes)
{
    CUdeviceptr memory = 0;
    if (pooled)
        CU(MemAllocAsync, &memory, bytes, NULL);
    else
        CU(MemAlloc, &memory, bytes);
    return memory;
}

void device_free(CUdeviceptr *memory)
{
    if (*memory != 0 && pooled)
        CU(MemFreeAsync, *memory, NULL);
    else if (*memory != 0)
        CU(MemFree, *memory);
    *memory = 0;
}
