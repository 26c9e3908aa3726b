/* SPDX-License-Identifier: Apache-2.0 */
/* cuLibrary*. */
#include "cuda/soft/api/library.h"

#include "cuda/soft/api/capture.h"
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/memory.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGE_BYTES 512

/* ---- inside ------------------------------------------------------------------------ */

CUresult soft_library_module(struct soft_library *library, struct soft_context *context,
                             struct soft_module **out)
{
    char message[MESSAGE_BYTES] = "";

    for (struct soft_module *each = context->modules; each != NULL; each = each->next) {
        if (each->library == library) {
            *out = each;
            return CUDA_SUCCESS;
        }
    }
    CUresult result =
        soft_module_load(context, library->text, library->length, out, message, sizeof message);
    if (result == CUDA_SUCCESS)
        (*out)->library = library;
    else
        soft_say("%s", message[0] != '\0' ? message : "the host is out of memory");
    return result;
}

static CUresult list_kernels(struct soft_library *library)
{
    const struct rp_ptx_module *ptx = library->ptx;

    library->kernels = calloc(ptx->function_count + 1, sizeof *library->kernels);
    if (library->kernels == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < ptx->function_count; i++) {
        struct soft_kernel *kernel = &library->kernels[library->kernel_count];
        if (!ptx->functions[i].is_entry || !ptx->functions[i].is_defined)
            continue;
        kernel->library = library;
        kernel->name = ptx->functions[i].name;
        for (int device = 0; device < SOFT_MAX_DEVICES; device++)
            kernel->max_dynamic_shared[device] = kernel->carveout[device] = -1;
        if (!soft_handle_add(kernel, SOFT_HANDLE_KERNEL))
            return CUDA_ERROR_OUT_OF_MEMORY;
        library->kernel_count++;
    }
    return CUDA_SUCCESS;
}

static void free_library(struct soft_library *library)
{
    for (size_t i = 0; i < library->kernel_count; i++)
        soft_handle_remove(&library->kernels[i]);
    soft_handle_remove(library);
    if (library->ptx != NULL)
        rp_ptx_destroy(library->ptx);
    free(library->kernels);
    free(library->text);
    free(library);
}

static CUresult parse(struct soft_library *library, char *message, size_t message_size)
{
    enum rp_status status =
        rp_ptx_parse(library->text, library->length, &library->ptx, message, message_size);
    if (status == RP_OK)
        return CUDA_SUCCESS;
    return status == RP_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
}

/* Errors of the text show here, those of a context when it is loaded there. */
static CUresult create(const void *image, struct soft_library **out, char *message,
                       size_t message_size)
{
    struct soft_library *library = calloc(1, sizeof *library);
    if (library == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result =
        soft_image_read(image, &library->text, &library->length, message, message_size);
    if (result == CUDA_SUCCESS)
        result = parse(library, message, message_size);
    if (result == CUDA_SUCCESS)
        result = list_kernels(library);
    if (result == CUDA_SUCCESS && !soft_handle_add(library, SOFT_HANDLE_LIBRARY))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        *out = library;
    else
        free_library(library);
    return result;
}

/* ---- life -------------------------------------------------------------------------- */

/* The one option that could be wrong here says how long the image stays; we take a copy. */
static CUresult check_options(const CUlibraryOption *options, void *const *values, unsigned count)
{
    if (count > 0 && (options == NULL || values == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        if ((unsigned)options[i] >= CU_LIBRARY_NUM_OPTIONS)
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                                   void **jitOptionsValues, unsigned int numJitOptions,
                                   CUlibraryOption *libraryOptions, void **libraryOptionValues,
                                   unsigned int numLibraryOptions)
{
    struct soft_library *made;
    struct soft_jit jit;
    char message[MESSAGE_BYTES] = "";
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (library == NULL || code == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_jit_read(numJitOptions, jitOptions, jitOptionsValues, &jit);
    if (result == CUDA_SUCCESS)
        result = check_options(libraryOptions, libraryOptionValues, numLibraryOptions);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    result = create(code, &made, message, sizeof message);
    if (result != CUDA_SUCCESS) {
        soft_jit_report(&jit, message);
        return soft_leave(result);
    }
    soft_jit_clear(&jit);
    *library = library_handle(made);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary *library, const char *fileName,
                                       CUjit_option *jitOptions, void **jitOptionsValues,
                                       unsigned int numJitOptions, CUlibraryOption *libraryOptions,
                                       void **libraryOptionValues, unsigned int numLibraryOptions)
{
    char *image;
    if (fileName == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = soft_image_load(fileName, &image);
    if (result != CUDA_SUCCESS)
        return result;
    result = cuLibraryLoadData(library, image, jitOptions, jitOptionsValues, numJitOptions,
                               libraryOptions, libraryOptionValues, numLibraryOptions);
    free(image);
    return result;
}

static CUresult enter(CUlibrary handle, struct soft_library **library)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (!soft_handle_is(handle, SOFT_HANDLE_LIBRARY))
        return soft_leave(CUDA_ERROR_INVALID_HANDLE);
    *library = handle_library(handle);
    return CUDA_SUCCESS;
}

static struct soft_module *loaded_module(const struct soft_library *library)
{
    for (struct soft_context *context = soft.contexts; context != NULL; context = context->next)
        for (struct soft_module *each = context->modules; each != NULL; each = each->next)
            if (each->library == library)
                return each;
    return NULL;
}

/* Waits for the work of every context that has it, as cuModuleUnload does. */
CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
    struct soft_library *found;
    struct soft_module *module;
    CUresult result = enter(library, &found);
    if (result != CUDA_SUCCESS)
        return result;
    while (result == CUDA_SUCCESS && (module = loaded_module(found)) != NULL) {
        result = soft_capture_forbid_unsafe(module->context);
        if (result == CUDA_SUCCESS)
            soft_context_wait(module->context); /* a fault there is no reason to stay */
        if (result == CUDA_SUCCESS && !soft_handle_is(library, SOFT_HANDLE_LIBRARY))
            return soft_leave(CUDA_ERROR_INVALID_HANDLE);
        if (result == CUDA_SUCCESS && loaded_module(found) == module)
            soft_module_destroy(module);
    }
    if (result == CUDA_SUCCESS)
        free_library(found);
    return soft_leave(result);
}

/* ---- what is in it ----------------------------------------------------------------- */

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
    struct soft_library *found;
    CUresult result = enter(library, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (pKernel == NULL || name == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < found->kernel_count; i++) {
        if (strcmp(found->kernels[i].name, name) == 0) {
            *pKernel = kernel_handle(&found->kernels[i]);
            return soft_leave(CUDA_SUCCESS);
        }
    }
    return soft_leave(CUDA_ERROR_NOT_FOUND);
}

CUresult CUDAAPI cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
    struct soft_library *found;
    CUresult result = enter(lib, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (count == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *count = (unsigned)found->kernel_count;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels,
                                           CUlibrary lib)
{
    struct soft_library *found;
    CUresult result = enter(lib, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (kernels == NULL || numKernels == 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < numKernels; i++)
        kernels[i] = i < found->kernel_count ? kernel_handle(&found->kernels[i]) : NULL;
    return soft_leave(CUDA_SUCCESS);
}

/* Enters with the library's module in the current context. */
static CUresult enter_module(CUlibrary handle, struct soft_module **module)
{
    struct soft_context *context;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!soft_handle_is(handle, SOFT_HANDLE_LIBRARY))
        return soft_leave(CUDA_ERROR_INVALID_HANDLE);
    result = soft_library_module(handle_library(handle), context, module);
    return result == CUDA_SUCCESS ? result : soft_leave(result);
}

CUresult CUDAAPI cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
    struct soft_module *module;
    CUresult result = enter_module(library, &module);
    if (result != CUDA_SUCCESS)
        return result;
    if (pMod == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *pMod = module_handle(module);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                    const char *name)
{
    struct soft_module *module;
    CUresult result = enter_module(library, &module);
    if (result != CUDA_SUCCESS)
        return result;
    return soft_leave(soft_module_tell_global(module, name, dptr, bytes));
}

/* PTX has no managed variables: the compiler makes them with the runtime library's help. */
CUresult CUDAAPI cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                     const char *name)
{
    struct soft_library *found;
    CUresult result = enter(library, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (name == NULL || (dptr == NULL && bytes == NULL))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    return soft_leave(CUDA_ERROR_NOT_FOUND);
}
