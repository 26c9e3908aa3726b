/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemset*. None of these waits: they are asynchronous to the host in any form. */
#include "cuda/soft/api/capture.h"
#include "cuda/soft/api/clock.h"
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/copy.h"
#include "cuda/soft/api/memory.h"
#include "cuda/soft/api/timeline.h"
#include "cuda/soft/api/touched.h"

#include <string.h>

static uint64_t extent(const struct soft_fill *fill)
{
    if (fill->width == 0 || fill->height == 0)
        return 0;
    return (fill->height - 1) * fill->pitch + fill->width * fill->element;
}

static void fill_row(unsigned char *at, const struct soft_fill *fill)
{
    if (fill->element == 1) {
        memset(at, (int)fill->value, fill->width);
        return;
    }
    for (uint64_t i = 0; i < fill->width; i++)
        memcpy(at + i * fill->element, &fill->value, fill->element);
}

static CUresult fill_run(const struct soft_work *work, struct soft_op *op)
{
    const struct soft_fill *fill = (const struct soft_fill *)work;

    pthread_mutex_lock(&soft.lock);
    bool good = soft_memory_allows(NULL, fill->address, extent(fill), true);
    pthread_mutex_unlock(&soft.lock);
    if (!good) {
        soft_say("fill of %#llx in stream %llu: the memory is gone",
                 (unsigned long long)fill->address, (unsigned long long)op->stream);
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    if (soft_timeline_demand(op) != NULL)
        soft_timeline_demand(op)->engine = SOFT_ENGINE_COMPUTE;
    for (uint64_t y = 0; y < fill->height; y++) {
        uint64_t row = fill->address + y * fill->pitch;
        fill_row(soft_pointer(row), fill);
        soft_touched_note(op, row, fill->width * fill->element, true);
    }
    return CUDA_SUCCESS;
}

struct soft_work *soft_fill_work(const struct soft_fill *fill)
{
    static const struct soft_work_type type = {
        .name = "fill",
        .class_ = SOFT_WORK_DEVICE,
        .node = CU_GRAPH_NODE_TYPE_MEMSET,
        .capturable = true,
        .run = fill_run,
    };
    struct soft_fill *work = soft_work_create(&type, sizeof *work);
    if (work == NULL)
        return NULL;
    struct soft_work base = work->base;
    *work = *fill;
    work->base = base;
    return &work->base;
}

CUresult soft_fill_check(const struct soft_fill *fill)
{
    uint64_t row;
    if (fill->width == 0 || fill->height == 0)
        return CUDA_SUCCESS;
    if (__builtin_mul_overflow(fill->width, (uint64_t)fill->element, &row) ||
        (fill->height > 1 && fill->pitch < row))
        return CUDA_ERROR_INVALID_VALUE;
    if ((fill->address | (fill->height > 1 ? fill->pitch : 0)) % fill->element != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return soft_memory_allows(NULL, fill->address, extent(fill), true) ? CUDA_SUCCESS
                                                                       : CUDA_ERROR_INVALID_VALUE;
}

/* `waits` marks the calls without a stream, which a capture forbids. */
static CUresult fill(const struct soft_fill *fill, CUstream handle, bool waits)
{
    struct soft_stream *stream;
    CUresult result = soft_stream_enter(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_fill_check(fill);
    if (result == CUDA_SUCCESS && waits)
        result = soft_capture_forbid(stream);
    if (result != CUDA_SUCCESS || fill->width == 0 || fill->height == 0)
        return soft_leave(result);
    struct soft_work *work = soft_fill_work(fill);
    if (work == NULL)
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    return soft_leave(soft_stream_submit(stream, work, NULL));
}

static CUresult line(CUdeviceptr address, unsigned element, uint32_t value, size_t count,
                     CUstream stream, bool waits)
{
    struct soft_fill work = {
        .address = address, .width = count, .height = 1, .element = element, .value = value};
    return fill(&work, stream, waits);
}

static CUresult rows(CUdeviceptr address, size_t pitch, unsigned element, uint32_t value,
                     size_t width, size_t height, CUstream stream, bool waits)
{
    struct soft_fill work = {.address = address,
                             .pitch = pitch,
                             .width = width,
                             .height = height,
                             .element = element,
                             .value = value};
    return fill(&work, stream, waits);
}

CUresult CUDAAPI cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
    return line(dstDevice, 1, uc, N, NULL, true);
}

CUresult CUDAAPI cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N)
{
    return line(dstDevice, 2, us, N, NULL, true);
}

CUresult CUDAAPI cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
    return line(dstDevice, 4, ui, N, NULL, true);
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N,
                                 CUstream hStream)
{
    return line(dstDevice, 1, uc, N, hStream, false);
}

CUresult CUDAAPI cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N,
                                  CUstream hStream)
{
    return line(dstDevice, 2, us, N, hStream, false);
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N,
                                  CUstream hStream)
{
    return line(dstDevice, 4, ui, N, hStream, false);
}

CUresult CUDAAPI cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                                 size_t Width, size_t Height)
{
    return rows(dstDevice, dstPitch, 1, uc, Width, Height, NULL, true);
}

CUresult CUDAAPI cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                                  size_t Width, size_t Height)
{
    return rows(dstDevice, dstPitch, 2, us, Width, Height, NULL, true);
}

CUresult CUDAAPI cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                                  size_t Width, size_t Height)
{
    return rows(dstDevice, dstPitch, 4, ui, Width, Height, NULL, true);
}

CUresult CUDAAPI cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                                   size_t Width, size_t Height, CUstream hStream)
{
    return rows(dstDevice, dstPitch, 1, uc, Width, Height, hStream, false);
}

CUresult CUDAAPI cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                                    size_t Width, size_t Height, CUstream hStream)
{
    return rows(dstDevice, dstPitch, 2, us, Width, Height, hStream, false);
}

CUresult CUDAAPI cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                                    size_t Width, size_t Height, CUstream hStream)
{
    return rows(dstDevice, dstPitch, 4, ui, Width, Height, hStream, false);
}
