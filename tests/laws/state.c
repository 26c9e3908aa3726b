/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers that a segment steps, draws from, rolls or counts in. */
#include "tests/laws/scenario.h"

#include <string.h>

/* A running statistic: read, modified and written by the segment itself. */
void scenario_accumulator(void)
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
void scenario_generator(void)
{
    begin_job();
    result("generator", &generator, WORDS(4));
    run_steps(draw_forward, NULL);
}

static void queue_forward(void)
{
    LAUNCH("read_queue", n, &queue, &x, &y, &rows, &n);
    LAUNCH("enqueue", n, &queue, &x, &queue_row, &n);
}

/* A ring: one row is written by the segment, one after it; the replay reads all the old ones. */
void scenario_queue(void)
{
    begin_job();
    result("queue", &queue, WORDS(ROWS * n));
    for (int step = 1; step <= STEPS; step++) {
        queue_row = step % ROWS;
        run_step(step, queue_forward, next_row);
    }
}

static void somewhere_forward(void)
{
    LAUNCH("read_queue", n, &queue, &x, &y, &rows, &n);
    LAUNCH("enqueue_somewhere", n, &queue, &x, &where, &n);
}

/* The row is in device memory: the write is somewhere in the queue. */
void scenario_queue_by_index(void)
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
void scenario_counters(void)
{
    begin_job();
    result("counters", &counters, WORDS(8));
    result("state", &state_, WORDS(n));
    run_steps(count_forward, NULL);
}

static void scattered_forward(void)
{
    int one = 1, words = n / 5;
    LAUNCH("read_queue", n, &state_, &x, &y, &one, &n);
    LAUNCH("sprinkle", words, &state_, &x, &words);
}

/* Hundreds of words near each other, each read and stepped. */
void scenario_scattered(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    run_steps(scattered_forward, NULL);
}

static void patch_forward(void)
{
    int one = 1;
    LAUNCH("patch", n, &state_, &x, &n);
    LAUNCH("read_queue", n, &state_, &x, &y, &one, &n);
}

/* Read after it was possibly written: whether the old bytes matter, no proof can say. */
void scenario_patch(void)
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
void scenario_live_write(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        queue_row = 0;
        run_step(step, live_forward, live_after);
    }
}

/* Activations in fresh memory each time, as a framework has them. */
static void fresh_forward(void)
{
    if (y)
        CU(MemFree, y);
    CU(MemAlloc, &y, WORDS(n));
    LAUNCH("step_state", n, &state_, &x, &y, &n);
}

void scenario_fresh_activations(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    run_steps(fresh_forward, NULL);
}

/* A control: nothing is clobbered, so nothing is kept and nothing is wrong without us. */
void scenario_pure(void)
{
    begin_job();
    result("queue", &queue, WORDS(ROWS * n));
    run_steps(pure_forward, NULL);
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
void scenario_write_only_state(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    queue = allocate(WORDS(ROWS * n));
    scratch = allocate(WORDS(n));
    run_steps(reset_forward, step_between);
}

/* Nobody has ever written the state when the segment reads it: that is a value too. */
void scenario_never_written(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        CU(MemFree, state_);
        CU(MemAlloc, &state_, WORDS(n));
        run_step(step, step_forward, overwrite);
    }
}

static void roll_forward(void)
{
    LAUNCH("roll", ROWS, &queue, &x, &where);
    LAUNCH("draw", n, &where, &y, &n);
}

static void roll_between(void)
{
    LAUNCH("roll", ROWS, &queue, &x, &scratch);
}

static void step_through_forward(void)
{
    LAUNCH("step_through", n, &state_, &x, &y, &n);
}

/* A kernel looks at its output: that is no state, and is not put back. */
void scenario_read_back(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    run_steps(step_through_forward, NULL);
}

/* A history of which all but the oldest entry is read: what takes its place is state too. */
void scenario_rolled(void)
{
    begin_job();
    result("history", &queue, WORDS(ROWS));
    scratch = allocate(WORDS(ROWS));
    where = allocate(WORDS(ROWS));
    run_steps(roll_forward, roll_between);
}

static void append_forward(void)
{
    LAUNCH("append", n, &y, &x, &n);
}

/* The segment adds to an output that the job zeroes before it, and before the replay too. */
void scenario_zeroed_output(void)
{
    begin_job();
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        CU(MemsetD8, y, 0, WORDS(n));
        in_range("forward/only", append_forward);
        if (replaying) {
            CU(MemsetD8, y, 0, WORDS(n));
            in_range("recompute/only", append_forward);
        }
        backward();
        nvtxRangePop();
    }
}

static void clock_forward(void)
{
    LAUNCH("draw_by_clock", n, &y, &n);
}

/* A generator that no state could bring back. */
void scenario_unsteady(void)
{
    begin_job();
    run_steps(clock_forward, NULL);
}

struct padded {
    char factor;
    CUdeviceptr state, places[4];
    int n;
};

/* Each call finds other bytes on the stack where it sets none. */
static void padded_forward(void)
{
    static unsigned unset = 1;
    struct padded by;
    memset(&by, (int)++unset, sizeof by);
    by.factor = 3;
    by.state = state_;
    by.places[0] = y;
    by.n = n;
    LAUNCH("step_padded", n, &by, &x, &unset);
}

/* What a struct by value has between its members, and in places without use, is no value. */
void scenario_padded(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    run_steps(padded_forward, NULL);
}
