/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/drop.h"

#include "cuda/switches.h"
#include "interpose/calls/context.h"
#include "interpose/calls/handlers.h"
#include "interpose/recompute/behind.h"
#include "interpose/recompute/exile.h"
#include "interpose/recompute/fence.h"
#include "interpose/recompute/gate.h"
#include "interpose/recompute/holding.h"
#include "interpose/recompute/leftover.h"
#include "interpose/recompute/pool.h"
#include "interpose/recompute/recipe.h"
#include "interpose/recompute/victim.h"
#include "interpose/run/budget.h"
#include "interpose/run/keep.h"
#include "interpose/run/segment.h"
#include "interpose/run/underway.h"

/* A stream of the layer's own. */
struct line {
    CUstream stream;
    rp_stream line; /* as the layer knows it */
};

static struct {
    struct line waiter, mover;
    CUevent moved;   /* in the mover, after its copies */
    unsigned holds;  /* of graphs that are being launched */
} drops;

void rp_drop_forget(void)
{
    drops.waiter = drops.mover = (struct line){0};
    drops.moved = NULL;
    rp_gates_forget();
    rp_fence_forget();
}

/* ---- calls under way --------------------------------------------------------------- */

bool rp_drop_is_under_way(const struct rp_holding *holding)
{
    for (size_t i = 0; i < rp_underway_count() && rp_switch_on(RP_SWITCH_INFLIGHT); i++) {
        const struct rp_footprint *call = rp_underway_at(i)->call;
        if (rp_footprint_is_unproved(call))
            return true;
        for (size_t j = 0; j < call->count; j++) {
            const struct rp_reach *reach = &call->reaches[j];
            if (reach->id == holding->id && reach->lo < holding->hi && holding->lo < reach->hi)
                return true;
        }
    }
    return rp_underway_is_blind() || drops.holds;
}

bool rp_drop_is_quiet(void)
{
    bool is_quiet = !rp_underway_is_blind();
    for (size_t i = 0; is_quiet && i < rp_underway_count(); i++)
        is_quiet = rp_underway_at(i)->thread == rp_thread_self();
    return is_quiet;
}

bool rp_drop_meet_others(const struct rp_execution *execution)
{
    bool do_meet = rp_underway_is_blind();
    for (size_t i = 0; !do_meet && i < rp_underway_count() && rp_switch_on(RP_SWITCH_INFLIGHT); i++)
        do_meet = rp_underway_at(i)->thread != rp_thread_self() &&
                  rp_behind_matters(rp_underway_at(i)->call, execution);
    return do_meet;
}

static bool others_matter(void)
{
    bool do_meet = false;
    for (size_t i = 0; !do_meet && !rp_drop_is_quiet() && i < rp_executions_count(); i++) {
        const struct rp_execution *execution = rp_executions_at(i);
        do_meet = execution->recipe && execution->recipe->dropped &&
                  rp_drop_meet_others(execution);
    }
    return do_meet;
}

bool rp_drop_let_others_pass(void)
{
    return rp_core.captures || rp_gates_let_pass(others_matter);
}

void rp_drop_hold(bool begins)
{
    if (begins)
        drops.holds++;
    else if (drops.holds)
        drops.holds--;
}

static enum rp_status take_reaches(const struct rp_reach *reaches, size_t count, rp_alloc_id id,
                                   bool only_writes, struct rp_spans *spans)
{
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < count; i++)
        if (reaches[i].id == id && (reaches[i].effect == RP_WRITE || !only_writes))
            status = rp_spans_add(spans, reaches[i].lo, reaches[i].hi);
    return status;
}

static enum rp_status take_recipe(const struct rp_execution *execution, rp_alloc_id id,
                                  struct rp_spans *spans)
{
    const struct rp_recipe *recipe = execution->recipe;
    const struct rp_live *live = rp_instance_live(execution->instance, id);
    enum rp_status status = live ? rp_spans_add_all(spans, &live->live_in) : RP_OK;
    return status == RP_OK
               ? take_reaches(recipe->reaches, recipe->reach_count, id, true, spans)
               : status;
}

enum rp_status rp_drop_taken(rp_alloc_id id, struct rp_spans *spans)
{
    enum rp_status status =
        rp_underway_is_blind() || drops.holds ? rp_spans_add(spans, 0, UINT64_MAX) : RP_OK;
    for (size_t i = 0; status == RP_OK && i < rp_underway_count(); i++) {
        const struct rp_footprint *call = rp_underway_at(i)->call;
        status = rp_footprint_is_unproved(call)
                     ? rp_spans_add(spans, 0, UINT64_MAX)
                     : take_reaches(call->reaches, call->count, id, false, spans);
    }
    for (size_t i = 0; status == RP_OK && i < rp_executions_count(); i++)
        if (rp_executions_at(i)->recipe && rp_executions_at(i)->recipe->busy)
            status = take_recipe(rp_executions_at(i), id, spans);
    return status;
}

/* ---- waiting ------------------------------------------------------------------------ */

static bool has_stream(struct line *line)
{
    if (line->stream)
        return true;
    if (rp_real.cuStreamCreate(&line->stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        return false;
    line->line = rp_context_stream(RP_HANDLE(line->stream));
    return rp_order_meet(rp_core.bench.order, line->line) == RP_OK;
}

static bool has_streams(void)
{
    return !rp_core.captures && has_stream(&drops.waiter) && has_stream(&drops.mover);
}

bool rp_drop_line(rp_stream *line)
{
    bool is_there = has_streams();
    *line = drops.waiter.line;
    return is_there;
}

bool rp_drop_mover(rp_stream *line)
{
    bool is_there = has_streams();
    *line = drops.mover.line;
    return is_there;
}

bool rp_drop_moved(void)
{
    if (!rp_switch_on(RP_SWITCH_WAIT))
        return true;
    if (!drops.moved &&
        rp_real.cuEventCreate(&drops.moved, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
        return false;
    return rp_real.cuEventRecord(drops.moved, drops.mover.stream) == CUDA_SUCCESS &&
           rp_gates_await_event(drops.moved);
}

bool rp_drop_wait(void)
{
    rp_stream line;
    if (!rp_drop_line(&line))
        return false;
    if (!rp_switch_on(RP_SWITCH_WAIT))
        return true;
    return rp_order_gather(rp_core.bench.order, line) == RP_OK &&
           rp_real.cuStreamSynchronize(drops.waiter.stream) == CUDA_SUCCESS;
}

bool rp_drop_wait_for_all(uint64_t context)
{
    CUcontext left;
    if (rp_drop_wait())
        return true;
    /* A call of ours was refused: the driver knows of all that is under way there, too. */
    if (rp_core.captures || !rp_context_is_one() ||
        rp_real.cuCtxPushCurrent_v2((CUcontext)(uintptr_t)context) != CUDA_SUCCESS)
        return false;
    bool waited = rp_real.cuCtxSynchronize() == CUDA_SUCCESS;
    rp_real.cuCtxPopCurrent_v2(&left);
    return waited;
}

/* ---- dropping ------------------------------------------------------------------------ */

static uint64_t drop(struct rp_holding *holding)
{
    uint64_t bytes = rp_backing_empty(holding->backed, holding->lo, holding->hi);
    if (holding->state == RP_HOLDING_DROPPED)
        return bytes;
    rp_holding_set(holding, RP_HOLDING_DROPPED);
    rp_core.figures.drops++;
    rp_core.figures.bytes_dropped += bytes;
    return bytes;
}

static uint64_t trim_own(uint64_t bytes)
{
    uint64_t reserved = rp_store_reserved(rp_core.bench.store);
    if (!rp_core.captures)
        rp_store_trim(rp_core.bench.store, bytes < reserved ? reserved - bytes : 0);
    return reserved - rp_store_reserved(rp_core.bench.store);
}

static uint64_t drop_holdings(uint64_t bytes)
{
    uint64_t freed = 0;
    struct rp_holding *victim;
    if (bytes)
        rp_victims_rank();
    while (freed < bytes && (victim = rp_victim_best()) != NULL) {
        if (!rp_fence_wait(rp_holding_used(victim)))
            break;
        freed += drop(victim);
        rp_victim_went(victim);
    }
    return freed;
}

void rp_drop_unless_plenty(void)
{
    if (!rp_switch_on(RP_SWITCH_PLENTY))
        drop_holdings(UINT64_MAX);
    if (!rp_switch_on(RP_SWITCH_ROOM))
        rp_exile_make_room(UINT64_MAX);
}

static uint64_t take(uint64_t bytes)
{
    uint64_t freed = drop_holdings(bytes);
    return freed < bytes ? freed + rp_exile_make_room(bytes - freed) : freed;
}

/* What is kept of inputs can wait for its time in host memory, too. */
static uint64_t evict(uint64_t bytes)
{
    uint64_t freed = 0;
    while (freed < bytes && !rp_gates_are_shut() && !rp_core.captures && rp_keep_evict())
        freed += trim_own(bytes - freed);
    return freed;
}

static uint64_t make_room(uint64_t bytes, bool waits)
{
    uint64_t freed = trim_own(bytes) + rp_leftovers_reclaim();
    if (freed < bytes)
        freed += rp_pools_reclaim(bytes - freed, waits);
    return freed < bytes ? freed + take(bytes - freed) : freed;
}

/* What is behind a gate is left alone, unless there is nothing else, and the gate opens soon. */
bool rp_drop_make_room(uint64_t bytes)
{
    bool is_shut = rp_gates_are_shut();
    uint64_t freed = make_room(bytes, !is_shut);
    if (freed < bytes && is_shut && rp_gates_await()) /* they may have opened just now */
        freed += make_room(bytes - freed, true);
    if (freed < bytes)
        freed += evict(bytes - freed);
    return freed >= bytes;
}

bool rp_drop_make_room_for(uint64_t bytes)
{
    uint64_t budget = rp_core.config.budget, used = rp_budget_taken();
    if (bytes > budget)
        return false;
    if (used + bytes > budget)
        rp_drop_make_room(used + bytes - budget);
    return rp_backing_fits(bytes);
}

enum rp_status rp_drop_fill(struct rp_backed *backed, uint64_t lo, uint64_t hi)
{
    uint64_t missing = rp_backing_missing(backed, lo, hi);
    if (!missing)
        return RP_OK;
    if (!rp_backing_fits(missing) && !rp_drop_make_room_for(missing))
        return RP_NO_MEMORY;
    enum rp_status status = rp_backing_fill(backed, lo, hi);
    if (status == RP_NO_MEMORY && rp_drop_make_room(rp_backing_missing(backed, lo, hi)))
        status = rp_backing_fill(backed, lo, hi);
    return status;
}
