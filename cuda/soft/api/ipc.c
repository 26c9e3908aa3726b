/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of cuMemAlloc that processes share. */
#include "cuda/soft/api/capture.h"
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/share.h"

#include <string.h>
#include <unistd.h>

CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
    struct soft_context *context;
    struct soft_token token;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (pHandle == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_share_memory(dptr, SOFT_MEMORY_DEVICE, SOFT_TOKEN_MEMORY, &token);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    memset(pHandle, 0, sizeof *pHandle);
    memcpy(pHandle, &token, sizeof token);
    return soft_leave(CUDA_SUCCESS);
}

/* The same memory may be opened again, and has to be closed as often. */
static struct soft_allocation *find_import(const struct soft_token *token)
{
    uint64_t lo = soft.virtual_arena.base, hi = lo + soft.virtual_arena.bytes;
    struct soft_allocation *each;
    for (uint64_t at = lo; (each = soft_memory_next(at, hi)) != NULL;
         at = each->address + each->bytes)
        if (each->kind == SOFT_MEMORY_IMPORTED && each->import.opened > 0 &&
            each->import.inode == token->inode && each->import.offset == token->offset)
            return each;
    return NULL;
}

static CUresult open_first(struct soft_context *context, const struct soft_token *token,
                           struct soft_allocation **out)
{
    CUresult result = soft_share_import(context, token, out);
    if (result != CUDA_SUCCESS)
        return result;
    (*out)->import.inode = token->inode;
    (*out)->import.offset = token->offset;
    (*out)->import.opened = 1;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle,
                                       unsigned int Flags)
{
    struct soft_context *context;
    struct soft_token token;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    memcpy(&token, &handle, sizeof token);
    if (pdptr == NULL || (Flags & ~(unsigned)CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != 0 ||
        !soft_token_is(&token, SOFT_TOKEN_MEMORY))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (token.process == getpid())
        return soft_leave(CUDA_ERROR_INVALID_CONTEXT); /* no process imports from itself */
    struct soft_allocation *allocation = find_import(&token);
    if (allocation != NULL)
        allocation->import.opened++;
    else
        result = open_first(context, &token, &allocation);
    if (result == CUDA_SUCCESS)
        *pdptr = allocation->address;
    return soft_leave(result);
}

CUresult CUDAAPI cuIpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
    return cuIpcOpenMemHandle_v2(pdptr, handle, Flags);
}

static struct soft_allocation *find_open(CUdeviceptr address)
{
    struct soft_allocation *allocation = soft_memory_find(address);
    bool is_open = allocation != NULL && allocation->kind == SOFT_MEMORY_IMPORTED &&
                   allocation->import.opened > 0 && allocation->address == address;
    return is_open ? allocation : NULL;
}

/* Like freeing, it waits for what may still use the memory. */
CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr dptr)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct soft_allocation *allocation = find_open(dptr);
    if (allocation == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_context_wait(allocation->context);
    if (result == CUDA_SUCCESS && find_open(dptr) != allocation)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && --allocation->import.opened == 0)
        soft_memory_free(allocation);
    return soft_leave(result);
}
