/* SPDX-License-Identifier: Apache-2.0 */
/* A job that does the same again and again, and between that changes what the same means; or does
 * so in several threads at once.
 *
 * usage: repeats KERNELS [threads]
 * with the layer in LD_PRELOAD and the driver in REPRISE_DRIVER */
#include "tests/interpose/fake_job.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMES = 6, THREADS = 4, ROUNDS = 50 };

/* The fake driver remembers the latest call of all threads, without a lock: its own business. */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:fake_called\n";
}

static struct door bare, layered;
static struct fake_state *fake;
static char text[1 << 20];

static void *repeat(void *unused)
{
    for (int i = 0; i < TIMES; i++) {
        fake_job_launch(&layered);
        fake_job_copy(&layered);
        fake_job_ask(&layered);
    }
    return unused;
}

/* Another allocation, and a larger one, at the address of an old one. */
static void replace_memory(void)
{
    CUdeviceptr x = 0x20000000;
    layered.calls.cuMemFree_v2(x);
    layered.calls.cuMemAlloc_v2(&x, 8192);
}

/* Another kernel under the handle of an old one. */
static void replace_kernel(const char *name)
{
    CUmodule module = (CUmodule)0x1000;
    CUfunction function = (CUfunction)0x2000;
    layered.calls.cuModuleUnload(module);
    layered.calls.cuModuleLoadData(&module, text);
    layered.calls.cuModuleGetFunction(&function, module, name);
}

static void read_kernels(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fread(text, 1, sizeof(text) - 1, file) == 0)
        exit(2);
    fclose(file);
}

/* The driver says no now and then: what it rejected did not happen. */
static void be_refused(void)
{
    for (int i = 0; i < TIMES; i++) {
        fake->succeed = i % 2;
        fake_job_launch(&layered);
        fake_job_copy(&layered);
    }
    fake->succeed = true;
}

/* What is captured does not run. */
static void be_captured(void)
{
    layered.calls.cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL);
    repeat(NULL);
    CUgraph graph = (CUgraph)0x3000;
    layered.calls.cuStreamEndCapture(NULL, &graph);
    repeat(NULL);
}

static void *repeat_often(void *unused)
{
    for (int i = 0; i < ROUNDS; i++)
        repeat(unused);
    return unused;
}

/* Meanwhile what the same means is changed, and changed again. */
static int repeat_at_once(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, repeat_often, NULL) != 0)
            return 2;
    for (int i = 0; i < ROUNDS; i++)
        replace_memory();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc != 2 && argc != 3)
        return 2;
    fake = fake_job_doors(&bare, &layered);
    fake_job_begin(&layered, argv[1]);
    read_kernels(argv[1]);
    if (argc == 3)
        return repeat_at_once();
    repeat(NULL);
    replace_memory();
    repeat(NULL);
    replace_kernel("step_state_again");
    repeat(NULL);
    replace_kernel("step_state");
    repeat(NULL);
    be_refused();
    be_captured();
    if (pthread_create(&thread, NULL, repeat, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 2;
    return 0;
}
