/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that a replay's range holds and its forward's did not: the job's own work, at a time when
 * the forward's calls are still to be made once more. */
#include "tests/laws/scenario.h"

static unsigned batch;
static CUdeviceptr second_state, second_y;

static void load(void)
{
    batch += 17;
    LAUNCH("fill", n, &x, &batch, &n);
}

/* The next batch is loaded as soon as the forward is over. */
static void run_loading(void (*put)(void))
{
    begin_job();
    result("state", &state_, WORDS(n));
    load();
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        in_range("forward/only", step_forward);
        if (replaying) {
            CU(MemsetD8, y, 0, WORDS(n));
            nvtxRangePushA("recompute/only");
        }
        put();
        if (replaying) {
            step_forward();
            nvtxRangePop();
        }
        LAUNCH("gradient", n, &y, &g, &n);
        nvtxRangePop();
    }
}

void scenario_loaded_inside(void)
{
    run_loading(load);
}

static void copy_in(void)
{
    batch += 17;
    LAUNCH("fill", n, &scratch, &batch, &n);
    CU(MemcpyDtoDAsync, x, scratch, WORDS(n), NULL);
}

void scenario_copied_inside(void)
{
    scratch = 0;
    CU(MemAlloc, &scratch, WORDS(n));
    run_loading(copy_in);
}

static void reset_second(void)
{
    unsigned value = 5;
    LAUNCH("fill", n, &second_state, &value, &n);
}

static void two_steps_forward(void)
{
    bool is_replay = replaying && queue_row;
    LAUNCH("step_state", n, &state_, &x, &y, &n);
    if (is_replay)
        reset_second();
    LAUNCH("step_state", n, &second_state, &y, &second_y, &n);
    queue_row = 1;
}

/* A state is set to what it is from now on between the replay's beginning and the call that steps
 * it from where the forward found it. */
void scenario_reset_inside(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    result("second", &second_state, WORDS(n));
    second_y = allocate(WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        queue_row = 0;
        in_range("forward/only", two_steps_forward);
        if (!replaying)
            reset_second();
        replay("recompute/only", two_steps_forward);
        LAUNCH("gradient", n, &y, &g, &n);
        LAUNCH("gradient", n, &second_y, &g, &n);
        nvtxRangePop();
    }
}
