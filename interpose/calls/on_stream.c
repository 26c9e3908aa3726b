/* SPDX-License-Identifier: Apache-2.0 */
/* Streams come and go: others may still have to wait for what they held. */
#include "interpose/calls/handlers.h"

#include "cuda/driver_real.h"
#include "interpose/calls/context.h"
#include "interpose/recompute/capture.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/errand.h"
#include "interpose/run/guard.h"
#include "interpose/run/overtake.h"
#include "interpose/run/remark.h"

/* Only a guard waits for other streams; in other modes the driver is left alone. */
static rp_stream stream_of(CUstream stream)
{
    return rp_context_stream(RP_HANDLE(stream));
}

static void retire(rp_stream stream)
{
    if (rp_order_retire(rp_core.bench.order, stream) != RP_OK)
        rp_remark("cuStreamDestroy", "the end of a stream could not be marked");
    else
        rp_guard_stream_ends(stream, rp_driver_legacy_of(stream));
    rp_errands_stream_ends(stream);
}

enum { CAPTURING = 0 }; /* the frame's scratch that has the stream, where that captures */

void rp_on_stream_destroy(struct rp_frame *frame)
{
    const struct rp_args_cuStreamDestroy_v2 *args = frame->args;
    if (!args->hStream)
        return;
    rp_core_lock();
    if (rp_core_keeps())
        retire(stream_of(args->hStream));
    if (rp_core.captures && rp_capture_is_in(stream_of(args->hStream)))
        frame->scratch[CAPTURING] = (void *)(uintptr_t)stream_of(args->hStream);
    rp_core_unlock();
}

/* Nobody can end its capture any more. */
void rp_on_stream_destroyed(struct rp_frame *frame)
{
    if (frame->result != CUDA_SUCCESS || !frame->scratch[CAPTURING])
        return;
    rp_core_lock();
    rp_capture_ended(RP_HANDLE(frame->scratch[CAPTURING]));
    rp_recompute_look_ends();
    rp_core_unlock();
}

/* The driver is asked: the calls that make streams have their flags in different places. */
static bool waits_for_default(CUstream stream)
{
    unsigned flags = CU_STREAM_NON_BLOCKING;
    return rp_real.cuStreamGetFlags(stream, &flags) == CUDA_SUCCESS &&
           !(flags & CU_STREAM_NON_BLOCKING);
}

void rp_on_stream_created(struct rp_frame *frame)
{
    const struct rp_args_cuStreamCreate *args = frame->args; /* with priority is alike */
    if (frame->result != CUDA_SUCCESS || !args->phStream || !rp_core.segments_wanted)
        return;
    rp_core_lock();
    rp_overtake_opened(stream_of(*args->phStream), waits_for_default(*args->phStream));
    if (rp_core_keeps()) {
        rp_order_revive(rp_core.bench.order, stream_of(*args->phStream));
        rp_crossing_opened(rp_core.bench.crossing, stream_of(*args->phStream));
    }
    rp_core_unlock();
}

void rp_on_capture_begins(struct rp_frame *frame)
{
    rp_core_lock();
    rp_recompute_look_begins();
    if (rp_core_keeps() && rp_order_seal(rp_core.bench.order, rp_handler_stream(frame)) != RP_OK)
        rp_remark(rp_name(rp_handler_name(frame->id)), "what its stream holds could not be marked");
    rp_core_unlock();
}

void rp_on_capture_begun(struct rp_frame *frame)
{
    rp_core_lock();
    if (frame->result == CUDA_SUCCESS)
        rp_capture_begun(rp_handler_stream(frame));
    else
        rp_recompute_look_ends();
    rp_core_unlock();
}

/* A capture also ends when ending it fails, where the driver has invalidated it; but not where the
 * call was for another stream or thread than began it, or for a stream that is none. */
static bool has_ended(CUresult result)
{
    return result != CUDA_ERROR_ILLEGAL_STATE && result != CUDA_ERROR_INVALID_HANDLE &&
           result != CUDA_ERROR_INVALID_VALUE && result != CUDA_ERROR_INVALID_CONTEXT &&
           result != CUDA_ERROR_STREAM_CAPTURE_UNMATCHED &&
           result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

void rp_on_capture_ended(struct rp_frame *frame)
{
    rp_core_lock();
    if (rp_core.captures && has_ended(frame->result)) {
        rp_capture_ended(rp_handler_stream(frame));
        rp_recompute_look_ends();
    }
    rp_core_unlock();
}
