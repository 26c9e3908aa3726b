/* SPDX-License-Identifier: Apache-2.0 */
/* usage: seen_job KERNELS SCENARIO eager|replay */
#include "tests/seen/job.h"

#include <nvtx3/nvToolsExt.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CUdeviceptr state, queue, x, y, g;
int n = N, rows = ROWS;
bool replaying;
const char *kernels_path;
static CUmodule module;
static struct {
    const char *name;
    CUdeviceptr memory;
    size_t bytes;
} results[8];
static size_t result_count;

void check_call(CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "seen_job: %s failed with %d\n", call, (int)result);
    exit(1);
}

void check_rejected(CUresult result, const char *call)
{
    if (result != CUDA_SUCCESS)
        return;
    fprintf(stderr, "seen_job: %s was not rejected\n", call);
    exit(1);
}

CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr memory;
    CU(cuMemAlloc(&memory, bytes));
    CU(cuMemsetD8(memory, 0, bytes));
    return memory;
}

void print_too(const char *name, CUdeviceptr memory, size_t bytes)
{
    results[result_count].name = name;
    results[result_count].memory = memory;
    results[result_count++].bytes = bytes;
}

/* What the run leaves behind, one digest (FNV-1a) a buffer. */
static void print_results(void)
{
    CU(cuCtxSynchronize());
    for (size_t i = 0; i < result_count; i++) {
        unsigned char *bytes = malloc(results[i].bytes);
        uint64_t digest = 0xcbf29ce484222325u;
        CU(cuMemcpyDtoH(bytes, results[i].memory, results[i].bytes));
        for (size_t at = 0; at < results[i].bytes; at++)
            digest = (digest ^ bytes[at]) * 0x100000001b3u;
        printf("%s%s=%016llx", i ? " " : "", results[i].name, (unsigned long long)digest);
        free(bytes);
    }
    printf("\n");
}

CUfunction function(const char *kernel)
{
    CUfunction handle;
    CU(cuModuleGetFunction(&handle, module, kernel));
    return handle;
}

void launch(CUstream stream, const char *kernel, void **params)
{
    CU(cuLaunchKernel(function(kernel), (N + 127) / 128, 1, 1, 128, 1, 1, 0, stream, params, NULL));
}

void step_forward(void)
{
    LAUNCH("step_state", &state, &x, &y, &n);
}

void queue_forward(void)
{
    LAUNCH("read_queue", &queue, &x, &y, &rows, &n);
}

void write_row(void)
{
    int row = 1;
    LAUNCH("enqueue", &queue, &x, &row, &n);
}

static void in_range(const char *name, void (*work)(void))
{
    nvtxRangePushA(name);
    work();
    nvtxRangePop();
}

void run_step(int step, void (*forward)(void), void (*between)(void), void (*again)(void))
{
    unsigned value = 1000u * (unsigned)step;
    nvtxRangePushA("step");
    LAUNCH("fill", &x, &value, &n);
    in_range("forward/only", forward);
    if (between)
        between();
    if (replaying) {
        CU(cuMemsetD8(y, 0xee, WORDS(n)));
        in_range("recompute/only", again);
    }
    LAUNCH("gradient", &y, &g, &n);
    nvtxRangePop();
}

void run_steps(void (*forward)(void), void (*between)(void))
{
    for (int step = 1; step <= STEPS; step++)
        run_step(step, forward, between, forward);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (!file || !text || !fread(text, 1, (1 << 20) - 1, file)) {
        fprintf(stderr, "seen_job: can't read %s\n", path);
        exit(1);
    }
    fclose(file);
    return text;
}

static void open_driver(const char *kernels)
{
    CUdevice device;
    CUcontext context;
    char *text = read_file(kernels);
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuCtxCreate(&context, NULL, 0, device));
    CU(cuModuleLoadData(&module, text));
    free(text);
    x = allocate(WORDS(n));
    y = allocate(WORDS(n));
    g = allocate(WORDS(n));
    state = allocate(WORDS(n));
    queue = allocate(WORDS(ROWS * n));
    print_too("g", g, WORDS(n));
    print_too("state", state, WORDS(n));
    print_too("queue", queue, WORDS(ROWS * n));
}

static const struct scenario *find(const char *name)
{
    static const struct scenario *const all[] = {rejected_scenarios, graph_scenarios,
                                                 object_scenarios, pointer_scenarios,
                                                 shared_scenarios, table_scenarios,
                                                 writer_scenarios, context_scenarios};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (const struct scenario *at = all[i]; at->name; at++)
            if (strcmp(at->name, name) == 0)
                return at;
    return NULL;
}

int main(int argc, char **argv)
{
    const struct scenario *scenario = argc == 4 ? find(argv[2]) : NULL;
    if (!scenario) {
        fprintf(stderr, "usage: seen_job KERNELS SCENARIO eager|replay\n");
        return 2;
    }
    replaying = strcmp(argv[3], "replay") == 0;
    kernels_path = argv[1];
    open_driver(kernels_path);
    scenario->run();
    print_results();
    return 0;
}
