/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemcpy* between arrays and lines of bytes. An array is a line too, row after row. */
#include "cuda/soft/api/array.h"
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/copy.h"
#include "cuda/soft/api/stream.h"

struct end {
    CUarray array; /* or NULL, and ... */
    bool is_host;
    uint64_t at; /* ... an address; in an array the offset in bytes */
};

static CUresult side_of(const struct end *end, const struct soft_copy *copy, struct soft_side *side)
{
    if (end->array != NULL)
        return soft_side_in_array(end->array, end->at, 0, 0, copy, side);
    *side = (struct soft_side){.address = end->at, .pitch = copy->width, .slice = copy->width};
    side->pageable = end->is_host && soft_memory_find(end->at) == NULL;
    return CUDA_SUCCESS;
}

static CUresult line(struct end to, struct end from, uint64_t bytes, CUstream handle,
                     enum soft_manner manner)
{
    struct soft_copy copy = {.width = bytes, .height = 1, .depth = 1};
    struct soft_stream *stream;
    CUresult result = soft_stream_enter(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    result = side_of(&to, &copy, &copy.to);
    if (result == CUDA_SUCCESS)
        result = side_of(&from, &copy, &copy.from);
    if (result == CUDA_SUCCESS)
        result = soft_copy_check(&copy);
    if (result == CUDA_SUCCESS)
        result = soft_copy_submit(stream, &copy, manner);
    return soft_leave(result);
}

/* A handle that is missing must not become an address. */
static struct end in_array(CUarray array, size_t offset)
{
    static char nothing;
    return (struct end){.array = array != NULL ? array : (CUarray)(void *)&nothing, .at = offset};
}

static struct end on_device(CUdeviceptr address)
{
    return (struct end){.at = address};
}

static struct end on_host(const void *address)
{
    return (struct end){.at = (uintptr_t)address, .is_host = true};
}

CUresult CUDAAPI cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                                 size_t ByteCount)
{
    return line(in_array(dstArray, dstOffset), on_device(srcDevice), ByteCount, NULL, SOFT_WAITING);
}

CUresult CUDAAPI cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                                 size_t ByteCount)
{
    return line(on_device(dstDevice), in_array(srcArray, srcOffset), ByteCount, NULL, SOFT_WAITING);
}

CUresult CUDAAPI cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
                                 size_t ByteCount)
{
    return line(in_array(dstArray, dstOffset), on_host(srcHost), ByteCount, NULL, SOFT_WAITING);
}

CUresult CUDAAPI cuMemcpyAtoH_v2(void *dstHost, CUarray srcArray, size_t srcOffset,
                                 size_t ByteCount)
{
    return line(on_host(dstHost), in_array(srcArray, srcOffset), ByteCount, NULL, SOFT_WAITING);
}

CUresult CUDAAPI cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray,
                                 size_t srcOffset, size_t ByteCount)
{
    return line(in_array(dstArray, dstOffset), in_array(srcArray, srcOffset), ByteCount, NULL,
                SOFT_WAITING);
}

CUresult CUDAAPI cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
                                      size_t ByteCount, CUstream hStream)
{
    return line(in_array(dstArray, dstOffset), on_host(srcHost), ByteCount, hStream, SOFT_ASYNC);
}

CUresult CUDAAPI cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray, size_t srcOffset,
                                      size_t ByteCount, CUstream hStream)
{
    return line(on_host(dstHost), in_array(srcArray, srcOffset), ByteCount, hStream, SOFT_ASYNC);
}
