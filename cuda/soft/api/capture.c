/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/capture.h"

CUresult soft_capture_check(struct soft_stream *stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

CUresult soft_capture_forbid(struct soft_stream *stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

CUresult soft_capture_forbid_unsafe(struct soft_context *context)
{
    (void)context;
    return CUDA_SUCCESS;
}

CUresult soft_capture_add(struct soft_stream *stream, struct soft_work *work)
{
    (void)stream;
    soft_work_release(work);
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult soft_capture_record(struct soft_stream *stream, struct soft_event *event)
{
    (void)stream;
    (void)event;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult soft_capture_wait(struct soft_stream *stream, struct soft_event *event)
{
    (void)stream;
    (void)event;
    return CUDA_ERROR_NOT_SUPPORTED;
}

void soft_capture_forget(struct soft_event *event)
{
    (void)event;
}

void soft_capture_drop_stream(struct soft_stream *stream)
{
    (void)stream;
}
