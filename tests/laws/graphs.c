/* SPDX-License-Identifier: Apache-2.0 */
/* Generators that a graph owns: a counter that one of its nodes bumps, and a seed that is written
 * into a node anew for each step. */
#include "tests/laws/scenario.h"

enum { THREADS = 128 };

static CUgraph graph;
static CUgraphExec exec;
static CUgraphNode drawing;
static unsigned seed = 7;

static CUDA_KERNEL_NODE_PARAMS work(const char *kernel, int threads, void **params)
{
    CUDA_KERNEL_NODE_PARAMS node = {.gridDimX = (unsigned)(threads + THREADS - 1) / THREADS,
                                    .gridDimY = 1, .gridDimZ = 1, .blockDimX = THREADS,
                                    .blockDimY = 1, .blockDimZ = 1, .kernelParams = params};
    CU(ModuleGetFunction, &node.func, module, kernel);
    return node;
}

static CUDA_KERNEL_NODE_PARAMS draw_by_seed(void)
{
    static void *params[] = {&seed, &y, &n};
    return work("draw_with_seed", n, params);
}

static void launch_graph(void)
{
    CU(GraphLaunch, exec, NULL);
}

/* The counter is the graph's own: drawn from, and bumped behind that. */
void scenario_graph_counter(void)
{
    CUgraphNode bumping;
    begin_job();
    result("generator", &generator, WORDS(4));
    CU(GraphCreate, &graph, 0);
    CUDA_KERNEL_NODE_PARAMS draw = work("draw", n, (void *[]){&generator, &y, &n});
    CU(GraphAddKernelNode, &drawing, graph, NULL, 0, &draw);
    CUDA_KERNEL_NODE_PARAMS bump = work("advance", 1, (void *[]){&generator, &draws});
    CU(GraphAddKernelNode, &bumping, graph, &drawing, 1, &bump);
    CU(GraphInstantiate, &exec, graph, 0);
    run_steps(launch_graph, NULL);
}

static void set_seed(void)
{
    seed += 1000;
    CUDA_KERNEL_NODE_PARAMS draw = draw_by_seed();
    CU(GraphExecKernelNodeSetParams, exec, drawing, &draw);
}

/* The seed is an argument in a node, and another one by the time of the replay. */
void scenario_graph_seed(void)
{
    begin_job();
    CU(GraphCreate, &graph, 0);
    CUDA_KERNEL_NODE_PARAMS draw = draw_by_seed();
    CU(GraphAddKernelNode, &drawing, graph, NULL, 0, &draw);
    CU(GraphInstantiate, &exec, graph, 0);
    run_steps(launch_graph, set_seed);
}

static CUstream filling, working;

static void read_filled(void)
{
    int one = 1;
    LAUNCH_IN(working, "read_queue", n, &state_, &x, &y, &one, &n);
}

/* The stream that has filled the state, perhaps not all of it yet, captures when it is overwritten:
 * whoever waits for the fill is not drawn into the capture. */
static void overwrite_while_capturing(void)
{
    CUgraph captured;
    unsigned value = 99;
    CU(StreamBeginCapture, filling, CU_STREAM_CAPTURE_MODE_RELAXED);
    LAUNCH_IN(filling, "fill", n, &scratch, &value, &n);
    LAUNCH_IN(working, "fill", n, &state_, &value, &n);
    CU(StreamEndCapture, filling, &captured);
    CU(GraphDestroy, captured);
    synchronize();
}

void scenario_captured_meanwhile(void)
{
    CUevent filled;
    int rounds = 100000;
    begin_job();
    result("state", &state_, WORDS(n));
    scratch = allocate(WORDS(n));
    CU(StreamCreate, &filling, CU_STREAM_NON_BLOCKING);
    CU(StreamCreate, &working, CU_STREAM_DEFAULT); /* in turn with the default stream */
    CU(EventCreate, &filled, CU_EVENT_DISABLE_TIMING);
    for (int step = 1; step <= STEPS; step++) {
        unsigned value = 7u * (unsigned)step;
        synchronize();
        LAUNCH_IN(filling, "slow_fill", n, &state_, &value, &n, &rounds);
        CU(EventRecord, filled, filling);
        CU(StreamWaitEvent, working, filled, 0);
        run_step(step, read_filled, overwrite_while_capturing);
    }
}

/* ---- the forward's calls by a graph, and the replay's one by one ----------------------------- */

static CUstream lane;

static void mixed_work(void)
{
    LAUNCH_IN(lane, "step_state", n, &state_, &x, &scratch, &n);
    CU(MemcpyDtoDAsync, y, scratch, WORDS(n) / 2, lane);
    CU(MemsetD32Async, y + WORDS(n) / 2, draws, (size_t)n / 2, lane);
    LAUNCH_IN(lane, "append", n, &y, &scratch, &n);
}

static void mixed_forward(void)
{
    CU(GraphLaunch, exec, lane);
}

/* The graph is another one's whole work: a copy and a set among it, which are nodes there. */
void scenario_graph_mixed(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    scratch = allocate(WORDS(n));
    CU(StreamCreate, &lane, CU_STREAM_DEFAULT);
    CU(StreamBeginCapture, lane, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    mixed_work();
    CU(StreamEndCapture, lane, &graph);
    CU(GraphInstantiate, &exec, graph, 0);
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        in_range("forward/only", mixed_forward);
        overwrite();
        replay("recompute/only", mixed_work);
        backward();
        nvtxRangePop();
    }
}

/* ---- what has to stand between two nodes ----------------------------------------------------- */

static CUdeviceptr second_state, second_y;

static CUgraphExec capture(void (*calls)(void))
{
    CUgraphExec made;
    CU(StreamBeginCapture, lane, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    calls();
    CU(StreamEndCapture, lane, &graph);
    CU(GraphInstantiate, &made, graph, 0);
    return made;
}

static void step_both(void)
{
    LAUNCH_IN(lane, "step_state", n, &state_, &x, &y, &n);
    LAUNCH_IN(lane, "step_state", n, &second_state, &y, &second_y, &n);
}

static void reset_second(void)
{
    unsigned value = 5;
    LAUNCH_IN(lane, "fill", n, &second_state, &value, &n);
}

static void step_and_reset(void)
{
    LAUNCH_IN(lane, "step_state", n, &state_, &x, &y, &n);
    reset_second();
    LAUNCH_IN(lane, "step_state", n, &second_state, &y, &second_y, &n);
}

/* A state is set by a node of the replay's graph, in front of the one that steps it from where the
 * forward found it. */
void scenario_reset_in_graph(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    result("second", &second_state, WORDS(n));
    second_y = allocate(WORDS(n));
    CU(StreamCreate, &lane, CU_STREAM_DEFAULT);
    exec = capture(step_and_reset);
    nvtxRangePushA("step");
    set_input(1);
    in_range("forward/only", step_both);
    replay("recompute/only", mixed_forward);
    if (!replaying)
        reset_second();
    LAUNCH("gradient", n, &second_y, &g, &n);
    backward();
    nvtxRangePop();
}
