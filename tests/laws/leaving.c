/* SPDX-License-Identifier: Apache-2.0 */
/* What the layer has used goes away while a replay's range is open: its stream, the context that
 * was current, the thread; and more forwards wait than anybody thought of. */
#include "tests/laws/scenario.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static CUstream passing; /* in which the next call goes */
static CUstream aside;   /* which waits for no other */

static void passing_forward(void)
{
    LAUNCH_IN(passing, "step_state", n, &state_, &x, &y, &n);
}

/* A stream of its own for each pass, given up as soon as it has its work: that still runs. */
static void forward_in_passing(void)
{
    CU(StreamCreate, &passing, CU_STREAM_DEFAULT);
    passing_forward();
    CU(StreamDestroy, passing);
}

void scenario_stream_left(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    run_steps(forward_in_passing, overwrite);
}

/* ... and the replay goes on in another. */
static void two_in_passing(void)
{
    forward_in_passing();
    CU(StreamCreate, &passing, CU_STREAM_DEFAULT);
    LAUNCH_IN(passing, "append", n, &queue, &x, &n);
}

void scenario_streams_left(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    result("queue", &queue, WORDS(n));
    run_steps(two_in_passing, overwrite);
}

static void forward_out_of_context(void)
{
    step_forward();
    CU(CtxSetCurrent, NULL);
}

/* No context is current where the range ends. */
void scenario_context_left(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        in_range("forward/only", step_forward);
        overwrite();
        if (replaying)
            in_range("recompute/only", forward_out_of_context);
        CU(CtxSetCurrent, context);
        backward();
        nvtxRangePop();
    }
}

/* ---- contexts that go -------------------------------------------------------------------- */

static CUcontext going;

/* A first job in a context of its own: what the layer keeps it keeps there. The second one goes on
 * in another context. */
static void begin_in_second_context(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    run_steps(step_forward, overwrite);
    synchronize();
    going = context;
    open_context();
    watch_nothing();
    begin_job();
    result("state", &state_, WORDS(n));
}

static void let_context_go(void)
{
    if (!going)
        return;
    synchronize();
    CU(CtxDestroy, going);
    going = NULL;
    scratch = allocate(1 << 20); /* where that one had its memory */
}

static void forward_while_context_goes(void)
{
    step_forward();
    let_context_go();
}

/* The first context goes in the middle of a forward in the second. */
void scenario_context_gone_in_forward(void)
{
    begin_in_second_context();
    run_step(1, forward_while_context_goes, overwrite);
    run_step(2, step_forward, overwrite);
}

static bool is_replay;

static void replay_while_context_goes(void)
{
    step_forward();
    if (is_replay)
        let_context_go();
    is_replay = true;
}

/* ... or of its replay. */
void scenario_context_gone_in_replay(void)
{
    begin_in_second_context();
    run_step(1, replay_while_context_goes, overwrite);
    run_step(2, step_forward, overwrite);
}

static void overwrite_while_context_goes(void)
{
    overwrite();
    let_context_go();
}

/* ... or between the two. */
void scenario_context_gone_between(void)
{
    begin_in_second_context();
    run_step(1, step_forward, overwrite_while_context_goes);
    run_step(2, step_forward, overwrite);
}

static void work_in_passing_context(void)
{
    CUcontext passing_by;
    CU(CtxCreate, &passing_by, NULL, 0, 0);
    allocate(WORDS(1));
    CU(CtxDestroy, passing_by);
    CU(CtxSetCurrent, context);
}

/* More contexts than are told apart, one after the other. */
void scenario_context_each_time(void)
{
    enum { TIMES = 70 };
    begin_job();
    result("state", &state_, WORDS(n));
    for (int nth = 0; nth < TIMES; nth++)
        work_in_passing_context();
    run_steps(step_forward, overwrite);
}

static void overwrite_and_reset(void)
{
    overwrite();
    CU(DevicePrimaryCtxReset, 0);
}

/* A library resets the primary context, in which nobody works: nothing goes with that. */
void scenario_reset_beside(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    run_steps(step_forward, overwrite_and_reset);
}

static void *leave(void *unused)
{
    CU(CtxSetCurrent, context);
    nvtxRangePushA("recompute/only");
    step_forward();
    return unused;
}

/* The thread of the replay ends inside its range. */
void scenario_thread_left(void)
{
    pthread_t engine;
    begin_job();
    result("state", &state_, WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        in_range("forward/only", step_forward);
        overwrite();
        if (replaying) {
            pthread_create(&engine, NULL, leave, NULL);
            pthread_join(engine, NULL);
        }
        backward();
        nvtxRangePop();
    }
}

enum { THRONG = 520 };

static void throng_pass(const char *range, int nth)
{
    CUdeviceptr from = queue + WORDS(4 * nth), to = scratch + WORDS(4 * nth);
    char name[32];
    int few = 4;
    snprintf(name, sizeof name, "%s/%d", range, nth);
    nvtxRangePushA(name);
    LAUNCH("step_state", few, &state_, &from, &to, &few);
    nvtxRangePop();
}

/* Layers times micro-batches, all of them in one step. */
void scenario_throng(void)
{
    begin_job();
    result("state", &state_, WORDS(4));
    result("scratch", &scratch, WORDS(4 * THRONG));
    queue = allocate(WORDS(4 * THRONG));
    nvtxRangePushA("step");
    for (int nth = 0; nth < THRONG; nth++)
        throng_pass("forward", nth);
    for (int nth = THRONG; replaying && nth-- > 0;)
        throng_pass("recompute", nth);
    nvtxRangePop();
}

/* ---- functions of the host's ------------------------------------------------------------- */

static struct {
    atomic_uint calls; /* functions in several streams may run at the same time */
} stepped_late;

static void step_late(void *unused)
{
    (void)unused;
    stepped_late.calls++;
}

static int rounds = 20000;

static void late_forward(void)
{
    LAUNCH_IN(passing, "slow_fill", n, &scratch, &draws, &n, &rounds);
    LAUNCH_IN(passing, "step_state", n, &state_, &x, &y, &n);
    CU(LaunchHostFunc, passing, step_late, NULL);
}

static void settle(void)
{
    CU(StreamSynchronize, passing);
}

static void begin_late(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    scratch = allocate(WORDS(n));
    CU(StreamCreate, &passing, CU_STREAM_DEFAULT);
}

static void end_late(void)
{
    synchronize();
    result("host", &where, sizeof stepped_late);
    CU(MemcpyHtoD, where, &stepped_late, sizeof stepped_late);
}

/* A variable that a function steps which waits in a stream still when the replay is over. */
void scenario_stepped_late(void)
{
    begin_late();
    run_steps(late_forward, settle);
    end_late();
}

static atomic_bool is_told;
static bool tells; /* inside the segment, when it runs again */

static void step_when_told(void *unused)
{
    while (!is_told)
        usleep(100);
    step_late(unused);
}

static void give_waiting(void)
{
    is_told = false;
    CU(LaunchHostFunc, passing, step_when_told, NULL);
}

static void tell(void)
{
    is_told = true;
    settle();
}

static void telling_forward(void)
{
    LAUNCH_IN(aside, "step_state", n, &state_, &x, &y, &n);
    if (tells)
        tell();
}

/* The job gives it to a stream behind the forward, and the replay finds it there. */
static void run_told(bool inside)
{
    begin_late();
    CU(StreamCreate, &aside, CU_STREAM_NON_BLOCKING);
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        synchronize();
        tells = false;
        in_range("forward/only", telling_forward);
        give_waiting();
        tells = inside;
        if (replaying)
            in_range("recompute/only", telling_forward);
        tell();
        LAUNCH_IN(aside, "gradient", n, &y, &g, &n);
        synchronize();
        nvtxRangePop();
    }
    end_late();
}

void scenario_stepped_inside(void)
{
    run_told(true);
}

void scenario_stepped_behind(void)
{
    run_told(false);
}

enum { STREAMS = 70 };
static CUstream crowd[STREAMS];

static void crowd_forward(void)
{
    step_forward();
    for (int i = 0; i < STREAMS; i++)
        CU(LaunchHostFunc, crowd[i], step_late, NULL);
    synchronize();
}

/* In so many streams, one after the other, as long as the job lives. */
void scenario_errands(void)
{
    begin_late();
    for (int step = 1; step <= STEPS; step++) {
        for (int i = 0; i < STREAMS; i++)
            CU(StreamCreate, &crowd[i], CU_STREAM_DEFAULT);
        run_step(step, crowd_forward, overwrite);
        for (int i = 0; i < STREAMS; i++)
            CU(StreamDestroy, crowd[i]);
    }
    end_late();
}

/* ---- ... that streams and contexts take along ------------------------------------------------ */

static CUgraphExec stepping; /* a graph that steps late */

static void make_stepping(void)
{
    CUgraph graph;
    CU(StreamBeginCapture, passing, CU_STREAM_CAPTURE_MODE_RELAXED);
    CU(LaunchHostFunc, passing, step_late, NULL);
    CU(StreamEndCapture, passing, &graph);
    CU(GraphInstantiate, &stepping, graph, 0);
}

static void late_forward_by_graph(void)
{
    LAUNCH_IN(passing, "slow_fill", n, &scratch, &draws, &n, &rounds);
    LAUNCH_IN(passing, "step_state", n, &state_, &x, &y, &n);
    CU(GraphLaunch, stepping, passing);
}

/* The function is a node of a graph, which still waits when the replay is over. */
void scenario_stepped_late_by_graph(void)
{
    begin_late();
    make_stepping();
    run_steps(late_forward_by_graph, settle);
    end_late();
}

static void stepping_forward(void)
{
    CUstream own;
    step_forward();
    CU(StreamCreate, &own, CU_STREAM_DEFAULT);
    CU(GraphLaunch, stepping, own);
    CU(StreamSynchronize, own);
    CU(StreamDestroy, own);
}

/* A graph's, in a stream that is gone before the range ends. */
void scenario_errand_left(void)
{
    begin_late();
    make_stepping();
    run_steps(stepping_forward, overwrite);
    end_late();
}

static void short_forward(void)
{
    step_forward();
    CU(LaunchHostFunc, passing, step_late, NULL);
    settle();
}

static CUcontext open_beside(void)
{
    CUcontext beside;
    CU(CtxCreate, &beside, NULL, 0, 0);
    CU(StreamCreate, &aside, CU_STREAM_NON_BLOCKING);
    return beside;
}

static void close_beside(CUcontext beside)
{
    CU(CtxDestroy, beside);
    CU(CtxSetCurrent, context);
}

/* They ran in a context that is gone before the forward. */
void scenario_errands_gone(void)
{
    begin_late();
    for (int step = 1; step <= STEPS; step++) {
        CUcontext beside = open_beside();
        CU(LaunchHostFunc, aside, step_late, NULL);
        CU(LaunchHostFunc, aside, step_late, NULL);
        CU(StreamSynchronize, aside);
        close_beside(beside);
        run_step(step, short_forward, overwrite);
    }
    end_late();
}

static CUcontext to_close;

static void closing_forward(void)
{
    LAUNCH("read_queue", n, &queue, &x, &y, &rows, &n);
    if (!tells)
        return;
    is_told = true;
    close_beside(to_close);
}

/* One waits when the replay begins, and runs in its midst: the context goes there, too. */
void scenario_errand_gone_inside(void)
{
    begin_late();
    queue = allocate(WORDS(ROWS * n));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        tells = false;
        in_range("forward/only", closing_forward);
        to_close = open_beside();
        is_told = false;
        CU(LaunchHostFunc, aside, step_when_told, NULL);
        CU(CtxSetCurrent, context);
        tells = true;
        if (replaying)
            in_range("recompute/only", closing_forward);
        else
            closing_forward();
        backward();
        nvtxRangePop();
    }
    end_late();
}
