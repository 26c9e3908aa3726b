/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA arrays: made, taken apart into levels and planes, copied. */
#include "interpose/calls/handlers.h"

#include "interpose/calls/area.h"
#include "interpose/calls/array.h"

/* ---- making and freeing ---------------------------------------------------------- */

/* An upper bound is enough: which bytes a copy touches is not worked out. */
static uint64_t bytes_of(uint64_t width, uint64_t height, uint64_t depth, uint64_t channels)
{
    enum { WIDEST_ELEMENT = 4 };
    uint64_t bytes = (width ? width : 1) * (height ? height : 1) * (depth ? depth : 1);
    return bytes * (channels ? channels : 1) * WIDEST_ELEMENT;
}

static void made(const struct rp_frame *frame, const void *place, uint64_t bytes)
{
    if (frame->result != CUDA_SUCCESS || !place)
        return;
    rp_core_lock();
    rp_alloc_id id = rp_handler_born(RP_ALLOC_PHYSICAL, 0, bytes, "array");
    rp_array_known(*(const uint64_t *)place, id);
    rp_core_unlock();
}

void rp_on_array_created(struct rp_frame *frame)
{
    const struct rp_args_cuArrayCreate_v2 *args = frame->args;
    const CUDA_ARRAY_DESCRIPTOR *is = args->pAllocateArray;
    if (is)
        made(frame, args->pHandle, bytes_of(is->Width, is->Height, 1, is->NumChannels));
}

/* A mipmap's levels together are less than two of its first. */
void rp_on_array_3d_created(struct rp_frame *frame)
{
    const struct rp_args_cuArray3DCreate_v2 *args = frame->args; /* mipmaps start alike */
    const CUDA_ARRAY3D_DESCRIPTOR *is = args->pAllocateArray;
    if (is)
        made(frame, args->pHandle, 2 * bytes_of(is->Width, is->Height, is->Depth, is->NumChannels));
}

/* Levels and planes show parts of one storage. */
void rp_on_array_part(struct rp_frame *frame)
{
    const struct rp_args_cuArrayGetPlane *args = frame->args; /* a level's call starts alike */
    if (frame->result != CUDA_SUCCESS || !args->pPlaneArray)
        return;
    rp_core_lock();
    rp_array_known(RP_HANDLE(*args->pPlaneArray), rp_array_find(RP_HANDLE(args->hArray)));
    rp_core_unlock();
}

void rp_on_array_destroyed(struct rp_frame *frame)
{
    const struct rp_args_cuArrayDestroy *args = frame->args; /* a mipmap's call is alike */
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    rp_alloc_id id = rp_array_find(RP_HANDLE(args->hArray));
    rp_array_forget(RP_HANDLE(args->hArray));
    if (id)
        rp_handler_died(id);
    rp_core_unlock();
}

/* ---- copies ---------------------------------------------------------------------- */

static struct rp_area array_area(CUarray array, uint64_t bytes)
{
    return (struct rp_area){.type = CU_MEMORYTYPE_ARRAY, .base = RP_HANDLE(array), .width = bytes,
                            .height = 1, .depth = 1};
}

static struct rp_area host_area(const void *host, uint64_t bytes)
{
    struct rp_area area = rp_area_line(RP_HANDLE(host), bytes);
    area.type = CU_MEMORYTYPE_HOST;
    return area;
}

static void copy(struct rp_frame *frame, struct rp_area to, struct rp_area from)
{
    rp_core_lock();
    struct rp_footprint *call = rp_handler_footprint(frame);
    rp_handler_track(frame, call, rp_area_copy(call, &to, &from));
    rp_core_unlock();
}

/* The asynchronous forms start alike. */
void rp_on_copy_dtoa(struct rp_frame *frame)
{
    const struct rp_args_cuMemcpyDtoA_v2 *args = frame->args;
    copy(frame, array_area(args->dstArray, args->ByteCount),
         rp_area_line(args->srcDevice, args->ByteCount));
}

void rp_on_copy_atod(struct rp_frame *frame)
{
    const struct rp_args_cuMemcpyAtoD_v2 *args = frame->args;
    copy(frame, rp_area_line(args->dstDevice, args->ByteCount),
         array_area(args->srcArray, args->ByteCount));
}

void rp_on_copy_htoa(struct rp_frame *frame)
{
    const struct rp_args_cuMemcpyHtoA_v2 *args = frame->args;
    copy(frame, array_area(args->dstArray, args->ByteCount),
         host_area(args->srcHost, args->ByteCount));
}

void rp_on_copy_atoh(struct rp_frame *frame)
{
    const struct rp_args_cuMemcpyAtoH_v2 *args = frame->args;
    copy(frame, host_area(args->dstHost, args->ByteCount),
         array_area(args->srcArray, args->ByteCount));
}

void rp_on_copy_atoa(struct rp_frame *frame)
{
    const struct rp_args_cuMemcpyAtoA_v2 *args = frame->args;
    copy(frame, array_area(args->dstArray, args->ByteCount),
         array_area(args->srcArray, args->ByteCount));
}
