/* SPDX-License-Identifier: Apache-2.0 */
/* Races that a replay makes: other streams wait for the forward, and know nothing of the replay. */
#include "tests/laws/scenario.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static CUstream work, side;
static CUdeviceptr journal;
static int rounds = 20000;
static unsigned batch;

/* The job orders its two streams: what comes next in `to` runs after what `from` holds now. */
static void order(CUstream from, CUstream to)
{
    static CUevent event;
    if (!event)
        CU(EventCreate, &event, CU_EVENT_DISABLE_TIMING);
    CU(EventRecord, event, from);
    CU(StreamWaitEvent, to, event, 0);
}

static void slow_forward(void)
{
    int one = 1;
    LAUNCH_IN(work, "slow_fill", n, &scratch, &draws, &n, &rounds);
    LAUNCH_IN(work, "read_queue", n, &scratch, &x, &y, &one, &n);
}

static void slow_step_forward(void)
{
    LAUNCH_IN(work, "slow_fill", n, &scratch, &draws, &n, &rounds);
    LAUNCH_IN(work, "step_state", n, &state_, &x, &y, &n);
}

static void prefetch(void)
{
    batch += 17;
    LAUNCH_IN(side, "fill", n, &x, &batch, &n);
}

/* Has the forward's scratch memory for its own work, and for so long that a replay, made at the
 * same time, would write there in the middle of it. */
static void use_scratch(void)
{
    unsigned value = 2000;
    int longer = 3 * rounds;
    LAUNCH_IN(side, "fill", n, &scratch, &value, &n);
    LAUNCH_IN(side, "slow_fill", n, &where, &draws, &n, &longer);
    LAUNCH_IN(side, "append", n, &journal, &scratch, &n);
}

static void begin_race(void)
{
    begin_job();
    result("journal", &journal, WORDS(n));
    scratch = allocate(WORDS(n));
    where = allocate(WORDS(n));
    CU(StreamCreate, &work, CU_STREAM_NON_BLOCKING);
    CU(StreamCreate, &side, CU_STREAM_NON_BLOCKING);
}

static void (*load)(void); /* the input of a step, where it has a new one */

/* `before`, `inside` and `behind` the replay's range: one of them does the other stream's work. In
 * the eager run that comes behind the forward, wherever it is. */
static void run_race(void (*forward)(void), void (*before)(void), void (*inside)(void),
                     void (*behind)(void))
{
    synchronize();
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        if (load)
            load();
        in_range("forward/only", forward);
        order(work, side);
        if (before)
            before();
        if (replaying) {
            CU(MemsetD8Async, y, 0, WORDS(n), work);
            nvtxRangePushA("recompute/only");
            forward();
        }
        if (inside)
            inside();
        if (replaying)
            nvtxRangePop();
        if (behind)
            behind();
        LAUNCH_IN(work, "gradient", n, &y, &g, &n);
        order(side, work);
        nvtxRangePop();
    }
    synchronize();
}

/* The next batch comes where the replay reads, which the copy stream does not wait for. */
void scenario_prefetched(void)
{
    begin_race();
    result("state", &state_, WORDS(n));
    run_race(slow_step_forward, NULL, prefetch, NULL);
}

/* ... and behind the end of a replay for which nothing had to be put back. */
void scenario_prefetched_late(void)
{
    begin_race();
    run_race(slow_forward, NULL, NULL, prefetch);
}

/* Another stream has the memory that the replay works in next, and knows of the forward alone. */
void scenario_scratch_used_late(void)
{
    begin_race();
    run_race(slow_forward, NULL, NULL, use_scratch);
}

/* ... and has it first. */
void scenario_scratch_used_early(void)
{
    begin_race();
    run_race(slow_forward, use_scratch, NULL, NULL);
}

/* ---- memory that goes back to its pool ----------------------------------------------------- */

static CUdeviceptr others;

static void borrow_input(void)
{
    batch += 17;
    if (others)
        CU(MemFreeAsync, others, work);
    CU(MemAllocAsync, &x, WORDS(n), work);
    LAUNCH_IN(work, "fill", n, &x, &batch, &n);
}

/* Somebody else has it next. */
static void lend_input(void)
{
    unsigned value = 2000;
    CU(MemFreeAsync, x, side);
    CU(MemAllocAsync, &others, WORDS(n), side);
    LAUNCH_IN(side, "fill", n, &others, &value, &n);
}

/* The input goes back in a stream that knows of the forward alone. */
void scenario_given_back(void)
{
    CUmemoryPool pool;
    cuuint64_t all = UINT64_MAX;
    begin_race();
    CU(DeviceGetDefaultMemPool, &pool, 0);
    CU(MemPoolSetAttribute, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all);
    load = borrow_input;
    run_race(slow_forward, NULL, NULL, lend_input);
}

static CUgraphExec taking, giving;
static bool is_taken;

static CUgraphExec end_capture(void)
{
    CUgraph graph;
    CUgraphExec exec;
    CU(StreamEndCapture, side, &graph);
    CU(GraphInstantiate, &exec, graph, 0);
    CU(GraphDestroy, graph);
    return exec;
}

static void capture_memory(void)
{
    CU(StreamBeginCapture, side, CU_STREAM_CAPTURE_MODE_RELAXED);
    CU(MemAllocAsync, &x, WORDS(n), side);
    CU(MemcpyDtoDAsync, x, where, WORDS(n), side);
    taking = end_capture();
    CU(StreamBeginCapture, side, CU_STREAM_CAPTURE_MODE_RELAXED);
    CU(MemFreeAsync, x, side);
    giving = end_capture();
}

static void take_input(void)
{
    batch += 17;
    LAUNCH_IN(work, "fill", n, &where, &batch, &n);
    if (is_taken)
        CU(GraphLaunch, giving, work);
    CU(GraphLaunch, taking, work);
    is_taken = true;
}

static void lend_by_graph(void)
{
    unsigned value = 2000;
    CU(GraphLaunch, giving, side);
    LAUNCH_IN(side, "fill", n, &where, &value, &n);
    CU(GraphLaunch, taking, side);
}

/* The same of memory that a graph takes and another one gives back. */
void scenario_given_back_by_graph(void)
{
    begin_race();
    capture_memory();
    load = take_input;
    run_race(slow_forward, NULL, NULL, lend_by_graph);
}

/* ---- a replay that is under way ------------------------------------------------------------ */

static void use_put(void)
{
    int longer = 3 * rounds;
    LAUNCH_IN(side, "slow_fill", n, &scratch, &draws, &n, &longer);
    LAUNCH_IN(side, "append", n, &journal, &where, &n);
}

static void step_and_put(void)
{
    int one = 1;
    LAUNCH_IN(work, "step_state", n, &state_, &x, &y, &n);
    if (replaying && queue_row)
        use_put();
    LAUNCH_IN(work, "read_queue", n, &y, &x, &where, &one, &n);
}

/* The replay has begun, and has something rewound; another stream is slow to read what its second
 * call is to write. */
void scenario_read_before_put(void)
{
    begin_race();
    result("state", &state_, WORDS(n));
    watch("where", &where, WORDS(n));
    synchronize();
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        queue_row = 0;
        in_range("forward/only", step_and_put);
        LAUNCH_IN(work, "append", n, &state_, &x, &n);
        LAUNCH_IN(work, "append", n, &where, &x, &n);
        order(work, side);
        queue_row = 1;
        if (replaying)
            in_range("recompute/only", step_and_put);
        else
            use_put();
        LAUNCH_IN(work, "gradient", n, &y, &g, &n);
        order(side, work);
        nvtxRangePop();
    }
    synchronize();
}

static CUstream other;

/* The replay's stream does not wait for that of the forward, which has waited for the input. */
static void elsewhere_forward(void)
{
    CUstream stream = replaying && queue_row ? other : work;
    int one = 1;
    LAUNCH_IN(stream, "read_queue", n, &scratch, &x, &y, &one, &n);
    queue_row = 1;
}

static void copying_forward(void)
{
    CUstream stream = replaying && queue_row ? other : NULL;
    LAUNCH_IN(stream, "step_state", n, &state_, &x, &scratch, &n);
    CU(MemcpyDtoDAsync, where, scratch, WORDS(n), stream);
    LAUNCH_IN(stream, "step_state", n, &counters, &where, &y, &n);
    queue_row = 1;
}

/* A segment copies, in the default stream, and its replay in another one, where copies are not
 * known again elsewhere. */
void scenario_copied_elsewhere(void)
{
    begin_race();
    result("state", &state_, WORDS(n));
    result("second", &counters, WORDS(n));
    CU(StreamCreate, &other, CU_STREAM_DEFAULT);
    for (int step = 1; step <= STEPS; step++) {
        queue_row = 0;
        run_step(step, copying_forward, overwrite);
    }
}

static void load_slowly(void)
{
    queue_row = 0;
    batch += 17;
    LAUNCH_IN(work, "slow_fill", n, &scratch, &batch, &n, &rounds);
}

void scenario_replayed_elsewhere(void)
{
    begin_race();
    CU(StreamCreate, &other, CU_STREAM_NON_BLOCKING);
    synchronize();
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        load_slowly();
        in_range("forward/only", elsewhere_forward);
        if (replaying) {
            CU(MemsetD8Async, y, 0, WORDS(n), work);
            in_range("recompute/only", elsewhere_forward);
        }
        order(other, work);
        LAUNCH_IN(work, "gradient", n, &y, &g, &n);
        order(work, other);
        nvtxRangePop();
    }
    synchronize();
}

/* ---- two threads ------------------------------------------------------------------------ */

static atomic_bool is_setting;
static CUgraphExec setting; /* a graph that sets it; without one it is a launch */

static void *set_state(void *unused)
{
    CU(CtxSetCurrent, context);
    is_setting = true;
    if (setting)
        CU(GraphLaunch, setting, side);
    else
        LAUNCH_IN(side, "fill", n, &state_, &batch, &n);
    return unused;
}

static void capture_setting(void)
{
    CUgraph graph;
    unsigned value = 2000;
    CU(StreamBeginCapture, side, CU_STREAM_CAPTURE_MODE_RELAXED);
    LAUNCH_IN(side, "fill", n, &state_, &value, &n);
    CU(StreamEndCapture, side, &graph);
    CU(GraphInstantiate, &setting, graph, 0);
    CU(GraphDestroy, graph);
}

static void read_state_forward(void)
{
    int one = 1;
    LAUNCH_IN(work, "read_queue", n, &state_, &x, &y, &one, &n);
}

static void end_forward(void)
{
    int few = 1;
    LAUNCH_IN(work, "slow_fill", n, &where, &draws, &n, &few);
}

static void state_forward(void)
{
    read_state_forward();
    end_forward();
}

static void set_and_replay(void)
{
    pthread_t thread;
    batch += 17;
    is_setting = false;
    pthread_create(&thread, NULL, set_state, NULL);
    while (!is_setting)
        continue;
    usleep(3000);
    if (replaying) {
        CU(MemsetD8Async, y, 0, WORDS(n), work);
        nvtxRangePushA("recompute/only");
        read_state_forward();
    }
    pthread_join(thread, NULL);
    if (replaying) {
        end_forward();
        nvtxRangePop();
    }
}

static void run_meanwhile(void)
{
    synchronize();
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        in_range("forward/only", state_forward);
        synchronize();
        set_and_replay();
        order(side, work);
        LAUNCH_IN(work, "gradient", n, &y, &g, &n);
        LAUNCH_IN(work, "append", n, &journal, &state_, &n);
        synchronize();
        nvtxRangePop();
    }
}

static void begin_meanwhile(void)
{
    begin_race();
    result("state", &state_, WORDS(n));
}

/* One thread sets a state, and another replays at that time what has read it before. */
void scenario_set_meanwhile(void)
{
    begin_meanwhile();
    run_meanwhile();
}

void scenario_set_by_graph_meanwhile(void)
{
    begin_meanwhile();
    capture_setting();
    run_meanwhile();
}
