/* SPDX-License-Identifier: Apache-2.0 */
/* Pools that processes share.
 *
 * What is handed on is a file with a token in it, which names the pool; a pointer's token names
 * the memory too. The process that imports can't allocate there, and frees what it has imported
 * before the other one does. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/pool.h"
#include "cuda/soft/api/share.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A descriptor of a file that holds the pool's token, or a negative number. */
static int write_token(const struct soft_pool *pool)
{
    struct soft_token token;
    int file = memfd_create("reprise-soft-pool", MFD_CLOEXEC);
    if (file < 0)
        return -1;
    if (soft_token_make(file, SOFT_TOKEN_POOL, &token)) {
        token.device = pool->device->ordinal;
        token.pool = pool->id;
        if (pwrite(file, &token, sizeof token, 0) == (ssize_t)sizeof token)
            return file;
    }
    close(file);
    return -1;
}

CUresult CUDAAPI cuMemPoolExportToShareableHandle(void *handle_out, CUmemoryPool pool,
                                                  CUmemAllocationHandleType handleType,
                                                  unsigned long long flags)
{
    struct soft_pool *found;
    CUresult result = soft_pool_enter(pool, handle_out, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags != 0 ||
        !found->is_shareable || found->is_imported)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    int file = write_token(found);
    if (file < 0)
        return soft_leave(CUDA_ERROR_OPERATING_SYSTEM);
    *(int *)handle_out = file;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle,
                                                    CUmemAllocationHandleType handleType,
                                                    unsigned long long flags)
{
    struct soft_pool *made;
    struct soft_token token;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (pool_out == NULL || handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags != 0 ||
        pread((int)(intptr_t)handle, &token, sizeof token, 0) != (ssize_t)sizeof token ||
        !soft_token_is(&token, SOFT_TOKEN_POOL))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    struct soft_device *device = soft_device_find(token.device);
    if (device == NULL)
        return soft_leave(CUDA_ERROR_INVALID_DEVICE);
    result = soft_pool_create(device, &made);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    made->is_imported = true;
    made->foreign_id = token.pool;
    made->foreign_process = token.process;
    *pool_out = pool_handle(made);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolExportPointer(CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr)
{
    struct soft_token token;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    const struct soft_allocation *allocation = soft_memory_find(ptr);
    if (shareData_out == NULL || allocation == NULL || allocation->kind != SOFT_MEMORY_POOL ||
        allocation->address != ptr || !allocation->pool->is_shareable)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    uint64_t pool = allocation->pool->id;
    result = soft_share_memory(ptr, SOFT_MEMORY_POOL, SOFT_TOKEN_PIECE, &token);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    token.pool = pool;
    memset(shareData_out, 0, sizeof *shareData_out);
    memcpy(shareData_out, &token, sizeof token);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool,
                                        CUmemPoolPtrExportData *shareData)
{
    struct soft_context *context;
    struct soft_allocation *allocation;
    struct soft_token token;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (ptr_out == NULL || shareData == NULL || !soft_handle_is(pool, SOFT_HANDLE_POOL))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    const struct soft_pool *found = handle_pool(pool);
    memcpy(&token, shareData, sizeof token);
    if (!found->is_imported || !soft_token_is(&token, SOFT_TOKEN_PIECE) ||
        token.pool != found->foreign_id || token.process != found->foreign_process)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_share_import(context, &token, &allocation);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    allocation->readers = found->readers;
    allocation->writers = found->writers;
    *ptr_out = allocation->address;
    return soft_leave(CUDA_SUCCESS);
}
