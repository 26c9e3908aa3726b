/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/context.h"

#include "cuda/soft/api/capture.h"
#include "cuda/soft/api/memory.h"
#include "cuda/soft/api/module.h"
#include "cuda/soft/api/stream.h"

#include <stdlib.h>

#define KNOWN_FLAGS 0xffu
#define API_VERSION 3020

/* ---- inside ------------------------------------------------------------------------ */

struct soft_context *soft_context_current(void)
{
    return soft_thread.depth > 0 ? soft_thread.stack[soft_thread.depth - 1] : NULL;
}

CUresult soft_context_find(CUcontext handle, bool current_too, struct soft_context **out)
{
    struct soft_context *context = handle_context(handle);

    if (handle == NULL && current_too)
        context = soft_context_current();
    else if (handle != NULL && !soft_handle_is(handle, SOFT_HANDLE_CONTEXT))
        context = NULL;
    if (context == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->alive)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *out = context;
    return CUDA_SUCCESS;
}

CUresult soft_context_wait(struct soft_context *context)
{
    struct soft_op *op = soft_op_create(context, soft_work_marker());
    if (op == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (struct soft_stream *stream = context->streams; stream != NULL; stream = stream->next)
        soft_op_after(op, stream->tail);
    soft_op_submit(op);
    soft_op_wait(op);
    soft_op_release(op);
    return context->fault;
}

void soft_context_fail(struct soft_context *context, CUresult fault)
{
    if (context->fault == CUDA_SUCCESS)
        context->fault = fault;
}

static void set_default_limits(struct soft_context *context)
{
    context->limits[CU_LIMIT_STACK_SIZE] = 1024;
    context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
    context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
    context->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
    context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
    context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
}

/* Makes `context` ready for use: a new one, or a primary context that was released. */
static CUresult start(struct soft_context *context, struct soft_device *device, unsigned flags)
{
    if (!soft_executor_reserve(false))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = soft_stream_create(context, 0, 0, &context->legacy);
    if (result != CUDA_SUCCESS)
        return result;
    context->device = device;
    context->id = ++soft.next_id;
    context->flags = flags;
    context->api_version = API_VERSION;
    context->fault = CUDA_SUCCESS;
    context->alive = true;
    set_default_limits(context);
    return CUDA_SUCCESS;
}

static CUresult create(struct soft_device *device, unsigned flags, struct soft_context **out)
{
    struct soft_context *context = calloc(1, sizeof *context);
    if (context == NULL || !soft_handle_add(context, SOFT_HANDLE_CONTEXT)) {
        free(context);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    context->next = soft.contexts;
    soft.contexts = context;
    *out = context;
    return start(context, device, flags);
}

static void destroy(struct soft_context *context)
{
    soft_context_wait(context);
    if (!context->alive)
        return; /* by another thread, in the meantime */
    context->alive = false;
    while (context->modules != NULL)
        soft_module_destroy(context->modules);
    while (context->events != NULL)
        soft_event_destroy(context->events);
    while (context->streams != NULL)
        soft_stream_forget(context->streams);
    context->legacy = NULL;
    soft_memory_free_all(context);
    context->retained = context->attached = 0;
}

static CUresult push(struct soft_context *context)
{
    struct soft_thread *thread = &soft_thread;
    if (thread->depth == thread->capacity) {
        unsigned capacity = thread->capacity ? 2 * thread->capacity : 8;
        struct soft_context **stack =
            realloc(thread->stack, capacity * sizeof(struct soft_context *));
        if (stack == NULL)
            return CUDA_ERROR_OUT_OF_MEMORY;
        thread->stack = stack;
        thread->capacity = capacity;
        soft_thread_keep();
    }
    thread->stack[thread->depth++] = context;
    return CUDA_SUCCESS;
}

/* ---- life -------------------------------------------------------------------------- */

static CUresult create_and_push(CUcontext *handle, unsigned flags, CUdevice ordinal)
{
    struct soft_context *context;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    struct soft_device *device = soft_device_find(ordinal);
    if (handle == NULL || (flags & ~KNOWN_FLAGS) != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (device == NULL)
        return soft_leave(CUDA_ERROR_INVALID_DEVICE);
    result = create(device, flags, &context);
    if (result == CUDA_SUCCESS)
        result = push(context);
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
    destroy(context);
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

/* ---- primary contexts -------------------------------------------------------------- */

static CUresult enter_device(CUdevice ordinal, struct soft_device **device)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    *device = soft_device_find(ordinal);
    return *device != NULL ? CUDA_SUCCESS : soft_leave(CUDA_ERROR_INVALID_DEVICE);
}

static CUresult make_primary(struct soft_device *device)
{
    struct soft_context *context = device->primary;
    if (context != NULL)
        return context->alive ? CUDA_SUCCESS : start(context, device, context->flags);
    CUresult result = create(device, 0, &context);
    if (result == CUDA_SUCCESS) {
        context->primary = true;
        device->primary = context;
    }
    return result;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    struct soft_device *device;
    CUresult result = enter_device(dev, &device);
    if (result != CUDA_SUCCESS)
        return result;
    if (pctx == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = make_primary(device);
    if (result == CUDA_SUCCESS) {
        device->primary->retained++;
        *pctx = context_handle(device->primary);
    }
    return soft_leave(result);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    struct soft_device *device;
    CUresult result = enter_device(dev, &device);
    if (result != CUDA_SUCCESS)
        return result;
    if (device->primary == NULL || device->primary->retained == 0)
        return soft_leave(CUDA_ERROR_INVALID_CONTEXT);
    if (--device->primary->retained == 0)
        destroy(device->primary);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice dev)
{
    return cuDevicePrimaryCtxRelease_v2(dev);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    struct soft_device *device;
    CUresult result = enter_device(dev, &device);
    if (result != CUDA_SUCCESS)
        return result;
    if (device->primary != NULL && device->primary->alive)
        destroy(device->primary);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice dev)
{
    return cuDevicePrimaryCtxReset_v2(dev);
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    struct soft_device *device;
    CUresult result = enter_device(dev, &device);
    if (result != CUDA_SUCCESS)
        return result;
    if ((flags & ~KNOWN_FLAGS) != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = make_primary(device);
    if (result == CUDA_SUCCESS)
        device->primary->flags = flags;
    return soft_leave(result);
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
    return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    struct soft_device *device;
    CUresult result = enter_device(dev, &device);
    if (result != CUDA_SUCCESS)
        return result;
    const struct soft_context *primary = device->primary;
    if (flags != NULL)
        *flags = primary != NULL ? primary->flags : 0;
    if (active != NULL)
        *active = primary != NULL && primary->alive;
    return soft_leave(CUDA_SUCCESS);
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
        result = push(context);
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
        result = push(context);
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

/* ---- questions and settings -------------------------------------------------------- */

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
    if ((flags & ~KNOWN_FLAGS) != 0)
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

CUresult CUDAAPI cuCtxResetPersistingL2Cache(void)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    return result == CUDA_SUCCESS ? soft_leave(result) : result;
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_capture_forbid_unsafe(context);
    if (result == CUDA_SUCCESS)
        result = soft_context_wait(context);
    return soft_leave(result);
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
