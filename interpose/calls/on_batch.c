/* SPDX-License-Identifier: Apache-2.0 */
/* Many copies, discards or decompressions in one call. A call that fails may have done some of
 * them: then nothing of it counts as certain (rp_on_batch_tracked). */
#include "interpose/calls/handlers.h"

#include "interpose/calls/area.h"

static struct rp_footprint *begin(struct rp_frame *frame)
{
    rp_core_lock();
    return rp_handler_footprint(frame);
}

static void end(struct rp_frame *frame, struct rp_footprint *call, enum rp_status status)
{
    rp_handler_track(frame, call, status);
    rp_core_unlock();
}

/* Both versions start alike. */
void rp_on_copy_batch(struct rp_frame *frame)
{
    const struct rp_args_cuMemcpyBatchAsync_v2 *args = frame->args;
    struct rp_footprint *call = begin(frame);
    enum rp_status status = RP_OK;
    bool readable = args->dsts && args->srcs && args->sizes;
    for (size_t i = 0; readable && status == RP_OK && i < args->count; i++) {
        const struct rp_area to = rp_area_line(args->dsts[i], args->sizes[i]);
        const struct rp_area from = rp_area_line(args->srcs[i], args->sizes[i]);
        status = rp_area_copy(call, &to, &from);
    }
    end(frame, call, status);
}

/* Rows and layers are counted in elements, whose size an array on the other side decides; an
 * element has at most 16 bytes. Between pointers it has one. */
static enum rp_status reach_operand(struct rp_footprint *call, const CUmemcpy3DOperand *operand,
                                    const CUextent3D *extent, uint64_t element,
                                    enum rp_effect effect)
{
    if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
        return rp_area_reach(call, &(struct rp_area){.type = CU_MEMORYTYPE_ARRAY,
                                                     .base = RP_HANDLE(operand->op.array.array),
                                                     .width = 1, .height = 1, .depth = 1}, effect);
    uint64_t row = operand->op.ptr.rowLength ? operand->op.ptr.rowLength : extent->width;
    uint64_t layer = operand->op.ptr.layerHeight ? operand->op.ptr.layerHeight : extent->height;
    const struct rp_area area = {.type = CU_MEMORYTYPE_UNIFIED,
                                 .base = operand->op.ptr.ptr,
                                 .pitch = row * element,
                                 .slice = row * layer * element,
                                 .width = extent->width * element,
                                 .height = extent->height,
                                 .depth = extent->depth};
    if (element == 1)
        return rp_area_reach(call, &area, effect);
    const struct rp_reach hull = {.effect = effect, .verdict = RP_VERDICT_BOUNDED};
    return rp_footprint_reach(call, area.base, area.slice * area.depth, hull, NULL);
}

static enum rp_status reach_3d(struct rp_footprint *call, const CUDA_MEMCPY3D_BATCH_OP *op)
{
    enum { LARGEST_ELEMENT = 16 };
    bool has_array = op->src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY ||
                     op->dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
    uint64_t element = has_array ? LARGEST_ELEMENT : 1;
    call->signature = call->signature * 31 + op->extent.width * op->extent.height;
    call->is_transfer = true;
    enum rp_status status = reach_operand(call, &op->src, &op->extent, element, RP_READ);
    return status == RP_OK ? reach_operand(call, &op->dst, &op->extent, element, RP_WRITE) : status;
}

/* Both versions start alike. */
void rp_on_copy_3d_batch(struct rp_frame *frame)
{
    const struct rp_args_cuMemcpy3DBatchAsync_v2 *args = frame->args;
    struct rp_footprint *call = begin(frame);
    enum rp_status status = RP_OK;
    for (size_t i = 0; args->opList && status == RP_OK && i < args->numParams; i++)
        status = reach_3d(call, &args->opList[i]);
    end(frame, call, status);
}

/* What is discarded has no content any more: as good as written by chance. */
void rp_on_discard_batch(struct rp_frame *frame)
{
    const struct rp_args_cuMemDiscardBatchAsync *args = frame->args; /* with prefetch alike */
    struct rp_footprint *call = begin(frame);
    enum rp_status status = RP_OK;
    bool readable = args->dptrs && args->sizes;
    for (size_t i = 0; readable && status == RP_OK && i < args->count; i++) {
        const struct rp_reach lost = {.effect = RP_WRITE, .verdict = RP_VERDICT_BOUNDED};
        status = rp_footprint_reach(call, args->dptrs[i], args->sizes[i], lost, NULL);
    }
    end(frame, call, status);
}

/* The length of the result is a hint only: any of the memory around it may be written. */
static enum rp_status reach_decompressed(struct rp_footprint *call,
                                         const CUmemDecompressParams *params)
{
    const struct rp_area from = rp_area_line(RP_HANDLE(params->src), params->srcNumBytes);
    const struct rp_area count = rp_area_line(RP_HANDLE(params->dstActBytes), 4);
    enum rp_status status = rp_area_reach(call, &from, RP_READ);
    if (status == RP_OK)
        status = rp_footprint_root(call, RP_HANDLE(params->dst),
                                   (struct rp_reach){.effect = RP_WRITE,
                                                     .verdict = RP_VERDICT_ROOT});
    if (status == RP_NOT_FOUND)
        status = RP_OK; /* the job's own host memory */
    return status == RP_OK && params->dstActBytes ? rp_area_reach(call, &count, RP_WRITE) : status;
}

void rp_on_decompress_batch(struct rp_frame *frame)
{
    const struct rp_args_cuMemBatchDecompressAsync *args = frame->args;
    struct rp_footprint *call = begin(frame);
    enum rp_status status = RP_OK;
    for (size_t i = 0; args->paramsArray && status == RP_OK && i < args->count; i++)
        status = reach_decompressed(call, &args->paramsArray[i]);
    end(frame, call, status);
}
