/* SPDX-License-Identifier: Apache-2.0 */
/* What a module is. The entry points are in modload.c and function.c. */
#include "cuda/soft/api/module.h"

#include "cuda/soft/api/context.h"
#include "cuda/soft/api/device.h"
#include "cuda/soft/api/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- variables --------------------------------------------------------------------- */

static bool has_storage(const struct rp_ptx_var *var)
{
    return (var->space == RP_PTX_GLOBAL || var->space == RP_PTX_CONST) && !var->is_extern;
}

static CUresult place_global(struct soft_module *module, const struct rp_ptx_var *var)
{
    struct soft_global *global = &module->globals[module->global_count];
    uint64_t bytes = var->bytes > 0 ? var->bytes : 1;
    CUresult result = soft_memory_allocate(module->context->device, module->context,
                                           SOFT_MEMORY_GLOBAL, bytes, &global->memory);
    if (result != CUDA_SUCCESS)
        return result;
    global->var = var;
    module->global_count++;
    if (var->initial != NULL)
        memcpy(soft_pointer(global->memory->address), var->initial, var->bytes);
    else
        memset(soft_pointer(global->memory->address), 0, bytes);
    return CUDA_SUCCESS;
}

static CUresult place_globals(struct soft_module *module, char *message, size_t message_size)
{
    const struct rp_ptx_module *ptx = module->ptx;

    module->globals = calloc(ptx->global_count + 1, sizeof *module->globals);
    if (module->globals == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < ptx->global_count; i++) {
        if (!has_storage(&ptx->globals[i]))
            continue;
        CUresult result = place_global(module, &ptx->globals[i]);
        if (result != CUDA_SUCCESS) {
            snprintf(message, message_size, "no device memory for the variable '%s'",
                     ptx->globals[i].name);
            return result;
        }
    }
    return CUDA_SUCCESS;
}

static const struct soft_global *find_global(const struct soft_module *module, const char *name)
{
    for (size_t i = 0; i < module->global_count; i++)
        if (strcmp(module->globals[i].var->name, name) == 0)
            return &module->globals[i];
    return NULL;
}

CUresult soft_module_tell_global(const struct soft_module *module, const char *name,
                                 CUdeviceptr *address, size_t *bytes)
{
    if (name == NULL || (address == NULL && bytes == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    const struct soft_global *global = find_global(module, name);
    if (global == NULL)
        return CUDA_ERROR_NOT_FOUND;
    if (address != NULL)
        *address = global->memory->address;
    if (bytes != NULL)
        *bytes = global->var->bytes;
    return CUDA_SUCCESS;
}

static uint64_t storage(void *module, const struct rp_ptx_var *var)
{
    const struct soft_global *global = find_global(module, var->name);
    return global != NULL ? global->memory->address : 0;
}

/* ---- functions --------------------------------------------------------------------- */

static CUresult list_functions(struct soft_module *module)
{
    const struct rp_ptx_module *ptx = module->ptx;

    module->functions = calloc(ptx->function_count + 1, sizeof *module->functions);
    if (module->functions == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < ptx->function_count; i++) {
        const struct rp_ptx_function *source = &ptx->functions[i];
        struct soft_function *function = &module->functions[module->function_count];
        if (!source->is_entry || !source->is_defined)
            continue;
        function->kernel = simt_module_kernel(module->code, source->name);
        if (function->kernel == NULL)
            continue;
        simt_kernel_info(function->kernel, &function->info);
        function->module = module;
        function->name = source->name;
        function->carveout = -1;
        if (function->info.static_shared_bytes < SOFT_SHARED_PER_BLOCK)
            function->max_dynamic_shared =
                SOFT_SHARED_PER_BLOCK - function->info.static_shared_bytes;
        if (!soft_handle_add(function, SOFT_HANDLE_FUNCTION))
            return CUDA_ERROR_OUT_OF_MEMORY;
        module->function_count++;
    }
    return CUDA_SUCCESS;
}

struct soft_function *soft_module_function(struct soft_module *module, const char *name)
{
    for (size_t i = 0; i < module->function_count; i++)
        if (strcmp(module->functions[i].name, name) == 0)
            return &module->functions[i];
    return NULL;
}

CUresult soft_function_check(const struct soft_function *function)
{
    const char *why = simt_kernel_refusal(function->kernel);
    if (why == NULL)
        return CUDA_SUCCESS;
    return soft_refuse("kernel %s can't run here: %s", function->name, why);
}

/* ---- life -------------------------------------------------------------------------- */

static CUresult check_target(const struct rp_ptx_module *ptx, char *message, size_t message_size)
{
    if (ptx->address_size == 32) {
        snprintf(message, message_size, "32-bit addresses are not supported");
        return CUDA_ERROR_INVALID_PTX;
    }
    if ((uint64_t)ptx->sm <= soft.options.capability)
        return CUDA_SUCCESS;
    snprintf(message, message_size, "target %s is higher than the device's sm_%llu", ptx->target,
             (unsigned long long)soft.options.capability);
    return CUDA_ERROR_INVALID_PTX;
}

static CUresult from_status(enum rp_status status)
{
    switch (status) {
    case RP_OK: return CUDA_SUCCESS;
    case RP_NO_MEMORY: return CUDA_ERROR_OUT_OF_MEMORY;
    case RP_UNSUPPORTED: return CUDA_ERROR_NOT_SUPPORTED;
    case RP_INVALID:
    case RP_NOT_FOUND:
    case RP_IO:
    case RP_DAMAGED:
    case RP_END: break;
    }
    return CUDA_ERROR_INVALID_PTX;
}

static CUresult compile(struct soft_module *module, const char *text, size_t length, char *message,
                        size_t message_size)
{
    CUresult result = from_status(rp_ptx_parse(text, length, &module->ptx, message, message_size));
    if (result == CUDA_SUCCESS)
        result = check_target(module->ptx, message, message_size);
    if (result == CUDA_SUCCESS)
        result = place_globals(module, message, message_size);
    if (result == CUDA_SUCCESS)
        result = from_status(
            simt_module_create(module->ptx, storage, module, &module->code, message, message_size));
    return result == CUDA_SUCCESS ? list_functions(module) : result;
}

static void free_module(struct soft_module *module)
{
    for (size_t i = 0; i < module->global_count; i++)
        soft_memory_free(module->globals[i].memory);
    for (size_t i = 0; i < module->function_count; i++)
        free(module->functions[i].params);
    if (module->code != NULL)
        simt_module_destroy(module->code);
    if (module->ptx != NULL)
        rp_ptx_destroy(module->ptx);
    free(module->functions);
    free(module->globals);
    free(module);
}

CUresult soft_module_load(struct soft_context *context, const char *text, size_t length,
                          struct soft_module **out, char *message, size_t message_size)
{
    struct soft_module *module = calloc(1, sizeof *module);
    if (module == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    module->context = context;
    module->references = 1;
    message[0] = '\0';
    CUresult result = compile(module, text, length, message, message_size);
    if (result == CUDA_SUCCESS && !soft_handle_add(module, SOFT_HANDLE_MODULE))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS) {
        for (size_t i = 0; i < module->function_count; i++)
            soft_handle_remove(&module->functions[i]);
        free_module(module);
        return result;
    }
    module->next = context->modules;
    context->modules = module;
    *out = module;
    return CUDA_SUCCESS;
}

struct soft_module *soft_module_retain(struct soft_module *module)
{
    module->references++;
    return module;
}

void soft_module_release(struct soft_module *module)
{
    if (--module->references == 0)
        free_module(module);
}

void soft_module_destroy(struct soft_module *module)
{
    struct soft_module **at = &module->context->modules;
    while (*at != module)
        at = &(*at)->next;
    *at = module->next;
    soft_handle_remove(module);
    for (size_t i = 0; i < module->function_count; i++)
        soft_handle_remove(&module->functions[i]);
    soft_module_release(module);
}
