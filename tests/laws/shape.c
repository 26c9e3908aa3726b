/* SPDX-License-Identifier: Apache-2.0 */
/* Replays that are not quite their forwards: fewer calls, others, in another order. */
#include "tests/laws/scenario.h"

static int turns;

static void diverging_forward(void)
{
    LAUNCH("draw", n, &generator, &y, &n);
    if (turns++ % 2 == 0)
        LAUNCH("advance", 1, &generator, &draws);
    LAUNCH("step_state", n, &state_, &x, &y, &n);
}

/* The replay leaves a launch out: host state that no layer can see. */
void scenario_diverging(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    result("generator", &generator, WORDS(4));
    run_steps(diverging_forward, NULL);
}

static void other_kernel_forward(void)
{
    const char *name = replaying && turns++ % 2 ? "step_state_again" : "step_state";
    LAUNCH(name, n, &state_, &x, &y, &n);
}

/* The replay launches another kernel with the same arguments. */
void scenario_other_kernel(void)
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
void scenario_drifting_seed(void)
{
    begin_job();
    run_steps(seed_forward, drift);
}

static unsigned host_data[N];

static void upload_forward(void)
{
    CU(MemcpyHtoD, y, host_data, WORDS(n));
}

/* One address space: the call does not say which side the bytes are on. */
static void upload_anyhow_forward(void)
{
    CU(Memcpy, y, (CUdeviceptr)(uintptr_t)host_data, WORDS(n));
}

static void upload_rows_anyhow_forward(void)
{
    const CUDA_MEMCPY2D rows_of = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED, .srcDevice = (CUdeviceptr)(uintptr_t)host_data,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED, .dstDevice = y, .WidthInBytes = WORDS(n) / 4,
        .srcPitch = WORDS(n) / 4, .dstPitch = WORDS(n) / 4, .Height = 4};
    CU(Memcpy2D, &rows_of);
}

static void change_host_data(void)
{
    for (unsigned i = 0; i < N; i++)
        host_data[i] += 17 * i + 3;
}

/* The replay uploads from host memory that has changed. */
void scenario_host_data(void)
{
    begin_job();
    run_steps(upload_forward, change_host_data);
}

void scenario_host_data_anyhow(void)
{
    begin_job();
    run_steps(upload_anyhow_forward, change_host_data);
}

void scenario_host_rows_anyhow(void)
{
    begin_job();
    run_steps(upload_rows_anyhow_forward, change_host_data);
}

/* ---- fewer calls ------------------------------------------------------------------------ */

static void reading_forward(void)
{
    LAUNCH("read_queue", n, &queue, &x, &y, &rows, &n);
    if (!replaying || turns++ % 2 == 0)
        LAUNCH("enqueue", n, &queue, &x, &queue_row, &n);
}

/* The replay stops as soon as it has what it was made for. */
void scenario_stopped_early(void)
{
    begin_job();
    result("queue", &queue, WORDS(ROWS * n));
    for (int step = 1; step <= STEPS; step++) {
        queue_row = step % ROWS;
        run_step(step, reading_forward, next_row);
    }
}

static CUdeviceptr table;
static bool is_filled;

static void fill_table_once(void)
{
    unsigned value = 4242;
    if (!is_filled)
        LAUNCH("fill", n, &table, &value, &n);
    is_filled = true;
}

static void tabled_forward(void)
{
    int one = 1;
    fill_table_once();
    LAUNCH("read_queue", n, &table, &x, &scratch, &one, &n);
    LAUNCH("step_state", n, &state_, &scratch, &y, &n);
}

/* The first forward fills a table; its replay finds it ready. */
void scenario_first_run(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    table = allocate(WORDS(n));
    scratch = allocate(WORDS(n));
    run_steps(tabled_forward, overwrite);
}

static void lazy_forward(void)
{
    unsigned value = 99;
    if (!is_filled)
        LAUNCH("fill", n, &state_, &value, &n);
    is_filled = true;
    step_forward();
}

/* The first forward makes the very state that it steps: the replay, which takes the warm branch,
 * must find it as it was made. */
void scenario_lazy_state(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    run_steps(lazy_forward, overwrite);
}

static void scratch_forward(void)
{
    unsigned value = 7;
    int one = 1;
    if (!replaying || turns++ % 2 == 0)
        LAUNCH("fill", n, &scratch, &value, &n);
    LAUNCH("read_queue", n, &scratch, &x, &y, &one, &n);
}

static void spoil_scratch(void)
{
    LAUNCH("fill", n, &scratch, &draws, &n);
}

/* The replay leaves out a call whose work somebody has undone since. */
void scenario_missed_call(void)
{
    begin_job();
    scratch = allocate(WORDS(n));
    in_range("forward/warm", scratch_forward); /* so that none below is a first run */
    turns = 0;
    nvtxRangePushA("step");
    for (int i = 0; i < 2; i++) {
        in_range("forward/only", scratch_forward);
        spoil_scratch();
        replay("recompute/only", scratch_forward);
        backward();
    }
    nvtxRangePop();
}

static void nothing(void)
{
}

/* The replay makes none of its forward's calls. */
void scenario_empty_replay(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    nvtxRangePushA("step");
    set_input(1);
    in_range("forward/only", step_forward);
    replay("recompute/only", nothing);
    nvtxRangePop();
}

/* ---- another order ---------------------------------------------------------------------- */

static CUdeviceptr other_y;

static void pair_forward(void)
{
    bool swapped = replaying && turns++ % 2;
    for (int i = 0; i < 2; i++) {
        if ((i == 0) != swapped)
            LAUNCH("step_state", n, &state_, &x, &y, &n);
        else
            LAUNCH("read_queue", n, &queue, &x, &other_y, &rows, &n);
    }
}

/* Two calls that have nothing to do with each other come the other way round. */
void scenario_reordered(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    queue = allocate(WORDS(ROWS * n));
    other_y = allocate(WORDS(n));
    run_steps(pair_forward, overwrite);
}

/* ---- other calls ------------------------------------------------------------------------ */

static CUdeviceptr weight, cast;

static void cast_weight(CUdeviceptr *to)
{
    int one = 1;
    LAUNCH("read_queue", n, &weight, &x, to, &one, &n);
}

static void cached_forward(void)
{
    CUdeviceptr *found = &cast;
    if (replaying && turns++ % 2) { /* the cache is missed: made once more, somewhere else */
        cast_weight(&scratch);
        found = &scratch;
    }
    LAUNCH("step_state", n, &state_, found, &y, &n);
}

/* A value that the forward found ready is made once more by the replay, from what has not
 * changed. */
void scenario_cache_missed(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    weight = allocate(WORDS(n));
    cast = allocate(WORDS(n));
    scratch = allocate(WORDS(n));
    set_input(1);
    cast_weight(&cast);
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        in_range("forward/only", cached_forward);
        overwrite();
        replay("recompute/only", cached_forward);
        backward();
        nvtxRangePop();
    }
}

static void touched_forward(void)
{
    step_forward();
    if (replaying && turns++ % 2)
        LAUNCH("gradient", n, &x, &y, &n);
}

/* The replay does something more to its own output. */
void scenario_touched_output(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    run_steps(touched_forward, NULL);
}

static void aside_forward(void)
{
    step_forward();
    if (replaying && turns++ % 2)
        LAUNCH("advance", 1, &generator, &draws);
}

/* The replay steps a generator that its forward has not touched. */
void scenario_stepped_aside(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    result("generator", &generator, WORDS(4));
    run_steps(aside_forward, NULL);
}

static void counted_forward(void)
{
    LAUNCH("count", n, &y, &x, &n);
    LAUNCH("fill", n, &y, &draws, &n);
}

/* The output is counted into, who knows where, before it is written: what of it was read is state,
 * and the rest is not. */
void scenario_counted_output(void)
{
    begin_job();
    run_steps(counted_forward, NULL);
}

/* ---- ranges that hold none of the calls they are about ------------------------------------ */

static CUstream captured_in;

static void captured_forward(void)
{
    LAUNCH_IN(captured_in, "step_state", n, &state_, &x, &y, &n);
}

static void captured_copy_forward(void)
{
    CU(MemcpyDtoDAsync, y, state_, WORDS(n), captured_in);
}

static CUgraphExec capture(const char *range, void (*forward)(void))
{
    CUgraph graph;
    CUgraphExec exec;
    CU(StreamBeginCapture, captured_in, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    in_range(range, forward);
    CU(StreamEndCapture, captured_in, &graph);
    CU(GraphInstantiate, &exec, graph, 0);
    CU(GraphDestroy, graph);
    return exec;
}

static void launch_graph(CUgraphExec exec)
{
    synchronize();
    CU(GraphLaunch, exec, captured_in);
    CU(StreamSynchronize, captured_in);
}

/* Marked while they are captured, and launched where nothing is marked. */
static void run_captured(void (*forward)(void), void (*between)(void))
{
    CUgraphExec first, again;
    begin_job();
    result("state", &state_, WORDS(n));
    CU(StreamCreate, &captured_in, CU_STREAM_NON_BLOCKING);
    first = capture("forward/only", forward);
    again = capture("recompute/only", forward);
    for (int step = 1; step <= STEPS; step++) {
        set_input(step);
        launch_graph(first);
        if (between)
            between();
        if (replaying)
            launch_graph(again);
        backward();
    }
    CU(GraphExecDestroy, first);
    CU(GraphExecDestroy, again);
}

void scenario_captured(void)
{
    run_captured(captured_forward, NULL);
}

void scenario_captured_copy(void)
{
    run_captured(captured_copy_forward, overwrite);
}

/* The forward's work comes after its range. */
void scenario_empty_forward(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        set_input(step);
        in_range("forward/only", nothing);
        step_forward();
        replay("recompute/only", step_forward);
        backward();
    }
}

/* ---- the host's own state ---------------------------------------------------------------- */

static struct {
    uint64_t counter;
    unsigned drawn;
} host_generator;

static void host_draw_forward(void)
{
    unsigned drawn = (unsigned)(++host_generator.counter * 2654435761u);
    host_generator.drawn += drawn;
    LAUNCH("draw_with_seed", n, &drawn, &y, &n);
}

static void host_draw_between(void)
{
    host_generator.counter += 5;
}

/* A generator of the host's: rewound for the replay, and standing where it stood after. */
void scenario_host_generator(void)
{
    static CUdeviceptr last;
    begin_job();
    run_steps(host_draw_forward, host_draw_between);
    result("host", &last, sizeof host_generator);
    CU(MemcpyHtoD, last, &host_generator, sizeof host_generator);
}
