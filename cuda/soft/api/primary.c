/* SPDX-License-Identifier: Apache-2.0 */
/* Primary contexts: one a device, counted. */
#include "cuda/soft/api/context.h"

static CUresult enter_device(CUdevice ordinal, struct soft_device **device)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    *device = soft_device_find(ordinal);
    return *device != NULL ? CUDA_SUCCESS : soft_leave(CUDA_ERROR_INVALID_DEVICE);
}

static CUresult make_primary(struct soft_device *device)
{
    struct soft_context *context = device->primary;
    if (context != NULL)
        return context->alive ? CUDA_SUCCESS : soft_context_start(context, device, context->flags);
    CUresult result = soft_context_create(device, 0, &context);
    if (result == CUDA_SUCCESS) {
        context->primary = true;
        device->primary = context;
    }
    return result;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    struct soft_device *device;
    CUresult result = enter_device(dev, &device);
    if (result != CUDA_SUCCESS)
        return result;
    if (pctx == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = make_primary(device);
    if (result == CUDA_SUCCESS) {
        device->primary->retained++;
        *pctx = context_handle(device->primary);
    }
    return soft_leave(result);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    struct soft_device *device;
    CUresult result = enter_device(dev, &device);
    if (result != CUDA_SUCCESS)
        return result;
    if (device->primary == NULL || device->primary->retained == 0)
        return soft_leave(CUDA_ERROR_INVALID_CONTEXT);
    if (--device->primary->retained == 0)
        soft_context_destroy(device->primary);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice dev)
{
    return cuDevicePrimaryCtxRelease_v2(dev);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    struct soft_device *device;
    CUresult result = enter_device(dev, &device);
    if (result != CUDA_SUCCESS)
        return result;
    if (device->primary != NULL && device->primary->alive)
        soft_context_destroy(device->primary);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice dev)
{
    return cuDevicePrimaryCtxReset_v2(dev);
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    struct soft_device *device;
    CUresult result = enter_device(dev, &device);
    if (result != CUDA_SUCCESS)
        return result;
    if ((flags & ~SOFT_CONTEXT_FLAGS) != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = make_primary(device);
    if (result == CUDA_SUCCESS)
        device->primary->flags = flags;
    return soft_leave(result);
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
    return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    struct soft_device *device;
    CUresult result = enter_device(dev, &device);
    if (result != CUDA_SUCCESS)
        return result;
    const struct soft_context *primary = device->primary;
    if (flags != NULL)
        *flags = primary != NULL ? primary->flags : 0;
    if (active != NULL)
        *active = primary != NULL && primary->alive;
    return soft_leave(CUDA_SUCCESS);
}
