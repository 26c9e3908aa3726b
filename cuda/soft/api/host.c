/* SPDX-License-Identifier: Apache-2.0 */
/* Pinned host memory. Host and device addresses are the same. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/memory.h"

#include <stdlib.h>
#include <string.h>

#define ALLOC_FLAGS                                                                                \
    ((unsigned)CU_MEMHOSTALLOC_PORTABLE | (unsigned)CU_MEMHOSTALLOC_DEVICEMAP |                    \
     (unsigned)CU_MEMHOSTALLOC_WRITECOMBINED)
#define REGISTER_FLAGS                                                                             \
    ((unsigned)CU_MEMHOSTREGISTER_PORTABLE | (unsigned)CU_MEMHOSTREGISTER_DEVICEMAP |              \
     (unsigned)CU_MEMHOSTREGISTER_READ_ONLY)

/* Pinned memory comes zeroed, as fresh pages from the system do. */
CUresult CUDAAPI cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    struct soft_context *context;
    struct soft_allocation *allocation;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (pp == NULL || (Flags & ~ALLOC_FLAGS) != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result =
        soft_memory_allocate(context->device, context, SOFT_MEMORY_HOST, bytesize, &allocation);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    allocation->flags = Flags;
    *pp = soft_pointer(allocation->address);
    soft_leave(CUDA_SUCCESS);
    memset(*pp, 0, bytesize);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAllocHost_v2(void **pp, size_t bytesize)
{
    return cuMemHostAlloc(pp, bytesize, 0);
}

/* The entry that begins at `p` in the current context's reach. */
static struct soft_allocation *find_exact(const void *p, enum soft_memory_kind kind)
{
    struct soft_allocation *allocation = soft_memory_find((uintptr_t)p);
    if (allocation == NULL || allocation->address != (uintptr_t)p || allocation->kind != kind)
        return NULL;
    return allocation;
}

/* Removes the entry at `p` once the work that may still use it is done. */
static CUresult take_away(const void *p, enum soft_memory_kind kind, CUresult absent)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct soft_allocation *allocation = find_exact(p, kind);
    if (allocation == NULL)
        return soft_leave(absent);
    result = soft_context_wait(allocation->context);
    if (result == CUDA_SUCCESS && find_exact(p, kind) != allocation)
        result = absent;
    if (result == CUDA_SUCCESS)
        soft_memory_free(allocation);
    return soft_leave(result);
}

CUresult CUDAAPI cuMemFreeHost(void *p)
{
    return take_away(p, SOFT_MEMORY_HOST, CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    uint64_t address = (uintptr_t)p;
    if (p == NULL || bytesize == 0 || address + bytesize < address)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if ((Flags & CU_MEMHOSTREGISTER_IOMEMORY) != 0)
        return soft_leave(soft_refuse("registering input/output memory"));
    if ((Flags & ~REGISTER_FLAGS) != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (soft_memory_next(address, address + bytesize) != NULL)
        return soft_leave(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    struct soft_allocation *allocation = calloc(1, sizeof *allocation);
    if (allocation == NULL)
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    *allocation = (struct soft_allocation){
        .address = address,
        .bytes = bytesize,
        .kind = SOFT_MEMORY_REGISTERED,
        .context = context,
        .device = context->device,
        .flags = Flags,
        .read_only = (Flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0,
    };
    if (!soft_memory_add(allocation)) {
        free(allocation);
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags)
{
    return cuMemHostRegister_v2(p, bytesize, Flags);
}

CUresult CUDAAPI cuMemHostUnregister(void *p)
{
    return take_away(p, SOFT_MEMORY_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

static CUresult enter_pinned(const void *p, const void *output, struct soft_allocation **out)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    *out = soft_memory_find((uintptr_t)p);
    bool pinned = *out != NULL &&
                  ((*out)->kind == SOFT_MEMORY_HOST || (*out)->kind == SOFT_MEMORY_REGISTERED);
    return pinned && output != NULL ? CUDA_SUCCESS : soft_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    struct soft_allocation *allocation;
    CUresult result = enter_pinned(p, pdptr, &allocation);
    if (result != CUDA_SUCCESS)
        return result;
    if (Flags != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *pdptr = (uintptr_t)p;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
    struct soft_allocation *allocation;
    CUresult result = enter_pinned(p, pFlags, &allocation);
    if (result != CUDA_SUCCESS)
        return result;
    if (allocation->kind != SOFT_MEMORY_HOST)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *pFlags = allocation->flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return soft_leave(CUDA_SUCCESS);
}
