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
