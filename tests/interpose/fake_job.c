/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/interpose/fake_job.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000 };

static struct {
    CUfunction kernel;
    CUdeviceptr state, x, y;
    unsigned char host[64];
    int n;
    void *params[4];
} job = {.n = N};

static soft_entry find(void *library, const char *name)
{
    soft_entry function;
    void *pointer = dlsym(library, name);
    if (pointer == NULL) {
        fprintf(stderr, "no %s: %s\n", name, dlerror());
        exit(2);
    }
    memcpy(&function, &pointer, sizeof(function));
    return function;
}

struct fake_state *fake_job_doors(struct door *bare, struct door *layered)
{
    const char *path = getenv("REPRISE_DRIVER");
    void *driver = dlopen(path != NULL ? path : "libcuda.so.1", RTLD_NOW);
    if (driver == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    struct fake_state *fake = ((fake_state_fn)find(driver, "fake_state"))();
    fake->succeed = true;
    for (int id = 0; id < RP_CALL_COUNT; id++) {
        bare->calls.by_id[id] = (void (*)(void))fake->entries[id];
        layered->calls.by_id[id] = (void (*)(void))find(driver, rp_calls[id].name);
    }
    return fake;
}

/* The fake leaves handles and addresses as they are, so the job chooses them. */
void fake_job_begin(const struct door *door, const char *kernels)
{
    static char text[1 << 20];
    FILE *file = fopen(kernels, "rb");
    CUmodule module = (CUmodule)0x1000;
    if (file == NULL || fread(text, 1, sizeof(text) - 1, file) == 0)
        exit(2);
    fclose(file);
    job.kernel = (CUfunction)0x2000;
    job.state = 0x10000000;
    job.x = 0x20000000;
    job.y = 0x30000000;
    door->calls.cuInit(0);
    door->calls.cuModuleLoadData(&module, text);
    door->calls.cuModuleGetFunction(&job.kernel, module, "step_state");
    door->calls.cuMemAlloc_v2(&job.state, 4 * N);
    door->calls.cuMemAlloc_v2(&job.x, 4 * N);
    door->calls.cuMemAlloc_v2(&job.y, 4 * N);
    job.params[0] = &job.state;
    job.params[1] = &job.x;
    job.params[2] = &job.y;
    job.params[3] = &job.n;
}

void fake_job_ask(const struct door *door)
{
    CUcontext context;
    door->calls.cuCtxGetCurrent(&context);
}

void fake_job_copy(const struct door *door)
{
    door->calls.cuMemcpyHtoDAsync_v2(job.x, job.host, sizeof(job.host), NULL);
}

void fake_job_launch(const struct door *door)
{
    door->calls.cuLaunchKernel(job.kernel, (N + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, job.params,
                               NULL);
}
