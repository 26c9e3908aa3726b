/* SPDX-License-Identifier: Apache-2.0 */
/* A training job of a chosen size that retains its activations (eager) or replays for them:
 * segments in a chain, each with a ring of rows of which a step overwrites one, and a state that
 * it steps. It prints a digest of all that a run leaves behind.
 *
 * usage: plan_job KERNELS eager|replay SEGMENTS NUMBERS STEPS [CHANGE [BYTES|WAY]]
 *
 * WAY is common, marked, dotted or tailed.
 *
 * From step CHANGE on, if it is not 0, there is one segment less; or, where BYTES are given, as
 * many segments in so much less memory. With `common` all read the ring of the first, and its row
 * is overwritten only after the first backward. With `marked` a forward sets some bytes of what it
 * has made and read, with `dotted` in many places. With `tailed` a step ends with work on the
 * device that takes longer than the host's calls. */
#include "tests/laws/driver.h"

#include <nvtx3/nvToolsExt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, MOST_PARTS = 3, MARK = 16, DOTS = 16, TAIL_ROUNDS = 4000 };

/* Segments differ: in how deep their ring is, and in how much they make. */
struct segment {
    CUdeviceptr ring, state, gradient;
    int rows, parts;
};

struct pass {
    CUdeviceptr part[MOST_PARTS], output;
};

static struct segment segments[MOST];
static int count, n, steps, change, ballast;
static bool replaying, common, tailed;
static size_t marks; /* in what a forward makes */
static CUdeviceptr input;

static size_t bytes(int numbers)
{
    return (size_t)numbers * sizeof(uint32_t);
}

static void open_segments(void)
{
    input = allocate(bytes(n));
    for (int k = 0; k < count; k++) {
        struct segment *segment = &segments[k];
        segment->rows = common ? 4 : 2 + 7 * k % 11;
        segment->parts = 1 + k % MOST_PARTS;
        segment->ring = common && k ? segments[0].ring : allocate(bytes(segment->rows * n));
        segment->state = allocate(bytes(n));
        segment->gradient = allocate(bytes(n));
    }
}

static void forward(const struct segment *segment, CUdeviceptr x, int step, struct pass *pass)
{
    CUdeviceptr ring = segment->ring, state = segment->state, last = x;
    int rows = segment->rows, row = step % rows;
    for (int i = 0; i < segment->parts; i++) {
        pass->part[i] = allocate(bytes(n));
        LAUNCH("read_queue", n, &ring, &last, &pass->part[i], &rows, &n);
        last = pass->part[i];
    }
    if (!common)
        LAUNCH("enqueue", n, &ring, &last, &row, &n);
    pass->output = allocate(bytes(n));
    LAUNCH("step_state", n, &state, &last, &pass->output, &n);
    for (size_t i = 0; i < marks; i++)
        CU(MemsetD8Async, last + 2 * MARK * i, (unsigned char)step, MARK, NULL);
}

static void release(CUdeviceptr *memory)
{
    if (*memory)
        CU(MemFree, *memory);
    *memory = 0;
}

static void drop(const struct segment *segment, struct pass *pass)
{
    for (int i = 0; i < segment->parts; i++)
        release(&pass->part[i]);
}

static void run_forward(int k, CUdeviceptr x, int step, struct pass *pass)
{
    char name[32];
    snprintf(name, sizeof name, "forward/%d", k);
    nvtxRangePushA(name);
    forward(&segments[k], x, step, pass);
    nvtxRangePop();
    if (replaying)
        drop(&segments[k], pass);
}

static void replay(int k, CUdeviceptr x, int step, struct pass *pass)
{
    struct pass again;
    char name[32];
    snprintf(name, sizeof name, "recompute/%d", k);
    nvtxRangePushA(name);
    forward(&segments[k], x, step, &again);
    nvtxRangePop();
    release(&pass->output);
    *pass = again;
}

static void backward(int k, CUdeviceptr x, int step, struct pass *pass)
{
    struct segment *segment = &segments[k];
    CUdeviceptr gradient = segment->gradient;
    if (replaying)
        replay(k, x, step, pass);
    for (int i = 0; i < segment->parts; i++)
        LAUNCH("gradient", n, &pass->part[i], &gradient, &n);
    LAUNCH("gradient", n, &pass->output, &gradient, &n);
    drop(segment, pass);
    release(&pass->output);
}

static void overwrite_row(int step)
{
    CUdeviceptr ring = segments[0].ring;
    int row = step % segments[0].rows;
    LAUNCH("enqueue", n, &ring, &input, &row, &n);
}

static void run_tail(unsigned value)
{
    int rounds = TAIL_ROUNDS;
    LAUNCH("slow_fill", n, &input, &value, &n, &rounds);
}

static void run_step(int step)
{
    struct pass passes[MOST];
    unsigned value = 1000u * (unsigned)step;
    bool changed = change && step >= change;
    int used = changed && !ballast ? count - 1 : count;
    if (changed && ballast && step == change)
        allocate((size_t)ballast);
    nvtxRangePushA("step");
    LAUNCH("fill", n, &input, &value, &n);
    for (int k = 0; k < used; k++)
        run_forward(k, k ? passes[k - 1].output : input, step, &passes[k]);
    for (int k = used - 1; k >= 0; k--) {
        backward(k, k ? passes[k - 1].output : input, step, &passes[k]);
        if (common && k == used - 1)
            overwrite_row(step);
    }
    if (tailed)
        run_tail(value);
    nvtxRangePop();
    synchronize();
}

static uint64_t digest(uint64_t hash, CUdeviceptr memory, size_t size)
{
    unsigned char *copy = malloc(size);
    CU(MemcpyDtoH, copy, memory, size);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ copy[i]) * 0x100000001b3u;
    free(copy);
    return hash;
}

int main(int argc, char **argv)
{
    if (argc < 6)
        return 2;
    kernels = argv[1];
    replaying = strcmp(argv[2], "replay") == 0;
    count = atoi(argv[3]);
    n = atoi(argv[4]);
    steps = atoi(argv[5]);
    change = argc > 6 ? atoi(argv[6]) : 0;
    common = argc > 7 && strcmp(argv[7], "common") == 0;
    tailed = argc > 7 && strcmp(argv[7], "tailed") == 0;
    if (argc > 7)
        marks = strcmp(argv[7], "marked") == 0 ? 1 : strcmp(argv[7], "dotted") == 0 ? DOTS : 0;
    ballast = argc > 7 && !common && !marks && !tailed ? atoi(argv[7]) : 0;
    if (count < 1 || count > MOST)
        return 2;
    open_driver();
    open_segments();
    for (int step = 1; step <= steps; step++)
        run_step(step);
    uint64_t hash = 0xcbf29ce484222325u;
    for (int k = 0; k < count; k++) {
        hash = digest(hash, segments[k].ring, bytes(segments[k].rows * n));
        hash = digest(hash, segments[k].state, bytes(n));
        hash = digest(hash, segments[k].gradient, bytes(n));
    }
    printf("%016llx\n", (unsigned long long)hash);
    return 0;
}
