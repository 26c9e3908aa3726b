/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemPool*, cuMemAllocAsync, cuMemFreeAsync. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/graphmem.h"
#include "cuda/soft/api/pool.h"

#include <string.h>

/* ---- allocating -------------------------------------------------------------------- */

static CUresult allocate(CUdeviceptr *address, size_t bytes, CUmemoryPool handle, bool from_pool,
                         CUstream stream_handle)
{
    struct soft_context *context;
    struct soft_stream *stream;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (address == NULL || bytes == 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (from_pool && !soft_handle_is(handle, SOFT_HANDLE_POOL))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_stream_find(context, stream_handle, &stream);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    struct soft_pool *pool =
        from_pool ? handle_pool(handle) : stream->context->device->current_pool;
    if (pool->is_imported)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    soft_scheduler_poll(); /* what is free again depends on what has run */
    return soft_leave(soft_pool_allocate(pool, stream, bytes, address));
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    return allocate(dptr, bytesize, NULL, false, hStream);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                         CUstream hStream)
{
    return allocate(dptr, bytesize, pool, true, hStream);
}

/* Memory of cuMemAlloc may be freed in stream order too; that waits. */
CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    struct soft_context *context;
    struct soft_stream *stream;
    struct soft_work *work;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (dptr == 0)
        return soft_leave(CUDA_SUCCESS);
    result = soft_stream_find(context, hStream, &stream);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    struct soft_allocation *allocation = soft_memory_find(dptr);
    if (allocation == NULL || allocation->address != dptr || allocation->freed_by != NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (allocation->kind == SOFT_MEMORY_POOL)
        return soft_leave(soft_pool_free(allocation, stream));
    if (allocation->kind == SOFT_MEMORY_GRAPH) {
        result = soft_graph_free(dptr, &work);
        return soft_leave(result == CUDA_SUCCESS ? soft_stream_submit(stream, work, NULL) : result);
    }
    bool is_plain = allocation->kind == SOFT_MEMORY_DEVICE ||
                    allocation->kind == SOFT_MEMORY_IMPORTED; /* which may still be none to free */
    soft_leave(CUDA_SUCCESS);
    return is_plain ? cuMemFree_v2(dptr) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- pools ------------------------------------------------------------------------- */

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
    struct soft_pool *made;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (pool == NULL || poolProps == NULL || poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (((unsigned)poolProps->handleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) !=
        0)
        return soft_leave(soft_refuse("memory pools that are shared by other than descriptors"));
    if (poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return soft_leave(soft_refuse("memory pools on the host"));
    struct soft_device *device = soft_device_find(poolProps->location.id);
    if (device == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_pool_create(device, &made);
    if (result == CUDA_SUCCESS) {
        made->most = poolProps->maxSize;
        made->is_shareable = poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE;
        *pool = pool_handle(made);
    }
    return soft_leave(result);
}

CUresult soft_pool_enter(CUmemoryPool handle, const void *argument, struct soft_pool **pool)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (argument == NULL || !soft_handle_is(handle, SOFT_HANDLE_POOL))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *pool = handle_pool(handle);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool)
{
    struct soft_pool *found;
    CUresult result = soft_pool_enter(pool, pool, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (found->is_default)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    soft_pool_destroy(found);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
    struct soft_pool *found;
    CUresult result = soft_pool_enter(pool, pool, &found);
    if (result != CUDA_SUCCESS)
        return result;
    uint64_t unused = minBytesToKeep > found->used ? minBytesToKeep - found->used : 0;
    soft_pool_trim(found, unused);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    struct soft_pool *found;
    CUresult result = soft_pool_enter(pool, value, &found);
    if (result != CUDA_SUCCESS)
        return result;
    uint64_t number = 0;
    switch ((int)attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        memcpy(value, &found->reuse[(int)attr - 1], sizeof(int));
        return soft_leave(CUDA_SUCCESS);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: number = found->threshold; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: number = found->reserved; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: number = found->reserved_high; break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: number = found->used; break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: number = found->used_high; break;
    default: return soft_leave(CUDA_ERROR_INVALID_VALUE);
    }
    memcpy(value, &number, sizeof number);
    return soft_leave(CUDA_SUCCESS);
}

static CUresult reset(uint64_t *high, uint64_t current, uint64_t wanted)
{
    if (wanted != 0)
        return CUDA_ERROR_INVALID_VALUE;
    *high = current;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    struct soft_pool *found;
    uint64_t number = 0;
    CUresult result = soft_pool_enter(pool, value, &found);
    if (result != CUDA_SUCCESS)
        return result;
    switch ((int)attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        memcpy(&found->reuse[(int)attr - 1], value, sizeof(int));
        return soft_leave(CUDA_SUCCESS);
    default: break;
    }
    memcpy(&number, value, sizeof number);
    switch ((int)attr) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: found->threshold = number; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        result = reset(&found->reserved_high, found->reserved, number);
        break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        result = reset(&found->used_high, found->used, number);
        break;
    default: result = CUDA_ERROR_INVALID_VALUE; break;
    }
    return soft_leave(result);
}

/* ---- access from other devices ----------------------------------------------------- */

static void show_to(struct soft_pool *pool, unsigned bit, CUmemAccess_flags flags)
{
    uint64_t lo = pool->device->arena.base, hi = lo + pool->device->arena.bytes;
    struct soft_allocation *each;

    pool->readers &= ~bit;
    pool->writers &= ~bit;
    if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
        pool->readers |= bit;
    if (flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        pool->writers |= bit;
    for (uint64_t at = lo; (each = soft_memory_next(at, hi)) != NULL;
         at = each->address + each->bytes) {
        if (each->pool == pool) {
            each->readers = pool->readers;
            each->writers = pool->writers;
        }
    }
}

CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
    struct soft_pool *found;
    CUresult result = soft_pool_enter(pool, map, &found);
    if (result != CUDA_SUCCESS)
        return result;
    for (size_t i = 0; i < count; i++) {
        const struct soft_device *device = soft_device_find(map[i].location.id);
        bool hides_from_owner =
            device == found->device && map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || hides_from_owner)
            return soft_leave(CUDA_ERROR_INVALID_VALUE);
        if (device == NULL)
            return soft_leave(CUDA_ERROR_INVALID_DEVICE);
    }
    for (size_t i = 0; i < count; i++)
        show_to(found, 1u << map[i].location.id, map[i].flags);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool,
                                    CUmemLocation *location)
{
    struct soft_pool *found;
    CUresult result = soft_pool_enter(memPool, flags, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (location == NULL || location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
        soft_device_find(location->id) == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    unsigned bit = 1u << location->id;
    if (found->writers & bit)
        *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    else
        *flags = found->readers & bit ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                      : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return soft_leave(CUDA_SUCCESS);
}

/* ---- the pools of a device --------------------------------------------------------- */

static CUresult enter_device(CUdevice ordinal, const void *argument, struct soft_device **device)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (argument == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *device = soft_device_find(ordinal);
    return *device != NULL ? CUDA_SUCCESS : soft_leave(CUDA_ERROR_INVALID_DEVICE);
}

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
    struct soft_device *device;
    CUresult result = enter_device(dev, pool_out, &device);
    if (result != CUDA_SUCCESS)
        return result;
    *pool_out = pool_handle(device->default_pool);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
    struct soft_device *device;
    CUresult result = enter_device(dev, pool, &device);
    if (result != CUDA_SUCCESS)
        return result;
    *pool = pool_handle(device->current_pool);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    struct soft_device *device;
    CUresult result = enter_device(dev, pool, &device);
    if (result != CUDA_SUCCESS)
        return result;
    if (!soft_handle_is(pool, SOFT_HANDLE_POOL) || handle_pool(pool)->device != device ||
        handle_pool(pool)->is_imported)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    device->current_pool = handle_pool(pool);
    return soft_leave(CUDA_SUCCESS);
}

/* ---- by location (13.0) ------------------------------------------------------------ */

static CUresult check_location(const CUmemLocation *location, CUmemAllocationType type)
{
    if (location == NULL || type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_SUCCESS
                                                         : soft_refuse("memory pools on the host");
}

CUresult CUDAAPI cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location,
                                        CUmemAllocationType type)
{
    CUresult result = check_location(location, type);
    return result == CUDA_SUCCESS ? cuDeviceGetDefaultMemPool(pool_out, location->id) : result;
}

CUresult CUDAAPI cuMemGetMemPool(CUmemoryPool *pool_out, CUmemLocation *location,
                                 CUmemAllocationType type)
{
    CUresult result = check_location(location, type);
    return result == CUDA_SUCCESS ? cuDeviceGetMemPool(pool_out, location->id) : result;
}

CUresult CUDAAPI cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type,
                                 CUmemoryPool pool)
{
    CUresult result = check_location(location, type);
    return result == CUDA_SUCCESS ? cuDeviceSetMemPool(location->id, pool) : result;
}
