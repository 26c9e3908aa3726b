/* SPDX-License-Identifier: Apache-2.0 */
/* The law scenarios: small jobs that retain their activations (eager) or replay for them
 * (replay), and print a digest of every byte that a run leaves behind.
 *
 * usage: law_job KERNELS SCENARIO eager|replay
 *
 * They know nothing of reprise. An eager run and a guarded replaying run of one scenario must
 * print the same line; a bare replaying run prints another, or there was no hazard. */
#include <cuda.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1000, ROWS = 8, STEPS = 3 };
#define WORDS(count) ((size_t)(count) * sizeof(uint32_t))

/* ---- the driver --------------------------------------------------------------------- */

#define CALLS(X)                                                                                 \
    X(Init) X(DeviceGet) X(CtxCreate) X(ModuleLoadData) X(ModuleGetFunction) X(MemAlloc)          \
    X(MemFree) X(MemcpyHtoD) X(MemcpyDtoH) X(MemsetD8) X(LaunchKernel) X(StreamCreate)           \
    X(StreamSynchronize) X(CtxSynchronize) X(EventCreate) X(EventRecord) X(StreamWaitEvent)       \
    X(MemAddressReserve) X(MemCreate) X(MemMap) X(MemSetAccess) X(MemGetAllocationGranularity)
#define MEMBER(name) __typeof__(cu##name) *name;
static struct { CALLS(MEMBER) } driver;

static void check(CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "law_job: %s failed with %d\n", call, (int)result);
    exit(1);
}
#define CU(name, ...) check(driver.name(__VA_ARGS__), "cu" #name)

static void *look_up(void *library, const char *name)
{
    void *address = dlsym(library, name);
    if (!address) {
        fprintf(stderr, "law_job: no %s\n", name);
        exit(1);
    }
    return address;
}

#define TEXT(x) #x
#define NAME(x) TEXT(x)
#define LOAD(name) *(void **)(void *)&driver.name = look_up(library, NAME(cu##name));

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (!file || !text || !fread(text, 1, (1 << 20) - 1, file)) {
        fprintf(stderr, "law_job: can't read %s\n", path);
        exit(1);
    }
    fclose(file);
    return text;
}

static CUmodule module;

static void open_driver(const char *kernels)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "law_job: %s\n", dlerror());
        exit(1);
    }
    CALLS(LOAD)
    CUdevice device;
    CUcontext context;
    char *text = read_file(kernels);
    CU(Init, 0);
    CU(DeviceGet, &device, 0);
    CU(CtxCreate, &context, NULL, 0, device);
    CU(ModuleLoadData, &module, text);
    free(text);
}

static CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr memory;
    CU(MemAlloc, &memory, bytes);
    CU(MemsetD8, memory, 0, bytes);
    return memory;
}

static void launch_in(CUstream stream, const char *name, int threads, void **params)
{
    CUfunction function;
    CU(ModuleGetFunction, &function, module, name);
    CU(LaunchKernel, function, (unsigned)(threads + 127) / 128, 1, 1, 128, 1, 1, 0, stream, params,
       NULL);
}
#define LAUNCH_IN(stream, kernel, threads, ...)                                                  \
    launch_in(stream, kernel, threads, (void *[]){__VA_ARGS__})
#define LAUNCH(kernel, threads, ...) LAUNCH_IN(NULL, kernel, threads, __VA_ARGS__)

/* ---- a job that every scenario varies -------------------------------------------------- */

static bool replaying;
static int n = N, rows = ROWS;
static unsigned draws = N;
static CUdeviceptr state_, generator, queue, counters, x, y, g;
static struct {
    const char *name;
    CUdeviceptr *memory;
    size_t bytes;
} results[8];
static size_t result_count;

static void result(const char *name, CUdeviceptr *memory, size_t bytes)
{
    *memory = allocate(bytes);
    results[result_count].name = name;
    results[result_count].memory = memory;
    results[result_count++].bytes = bytes;
}

/* What the run leaves behind, one digest (FNV-1a) a buffer. */
static void print_results(void)
{
    check(driver.CtxSynchronize(), "cuCtxSynchronize");
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

static void set_input(int step)
{
    unsigned value = 1000u * (unsigned)step;
    LAUNCH("fill", n, &x, &value, &n);
}

static void in_range(const char *name, void (*work)(void))
{
    nvtxRangePushA(name);
    work();
    nvtxRangePop();
}

/* Forward, something in between, backward; the activation y is dropped and replayed for, or
 * retained. */
static void run_step(int step, void (*forward)(void), void (*between)(void))
{
    nvtxRangePushA("step");
    set_input(step);
    in_range("forward/only", forward);
    if (between)
        between();
    if (replaying) {
        CU(MemsetD8, y, 0xee, WORDS(n)); /* dropped */
        in_range("recompute/only", forward);
    }
    LAUNCH("gradient", n, &y, &g, &n);
    nvtxRangePop();
}

static void run_steps(void (*forward)(void), void (*between)(void))
{
    for (int step = 1; step <= STEPS; step++)
        run_step(step, forward, between);
}

static void begin_job(void)
{
    result("g", &g, WORDS(n));
    x = allocate(WORDS(n));
    y = allocate(WORDS(n));
}

/* ---- scenarios ----------------------------------------------------------------------------- */

static void step_forward(void)
{
    LAUNCH("step_state", n, &state_, &x, &y, &n);
}

/* A running statistic: read, modified and written by the segment itself. */
static void scenario_accumulator(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    run_steps(step_forward, NULL);
}

static void draw_forward(void)
{
    LAUNCH("draw", n, &generator, &y, &n);
    LAUNCH("advance", 1, &generator, &draws);
}

/* A generator in device memory: rewound for the replay, and standing where it stood after. */
static void scenario_generator(void)
{
    begin_job();
    result("generator", &generator, WORDS(4));
    run_steps(draw_forward, NULL);
}

static int queue_row;

static void queue_forward(void)
{
    LAUNCH("read_queue", n, &queue, &x, &y, &rows, &n);
    LAUNCH("enqueue", n, &queue, &x, &queue_row, &n);
}

static void next_row(void)
{
    int after = (queue_row + 3) % ROWS;
    LAUNCH("enqueue", n, &queue, &x, &after, &n); /* somebody else fills another row */
}

/* A ring: one row is written by the segment, one after it; the replay reads all the old ones. */
static void scenario_queue(void)
{
    begin_job();
    result("queue", &queue, WORDS(ROWS * n));
    for (int step = 1; step <= STEPS; step++) {
        queue_row = step % ROWS;
        run_step(step, queue_forward, next_row);
    }
}

static CUdeviceptr where;

static void somewhere_forward(void)
{
    LAUNCH("read_queue", n, &queue, &x, &y, &rows, &n);
    LAUNCH("enqueue_somewhere", n, &queue, &x, &where, &n);
}

/* The row is in device memory: the write is somewhere in the queue. */
static void scenario_queue_by_index(void)
{
    begin_job();
    result("queue", &queue, WORDS(ROWS * n));
    result("where", &where, WORDS(1));
    run_steps(somewhere_forward, NULL);
}

static void count_forward(void)
{
    LAUNCH("count", n, &counters, &x, &n);
    LAUNCH("step_state", n, &state_, &x, &y, &n);
}

/* Counters by atomics: which ones is in the data. */
static void scenario_counters(void)
{
    begin_job();
    result("counters", &counters, WORDS(8));
    result("state", &state_, WORDS(n));
    run_steps(count_forward, NULL);
}

static void patch_forward(void)
{
    int one = 1;
    LAUNCH("patch", n, &state_, &x, &n);
    LAUNCH("read_queue", n, &state_, &x, &y, &one, &n);
}

static void overwrite(void)
{
    unsigned value = 12345;
    LAUNCH("fill", n, &state_, &value, &n);
}

/* Read after it was possibly written: whether the old bytes matter, no proof can say. */
static void scenario_patch(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    run_steps(patch_forward, overwrite);
}

static void live_forward(void)
{
    int half = n / 2, third = n / 3;
    unsigned value = 77;
    CUdeviceptr upper = state_ + WORDS(n - n / 3);
    LAUNCH("step_state", half, &state_, &x, &y, &half);
    LAUNCH("step_state", n, &state_, &x, &y, &n);
    /* A gradient is written into the state's own allocation while it is rewound. */
    if (replaying && queue_row)
        LAUNCH("fill", third, &upper, &value, &third);
}

static void live_after(void)
{
    int third = n / 3;
    unsigned value = 77;
    CUdeviceptr upper = state_ + WORDS(n - n / 3);
    if (!replaying)
        LAUNCH("fill", third, &upper, &value, &third);
    queue_row = 1;
}

/* Written between rewind and reinstatement by a call that is no part of the replay. */
static void scenario_live_write(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        queue_row = 0;
        run_step(step, live_forward, live_after);
    }
}

static CUstream side;

static void side_writer(void)
{
    /* The job orders its own streams; that the layer's copies are ordered too is up to it. */
    static CUevent event;
    unsigned value = 5;
    int rounds = 20000, half = n / 2;
    if (!event)
        CU(EventCreate, &event, CU_EVENT_DISABLE_TIMING);
    CU(EventRecord, event, NULL);
    CU(StreamWaitEvent, side, event, 0);
    LAUNCH_IN(side, "slow_fill", half, &state_, &value, &half, &rounds);
    CU(EventRecord, event, side);
    CU(StreamWaitEvent, NULL, event, 0);
}

/* The clobbering write is in another stream, and slow. */
static void scenario_side_stream(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    CU(StreamCreate, &side, CU_STREAM_NON_BLOCKING);
    run_steps(step_forward, side_writer);
}

static CUdeviceptr second_view;

static void alias_writer(void)
{
    unsigned value = 3;
    int half = n / 2;
    CUdeviceptr inside = second_view + 256;
    LAUNCH("fill", half, &inside, &value, &half);
}

static CUdeviceptr map_at(CUmemGenericAllocationHandle handle, size_t bytes)
{
    CUdeviceptr address;
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CU(MemAddressReserve, &address, bytes, 0, 0, 0);
    CU(MemMap, address, bytes, 0, handle, 0);
    CU(MemSetAccess, address, bytes, &access, 1);
    return address;
}

/* One physical allocation at two addresses: the clobbering write comes by the other one. */
static void scenario_alias(void)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemGenericAllocationHandle handle;
    size_t bytes;
    begin_job();
    CU(MemGetAllocationGranularity, &bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    CU(MemCreate, &handle, bytes, &prop, 0);
    result("state", &state_, WORDS(1));
    state_ = map_at(handle, bytes);
    second_view = map_at(handle, bytes);
    results[result_count - 1].bytes = WORDS(n);
    CU(MemsetD8, state_, 0, bytes);
    run_steps(step_forward, alias_writer);
}

/* Three forwards are alive; `order` says in which order they are replayed. */
static void alive(const int *order, bool keyed)
{
    CUdeviceptr ys[3];
    begin_job();
    result("state", &state_, WORDS(n));
    for (int i = 0; i < 3; i++)
        ys[i] = allocate(WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        char name[32];
        nvtxRangePushA("step");
        set_input(step);
        for (int i = 0; i < 3; i++) {
            y = ys[i];
            snprintf(name, sizeof name, "forward/%c", keyed ? 'a' + i : 'x');
            in_range(name, step_forward);
        }
        for (int i = 0; i < 3; i++) {
            y = ys[order[i]];
            snprintf(name, sizeof name, "recompute/%c", keyed ? 'a' + order[i] : 'x');
            if (replaying) {
                CU(MemsetD8, y, 0xee, WORDS(n));
                in_range(name, step_forward);
            }
            LAUNCH("gradient", n, &y, &g, &n);
        }
        nvtxRangePop();
    }
}

static void scenario_lifo(void)
{
    alive((const int[]){2, 1, 0}, false);
}

static void scenario_fifo(void)
{
    alive((const int[]){0, 1, 2}, false);
}

static void scenario_key(void)
{
    alive((const int[]){1, 2, 0}, true);
}

/* Activations in fresh memory each time, as a framework has them. */
static void fresh_forward(void)
{
    if (y)
        CU(MemFree, y);
    CU(MemAlloc, &y, WORDS(n));
    LAUNCH("step_state", n, &state_, &x, &y, &n);
}

static void scenario_fresh_activations(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    run_steps(fresh_forward, NULL);
}

static void pure_forward(void)
{
    LAUNCH("read_queue", n, &queue, &x, &y, &rows, &n);
}

/* A control: nothing is clobbered, so nothing is kept and nothing is wrong without us. */
static void scenario_pure(void)
{
    begin_job();
    result("queue", &queue, WORDS(ROWS * n));
    run_steps(pure_forward, NULL);
}

static int turns;

static void diverging_forward(void)
{
    LAUNCH("draw", n, &generator, &y, &n);
    if (turns++ % 2 == 0)
        LAUNCH("advance", 1, &generator, &draws);
    LAUNCH("step_state", n, &state_, &x, &y, &n);
}

/* The replay leaves a launch out: host state that no layer can see. */
static void scenario_diverging(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    result("generator", &generator, WORDS(4));
    run_steps(diverging_forward, NULL);
}

/* A replay that nothing came before. */
static void scenario_unpaired(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    set_input(1);
    in_range("recompute/only", step_forward);
}

/* A child that calls the driver, as data loaders do by accident; the parent goes on. */
static void scenario_fork(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    pid_t child = fork();
    if (child == 0) {
        CUdevice device;
        driver.DeviceGet(&device, 0); /* whatever it answers, it answers */
        _exit(0);
    }
    waitpid(child, NULL, 0);
    run_steps(step_forward, NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"fork", scenario_fork},
    {"accumulator", scenario_accumulator},
    {"generator", scenario_generator},
    {"queue", scenario_queue},
    {"queue-by-index", scenario_queue_by_index},
    {"counters", scenario_counters},
    {"patch", scenario_patch},
    {"live-write", scenario_live_write},
    {"side-stream", scenario_side_stream},
    {"alias", scenario_alias},
    {"lifo", scenario_lifo},
    {"fifo", scenario_fifo},
    {"key", scenario_key},
    {"fresh-activations", scenario_fresh_activations},
    {"pure", scenario_pure},
    {"diverging", scenario_diverging},
    {"unpaired", scenario_unpaired},
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
        open_driver(argv[1]);
        scenarios[i].run();
        print_results();
        return 0;
    }
    fprintf(stderr, "law_job: no scenario %s\n", argv[2]);
    return 2;
}
