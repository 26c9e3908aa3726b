/* SPDX-License-Identifier: Apache-2.0 */
/* Which forward a replay belongs to: several alive, replayed twice, nested, or none. */
#include "tests/laws/scenario.h"

#include <pthread.h>
#include <stdio.h>

/* Three forwards are alive; `order` says in which order they are replayed. */
static void alive(const int *order, bool keyed)
{
    CUdeviceptr ys[3];
    begin_job();
    result("state", &state_, WORDS(n));
    for (int i = 0; i < 3; i++)
        ys[i] = allocate(WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        char name[32];
        nvtxRangePushA("step");
        set_input(step);
        for (int i = 0; i < 3; i++) {
            y = ys[i];
            snprintf(name, sizeof name, "forward/%c", keyed ? 'a' + i : 'x');
            in_range(name, step_forward);
        }
        for (int i = 0; i < 3; i++) {
            y = ys[order[i]];
            snprintf(name, sizeof name, "recompute/%c", keyed ? 'a' + order[i] : 'x');
            replay(name, step_forward);
            LAUNCH("gradient", n, &y, &g, &n);
        }
        nvtxRangePop();
    }
}

void scenario_lifo(void)
{
    alive((const int[]){2, 1, 0}, false);
}

void scenario_fifo(void)
{
    alive((const int[]){0, 1, 2}, false);
}

void scenario_key(void)
{
    alive((const int[]){1, 2, 0}, true);
}

/* A replay that nothing came before. */
void scenario_unpaired(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    set_input(1);
    in_range("recompute/only", step_forward);
}

/* The activation is dropped and made again twice, and somebody writes the state in between. */
static void twice(void (*forward)(void), void (*between)(void))
{
    replay("recompute/only", forward);
    backward();
    between();
    replay("recompute/only", forward);
    backward();
}

/* A dropped value is asked for a second time: the instance is replayed once more. */
void scenario_replayed_twice(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        in_range("forward/only", step_forward);
        twice(step_forward, overwrite);
        nvtxRangePop();
    }
}

/* What the second replay needs is clobbered for the first time after the first one. */
void scenario_clobbered_later(void)
{
    begin_job();
    result("queue", &queue, WORDS(ROWS * n));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        queue_row = step;
        in_range("forward/only", pure_forward);
        twice(pure_forward, next_row);
        nvtxRangePop();
    }
}

static void zeroed_forward(void)
{
    CU(MemsetD8, y, 0, WORDS(n));
    LAUNCH("append", n, &y, &state_, &n);
    LAUNCH("step_state", n, &state_, &x, &scratch, &n);
}

/* Replays in order get each other's memory for their output, and begin with what tells nothing. */
void scenario_recycled_output(void)
{
    CUdeviceptr ys[2];
    begin_job();
    result("state", &state_, WORDS(n));
    scratch = allocate(WORDS(n));
    for (int i = 0; i < 2; i++)
        ys[i] = allocate(WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        for (int i = 0; i < 2; i++) {
            y = ys[i];
            in_range("forward/x", zeroed_forward);
        }
        for (int i = 1; i >= 0; i--) {
            y = ys[replaying ? 1 - i : i];
            replay("recompute/x", zeroed_forward);
            backward();
        }
        nvtxRangePop();
    }
}

static void two_forwards(void)
{
    nvtxRangePushA("step");
    set_input(1);
    in_range("forward/x", step_forward);
    in_range("forward/x", step_forward);
}

/* Whose second replay it is, nothing tells: both forwards work on the same buffers. */
void scenario_whose_replay(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    two_forwards();
    for (int i = 0; i < 3; i++)
        replay("recompute/x", step_forward);
    nvtxRangePop();
}

/* Each of two forwards is replayed twice in a row: their buffers tell them apart. */
void scenario_told_by_buffers(void)
{
    CUdeviceptr xs[2], ys[2];
    begin_job();
    result("state", &state_, WORDS(n));
    for (int i = 0; i < 2; i++) {
        xs[i] = allocate(WORDS(n));
        ys[i] = allocate(WORDS(n));
    }
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        for (int i = 0; i < 2; i++) {
            x = xs[i];
            y = ys[i];
            set_input(step + i);
            in_range("forward/x", step_forward);
        }
        for (int i = 0; i < 4; i++) {
            x = xs[i / 2];
            y = ys[i / 2];
            replay("recompute/x", step_forward);
            backward();
        }
        nvtxRangePop();
    }
}

/* ---- inputs that are filled again for the replay ------------------------------------------- */

enum { CHUNKS = 4 };
static CUdeviceptr slots[2], saved[CHUNKS], outputs[CHUNKS];
static unsigned on_host[CHUNKS][N];

static void begin_chunks(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    for (int i = 0; i < CHUNKS; i++) {
        saved[i] = allocate(WORDS(n));
        outputs[i] = allocate(WORDS(n));
    }
    for (int i = 0; i < 2; i++)
        slots[i] = allocate(WORDS(n));
}

static void copy(CUdeviceptr to, CUdeviceptr from)
{
    CU(MemcpyDtoDAsync, to, from, WORDS(n), NULL);
}

/* In a replaying run all have one buffer for their output, which tells nothing. */
static void forward_chunk(int i)
{
    y = outputs[replaying ? 0 : i];
    in_range("forward/x", step_forward);
}

static void replay_chunk(int i)
{
    y = outputs[replaying ? 0 : i];
    replay("recompute/x", step_forward);
    backward();
}

static void upload(int i, int step)
{
    for (int at = 0; at < n; at++)
        on_host[i][at] = 1000u * (unsigned)step + 10u * (unsigned)i + (unsigned)at;
    CU(MemcpyHtoD, x, on_host[i], WORDS(n));
}

/* Two slots for the inputs of four forwards, which the backward pass uses the other way round: the
 * buffers name another forward than the order, and what stands in them is neither's. */
static void in_slots(bool by_host)
{
    begin_chunks();
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        for (int i = 0; i < CHUNKS; i++) {
            x = slots[i % 2];
            if (by_host)
                upload(i, step);
            else
                set_input(step * CHUNKS + i);
            forward_chunk(i);
            copy(saved[i], x);
        }
        for (int i = CHUNKS - 1; i >= 0; i--) {
            x = slots[(i + 1) % 2];
            if (by_host)
                upload(i, step);
            else
                copy(x, saved[i]);
            replay_chunk(i);
        }
        nvtxRangePop();
    }
}

void scenario_slots(void)
{
    in_slots(false);
}

void scenario_host_slots(void)
{
    in_slots(true);
}

/* Two forwards have their inputs in one buffer, in which the job puts each again for its replay,
 * the first one's first. */
static void refilled(bool by_host)
{
    begin_chunks();
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        for (int i = 0; i < 4; i++) {
            if (by_host)
                upload(i % 2, step);
            else if (i < 2)
                set_input(2 * step + i);
            else
                copy(x, saved[i - 2]);
            if (i < 2)
                copy(saved[i], x);
            (i < 2 ? forward_chunk : replay_chunk)(i % 2);
        }
        nvtxRangePop();
    }
}

void scenario_refilled(void)
{
    refilled(false);
}

void scenario_host_refilled(void)
{
    refilled(true);
}

/* The same, taken to the host, of inputs that had all been made and taken there once before. */
void scenario_refilled_alike(void)
{
    begin_chunks();
    for (int step = 0; step <= STEPS; step++) {
        nvtxRangePushA("step");
        for (int i = 0; i < 2; i++) {
            set_input(i);
            if (step)
                forward_chunk(i);
            CU(MemcpyDtoH, on_host[i], x, WORDS(n));
        }
        for (int i = 0; step && i < 2; i++) {
            CU(MemcpyHtoD, x, on_host[i], WORDS(n));
            replay_chunk(i);
        }
        nvtxRangePop();
    }
}

/* The same, the last one's first, in a stream: what comes back is not known again. */
void scenario_refilled_aside(void)
{
    begin_chunks();
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        for (int i = 0; i < 2; i++) {
            set_input(2 * step + i);
            forward_chunk(i);
            CU(MemcpyDtoHAsync, on_host[i], x, WORDS(n), NULL);
            CU(StreamSynchronize, NULL);
        }
        for (int i = 1; i >= 0; i--) {
            CU(MemcpyHtoDAsync, x, on_host[i], WORDS(n), NULL);
            replay_chunk(i);
        }
        nvtxRangePop();
    }
}

/* A forward that is never replayed comes between, and the job puts back the input of the other. */
void scenario_evaluated(void)
{
    begin_chunks();
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(2 * step);
        forward_chunk(0);
        copy(saved[0], x);
        set_input(2 * step + 1);
        forward_chunk(1);
        copy(x, saved[0]);
        replay_chunk(0);
        nvtxRangePop();
    }
}

/* ---- a hundred replays at once ---------------------------------------------------------- */

enum { CROWD = 100 };
static CUdeviceptr crowd[CROWD];
static pthread_barrier_t all_open;

static void member_forward(const char *phase, int i)
{
    char range[32];
    int one = 1;
    snprintf(range, sizeof range, "%s/%d", phase, i);
    nvtxRangePushA(range);
    LAUNCH("read_queue", n, &crowd[i], &x, &y, &one, &n);
}

static void *replay_member(void *argument)
{
    int i = (int)(intptr_t)argument;
    CU(CtxSetCurrent, context);
    pthread_barrier_wait(&all_open);
    member_forward("recompute", i);
    pthread_barrier_wait(&all_open); /* every one has begun, and none has ended */
    nvtxRangePop();
    return NULL;
}

static void replay_crowd(void)
{
    pthread_t threads[CROWD];
    pthread_barrier_init(&all_open, NULL, CROWD);
    for (int i = 0; i < CROWD; i++)
        pthread_create(&threads[i], NULL, replay_member, (void *)(intptr_t)i);
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
}

/* Each in its thread; they all leave the same sum when each has seen its own past. */
void scenario_crowd(void)
{
    begin_job();
    result("last", &state_, WORDS(n));
    nvtxRangePushA("step");
    set_input(1);
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = allocate(WORDS(n));
        member_forward("forward", i);
        nvtxRangePop();
        LAUNCH("fill", n, &crowd[i], &draws, &n);
    }
    if (replaying)
        replay_crowd();
    backward();
    nvtxRangePop();
}

/* Ten thousand forwards that are never replayed. */
void scenario_never_replayed(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    for (int i = 0; i < 10000; i++)
        in_range("forward/only", step_forward);
}

static void *step_aside(void *unused)
{
    CU(CtxSetCurrent, context);
    step_forward();
    synchronize();
    return unused;
}

static void step_in_thread(void)
{
    pthread_t thread;
    synchronize();
    pthread_create(&thread, NULL, step_aside, NULL);
    pthread_join(thread, NULL);
}

/* The ranges are opened by one thread, their calls are made by another. */
void scenario_other_thread(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    run_steps(step_in_thread, NULL);
}

static void *go_back(void *unused)
{
    CU(CtxSetCurrent, context);
    replay("recompute/only", step_forward);
    backward();
    return unused;
}

/* The backward pass, with the replay in it, is another thread's, which this one waits for. */
void scenario_engine_thread(void)
{
    pthread_t engine;
    begin_job();
    result("state", &state_, WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        in_range("forward/only", step_forward);
        pthread_create(&engine, NULL, go_back, NULL);
        pthread_join(engine, NULL);
        nvtxRangePop();
    }
}

/* Two batches a step by way of the same buffers, and no replay. */
void scenario_next_batch(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        for (int batch = 0; batch < 2; batch++) {
            set_input(2 * step + batch);
            step_forward();
            backward();
        }
        nvtxRangePop();
    }
}

/* A segment that is marked by its first and last launch, of which the replay makes the first. */
void scenario_unfinished(void)
{
    int one = 1;
    begin_job();
    result("state", &state_, WORDS(n));
    scratch = allocate(WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        step_forward();
        LAUNCH("gradient", n, &y, &scratch, &n);
        if (replaying)
            step_forward();
        LAUNCH("read_queue", n, &state_, &x, &scratch, &one, &n);
        backward();
        nvtxRangePop();
    }
}
