/* SPDX-License-Identifier: Apache-2.0 */
/* Events. An event is its last record: an operation that does nothing but be done. */
#include "cuda/soft/api/capture.h"
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/ipc.h"
#include "cuda/soft/api/stream.h"
#include "cuda/soft/api/timeline.h"

#include <stdlib.h>

#define KNOWN_FLAGS                                                                                \
    ((unsigned)CU_EVENT_BLOCKING_SYNC | (unsigned)CU_EVENT_DISABLE_TIMING |                        \
     (unsigned)CU_EVENT_INTERPROCESS)

/* ---- inside ------------------------------------------------------------------------ */

CUresult soft_event_find(CUevent handle, struct soft_event **out)
{
    if (!soft_handle_is(handle, SOFT_HANDLE_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    *out = handle_event(handle);
    return CUDA_SUCCESS;
}

CUresult soft_event_create(struct soft_context *context, unsigned flags, struct soft_event **out)
{
    struct soft_event *event = calloc(1, sizeof *event);
    if (event == NULL || !soft_handle_add(event, SOFT_HANDLE_EVENT)) {
        free(event);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    event->context = context;
    event->flags = flags;
    event->next = context->events;
    context->events = event;
    *out = event;
    return CUDA_SUCCESS;
}

void soft_event_destroy(struct soft_event *event)
{
    struct soft_event **at = &event->context->events;
    while (*at != event)
        at = &(*at)->next;
    *at = event->next;
    soft_handle_remove(event);
    soft_op_release(event->op);
    soft_capture_forget(event);
    soft_ipc_drop_event(event);
    free(event);
}

static CUresult record(struct soft_stream *stream, struct soft_event *event)
{
    struct soft_op *op;

    if (event->context != stream->context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture != NULL)
        return soft_capture_record(stream, event);
    struct soft_work *work =
        event->shared != NULL ? soft_ipc_record_work(event) : soft_work_marker();
    CUresult result =
        work != NULL ? soft_stream_submit(stream, work, &op) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS)
        return result;
    soft_capture_forget(event);
    soft_op_release(event->op);
    event->op = op;
    return CUDA_SUCCESS;
}

/* The last record may be another process's. */
static CUresult wait_for_shared(struct soft_stream *stream, struct soft_event *event)
{
    struct soft_work *work = soft_ipc_wait_work(event);
    return work != NULL ? soft_stream_submit(stream, work, NULL) : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult wait_in_stream(struct soft_stream *stream, struct soft_event *event)
{
    if (stream->capture != NULL || event->capture != 0)
        return soft_capture_wait(stream, event);
    if (event->shared != NULL)
        return wait_for_shared(stream, event);
    /* What is submitted must be a function of the calls, not of what is done already. */
    if (event->op == NULL || (!soft_history_matters() && soft_op_is_done(event->op)))
        return CUDA_SUCCESS;
    CUresult result = soft_capture_check(stream);
    if (result != CUDA_SUCCESS)
        return result;
    struct soft_op *op = soft_op_create(stream->context, soft_work_marker());
    if (op == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    soft_stream_order(stream, op);
    soft_op_after(op, event->op);
    soft_stream_append(stream, op);
    soft_op_release(op);
    return CUDA_SUCCESS;
}

/* ---- entry points ------------------------------------------------------------------ */

/* Enters with a live event. Events answer in any context, as streams of other contexts may
 * wait for them. */
static CUresult enter(CUevent handle, struct soft_event **event)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_event_find(handle, event);
    return result == CUDA_SUCCESS ? result : soft_leave(result);
}

/* Asking about an event is one of the calls that a capture may forbid. */
static CUresult enter_polled(CUevent handle, struct soft_event **event)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    soft_scheduler_poll();
    result = soft_event_find(handle, event);
    if (result == CUDA_SUCCESS)
        result = soft_capture_forbid_unsafe((*event)->context);
    return result == CUDA_SUCCESS ? result : soft_leave(result);
}

CUresult CUDAAPI cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    struct soft_context *context;
    struct soft_event *event;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    bool needs_no_timing = (Flags & CU_EVENT_INTERPROCESS) && !(Flags & CU_EVENT_DISABLE_TIMING);
    if (phEvent == NULL || (Flags & ~KNOWN_FLAGS) != 0 || needs_no_timing)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_event_create(context, Flags, &event);
    if (result == CUDA_SUCCESS && (Flags & CU_EVENT_INTERPROCESS) && !soft_ipc_make_event(event)) {
        soft_event_destroy(event);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (result == CUDA_SUCCESS)
        *phEvent = event_handle(event);
    return soft_leave(result);
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent hEvent)
{
    struct soft_event *event;
    CUresult result = enter(hEvent, &event);
    if (result != CUDA_SUCCESS)
        return result;
    soft_event_destroy(event);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuEventDestroy(CUevent hEvent)
{
    return cuEventDestroy_v2(hEvent);
}

/* What ties an event to a stream: with these flags, whose known ones are `known`. */
static CUresult tie(CUstream hStream, CUevent hEvent, unsigned flags, unsigned known,
                    CUresult (*how)(struct soft_stream *stream, struct soft_event *event))
{
    struct soft_context *context;
    struct soft_stream *stream;
    struct soft_event *event;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if ((flags & ~known) != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_event_find(hEvent, &event);
    if (result == CUDA_SUCCESS)
        result = soft_stream_find(context, hStream, &stream);
    if (result == CUDA_SUCCESS)
        result = how(stream, event);
    return soft_leave(result);
}

CUresult CUDAAPI cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
    return tie(hStream, hEvent, flags, CU_EVENT_RECORD_EXTERNAL, record);
}

CUresult CUDAAPI cuEventRecord(CUevent hEvent, CUstream hStream)
{
    return cuEventRecordWithFlags(hEvent, hStream, CU_EVENT_RECORD_DEFAULT);
}

static bool is_capturing(const struct soft_context *context)
{
    const struct soft_stream *each = context->streams;
    while (each != NULL && each->capture == NULL)
        each = each->next;
    return each != NULL;
}

/* Behind all streams there are. It is in none of them, so that none waits for it. */
static CUresult record_all(struct soft_context *context, struct soft_event *event)
{
    if (event->context != context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (is_capturing(context))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (event->shared != NULL)
        return soft_refuse("record of a context in an event that processes share");
    struct soft_op *op = soft_op_create(context, soft_work_marker());
    if (op == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (struct soft_stream *each = context->streams; each != NULL; each = each->next)
        soft_op_after(op, each->tail);
    soft_op_submit(op);
    soft_capture_forget(event);
    soft_op_release(event->op);
    event->op = op;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent)
{
    struct soft_context *context;
    struct soft_event *event;
    CUresult result = enter(hEvent, &event);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_context_find(hCtx, true, &context);
    if (result == CUDA_SUCCESS)
        result = record_all(context, event);
    return soft_leave(result);
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    return tie(hStream, hEvent, Flags, CU_EVENT_WAIT_EXTERNAL, wait_in_stream);
}

CUresult CUDAAPI cuEventQuery(CUevent hEvent)
{
    struct soft_event *event;
    CUresult result = enter_polled(hEvent, &event);
    if (result != CUDA_SUCCESS)
        return result;
    if (event->capture != 0)
        return soft_leave(CUDA_ERROR_CAPTURED_EVENT);
    if (event->op != NULL && event->op->context->fault != CUDA_SUCCESS)
        return soft_leave(event->op->context->fault);
    if (!soft_op_is_done(event->op) || (event->shared != NULL && !soft_ipc_is_done(event)))
        return soft_leave(CUDA_ERROR_NOT_READY);
    soft_op_met(event->op);
    return soft_leave(CUDA_SUCCESS);
}

/* By an operation of no stream that waits for the other process. */
static CUresult synchronize_shared(const struct soft_event *event)
{
    struct soft_work *work = soft_ipc_wait_work(event);
    struct soft_op *op = work != NULL ? soft_op_create(event->context, work) : NULL;
    if (op == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct soft_context *context = event->context;
    soft_op_submit(op);
    soft_op_wait(op);
    soft_op_release(op);
    return context->fault;
}

CUresult CUDAAPI cuEventSynchronize(CUevent hEvent)
{
    struct soft_event *event;
    CUresult result = enter(hEvent, &event);
    if (result != CUDA_SUCCESS)
        return result;
    if (event->capture != 0)
        return soft_leave(CUDA_ERROR_CAPTURED_EVENT);
    struct soft_op *op = event->op;
    if (event->shared != NULL) {
        result = synchronize_shared(event);
    } else if (op != NULL) {
        soft_op_retain(op);
        soft_op_wait(op);
        result = op->context->fault;
        soft_op_release(op);
    }
    return soft_leave(result);
}

/* Milliseconds, of the model clock where there is one. Gives the lock up meanwhile. */
static float elapsed(struct soft_op *start, struct soft_op *end)
{
    uint64_t from = start->finished_ns, to = end->finished_ns;
    soft_op_retain(start);
    soft_op_retain(end);
    soft_timeline_tell(start, &from);
    soft_timeline_tell(end, &to);
    soft_op_release(start);
    soft_op_release(end);
    return (float)((double)(int64_t)(to - from) * 1e-6);
}

CUresult CUDAAPI cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    struct soft_event *start, *end;
    CUresult result = enter_polled(hStart, &start);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_event_find(hEnd, &end);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    if (pMilliseconds == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (start->op == NULL || end->op == NULL ||
        ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0)
        return soft_leave(CUDA_ERROR_INVALID_HANDLE);
    if (!soft_op_is_done(start->op) || !soft_op_is_done(end->op))
        return soft_leave(CUDA_ERROR_NOT_READY);
    *pMilliseconds = elapsed(start->op, end->op);
    return soft_leave(start->context->fault);
}

CUresult CUDAAPI cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    return cuEventElapsedTime_v2(pMilliseconds, hStart, hEnd);
}
