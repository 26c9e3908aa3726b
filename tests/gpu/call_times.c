/* SPDX-License-Identifier: Apache-2.0 */
/* What a job waits for its own driver calls: a question, a copy, a launch, a graph of launches.
 * Under the layer and without, the difference is what the layer costs.
 *
 * usage: call_times KERNELS ROUNDS
 *
 * A line each: name and the median of the rounds, in nanoseconds a call, by the clock. The device
 * is idle again before each round, whose calls fit into its queue. */
#include "tests/laws/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS_A_ROUND = 200, MOST_ROUNDS = 1001, NODES = 20 };

static CUdeviceptr state, x, y;
static CUstream stream;
static CUfunction kernel;
static CUgraphExec graph;
static unsigned char host[64];

static void ask(void)
{
    size_t granularity;
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CU(MemGetAllocationGranularity, &granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
}

static void copy(void)
{
    CU(MemcpyHtoDAsync, x, host, sizeof(host), stream);
}

static void launch(void)
{
    int n = 16;
    void *params[] = {&state, &x, &y, &n};
    CU(LaunchKernel, kernel, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL);
}

static void launch_graph(void)
{
    CU(GraphLaunch, graph, stream);
}

static const struct {
    const char *name;
    void (*call)(void);
    int calls;
} table[] = {
    {"ask", ask, CALLS_A_ROUND},
    {"copy", copy, CALLS_A_ROUND},
    {"launch", launch, CALLS_A_ROUND},
    {"graph-of-20", launch_graph, CALLS_A_ROUND / NODES},
};

static double round_ns(int row)
{
    struct timespec start, end;
    CU(StreamSynchronize, stream);
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < table[row].calls; i++)
        table[row].call();
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
           table[row].calls;
}

static int by_value(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static void prepare(void)
{
    CUgraph drawn;
    open_driver();
    state = allocate(64);
    x = allocate(64);
    y = allocate(64);
    CU(StreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    CU(ModuleGetFunction, &kernel, module, "step_state");
    CU(StreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    for (int i = 0; i < NODES; i++)
        launch();
    CU(StreamEndCapture, stream, &drawn);
    CU(GraphInstantiate, &graph, drawn, 0);
}

int main(int argc, char **argv)
{
    static double times[MOST_ROUNDS];
    int rounds = argc > 2 ? atoi(argv[2]) : 0;
    if (rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: call_times KERNELS ROUNDS (at most %d)\n", MOST_ROUNDS);
        return 2;
    }
    kernels = argv[1];
    prepare();
    for (int row = 0; row < (int)(sizeof(table) / sizeof(table[0])); row++) {
        round_ns(row);
        for (int i = 0; i < rounds; i++)
            times[i] = round_ns(row);
        qsort(times, (size_t)rounds, sizeof(times[0]), by_value);
        printf("%s %.1f\n", table[row].name, times[rounds / 2]);
    }
    return 0;
}
