/* SPDX-License-Identifier: Apache-2.0 */
/* What does a driver call cost a job? Three calls of the fake driver, made directly and through
 * what is preloaded, in turns: a question, a copy, and the launch of a kernel whose accesses are
 * proved. Prints a line a call, of medians: name, bare, through, in nanoseconds.
 *
 * usage: call_cost KERNELS, with the layer in LD_PRELOAD and the driver in REPRISE_DRIVER */
#include "tests/interpose/fake.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 101, CALLS = 2000, N = 1000 };

static struct {
    CUfunction kernel;
    CUdeviceptr state, x, y;
    unsigned char host[64];
    int n;
    void *params[4];
} job = {.n = N};

/* An entry point by its name: the driver's own, or the preloaded object's. */
struct door {
    struct rp_real calls;
};

/* Of the thread's own work: the machine may have others. What the trace's writer does on another
 * thread is not in it; a job that outruns that thread is slowed, which the trace counts. */
static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void ask(const struct door *door)
{
    CUcontext context;
    door->calls.cuCtxGetCurrent(&context);
}

static void copy(const struct door *door)
{
    door->calls.cuMemcpyHtoDAsync_v2(job.x, job.host, sizeof(job.host), NULL);
}

static void launch(const struct door *door)
{
    door->calls.cuLaunchKernel(job.kernel, (N + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, job.params,
                               NULL);
}

static double one_round(void (*call)(const struct door *), const struct door *door)
{
    double start = now_ns();
    for (int i = 0; i < CALLS; i++)
        call(door);
    return (now_ns() - start) / CALLS;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof(values[0]), by_value);
    return values[ROUNDS / 2];
}

static void measure(const char *name, void (*call)(const struct door *), const struct door *bare,
                    const struct door *layered)
{
    static double direct[ROUNDS], through[ROUNDS];
    one_round(call, layered);
    for (int i = 0; i < ROUNDS; i++) {
        direct[i] = one_round(call, bare);
        through[i] = one_round(call, layered);
    }
    printf("%s %.1f %.1f\n", name, median(direct), median(through));
}

static soft_entry find(void *library, const char *name)
{
    soft_entry function;
    void *pointer = dlsym(library, name);
    if (pointer == NULL) {
        fprintf(stderr, "call_cost: no %s: %s\n", name, dlerror());
        exit(2);
    }
    memcpy(&function, &pointer, sizeof(function));
    return function;
}

static void open_doors(struct door *bare, struct door *layered)
{
    const char *path = getenv("REPRISE_DRIVER");
    void *driver = dlopen(path != NULL ? path : "libcuda.so.1", RTLD_NOW);
    if (driver == NULL) {
        fprintf(stderr, "call_cost: %s\n", dlerror());
        exit(2);
    }
    struct fake_state *fake = ((fake_state_fn)find(driver, "fake_state"))();
    fake->succeed = true;
    for (int id = 0; id < RP_CALL_COUNT; id++) {
        bare->calls.by_id[id] = (void (*)(void))fake->entries[id];
        layered->calls.by_id[id] = (void (*)(void))find(driver, rp_calls[id].name);
    }
}

/* The fake leaves handles and addresses as they are, so the job chooses them. */
static void begin_job(const struct door *door, const char *kernels)
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

int main(int argc, char **argv)
{
    static struct door bare, layered;
    if (argc != 2)
        return 2;
    open_doors(&bare, &layered);
    begin_job(&layered, argv[1]);
    measure("cuCtxGetCurrent", ask, &bare, &layered);
    measure("cuMemcpyHtoDAsync", copy, &bare, &layered);
    measure("cuLaunchKernel", launch, &bare, &layered);
    return 0;
}
