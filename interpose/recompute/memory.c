/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the job's that comes and goes, in the mode recompute. */
#include "interpose/recompute/recompute.h"

#include "cuda/driver_real.h"
#include "interpose/calls/handlers.h"
#include "interpose/plan/refuge.h"
#include "interpose/recompute/advice.h"
#include "interpose/recompute/capture.h"
#include "interpose/recompute/drop.h"
#include "interpose/recompute/exile.h"
#include "interpose/recompute/granule.h"
#include "interpose/recompute/holding.h"
#include "interpose/recompute/leftover.h"
#include "interpose/recompute/liveness.h"
#include "interpose/recompute/loss.h"
#include "interpose/recompute/need.h"
#include "interpose/recompute/pool.h"
#include "interpose/recompute/recall.h"
#include "interpose/recompute/recipe.h"
#include "interpose/recompute/round.h"
#include "interpose/run/budget.h"
#include "interpose/run/remark.h"
#include "interpose/run/report.h"

static CUresult alloc_plain(uint64_t bytes, CUdeviceptr *address)
{
    if (!rp_backing_fits(bytes) && !rp_drop_make_room_for(bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = rp_real.cuMemAlloc_v2(address, bytes);
    while (result == CUDA_ERROR_OUT_OF_MEMORY && rp_drop_make_room(bytes))
        result = rp_real.cuMemAlloc_v2(address, bytes);
    return result;
}

/* Without a budget it is what the device has. */
static void settle_budget(void)
{
    size_t free_bytes, total;
    if (rp_core.config.budget == UINT64_MAX &&
        rp_real.cuMemGetInfo_v2(&free_bytes, &total) == CUDA_SUCCESS)
        rp_core.config.budget = rp_budget_used() + free_bytes;
}

/* RP_UNSUPPORTED where the driver has to make it. */
static enum rp_status create(uint64_t bytes, uint64_t *address)
{
    enum rp_status status = rp_backing_create(bytes, address);
    if (status == RP_NO_MEMORY && rp_drop_make_room_for(rp_granule_span(bytes)))
        status = rp_backing_create(bytes, address);
    while (status == RP_NO_MEMORY && rp_drop_make_room(bytes))
        status = rp_backing_create(bytes, address);
    if (status == RP_NO_MEMORY && rp_recompute_outgrows(bytes))
        status = rp_backing_create_absent(bytes, address);
    if (status == RP_NO_MEMORY)
        rp_recompute_refuses(bytes);
    return status;
}

/* In this mode: what other threads are about to do comes before what has to be made anew. */
static bool is_quiet(void)
{
    if (rp_recompute_is_on() && rp_capture_is_others() && rp_holding_any_dropped())
        (void)rp_capture_let_pass();
    if (rp_recompute_is_on())
        (void)rp_drop_let_others_pass();
    return rp_recompute_is_on();
}

static bool answers_fault(void)
{
    CUresult result = rp_real.cuStreamQuery(CU_STREAM_LEGACY);
    return result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY;
}

/* Once a kernel has faulted the driver refuses, and is left to: whenever it is asked. */
static bool is_broken(void)
{
    return !rp_core.captures && answers_fault() && answers_fault();
}

bool rp_recompute_outgrows(uint64_t bytes)
{
    uint64_t budget = rp_core.config.budget, fixed = rp_need_fixed();
    return rp_recompute_is_on() && budget != UINT64_MAX && rp_backing_suits(bytes) &&
           (fixed > budget || rp_granule_span(bytes) > budget - fixed) &&
           rp_need_fits_device(bytes);
}

CUresult rp_recompute_alloc(uint64_t bytes, CUdeviceptr *address)
{
    uint64_t place = 0;
    settle_budget();
    enum rp_status status =
        rp_backing_suits(bytes) && !is_broken() ? create(bytes, &place) : RP_UNSUPPORTED;
    if (status == RP_NO_MEMORY)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (status != RP_OK)
        return alloc_plain(bytes, address);
    *address = place;
    return CUDA_SUCCESS;
}

static bool knows_stream(rp_stream stream)
{
    unsigned flags;
    return rp_real.cuStreamGetFlags(rp_driver_stream(stream), &flags) == CUDA_SUCCESS;
}

/* The driver is left what it would refuse, and what it has to note in a graph. */
bool rp_recompute_alloc_async(uint64_t bytes, CUmemoryPool handle, rp_stream stream,
                              CUdeviceptr *address, CUresult *result)
{
    uint64_t place = 0;
    settle_budget();
    struct rp_pool *pool = rp_core.captures ? NULL : rp_pool_find(handle);
    if (!rp_pool_suits(pool, bytes) || !knows_stream(stream) || is_broken())
        return false;
    struct rp_backed *backed = rp_pool_take_again(pool, bytes, stream);
    enum rp_status status = backed ? RP_OK : create(bytes, &place);
    if (!backed && status == RP_OK) {
        backed = rp_backing_find(place);
        rp_pool_take(pool, backed);
    }
    *result = status == RP_OK ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (backed)
        *address = rp_backing_address(backed);
    return status == RP_OK || status == RP_NO_MEMORY;
}

void rp_recompute_born(void)
{
    if (rp_recompute_is_on())
        rp_need_memory();
}

bool rp_recompute_free(rp_alloc_id id, uint64_t address)
{
    bool is_on = is_quiet();
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, id);
    if (!is_on || alloc->address != address || is_broken())
        return false;
    rp_loss_of_memory(id, true);
    rp_loss_let_go_of_empty();
    struct rp_backed *backed = rp_backing_find(address);
    if (!backed)
        return false;
    bool is_over = rp_drop_wait_for_all(rp_backing_owner(backed));
    rp_exile_forget(id);
    rp_pool_drop(backed);
    if (is_over)
        rp_backing_destroy(backed);
    else if (!rp_leftover_add(backed))
        rp_remark("cuMemFree", "the host is out of memory: what was freed while a stream captured "
                               "is there until the process ends");
    rp_leftovers_reclaim();
    rp_core.device_bytes += alloc->bytes; /* its death is about to take them off */
    return true;
}

bool rp_recompute_free_async(rp_alloc_id id, uint64_t address, rp_stream stream, CUresult *result)
{
    bool is_on = is_quiet();
    struct rp_backed *backed = is_on ? rp_backing_find(address) : NULL;
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, id);
    if (!is_on || alloc->address != address || rp_core.captures ||
        (backed ? !rp_backing_pool(backed) : is_broken()))
        return false;
    rp_loss_of_memory(id, false);
    rp_loss_let_go_of_empty();
    if (!backed)
        return false; /* the driver made it */
    *result = rp_pool_give(backed, stream);
    if (*result == CUDA_SUCCESS) {
        rp_exile_forget(id);
        rp_core.device_bytes += alloc->bytes; /* its death is about to take them off */
    }
    return true;
}

/* To be reached by another device is what a second context would do (recompute.h, share). */
static bool show_to(int device)
{
    rp_stream line;
    if (rp_backings_count() && (!rp_drop_line(&line) || rp_recall_all(line) != RP_OK))
        return false;
    rp_need_everything();
    rp_backing_share_with(device);
    return true;
}

bool rp_recompute_shows(struct rp_pool *pool, const CUmemAccessDesc *map, size_t count)
{
    CUdevice own;
    bool is_done = rp_real.cuCtxGetDevice(&own) == CUDA_SUCCESS;
    for (size_t i = 0; is_done && i < count; i++) {
        if (map[i].location.id == own || map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
            continue;
        rp_pool_shown(pool);
        is_done = show_to(map[i].location.id);
    }
    return is_done;
}

void rp_recompute_moves(uint64_t address, uint64_t bytes)
{
    if (is_quiet())
        rp_loss_of_range(address, bytes);
}

void rp_recompute_shared(rp_alloc_id id)
{
    if (is_quiet())
        rp_loss_of_memory(id, true);
}

void rp_recompute_code_changes(void)
{
    if (is_quiet())
        rp_loss_of_code();
}

void rp_recompute_died(rp_alloc_id id)
{
    if (rp_recompute_is_on())
        rp_loss_noticed(id);
}

bool rp_recompute_make_room_for(uint64_t bytes)
{
    return rp_recompute_is_on() && rp_drop_make_room_for(bytes);
}

enum { MOST_YIELDS = 8 };

bool rp_recompute_yields(unsigned attempt)
{
    uint64_t before = rp_backings_mapped();
    if (!rp_recompute_is_on() || attempt >= MOST_YIELDS || !rp_granule_bytes())
        return false;
    (void)rp_drop_make_room(rp_granule_bytes() << attempt);
    return rp_backings_mapped() < before;
}

const struct rp_workbench *rp_recompute_refuge(void)
{
    return rp_recompute_is_on() ? rp_refuge() : NULL;
}

void rp_recompute_lost(uint64_t context)
{
    if (!rp_recompute_is_on())
        return;
    for (size_t i = 0; i < rp_executions_count(); i++) {
        struct rp_execution *execution = rp_executions_at(i);
        if (!execution->recipe || RP_HANDLE(execution->recipe->context) != context)
            continue;
        rp_holdings_release(execution);
        execution->recipe->closed = true;
    }
    if (!rp_exile_forget_in(context)) {
        rp_report(RP_HAZARD_NOT_PRESERVED, (struct rp_met){0});
        rp_exile_forget_all();
    }
    rp_leftovers_lose(context);
    rp_pools_lose(context);
    rp_backing_lose(context);
    rp_drop_forget();
}

void rp_recompute_forget(void)
{
    rp_pools_forget();
    rp_leftovers_forget();
    rp_captures_forget();
    rp_backing_forget();
    rp_exile_forget_all();
    rp_holdings_forget_all();
    rp_drop_forget();
    rp_liveness_forget();
    rp_advice_forget();
    rp_rounds_forget();
    rp_need_forget();
}
