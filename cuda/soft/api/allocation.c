/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemAlloc and its kin: device and managed memory. */
#include "cuda/soft/api/capture.h"
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/memory.h"
#include "cuda/soft/api/pool.h"

#include <stdlib.h>

#define PITCH_ALIGNMENT 512

/* Allocates in the current context; the memory is spoiled after the lock is given back, when
 * nobody else can know its address yet. */
static CUresult allocate(CUdeviceptr *address, size_t bytes, enum soft_memory_kind kind,
                         unsigned flags)
{
    struct soft_context *context;
    struct soft_allocation *allocation;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (address == NULL || bytes == 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_capture_forbid_unsafe(context);
    if (result == CUDA_SUCCESS)
        result = soft_memory_allocate(context->device, context, kind, bytes, &allocation);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && soft_pool_trim_all(context->device))
        result = soft_memory_allocate(context->device, context, kind, bytes, &allocation);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    allocation->flags = flags;
    *address = allocation->address;
    soft_leave(CUDA_SUCCESS);
    soft_memory_spoil(*address, bytes);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return allocate(dptr, bytesize, SOFT_MEMORY_DEVICE, 0);
}

CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
                                    size_t Height, unsigned int ElementSizeBytes)
{
    bool element_fits = ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16;
    uint64_t bytes, pitch = soft_round_up(WidthInBytes, PITCH_ALIGNMENT);

    if (pPitch == NULL || WidthInBytes == 0 || !element_fits || pitch < WidthInBytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(pitch, (uint64_t)Height, &bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = allocate(dptr, bytes, SOFT_MEMORY_DEVICE, 0);
    if (result == CUDA_SUCCESS)
        *pPitch = pitch;
    return result;
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    return allocate(dptr, bytesize, SOFT_MEMORY_MANAGED, flags);
}

static struct soft_allocation *find_freeable(CUdeviceptr address)
{
    struct soft_allocation *allocation = soft_memory_find(address);
    if (allocation == NULL || allocation->address != address || allocation->freed_by != NULL)
        return NULL;
    bool is_ours = allocation->kind == SOFT_MEMORY_DEVICE ||
                   allocation->kind == SOFT_MEMORY_MANAGED ||
                   allocation->kind == SOFT_MEMORY_POOL || allocation->kind == SOFT_MEMORY_GRAPH ||
                   (allocation->kind == SOFT_MEMORY_IMPORTED && allocation->import.opened == 0);
    return is_ours ? allocation : NULL;
}

/* Freeing waits for the work of the owner: it may still use the memory. */
CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (dptr == 0)
        return soft_leave(CUDA_SUCCESS);
    struct soft_allocation *allocation = find_freeable(dptr);
    if (allocation == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_capture_forbid_unsafe(context);
    if (result == CUDA_SUCCESS)
        result = soft_context_wait(allocation->context != NULL ? allocation->context : context);
    /* The wait gave the lock up: look again. */
    if (result == CUDA_SUCCESS && find_freeable(dptr) != allocation)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    if (allocation->kind == SOFT_MEMORY_POOL)
        soft_pool_take_back(allocation);
    else if (allocation->kind != SOFT_MEMORY_GRAPH) /* which stays its graph's */
        soft_memory_free(allocation);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemGetInfo_v2(size_t *free, size_t *total)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (free == NULL && total == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (free != NULL)
        *free = context->device->memory_limit - context->device->memory_used;
    if (total != NULL)
        *total = context->device->memory_limit;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    const struct soft_allocation *allocation = soft_memory_find(dptr);
    if (allocation == NULL || allocation->kind == SOFT_MEMORY_ARRAY)
        return soft_leave(CUDA_ERROR_NOT_FOUND);
    if (pbase != NULL)
        *pbase = allocation->address;
    if (psize != NULL)
        *psize = allocation->bytes;
    return soft_leave(CUDA_SUCCESS);
}
