/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/answer.h"

#include "interpose/calls/handlers.h"
#include "interpose/recompute/granule.h"
#include "interpose/recompute/pool.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/core.h"

#include <string.h>

static struct rp_backed *around(uint64_t address)
{
    return rp_core.config.mode == RP_MODE_RECOMPUTE ? rp_backing_find(address) : NULL;
}

struct rp_backed *rp_answer_for(uint64_t address)
{
    return rp_answer_is_past(address) ? NULL : around(address);
}

bool rp_answer_is_ours(uint64_t address)
{
    return around(address) != NULL;
}

bool rp_answer_stays(uint64_t address, uint32_t name)
{
    if (around(address))
        rp_recompute_await_others(); /* it may be gone by now */
    struct rp_backed *backed = around(address);
    return !backed || rp_recompute_stays(backed, name);
}

bool rp_answer_is_past(uint64_t address)
{
    return rp_answer_overruns(address, 1);
}

bool rp_answer_overruns(uint64_t address, uint64_t bytes)
{
    const struct rp_backed *backed = around(address);
    uint64_t offset = backed ? address - rp_backing_address(backed) : 0;
    return backed && (offset > rp_backing_bytes(backed) ||
                      bytes > rp_backing_bytes(backed) - offset);
}

/* Stores `value` as the type that the attribute has. */
#define GIVE(type, value)                                                                          \
    do {                                                                                           \
        const type given_ = (type)(value);                                                         \
        memcpy(data, &given_, sizeof given_);                                                      \
        return CUDA_SUCCESS;                                                                       \
    } while (0)

CUresult rp_answer_attribute(const struct rp_backed *backed, uint64_t address,
                             CUpointer_attribute attribute, void *data)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: /* a pool is the device's, and of no context */
        GIVE(CUcontext, rp_backing_pool(backed) ? 0 : (uintptr_t)rp_backing_owner(backed));
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        if (!rp_backing_pool(backed))
            return CUDA_ERROR_INVALID_VALUE;
        GIVE(CUmemoryPool, (uintptr_t)rp_pool_handle(rp_backing_pool(backed)));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: GIVE(unsigned, CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: GIVE(CUdeviceptr, address);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        GIVE(unsigned long long, rp_backing_number(backed));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: GIVE(int, rp_backing_device(backed));
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: GIVE(CUdeviceptr, rp_backing_address(backed));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: GIVE(size_t, rp_backing_bytes(backed));
    case CU_POINTER_ATTRIBUTE_MAPPED: GIVE(int, 1);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: GIVE(unsigned, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: GIVE(unsigned long long, 0);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        if (rp_backing_stays(backed))
            return rp_real.cuPointerGetAttribute(data, attribute, address);
        GIVE(int, 0);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: GIVE(int, 0);
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult rp_answer_set(struct rp_backed *backed, CUpointer_attribute attribute, const void *value)
{
    uint64_t address = rp_backing_address(backed), granule = rp_granule_bytes();
    CUresult result = CUDA_SUCCESS;
    if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !value)
        return CUDA_ERROR_INVALID_VALUE;
    if (!rp_recompute_stays(backed, rp_handler_name(RP_CALL_cuPointerSetAttribute)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint64_t at = 0; result == CUDA_SUCCESS && at < rp_backing_bytes(backed); at += granule)
        result = rp_real.cuPointerSetAttribute(value, attribute, address + at);
    return result;
}

CUresult rp_answer_one_of(const struct rp_backed *backed, uint64_t address,
                          CUpointer_attribute attribute, void *data)
{
    CUresult result = rp_answer_attribute(backed, address, attribute, data);
    if (result == CUDA_SUCCESS || (attribute != CU_POINTER_ATTRIBUTE_HOST_POINTER &&
                                   attribute != CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE))
        return result;
    GIVE(void *, NULL);
}

CUresult rp_answer_of_nothing(uint64_t address, unsigned count, CUpointer_attribute *attributes,
                              void **data)
{
    const struct rp_backed *backed = around(address);
    CUdeviceptr nowhere = rp_backing_end(backed);
    CUresult result = rp_real.cuPointerGetAttributes(count, attributes, data, nowhere);
    for (unsigned i = 0; result == CUDA_SUCCESS && i < count; i++)
        if (attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER &&
            memcmp(data[i], &nowhere, sizeof nowhere) == 0)
            memcpy(data[i], &address, sizeof address);
    return result;
}
