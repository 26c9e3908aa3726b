/* SPDX-License-Identifier: Apache-2.0 */
/* Results that a segment copies to the host, where the host may go on with them. */
#include "tests/laws/scenario.h"

/* Found by its name where a contract declares it. */
static uint32_t landing_tally[N];

static uint32_t *tally;

static void read_out(void)
{
    step_forward();
    CU(MemcpyDtoH, tally, state_, WORDS(n));
}

static void read_out_aside(void)
{
    step_forward();
    CU(MemcpyDtoHAsync, tally, state_, WORDS(n), NULL);
}

static void read_out_by_rows(void)
{
    const CUDA_MEMCPY2D rows_of = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = state_,
                                   .srcPitch = WORDS(100), .dstMemoryType = CU_MEMORYTYPE_HOST,
                                   .dstHost = tally, .dstPitch = WORDS(100),
                                   .WidthInBytes = WORDS(50), .Height = 10};
    step_forward();
    CU(Memcpy2D, &rows_of);
}

static void count_on(void)
{
    CU(StreamSynchronize, NULL);
    for (int i = 0; i < N; i++)
        tally[i] += 7;
}

static void fill_from_device(void)
{
    CU(MemcpyDtoH, tally, x, WORDS(n));
}

/* What the host holds at the end is a result like any other. */
static void run(uint32_t *at, void (*forward)(void), void (*between)(void))
{
    static CUdeviceptr last;
    tally = at;
    begin_job();
    result("state", &state_, WORDS(n));
    run_steps(forward, between);
    result("tally", &last, WORDS(n));
    CU(StreamSynchronize, NULL);
    CU(MemcpyHtoD, last, tally, WORDS(n));
}

/* Nobody touches what was read out: nothing is lost when it is read out again. */
void scenario_read_out(void)
{
    run(landing_tally, read_out, NULL);
}

/* Host code goes on from it, or the place is used for something else. */
void scenario_counted_on_host(void)
{
    run(landing_tally, read_out, count_on);
}

void scenario_landed_again(void)
{
    run(landing_tally, read_out, fill_from_device);
}

void scenario_counted_by_rows(void)
{
    run(landing_tally, read_out_by_rows, count_on);
}

/* When the copy is over, only its stream tells. */
void scenario_counted_aside(void)
{
    void *pinned;
    CU(MemHostAlloc, &pinned, WORDS(n), 0);
    run(pinned, read_out_aside, count_on);
}

static void read_out_of(const char *range, CUdeviceptr *to)
{
    nvtxRangePushA(range);
    LAUNCH("step_state", n, &state_, &x, to, &n);
    CU(MemcpyDtoH, tally, *to, WORDS(n));
    nvtxRangePop();
}

/* Two segments read out into one place, and the job goes on with the second one's. */
void scenario_landing_shared(void)
{
    static CUdeviceptr ys[2], last;
    tally = landing_tally;
    begin_job();
    result("state", &state_, WORDS(n));
    ys[0] = allocate(WORDS(n));
    ys[1] = allocate(WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        read_out_of("forward/0", &ys[0]);
        read_out_of("forward/1", &ys[1]);
        for (int i = 1; i >= 0; i--) {
            if (replaying)
                read_out_of(i ? "recompute/1" : "recompute/0", &ys[i]);
            LAUNCH("gradient", n, &ys[i], &g, &n);
        }
        nvtxRangePop();
    }
    result("tally", &last, WORDS(n));
    CU(MemcpyHtoD, last, tally, WORDS(n));
}
