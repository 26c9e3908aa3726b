/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the program in a stream: cuLaunchHostFunc and cuStreamAddCallback. */
#include "cuda/soft/api/hostfunc.h"

#include "cuda/soft/api/context.h"
#include "cuda/soft/api/stream.h"

struct host_function {
    struct soft_work base;
    CUhostFn function;
    void *argument;
};

static CUresult host_function_run(const struct soft_work *work, struct soft_op *op)
{
    const struct host_function *call = (const struct host_function *)work;
    (void)op;
    call->function(call->argument);
    return CUDA_SUCCESS;
}

struct soft_work *soft_host_function_work(CUhostFn function, void *argument)
{
    static const struct soft_work_type type = {
        .name = "host function",
        .class_ = SOFT_WORK_PROGRAM,
        .node = CU_GRAPH_NODE_TYPE_HOST,
        .capturable = true,
        .run = host_function_run,
    };
    struct host_function *call = soft_work_create(&type, sizeof *call);
    if (call == NULL)
        return NULL;
    call->function = function;
    call->argument = argument;
    return &call->base;
}

void soft_host_function_read(const struct soft_work *work, CUhostFn *function, void **argument)
{
    const struct host_function *call = (const struct host_function *)work;
    *function = call->function;
    *argument = call->argument;
}

struct callback {
    struct soft_work base;
    CUstreamCallback function;
    CUstream stream;
    void *argument;
};

/* Unlike host functions, callbacks hear of a fault. */
static CUresult callback_run(const struct soft_work *work, struct soft_op *op)
{
    const struct callback *call = (const struct callback *)work;
    pthread_mutex_lock(&soft.lock);
    CUresult status = op->context->fault;
    pthread_mutex_unlock(&soft.lock);
    call->function(call->stream, status, call->argument);
    return CUDA_SUCCESS;
}

static struct soft_work *callback_work(CUstreamCallback function, CUstream stream, void *argument)
{
    static const struct soft_work_type type = {
        .name = "callback", .class_ = SOFT_WORK_PROGRAM, .run = callback_run, .always = true};
    struct callback *call = soft_work_create(&type, sizeof *call);
    if (call == NULL)
        return NULL;
    call->function = function;
    call->stream = stream;
    call->argument = argument;
    return &call->base;
}

static CUresult submit(CUstream handle, struct soft_work *work)
{
    struct soft_stream *stream;

    if (work == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = soft_stream_enter(handle, &stream);
    if (result != CUDA_SUCCESS) {
        soft_work_release(work); /* nobody else knows it yet */
        return result;
    }
    return soft_leave(soft_stream_submit(stream, work, NULL));
}

CUresult CUDAAPI cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    if (fn == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return submit(hStream, soft_host_function_work(fn, userData));
}

CUresult CUDAAPI cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                                     unsigned int flags)
{
    if (callback == NULL || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return submit(hStream, callback_work(callback, hStream, userData));
}
