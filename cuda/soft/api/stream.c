/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/stream.h"

#include "cuda/soft/api/capture.h"
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/launch.h"
#include "cuda/soft/api/queue.h"

#include <stdlib.h>

#define GREATEST_PRIORITY (-5)
#define LEAST_PRIORITY 0

/* ---- inside ------------------------------------------------------------------------ */

CUresult soft_stream_create(struct soft_context *context, unsigned flags, int priority,
                            struct soft_stream **out)
{
    struct soft_stream *stream = calloc(1, sizeof *stream);
    struct soft_queue *queue = soft_queue_create();
    if (stream == NULL || queue == NULL || !soft_handle_add(stream, SOFT_HANDLE_STREAM)) {
        soft_queue_release(queue);
        free(stream);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stream->queue = queue;
    stream->context = context;
    stream->id = ++soft.next_id;
    stream->flags = flags;
    stream->priority = priority;
    stream->next = context->streams;
    context->streams = stream;
    *out = stream;
    return CUDA_SUCCESS;
}

static void free_stream(struct soft_stream *stream)
{
    struct soft_stream **at = &stream->context->streams;
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    soft_op_release(stream->tail);
    soft_op_release(stream->last);
    soft_op_release(stream->ahead);
    soft_queue_release(stream->queue);
    free(stream->fronts);
    free(stream);
}

void soft_stream_forget(struct soft_stream *stream)
{
    soft_capture_drop_stream(stream);
    soft_handle_remove(stream);
    free_stream(stream);
}

void soft_stream_destroy(struct soft_stream *stream)
{
    if (soft_op_is_done(stream->tail) && !soft_history_matters()) {
        soft_stream_forget(stream);
        return;
    }
    soft_capture_drop_stream(stream);
    soft_handle_remove(stream);
    stream->destroyed = true;
}

void soft_streams_reap(struct soft_context *context)
{
    struct soft_stream *next;
    for (struct soft_stream *stream = context->streams; stream != NULL; stream = next) {
        next = stream->next;
        if (stream->destroyed && soft_op_is_done(stream->tail))
            free_stream(stream);
    }
}

static CUresult thread_stream(struct soft_context *context, struct soft_stream **out)
{
    if (soft_thread.id == 0)
        soft_thread.id = ++soft.next_id;
    for (struct soft_stream *stream = context->streams; stream != NULL; stream = stream->next) {
        if (stream->thread == soft_thread.id) {
            *out = stream;
            return CUDA_SUCCESS;
        }
    }
    CUresult result = soft_stream_create(context, 0, LEAST_PRIORITY, out);
    if (result == CUDA_SUCCESS)
        (*out)->thread = soft_thread.id;
    return result;
}

CUresult soft_stream_find(struct soft_context *context, CUstream handle, struct soft_stream **out)
{
    if (handle == NULL)
        handle = soft_thread.per_thread_default ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    if (handle == CU_STREAM_LEGACY) {
        *out = context->legacy;
        return CUDA_SUCCESS;
    }
    if (handle == CU_STREAM_PER_THREAD)
        return thread_stream(context, out);
    if (!soft_handle_is(handle, SOFT_HANDLE_STREAM))
        return CUDA_ERROR_INVALID_HANDLE;
    *out = handle_stream(handle);
    return (*out)->context->fault;
}

CUresult soft_stream_enter(CUstream handle, struct soft_stream **stream)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_stream_find(context, handle, stream);
    return result == CUDA_SUCCESS ? result : soft_leave(result);
}

void soft_stream_order(struct soft_stream *stream, struct soft_op *op)
{
    struct soft_context *context = stream->context;

    op->stream = stream->id;
    soft_op_after(op, stream->tail);
    if (stream == context->legacy) {
        for (struct soft_stream *each = context->streams; each != NULL; each = each->next)
            if (each != stream && !(each->flags & CU_STREAM_NON_BLOCKING))
                soft_op_after(op, each->tail);
        soft_streams_reap(context);
    } else if (!(stream->flags & CU_STREAM_NON_BLOCKING)) {
        soft_op_after(op, context->legacy->tail);
    }
}

static void put_last(struct soft_stream *stream, struct soft_op *op)
{
    soft_queue_use(stream->queue);
    soft_queue_enter(stream->queue, op);
    soft_op_release(stream->tail);
    stream->tail = soft_op_retain(op);
    soft_op_submit(op);
}

void soft_stream_append(struct soft_stream *stream, struct soft_op *op)
{
    soft_op_release(stream->ahead);
    stream->ahead = stream->tail != NULL ? soft_op_retain(stream->tail) : NULL;
    soft_op_release(stream->last);
    stream->last = soft_op_retain(op);
    put_last(stream, op);
}

CUresult soft_stream_submit(struct soft_stream *stream, struct soft_work *work, struct soft_op **op)
{
    if (op != NULL)
        *op = NULL;
    CUresult result = soft_capture_check(stream);
    if (result != CUDA_SUCCESS) {
        soft_work_release(work);
        return result;
    }
    if (stream->capture != NULL)
        return soft_capture_add(stream, work);

    struct soft_op *fresh = soft_op_create(stream->context, work);
    if (fresh == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    soft_stream_order(stream, fresh);
    if (work->type->class_ == SOFT_WORK_MARKER)
        put_last(stream, fresh);
    else
        soft_stream_append(stream, fresh);
    if (op != NULL)
        *op = fresh;
    else
        soft_op_release(fresh);
    return CUDA_SUCCESS;
}

/* The legacy stream stands for others, too: there it waits as any kernel does. */
static bool may_overlap(const struct soft_stream *stream, const struct soft_work *work)
{
    return stream != stream->context->legacy && stream->capture == NULL && stream->last != NULL &&
           soft_launch_overlaps(work, stream->last->work);
}

CUresult soft_stream_submit_launch(struct soft_stream *stream, struct soft_work *work)
{
    if (!may_overlap(stream, work))
        return soft_stream_submit(stream, work, NULL);
    struct soft_op *until_now = soft_op_retain(stream->tail);
    struct soft_op *fresh = soft_op_create(stream->context, work);
    struct soft_op *both = soft_op_create(stream->context, soft_work_marker());
    CUresult result = fresh != NULL && both != NULL ? soft_capture_check(stream)
                                                    : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) {
        fresh->stream = stream->id;
        soft_op_after(fresh, stream->ahead);
        if (!(stream->flags & CU_STREAM_NON_BLOCKING))
            soft_op_after(fresh, stream->context->legacy->tail);
        soft_stream_append(stream, fresh);
        soft_stream_order(stream, both);
        soft_op_after(both, until_now);
        soft_stream_append(stream, both);
    }
    soft_op_release(fresh);
    soft_op_release(both);
    soft_op_release(until_now);
    return result;
}

/* The stream's own tail will not do: the legacy stream waits for others too. */
CUresult soft_stream_wait(struct soft_stream *stream)
{
    struct soft_context *context = stream->context;
    struct soft_op *op = soft_op_create(context, soft_work_marker());

    if (op == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    soft_stream_order(stream, op);
    soft_op_submit(op);
    soft_op_wait(op);
    soft_op_release(op);
    return context->fault;
}

static bool is_idle(const struct soft_stream *stream)
{
    const struct soft_context *context = stream->context;
    bool blocking = !(stream->flags & CU_STREAM_NON_BLOCKING);

    if (!soft_op_is_done(stream->tail))
        return false;
    if (stream != context->legacy)
        return !blocking || soft_op_is_done(context->legacy->tail);
    for (const struct soft_stream *each = context->streams; each != NULL; each = each->next)
        if (!(each->flags & CU_STREAM_NON_BLOCKING) && !soft_op_is_done(each->tail))
            return false;
    return true;
}

/* The program has learnt that an idle stream is. */
static void meet_all(const struct soft_stream *stream)
{
    const struct soft_context *context = stream->context;
    soft_op_met(stream->tail);
    for (const struct soft_stream *each = context->streams;
         stream == context->legacy && each != NULL; each = each->next)
        if (!(each->flags & CU_STREAM_NON_BLOCKING))
            soft_op_met(each->tail);
}

/* ---- entry points ------------------------------------------------------------------ */

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
    struct soft_context *context;
    struct soft_stream *stream;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (phStream == NULL || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (priority < GREATEST_PRIORITY)
        priority = GREATEST_PRIORITY;
    if (priority > LEAST_PRIORITY)
        priority = LEAST_PRIORITY;
    result = soft_stream_create(context, flags, priority, &stream);
    if (result == CUDA_SUCCESS)
        *phStream = stream_handle(stream);
    return soft_leave(result);
}

CUresult CUDAAPI cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
    return cuStreamCreateWithPriority(phStream, Flags, LEAST_PRIORITY);
}

CUresult CUDAAPI cuStreamDestroy_v2(CUstream hStream)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (!soft_handle_is(hStream, SOFT_HANDLE_STREAM))
        return soft_leave(CUDA_ERROR_INVALID_HANDLE);
    soft_stream_destroy(handle_stream(hStream));
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamDestroy(CUstream hStream)
{
    return cuStreamDestroy_v2(hStream);
}

CUresult CUDAAPI cuStreamSynchronize(CUstream hStream)
{
    struct soft_stream *stream;
    CUresult result = soft_stream_enter(hStream, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_capture_forbid(stream);
    if (result == CUDA_SUCCESS)
        result = soft_stream_wait(stream);
    return soft_leave(result);
}

CUresult CUDAAPI cuStreamQuery(CUstream hStream)
{
    struct soft_stream *stream;
    CUresult result = soft_stream_enter(hStream, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    soft_scheduler_poll();
    result = soft_capture_forbid(stream);
    if (result == CUDA_SUCCESS && !is_idle(stream))
        result = CUDA_ERROR_NOT_READY;
    if (result == CUDA_SUCCESS)
        meet_all(stream);
    return soft_leave(result);
}

CUresult CUDAAPI cuStreamGetPriority(CUstream hStream, int *priority)
{
    struct soft_stream *stream;
    CUresult result = soft_stream_enter(hStream, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (priority == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *priority = stream->priority;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetFlags(CUstream hStream, unsigned int *flags)
{
    struct soft_stream *stream;
    CUresult result = soft_stream_enter(hStream, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (flags == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *flags = stream->flags;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetId(CUstream hStream, unsigned long long *streamId)
{
    struct soft_stream *stream;
    CUresult result = soft_stream_enter(hStream, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (streamId == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *streamId = stream->id;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetCtx(CUstream hStream, CUcontext *pctx)
{
    struct soft_stream *stream;
    CUresult result = soft_stream_enter(hStream, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (pctx == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *pctx = context_handle(stream->context);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
    CUresult result = cuStreamGetCtx(hStream, pCtx);
    if (result == CUDA_SUCCESS && pGreenCtx != NULL)
        *pGreenCtx = NULL;
    return result;
}

/* There are no green contexts, so it belongs to none. */
CUresult CUDAAPI cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx *phCtx)
{
    CUcontext context;
    if (phCtx == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return cuStreamGetCtx_v2(hStream, &context, phCtx);
}

CUresult CUDAAPI cuStreamGetDevice(CUstream hStream, CUdevice *device)
{
    struct soft_stream *stream;
    CUresult result = soft_stream_enter(hStream, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (device == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *device = stream->context->device->ordinal;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (leastPriority != NULL)
        *leastPriority = LEAST_PRIORITY;
    if (greatestPriority != NULL)
        *greatestPriority = GREATEST_PRIORITY;
    return soft_leave(CUDA_SUCCESS);
}
