/* SPDX-License-Identifier: Apache-2.0 */
/* usage: law_job KERNELS SCENARIO eager|replay */
#include "tests/laws/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a job that every scenario varies -------------------------------------------------- */

bool replaying;
int n = N, rows = ROWS;
unsigned draws = N;
CUdeviceptr state_, generator, queue, counters, x, y, g;
static struct {
    const char *name;
    CUdeviceptr *memory;
    size_t bytes;
} results[8];
static size_t result_count;

void watch(const char *name, CUdeviceptr *memory, size_t bytes)
{
    results[result_count].name = name;
    results[result_count].memory = memory;
    results[result_count++].bytes = bytes;
}

void watch_nothing(void)
{
    result_count = 0;
}

void result(const char *name, CUdeviceptr *memory, size_t bytes)
{
    *memory = allocate(bytes);
    watch(name, memory, bytes);
}

/* What the run leaves behind, one digest (FNV-1a) a buffer. */
static void print_results(void)
{
    synchronize();
    for (size_t i = 0; i < result_count; i++) {
        unsigned char *bytes = malloc(results[i].bytes);
        uint64_t digest = 0xcbf29ce484222325u;
        CU(MemcpyDtoH, bytes, *results[i].memory, results[i].bytes);
        for (size_t at = 0; at < results[i].bytes; at++)
            digest = (digest ^ bytes[at]) * 0x100000001b3u;
        printf("%s%s=%016llx", i ? " " : "", results[i].name, (unsigned long long)digest);
        free(bytes);
    }
    printf("\n");
}

void set_input(int step)
{
    unsigned value = 1000u * (unsigned)step;
    LAUNCH("fill", n, &x, &value, &n);
}

void in_range(const char *name, void (*work)(void))
{
    nvtxRangePushA(name);
    work();
    nvtxRangePop();
}

void replay(const char *range, void (*forward)(void))
{
    if (!replaying)
        return;
    CU(MemsetD8, y, 0xee, WORDS(n));
    in_range(range, forward);
}

void backward(void)
{
    LAUNCH("gradient", n, &y, &g, &n);
}

void run_step(int step, void (*forward)(void), void (*between)(void))
{
    nvtxRangePushA("step");
    set_input(step);
    in_range("forward/only", forward);
    if (between)
        between();
    replay("recompute/only", forward);
    backward();
    nvtxRangePop();
}

void run_steps(void (*forward)(void), void (*between)(void))
{
    for (int step = 1; step <= STEPS; step++)
        run_step(step, forward, between);
}

void begin_job(void)
{
    result("g", &g, WORDS(n));
    x = allocate(WORDS(n));
    y = allocate(WORDS(n));
}

/* ---- work that several scenarios do ------------------------------------------------------ */

int queue_row;
CUdeviceptr scratch, where;

void step_forward(void)
{
    LAUNCH("step_state", n, &state_, &x, &y, &n);
}

void pure_forward(void)
{
    LAUNCH("read_queue", n, &queue, &x, &y, &rows, &n);
}

void next_row(void)
{
    int after = (queue_row + 3) % ROWS;
    LAUNCH("enqueue", n, &queue, &x, &after, &n);
}

void overwrite(void)
{
    unsigned value = 12345;
    LAUNCH("fill", n, &state_, &value, &n);
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
#define SCENARIO(name, function) {name, scenario_##function},
    SCENARIOS(SCENARIO)
#undef SCENARIO
};

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: law_job KERNELS SCENARIO eager|replay\n");
        return 2;
    }
    replaying = strcmp(argv[3], "replay") == 0;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(scenarios[i].name, argv[2]) != 0)
            continue;
        kernels = argv[1];
        printf("%s\n", argv[2]); /* stays in its buffer for now */
        if (strcmp(argv[2], "early") == 0)
            before_driver();
        open_driver();
        scenarios[i].run();
        print_results();
        return 0;
    }
    fprintf(stderr, "law_job: no scenario %s\n", argv[2]);
    return 2;
}
