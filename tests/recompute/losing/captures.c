/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that capture meanwhile, when little can be made anew and nothing be waited for. */
#include "tests/recompute/losing/job.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

/* As in the case "under", where a stream that is to capture has all made that is away. */
void case_under_capture(void)
{
    CUdeviceptr in = device_words(7), over = device_words(0), unseen = device_words(0);
    CUstream capturing;
    CUgraph graph;
    CU(cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING));
    nvtxRangePushA("forward/0");
    affine(over, in, 3);
    affine(unseen, over, 5);
    nvtxRangePop();
    CU(cuMemsetD32Async(over, 99, WORDS, stream));
    CU(cuStreamSynchronize(stream));
    device_words(0);
    CU(cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cuStreamEndCapture(capturing, &graph));
    show("out", over);
}

enum { BALLAST = 12 };

/* More than there is room for: what can be dropped has been. */
static void fill(CUdeviceptr ballast[BALLAST])
{
    for (unsigned i = 0; i < BALLAST; i++) {
        if (!ballast[i])
            CU(cuMemAlloc(&ballast[i], BYTES));
        CU(cuMemsetD32(ballast[i], i, WORDS));
    }
}

/* One thread captures until the other has gone on for a while. */
static CUcontext common; /* that both work in */
static atomic_bool is_capturing, goes_on;

static void *capture_for_a_while(void *unused)
{
    const struct timespec while_the_other_works = {.tv_nsec = 100000000};
    CUstream own;
    CUgraph graph;
    CU(cuCtxSetCurrent(common));
    CU(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    CU(cuStreamBeginCapture(own, CU_STREAM_CAPTURE_MODE_GLOBAL));
    is_capturing = true;
    while (!goes_on)
        sched_yield();
    nanosleep(&while_the_other_works, NULL);
    CU(cuStreamEndCapture(own, &graph));
    CU(cuGraphDestroy(graph));
    is_capturing = goes_on = false;
    return unused;
}

/* A launch, and then a copy, needs what was dropped while another thread's stream captures. */
void case_used_while_captured(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0), made = device_words(0);
    CUdeviceptr copy = device_words(0), ballast[BALLAST] = {0};
    CU(cuCtxGetCurrent(&common));
    forward("forward/0", out, in);
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        fill(ballast);
        pthread_create(&thread, NULL, capture_for_a_while, NULL);
        while (!is_capturing)
            sched_yield();
        goes_on = true;
        if (i == 0)
            affine(made, out, 3);
        else
            CU(cuMemcpyDtoDAsync(copy, out, BYTES, stream));
        pthread_join(thread, NULL);
    }
    show("out", out);
    show("made", made);
    show("copy", copy);
}

/* The same of the thread's own: nobody can wait for that. */
void case_used_while_capturing(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0), made = device_words(0);
    CUdeviceptr ballast[BALLAST] = {0};
    CUstream own;
    CUgraph graph;
    CU(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    forward("forward/0", out, in);
    fill(ballast);
    CU(cuStreamBeginCapture(own, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CUresult result = try_affine(made, out, 3);
    CU(cuStreamEndCapture(own, &graph));
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        result = try_affine(made, out, 3);
    CU(result);
    show("out", out);
    show("made", made);
}

/* Each time something is freed while another stream captures. */
static void free_while_one_captures(CUresult (*give)(CUdeviceptr memory))
{
    CUdeviceptr in = device_words(7), out = device_words(0), passing;
    CUstream other;
    CUgraph graph;
    CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 40; i++) {
        CU(cuMemAllocAsync(&passing, BYTES, stream));
        CU(cuMemsetD32Async(passing, 3, WORDS, stream));
        CU(cuStreamSynchronize(stream));
        CU(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED));
        CU(give(passing));
        CU(cuStreamEndCapture(other, &graph));
        CU(cuGraphDestroy(graph));
        nvtxRangePushA("forward/0");
        affine(out, in, 5);
        nvtxRangePop();
    }
    show("out", out);
}

static CUresult give_in_turn(CUdeviceptr memory)
{
    return cuMemFreeAsync(memory, stream);
}

void case_freed_while_captured(void)
{
    free_while_one_captures(cuMemFree);
}

void case_given_while_captured(void)
{
    free_while_one_captures(give_in_turn);
}

/* The context goes while a stream of it captures, or that stream alone; all the same what comes
 * later is dropped. */
static void lost_while_capturing(bool context_goes)
{
    CUstream capturing;
    CUcontext context;
    CU(cuCtxGetCurrent(&context));
    CU(cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING));
    CU(cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_RELAXED));
    if (context_goes) {
        CU(cuCtxDestroy(context));
        CU(cuCtxCreate(&context, NULL, 0, 0));
        CU(cuModuleLoad(&module, kernels));
        CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    } else {
        CU(cuStreamDestroy(capturing));
    }
    CUdeviceptr in = device_words(7), out = device_words(0);
    forward("forward/0", out, in);
    show("out", out);
}

void case_context_lost_while_capturing(void)
{
    lost_while_capturing(true);
}

void case_stream_lost_while_capturing(void)
{
    lost_while_capturing(false);
}

/* The end of a capture is asked for in another stream than captures. */
void case_ended_elsewhere(void)
{
    CUdeviceptr in = device_words(7), out = device_words(0), drawn = device_words(0);
    CUstream capturing, own = stream;
    CUgraphExec exec;
    CUgraph graph;
    forward("forward/0", out, in);
    CU(cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING));
    CU(cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_RELAXED));
    printf("refused %d\n", cuStreamEndCapture(own, &graph) != CUDA_SUCCESS);
    stream = capturing;
    affine(drawn, in, 3);
    stream = own;
    affine(in, in, 9);
    CU(cuStreamEndCapture(capturing, &graph));
    CU(cuGraphInstantiate(&exec, graph, 0));
    show("in", in);
    CU(cuGraphLaunch(exec, capturing));
    CU(cuStreamSynchronize(capturing));
    show("drawn", drawn);
    show("out", out);
}
