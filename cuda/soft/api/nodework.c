/* SPDX-License-Identifier: Apache-2.0 */
/* Works from the parameters of graph nodes. Kernel arguments are copied in the call. */
#include "cuda/soft/api/node.h"

#include "cuda/soft/api/context.h"
#include "cuda/soft/api/copy.h"
#include "cuda/soft/api/hostfunc.h"
#include "cuda/soft/api/launch.h"

#include <string.h>

/* All versions of kernel parameters agree in their first part; later ones add a CUkernel and
 * a context. */
CUresult soft_made_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *params, struct soft_made *out)
{
    struct soft_context *context = soft_context_current();
    struct soft_function *function;
    CUresult result;

    if (params->func == NULL && params->kern == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (params->ctx != NULL) {
        result = soft_context_find(params->ctx, false, &context);
        if (result != CUDA_SUCCESS)
            return result;
    }
    CUfunction handle = params->func != NULL ? params->func : (CUfunction)(void *)params->kern;
    result = soft_function_find(context, handle, &function);
    if (result != CUDA_SUCCESS)
        return result;
    struct soft_launch launch = {.grid = {params->gridDimX, params->gridDimY, params->gridDimZ},
                                 .block = {params->blockDimX, params->blockDimY, params->blockDimZ},
                                 .shared = params->sharedMemBytes};
    out->context = function->module->context;
    return soft_launch_work(function, &launch, params->kernelParams, params->extra, &out->work);
}

CUDA_KERNEL_NODE_PARAMS_v2 soft_kernel_from_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    CUDA_KERNEL_NODE_PARAMS_v2 all = {.kern = NULL};
    memcpy(&all, params, sizeof *params);
    return all;
}

CUDA_KERNEL_NODE_PARAMS_v2 soft_kernel_from_v3(const CUDA_KERNEL_NODE_PARAMS_v3 *params)
{
    CUDA_KERNEL_NODE_PARAMS_v2 all;
    _Static_assert(sizeof all == sizeof *params, "the third version has the second's layout");
    memcpy(&all, params, sizeof all);
    return all;
}

CUresult soft_made_memcpy(const CUDA_MEMCPY3D *params, CUcontext context, struct soft_made *out)
{
    struct soft_copy copy;
    CUresult result = soft_context_find(context, true, &out->context);
    if (result == CUDA_SUCCESS)
        result = soft_copy_from_3d(params, &copy);
    if (result != CUDA_SUCCESS)
        return result;
    out->work = soft_copy_work(&copy);
    return out->work != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult soft_made_memset(const CUDA_MEMSET_NODE_PARAMS_v1 *params, CUcontext context,
                          struct soft_made *out)
{
    struct soft_fill fill = {.address = params->dst,
                             .pitch = params->pitch,
                             .width = params->width,
                             .height = params->height,
                             .element = params->elementSize,
                             .value = params->value};
    CUresult result = soft_context_find(context, true, &out->context);
    if (result != CUDA_SUCCESS)
        return result;
    if (fill.element != 1 && fill.element != 2 && fill.element != 4)
        return CUDA_ERROR_INVALID_VALUE;
    result = soft_fill_check(&fill);
    if (result != CUDA_SUCCESS)
        return result;
    out->work = soft_fill_work(&fill);
    return out->work != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult soft_made_host(CUhostFn function, void *argument, struct soft_made *out)
{
    if (function == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    out->work = soft_host_function_work(function, argument);
    return out->work != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
