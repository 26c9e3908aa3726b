/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of copies: one after the other, in the order of the list. */
#include "cuda/soft/api/array.h"

/* Copies of a batch may run in any order; in the order of the list is one. Attributes say
 * how soon the source is read: copies here read it in stream order, or in the call. */
static CUresult batch(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
                      size_t *failed, CUstream handle)
{
    if (to == NULL || from == NULL || sizes == NULL || count == 0 || handle == NULL ||
        handle == CU_STREAM_LEGACY)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        CUresult result = cuMemcpyAsync(to[i], from[i], sizes[i], handle);
        if (result == CUDA_SUCCESS)
            continue;
        if (failed != NULL)
            *failed = i;
        return result;
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                    size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
                                    size_t numAttrs, size_t *failIdx, CUstream hStream)
{
    if (attrs == NULL || attrsIdxs == NULL || numAttrs == 0 || numAttrs > count)
        return CUDA_ERROR_INVALID_VALUE;
    return batch(dsts, srcs, sizes, count, failIdx, hStream);
}

CUresult CUDAAPI cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                       size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
                                       size_t numAttrs, CUstream hStream)
{
    return cuMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, NULL, hStream);
}

/* ---- three dimensions -------------------------------------------------------------- */

/* One end as cuMemcpy3D has it. Lengths are in elements: those of the array, where there is one. */
struct end {
    CUmemorytype type;
    CUarray array;
    CUdeviceptr address;
    uint64_t x, y, z, pitch, height; /* x and pitch in bytes */
};

static CUresult element_of(const CUmemcpy3DOperand *operand, unsigned *element)
{
    struct soft_array *array;
    if (operand->type != CU_MEMCPY_OPERAND_TYPE_ARRAY)
        return CUDA_SUCCESS;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_array_find(operand->op.array.array, &array);
    if (result == CUDA_SUCCESS)
        *element = soft_array_element(array->described.Format, array->described.NumChannels);
    return soft_leave(result);
}

static CUresult end_of(const CUmemcpy3DOperand *operand, unsigned element, struct end *end)
{
    switch ((int)operand->type) {
    case CU_MEMCPY_OPERAND_TYPE_POINTER:
        *end = (struct end){.type = CU_MEMORYTYPE_UNIFIED,
                            .address = operand->op.ptr.ptr,
                            .pitch = operand->op.ptr.rowLength * element,
                            .height = operand->op.ptr.layerHeight};
        return CUDA_SUCCESS;
    case CU_MEMCPY_OPERAND_TYPE_ARRAY:
        *end = (struct end){.type = CU_MEMORYTYPE_ARRAY,
                            .array = operand->op.array.array,
                            .x = operand->op.array.offset.x * element,
                            .y = operand->op.array.offset.y,
                            .z = operand->op.array.offset.z};
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult copy_3d(const CUDA_MEMCPY3D_BATCH_OP *op, CUstream stream)
{
    struct end from, to;
    unsigned element = 1;
    CUresult result = element_of(&op->src, &element);
    if (result == CUDA_SUCCESS)
        result = element_of(&op->dst, &element);
    if (result == CUDA_SUCCESS)
        result = end_of(&op->src, element, &from);
    if (result == CUDA_SUCCESS)
        result = end_of(&op->dst, element, &to);
    if (result != CUDA_SUCCESS)
        return result;
    const CUDA_MEMCPY3D copy = {.srcMemoryType = from.type,
                                .srcArray = from.array,
                                .srcDevice = from.address,
                                .srcXInBytes = from.x,
                                .srcY = from.y,
                                .srcZ = from.z,
                                .srcPitch = from.pitch,
                                .srcHeight = from.height,
                                .dstMemoryType = to.type,
                                .dstArray = to.array,
                                .dstDevice = to.address,
                                .dstXInBytes = to.x,
                                .dstY = to.y,
                                .dstZ = to.z,
                                .dstPitch = to.pitch,
                                .dstHeight = to.height,
                                .WidthInBytes = op->extent.width * element,
                                .Height = op->extent.height,
                                .Depth = op->extent.depth};
    return cuMemcpy3DAsync_v2(&copy, stream);
}

static bool is_fit(const CUDA_MEMCPY3D_BATCH_OP *op)
{
    return op->extent.width > 0 && op->extent.height > 0 && op->extent.depth > 0 &&
           op->srcAccessOrder >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM &&
           op->srcAccessOrder <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

CUresult CUDAAPI cuMemcpy3DBatchAsync(size_t numParams, CUDA_MEMCPY3D_BATCH_OP_v1 *opList,
                                      size_t *failIdx, unsigned long long flags, CUstream hStream)
{
    if (opList == NULL || numParams == 0 || flags != 0 || hStream == NULL ||
        hStream == CU_STREAM_LEGACY)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < numParams; i++) {
        CUresult result = CUDA_ERROR_INVALID_VALUE;
        if (is_fit(&opList[i]))
            result = copy_3d(&opList[i], hStream);
        if (result == CUDA_SUCCESS)
            continue;
        if (failIdx != NULL)
            *failIdx = i;
        return result;
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpy3DBatchAsync_v2(size_t numParams, CUDA_MEMCPY3D_BATCH_OP_v1 *opList,
                                         unsigned long long flags, CUstream hStream)
{
    return cuMemcpy3DBatchAsync(numParams, opList, NULL, flags, hStream);
}
