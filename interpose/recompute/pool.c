/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/pool.h"

#include "cuda/driver_real.h"
#include "cuda/switches.h"
#include "interpose/calls/handlers.h"
#include "interpose/recompute/drop.h"
#include "interpose/recompute/gate.h"
#include "interpose/recompute/granule.h"
#include "interpose/recompute/leftover.h"
#include "interpose/run/core.h"
#include "interpose/run/remark.h"
#include "tracker/array.h"

#include <string.h>

enum { MOST_POOLS = 32, QUANTUM = 512 /* bytes that a pool rounds sizes up to */ };

struct rp_pool {
    CUmemoryPool handle; /* NULL: a free slot */
    int device;
    bool is_shown;       /* to another device, or destroyed: what is there is its last */
    bool is_gone;        /* destroyed: the driver may give its handle to another */
    uint64_t used;       /* bytes that the layer has made and streams may still use ... */
    uint64_t idle;       /* ... and that were given back, and are there still */
    uint64_t most_used, most_reserved; /* with the driver's part */
};

/* Memory that was given back. */
struct parting {
    struct rp_backed *backed;
    rp_stream stream;
    CUevent event; /* in it; NULL once that is past */
};

static struct {
    struct rp_pool items[MOST_POOLS];
    struct parting *partings; /* in the order of their coming */
    size_t count, capacity;
} pools;

static uint64_t size_of(const struct rp_backed *backed)
{
    return (rp_backing_bytes(backed) + QUANTUM - 1) / QUANTUM * QUANTUM;
}

/* ---- which pools ------------------------------------------------------------------------ */

static struct rp_pool *slot_of(CUmemoryPool handle)
{
    for (size_t i = 0; i < MOST_POOLS; i++)
        if (pools.items[i].handle == handle && !pools.items[i].is_gone)
            return &pools.items[i];
    return NULL;
}

static struct rp_pool *add(CUmemoryPool handle, int device)
{
    struct rp_pool *pool = slot_of(NULL);
    if (pool)
        *pool = (struct rp_pool){.handle = handle, .device = device};
    return pool;
}

struct rp_pool *rp_pool_find(CUmemoryPool handle)
{
    CUdevice device;
    CUmemoryPool own;
    if (rp_real.cuCtxGetDevice(&device) != CUDA_SUCCESS ||
        rp_real.cuDeviceGetDefaultMemPool(&own, device) != CUDA_SUCCESS ||
        (!handle && rp_real.cuDeviceGetMemPool(&handle, device) != CUDA_SUCCESS) || !handle)
        return NULL;
    struct rp_pool *pool = slot_of(handle);
    if (!pool && handle == own)
        pool = add(handle, device);
    return pool && pool->device == device ? pool : NULL;
}

bool rp_pool_suits(const struct rp_pool *pool, uint64_t bytes)
{
    return pool && !pool->is_shown && rp_backing_suits(bytes);
}

CUmemoryPool rp_pool_handle(const struct rp_pool *pool)
{
    return pool->handle;
}

void rp_pool_made(CUmemoryPool handle, const CUmemPoolProps *properties)
{
    if (properties->allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
        properties->handleTypes == CU_MEM_HANDLE_TYPE_NONE && !properties->maxSize &&
        properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE && !slot_of(handle))
        add(handle, properties->location.id);
}

void rp_pool_shown(struct rp_pool *pool)
{
    pool->is_shown = true;
}

void rp_pool_goes(CUmemoryPool handle)
{
    struct rp_pool *pool = slot_of(handle);
    if (!pool)
        return;
    pool->is_shown = pool->is_gone = true;
    rp_pools_settle();
    if (!pool->used && !pool->idle)
        *pool = (struct rp_pool){0};
}

/* ---- what was given back ------------------------------------------------------------------ */

static void remove_at(size_t at)
{
    rp_array_splice(pools.partings, &pools.count, at, at + 1, NULL, 0, sizeof *pools.partings);
}

static void become_past(struct parting *parting)
{
    struct rp_pool *pool = rp_backing_pool(parting->backed);
    if (parting->event)
        rp_real.cuEventDestroy_v2(parting->event);
    parting->event = NULL;
    pool->used -= size_of(parting->backed);
    pool->idle += size_of(parting->backed);
}

/* Streams come to their places in order: of one that has not, no later place is looked at. */
static void look(void)
{
    rp_stream behind = 0;
    for (size_t i = 0; !rp_core.captures && i < pools.count; i++) {
        struct parting *parting = &pools.partings[i];
        if (!parting->event || parting->stream == behind)
            continue;
        if (rp_real.cuEventQuery(parting->event) == CUDA_SUCCESS)
            become_past(parting);
        else
            behind = parting->stream;
    }
}

/* To the device. Returns how much it got back. */
static uint64_t send_off(size_t at)
{
    struct rp_backed *backed = pools.partings[at].backed;
    struct rp_pool *pool = rp_backing_pool(backed);
    uint64_t before = rp_backings_mapped();
    pool->idle -= size_of(backed);
    if (pool->is_gone && !pool->idle && !pool->used)
        *pool = (struct rp_pool){0};
    remove_at(at);
    rp_backing_destroy(backed);
    return before - rp_backings_mapped();
}

static uint64_t ask(const struct rp_pool *pool, CUmemPool_attribute attribute)
{
    cuuint64_t value = 0;
    if (pool->is_gone ||
        rp_real.cuMemPoolGetAttribute(pool->handle, attribute, &value) != CUDA_SUCCESS)
        return 0;
    return value;
}

/* Leaves the pool no more than `bytes` that nobody uses, with the driver's part. */
static void leave_idle(struct rp_pool *pool, uint64_t bytes)
{
    uint64_t others = ask(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) -
                      ask(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    for (size_t i = 0; i < pools.count && others + pool->idle > bytes;) {
        if (rp_backing_pool(pools.partings[i].backed) == pool && !pools.partings[i].event)
            send_off(i);
        else
            i++;
    }
}

void rp_pools_settle(void)
{
    look();
    for (size_t i = 0; !rp_core.captures && i < MOST_POOLS; i++)
        if (pools.items[i].idle)
            leave_idle(&pools.items[i],
                       ask(&pools.items[i], CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
}

void rp_pool_trim(struct rp_pool *pool, uint64_t bytes)
{
    uint64_t used = ask(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) + pool->used;
    look();
    if (!rp_core.captures)
        leave_idle(pool, bytes > used ? bytes - used : 0);
}

uint64_t rp_pools_reclaim(uint64_t bytes, bool waits)
{
    uint64_t freed = 0;
    look();
    for (size_t i = 0; !rp_core.captures && freed < bytes && i < pools.count;) {
        struct parting *parting = &pools.partings[i];
        if (parting->event && waits && rp_gates_await_event(parting->event))
            become_past(parting);
        if (parting->event)
            i++;
        else
            freed += send_off(i);
    }
    return freed;
}

/* ---- taking and giving --------------------------------------------------------------------- */

void rp_pool_note(struct rp_pool *pool)
{
    uint64_t used = ask(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) + pool->used;
    uint64_t all = ask(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) + pool->used + pool->idle;
    if (used > pool->most_used)
        pool->most_used = used;
    if (all > pool->most_reserved)
        pool->most_reserved = all;
}

void rp_pool_take(struct rp_pool *pool, struct rp_backed *backed)
{
    rp_backing_put_into(backed, pool);
    pool->used += size_of(backed);
    rp_pool_note(pool);
}

static size_t find_alike(const struct rp_pool *pool, uint64_t span, rp_stream stream)
{
    size_t found = pools.count;
    for (size_t i = 0; i < pools.count; i++) {
        const struct parting *parting = &pools.partings[i];
        if (rp_backing_pool(parting->backed) != pool ||
            rp_granule_span(rp_backing_bytes(parting->backed)) != span)
            continue;
        if (parting->stream == stream)
            return i;
        if (!parting->event)
            found = i;
    }
    return found;
}

static void count_off(const struct parting *parting)
{
    struct rp_pool *pool = rp_backing_pool(parting->backed);
    *(parting->event ? &pool->used : &pool->idle) -= size_of(parting->backed);
}

static void part_again(const struct parting *parting)
{
    struct rp_pool *pool = rp_backing_pool(parting->backed);
    *(parting->event ? &pool->used : &pool->idle) += size_of(parting->backed);
    rp_backing_part(parting->backed);
    pools.partings[pools.count++] = *parting; /* it had a place a moment ago */
}

/* What is not there of it comes first. A stream by the handle of one that is gone comes after what
 * that one holds, before it counts as the same. */
struct rp_backed *rp_pool_take_again(struct rp_pool *pool, uint64_t bytes, rp_stream stream)
{
    if (rp_order_meet(rp_core.bench.order, stream) != RP_OK)
        return NULL;
    look();
    size_t at = find_alike(pool, rp_granule_span(bytes), stream);
    if (at == pools.count)
        return NULL;
    struct parting found = pools.partings[at];
    count_off(&found);
    remove_at(at);
    rp_backing_renew(found.backed, bytes);
    if (rp_drop_fill(found.backed, 0, bytes) != RP_OK) {
        part_again(&found);
        return NULL;
    }
    if (found.event)
        rp_real.cuEventDestroy_v2(found.event);
    rp_pool_take(pool, found.backed);
    rp_core.device_bytes -= bytes; /* its birth is about to add them */
    return found.backed;
}

static bool has_place(void)
{
    void *bigger = rp_array_reserve(pools.partings, &pools.capacity, pools.count + 1,
                                    sizeof *pools.partings);
    if (bigger)
        pools.partings = bigger;
    return bigger != NULL;
}

static CUresult mark(struct parting *parting)
{
    if (!has_place())
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = rp_real.cuEventCreate(&parting->event, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS)
        return result;
    result = rp_real.cuEventRecord(parting->event, rp_driver_stream(parting->stream));
    if (result != CUDA_SUCCESS)
        rp_real.cuEventDestroy_v2(parting->event);
    return result;
}

/* Nobody is told when the stream has come so far: it stays until all streams have. Where the driver
 * would have refused the stream the job is told what it said. */
static CUresult leave(struct rp_backed *backed, rp_stream stream, CUresult why)
{
    unsigned flags;
    if (rp_real.cuStreamGetFlags(rp_driver_stream(stream), &flags) != CUDA_SUCCESS)
        return why;
    rp_pool_drop(backed);
    if (!rp_leftover_add(backed))
        rp_remark("cuMemFreeAsync", "the host is out of memory: what was given back is there until "
                                    "the process ends");
    return CUDA_SUCCESS;
}

CUresult rp_pool_give(struct rp_backed *backed, rp_stream stream)
{
    struct parting parting = {backed, stream, NULL};
    CUresult result = mark(&parting);
    if (result != CUDA_SUCCESS)
        return leave(backed, stream, result);
    rp_backing_part(backed);
    pools.partings[pools.count++] = parting;
    if (!rp_switch_on(RP_SWITCH_PARTING)) {
        become_past(&pools.partings[pools.count - 1]);
        send_off(pools.count - 1);
    }
    return CUDA_SUCCESS;
}

void rp_pool_drop(const struct rp_backed *backed)
{
    struct rp_pool *pool = rp_backing_pool(backed);
    if (pool)
        pool->used -= size_of(backed);
}

/* ---- what is asked of a pool ----------------------------------------------------------------- */

void rp_pool_answer(struct rp_pool *pool, CUmemPool_attribute attribute, void *value)
{
    cuuint64_t number;
    rp_pools_settle();
    memcpy(&number, value, sizeof number);
    switch ((int)attribute) {
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: number += pool->used; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: number += pool->used + pool->idle; break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        number = pool->most_used > number ? pool->most_used : number;
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        number = pool->most_reserved > number ? pool->most_reserved : number;
        break;
    default: return; /* narrower ones among them */
    }
    memcpy(value, &number, sizeof number);
}

void rp_pool_reset(struct rp_pool *pool, CUmemPool_attribute attribute)
{
    rp_pools_settle();
    if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        pool->most_used = 0;
    else if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
        pool->most_reserved = 0;
    rp_pool_note(pool);
}

/* ---- ends ------------------------------------------------------------------------------ */

/* Its events went with it, and are nothing that the driver could be asked about. */
void rp_pools_lose(uint64_t context)
{
    for (size_t i = pools.count; i-- > 0;) {
        struct parting *parting = &pools.partings[i];
        if (rp_backing_owner(parting->backed) != context)
            continue;
        if (parting->event) {
            parting->event = NULL;
            become_past(parting);
        }
        send_off(i);
    }
    for (size_t i = 0; i < rp_backings_count(); i++)
        if (rp_backing_owner(rp_backings_at(i)) == context)
            rp_pool_drop(rp_backings_at(i));
}

void rp_pools_forget(void)
{
    pools.count = 0;
    memset(pools.items, 0, sizeof pools.items);
}
