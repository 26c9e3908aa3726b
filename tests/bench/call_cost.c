/* SPDX-License-Identifier: Apache-2.0 */
/* What does being preloaded cost a launch? Calls cuLaunchKernel of the fake driver directly
 * and through the layer, in turns, and prints the medians.
 *
 * usage: call_cost LABEL, with the layer in LD_PRELOAD and the driver in REPRISE_DRIVER */
#include "tests/interpose/fake.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 201, CALLS = 5000 };

typedef CUresult (*launch_fn)(CUfunction f, unsigned int grid_x, unsigned int grid_y,
                              unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                              unsigned int block_z, unsigned int shared, CUstream stream,
                              void **params, void **extra);

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double one_round(launch_fn volatile launch)
{
    double start = now_ns();
    for (int i = 0; i < CALLS; i++)
        launch(NULL, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
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

int main(int argc, char **argv)
{
    static double direct[ROUNDS], through[ROUNDS];
    const char *path = getenv("REPRISE_DRIVER");
    void *driver = dlopen(path != NULL ? path : "libcuda.so.1", RTLD_NOW);
    if (driver == NULL) {
        fprintf(stderr, "call_cost: %s\n", dlerror());
        return 2;
    }
    fake_state_fn state = (fake_state_fn)find(driver, "fake_state");
    launch_fn bare = (launch_fn)state()->entries[RP_CALL_cuLaunchKernel];
    launch_fn wrapped = (launch_fn)find(RTLD_DEFAULT, "cuLaunchKernel");
    if (bare == wrapped) {
        fprintf(stderr, "call_cost: the layer is not preloaded\n");
        return 2;
    }
    one_round(wrapped);
    for (int i = 0; i < ROUNDS; i++) {
        direct[i] = one_round(bare);
        through[i] = one_round(wrapped);
    }
    double plain = median(direct), layered = median(through);
    printf("%s: cuLaunchKernel %.1f ns, with the layer %.1f ns, added %.1f ns\n",
           argc > 1 ? argv[1] : "launch", plain, layered, layered - plain);
    return 0;
}
