/* SPDX-License-Identifier: Apache-2.0 */
/* usage: host_job KERNELS GENERATOR eager|replay stays|returns|moves|goes [OTHER]
 *
 * A segment draws from the generator of a library, which `stays`, or is unloaded between forward
 * and replay: and `returns`, `moves` to another address, or `goes` for good. OTHER is loaded before
 * it. Prints what the run leaves behind. */
#include "tests/laws/driver.h"

#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { N = 1000, STEPS = 3, BETWEEN = 5 };

static int n = N;
static CUdeviceptr y, g;
static const char *path;
static void *library;
static unsigned (*draw)(void);

static void load(void)
{
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, "host_draw") : NULL;
    if (!found) {
        fprintf(stderr, "host_job: %s\n", dlerror());
        exit(2);
    }
    memcpy(&draw, &found, sizeof draw);
}

static unsigned draw_constant(void)
{
    return 3;
}

static void unload(const char *way)
{
    if (strcmp(way, "stays") == 0)
        return;
    dlclose(library);
    draw = draw_constant;
    if (strcmp(way, "moves") == 0) /* where it was there is somebody else now */
        for (int i = 0; i < 64; i++)
            mmap(NULL, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (strcmp(way, "goes") != 0)
        load();
}

static void run_segment(const char *range)
{
    nvtxRangePushA(range);
    unsigned drawn = draw();
    LAUNCH("fill", n, &y, &drawn, &n);
    nvtxRangePop();
}

static void print_results(void)
{
    static unsigned left[N];
    uint64_t digest = 0xcbf29ce484222325u;
    CU(MemcpyDtoH, left, g, sizeof left);
    for (int i = 0; i < N; i++)
        digest = (digest ^ left[i]) * 0x100000001b3u;
    printf("%016llx %u\n", (unsigned long long)digest, draw());
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    kernels = argv[1];
    path = argv[2];
    if (argc > 5 && !dlopen(argv[5], RTLD_NOW | RTLD_LOCAL))
        return 2;
    open_driver();
    y = allocate(N * sizeof(unsigned));
    g = allocate(N * sizeof(unsigned));
    load();
    for (int step = 0; step < STEPS; step++) {
        nvtxRangePushA("step");
        run_segment("forward/only");
        for (int i = 0; i < BETWEEN; i++)
            draw();
        unload(step == 1 ? argv[4] : "stays");
        if (strcmp(argv[3], "replay") == 0)
            run_segment("recompute/only");
        LAUNCH("gradient", n, &y, &g, &n);
        nvtxRangePop();
    }
    print_results();
    return 0;
}
