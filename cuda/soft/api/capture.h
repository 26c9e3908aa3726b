/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture: work that is submitted to a capturing stream becomes nodes of a graph. */
#ifndef RP_CUDA_SOFT_API_CAPTURE_H
#define RP_CUDA_SOFT_API_CAPTURE_H

#include "cuda/soft/api/stream.h"

/* May work be submitted to the stream now? Invalidates captures that it would disturb. */
CUresult soft_capture_check(struct soft_stream *stream);
/* Answers for a call that a capturing stream forbids (waiting, asking), and invalidates the
 * capture; CUDA_SUCCESS when the stream does not capture. */
CUresult soft_capture_forbid(struct soft_stream *stream);
/* The same for calls that concern the whole context and that the mode of a capture under way
 * forbids to this thread. */
CUresult soft_capture_forbid_unsafe(struct soft_context *context);

/* `work` becomes a node; takes over the reference. */
CUresult soft_capture_add(struct soft_stream *stream, struct soft_work *work);

/* cuEventRecord and cuStreamWaitEvent where either side captures. */
CUresult soft_capture_record(struct soft_stream *stream, struct soft_event *event);
CUresult soft_capture_wait(struct soft_stream *stream, struct soft_event *event);
/* The event was recorded outside a capture, or dies. */
void soft_capture_forget(struct soft_event *event);

/* The stream dies: its capture is invalidated. */
void soft_capture_drop_stream(struct soft_stream *stream);

#endif
