/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/context.h"

#include "cuda/driver_real.h"
#include "interpose/calls/handlers.h"
#include "interpose/door/real.h"
#include "interpose/run/core.h"
#include "interpose/run/report.h"

#include <stdlib.h>

/* By their numbers, which are not used again. */
static struct context {
    uint64_t handle; /* 0: gone */
    int device;
} contexts[RP_DRIVER_CONTEXTS];
static size_t context_count, left_out; /* those that were too many */

static struct holding {
    rp_alloc_id id;
    uint64_t context;
} *holdings;
static size_t holding_count, holding_capacity;

static uint64_t current(void)
{
    CUcontext context = NULL;
    return rp_real.cuCtxGetCurrent(&context) == CUDA_SUCCESS ? (uintptr_t)context : 0;
}

static size_t find(uint64_t handle)
{
    size_t number = 0;
    while (number < context_count && contexts[number].handle != handle)
        number++;
    return number;
}

static void tell_usual(void)
{
    size_t first = 0;
    while (first < context_count && !contexts[first].handle)
        first++;
    rp_driver_context_usual(first < context_count ? contexts[first].handle : 0);
}

/* As long as there is one, its streams need not be told from others. */
static void tell_driver(size_t first)
{
    tell_usual();
    for (size_t i = first; context_count > 1 && i < context_count; i++)
        if (contexts[i].handle)
            rp_driver_context_known((unsigned)i, contexts[i].handle);
}

static size_t add(uint64_t handle, int device)
{
    if (context_count == RP_DRIVER_CONTEXTS) {
        left_out++;
        return context_count;
    }
    contexts[context_count++] = (struct context){handle, device};
    tell_driver(context_count > 2 ? context_count - 1 : 0);
    return context_count - 1;
}

void rp_context_made(uint64_t handle, int device)
{
    if (find(handle) == context_count)
        add(handle, device);
}

void rp_context_gone(uint64_t handle)
{
    size_t number = find(handle);
    if (number == context_count)
        return;
    contexts[number] = (struct context){0, -1};
    rp_driver_context_gone((unsigned)number);
    tell_usual();
}

unsigned rp_context_number(uint64_t handle)
{
    size_t number = find(handle);
    return number < context_count ? (unsigned)number : RP_DRIVER_CONTEXTS;
}

unsigned rp_context_now(void)
{
    uint64_t handle = current();
    if (!handle)
        return RP_DRIVER_CONTEXTS;
    return rp_context_is_one() ? 0 : rp_context_number(handle);
}

uint64_t rp_context_primary(int device)
{
    for (size_t i = 0; i < context_count; i++)
        if (contexts[i].handle && contexts[i].device == device)
            return contexts[i].handle;
    return 0;
}

/* Default streams are one in each context; any other has its own. */
static uint64_t context_of(rp_stream stream)
{
    bool is_default = stream == RP_HANDLE(CU_STREAM_LEGACY) || stream == rp_driver_thread_stream();
    CUcontext context = NULL;
    if (!is_default && rp_real.cuStreamGetCtx((CUstream)(uintptr_t)stream, &context) ==
                           CUDA_SUCCESS && context)
        return (uintptr_t)context;
    return current();
}

/* Nothing has to be told apart as long as the first is the only one and has not gone: after a
 * reset it may come back under its old handle. */
bool rp_context_is_one(void)
{
    return !context_count || (context_count == 1 && contexts[0].handle);
}

rp_stream rp_context_stream(rp_stream stream)
{
    if (rp_context_is_one())
        return stream;
    uint64_t handle = context_of(stream);
    size_t number = find(handle);
    if (handle && number == context_count)
        number = add(handle, -1);
    return number < context_count ? rp_driver_stream_in(stream, (unsigned)number) : stream;
}

void rp_context_holds(rp_alloc_id id)
{
    if (holding_count == holding_capacity) {
        size_t capacity = holding_capacity ? holding_capacity * 2 : 64;
        struct holding *bigger = realloc(holdings, capacity * sizeof *bigger);
        if (!bigger)
            return; /* nobody knows, then */
        holdings = bigger;
        holding_capacity = capacity;
    }
    holdings[holding_count++] = (struct holding){id, current()};
}

/* From the youngest: those die first. */
void rp_context_drops(rp_alloc_id id)
{
    for (size_t i = holding_count; i-- > 0;) {
        if (holdings[i].id != id)
            continue;
        holdings[i] = holdings[--holding_count];
        return;
    }
}

bool rp_context_held(uint64_t context, rp_alloc_id id)
{
    for (size_t i = 0; i < holding_count; i++)
        if (holdings[i].id == id)
            return holdings[i].context == context;
    for (size_t i = 0; i < context_count; i++)
        if (contexts[i].handle)
            return false;
    return true;
}

void rp_context_check(const struct rp_footprint *call)
{
    if (!rp_core.segments_wanted || !left_out || find(current()) < context_count)
        return;
    rp_report_unfollowed(call, "it works in a context past the 64th that the job has made, whose "
                               "streams are not told from those of others: let contexts stay, "
                               "rather than make them anew");
}

void rp_contexts_forget(void)
{
    context_count = holding_count = left_out = 0;
    rp_driver_contexts_forget();
}
