/* SPDX-License-Identifier: Apache-2.0 */
/* Several streams and threads: what waits for what. */
#include "tests/laws/scenario.h"

#include <pthread.h>

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
void scenario_side_stream(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    CU(StreamCreate, &side, CU_STREAM_NON_BLOCKING);
    run_steps(step_forward, side_writer);
}

static CUdeviceptr journal;
static int long_rounds = 100000;

static void pure_slow_forward(void)
{
    LAUNCH("slow_fill", n, &scratch, &draws, &n, &long_rounds);
    pure_forward();
}

/* The job's replay only reads the queue: another stream may read it too, without waiting. */
void scenario_reader_after(void)
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
void scenario_two_streams(void)
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
void scenario_whole_side_stream(void)
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
void scenario_crossed_replays(void)
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
void scenario_expired_instance(void)
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

/* ---- memory that others refill ----------------------------------------------------------- */

/* The job orders its two streams: what comes next in `to` runs after what `from` holds now. */
static void order(CUstream from, CUstream to)
{
    static CUevent event;
    if (!event)
        CU(EventCreate, &event, CU_EVENT_DISABLE_TIMING);
    CU(EventRecord, event, from);
    CU(StreamWaitEvent, to, event, 0);
}

static unsigned *slab; /* pinned host memory */

static void begin_slab(void)
{
    void *memory;
    begin_job();
    CU(StreamCreate, &side, CU_STREAM_NON_BLOCKING);
    CU(MemHostAlloc, &memory, WORDS(n), 0);
    slab = memory;
    for (int i = 0; i < n; i++)
        slab[i] = 31u * (unsigned)i;
    scratch = allocate(WORDS(n));
}

static void load_forward(void)
{
    int one = 1;
    CU(MemcpyHtoDAsync, scratch, slab, WORDS(n), NULL);
    LAUNCH("read_queue", n, &scratch, &x, &y, &one, &n);
}

static void refill_slab(void)
{
    order(NULL, side);
    LAUNCH_IN(side, "slow_fill", n, &queue, &draws, &n, &long_rounds);
    CU(MemcpyDtoHAsync, slab, queue, WORDS(n), side);
    order(side, NULL);
}

/* A pinned slab is refilled by another stream before the replay loads from it again. */
void scenario_pinned_slab(void)
{
    begin_slab();
    queue = allocate(WORDS(n));
    run_steps(load_forward, refill_slab);
}

static void read_loaded_forward(void)
{
    int one = 1;
    LAUNCH("read_queue", n, &scratch, &x, &y, &one, &n);
}

/* Host code fills the slab anew, and the device overwrites what was loaded from it. */
static void lose_loaded(void)
{
    unsigned value = 99;
    synchronize();
    for (int i = 0; i < n; i++)
        slab[i] = slab[i] * 3u + 1u;
    LAUNCH("fill", n, &scratch, &value, &n);
}

/* The segment loads from the slab: its replay would load something else. */
void scenario_host_slab(void)
{
    begin_slab();
    run_steps(load_forward, lose_loaded);
}

/* What was loaded before the segment is the past of its replay, whatever the slab holds by then. */
void scenario_loaded(void)
{
    begin_slab();
    for (int step = 1; step <= STEPS; step++) {
        CU(MemcpyHtoDAsync, scratch, slab, WORDS(n), NULL);
        run_step(step, read_loaded_forward, lose_loaded);
    }
}

static void CUDA_CB rewrite_slab(void *unused)
{
    (void)unused;
    for (int i = 0; i < n; i++)
        slab[i] = slab[i] * 7u + 1u;
}

static void read_slab_forward(void)
{
    CUdeviceptr mapped = (CUdeviceptr)slab;
    int one = 1;
    LAUNCH("read_queue", n, &mapped, &x, &y, &one, &n);
}

static void call_host(void)
{
    CU(LaunchHostFunc, NULL, rewrite_slab, NULL);
}

/* A host function, in its turn in the stream, writes the memory that the segment reads. */
void scenario_host_function(void)
{
    begin_slab();
    run_steps(read_slab_forward, call_host);
}

static CUdeviceptr slot;

static void slot_forward(void)
{
    int one = 1;
    LAUNCH("read_queue", n, &slot, &x, &y, &one, &n);
    LAUNCH("step_state", n, &state_, &y, &scratch, &n);
}

/* Another buffer gets the address of one that the segment has written: its bytes are nobody's
 * history. */
static void recycle_scratch(void)
{
    unsigned value = 5;
    CU(MemFree, scratch);
    CU(MemAlloc, &scratch, WORDS(n));
    LAUNCH("fill", n, &scratch, &value, &n);
    overwrite();
}

/* Freed addresses come back as other buffers, in the middle of all. */
void scenario_recycled_address(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    slot = allocate(WORDS(n));
    scratch = allocate(WORDS(n));
    run_steps(slot_forward, recycle_scratch);
}

static void aside_forward(void)
{
    int half = n / 2;
    unsigned value = 77;
    CUdeviceptr upper = state_ + WORDS(n - half);
    LAUNCH("fill", n, &y, &draws, &n);
    LAUNCH("step_state", half, &state_, &x, &y, &half);
    if (replaying && queue_row) { /* in the replay: a gradient arrives, in another stream */
        order(NULL, side);
        LAUNCH_IN(side, "slow_fill", half, &upper, &value, &half, &long_rounds);
        order(side, NULL);
    }
}

static void aside_after(void)
{
    int half = n / 2;
    unsigned value = 77;
    CUdeviceptr upper = state_ + WORDS(n - half);
    overwrite();
    if (!replaying)
        LAUNCH("slow_fill", half, &upper, &value, &half, &long_rounds);
    queue_row = 1;
}

/* A live write beside the rewound bytes, in the same allocation and another stream. */
void scenario_live_write_aside(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    CU(StreamCreate, &side, CU_STREAM_NON_BLOCKING);
    for (int step = 1; step <= STEPS; step++) {
        queue_row = 0;
        run_step(step, aside_forward, aside_after);
    }
}

static void fill_in_side(CUdeviceptr half_of_state)
{
    int half = n / 2;
    unsigned value = 77;
    LAUNCH_IN(side, "fill", half, &half_of_state, &value, &half);
}

static void late_forward(void)
{
    int half = n / 2;
    bool is_replay = replaying && queue_row;
    CUdeviceptr upper = state_ + WORDS(half), y_upper = y + WORDS(half);
    LAUNCH("step_state", half, &state_, &x, &y, &half);
    if (is_replay)
        fill_in_side(state_);
    LAUNCH("slow_fill", n, &scratch, &draws, &n, &long_rounds);
    LAUNCH("step_state", half, &upper, &x, &y_upper, &half);
    if (is_replay) {
        fill_in_side(upper);
        order(side, NULL);
    }
}

static void late_after(void)
{
    order(NULL, side);
    if (!replaying) {
        fill_in_side(state_);
        fill_in_side(state_ + WORDS(n / 2));
        order(side, NULL);
    }
    queue_row = 1;
}

/* Two live writes in a stream that waits for the forward alone: the second one comes when that
 * stream has met the replay already, and must not come before what the replay reads since. */
void scenario_live_write_late(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    scratch = allocate(WORDS(n));
    CU(StreamCreate, &side, CU_STREAM_NON_BLOCKING);
    for (int step = 1; step <= STEPS; step++) {
        queue_row = 0;
        run_step(step, late_forward, late_after);
    }
}
