/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts come and go, and with them all that they hold. */
#include "interpose/calls/handlers.h"

#include "cuda/driver_real.h"
#include "interpose/calls/audit.h"
#include "interpose/calls/context.h"
#include "interpose/plan/cost.h"
#include "interpose/plan/refuge.h"
#include "interpose/recompute/capture.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/budget.h"
#include "interpose/run/errand.h"
#include "interpose/run/execution.h"
#include "interpose/run/guard.h"
#include "interpose/run/report.h"

#include <stdlib.h>

/* ---- coming ---------------------------------------------------------------------- */

/* All forms start with the place for the handle. */
void rp_on_context_made(struct rp_frame *frame)
{
    const struct rp_args_cuCtxCreate *args = frame->args;
    if (frame->result != CUDA_SUCCESS || !args->pctx)
        return;
    rp_core_lock();
    rp_context_made(RP_HANDLE(*args->pctx), -1);
    rp_core_unlock();
}

void rp_on_primary_retained(struct rp_frame *frame)
{
    const struct rp_args_cuDevicePrimaryCtxRetain *args = frame->args;
    if (frame->result != CUDA_SUCCESS || !args->pctx)
        return;
    rp_core_lock();
    rp_context_made(RP_HANDLE(*args->pctx), args->dev);
    rp_core_unlock();
}

/* ---- going ----------------------------------------------------------------------- */

struct collecting {
    uint64_t context;
    rp_alloc_id *next;
};

/* Host memory outlives contexts, and physical memory belongs to none. */
static void collect(void *ctx, const struct rp_alloc *alloc)
{
    struct collecting *collecting = ctx;
    bool outlives = alloc->kind == RP_ALLOC_PINNED || alloc->kind == RP_ALLOC_HOST ||
                    (alloc->kind == RP_ALLOC_PHYSICAL && !alloc->name);
    if (!outlives && rp_context_held(collecting->context, alloc->id))
        *collecting->next++ = alloc->id;
}

static void bury_held(uint64_t context)
{
    rp_alloc_id *ids = malloc(rp_memory_live_count(rp_core.bench.memory) * sizeof *ids + 1);
    struct collecting collecting = {context, ids};
    if (ids)
        rp_memory_each(rp_core.bench.memory, collect, &collecting);
    for (rp_alloc_id *id = ids; id < collecting.next; id++)
        rp_handler_died(*id);
    free(ids);
}

/* The summary tells of the whole run. */
static void remember_store(void)
{
    struct rp_figures *figures = &rp_core.figures;
    uint64_t peak = rp_store_held_peak(rp_core.bench.store);
    uint64_t reserved = rp_store_reserved(rp_core.bench.store);
    figures->bytes_held_peak = peak > figures->bytes_held_peak ? peak : figures->bytes_held_peak;
    figures->bytes_reserved = reserved > figures->bytes_reserved ? reserved
                                                                 : figures->bytes_reserved;
}

/* False when the host is out of memory: then all is as it was. */
static bool replace(struct rp_workbench *bench)
{
    struct rp_workbench old = *bench;
    bench->order = NULL;
    bench->crossing = NULL;
    if (rp_order_create(bench->driver, &bench->order) == RP_OK &&
        rp_crossing_create(bench->order, bench->versions, &bench->crossing) == RP_OK &&
        rp_core_make_store() == RP_OK) {
        rp_store_abandon(old.store);
        rp_crossing_destroy(old.crossing);
        rp_order_abandon(old.order);
        return true;
    }
    rp_crossing_destroy(bench->crossing);
    rp_order_abandon(bench->order);
    *bench = old;
    return false;
}

/* The layer's own copies and events are in the context that the job works in. */
static void abandon_copies(void)
{
    rp_executions_lose();
    rp_guard_abandon();
    rp_cost_lost();
    remember_store();
    rp_refuge_abandon();
    if (!replace(&rp_core.bench) && rp_core_keeps()) /* others have no copies to lose */
        rp_stop(rp_core.config.error_exitcode, "the host is out of memory");
    rp_budget_share();
}

static bool is_in(rp_stream stream, uint64_t number)
{
    return rp_driver_context_of(stream) == number;
}

/* Where no stream of it was ever used, there is nothing of the layer's own in it. */
static bool has_worked_in(uint64_t context)
{
    unsigned number = rp_context_number(context);
    return !rp_core_keeps() || number == 0 || number == RP_DRIVER_CONTEXTS ||
           rp_order_knows(rp_core.bench.order, is_in, number);
}

static void end_captures(uint64_t context)
{
    while (rp_capture_lose_one(rp_context_number(context)))
        rp_recompute_look_ends();
}

static void gone(uint64_t context)
{
    rp_core_lock();
    end_captures(context);
    bool worked = has_worked_in(context);
    rp_errands_context_gone(rp_context_number(context));
    rp_context_gone(context);
    rp_audit_lost((CUcontext)(uintptr_t)context);
    if (worked)
        rp_recompute_lost(context);
    bury_held(context);
    if (worked)
        abandon_copies();
    rp_core_unlock();
}

/* Times that have come, and would go with their events. */
void rp_on_context_leave_before(struct rp_frame *frame)
{
    (void)frame;
    rp_core_lock();
    rp_cost_collect(true);
    rp_core_unlock();
}

static bool is_active(CUdevice device)
{
    unsigned flags;
    int active = 1;
    return rp_real.cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || active;
}

void rp_on_primary_leave_before(struct rp_frame *frame)
{
    const struct rp_args_cuDevicePrimaryCtxRelease_v2 *args = frame->args;
    frame->scratch[0] = is_active(args->dev) ? frame : NULL;
    rp_on_context_leave_before(frame);
}

void rp_on_context_destroy(struct rp_frame *frame)
{
    const struct rp_args_cuCtxDestroy *args = frame->args;
    if (frame->result == CUDA_SUCCESS)
        gone(RP_HANDLE(args->ctx));
}

/* The primary context goes with its last user, or at once when it is reset: if there was one. */
void rp_on_primary_reset(struct rp_frame *frame)
{
    const struct rp_args_cuDevicePrimaryCtxRelease_v2 *args = frame->args;
    bool was_active = frame->scratch[0] != NULL;
    if (frame->result == CUDA_SUCCESS && was_active && !is_active(args->dev))
        gone(rp_context_primary(args->dev));
}
