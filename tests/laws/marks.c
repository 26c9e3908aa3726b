/* SPDX-License-Identifier: Apache-2.0 */
/* Marks in odd places: ranges of forward and replay that hold different parts of a piece of work,
 * and work of other threads in the middle of one. */
#include "tests/laws/scenario.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static void draw_only(void)
{
    LAUNCH("draw", n, &generator, &y, &n);
}

static void advance_only(void)
{
    LAUNCH("advance", 1, &generator, &draws);
}

static void draw_and_advance(void)
{
    draw_only();
    advance_only();
}

static void nothing(void)
{
}

/* The ranges hold these, and what comes behind each of them is part of its work too. */
static void marked(void (*forward)(void), void (*after)(void), void (*again)(void),
                   void (*after_again)(void))
{
    begin_job();
    result("generator", &generator, WORDS(4));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        in_range("forward/only", forward);
        after();
        replay("recompute/only", again);
        if (replaying)
            after_again();
        backward();
        nvtxRangePop();
    }
}

void scenario_forward_ends_early(void)
{
    marked(draw_only, advance_only, draw_and_advance, nothing);
}

void scenario_replay_ends_early(void)
{
    marked(draw_and_advance, nothing, draw_only, advance_only);
}

void scenario_both_end_early(void)
{
    marked(draw_only, advance_only, draw_only, advance_only);
}

/* ---- in the middle ------------------------------------------------------------------------- */

static void *append_aside(void *unused)
{
    CU(CtxSetCurrent, context);
    LAUNCH("append", n, &state_, &x, &n);
    synchronize();
    return unused;
}

static bool is_again;

static void in_between(void)
{
    pthread_t thread;
    if (is_again)
        return;
    pthread_create(&thread, NULL, append_aside, NULL);
    pthread_join(thread, NULL);
}

static void read_twice(void)
{
    int one = 1;
    LAUNCH("read_queue", n, &state_, &x, &scratch, &one, &n);
    in_between();
    LAUNCH("read_queue", n, &state_, &scratch, &y, &one, &n);
    is_again = !is_again && replaying;
}

static void step_twice(void)
{
    LAUNCH("step_state", n, &state_, &x, &scratch, &n);
    in_between();
    LAUNCH("step_state", n, &state_, &scratch, &y, &n);
    is_again = !is_again && replaying;
}

static void disturbed(void (*forward)(void))
{
    begin_job();
    result("state", &state_, WORDS(n));
    scratch = allocate(WORDS(n));
    run_steps(forward, overwrite);
}

static void *step_second(void *unused)
{
    CU(CtxSetCurrent, context);
    LAUNCH("step_state", n, &counters, &x, &scratch, &n);
    synchronize();
    return unused;
}

static void step_with_help(void)
{
    pthread_t thread;
    LAUNCH("step_state", n, &state_, &x, &y, &n);
    pthread_create(&thread, NULL, step_second, NULL);
    pthread_join(thread, NULL);
}

/* Another thread, without a range, makes a part of the segment. */
void scenario_helped(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    result("second", &counters, WORDS(n));
    scratch = allocate(WORDS(n));
    run_steps(step_with_help, NULL);
}

/* Another thread writes between two calls of the forward. */
void scenario_written_between(void)
{
    disturbed(read_twice);
}

void scenario_stepped_between(void)
{
    disturbed(step_twice);
}

/* ---- ranges that are older than the driver ------------------------------------------------- */

static pthread_t forward_thread;
static atomic_int turn; /* 1: the ranges are open, 2: the driver is, 3: the forward has run */

static void await(int wanted)
{
    while (turn < wanted)
        usleep(100);
}

static void early_forward(void)
{
    LAUNCH("step_state", n, &state_, &x, &y, &n);
}

static void *run_forward(void *unused)
{
    nvtxRangePushA("gone");
    nvtxRangePop();
    nvtxRangePushA("forward/only");
    turn = 1;
    await(2);
    CU(CtxSetCurrent, context);
    early_forward();
    nvtxRangePop();
    turn = 3;
    return unused;
}

void before_driver(void)
{
    pthread_create(&forward_thread, NULL, run_forward, NULL);
    nvtxRangePushA("gone");
    nvtxRangePushA("step");
    await(1);
}

/* The first step, and the forward in it, which has a thread of its own, were there before the
 * driver was. */
void scenario_early(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    set_input(1);
    synchronize();
    turn = 2;
    pthread_join(forward_thread, NULL);
    overwrite();
    replay("recompute/only", early_forward);
    backward();
    nvtxRangePop();
    nvtxRangePop();
    for (int step = 2; step <= STEPS; step++)
        run_step(step, early_forward, overwrite);
}
