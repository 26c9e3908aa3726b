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
