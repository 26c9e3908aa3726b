/* SPDX-License-Identifier: Apache-2.0 */
/* The law scenarios: small jobs that retain their activations (eager) or replay for them
 * (replay), and print a digest of every byte that a run leaves behind.
 *
 * usage: law_job KERNELS SCENARIO eager|replay
 *
 * They know nothing of reprise. An eager run and a guarded replaying run of one scenario must
 * print the same line; a bare replaying run prints another, or there was no hazard. */
#include "tests/laws/driver.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1000, ROWS = 8, STEPS = 3 };
#define WORDS(count) ((size_t)(count) * sizeof(uint32_t))

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

/* The activation y is dropped, and made again by the forward's own launches. */
static void replay(const char *range, void (*forward)(void))
{
    if (!replaying)
        return;
    CU(MemsetD8, y, 0xee, WORDS(n));
    in_range(range, forward);
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
    replay("recompute/only", forward);
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
            replay(name, step_forward);
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

static CUdeviceptr journal, scratch;
static int long_rounds = 100000;

static void pure_slow_forward(void)
{
    LAUNCH("slow_fill", n, &scratch, &draws, &n, &long_rounds);
    pure_forward();
}

/* The job's replay only reads the queue: another stream may read it too, without waiting. */
static void scenario_reader_after(void)
{
    begin_job();
    result("queue", &queue, WORDS(ROWS * n));
    result("journal", &journal, WORDS(n));
    scratch = allocate(WORDS(n));
    CU(StreamCreate, &side, CU_STREAM_NON_BLOCKING);
    for (int step = 1; step <= STEPS; step++) {
        CUdeviceptr filled = queue + WORDS((step + 3) % ROWS * n);
        queue_row = step;
        nvtxRangePushA("step");
        set_input(step);
        in_range("forward/only", pure_slow_forward);
        next_row();
        synchronize();
        replay("recompute/only", pure_slow_forward);
        LAUNCH_IN(side, "append", n, &journal, &filled, &n);
        LAUNCH("gradient", n, &y, &g, &n);
        nvtxRangePop();
        synchronize();
    }
}

static struct lane {
    CUstream stream;
    CUdeviceptr activation, scratch;
    const char *forward, *replay;
} lanes[2] = {{.forward = "forward/a", .replay = "recompute/a"},
              {.forward = "forward/b", .replay = "recompute/b"}};

static void begin_lanes(void)
{
    begin_job();
    result("queue", &queue, WORDS(ROWS * n));
    for (int i = 0; i < 2; i++) {
        CU(StreamCreate, &lanes[i].stream, CU_STREAM_NON_BLOCKING);
        lanes[i].activation = allocate(WORDS(n));
        lanes[i].scratch = allocate(WORDS(n));
    }
}

static void run_lane(struct lane *lane, const char *range)
{
    nvtxRangePushA(range);
    LAUNCH_IN(lane->stream, "slow_fill", n, &lane->scratch, &draws, &n, &long_rounds);
    LAUNCH_IN(lane->stream, "read_queue", n, &queue, &x, &lane->activation, &rows, &n);
    nvtxRangePop();
}

/* Two replays are under way at once, each in its stream, and want other bytes of one queue. */
static void scenario_two_streams(void)
{
    begin_lanes();
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        synchronize();
        run_lane(&lanes[0], lanes[0].forward);
        synchronize();
        queue_row = step;
        next_row();
        synchronize();
        run_lane(&lanes[1], lanes[1].forward);
        synchronize();
        for (int i = 0; replaying && i < 2; i++)
            CU(MemsetD8, lanes[i].activation, 0xee, WORDS(n));
        synchronize();
        for (int i = 0; replaying && i < 2; i++)
            run_lane(&lanes[i], lanes[i].replay);
        synchronize();
        for (int i = 0; i < 2; i++)
            LAUNCH("gradient", n, &lanes[i].activation, &g, &n);
        nvtxRangePop();
        synchronize();
    }
}

static void first_row_forward(void)
{
    int one = 1;
    LAUNCH("read_queue", n, &queue, &x, &y, &one, &n);
}

static void upper_writer(void)
{
    unsigned value = 11;
    int quarter = n / 4;
    CUdeviceptr upper = queue + WORDS(n - n / 4);
    LAUNCH("fill", quarter, &upper, &value, &quarter);
}

/* One tensor lies over two physical allocations, mapped side by side. */
static void scenario_adjacent_mappings(void)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr base;
    size_t bytes;
    begin_job();
    CU(MemGetAllocationGranularity, &bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    CU(MemAddressReserve, &base, 2 * bytes, 0, 0, 0);
    for (size_t i = 0; i < 2; i++) {
        CU(MemCreate, &handle, bytes, &prop, 0);
        CU(MemMap, base + i * bytes, bytes, 0, handle, 0);
    }
    CU(MemSetAccess, base, 2 * bytes, &access, 1);
    result("queue", &queue, WORDS(n));
    queue = base + bytes - WORDS(n / 2);
    CU(MemsetD8, queue, 0, WORDS(n));
    run_steps(first_row_forward, upper_writer);
}

/* The upper half waits for the other stream's fill, the lower half does not. */
static void halves_forward(void)
{
    static CUevent filled;
    int half = n / 2;
    CUdeviceptr upper_state = state_ + WORDS(half), upper_x = x + WORDS(half),
                upper_y = y + WORDS(half);
    if (!filled)
        CU(EventCreate, &filled, CU_EVENT_DISABLE_TIMING);
    LAUNCH("step_state", half, &state_, &x, &y, &half);
    CU(EventRecord, filled, side);
    CU(StreamWaitEvent, NULL, filled, 0);
    LAUNCH("step_state", half, &upper_state, &upper_x, &upper_y, &half);
}

/* A half of the buffer is still being written by another stream when the segment begins. */
static void scenario_whole_side_stream(void)
{
    int half = n / 2;
    begin_job();
    result("state", &state_, WORDS(n));
    CU(StreamCreate, &side, CU_STREAM_NON_BLOCKING);
    step_forward();
    for (int step = 1; step <= STEPS; step++) {
        unsigned value = 9u * (unsigned)step;
        CUdeviceptr upper = state_ + WORDS(half);
        synchronize();
        LAUNCH_IN(side, "slow_fill", half, &upper, &value, &half, &long_rounds);
        run_step(step, halves_forward, NULL);
    }
}

static CUdeviceptr tables[3], second_y;

static void read_tables(const CUdeviceptr *first)
{
    CUdeviceptr left = first[0], right = first[1];
    int one = 1;
    LAUNCH("read_queue", n, &left, &x, &y, &one, &n);
    LAUNCH("read_queue", n, &right, &x, &second_y, &one, &n);
}

static void lower_forward(void)
{
    read_tables(&tables[0]);
}

static void upper_forward(void)
{
    read_tables(&tables[1]);
}

/* The first step is never replayed; its copies, still being filled in two streams, are given
 * to the second. */
static void scenario_expired_instance(void)
{
    unsigned first = 3, second = 2000;
    begin_job();
    result("table0", &tables[0], WORDS(n));
    result("table1", &tables[1], WORDS(n));
    result("table2", &tables[2], WORDS(n));
    scratch = allocate(WORDS(n));
    second_y = allocate(WORDS(n));
    CU(StreamCreate, &side, CU_STREAM_NON_BLOCKING);
    LAUNCH("fill", n, &tables[0], &draws, &n);
    nvtxRangePushA("step");
    set_input(1);
    in_range("forward/only", lower_forward);
    synchronize();
    LAUNCH_IN(side, "slow_fill", n, &scratch, &first, &n, &long_rounds);
    LAUNCH_IN(side, "fill", n, &tables[0], &first, &n);
    LAUNCH("fill", n, &tables[1], &first, &n);
    nvtxRangePop();
    nvtxRangePushA("step");
    in_range("forward/only", upper_forward);
    LAUNCH("fill", n, &tables[1], &second, &n);
    LAUNCH("fill", n, &tables[2], &second, &n);
    CU(StreamSynchronize, side);
    replay("recompute/only", upper_forward);
    LAUNCH("gradient", n, &y, &g, &n);
    LAUNCH("gradient", n, &second_y, &g, &n);
    nvtxRangePop();
}

/* The context is destroyed with all that was in it, and another one takes its addresses. */
static void scenario_second_context(void)
{
    static CUdeviceptr bystanders[2];
    scenario_accumulator();
    synchronize();
    CU(CtxDestroy, context);
    open_context();
    result_count = 0;
    begin_job();
    result("state", &state_, WORDS(n));
    result("bystander0", &bystanders[0], 1 << 20);
    result("bystander1", &bystanders[1], 1 << 20);
    for (int i = 0; i < 2; i++)
        LAUNCH("fill", n, &bystanders[i], &draws, &n);
    run_steps(step_forward, NULL);
}

/* A module that the driver reads from its file by itself. */
static void scenario_file_module(void)
{
    CU(ModuleLoad, &module, kernels);
    scenario_accumulator();
}

static void reset_forward(void)
{
    unsigned value = 7;
    LAUNCH("fill", n, &state_, &value, &n);
    pure_forward();
}

static void step_between(void)
{
    LAUNCH("step_state", n, &state_, &x, &scratch, &n);
}

/* The segment resets the state and never reads it; somebody else steps it after. */
static void scenario_write_only_state(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    queue = allocate(WORDS(ROWS * n));
    scratch = allocate(WORDS(n));
    run_steps(reset_forward, step_between);
}

static void other_kernel_forward(void)
{
    const char *name = replaying && turns++ % 2 ? "step_state_again" : "step_state";
    LAUNCH(name, n, &state_, &x, &y, &n);
}

/* The replay launches another kernel with the same arguments. */
static void scenario_other_kernel(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    run_steps(other_kernel_forward, NULL);
}

static unsigned seed;

static void seed_forward(void)
{
    LAUNCH("draw_with_seed", n, &seed, &y, &n);
}

static void drift(void)
{
    seed += 1000;
}

/* A seed of the host's own has moved on: the replay's argument is another. */
static void scenario_drifting_seed(void)
{
    begin_job();
    run_steps(seed_forward, drift);
}

static unsigned host_data[N];

static void upload_forward(void)
{
    CU(MemcpyHtoD, y, host_data, WORDS(n));
}

static void change_host_data(void)
{
    for (unsigned i = 0; i < N; i++)
        host_data[i] += 17 * i + 3;
}

/* The replay uploads from host memory that has changed. */
static void scenario_host_data(void)
{
    begin_job();
    run_steps(upload_forward, change_host_data);
}

static CUdeviceptr pool;

static void gather_forward(void)
{
    LAUNCH("gather", n, &pool, &where, &y, &n);
}

/* The replay's output lies in the pool that it gathers from: perhaps in what it reads. */
static void scenario_output_in_pool(void)
{
    begin_job();
    CUdeviceptr outside = y;
    pool = allocate(WORDS(ROWS * n));
    where = allocate(WORDS(1));
    for (int step = 1; step <= STEPS; step++) {
        unsigned value = 5u * (unsigned)step;
        int half = n / 2;
        nvtxRangePushA("step");
        y = outside;
        in_range("forward/only", gather_forward);
        LAUNCH("fill", half, &pool, &value, &half);
        if (replaying)
            y = pool + WORDS(5 * n);
        replay("recompute/only", gather_forward);
        LAUNCH("gradient", n, &y, &g, &n);
        nvtxRangePop();
    }
}

static pthread_barrier_t turn;

static void *replay_first(void *unused)
{
    CU(CtxSetCurrent, context);
    nvtxRangePushA(lanes[0].replay);
    LAUNCH("read_queue", n, &queue, &x, &lanes[0].activation, &rows, &n);
    pthread_barrier_wait(&turn); /* the second begins */
    pthread_barrier_wait(&turn);
    nvtxRangePop();
    pthread_barrier_wait(&turn); /* the second ends */
    return unused;
}

static void *replay_second(void *unused)
{
    CU(CtxSetCurrent, context);
    pthread_barrier_wait(&turn);
    nvtxRangePushA(lanes[1].replay);
    LAUNCH("read_queue", n, &queue, &x, &lanes[1].activation, &rows, &n);
    pthread_barrier_wait(&turn); /* the first ends */
    pthread_barrier_wait(&turn);
    nvtxRangePop();
    return unused;
}

/* The second thread's replay begins inside the first one's, and reads what that has rewound. */
static void scenario_crossed_replays(void)
{
    pthread_t threads[2];
    begin_lanes();
    nvtxRangePushA("step");
    set_input(1);
    for (int i = 0; i < 2; i++) {
        nvtxRangePushA(lanes[i].forward);
        LAUNCH("read_queue", n, &queue, &x, &lanes[i].activation, &rows, &n);
        nvtxRangePop();
    }
    queue_row = 1;
    next_row();
    pthread_barrier_init(&turn, NULL, 2);
    pthread_create(&threads[0], NULL, replay_first, NULL);
    pthread_create(&threads[1], NULL, replay_second, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    nvtxRangePop();
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
    {"reader-after", scenario_reader_after},
    {"two-streams", scenario_two_streams},
    {"adjacent-mappings", scenario_adjacent_mappings},
    {"whole-side-stream", scenario_whole_side_stream},
    {"expired-instance", scenario_expired_instance},
    {"second-context", scenario_second_context},
    {"file-module", scenario_file_module},
    {"write-only-state", scenario_write_only_state},
    {"other-kernel", scenario_other_kernel},
    {"drifting-seed", scenario_drifting_seed},
    {"host-data", scenario_host_data},
    {"output-in-pool", scenario_output_in_pool},
    {"crossed-replays", scenario_crossed_replays},
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
        open_driver();
        scenarios[i].run();
        print_results();
        return 0;
    }
    fprintf(stderr, "law_job: no scenario %s\n", argv[2]);
    return 2;
}
