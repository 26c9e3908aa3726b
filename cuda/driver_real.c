/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/calls/calls.h"

#include "cuda/driver_real.h"
#include "cuda/switches.h"

#include <stdatomic.h>
#include <string.h>

static enum rp_status status_of(CUresult result)
{
    switch ((int)result) {
    case CUDA_SUCCESS: return RP_OK;
    case CUDA_ERROR_OUT_OF_MEMORY: return RP_NO_MEMORY;
    case CUDA_ERROR_NOT_SUPPORTED: return RP_UNSUPPORTED;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_HANDLE: return RP_INVALID;
    default: return RP_IO; /* the device itself is in trouble */
    }
}

#define THREAD_STREAM ((rp_stream)(uintptr_t)CU_STREAM_PER_THREAD)
#define OTHER_THREADS ((rp_stream)1 << 63) /* no handle: addresses end before */

rp_stream rp_driver_thread_stream(void)
{
    static _Atomic uint32_t threads;
    static _Thread_local uint32_t number; /* from 1 */
    if (!number)
        number = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
    return number == 1 ? THREAD_STREAM : OTHER_THREADS | (rp_stream)number << 8 | THREAD_STREAM;
}

/* ---- contexts ----------------------------------------------------------------------- */

enum { CONTEXT_SHIFT = 48 }; /* no handle: addresses end before */

static struct context {
    CUcontext handle; /* NULL: unknown, or the only one: nothing has to be changed */
    bool gone;
} contexts[RP_DRIVER_CONTEXTS];

static CUcontext usual; /* for threads that have none */

static unsigned context_of(rp_stream stream)
{
    return stream >> CONTEXT_SHIFT & (RP_DRIVER_CONTEXTS - 1);
}

rp_stream rp_driver_stream_in(rp_stream stream, unsigned number)
{
    return stream | (rp_stream)number << CONTEXT_SHIFT;
}

void rp_driver_context_known(unsigned number, uint64_t handle)
{
    contexts[number] = (struct context){(CUcontext)(uintptr_t)handle, false};
}

void rp_driver_context_gone(unsigned number)
{
    contexts[number] = (struct context){NULL, true};
}

void rp_driver_context_usual(uint64_t handle)
{
    usual = (CUcontext)(uintptr_t)handle;
}

void rp_driver_contexts_forget(void)
{
    usual = NULL;
    memset(contexts, 0, sizeof contexts);
}

static bool is_gone(rp_stream stream)
{
    return contexts[context_of(stream)].gone;
}

/* True when the context was changed: leave() then gives the job's own back. `wanted` may be NULL:
 * any will do. */
static bool enter_context(const struct rp_real *real, CUcontext wanted)
{
    CUcontext now = NULL;
    if ((!wanted && !usual) || real->cuCtxGetCurrent(&now) != CUDA_SUCCESS)
        return false;
    if (!wanted && !now)
        wanted = usual;
    return wanted && now != wanted && real->cuCtxPushCurrent_v2(wanted) == CUDA_SUCCESS;
}

static bool enter(const struct rp_real *real, rp_stream stream)
{
    return enter_context(real, contexts[context_of(stream)].handle);
}

static void leave(const struct rp_real *real, bool entered)
{
    CUcontext left;
    if (entered)
        real->cuCtxPopCurrent_v2(&left);
}

/* ---- operations --------------------------------------------------------------------- */

static rp_stream without_context(rp_stream stream)
{
    return stream & ~((rp_stream)(RP_DRIVER_CONTEXTS - 1) << CONTEXT_SHIFT);
}

rp_stream rp_driver_legacy_of(rp_stream stream)
{
    return rp_driver_stream_in((rp_stream)(uintptr_t)CU_STREAM_LEGACY, context_of(stream));
}

static CUstream stream_of(rp_stream stream)
{
    stream = without_context(stream);
    bool is_threads = stream == THREAD_STREAM || stream & OTHER_THREADS;
    if (is_threads && rp_switch_on(RP_SWITCH_THREADS))
        return stream == rp_driver_thread_stream() ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    return is_threads ? CU_STREAM_PER_THREAD : (CUstream)(uintptr_t)stream;
}

static CUevent event_of(rp_event_handle event)
{
    return (CUevent)(uintptr_t)event;
}

/* While the job captures a stream, allocating on the thread would end the capture with an error,
 * unless the thread says that it knows what it does. Returns what to change back to. */
static CUstreamCaptureMode change_capture_mode(const struct rp_real *real,
                                               CUstreamCaptureMode mode)
{
    CUresult result = real->cuThreadExchangeStreamCaptureMode(&mode);
    return result == CUDA_SUCCESS ? mode : CU_STREAM_CAPTURE_MODE_RELAXED;
}

static enum rp_status real_alloc(void *self, uint64_t bytes, rp_device_ptr *out)
{
    const struct rp_real *real = self;
    CUdeviceptr ptr = 0;
    bool entered = enter_context(real, NULL);
    CUstreamCaptureMode mode = change_capture_mode(real, CU_STREAM_CAPTURE_MODE_RELAXED);
    enum rp_status status = status_of(real->cuMemAlloc_v2(&ptr, bytes));
    change_capture_mode(real, mode);
    leave(real, entered);
    *out = ptr;
    return status;
}

static enum rp_status real_free(void *self, rp_device_ptr ptr)
{
    const struct rp_real *real = self;
    bool entered = enter_context(real, NULL);
    enum rp_status status = status_of(real->cuMemFree_v2(ptr));
    leave(real, entered);
    return status;
}

static enum rp_status pinned_alloc(void *self, uint64_t bytes, rp_device_ptr *out)
{
    const struct rp_real *real = self;
    void *memory = NULL;
    bool entered = enter_context(real, NULL);
    CUstreamCaptureMode mode = change_capture_mode(real, CU_STREAM_CAPTURE_MODE_RELAXED);
    enum rp_status status =
        status_of(real->cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE));
    change_capture_mode(real, mode);
    leave(real, entered);
    *out = (uintptr_t)memory;
    return status;
}

static enum rp_status pinned_free(void *self, rp_device_ptr ptr)
{
    const struct rp_real *real = self;
    bool entered = enter_context(real, NULL);
    enum rp_status status = status_of(real->cuMemFreeHost((void *)(uintptr_t)ptr));
    leave(real, entered);
    return status;
}

static enum rp_status real_copy(void *self, rp_device_ptr to, rp_device_ptr from, uint64_t bytes,
                                rp_stream stream)
{
    /* The unified form: either side may be pinned or managed host memory, or another device's. */
    const struct rp_real *real = self;
    bool entered = enter(real, stream);
    enum rp_status status = status_of(real->cuMemcpyAsync(to, from, bytes, stream_of(stream)));
    leave(real, entered);
    return status;
}

static enum rp_status create_event(const struct rp_real *real, rp_stream stream, unsigned flags,
                                   rp_event_handle *out)
{
    CUevent event = NULL;
    bool entered = enter(real, stream);
    CUstreamCaptureMode mode = change_capture_mode(real, CU_STREAM_CAPTURE_MODE_RELAXED);
    enum rp_status status = status_of(real->cuEventCreate(&event, flags));
    change_capture_mode(real, mode);
    leave(real, entered);
    *out = (uintptr_t)event;
    return status;
}

static enum rp_status real_event_create(void *self, rp_stream stream, rp_event_handle *out)
{
    return create_event(self, stream, CU_EVENT_DISABLE_TIMING, out);
}

static enum rp_status real_timer_create(void *self, rp_stream stream, rp_event_handle *out)
{
    return create_event(self, stream, CU_EVENT_DEFAULT, out);
}

static enum rp_status real_event_destroy(void *self, rp_event_handle event)
{
    const struct rp_real *real = self;
    return status_of(real->cuEventDestroy_v2(event_of(event)));
}

static enum rp_status real_event_record(void *self, rp_event_handle event, rp_stream stream)
{
    const struct rp_real *real = self;
    if (is_gone(stream))
        return RP_OK; /* its work is over, and who waits for the event need not */
    bool entered = enter(real, stream);
    enum rp_status status = status_of(real->cuEventRecord(event_of(event), stream_of(stream)));
    leave(real, entered);
    return status;
}

static enum rp_status real_stream_wait(void *self, rp_stream stream, rp_event_handle event)
{
    const struct rp_real *real = self;
    bool entered = enter(real, stream);
    CUresult result = real->cuStreamWaitEvent(stream_of(stream), event_of(event), 0);
    leave(real, entered);
    return status_of(result);
}

static bool real_event_done(void *self, rp_event_handle event)
{
    const struct rp_real *real = self;
    return real->cuEventQuery(event_of(event)) == CUDA_SUCCESS;
}

static enum rp_status real_elapsed(void *self, rp_event_handle from, rp_event_handle to,
                                   int64_t *ns)
{
    const struct rp_real *real = self;
    float milliseconds = 0;
    enum rp_status status =
        status_of(real->cuEventElapsedTime(&milliseconds, event_of(from), event_of(to)));
    *ns = (int64_t)((double)milliseconds * 1e6 + (milliseconds < 0 ? -0.5 : 0.5));
    return status;
}

static enum rp_status real_capturing(void *self, rp_stream stream, bool *yes)
{
    const struct rp_real *real = self;
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    bool entered = enter(real, stream);
    CUresult result = real->cuStreamIsCapturing(stream_of(stream), &capture);
    leave(real, entered);
    *yes = result != CUDA_SUCCESS || capture != CU_STREAM_CAPTURE_STATUS_NONE;
    /* The legacy stream while another one captures, and what is no stream: the job may have tried
     * it, and was rejected. Neither can be given anything or holds anything. */
    bool certain = result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
                   result == CUDA_ERROR_INVALID_HANDLE;
    return certain ? RP_OK : status_of(result);
}

unsigned rp_driver_context_of(rp_stream stream)
{
    return context_of(stream);
}

CUstream rp_driver_stream(rp_stream stream)
{
    return stream_of(stream);
}

struct rp_driver rp_driver_real(const struct rp_real *real)
{
    return (struct rp_driver){
        .alloc = real_alloc,
        .free = real_free,
        .copy = real_copy,
        .event_create = real_event_create,
        .event_destroy = real_event_destroy,
        .event_record = real_event_record,
        .stream_wait = real_stream_wait,
        .timer_create = real_timer_create,
        .event_done = real_event_done,
        .elapsed = real_elapsed,
        .capturing = real_capturing,
        .self = (void *)(uintptr_t)real,
    };
}

struct rp_driver rp_driver_real_pinned(const struct rp_real *real)
{
    struct rp_driver driver = rp_driver_real(real);
    driver.alloc = pinned_alloc;
    driver.free = pinned_free;
    return driver;
}
