/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to contexts, and their settings. */
#include "cuda/soft/api/capture.h"
#include "cuda/soft/api/context.h"

CUresult CUDAAPI cuCtxGetFlags(unsigned int *flags)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (flags == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *flags = context->flags;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetFlags(unsigned int flags)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if ((flags & ~SOFT_CONTEXT_FLAGS) != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    context->flags = flags;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
    struct soft_context *context;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (ctxId == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_context_find(ctx, true, &context);
    if (result == CUDA_SUCCESS)
        *ctxId = context->id;
    return soft_leave(result);
}

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
    struct soft_context *context;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (version == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_context_find(ctx, true, &context);
    if (result == CUDA_SUCCESS)
        *version = context->api_version;
    return soft_leave(result);
}

static bool limit_is_known(CUlimit limit)
{
    return (unsigned)limit <= CU_LIMIT_PERSISTING_L2_CACHE_SIZE;
}

CUresult CUDAAPI cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (pvalue == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (!limit_is_known(limit))
        return soft_leave(CUDA_ERROR_UNSUPPORTED_LIMIT);
    *pvalue = context->limits[limit];
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!limit_is_known(limit))
        return soft_leave(CUDA_ERROR_UNSUPPORTED_LIMIT);
    context->limits[limit] = value;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (pconfig == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *pconfig = context->cache_config;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetCacheConfig(CUfunc_cache config)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    context->cache_config = config;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (pConfig == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *pConfig = context->shared_config;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    context->shared_config = config;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetExecAffinity(CUexecAffinityParam *pExecAffinity, CUexecAffinityType type)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    bool asked = pExecAffinity != NULL && type == CU_EXEC_AFFINITY_TYPE_SM_COUNT;
    return soft_leave(asked ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuCtxResetPersistingL2Cache(void)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    return result == CUDA_SUCCESS ? soft_leave(result) : result;
}

CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext ctx)
{
    struct soft_context *context;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_context_find(ctx, true, &context);
    if (result == CUDA_SUCCESS)
        result = context->fault;
    if (result == CUDA_SUCCESS)
        result = soft_capture_forbid_unsafe(context);
    if (result == CUDA_SUCCESS)
        result = soft_context_wait(context);
    return soft_leave(result);
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    return cuCtxSynchronize_v2(NULL);
}

/* ---- peers ------------------------------------------------------------------------- */

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
    struct soft_context *context, *peer;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_context_find(peerContext, false, &peer);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    if (Flags != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (peer->device == context->device)
        return soft_leave(CUDA_ERROR_INVALID_DEVICE);
    if (context->peers[peer->device->ordinal])
        return soft_leave(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    context->peers[peer->device->ordinal] = true;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peerContext)
{
    struct soft_context *context, *peer;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_context_find(peerContext, false, &peer);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    if (!context->peers[peer->device->ordinal])
        return soft_leave(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    context->peers[peer->device->ordinal] = false;
    return soft_leave(CUDA_SUCCESS);
}
