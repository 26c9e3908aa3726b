/* SPDX-License-Identifier: Apache-2.0 */
/* Advice on managed memory, moving and discarding it. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/copy.h"
#include "cuda/soft/api/memory.h"
#include "cuda/soft/api/stream.h"

/* Managed memory is one memory here: advice and moving have nothing to do but be right. */
static CUresult check_managed(CUdeviceptr address, size_t bytes)
{
    const struct soft_allocation *allocation = soft_memory_find(address);
    bool inside = allocation != NULL && bytes > 0 &&
                  bytes <= allocation->bytes - (address - allocation->address);
    return inside && allocation->kind == SOFT_MEMORY_MANAGED ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_VALUE;
}

static CUresult advise(CUdeviceptr address, size_t bytes)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    return soft_leave(check_managed(address, bytes));
}

CUresult CUDAAPI cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
    (void)advice;
    (void)device;
    return advise(devPtr, count);
}

CUresult CUDAAPI cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                                CUmemLocation location)
{
    (void)advice;
    (void)location;
    return advise(devPtr, count);
}

static CUresult prefetch(CUdeviceptr address, size_t bytes, CUstream handle)
{
    struct soft_stream *stream;
    CUresult result = soft_stream_enter(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    result = check_managed(address, bytes);
    if (result == CUDA_SUCCESS)
        result = soft_stream_submit(stream, soft_work_marker(), NULL);
    return soft_leave(result);
}

CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
                                    CUstream hStream)
{
    (void)dstDevice;
    return prefetch(devPtr, count, hStream);
}

CUresult CUDAAPI cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                                       unsigned int flags, CUstream hStream)
{
    (void)location;
    return flags == 0 ? prefetch(devPtr, count, hStream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
                                        unsigned int flags)
{
    (void)flags;
    const size_t some = 1;
    return prefetch(dptr, length != 0 ? length : some, hStream);
}

/* ---- batches ----------------------------------------------------------------------- */

/* What is discarded has no content any more: it gets that of fresh memory. */
static CUresult discard(struct soft_stream *stream, CUdeviceptr address, size_t bytes)
{
    const struct soft_fill fill = {.address = address,
                                   .pitch = bytes,
                                   .width = bytes,
                                   .height = 1,
                                   .element = 1,
                                   .value = SOFT_SPOILED_BYTE};
    struct soft_work *work = soft_fill_work(&fill);
    return work != NULL ? soft_stream_submit(stream, work, NULL) : CUDA_ERROR_OUT_OF_MEMORY;
}

/* All ranges are checked before anything happens to the first. */
static CUresult over_batch(const CUdeviceptr *addresses, const size_t *sizes, size_t count,
                           unsigned long long flags, CUstream handle, bool discards)
{
    struct soft_context *context;
    struct soft_stream *stream;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (addresses == NULL || sizes == NULL || count == 0 || flags != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_stream_find(context, handle, &stream);
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = check_managed(addresses[i], sizes[i]);
    for (size_t i = 0; discards && i < count && result == CUDA_SUCCESS; i++)
        result = discard(stream, addresses[i], sizes[i]);
    if (!discards && result == CUDA_SUCCESS)
        result = soft_stream_submit(stream, soft_work_marker(), NULL);
    return soft_leave(result);
}

static bool are_places(const CUmemLocation *places, const size_t *indices, size_t place_count,
                       size_t count)
{
    return places != NULL && indices != NULL && place_count > 0 && place_count <= count;
}

CUresult CUDAAPI cuMemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                         CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                         size_t numPrefetchLocs, unsigned long long flags,
                                         CUstream hStream)
{
    if (!are_places(prefetchLocs, prefetchLocIdxs, numPrefetchLocs, count))
        return CUDA_ERROR_INVALID_VALUE;
    return over_batch(dptrs, sizes, count, flags, hStream, false);
}

CUresult CUDAAPI cuMemDiscardBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                        unsigned long long flags, CUstream hStream)
{
    return over_batch(dptrs, sizes, count, flags, hStream, true);
}

CUresult CUDAAPI cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                                   CUmemLocation *prefetchLocs,
                                                   size_t *prefetchLocIdxs, size_t numPrefetchLocs,
                                                   unsigned long long flags, CUstream hStream)
{
    if (!are_places(prefetchLocs, prefetchLocIdxs, numPrefetchLocs, count))
        return CUDA_ERROR_INVALID_VALUE;
    return over_batch(dptrs, sizes, count, flags, hStream, true);
}
