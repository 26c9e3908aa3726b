/* SPDX-License-Identifier: Apache-2.0 */
/* cuPointerGetAttribute: what is at an address. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/memory.h"
#include "cuda/soft/api/vmm.h"

#include <string.h>

static bool is_on_host(const struct soft_allocation *allocation)
{
    if (allocation->kind == SOFT_MEMORY_MAPPED)
        return allocation->physical->device == NULL;
    return allocation->kind == SOFT_MEMORY_HOST || allocation->kind == SOFT_MEMORY_REGISTERED;
}

static CUmemorytype memory_type(const struct soft_allocation *allocation)
{
    return is_on_host(allocation) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

static bool host_can_reach(const struct soft_allocation *allocation)
{
    return is_on_host(allocation) || allocation->kind == SOFT_MEMORY_MANAGED;
}

static uint64_t block_id(const struct soft_allocation *allocation)
{
    return allocation->kind == SOFT_MEMORY_MAPPED ? allocation->physical->block_id
                                                  : allocation->buffer_id;
}

static CUmemAccess_flags access_of(const struct soft_allocation *allocation)
{
    const struct soft_context *context = soft_context_current();
    if (context == NULL)
        return CU_MEM_ACCESS_FLAGS_PROT_NONE;
    if (soft_memory_allows(context, allocation->address, 1, true))
        return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return soft_memory_allows(context, allocation->address, 1, false)
               ? CU_MEM_ACCESS_FLAGS_PROT_READ
               : CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

/* Stores `value` as the type that the attribute has. */
#define GIVE(type, value)                                                                          \
    do {                                                                                           \
        type given_ = (type)(value);                                                               \
        memcpy(data, &given_, sizeof(type));                                                       \
        return CUDA_SUCCESS;                                                                       \
    } while (0)

static CUresult attribute(const struct soft_allocation *a, CUdeviceptr address, int which,
                          void *data)
{
    switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: GIVE(CUcontext, context_handle(a->context));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: GIVE(unsigned, memory_type(a));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: GIVE(CUdeviceptr, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!host_can_reach(a))
            return CUDA_ERROR_INVALID_VALUE;
        GIVE(void *, soft_pointer(address));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: GIVE(int, a->sync_memops);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: GIVE(unsigned long long, a->buffer_id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: GIVE(int, a->kind == SOFT_MEMORY_MANAGED);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: GIVE(int, a->device->ordinal);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: GIVE(int, a->kind == SOFT_MEMORY_DEVICE);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: GIVE(CUdeviceptr, a->address);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: GIVE(size_t, a->bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED: GIVE(int, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        GIVE(unsigned long long, a->kind == SOFT_MEMORY_MAPPED
                                     ? a->physical->properties.requestedHandleTypes
                                     : CU_MEM_HANDLE_TYPE_NONE);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: GIVE(int, 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: GIVE(unsigned, access_of(a));
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        if (a->kind != SOFT_MEMORY_POOL)
            return CUDA_ERROR_INVALID_VALUE;
        GIVE(CUmemoryPool, pool_handle(a->pool));
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: GIVE(size_t, a->bytes);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: GIVE(CUdeviceptr, a->address);
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: GIVE(unsigned long long, block_id(a));
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: GIVE(int, 0);
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* What cuPointerGetAttributes says of an address that nobody knows. */
static CUresult nothing(CUdeviceptr address, int which, void *data)
{
    switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: GIVE(void *, NULL);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: GIVE(void *, soft_pointer(address));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: GIVE(int, -2); /* CU_DEVICE_INVALID */
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: GIVE(unsigned long long, 0);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: GIVE(unsigned, 0);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}
#undef GIVE

/* No pointer leads into an array. */
static struct soft_allocation *find(CUdeviceptr address)
{
    struct soft_allocation *allocation = soft_memory_find(address);
    return allocation != NULL && allocation->kind != SOFT_MEMORY_ARRAY ? allocation : NULL;
}

CUresult CUDAAPI cuPointerGetAttribute(void *data, CUpointer_attribute attr, CUdeviceptr ptr)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    const struct soft_allocation *allocation = find(ptr);
    if (data == NULL || allocation == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    return soft_leave(attribute(allocation, ptr, (int)attr, data));
}

CUresult CUDAAPI cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
                                        void **data, CUdeviceptr ptr)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (attributes == NULL || data == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    const struct soft_allocation *allocation = find(ptr);
    for (unsigned i = 0; i < numAttributes; i++) {
        int which = (int)attributes[i];
        if (allocation != NULL)
            result = attribute(allocation, ptr, which, data[i]);
        /* An attribute that the pointer does not have reads as nothing. */
        if (allocation == NULL || result != CUDA_SUCCESS)
            result = nothing(ptr, which, data[i]);
        if (result != CUDA_SUCCESS)
            return soft_leave(result);
    }
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuPointerSetAttribute(const void *value, CUpointer_attribute attribute_,
                                       CUdeviceptr ptr)
{
    unsigned flag;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    struct soft_allocation *allocation = find(ptr);
    if (value == NULL || allocation == NULL || attribute_ != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    memcpy(&flag, value, sizeof flag);
    allocation->sync_memops = flag != 0;
    return soft_leave(CUDA_SUCCESS);
}
