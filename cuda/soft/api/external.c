/* SPDX-License-Identifier: Apache-2.0 */
/* External memory: a file that somebody else has made, by its descriptor.
 *
 * On a GPU it comes from a graphics interface; here any file that can be mapped will do. What is
 * mapped of it stays when the object goes, and is freed by cuMemFree. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/share.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct soft_external {
    uint64_t bytes;
    int file;
};

static CUresult external_find(CUexternalMemory handle, struct soft_external **out)
{
    if (!soft_handle_is(handle, SOFT_HANDLE_EXTERNAL))
        return CUDA_ERROR_INVALID_HANDLE;
    *out = handle_external(handle);
    return CUDA_SUCCESS;
}

/* The descriptor belongs to the object from here on, when that could be made. */
CUresult CUDAAPI cuImportExternalMemory(CUexternalMemory *extMem_out,
                                        const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *memHandleDesc)
{
    struct soft_context *context;
    struct stat status;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (extMem_out == NULL || memHandleDesc == NULL || memHandleDesc->size == 0 ||
        (memHandleDesc->flags & ~(unsigned)CUDA_EXTERNAL_MEMORY_DEDICATED) != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (memHandleDesc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD)
        return soft_leave(soft_refuse("external memory of type %d", (int)memHandleDesc->type));
    int file = memHandleDesc->handle.fd;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 0 ||
        (uint64_t)status.st_size < memHandleDesc->size)
        return soft_leave(CUDA_ERROR_INVALID_HANDLE);
    struct soft_external *external = malloc(sizeof *external);
    if (external == NULL || !soft_handle_add(external, SOFT_HANDLE_EXTERNAL)) {
        free(external);
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *external = (struct soft_external){.bytes = memHandleDesc->size, .file = file};
    *extMem_out = external_handle(external);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuExternalMemoryGetMappedBuffer(CUdeviceptr *devPtr, CUexternalMemory extMem,
                                                 const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *bufferDesc)
{
    struct soft_context *context;
    struct soft_external *external;
    struct soft_allocation *allocation;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    result = external_find(extMem, &external);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    if (devPtr == NULL || bufferDesc == NULL || bufferDesc->flags != 0 || bufferDesc->size == 0 ||
        bufferDesc->offset > external->bytes ||
        bufferDesc->size > external->bytes - bufferDesc->offset)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_share_map(context, context->device, external->file, bufferDesc->offset,
                            bufferDesc->size, &allocation);
    if (result == CUDA_SUCCESS)
        *devPtr = allocation->address;
    return soft_leave(result);
}

CUresult CUDAAPI cuDestroyExternalMemory(CUexternalMemory extMem)
{
    struct soft_external *external;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = external_find(extMem, &external);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    soft_handle_remove(external);
    close(external->file);
    free(external);
    return soft_leave(CUDA_SUCCESS);
}
