/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that work in several contexts. */
#include "tests/seen/job.h"

static CUcontext other;

static void in_other_context(void (*work)(void))
{
    CUcontext context;
    CU(cuCtxGetCurrent(&context));
    CU(cuCtxSynchronize());
    CU(cuCtxSetCurrent(other));
    work();
    CU(cuCtxSynchronize());
    CU(cuCtxSetCurrent(context));
}

static void make_other(void)
{
    CUdevice device;
    CUcontext context;
    CU(cuCtxGetCurrent(&context));
    CU(cuDeviceGet(&device, 0));
    CU(cuCtxCreate(&other, NULL, 0, device));
    CU(cuCtxSetCurrent(context));
}

static void fill(void)
{
    CU(cuMemsetD32(queue, 3, 10));
}

static void write_in_other_context(void)
{
    in_other_context(fill);
}

static void contexts(void)
{
    make_other();
    run_steps(queue_forward, write_in_other_context);
}

/* Destroyed again: what the job's own context holds goes on being followed. */
static void passing_context(void)
{
    CUdevice device;
    CUcontext context;
    CUdeviceptr memory;
    CU(cuCtxGetCurrent(&context));
    CU(cuDeviceGet(&device, 0));
    CU(cuCtxCreate(&other, NULL, 0, device));
    CU(cuMemAlloc(&memory, 1000));
    CU(cuCtxDestroy(other));
    CU(cuCtxSetCurrent(context));
    run_steps(queue_forward, write_row);
}

/* A library's variable lies elsewhere in each context, and its kernel writes the one of its own. */
static const char with_queue[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .b8 library_queue[32000];\n"
    ".visible .entry put(.param .u32 value) {\n.reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
    "ld.param.u32 %r1, [value]; mov.u64 %rd1, library_queue; st.global.u32 [%rd1+4], %r1; ret; }\n";
static CUlibrary library;
static CUkernel put;

static void find_queue(void)
{
    CU(cuLibraryGetGlobal(&queue, NULL, library, "library_queue"));
}

static void launch_put(void)
{
    static unsigned value;
    value++;
    CU(cuLaunchKernel((CUfunction)(void *)put, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&value},
                      NULL));
}

static void put_in_other_context(void)
{
    in_other_context(launch_put);
}

static void load_library(void)
{
    CU(cuLibraryLoadData(&library, with_queue, NULL, NULL, 0, NULL, NULL, 0));
    CU(cuLibraryGetKernel(&put, library, "put"));
}

static void library_in_contexts(void)
{
    make_other();
    load_library();
    launch_put(); /* here as well */
    in_other_context(find_queue);
    run_steps(queue_forward, put_in_other_context);
}

/* As the CUDA runtime loads what a program brings, before anybody has a context. */
static void library_before_context(void)
{
    CUcontext context;
    CU(cuCtxGetCurrent(&context));
    CU(cuCtxSetCurrent(NULL));
    load_library();
    CU(cuCtxSetCurrent(context));
    find_queue();
    run_steps(queue_forward, launch_put);
}

/* What a captured launch of a library's kernel leaves in the graph is a function of the context. */
static void put_by_graph(void)
{
    static CUgraphExec exec;
    if (!exec) {
        CUstream stream;
        CUgraph graph;
        unsigned value = 7;
        CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        CU(cuLaunchKernel((CUfunction)(void *)put, 1, 1, 1, 1, 1, 1, 0, stream,
                          (void *[]){&value}, NULL));
        CU(cuStreamEndCapture(stream, &graph));
        CU(cuGraphInstantiate(&exec, graph, 0));
    }
    CU(cuGraphLaunch(exec, NULL));
}

static void library_in_graph(void)
{
    load_library();
    find_queue();
    run_steps(queue_forward, put_by_graph);
}

const struct scenario context_scenarios[] = {
    {"contexts", contexts},
    {"passing-context", passing_context},
    {"library-in-contexts", library_in_contexts},
    {"library-before-context", library_before_context},
    {"library-in-graph", library_in_graph},
    {NULL, NULL},
};
