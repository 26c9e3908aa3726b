/* SPDX-License-Identifier: Apache-2.0 */
/* cuFunc*: what can be asked and set about one kernel. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/device.h"
#include "cuda/soft/api/function.h"
#include "cuda/soft/api/library.h"
#include "cuda/soft/api/module.h"

CUresult soft_function_find(struct soft_context *context, CUfunction handle,
                            struct soft_function **out)
{
    if (soft_handle_is(handle, SOFT_HANDLE_FUNCTION)) {
        *out = handle_function(handle);
        return (*out)->module->context->fault;
    }
    if (soft_handle_is(handle, SOFT_HANDLE_KERNEL))
        return soft_kernel_function((struct soft_kernel *)(void *)handle, context, out);
    return CUDA_ERROR_INVALID_HANDLE;
}

CUresult soft_function_enter(CUfunction handle, struct soft_function **function)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_function_find(context, handle, function);
    return result == CUDA_SUCCESS ? result : soft_leave(result);
}

/* The PTX's own, which are virtual, but no more than leave room for as many threads as a
 * multiprocessor has: who works out the occupancy from them gets ours. */
static int registers(const struct soft_function *function)
{
    enum { UNIT = 8 };
    bool known;
    int threads = soft_device_attribute(function->module->context->device,
                                        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &known);
    int most = SOFT_REGISTERS / threads / UNIT * UNIT;
    return (int)function->info.registers < most ? (int)function->info.registers : most;
}

CUresult soft_function_attribute(const struct soft_function *function,
                                 CUfunction_attribute attribute, int *value)
{
    const struct simt_kernel_info *info = &function->info;
    const struct rp_ptx_module *ptx = function->module->ptx;

    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = info->max_threads != 0 ? (int)info->max_threads : SOFT_MAX_THREADS_PER_BLOCK;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)info->static_shared_bytes;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = 0; return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)info->local_bytes; return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = registers(function); return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = ptx->sm; return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = (int)soft.options.capability;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = (int)function->max_dynamic_shared;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = function->carveout;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = 0; return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult set_dynamic_shared(struct soft_function *function, int value)
{
    bool known;
    int most = soft_device_attribute(function->module->context->device,
                                     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &known);
    if (value < 0 || value > most - (int)function->info.static_shared_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    function->max_dynamic_shared = (unsigned)value;
    return CUDA_SUCCESS;
}

CUresult soft_function_set_attribute(struct soft_function *function, CUfunction_attribute attribute,
                                     int value)
{
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        return set_dynamic_shared(function, value);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100)
            return CUDA_ERROR_INVALID_VALUE;
        function->carveout = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult soft_function_param(const struct soft_function *function, size_t index, size_t *offset,
                             size_t *bytes)
{
    const struct rp_ptx_function *ptx = function->info.ptx;

    if (offset == NULL || index >= ptx->param_count)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = ptx->params[index].offset;
    if (bytes != NULL)
        *bytes = ptx->params[index].bytes;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    struct soft_function *function;
    CUresult result = soft_function_enter(hfunc, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if (pi == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    return soft_leave(soft_function_attribute(function, attrib, pi));
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    struct soft_function *function;
    CUresult result = soft_function_enter(hfunc, &function);
    if (result != CUDA_SUCCESS)
        return result;
    return soft_leave(soft_function_set_attribute(function, attrib, value));
}

CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    struct soft_function *function;
    CUresult result = soft_function_enter(hfunc, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    function->cache_config = config;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
    struct soft_function *function;
    CUresult result = soft_function_enter(hfunc, &function);
    if (result != CUDA_SUCCESS)
        return result;
    bool known = (unsigned)config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE;
    return soft_leave(known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    struct soft_function *function;
    CUresult result = soft_function_enter(hfunc, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if (hmod == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *hmod = module_handle(function->module);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncGetName(const char **name, CUfunction hfunc)
{
    struct soft_function *function;
    CUresult result = soft_function_enter(hfunc, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if (name == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *name = function->name;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
                                    size_t *paramSize)
{
    struct soft_function *function;
    CUresult result = soft_function_enter(func, &function);
    if (result != CUDA_SUCCESS)
        return result;
    return soft_leave(soft_function_param(function, paramIndex, paramOffset, paramSize));
}

CUresult CUDAAPI cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
    struct soft_function *found;
    CUresult result = soft_function_enter(function, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (state == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncLoad(CUfunction function)
{
    struct soft_function *found;
    CUresult result = soft_function_enter(function, &found);
    return result == CUDA_SUCCESS ? soft_leave(result) : result;
}
