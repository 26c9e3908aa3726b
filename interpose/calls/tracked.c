/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of a tracked call: from what the job passed to a footprint, and from the driver's
 * answer to history. */
#include "interpose/calls/handlers.h"

#include "cuda/driver_real.h"
#include "cuda/switches.h"
#include "interpose/calls/context.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/remark.h"
#include "interpose/run/report.h"
#include "interpose/run/segment.h"

rp_stream rp_handler_stream_of(CUstream stream, const struct rp_call_info *info)
{
    if (!stream)
        stream = info->mode == RP_MODE_LEGACY ? CU_STREAM_LEGACY : CU_STREAM_PER_THREAD;
    return rp_context_stream(stream == CU_STREAM_PER_THREAD ? rp_driver_thread_stream()
                                                            : RP_HANDLE(stream));
}

rp_stream rp_handler_stream(const struct rp_frame *frame)
{
    const struct rp_call_info *info = &rp_calls[frame->id];
    CUstream stream = NULL;
    if (info->stream_arg >= 0)
        stream = *(CUstream *)(void *)((char *)frame->args + info->args[info->stream_arg].offset);
    return rp_handler_stream_of(stream, info);
}

uint32_t rp_handler_name(enum rp_call_id id)
{
    if (!rp_core.call_names[id])
        rp_core.call_names[id] = rp_names_id(rp_core.names, rp_calls[id].name);
    return rp_core.call_names[id];
}

/* What is captured into a graph does not run now. Asking the driver for each call would cost
 * more than the tracking, so it is asked only while a capture is known to be open. A call of which
 * the driver does not say is followed like one that runs. */
bool rp_handler_is_captured(rp_stream stream)
{
    bool yes;
    return rp_core.captures &&
           rp_core.driver.capturing(rp_core.driver.self, stream, &yes) == RP_OK && yes;
}

enum { TRACKED = 3 }; /* the frame's scratch that holds the footprint */

struct rp_footprint *rp_handler_footprint(struct rp_frame *frame)
{
    struct rp_footprint *call = rp_footprint_take();
    rp_footprint_begin(call, rp_handler_name(frame->id), rp_handler_stream(frame));
    frame->scratch[TRACKED] = call;
    rp_context_check(call);
    return call;
}

struct rp_footprint *rp_handler_tracked(const struct rp_frame *frame)
{
    return frame->scratch[TRACKED];
}

void rp_handler_not_followed(const struct rp_frame *frame, const char *why)
{
    const struct rp_footprint call = {.name = rp_handler_name(frame->id)};
    rp_remark(rp_calls[frame->id].name, why);
    if (rp_core.segments_wanted)
        rp_report_unfollowed(&call, why);
}

/* What the layer cannot follow for want of memory is as good as unknown. */
void rp_handler_track(struct rp_frame *frame, struct rp_footprint *call, enum rp_status status)
{
    if (status != RP_OK)
        rp_remark(rp_name(call->name), "the host is out of memory: the call is not followed");
    if (call->overruns) {
        frame->skip = frame->served = true;
        frame->result = CUDA_ERROR_INVALID_VALUE;
        return;
    }
    if (rp_handler_is_captured(call->stream))
        return;
    if (rp_calls[frame->id].stream_arg >= 0) {
        /* It need not be over when the call returns: nothing may have come to the host yet, and
         * what goes out may yet change there. */
        call->host.taken_bytes = call->host.upload_bytes = 0;
        call->host.brought = (struct rp_provenance){0};
    }
    call->host.landing.is_over = rp_calls[frame->id].stream_arg < 0;
    call->on_device = call->is_launch || rp_call_in_class(frame->id, "write.memset") ||
                      rp_call_in_class(frame->id, "write.d2d");
    rp_track(call);
    if (!call->served && !call->denied)
        return;
    frame->skip = frame->served = true;
    frame->result = call->denied ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* Errors that the driver finds before it does anything. All others may come from the device,
 * of this call or of one before it. */
static const CUresult rejections[] = {
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_INITIALIZED,
    CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, CUDA_ERROR_NO_DEVICE,
    CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_INVALID_CONTEXT,
    CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_INVALID_HANDLE,
    CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_NOT_FOUND, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
    CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
    CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
    CUDA_ERROR_NOT_PERMITTED, CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, CUDA_ERROR_INVALID_CLUSTER_SIZE,
    CUDA_ERROR_FUNCTION_NOT_LOADED, CUDA_ERROR_INVALID_RESOURCE_TYPE,
    CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION};

static bool is_rejection(CUresult result)
{
    for (size_t i = 0; i < sizeof rejections / sizeof *rejections; i++)
        if (rejections[i] == result)
            return true;
    return false;
}

enum rp_outcome rp_handler_outcome(CUresult result)
{
    if (result == CUDA_SUCCESS)
        return RP_OUTCOME_RAN;
    if (!rp_switch_on(RP_SWITCH_REJECTION))
        return RP_OUTCOME_RAN;
    return is_rejection(result) ? RP_OUTCOME_REJECTED : RP_OUTCOME_UNSURE;
}

bool rp_handler_ran(const struct rp_frame *frame)
{
    const struct rp_footprint *call = rp_handler_tracked(frame);
    return call && call->seq && rp_handler_outcome(frame->result) != RP_OUTCOME_REJECTED;
}

_Thread_local struct rp_settled rp_handler_settled;

static void note_settled(const struct rp_footprint *call)
{
    rp_handler_settled = (struct rp_settled){.seq = call->seq, .launch = call->launch,
                                             .is_launch = call->is_launch,
                                             .remarks = rp_remarks_made() != call->remarks,
                                             .reads = call->reads, .writes = call->writes};
}

void rp_handler_settle(struct rp_frame *frame, enum rp_outcome outcome)
{
    struct rp_footprint *call = rp_handler_tracked(frame);
    if (call->seq)
        rp_track_done(call, outcome);
    else if (call->count && outcome == RP_OUTCOME_RAN && rp_core.segments_wanted)
        rp_captured_call(rp_thread_self(), call->name, false); /* it runs with its graph */
    note_settled(call);
    rp_footprint_give(call);
}

static void tracked(struct rp_frame *frame, enum rp_outcome outcome)
{
    if (!rp_handler_tracked(frame))
        return;
    rp_core_lock();
    if (!rp_handler_tracked(frame)->seq && !rp_handler_tracked(frame)->overruns)
        frame->result = rp_recompute_looked(frame->result);
    rp_handler_settle(frame, outcome);
    rp_core_unlock();
}

void rp_on_tracked(struct rp_frame *frame)
{
    tracked(frame, rp_handler_outcome(frame->result));
}

void rp_on_batch_tracked(struct rp_frame *frame)
{
    tracked(frame, frame->result == CUDA_SUCCESS ? RP_OUTCOME_RAN : RP_OUTCOME_UNSURE);
}
