/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/gpu/device.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rp_real real;
static CUdevice device;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
    exit(1);
}

void device_check(CUresult result, const char *what)
{
    char number[32];
    if (result == CUDA_SUCCESS)
        return;
    snprintf(number, sizeof(number), "error %d", (int)result);
    fail(what, number);
}

static void look_up(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        fail("no driver", dlerror());
    for (int id = 0; id < RP_CALL_COUNT; id++) {
        void *pointer = dlsym(library, rp_calls[id].name);
        memcpy(&real.by_id[id], &pointer, sizeof(pointer));
    }
    if (!real.cuInit || !real.cuDevicePrimaryCtxRetain)
        fail("libcuda.so.1", "no driver that these programs know");
}

struct rp_real *device_open(void)
{
    static bool opened;
    CUcontext context;
    if (opened)
        return &real;
    opened = true;
    look_up();
    device_check(real.cuInit(0), "cuInit");
    device_check(real.cuDeviceGet(&device, 0), "cuDeviceGet");
    device_check(real.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    device_check(real.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    return &real;
}

int device_capability(void)
{
    int major, minor;
    DO(cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    DO(cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    return major * 10 + minor;
}

char *device_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        fail(path, strerror(errno));
    long length = ftell(file);
    rewind(file);
    char *text = calloc(1, (size_t)length + 1);
    if (!text || fread(text, 1, (size_t)length, file) != (size_t)length)
        fail(path, "can't be read");
    fclose(file);
    return text;
}
