/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of streams. All but the priority are hints about caches, waiting and the order of
 * memory that the interpreter has no use for: they are kept and told again. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/stream.h"

/* Where an attribute is kept, or NULL: no attribute of streams. */
static CUstreamAttrValue *slot_of(struct soft_stream *stream, CUstreamAttrID attribute)
{
    switch ((int)attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: return &stream->attributes[0];
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: return &stream->attributes[1];
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: return &stream->attributes[2];
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: return &stream->attributes[3];
    default: return NULL;
    }
}

static CUresult enter(CUstream handle, const void *argument, struct soft_stream **stream)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    result =
        argument != NULL ? soft_stream_find(context, handle, stream) : CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? result : soft_leave(result);
}

CUresult CUDAAPI cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr,
                                      CUstreamAttrValue *value)
{
    struct soft_stream *stream;
    CUresult result = enter(hStream, value, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    const CUstreamAttrValue *slot = slot_of(stream, attr);
    if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY)
        *value = (CUstreamAttrValue){.priority = stream->priority};
    else if (slot != NULL)
        *value = *slot;
    else
        result = CUDA_ERROR_INVALID_VALUE;
    return soft_leave(result);
}

CUresult CUDAAPI cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr,
                                      const CUstreamAttrValue *param)
{
    struct soft_stream *stream;
    CUresult result = enter(hStream, param, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    CUstreamAttrValue *slot = slot_of(stream, attr);
    if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY)
        stream->priority = param->priority;
    else if (slot != NULL)
        *slot = *param;
    else
        result = CUDA_ERROR_INVALID_VALUE;
    return soft_leave(result);
}

CUresult CUDAAPI cuStreamCopyAttributes(CUstream dstStream, CUstream srcStream)
{
    struct soft_stream *from, *to;
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_stream_find(context, srcStream, &from);
    if (result == CUDA_SUCCESS)
        result = soft_stream_find(context, dstStream, &to);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    to->priority = from->priority;
    for (size_t i = 0; i < SOFT_STREAM_ATTRIBUTES; i++)
        to->attributes[i] = from->attributes[i];
    return soft_leave(CUDA_SUCCESS);
}
