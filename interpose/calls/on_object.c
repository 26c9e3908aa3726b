/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface objects, and tensor maps: what they stand for is remembered. */
#include "interpose/calls/handlers.h"

#include "interpose/calls/object.h"
#include "interpose/recompute/answer.h"
#include "interpose/recompute/recompute.h"

static void known(uint64_t object, const CUDA_RESOURCE_DESC *is)
{
    rp_core_lock();
    switch (is->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        rp_object_known(object, 0, RP_HANDLE(is->res.array.hArray));
        break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        rp_object_known(object, 0, RP_HANDLE(is->res.mipmap.hMipmappedArray));
        break;
    case CU_RESOURCE_TYPE_LINEAR: rp_object_known(object, is->res.linear.devPtr, 0); break;
    case CU_RESOURCE_TYPE_PITCH2D: rp_object_known(object, is->res.pitch2D.devPtr, 0); break;
    default: break;
    }
    rp_core_unlock();
}

/* The driver looks for memory behind a texture of memory, which stays there from then on. */
void rp_on_texture_before(struct rp_frame *frame)
{
    const struct rp_args_cuTexObjectCreate *args = frame->args;
    const CUDA_RESOURCE_DESC *is = args->pResDesc;
    if (!is || !rp_recompute_is_on() ||
        (is->resType != CU_RESOURCE_TYPE_LINEAR && is->resType != CU_RESOURCE_TYPE_PITCH2D))
        return;
    uint64_t address = is->resType == CU_RESOURCE_TYPE_LINEAR ? is->res.linear.devPtr
                                                              : is->res.pitch2D.devPtr;
    rp_core_lock();
    bool stands = rp_answer_stays(address, rp_handler_name(frame->id));
    rp_core_unlock();
    if (stands)
        return;
    frame->result = CUDA_ERROR_OUT_OF_MEMORY;
    frame->skip = true;
}

/* Textures and surfaces alike start with the place for the handle and what it stands for. */
void rp_on_object_created(struct rp_frame *frame)
{
    const struct rp_args_cuTexObjectCreate *args = frame->args;
    if (frame->result == CUDA_SUCCESS && args->pTexObject && args->pResDesc)
        known(*args->pTexObject, args->pResDesc);
}

void rp_on_object_destroyed(struct rp_frame *frame)
{
    const struct rp_args_cuTexObjectDestroy *args = frame->args;
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    rp_object_forget(args->texObject);
    rp_core_unlock();
}

static void map_known(const struct rp_frame *frame, const CUtensorMap *map, const void *address)
{
    if (frame->result != CUDA_SUCCESS || !map)
        return;
    rp_core_lock();
    rp_object_map_known(map, RP_HANDLE(address));
    rp_core_unlock();
}

/* All three start alike. */
void rp_on_tensor_map(struct rp_frame *frame)
{
    const struct rp_args_cuTensorMapEncodeTiled *args = frame->args;
    map_known(frame, args->tensorMap, args->globalAddress);
}

void rp_on_tensor_map_moved(struct rp_frame *frame)
{
    const struct rp_args_cuTensorMapReplaceAddress *args = frame->args;
    map_known(frame, args->tensorMap, args->globalAddress);
}
