/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/fence.h"

#include "cuda/driver_real.h"
#include "cuda/switches.h"
#include "interpose/calls/handlers.h"
#include "interpose/recompute/drop.h"
#include "interpose/recompute/gate.h"
#include "interpose/run/core.h"

enum { RING = 32 };

/* Fence number n, counted from 1, is events[n % RING], as long as it is one of the last. */
static struct {
    CUevent events[RING];
    uint64_t count, oldest; /* oldest: of those that can be waited for */
} fences = {.oldest = 1};

uint64_t rp_fence_now(void)
{
    return fences.count;
}

void rp_fence_forget(void)
{
    for (int i = 0; i < RING; i++)
        fences.events[i] = NULL;
    fences.oldest = fences.count + 1;
}

void rp_fence_set(void)
{
    rp_stream line;
    CUevent *event = &fences.events[(fences.count + 1) % RING];
    if (!rp_drop_line(&line) ||
        (!*event && rp_real.cuEventCreate(event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS))
        return;
    if (fences.count + 1 >= fences.oldest + RING)
        fences.oldest = fences.count + 2 - RING; /* this event stands for another one from now on */
    if (rp_order_gather(rp_core.bench.order, line) != RP_OK ||
        rp_real.cuEventRecord(*event, rp_driver_stream(line)) != CUDA_SUCCESS) {
        fences.oldest = fences.count + 1;
        return;
    }
    fences.count++;
}

/* The latest that the device has got to, or 0. */
static uint64_t latest_past(void)
{
    uint64_t number = fences.count;
    while (number >= fences.oldest &&
           rp_real.cuEventQuery(fences.events[number % RING]) != CUDA_SUCCESS)
        number--;
    return number < fences.oldest ? 0 : number;
}

uint64_t rp_fence_reach(void)
{
    if (!rp_gates_are_shut())
        return UINT64_MAX;
    return rp_core.captures ? 0 : latest_past();
}

bool rp_fence_wait(uint64_t used)
{
    uint64_t number = used + 1 > fences.oldest ? used + 1 : fences.oldest;
    if (!rp_switch_on(RP_SWITCH_WAIT))
        return true;
    if (rp_core.captures)
        return false;
    return number <= fences.count
               ? rp_gates_await_event(fences.events[number % RING])
               : rp_drop_wait();
}
