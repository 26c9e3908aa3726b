/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/context.h"

#include "cuda/soft/api/array.h"
#include "cuda/soft/api/capture.h"
#include "cuda/soft/api/memory.h"
#include "cuda/soft/api/module.h"
#include "cuda/soft/api/stream.h"
#include "cuda/soft/api/view.h"

#include <stdlib.h>

#define API_VERSION 3020

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
    soft_streams_reap(context);
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
CUresult soft_context_start(struct soft_context *context, struct soft_device *device,
                            unsigned flags)
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

CUresult soft_context_create(struct soft_device *device, unsigned flags, struct soft_context **out)
{
    struct soft_context *context = calloc(1, sizeof *context);
    if (context == NULL || !soft_handle_add(context, SOFT_HANDLE_CONTEXT)) {
        free(context);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    context->next = soft.contexts;
    soft.contexts = context;
    *out = context;
    return soft_context_start(context, device, flags);
}

void soft_context_destroy(struct soft_context *context)
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
    soft_views_destroy(context);
    soft_arrays_destroy(context);
    soft_memory_free_all(context);
    context->retained = context->attached = 0;
}

CUresult soft_context_push(struct soft_context *context)
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
