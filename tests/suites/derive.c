/* SPDX-License-Identifier: Apache-2.0 */
/* Trains random networks for a few steps, segment by segment, on the driver.
 *
 * usage: derive eager|replay KERNELS FIRST COUNT
 *
 * An eager run retains what its segments compute; a replaying one drops it and runs each
 * segment's forward again before its backward. One line a step: the network, the step, and in
 * bits the parameters before it, their gradients, and the states after it. */
#include "tests/laws/driver.h"
#include "tests/suites/net.h"

#include <nvtx3/nvToolsExt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct job {
    const struct net *net;
    bool replaying;
    int step;
    CUdeviceptr w, dw, target;
    CUdeviceptr given[NET_SEGMENTS + 1];           /* what a segment is given; the last result */
    CUdeviceptr between[NET_SEGMENTS][NET_LAYERS]; /* what a layer inside a segment makes */
    CUdeviceptr factor[NET_SEGMENTS][NET_LAYERS];  /* what its backward needs of a state */
    CUdeviceptr state[NET_STATES];
    CUdeviceptr dx[2];                             /* one gradient becomes the next */
    CUdeviceptr all[128];
    int all_count;
} job;

static CUdeviceptr take(int doubles)
{
    CUdeviceptr memory = allocate((size_t)(doubles ? doubles : 1) * sizeof(double));
    job.all[job.all_count++] = memory;
    return memory;
}

/* ---- a layer ------------------------------------------------------------------------------- */

static CUdeviceptr input_of(int segment, int layer)
{
    return layer ? job.between[segment][layer - 1] : job.given[segment];
}

static CUdeviceptr output_of(int segment, int layer)
{
    bool last = layer == job.net->layers[segment] - 1;
    return last ? job.given[segment + 1] : job.between[segment][layer];
}

/* A layer in place has no output of its own: it is its input. */
static void forward_layer(int segment, int at)
{
    const struct net_layer *layer = &job.net->layer[segment][at];
    CUdeviceptr x = input_of(segment, at), y = output_of(segment, at);
    CUdeviceptr a = job.factor[segment][at], s = job.state[layer->state];
    CUdeviceptr w = job.w + (CUdeviceptr)layer->params * sizeof(double);
    int n = job.net->width, rows = job.net->rows, row = job.step % rows;
    switch (layer->kind) {
    case NET_SCALE: LAUNCH("scale", n, &x, &y, &w, &n); break;
    case NET_DENSE: LAUNCH("dense", n, &x, &y, &w, &n); break;
    case NET_BEND: LAUNCH("bend", n, &x, &y, &n); break;
    case NET_CURVE: LAUNCH("curve", n, &x, &y, &n); break;
    case NET_SHIFT:
        LAUNCH("shift_in_place", n, &x, &w, &n);
        CU(MemcpyDtoDAsync, y, x, (size_t)n * sizeof(double), NULL);
        break;
    case NET_RUNNING: LAUNCH("running", n, &x, &y, &a, &s, &n); break;
    case NET_QUEUE: LAUNCH("queue", n, &x, &y, &a, &s, &row, &n); break;
    case NET_QUEUE_BY_INDEX: LAUNCH("queue_by_index", n, &x, &y, &a, &s, &rows, &n); break;
    case NET_COUNTER: LAUNCH("counter", n, &x, &y, &a, &s, &n); break;
    case NET_DROPOUT: LAUNCH("dropout", n, &x, &y, &a, &s, &n); break;
    }
}

static void backward_layer(int segment, int at)
{
    const struct net_layer *layer = &job.net->layer[segment][at];
    CUdeviceptr x = input_of(segment, at), a = job.factor[segment][at];
    CUdeviceptr w = job.w + (CUdeviceptr)layer->params * sizeof(double);
    CUdeviceptr dw = job.dw + (CUdeviceptr)layer->params * sizeof(double);
    CUdeviceptr dy = job.dx[0], dx = job.dx[1];
    int n = job.net->width;
    switch (layer->kind) {
    case NET_SCALE: LAUNCH("scale_back", n, &x, &dy, &dx, &w, &dw, &n); break;
    case NET_DENSE: LAUNCH("dense_back", n, &x, &dy, &dx, &w, &dw, &n); break;
    case NET_BEND: LAUNCH("bend_back", n, &x, &dy, &dx, &n); break;
    case NET_CURVE: LAUNCH("curve_back", n, &x, &dy, &dx, &n); break;
    case NET_SHIFT: LAUNCH("shift_back", n, &dy, &dx, &dw, &n); break;
    case NET_RUNNING: case NET_QUEUE: case NET_QUEUE_BY_INDEX: case NET_COUNTER: case NET_DROPOUT:
        LAUNCH("factor_back", n, &a, &dy, &dx, &n);
        break;
    }
    job.dx[0] = dx;
    job.dx[1] = dy;
}

/* ---- a step -------------------------------------------------------------------------------- */

static void run_segment(int segment, const char *phase)
{
    char range[48];
    snprintf(range, sizeof range, "d%u/s%d/%s/x", job.net->seed, segment, phase);
    nvtxRangePushA(range);
    for (int at = 0; at < job.net->layers[segment]; at++)
        forward_layer(segment, at);
    nvtxRangePop();
}

static void drop_segment(int segment)
{
    size_t bytes = (size_t)job.net->width * sizeof(double);
    for (int at = 0; at < job.net->layers[segment]; at++) {
        CU(MemsetD8Async, job.factor[segment][at], 0xee, bytes, NULL);
        CU(MemsetD8Async, job.between[segment][at], 0xee, bytes, NULL);
    }
}

static void backward_segment(int segment)
{
    if (job.replaying) {
        drop_segment(segment);
        run_segment(segment, "replay");
    }
    for (int at = job.net->layers[segment] - 1; at >= 0; at--)
        backward_layer(segment, at);
}

static void print_doubles(char letter, CUdeviceptr memory, int count)
{
    uint64_t *bits = calloc((size_t)count + 1, sizeof *bits);
    if (count)
        CU(MemcpyDtoH, bits, memory, (size_t)count * sizeof *bits);
    for (int i = 0; i < count; i++)
        printf(" %c%016llx", letter, (unsigned long long)bits[i]);
    free(bits);
}

static void run_step(void)
{
    const struct net *net = job.net;
    unsigned seed = net->seed * 64u + (unsigned)job.step * 2u, other = seed + 1;
    int n = net->width, params = net->params;
    nvtxRangePushA("step");
    printf("d%u %d", net->seed, job.step);
    print_doubles('w', job.w, params);
    LAUNCH("numbers", 1, &job.given[0], &seed, &n);
    LAUNCH("numbers", 1, &job.target, &other, &n);
    CU(MemsetD8Async, job.dw, 0, (size_t)params * sizeof(double), NULL);
    for (int segment = 0; segment < net->segments; segment++)
        run_segment(segment, "forward");
    CU(MemcpyDtoDAsync, job.dx[0], job.target, (size_t)n * sizeof(double), NULL);
    for (int segment = net->segments - 1; segment >= 0; segment--)
        backward_segment(segment);
    LAUNCH("descend", n, &job.w, &job.dw, &params);
    print_doubles('g', job.dw, params);
    for (int i = 0; i < net->states; i++)
        print_doubles('s', job.state[i], net_state_size(net, i));
    printf("\n");
    nvtxRangePop();
}

/* ---- a network ----------------------------------------------------------------------------- */

static void begin_state(int index)
{
    const struct net *net = job.net;
    int size = net_state_size(net, index), rows = net->rows * net->width;
    unsigned seed = net->seed + 7000u + (unsigned)index;
    job.state[index] = take(size);
    if (net->states_of[index] == NET_QUEUE || net->states_of[index] == NET_QUEUE_BY_INDEX)
        LAUNCH("numbers", 1, &job.state[index], &seed, &rows);
    if (net->states_of[index] == NET_DROPOUT) {
        double start[2] = {net->seed % 1000u, 0};
        CU(MemcpyHtoD, job.state[index], start, sizeof start);
    }
    LAUNCH("tag", 1, &job.state[index]);
}

static void begin(const struct net *net, bool replaying)
{
    unsigned seed = net->seed + 9000u;
    int n = net->width, params = net->params;
    memset(&job, 0, sizeof job);
    job.net = net;
    job.replaying = replaying;
    job.w = take(params);
    job.dw = take(params);
    job.target = take(n);
    job.dx[0] = take(n);
    job.dx[1] = take(n);
    for (int s = 0; s <= net->segments; s++)
        job.given[s] = take(n);
    for (int s = 0; s < net->segments; s++)
        for (int at = 0; at < net->layers[s]; at++) {
            job.between[s][at] = take(n);
            job.factor[s][at] = take(n);
        }
    for (int i = 0; i < net->states; i++)
        begin_state(i);
    for (int s = 0; s <= net->segments; s++) /* a segment may work in place on what it is given */
        LAUNCH("tag", 1, &job.given[s]);
    LAUNCH("numbers", 1, &job.w, &seed, &params);
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: derive eager|replay KERNELS FIRST COUNT\n");
        return 2;
    }
    kernels = argv[2];
    open_driver();
    uint32_t first = (uint32_t)strtoul(argv[3], NULL, 0);
    uint32_t end = first + (uint32_t)strtoul(argv[4], NULL, 0);
    for (uint32_t seed = first; seed < end; seed++) {
        struct net net;
        net_choose(&net, seed);
        begin(&net, strcmp(argv[1], "replay") == 0);
        for (job.step = 0; job.step < net.steps; job.step++)
            run_step();
        for (int each = 0; each < job.all_count; each++)
            CU(MemFree, job.all[each]);
    }
    return 0;
}
