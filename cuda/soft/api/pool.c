/* SPDX-License-Identifier: Apache-2.0 */
/* How a pool gives and takes. The entry points are in poolcalls.c. */
#include "cuda/soft/api/pool.h"

#include "cuda/soft/api/capture.h"
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/graphmem.h"
#include "cuda/soft/api/touched.h"

#include <stdlib.h>

struct soft_kept { /* memory of the pool that nobody uses */
    struct soft_kept *next;
    uint64_t address, reserved;
};

struct soft_pool *soft_pools;

/* ---- memory that the pool keeps ---------------------------------------------------- */

static void give_back(struct soft_pool *pool, uint64_t address, uint64_t reserved)
{
    soft_arena_give(&pool->device->arena, address, reserved);
    soft_memory_refund(pool->device, reserved);
    pool->reserved -= reserved;
}

bool soft_pool_trim(struct soft_pool *pool, uint64_t bytes)
{
    bool any = false;
    while (pool->kept != NULL && pool->reserved - pool->used > bytes) {
        struct soft_kept *kept = pool->kept;
        pool->kept = kept->next;
        give_back(pool, kept->address, kept->reserved);
        free(kept);
        any = true;
    }
    return any;
}

bool soft_pool_trim_all(struct soft_device *device)
{
    bool any = false;
    for (struct soft_pool *pool = soft_pools; pool != NULL; pool = pool->next)
        if (pool->device == device && soft_pool_trim(pool, 0))
            any = true;
    return any;
}

static void keep(struct soft_pool *pool, uint64_t address, uint64_t reserved)
{
    struct soft_kept *kept = malloc(sizeof *kept);
    if (kept == NULL) {
        give_back(pool, address, reserved);
        return;
    }
    *kept = (struct soft_kept){pool->kept, address, reserved};
    pool->kept = kept;
    soft_pool_trim(pool, pool->threshold);
}

/* Kept memory of exactly this size, or 0. */
static uint64_t take_kept(struct soft_pool *pool, uint64_t reserved)
{
    for (struct soft_kept **at = &pool->kept; *at != NULL; at = &(*at)->next) {
        struct soft_kept *kept = *at;
        if (kept->reserved != reserved)
            continue;
        uint64_t address = kept->address;
        *at = kept->next;
        free(kept);
        return address;
    }
    return 0;
}

/* ---- life -------------------------------------------------------------------------- */

CUresult soft_pool_create(struct soft_device *device, struct soft_pool **out)
{
    static uint64_t last_id;
    struct soft_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL || !soft_handle_add(pool, SOFT_HANDLE_POOL)) {
        free(pool);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pool->device = device;
    pool->id = ++last_id;
    pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
    pool->readers = pool->writers = 1u << device->ordinal;
    pool->next = soft_pools;
    soft_pools = pool;
    *out = pool;
    return CUDA_SUCCESS;
}

CUresult soft_pool_create_default(struct soft_device *device)
{
    CUresult result = soft_pool_create(device, &device->default_pool);
    if (result != CUDA_SUCCESS)
        return result;
    device->default_pool->is_default = true;
    device->current_pool = device->default_pool;
    return CUDA_SUCCESS;
}

static void free_pool(struct soft_pool *pool)
{
    struct soft_pool **at = &soft_pools;
    while (*at != pool)
        at = &(*at)->next;
    *at = pool->next;
    soft_pool_trim(pool, 0);
    free(pool);
}

void soft_pool_destroy(struct soft_pool *pool)
{
    soft_handle_remove(pool);
    pool->destroyed = true;
    pool->threshold = 0;
    if (pool->device->current_pool == pool)
        pool->device->current_pool = pool->device->default_pool;
    if (pool->used == 0)
        free_pool(pool);
}

void soft_pool_take_back(struct soft_allocation *allocation)
{
    struct soft_pool *pool = allocation->pool;
    uint64_t address = allocation->address, reserved = allocation->reserved;

    soft_memory_remove(allocation);
    soft_op_release(allocation->freed_by);
    free(allocation);
    pool->used -= reserved;
    keep(pool, address, reserved);
    if (pool->destroyed && pool->used == 0)
        free_pool(pool);
}

/* ---- in stream order --------------------------------------------------------------- */

/* The memory becomes the new owner's: spoils it, so that nothing of the old one is left. */
struct birth {
    struct soft_work base;
    uint64_t address, bytes;
};

static CUresult birth_run(const struct soft_work *work, struct soft_op *op)
{
    const struct birth *birth = (const struct birth *)work;
    pthread_mutex_lock(&soft.lock);
    struct soft_allocation *allocation = soft_memory_find(birth->address);
    if (allocation != NULL && allocation->address == birth->address)
        allocation->bytes = birth->bytes;
    pthread_mutex_unlock(&soft.lock);
    soft_memory_spoil(birth->address, birth->bytes);
    soft_touched_note(op, birth->address, birth->bytes, true);
    return CUDA_SUCCESS;
}

static struct soft_work *birth_work(uint64_t address, uint64_t bytes)
{
    static const struct soft_work_type type = {
        .name = "allocation", .class_ = SOFT_WORK_DEVICE, .run = birth_run};
    struct birth *birth = soft_work_create(&type, sizeof *birth);
    if (birth == NULL)
        return NULL;
    birth->address = address;
    birth->bytes = bytes;
    return &birth->base;
}

/* The old owner is done. Unless the memory has a new one already, it goes back. */
struct death {
    struct soft_work base;
    uint64_t address;
};

static CUresult death_run(const struct soft_work *work, struct soft_op *op)
{
    const struct death *death = (const struct death *)work;
    pthread_mutex_lock(&soft.lock);
    struct soft_allocation *allocation = soft_memory_find(death->address);
    if (allocation != NULL && allocation->freed_by == op)
        soft_pool_take_back(allocation);
    pthread_mutex_unlock(&soft.lock);
    return CUDA_SUCCESS;
}

/* Runs in a context with a fault, too: the memory is the device's. */
static struct soft_work *death_work(uint64_t address)
{
    static const struct soft_work_type type = {
        .name = "free", .class_ = SOFT_WORK_DEVICE, .run = death_run, .always = true};
    struct death *death = soft_work_create(&type, sizeof *death);
    if (death == NULL)
        return NULL;
    death->address = address;
    return &death->base;
}

CUresult soft_pool_free(struct soft_allocation *allocation, struct soft_stream *stream)
{
    struct soft_op *op;
    struct soft_work *work = death_work(allocation->address);
    if (work == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = soft_stream_submit(stream, work, &op);
    if (result == CUDA_SUCCESS)
        allocation->freed_by = op; /* runs after this call: the lock is ours */
    return result;
}

/* An allocation whose free is pending and that a new one in `stream` may take over: freed in
 * the same stream or, where `anywhere`, in any. */
static struct soft_allocation *find_pending(const struct soft_pool *pool,
                                            const struct soft_stream *stream, uint64_t reserved,
                                            bool anywhere)
{
    uint64_t lo = pool->device->arena.base, hi = lo + pool->device->arena.bytes;
    struct soft_allocation *each;

    for (uint64_t at = lo; (each = soft_memory_next(at, hi)) != NULL;
         at = each->address + each->bytes)
        if (each->pool == pool && each->freed_by != NULL && each->reserved == reserved &&
            (anywhere || each->freed_by->stream == stream->id))
            return each;
    return NULL;
}

static CUresult adopt(struct soft_pool *pool, uint64_t address, uint64_t bytes, uint64_t reserved,
                      struct soft_allocation **out)
{
    struct soft_allocation *allocation = calloc(1, sizeof *allocation);
    if (allocation == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *allocation = (struct soft_allocation){
        .address = address,
        .bytes = bytes,
        .reserved = reserved,
        .kind = SOFT_MEMORY_POOL,
        .device = pool->device,
        .pool = pool,
        .readers = pool->readers,
        .writers = pool->writers,
    };
    if (!soft_memory_add(allocation)) {
        free(allocation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = allocation;
    return CUDA_SUCCESS;
}

static CUresult allocate_fresh(struct soft_pool *pool, uint64_t bytes, uint64_t reserved,
                               struct soft_allocation **out)
{
    if (pool->most != 0 && reserved > pool->most - pool->reserved)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = soft_memory_allocate(pool->device, NULL, SOFT_MEMORY_POOL, bytes, out);
    if (result != CUDA_SUCCESS)
        return result;
    (*out)->pool = pool;
    (*out)->readers = pool->readers;
    (*out)->writers = pool->writers;
    pool->reserved += reserved;
    if (pool->reserved > pool->reserved_high)
        pool->reserved_high = pool->reserved;
    return CUDA_SUCCESS;
}

/* Takes over what an earlier allocation frees. */
static void inherit(struct soft_allocation *allocation, uint64_t bytes)
{
    soft_op_release(allocation->freed_by);
    allocation->freed_by = NULL;
    allocation->buffer_id = ++soft.next_id;
    if (bytes > allocation->bytes)
        allocation->bytes = bytes; /* less becomes true in stream order */
}

/* Where the memory comes from: a pending free of this stream, kept memory, the device, what
 * other pools keep, and last a pending free elsewhere, which `*after` then names. */
static CUresult find_memory(struct soft_pool *pool, const struct soft_stream *stream,
                            uint64_t bytes, struct soft_allocation **out, struct soft_op **after)
{
    uint64_t reserved = soft_round_up(bytes, SOFT_ALIGNMENT);
    struct soft_allocation *pending = find_pending(pool, stream, reserved, false);
    CUresult result;

    *after = NULL;
    if (pending == NULL) {
        uint64_t address = take_kept(pool, reserved);
        if (address != 0) {
            result = adopt(pool, address, bytes, reserved, out);
        } else {
            result = allocate_fresh(pool, bytes, reserved, out);
            if (result == CUDA_ERROR_OUT_OF_MEMORY && soft_pool_trim_all(pool->device))
                result = allocate_fresh(pool, bytes, reserved, out);
        }
        if (result == CUDA_SUCCESS) {
            pool->used += reserved;
            if (pool->used > pool->used_high)
                pool->used_high = pool->used;
            return result;
        }
        pending = find_pending(pool, stream, reserved, true);
        if (pending == NULL)
            return result;
        *after = soft_op_retain(pending->freed_by);
    }
    inherit(pending, bytes);
    *out = pending;
    return CUDA_SUCCESS;
}

/* A captured allocation is a node's. */
static CUresult allocate_in_graph(const struct soft_pool *pool, struct soft_stream *stream,
                                  uint64_t bytes, CUdeviceptr *address)
{
    struct soft_work *work;
    CUresult result = soft_graph_allocate(pool->device, bytes, &work, address);
    return result == CUDA_SUCCESS ? soft_stream_submit(stream, work, NULL) : result;
}

CUresult soft_pool_allocate(struct soft_pool *pool, struct soft_stream *stream, uint64_t bytes,
                            CUdeviceptr *address)
{
    struct soft_allocation *allocation;
    struct soft_op *after;
    CUresult result = soft_capture_check(stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (stream->capture != NULL)
        return allocate_in_graph(pool, stream, bytes, address);
    result = find_memory(pool, stream, bytes, &allocation, &after);
    if (result != CUDA_SUCCESS)
        return result;
    struct soft_work *work = birth_work(allocation->address, bytes);
    struct soft_op *op = work != NULL ? soft_op_create(stream->context, work) : NULL;
    if (op == NULL) {
        soft_op_release(after);
        soft_pool_take_back(allocation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    soft_stream_order(stream, op);
    soft_op_after(op, after);
    soft_op_release(after);
    soft_stream_append(stream, op);
    soft_op_release(op);
    *address = allocation->address;
    return CUDA_SUCCESS;
}
