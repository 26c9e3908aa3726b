/* SPDX-License-Identifier: Apache-2.0 */
/* cuLaunchKernel and its kin. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/device.h"
#include "cuda/soft/api/launch.h"
#include "cuda/soft/api/occupancy.h"
#include "cuda/soft/api/stream.h"

#include <stdlib.h>
#include <string.h>

static CUresult check_cooperative(const struct soft_function *function,
                                  const struct soft_launch *launch)
{
    unsigned threads = launch->block[0] * launch->block[1] * launch->block[2];
    uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    unsigned resident = soft_occupancy_blocks(function, threads, launch->shared);
    return blocks <= (uint64_t)resident * SOFT_MULTIPROCESSORS
               ? CUDA_SUCCESS
               : CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

static CUresult submit(CUfunction handle, const struct soft_launch *launch, CUstream stream_handle,
                       void **params, void **extra)
{
    struct soft_context *context;
    struct soft_stream *stream;
    struct soft_function *function;
    struct soft_work *work;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_function_find(context, handle, &function);
    if (result == CUDA_SUCCESS)
        result = soft_stream_find(context, stream_handle, &stream);
    if (result == CUDA_SUCCESS && stream->context != function->module->context)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && launch->cooperative)
        result = soft_launch_check(function, launch);
    if (result == CUDA_SUCCESS && launch->cooperative)
        result = check_cooperative(function, launch);
    if (result == CUDA_SUCCESS)
        result = soft_launch_work(function, launch, params, extra, &work);
    if (result == CUDA_SUCCESS)
        result = soft_stream_submit_launch(stream, work);
    return soft_leave(result);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                unsigned int gridDimZ, unsigned int blockDimX,
                                unsigned int blockDimY, unsigned int blockDimZ,
                                unsigned int sharedMemBytes, CUstream hStream, void **kernelParams,
                                void **extra)
{
    struct soft_launch launch = {.grid = {gridDimX, gridDimY, gridDimZ},
                                 .block = {blockDimX, blockDimY, blockDimZ},
                                 .shared = sharedMemBytes};
    return submit(f, &launch, hStream, kernelParams, extra);
}

CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX,
                                           unsigned int gridDimY, unsigned int gridDimZ,
                                           unsigned int blockDimX, unsigned int blockDimY,
                                           unsigned int blockDimZ, unsigned int sharedMemBytes,
                                           CUstream hStream, void **kernelParams)
{
    struct soft_launch launch = {.grid = {gridDimX, gridDimY, gridDimZ},
                                 .block = {blockDimX, blockDimY, blockDimZ},
                                 .shared = sharedMemBytes,
                                 .cooperative = true};
    return submit(f, &launch, hStream, kernelParams, NULL);
}

/* The event that the launch is to record, or NULL. */
static CUevent event_of(const CUlaunchAttribute *attribute, unsigned *flags)
{
    switch ((int)attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        *flags = (unsigned)attribute->value.programmaticEvent.flags;
        return attribute->value.programmaticEvent.event;
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        *flags = (unsigned)attribute->value.launchCompletionEvent.flags;
        return attribute->value.launchCompletionEvent.event;
    default: return NULL;
    }
}

/* Whether it can be recorded: the launch must not go out if not. */
static CUresult check_event(const CUlaunchAttribute *attribute, CUstream hStream)
{
    struct soft_stream *stream;
    struct soft_event *event;
    unsigned flags = 0;
    CUevent handle = event_of(attribute, &flags);
    CUresult result = soft_stream_enter(hStream, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (stream->capture != NULL)
        return soft_leave(soft_refuse("event of a launch that is captured"));
    if (flags != CU_EVENT_RECORD_DEFAULT)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_event_find(handle, &event);
    if (result == CUDA_SUCCESS && event->context != stream->context)
        result = CUDA_ERROR_INVALID_HANDLE;
    return soft_leave(result);
}

/* They come about with the end of the kernel, which is late but allowed: "best effort". */
static CUresult record_events(const CUlaunchConfig *config)
{
    CUresult result = CUDA_SUCCESS;
    for (unsigned i = 0; i < config->numAttrs && result == CUDA_SUCCESS; i++) {
        unsigned flags;
        CUevent event = event_of(&config->attrs[i], &flags);
        if (event != NULL)
            result = cuEventRecord(event, config->hStream);
    }
    return result;
}

/* Hints are taken and forgotten; what would change the meaning of the launch is refused. */
static CUresult read_attribute(const CUlaunchAttribute *attribute, CUstream hStream,
                               struct soft_launch *launch)
{
    switch ((int)attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT: return check_event(attribute, hStream);
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        launch->cooperative = attribute->value.cooperative != 0;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        launch->dependent = attribute->value.programmaticStreamSerializationAllowed != 0;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        if (attribute->value.clusterDim.x == 1 && attribute->value.clusterDim.y == 1 &&
            attribute->value.clusterDim.z == 1)
            return CUDA_SUCCESS;
        return soft_refuse("launch with a cluster of blocks");
    default: return soft_refuse("launch attribute %d", (int)attribute->id);
    }
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                                  void **extra)
{
    if (config == NULL || (config->numAttrs > 0 && config->attrs == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    struct soft_launch launch = {
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .shared = config->sharedMemBytes};
    for (unsigned i = 0; i < config->numAttrs; i++) {
        CUresult result = read_attribute(&config->attrs[i], config->hStream, &launch);
        if (result != CUDA_SUCCESS)
            return result;
    }
    CUresult result = submit(f, &launch, config->hStream, kernelParams, extra);
    return result == CUDA_SUCCESS ? record_events(config) : result;
}

/* ---- launches in the style of CUDA 2: geometry and parameters are kept in the function -- */

CUresult CUDAAPI cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z)
{
    struct soft_function *function;
    CUresult result = soft_function_enter(hfunc, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if (x <= 0 || y <= 0 || z <= 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    function->block[0] = (unsigned)x;
    function->block[1] = (unsigned)y;
    function->block[2] = (unsigned)z;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes)
{
    struct soft_function *function;
    CUresult result = soft_function_enter(hfunc, &function);
    if (result != CUDA_SUCCESS)
        return result;
    function->shared = bytes;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuParamSetSize(CUfunction hfunc, unsigned int numbytes)
{
    struct soft_function *function;
    CUresult result = soft_function_enter(hfunc, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if (numbytes > SOFT_PARAM_BYTES)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    function->param_bytes = numbytes;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuParamSetv(CUfunction hfunc, int offset, void *ptr, unsigned int numbytes)
{
    struct soft_function *function;
    CUresult result = soft_function_enter(hfunc, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if (ptr == NULL || offset < 0 || offset > SOFT_PARAM_BYTES ||
        numbytes > SOFT_PARAM_BYTES - (unsigned)offset)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (function->params == NULL)
        function->params = calloc(1, SOFT_PARAM_BYTES);
    if (function->params == NULL)
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    memcpy(function->params + offset, ptr, numbytes);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuParamSeti(CUfunction hfunc, int offset, unsigned int value)
{
    return cuParamSetv(hfunc, offset, &value, sizeof value);
}

CUresult CUDAAPI cuParamSetf(CUfunction hfunc, int offset, float value)
{
    return cuParamSetv(hfunc, offset, &value, sizeof value);
}

CUresult CUDAAPI cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream)
{
    struct soft_function *function;
    struct soft_stream *stream;
    struct soft_work *work;
    CUresult result = soft_function_enter(f, &function);
    if (result != CUDA_SUCCESS)
        return result;
    struct soft_launch launch = {
        .grid = {(unsigned)grid_width, (unsigned)grid_height, 1},
        .block = {function->block[0], function->block[1], function->block[2]},
        .shared = function->shared};
    result = soft_stream_find(function->module->context, hStream, &stream);
    if (result == CUDA_SUCCESS && stream->context != function->module->context)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        result = soft_launch_work_packed(function, &launch, function->params,
                                         function->params != NULL ? function->param_bytes : 0,
                                         &work);
    if (result == CUDA_SUCCESS)
        result = soft_stream_submit(stream, work, NULL);
    return soft_leave(result);
}

CUresult CUDAAPI cuLaunchGrid(CUfunction f, int grid_width, int grid_height)
{
    return cuLaunchGridAsync(f, grid_width, grid_height, NULL);
}

CUresult CUDAAPI cuLaunch(CUfunction f)
{
    return cuLaunchGridAsync(f, 1, 1, NULL);
}
