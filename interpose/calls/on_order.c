/* SPDX-License-Identifier: Apache-2.0 */
/* What orders the job's own streams: events, and waits of the host. */
#include "interpose/calls/handlers.h"

#include "interpose/calls/context.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/overtake.h"

/* In before(): what other threads call meanwhile is not what is waited for. */
static void note_seq(struct rp_frame *frame)
{
    frame->scratch[0] = (void *)(uintptr_t)rp_core.seq;
}

static uint64_t noted_seq(const struct rp_frame *frame)
{
    return RP_HANDLE(frame->scratch[0]);
}

/* Nobody asks for order where there are no replays. */
static bool begin(const struct rp_frame *frame)
{
    if (!rp_core.segments_wanted || frame->result != CUDA_SUCCESS)
        return false;
    rp_core_lock();
    return true;
}

/* ---- events ------------------------------------------------------------------------- */

void rp_on_event_made(struct rp_frame *frame)
{
    const struct rp_args_cuEventCreate *args = frame->args;
    if (!(args->Flags & CU_EVENT_INTERPROCESS) || !begin(frame))
        return;
    rp_overtake_event_shared(RP_HANDLE(*args->phEvent));
    rp_core_unlock();
}

void rp_on_event_opened(struct rp_frame *frame)
{
    const struct rp_args_cuIpcOpenEventHandle *args = frame->args;
    if (!begin(frame))
        return;
    rp_overtake_event_shared(RP_HANDLE(*args->phEvent));
    rp_core_unlock();
}

void rp_on_event_record(struct rp_frame *frame)
{
    note_seq(frame);
}

void rp_on_event_recorded(struct rp_frame *frame)
{
    const struct rp_args_cuEventRecord *args = frame->args; /* with flags it starts alike */
    rp_stream stream = rp_handler_stream(frame);
    if (!begin(frame))
        return;
    if (rp_core.captures) /* it is a node of a graph, perhaps, and comes about with that */
        rp_overtake_event_gone(RP_HANDLE(args->hEvent));
    else
        rp_overtake_recorded(RP_HANDLE(args->hEvent), stream, noted_seq(frame));
    rp_core_unlock();
}

void rp_on_event_destroyed(struct rp_frame *frame)
{
    const struct rp_args_cuEventDestroy_v2 *args = frame->args;
    if (!begin(frame))
        return;
    rp_overtake_event_destroyed(RP_HANDLE(args->hEvent));
    rp_core_unlock();
}

/* Behind all that a context does: the layer follows streams, and knows of no order by it. */
void rp_on_context_event_recorded(struct rp_frame *frame)
{
    const struct rp_args_cuCtxRecordEvent *args = frame->args; /* green ones are alike */
    if (!begin(frame))
        return;
    rp_overtake_event_gone(RP_HANDLE(args->hEvent));
    rp_core_unlock();
}

void rp_on_event_waits(struct rp_frame *frame)
{
    if (!rp_recompute_is_on())
        return;
    rp_core_lock();
    rp_recompute_stream_waits(rp_handler_stream(frame));
    rp_core_unlock();
}

void rp_on_event_waited(struct rp_frame *frame)
{
    const struct rp_args_cuStreamWaitEvent *args = frame->args;
    rp_stream stream = rp_handler_stream(frame);
    if (!begin(frame))
        return;
    if (!rp_core.captures)
        rp_overtake_waits(stream, RP_HANDLE(args->hEvent));
    rp_core_unlock();
}

/* The host has waited for it, or has asked and it was over. */
void rp_on_event_over(struct rp_frame *frame)
{
    const struct rp_args_cuEventSynchronize *args = frame->args;
    if (!begin(frame))
        return;
    rp_overtake_settled_event(RP_HANDLE(args->hEvent));
    rp_core_unlock();
}

/* ---- streams ------------------------------------------------------------------------ */

void rp_on_stream_over_before(struct rp_frame *frame)
{
    note_seq(frame);
}

void rp_on_stream_over(struct rp_frame *frame)
{
    rp_stream stream = rp_handler_stream(frame);
    if (!begin(frame))
        return;
    rp_overtake_settled(stream, noted_seq(frame));
    rp_core_unlock();
}

/* All streams of the context. One that is named may be another than the current one. */
void rp_on_context_over(struct rp_frame *frame)
{
    const struct rp_args_cuCtxSynchronize_v2 *args = frame->args;
    bool is_named = frame->id == RP_CALL_cuCtxSynchronize_v2 && args->ctx;
    if (!begin(frame))
        return;
    if (!is_named || rp_context_is_one())
        rp_overtake_settled_context(rp_context_stream(RP_HANDLE(CU_STREAM_LEGACY)),
                                    noted_seq(frame));
    rp_core_unlock();
}
