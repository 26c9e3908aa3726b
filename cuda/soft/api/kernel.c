/* SPDX-License-Identifier: Apache-2.0 */
/* cuKernel*: a kernel of a library, in whatever context is current. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/function.h"
#include "cuda/soft/api/library.h"

/* ---- inside ------------------------------------------------------------------------ */

static void apply(struct soft_function *function, CUfunction_attribute attribute, int value)
{
    if (value >= 0)
        soft_function_set_attribute(function, attribute, value);
}

CUresult soft_kernel_function(struct soft_kernel *kernel, struct soft_context *context,
                              struct soft_function **out)
{
    struct soft_module *module;
    if (context == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUresult result = soft_library_module(kernel->library, context, &module);
    if (result != CUDA_SUCCESS)
        return result;
    struct soft_function *function = soft_module_function(module, kernel->name);
    if (function == NULL)
        return CUDA_ERROR_NOT_FOUND;
    int device = context->device->ordinal;
    apply(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
          kernel->max_dynamic_shared[device]);
    apply(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, kernel->carveout[device]);
    *out = function;
    return CUDA_SUCCESS;
}

/* ---- entry points ------------------------------------------------------------------ */

static CUresult enter(CUkernel handle, const void *argument, struct soft_kernel **kernel)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (!soft_handle_is(handle, SOFT_HANDLE_KERNEL))
        return soft_leave(CUDA_ERROR_INVALID_HANDLE);
    if (argument == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *kernel = handle_kernel(handle);
    return CUDA_SUCCESS;
}

/* Enters with the kernel's function in the current context. */
static CUresult enter_function(CUkernel handle, const void *argument,
                               struct soft_function **function)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!soft_handle_is(handle, SOFT_HANDLE_KERNEL))
        return soft_leave(CUDA_ERROR_INVALID_HANDLE);
    result = argument != NULL ? soft_kernel_function(handle_kernel(handle), context, function)
                              : CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? result : soft_leave(result);
}

CUresult CUDAAPI cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    struct soft_function *function;
    CUresult result = enter_function(kernel, pFunc, &function);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_function_check(function);
    if (result == CUDA_SUCCESS)
        *pFunc = function_handle(function);
    return soft_leave(result);
}

CUresult CUDAAPI cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
    struct soft_kernel *found;
    CUresult result = enter(kernel, pLib, &found);
    if (result != CUDA_SUCCESS)
        return result;
    *pLib = library_handle(found->library);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelGetName(const char **name, CUkernel hfunc)
{
    struct soft_kernel *found;
    CUresult result = enter(hfunc, name, &found);
    if (result != CUDA_SUCCESS)
        return result;
    *name = found->name;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset,
                                      size_t *paramSize)
{
    struct soft_function *function;
    CUresult result = enter_function(kernel, paramOffset, &function);
    if (result != CUDA_SUCCESS)
        return result;
    return soft_leave(soft_function_param(function, paramIndex, paramOffset, paramSize));
}

/* A context of the device in which the kernel can be asked: the current one, else any. */
static struct soft_context *context_on(const struct soft_device *device)
{
    struct soft_context *current = soft_context_current();
    if (current != NULL && current->alive && current->device == device)
        return current;
    for (struct soft_context *each = soft.contexts; each != NULL; each = each->next)
        if (each->alive && each->device == device)
            return each;
    return NULL;
}

/* Enters with the kernel, its function in a context of the device, and the device. */
static CUresult enter_device(CUkernel handle, CUdevice ordinal, const void *argument,
                             struct soft_kernel **kernel, struct soft_function **function)
{
    CUresult result = enter(handle, argument, kernel);
    if (result != CUDA_SUCCESS)
        return result;
    const struct soft_device *device = soft_device_find(ordinal);
    if (device == NULL)
        return soft_leave(CUDA_ERROR_INVALID_DEVICE);
    result = soft_kernel_function(*kernel, context_on(device), function);
    return result == CUDA_SUCCESS ? result : soft_leave(result);
}

CUresult CUDAAPI cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel,
                                      CUdevice dev)
{
    struct soft_kernel *found;
    struct soft_function *function;
    CUresult result = enter_device(kernel, dev, pi, &found, &function);
    if (result != CUDA_SUCCESS)
        return result;
    return soft_leave(soft_function_attribute(function, attrib, pi));
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel,
                                      CUdevice dev)
{
    struct soft_kernel *found;
    struct soft_function *function;
    CUresult result = enter_device(kernel, dev, kernel, &found, &function);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_function_set_attribute(function, attrib, val);
    if (result == CUDA_SUCCESS && attrib == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        found->max_dynamic_shared[dev] = val;
    if (result == CUDA_SUCCESS && attrib == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
        found->carveout[dev] = val;
    return soft_leave(result);
}

CUresult CUDAAPI cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    struct soft_kernel *found;
    CUresult result = enter(kernel, kernel, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (soft_device_find(dev) == NULL)
        return soft_leave(CUDA_ERROR_INVALID_DEVICE);
    return soft_leave((unsigned)config <= CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_SUCCESS
                                                                     : CUDA_ERROR_INVALID_VALUE);
}
