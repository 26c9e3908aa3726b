/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemcpy*: who waits for what.
 *
 * Calls without "Async" wait until the copy is done, except between two places of device
 * memory. Async calls return at once; from pageable memory they take the bytes along in the
 * call, and to pageable memory they wait, as drivers do. */
#include "cuda/soft/api/capture.h"
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/copy.h"
#include "cuda/soft/api/memory.h"

#include <stdlib.h>
#include <string.h>

/* Packs the source's bytes, so that the program may change them after the call. */
static bool stage(struct soft_copy *copy)
{
    unsigned char *bytes = malloc(copy->width * copy->height * copy->depth);
    if (bytes == NULL)
        return false;
    unsigned char *at = bytes;
    for (uint64_t z = 0; z < copy->depth; z++)
        for (uint64_t y = 0; y < copy->height; y++, at += copy->width)
            memcpy(at,
                   soft_pointer(copy->from.address + z * copy->from.slice + y * copy->from.pitch),
                   copy->width);
    copy->staged = bytes;
    copy->from = (struct soft_side){.address = (uintptr_t)bytes,
                                    .pitch = copy->width,
                                    .slice = copy->width * copy->height,
                                    .pageable = true};
    return true;
}

static bool must_wait(const struct soft_copy *copy, enum soft_manner manner)
{
    if (manner == SOFT_ASYNC)
        return copy->to.pageable;
    return soft_memory_is_on_host(copy->to.address) || soft_memory_is_on_host(copy->from.address);
}

CUresult soft_copy_submit(struct soft_stream *stream, struct soft_copy *copy,
                          enum soft_manner manner)
{
    struct soft_op *op;
    bool capturing = stream->capture != NULL;

    if (manner == SOFT_WAITING) {
        CUresult result = soft_capture_forbid(stream);
        if (result != CUDA_SUCCESS)
            return result;
    }
    if (copy->width == 0 || copy->height == 0 || copy->depth == 0)
        return CUDA_SUCCESS;
    if (manner == SOFT_ASYNC && copy->from.pageable && !capturing && !stage(copy))
        return CUDA_ERROR_OUT_OF_MEMORY;
    bool wait = !capturing && must_wait(copy, manner);
    struct soft_work *work = soft_copy_work(copy);
    if (work == NULL) {
        free(copy->staged);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult result = soft_stream_submit(stream, work, &op);
    if (result != CUDA_SUCCESS || op == NULL)
        return result;
    if (wait) {
        soft_op_wait(op);
        result = op->context->fault;
    }
    soft_op_release(op);
    return result;
}

/* ---- linear copies ----------------------------------------------------------------- */

enum ends { HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, UNIFIED };

static CUresult linear(uint64_t to, uint64_t from, uint64_t bytes, enum ends ends, CUstream handle,
                       enum soft_manner manner)
{
    struct soft_stream *stream;
    CUresult result = soft_stream_enter(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    struct soft_copy copy = {
        .to = {.address = to, .pitch = bytes, .slice = bytes},
        .from = {.address = from, .pitch = bytes, .slice = bytes},
        .width = bytes,
        .height = 1,
        .depth = 1,
    };
    if (ends == DEVICE_TO_HOST || ends == UNIFIED)
        copy.to.pageable = soft_memory_find(to) == NULL;
    if (ends == HOST_TO_DEVICE || ends == UNIFIED)
        copy.from.pageable = soft_memory_find(from) == NULL;
    result = soft_copy_check(&copy);
    if (result == CUDA_SUCCESS)
        result = soft_copy_submit(stream, &copy, manner);
    return soft_leave(result);
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    return linear(dstDevice, (uintptr_t)srcHost, ByteCount, HOST_TO_DEVICE, NULL, SOFT_WAITING);
}

CUresult CUDAAPI cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    return linear((uintptr_t)dstHost, srcDevice, ByteCount, DEVICE_TO_HOST, NULL, SOFT_WAITING);
}

CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
    return linear(dstDevice, srcDevice, ByteCount, DEVICE_TO_DEVICE, NULL, SOFT_WAITING);
}

CUresult CUDAAPI cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    return linear(dst, src, ByteCount, UNIFIED, NULL, SOFT_WAITING);
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                      CUstream hStream)
{
    return linear(dstDevice, (uintptr_t)srcHost, ByteCount, HOST_TO_DEVICE, hStream, SOFT_ASYNC);
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                      CUstream hStream)
{
    return linear((uintptr_t)dstHost, srcDevice, ByteCount, DEVICE_TO_HOST, hStream, SOFT_ASYNC);
}

CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
                                      size_t ByteCount, CUstream hStream)
{
    return linear(dstDevice, srcDevice, ByteCount, DEVICE_TO_DEVICE, hStream, SOFT_ASYNC);
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    return linear(dst, src, ByteCount, UNIFIED, hStream, SOFT_ASYNC);
}

/* ---- between contexts -------------------------------------------------------------- */

/* The contexts only have to be right: addresses are the same for all devices. */
static CUresult check_contexts(CUcontext first, CUcontext second)
{
    struct soft_context *context;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_context_find(first, true, &context);
    if (result == CUDA_SUCCESS)
        result = soft_context_find(second, true, &context);
    return soft_leave(result);
}

CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                              CUcontext srcContext, size_t ByteCount)
{
    CUresult result = check_contexts(dstContext, srcContext);
    /* Serialised with all work of both contexts, not just of the current one. */
    if (result == CUDA_SUCCESS)
        result = cuCtxSynchronize_v2(srcContext);
    if (result == CUDA_SUCCESS)
        result = cuCtxSynchronize_v2(dstContext);
    if (result != CUDA_SUCCESS)
        return result;
    return linear(dstDevice, srcDevice, ByteCount, DEVICE_TO_DEVICE, NULL, SOFT_WAITING);
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext,
                                   CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
                                   CUstream hStream)
{
    CUresult result = check_contexts(dstContext, srcContext);
    if (result != CUDA_SUCCESS)
        return result;
    return linear(dstDevice, srcDevice, ByteCount, DEVICE_TO_DEVICE, hStream, SOFT_ASYNC);
}

/* ---- two and three dimensions ------------------------------------------------------ */

static CUresult boxed(const CUDA_MEMCPY3D *description, CUstream handle, enum soft_manner manner)
{
    struct soft_stream *stream;
    struct soft_copy copy;
    CUresult result = soft_stream_enter(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_copy_from_3d(description, &copy);
    if (result == CUDA_SUCCESS)
        result = soft_copy_submit(stream, &copy, manner);
    return soft_leave(result);
}

static CUresult flat(const CUDA_MEMCPY2D *d, CUstream handle, enum soft_manner manner)
{
    if (d == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D description = {
        .srcXInBytes = d->srcXInBytes,
        .srcY = d->srcY,
        .srcMemoryType = d->srcMemoryType,
        .srcHost = d->srcHost,
        .srcDevice = d->srcDevice,
        .srcArray = d->srcArray,
        .srcPitch = d->srcPitch,
        .dstXInBytes = d->dstXInBytes,
        .dstY = d->dstY,
        .dstMemoryType = d->dstMemoryType,
        .dstHost = d->dstHost,
        .dstDevice = d->dstDevice,
        .dstArray = d->dstArray,
        .dstPitch = d->dstPitch,
        .WidthInBytes = d->WidthInBytes,
        .Height = d->Height,
        .Depth = 1,
    };
    return boxed(&description, handle, manner);
}

CUresult CUDAAPI cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy)
{
    return flat(pCopy, NULL, SOFT_WAITING);
}

CUresult CUDAAPI cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy)
{
    return flat(pCopy, NULL, SOFT_WAITING);
}

CUresult CUDAAPI cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
    return flat(pCopy, hStream, SOFT_ASYNC);
}

CUresult CUDAAPI cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy)
{
    return pCopy != NULL ? boxed(pCopy, NULL, SOFT_WAITING) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
    return pCopy != NULL ? boxed(pCopy, hStream, SOFT_ASYNC) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult boxed_peer(const CUDA_MEMCPY3D_PEER *d, CUstream handle, enum soft_manner manner)
{
    if (d == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_contexts(d->srcContext, d->dstContext);
    if (result != CUDA_SUCCESS)
        return result;
    CUDA_MEMCPY3D description = {
        .srcXInBytes = d->srcXInBytes,
        .srcY = d->srcY,
        .srcZ = d->srcZ,
        .srcLOD = d->srcLOD,
        .srcMemoryType = d->srcMemoryType,
        .srcHost = d->srcHost,
        .srcDevice = d->srcDevice,
        .srcArray = d->srcArray,
        .srcPitch = d->srcPitch,
        .srcHeight = d->srcHeight,
        .dstXInBytes = d->dstXInBytes,
        .dstY = d->dstY,
        .dstZ = d->dstZ,
        .dstLOD = d->dstLOD,
        .dstMemoryType = d->dstMemoryType,
        .dstHost = d->dstHost,
        .dstDevice = d->dstDevice,
        .dstArray = d->dstArray,
        .dstPitch = d->dstPitch,
        .dstHeight = d->dstHeight,
        .WidthInBytes = d->WidthInBytes,
        .Height = d->Height,
        .Depth = d->Depth,
    };
    return boxed(&description, handle, manner);
}

CUresult CUDAAPI cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy)
{
    return boxed_peer(pCopy, NULL, SOFT_WAITING);
}

CUresult CUDAAPI cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
    return boxed_peer(pCopy, hStream, SOFT_ASYNC);
}
