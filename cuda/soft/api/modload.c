/* SPDX-License-Identifier: Apache-2.0 */
/* cuModule*. */
#include "cuda/soft/api/capture.h"
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/memory.h"
#include "cuda/soft/api/module.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGE_BYTES 512

static CUresult load(CUmodule *handle, const void *image, struct soft_jit *jit)
{
    struct soft_context *context;
    struct soft_module *module;
    char message[MESSAGE_BYTES] = "", *text = NULL;
    size_t length;

    if (handle == NULL || image == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_image_read(image, &text, &length, message, sizeof message);
    if (result == CUDA_SUCCESS)
        result = soft_module_load(context, text, length, &module, message, sizeof message);
    free(text);
    if (result != CUDA_SUCCESS) {
        soft_jit_report(jit, message);
        return soft_leave(result);
    }
    soft_jit_clear(jit);
    *handle = module_handle(module);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
    struct soft_jit jit = {0};
    return load(module, image, &jit);
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                                    CUjit_option *options, void **optionValues)
{
    struct soft_jit jit;
    CUresult result = soft_jit_read(numOptions, options, optionValues, &jit);
    return result == CUDA_SUCCESS ? load(module, image, &jit) : result;
}

CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
    return cuModuleLoadData(module, fatCubin);
}

CUresult CUDAAPI cuModuleLoad(CUmodule *module, const char *fname)
{
    char *image;
    if (fname == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = soft_image_load(fname, &image);
    if (result != CUDA_SUCCESS)
        return result;
    result = cuModuleLoadData(module, image);
    free(image);
    return result;
}

/* Enters with a live module. */
static CUresult enter(CUmodule handle, struct soft_module **module)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (!soft_handle_is(handle, SOFT_HANDLE_MODULE))
        return soft_leave(CUDA_ERROR_INVALID_HANDLE);
    *module = handle_module(handle);
    result = (*module)->context->fault;
    return result == CUDA_SUCCESS ? result : soft_leave(result);
}

/* Unloading waits: work that was submitted may still use the module's variables. */
CUresult CUDAAPI cuModuleUnload(CUmodule hmod)
{
    struct soft_module *module;
    CUresult result = enter(hmod, &module);
    if (result != CUDA_SUCCESS)
        return result;
    if (module->library != NULL)
        return soft_leave(CUDA_ERROR_NOT_PERMITTED);
    result = soft_capture_forbid_unsafe(module->context);
    if (result == CUDA_SUCCESS)
        result = soft_context_wait(module->context);
    if (result == CUDA_SUCCESS && !soft_handle_is(hmod, SOFT_HANDLE_MODULE))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        soft_module_destroy(module);
    return soft_leave(result);
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    struct soft_module *module;
    CUresult result = enter(hmod, &module);
    if (result != CUDA_SUCCESS)
        return result;
    if (hfunc == NULL || name == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    struct soft_function *function = soft_module_function(module, name);
    if (function == NULL)
        return soft_leave(CUDA_ERROR_NOT_FOUND);
    result = soft_function_check(function);
    if (result == CUDA_SUCCESS)
        *hfunc = function_handle(function);
    return soft_leave(result);
}

CUresult CUDAAPI cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
    struct soft_module *module;
    CUresult result = enter(mod, &module);
    if (result != CUDA_SUCCESS)
        return result;
    if (count == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *count = (unsigned)module->function_count;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
                                            CUmodule mod)
{
    struct soft_module *module;
    CUresult result = enter(mod, &module);
    if (result != CUDA_SUCCESS)
        return result;
    if (functions == NULL || numFunctions == 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < numFunctions; i++)
        functions[i] = i < module->function_count ? function_handle(&module->functions[i]) : NULL;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod,
                                      const char *name)
{
    struct soft_module *module;
    CUresult result = enter(hmod, &module);
    if (result != CUDA_SUCCESS)
        return result;
    return soft_leave(soft_module_tell_global(module, name, dptr, bytes));
}

CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    if (mode == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
}
