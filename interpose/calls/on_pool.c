/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that take memory from stream-ordered pools, and that ask of these or change them: in the
 * mode recompute the layer makes some of what they have (recompute/pool.h). */
#include "interpose/calls/handlers.h"

#include "interpose/recompute/pool.h"
#include "interpose/recompute/recompute.h"

/* ---- what they make ----------------------------------------------------------------- */

enum { MOST_POOLS = 64 }; /* of more, each allocation is asked about */

static struct known_pool {
    CUmemoryPool handle;
    enum rp_alloc_kind kind;
} pools[MOST_POOLS];
static size_t pool_count;

enum rp_alloc_kind rp_handler_pool_kind(const CUmemPoolProps *properties)
{
    bool on_host = properties->location.type == CU_MEM_LOCATION_TYPE_HOST ||
                   properties->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
                   properties->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
    if (properties->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED)
        return RP_ALLOC_MANAGED;
    return on_host ? RP_ALLOC_PINNED : RP_ALLOC_POOL;
}

/* Of a pool that the job has not made itself, such as the host's default one: what the driver says
 * of memory from there. */
static enum rp_alloc_kind ask_kind(CUdeviceptr address)
{
    unsigned type = 0;
    int is_managed = 0;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void *answers[] = {&type, &is_managed};
    CUresult result = rp_real.cuPointerGetAttributes(2, attributes, answers, address);
    if (result != CUDA_SUCCESS || is_managed)
        return RP_ALLOC_MANAGED;
    return type == CU_MEMORYTYPE_HOST ? RP_ALLOC_PINNED : RP_ALLOC_POOL;
}

static struct known_pool *pool_known(CUmemoryPool handle)
{
    for (size_t i = 0; i < pool_count; i++)
        if (pools[i].handle == handle)
            return &pools[i];
    return NULL;
}

static void learn_pool(CUmemoryPool handle, enum rp_alloc_kind kind)
{
    struct known_pool *known = pool_known(handle);
    if (known)
        known->kind = kind;
    else if (pool_count < MOST_POOLS)
        pools[pool_count++] = (struct known_pool){handle, kind};
}

/* NULL is the device's own. */
static enum rp_alloc_kind kind_from(CUmemoryPool handle, CUdeviceptr address)
{
    const struct known_pool *known = handle ? pool_known(handle) : NULL;
    if (!handle || known)
        return handle ? known->kind : RP_ALLOC_POOL;
    enum rp_alloc_kind kind = ask_kind(address);
    learn_pool(handle, kind);
    return kind;
}

void rp_on_pool_forget(void)
{
    pool_count = 0;
}

/* ---- taking ----------------------------------------------------------------------- */

/* Memory that the job has given back there may come again, which takes no more than there is: the
 * budget is looked at where that is not so. */
static void take_from_pool(struct rp_frame *frame, CUdeviceptr *address, uint64_t bytes,
                           CUmemoryPool pool)
{
    rp_core_lock();
    bool is_ours = rp_recompute_is_on() && address && bytes &&
                   rp_recompute_alloc_async(bytes, pool, rp_handler_stream(frame), address,
                                            &frame->result);
    if (is_ours) {
        frame->skip = frame->served = true;
        if (frame->result == CUDA_SUCCESS)
            rp_handler_born(RP_ALLOC_POOL, *address, bytes, NULL);
    }
    rp_core_unlock();
    if (!is_ours)
        rp_handler_keep_budget(frame, bytes);
}

void rp_on_alloc_async_before(struct rp_frame *frame)
{
    const struct rp_args_cuMemAllocAsync *args = frame->args;
    take_from_pool(frame, args->dptr, args->bytesize, NULL);
}

void rp_on_alloc_from_pool_before(struct rp_frame *frame)
{
    const struct rp_args_cuMemAllocFromPoolAsync *args = frame->args;
    if (args->pool) /* else it has to be refused */
        take_from_pool(frame, args->dptr, args->bytesize, args->pool);
}

static void taken_from_pool(struct rp_frame *frame, const CUdeviceptr *address, uint64_t bytes,
                            CUmemoryPool pool)
{
    if (frame->served)
        return;
    rp_core_lock();
    rp_handler_settle_budget(frame);
    if (frame->result == CUDA_SUCCESS && !rp_handler_is_captured(rp_handler_stream(frame))) {
        rp_handler_born(kind_from(pool, *address), *address, bytes, NULL);
        struct rp_pool *known = rp_recompute_is_on() ? rp_pool_find(pool) : NULL;
        if (known)
            rp_pool_note(known);
    }
    rp_core_unlock();
}

void rp_on_alloc_async(struct rp_frame *frame)
{
    const struct rp_args_cuMemAllocAsync *args = frame->args;
    taken_from_pool(frame, args->dptr, args->bytesize, NULL);
}

void rp_on_alloc_from_pool(struct rp_frame *frame)
{
    const struct rp_args_cuMemAllocFromPoolAsync *args = frame->args;
    taken_from_pool(frame, args->dptr, args->bytesize, args->pool);
}

/* ---- pools -------------------------------------------------------------------------- */

void rp_on_pool_made(struct rp_frame *frame)
{
    const struct rp_args_cuMemPoolCreate *args = frame->args;
    if (frame->result != CUDA_SUCCESS || !args->pool || !args->poolProps)
        return;
    rp_core_lock();
    learn_pool(*args->pool, rp_handler_pool_kind(args->poolProps));
    if (rp_recompute_is_on())
        rp_pool_made(*args->pool, args->poolProps);
    rp_core_unlock();
}

void rp_on_pool_gone(struct rp_frame *frame)
{
    const struct rp_args_cuMemPoolDestroy *args = frame->args;
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    struct known_pool *known = pool_known(args->pool);
    if (known)
        *known = pools[--pool_count];
    if (rp_recompute_is_on())
        rp_pool_goes(args->pool);
    rp_core_unlock();
}

void rp_on_pool_trimmed(struct rp_frame *frame)
{
    const struct rp_args_cuMemPoolTrimTo *args = frame->args;
    if (frame->result != CUDA_SUCCESS || !rp_recompute_is_on())
        return;
    rp_core_lock();
    struct rp_pool *pool = rp_pool_find(args->pool);
    if (pool)
        rp_pool_trim(pool, args->minBytesToKeep);
    rp_core_unlock();
}

void rp_on_pool_asked(struct rp_frame *frame)
{
    const struct rp_args_cuMemPoolGetAttribute *args = frame->args;
    if (frame->result != CUDA_SUCCESS || !rp_recompute_is_on())
        return;
    rp_core_lock();
    struct rp_pool *pool = rp_pool_find(args->pool);
    if (pool)
        rp_pool_answer(pool, args->attr, args->value);
    rp_core_unlock();
}

void rp_on_pool_told(struct rp_frame *frame)
{
    const struct rp_args_cuMemPoolSetAttribute *args = frame->args;
    if (frame->result != CUDA_SUCCESS || !rp_recompute_is_on())
        return;
    rp_core_lock();
    struct rp_pool *pool = rp_pool_find(args->pool);
    if (pool)
        rp_pool_reset(pool, args->attr);
    rp_core_unlock();
}

/* What the pool has so far is shown too, and stays where it is from then on. */
void rp_on_pool_shown(struct rp_frame *frame)
{
    const struct rp_args_cuMemPoolSetAccess *args = frame->args;
    if (!rp_recompute_is_on())
        return;
    rp_core_lock();
    struct rp_pool *pool = rp_pool_find(args->pool);
    bool is_done = !pool || !args->map || rp_recompute_shows(pool, args->map, args->count);
    rp_core_unlock();
    if (is_done)
        return;
    frame->result = CUDA_ERROR_OUT_OF_MEMORY;
    frame->skip = true;
}

/* What was given back is free once its stream has come so far. */
void rp_on_memory_asked(struct rp_frame *frame)
{
    (void)frame;
    if (!rp_recompute_is_on())
        return;
    rp_core_lock();
    rp_pools_settle();
    rp_core_unlock();
}
