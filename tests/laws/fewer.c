/* SPDX-License-Identifier: Apache-2.0 */
/* Replays that leave out calls of one kind. The forward makes three of them, one after the other,
 * and only what a replay's calls are given tells which of the three they are. */
#include "tests/laws/scenario.h"

enum { CALLS = 3 };
static CUdeviceptr ys[CALLS], states[CALLS];
static unsigned seeds[CALLS] = {11, 22, 33};
static void (*call_of)(int i);
static const int *comes; /* which of them a replay makes, ended by -1 */
static int turned;       /* the ith output is where the one so much after it was */

/* ---- what steps state, and tells by its output alone which one it is ------------------------- */

static void step_dense(int i)
{
    LAUNCH("step_state", n, &state_, &x, &ys[(i + turned) % CALLS], &n);
}

static void draw_and_advance(int i)
{
    LAUNCH("draw", n, &generator, &ys[i], &n);
    LAUNCH("advance", 1, &generator, &draws);
}

static void roll_history(int i)
{
    LAUNCH("roll", 8, &queue, &x, &ys[i]);
}

static void read_and_enqueue(int i)
{
    int head = 0;
    LAUNCH("read_queue", n, &queue, &x, &ys[i], &rows, &n);
    LAUNCH("enqueue", n, &queue, &ys[i], &head, &n);
}

static void copy_and_append(int i)
{
    CU(MemcpyDtoDAsync, ys[i], state_, WORDS(n), NULL);
    LAUNCH("append", n, &state_, &x, &n);
}

/* ---- what tells more ------------------------------------------------------------------------ */

static void step_own(int i)
{
    LAUNCH("step_state", n, &states[i], &x, &ys[i], &n);
}

static void draw_own(int i)
{
    LAUNCH("draw_with_seed", n, &seeds[i], &ys[i], &n);
    LAUNCH("step_state", n, &states[i], &ys[i], &ys[i], &n);
}

/* ---- the runs ------------------------------------------------------------------------------- */

static void all_calls(void)
{
    for (int i = 0; i < CALLS; i++)
        call_of(i);
}

static void some_calls(void)
{
    for (const int *i = comes; *i >= 0; i++)
        call_of(*i);
}

static void drop_outputs(void)
{
    for (const int *i = comes; *i >= 0; i++)
        CU(MemsetD8, ys[*i], 0xee, WORDS(n));
}

static void replay_calls(int turn)
{
    if (!replaying)
        return;
    drop_outputs();
    turned = turn;
    in_range("recompute/only", some_calls);
}

static void run(void (*call)(int i), const int *which, int turn)
{
    call_of = call;
    comes = which;
    begin_job();
    result("state", &state_, WORDS(n));
    result("generator", &generator, WORDS(4));
    result("queue", &queue, WORDS(ROWS * n));
    for (int i = 0; i < CALLS; i++) {
        result("own", &states[i], WORDS(n));
        ys[i] = ys[i] ? ys[i] : allocate(WORDS(n));
    }
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        in_range("forward/only", all_calls);
        overwrite();
        replay_calls(turn);
        for (int i = 0; i < CALLS; i++)
            LAUNCH("gradient", n, &ys[(i + turned) % CALLS], &g, &n);
        turned = 0;
        nvtxRangePop();
    }
}

static const int only_last[] = {2, -1}, without_second[] = {0, 2, -1}, without_first[] = {1, 2, -1},
                 without_last[] = {0, 1, -1};

#define OF_EACH_KIND(which)                                                                       \
    void scenario_##which##_of_dense(void) { run(step_dense, which, 0); }                         \
    void scenario_##which##_of_generator(void) { run(draw_and_advance, which, 0); }               \
    void scenario_##which##_of_history(void) { run(roll_history, which, 0); }                     \
    void scenario_##which##_of_queue(void) { run(read_and_enqueue, which, 0); }                   \
    void scenario_##which##_of_copies(void) { run(copy_and_append, which, 0); }
OF_EACH_KIND(only_last)
OF_EACH_KIND(without_second)
OF_EACH_KIND(without_first)

/* Where the end is left out, the others are what they seem to be. */
void scenario_without_last(void)
{
    run(step_dense, without_last, 0);
}

/* Each has state of its own, which tells them apart, or a number, and no call needs another one. */
void scenario_only_last_of_own(void)
{
    run(step_own, only_last, 0);
}

void scenario_only_last_by_seed(void)
{
    run(draw_own, only_last, 0);
}

/* They all have their output in one place: that the last one is meant, nothing tells. */
void scenario_only_one_of_alike(void)
{
    ys[0] = ys[1] = ys[2] = allocate(WORDS(n));
    run(step_dense, only_last, 0);
}

/* All come, and each has its output where another one had its own: memory is used again. */
void scenario_turned_outputs(void)
{
    static const int all[] = {0, 1, 2, -1};
    run(step_dense, all, 1);
}
