/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that write other words each, in streams that nothing orders, where no proof tells the words
 * apart: which of them a patch writes is in its data. */
#include "tests/laws/scenario.h"

enum { ODD, EVEN, EVEN_LATER, MASKS };

static CUstream lanes[2];
static CUdeviceptr masks[MASKS];
static int long_rounds = 100000;

static void begin_patched(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    scratch = allocate(WORDS(n));
    for (int i = 0; i < MASKS; i++)
        masks[i] = allocate(WORDS(n));
    for (int i = 0; i < 2; i++)
        CU(StreamCreate, &lanes[i], CU_STREAM_NON_BLOCKING);
}

/* The job orders its streams: what comes next in `to` runs after what `from` holds now. */
static void order(CUstream from, CUstream to)
{
    static CUevent event;
    if (!event)
        CU(EventCreate, &event, CU_EVENT_DISABLE_TIMING);
    CU(EventRecord, event, from);
    CU(StreamWaitEvent, to, event, 0);
}

static void begin_step(int step)
{
    unsigned values[MASKS] = {1000u * (unsigned)step, 1000u * (unsigned)step + 1,
                              1000u * (unsigned)step + 501};
    nvtxRangePushA("step");
    set_input(step);
    for (int i = 0; i < MASKS; i++)
        LAUNCH("fill", n, &masks[i], &values[i], &n);
    for (int i = 0; i < 2; i++)
        order(NULL, lanes[i]);
}

static void dawdle(CUstream lane)
{
    LAUNCH_IN(lane, "slow_fill", n, &scratch, &draws, &n, &long_rounds);
}

static void patch_in(CUstream lane, int mask)
{
    LAUNCH_IN(lane, "patch", n, &state_, &masks[mask], &n);
}

static void end_step(void)
{
    backward();
    order(lanes[0], NULL);
    order(lanes[1], NULL);
    nvtxRangePop();
}

static void read_all(void)
{
    int one = 1;
    LAUNCH("read_queue", n, &state_, &x, &y, &one, &n);
}

static void patch_all(void)
{
    order(NULL, lanes[0]);
    order(NULL, lanes[1]);
    dawdle(lanes[0]);
    patch_in(lanes[0], ODD);
    patch_in(lanes[1], EVEN);
    order(lanes[0], NULL);
    order(lanes[1], NULL);
}

/* The second patch may run before the copy that is made for the first one, which has to hold what
 * the second one overwrites as well. */
void scenario_interleaved(void)
{
    begin_patched();
    for (int step = 1; step <= STEPS; step++) {
        begin_step(step);
        in_range("forward/only", read_all);
        patch_all();
        replay("recompute/only", read_all);
        end_step();
    }
}

static void read_and_patch(void)
{
    read_all();
    patch_all();
}

/* The same where the segment itself patches, in its forward and in the replay. */
void scenario_interleaved_inside(void)
{
    begin_patched();
    for (int step = 1; step <= STEPS; step++) {
        begin_step(step);
        in_range("forward/only", read_and_patch);
        replay("recompute/only", read_and_patch);
        end_step();
    }
}

static void read_even(void)
{
    LAUNCH("read_patched", n, &state_, &masks[EVEN], &y, &n);
}

/* What the segment reads is patched in one lane, slowly. The other lane has patched what lies
 * between since then, by the order of the calls, and does so once more. */
void scenario_interleaved_before(void)
{
    begin_patched();
    for (int step = 1; step <= STEPS; step++) {
        begin_step(step);
        dawdle(lanes[1]);
        patch_in(lanes[1], EVEN);
        patch_in(lanes[0], ODD);
        order(lanes[1], NULL);
        in_range("forward/only", read_even);
        patch_in(lanes[0], ODD);
        order(NULL, lanes[1]);
        patch_in(lanes[1], EVEN_LATER);
        order(lanes[1], NULL);
        replay("recompute/only", read_even);
        end_step();
    }
}

/* The memory of the dropped activation serves as something else, half of which each lane fills. */
static void use_again(CUdeviceptr memory)
{
    int half = n / 2;
    unsigned values[2] = {3, 77};
    CUdeviceptr upper = memory + WORDS(half);
    order(NULL, lanes[0]);
    order(NULL, lanes[1]);
    dawdle(lanes[0]);
    LAUNCH_IN(lanes[0], "fill", half, &memory, &values[0], &half);
    LAUNCH_IN(lanes[1], "fill", half, &upper, &values[1], &half);
    order(lanes[0], NULL);
    order(lanes[1], NULL);
    LAUNCH("gradient", n, &memory, &g, &n);
}

static void read_and_step(void)
{
    LAUNCH("step_state", n, &state_, &x, &y, &n);
}

/* A retained output is copied before the first of two writes to it, as a whole. */
void scenario_interleaved_over_output(void)
{
    CUdeviceptr other;
    begin_patched();
    other = allocate(WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        begin_step(step);
        in_range("forward/only", read_and_step);
        use_again(replaying ? y : other);
        replay("recompute/only", read_and_step);
        end_step();
    }
}
