/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/context.h"

#include "interpose/door/real.h"
#include "interpose/run/core.h"
#include "interpose/run/report.h"

#include <stdlib.h>

static struct context {
    uint64_t handle;
    int device;
} contexts[64]; /* more are not told apart: they then count as in use */
static size_t context_count;
static uint64_t in_use; /* where guarded work is done; 0 before the first */

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

void rp_context_made(uint64_t handle, int device)
{
    for (size_t i = 0; i < context_count; i++)
        if (contexts[i].handle == handle)
            return;
    if (context_count < sizeof contexts / sizeof *contexts)
        contexts[context_count++] = (struct context){handle, device};
}

void rp_context_gone(uint64_t handle)
{
    for (size_t i = 0; i < context_count; i++)
        if (contexts[i].handle == handle)
            contexts[i--] = contexts[--context_count];
    if (in_use == handle)
        in_use = 0;
}

uint64_t rp_context_primary(int device)
{
    for (size_t i = 0; i < context_count; i++)
        if (contexts[i].device == device)
            return contexts[i].handle;
    return 0;
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
    return context_count == 0;
}

void rp_context_check(const struct rp_footprint *call)
{
    if (!rp_core.segments_wanted || context_count < 2)
        return;
    uint64_t now = current();
    if (!in_use || !now)
        in_use = now;
    if (now == in_use)
        return;
    rp_remark(rp_name(call->name), "works in another context than calls before it: the order "
                                   "between their streams is not kept");
    rp_report(RP_HAZARD_UNPROVED, NULL, call, 0, 0, 0, NULL, NULL);
}

void rp_contexts_forget(void)
{
    context_count = holding_count = 0;
    in_use = 0;
}
