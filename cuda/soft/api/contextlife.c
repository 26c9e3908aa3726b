/* SPDX-License-Identifier: Apache-2.0 */
/* Making contexts, destroying them, and making them current. */
#include "cuda/soft/api/context.h"

static CUresult create_and_push(CUcontext *handle, unsigned flags, CUdevice ordinal)
{
    struct soft_context *context;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    struct soft_device *device = soft_device_find(ordinal);
    if (handle == NULL || (flags & ~SOFT_CONTEXT_FLAGS) != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (device == NULL)
        return soft_leave(CUDA_ERROR_INVALID_DEVICE);
    result = soft_context_create(device, flags, &context);
    if (result == CUDA_SUCCESS)
        result = soft_context_push(context);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    context->attached = 1;
    *handle = context_handle(context);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return create_and_push(pctx, flags, dev);
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return create_and_push(pctx, flags, dev);
}

CUresult CUDAAPI cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
                                unsigned int flags, CUdevice dev)
{
    if (numParams != 0 || paramsArray != NULL)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return create_and_push(pctx, flags, dev);
}

CUresult CUDAAPI cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams,
                                unsigned int flags, CUdevice dev)
{
    if (ctxCreateParams != NULL && ctxCreateParams->numExecAffinityParams != 0)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    if (ctxCreateParams != NULL && ctxCreateParams->cigParams != NULL)
        return CUDA_ERROR_NOT_SUPPORTED;
    return create_and_push(pctx, flags, dev);
}

/* Destroys in any thread; pops it where it is current to the caller. */
static CUresult destroy_handle(CUcontext handle)
{
    struct soft_context *context;
    CUresult result = soft_context_find(handle, false, &context);
    if (result != CUDA_SUCCESS)
        return result;
    if (context->primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    soft_context_destroy(context);
    if (soft_context_current() == context)
        soft_thread.depth--;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext ctx)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (ctx == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    return soft_leave(destroy_handle(ctx));
}

CUresult CUDAAPI cuCtxDestroy(CUcontext ctx)
{
    return cuCtxDestroy_v2(ctx);
}

CUresult CUDAAPI cuCtxAttach(CUcontext *pctx, unsigned int flags)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (pctx == NULL || flags != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    context->attached++;
    *pctx = context_handle(context);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxDetach(CUcontext ctx)
{
    struct soft_context *context;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_context_find(ctx, false, &context);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    if (context != soft_context_current())
        return soft_leave(CUDA_ERROR_INVALID_CONTEXT);
    if (context->attached > 1) {
        context->attached--;
        return soft_leave(CUDA_SUCCESS);
    }
    return soft_leave(destroy_handle(ctx));
}

/* ---- the current context ----------------------------------------------------------- */

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext ctx)
{
    struct soft_context *context;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_context_find(ctx, false, &context);
    if (result == CUDA_SUCCESS)
        result = soft_context_push(context);
    return soft_leave(result);
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext ctx)
{
    return cuCtxPushCurrent_v2(ctx);
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *pctx)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    struct soft_context *context = soft_context_current();
    if (context == NULL)
        return soft_leave(CUDA_ERROR_INVALID_CONTEXT);
    soft_thread.depth--;
    if (pctx != NULL)
        *pctx = context_handle(context);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext *pctx)
{
    return cuCtxPopCurrent_v2(pctx);
}

/* Replaces the top of the stack; NULL removes it. */
CUresult CUDAAPI cuCtxSetCurrent(CUcontext ctx)
{
    struct soft_context *context;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (ctx == NULL) {
        if (soft_thread.depth > 0)
            soft_thread.depth--;
        return soft_leave(CUDA_SUCCESS);
    }
    result = soft_context_find(ctx, false, &context);
    if (result == CUDA_SUCCESS && soft_thread.depth > 0)
        soft_thread.stack[soft_thread.depth - 1] = context;
    else if (result == CUDA_SUCCESS)
        result = soft_context_push(context);
    return soft_leave(result);
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *pctx)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (pctx == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *pctx = context_handle(soft_context_current());
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
    struct soft_context *context;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (device == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_context_find(NULL, true, &context);
    if (result == CUDA_SUCCESS)
        *device = context->device->ordinal;
    return soft_leave(result);
}

/* Programs that put _v2 behind every name call this one with a single argument. What then
 * stands in the second register is no context: the current one is meant. */
CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
    struct soft_context *context;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (device == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (!soft_handle_is(ctx, SOFT_HANDLE_CONTEXT))
        ctx = NULL;
    result = soft_context_find(ctx, true, &context);
    if (result == CUDA_SUCCESS)
        *device = context->device->ordinal;
    return soft_leave(result);
}
