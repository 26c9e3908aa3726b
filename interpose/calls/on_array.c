/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA arrays: made, taken apart into levels and planes, copied. */
#include "interpose/calls/handlers.h"

#include "interpose/calls/area.h"
#include "interpose/calls/array.h"

/* ---- making and freeing ---------------------------------------------------------- */

/* Of one channel. What packs several in less counts as the widest: which bytes a copy touches is
 * not worked out, and an upper bound is enough. */
static uint64_t element_bytes(CUarray_format format)
{
    if (format == CU_AD_FORMAT_UNSIGNED_INT8 || format == CU_AD_FORMAT_SIGNED_INT8)
        return 1;
    bool is_half = format == CU_AD_FORMAT_UNSIGNED_INT16 || format == CU_AD_FORMAT_SIGNED_INT16 ||
                   format == CU_AD_FORMAT_HALF;
    return is_half ? 2 : 4;
}

/* UINT64_MAX where the product is more than any device has. */
static uint64_t bytes_of(const CUDA_ARRAY3D_DESCRIPTOR *is)
{
    const uint64_t counts[] = {is->Width, is->Height, is->Depth, is->NumChannels};
    uint64_t bytes = element_bytes(is->Format);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] && __builtin_mul_overflow(bytes, counts[i], &bytes))
            return UINT64_MAX;
    return bytes;
}

static uint64_t flat_bytes(const CUDA_ARRAY_DESCRIPTOR *is)
{
    const CUDA_ARRAY3D_DESCRIPTOR flat = {.Width = is->Width, .Height = is->Height,
                                          .Format = is->Format, .NumChannels = is->NumChannels};
    return bytes_of(&flat);
}

/* The levels of a mipmap together are less than two of its first. */
static uint64_t mipmap_bytes(const struct rp_args_cuMipmappedArrayCreate *args)
{
    uint64_t bytes = bytes_of(args->pMipmappedArrayDesc);
    return args->numMipmapLevels < 2 || bytes > UINT64_MAX / 2 ? bytes : 2 * bytes;
}

static void made(struct rp_frame *frame, const void *place, uint64_t bytes)
{
    rp_core_lock();
    rp_handler_settle_budget(frame);
    if (frame->result == CUDA_SUCCESS && place) {
        rp_alloc_id id = rp_handler_born(RP_ALLOC_PHYSICAL, 0, bytes, "array");
        rp_array_known(*(const uint64_t *)place, id);
    }
    rp_core_unlock();
}

/* What says nothing of its shape is the driver's to refuse. */

void rp_on_array_budget(struct rp_frame *frame)
{
    const struct rp_args_cuArrayCreate_v2 *args = frame->args;
    if (args->pAllocateArray)
        rp_handler_keep_budget(frame, flat_bytes(args->pAllocateArray));
}

void rp_on_array_created(struct rp_frame *frame)
{
    const struct rp_args_cuArrayCreate_v2 *args = frame->args;
    if (args->pAllocateArray)
        made(frame, args->pHandle, flat_bytes(args->pAllocateArray));
}

void rp_on_array_3d_budget(struct rp_frame *frame)
{
    const struct rp_args_cuArray3DCreate_v2 *args = frame->args;
    if (args->pAllocateArray)
        rp_handler_keep_budget(frame, bytes_of(args->pAllocateArray));
}

void rp_on_array_3d_created(struct rp_frame *frame)
{
    const struct rp_args_cuArray3DCreate_v2 *args = frame->args;
    if (args->pAllocateArray)
        made(frame, args->pHandle, bytes_of(args->pAllocateArray));
}

void rp_on_mipmap_budget(struct rp_frame *frame)
{
    const struct rp_args_cuMipmappedArrayCreate *args = frame->args;
    if (args->pMipmappedArrayDesc)
        rp_handler_keep_budget(frame, mipmap_bytes(args));
}

void rp_on_mipmap_created(struct rp_frame *frame)
{
    const struct rp_args_cuMipmappedArrayCreate *args = frame->args;
    if (args->pMipmappedArrayDesc)
        made(frame, args->pHandle, mipmap_bytes(args));
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
