/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that load images and hand out kernels. */
#include "interpose/calls/handlers.h"

#include "cuda/image/fatbin.h"
#include "cuda/switches.h"
#include "interpose/calls/context.h"
#include "interpose/calls/file.h"
#include "interpose/calls/kernel.h"
#include "interpose/calls/unseen.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/buffer.h"
#include "interpose/run/linker.h"

struct loading {
    CUmodule module;
    bool is_library;
    unsigned context; /* of the variables */
    bool is_late;     /* the job may have asked for them itself */
};

static bool is_known(uint64_t address, uint64_t bytes, rp_alloc_id *id)
{
    uint64_t offset;
    if (rp_memory_find(rp_core.bench.memory, address, id, &offset, NULL) != RP_OK || offset)
        return false;
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, *id);
    return alloc->kind == RP_ALLOC_GLOBAL && alloc->bytes == bytes;
}

/* A module's variables are allocations like any other. Loading writes their initial values. */
static void meet_global(void *ctx, const char *symbol, uint64_t declared_bytes)
{
    (void)declared_bytes;
    const struct loading *loading = ctx;
    CUdeviceptr address = 0;
    size_t bytes = 0;
    CUresult result = loading->is_library
                          ? rp_real.cuLibraryGetGlobal(&address, &bytes,
                                                       (CUlibrary)(void *)loading->module, symbol)
                          : rp_real.cuModuleGetGlobal_v2(&address, &bytes, loading->module, symbol);
    rp_alloc_id id;
    if (result != CUDA_SUCCESS || !bytes)
        return;
    if (loading->is_late && is_known(address, bytes, &id)) {
        rp_kernel_global_found(RP_HANDLE(loading->module), loading->context, symbol, address, bytes,
                               id);
        return;
    }
    if (rp_memory_add(rp_core.bench.memory, RP_ALLOC_GLOBAL, bytes, address, -1, ++rp_core.seq,
                      symbol, &id) != RP_OK)
        return;
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, id);
    RP_DETAIL(allocation, RP_U(id), RP_T(rp_alloc_kind_name(alloc->kind)), RP_U(bytes),
              RP_U(address), RP_U(alloc->birth_seq), RP_T(symbol),
              RP_U(rp_memory_live_bytes(rp_core.bench.memory)));
    rp_kernel_global_found(RP_HANDLE(loading->module), loading->context, symbol, address, bytes,
                           id);
    rp_context_holds(id);
    rp_unseen_ask(id, address);
    rp_buffer_meet_allocation(alloc);
}

/* 0: not known */
static unsigned arch_of(CUdevice device)
{
    int major = 0, minor = 0;
    if (rp_real.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                     device) != CUDA_SUCCESS ||
        rp_real.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                     device) != CUDA_SUCCESS)
        return 0;
    return (unsigned)(major * 10 + minor);
}

static unsigned arch_now(void)
{
    CUdevice device;
    return rp_real.cuCtxGetDevice(&device) == CUDA_SUCCESS ? arch_of(device) : 0;
}

/* Libraries may be loaded without a context, for every device that is there. */
static unsigned arch_of_all(void)
{
    int count = 0;
    CUdevice device;
    unsigned arch = 0;
    if (rp_real.cuDeviceGetCount(&count) != CUDA_SUCCESS)
        return 0;
    for (int i = 0; i < count; i++) {
        unsigned other = rp_real.cuDeviceGet(&device, i) == CUDA_SUCCESS ? arch_of(device) : 0;
        if (!other || (i && other != arch))
            return 0;
        arch = other;
    }
    return arch;
}

/* The device that the image is loaded for. */
static struct rp_target target_of(const struct loading *loading)
{
    bool both = rp_real_runs_machine_code() || !rp_switch_on(RP_SWITCH_SOFT_KNOWLEDGE);
    unsigned arch = loading->is_library ? arch_of_all() : arch_now();
    return (struct rp_target){.arch = arch, .runs_machine_code = both && !rp_core.config.only_ptx,
                              .takes_newest_ptx = !both && arch};
}

/* A linker that answers with PTX has said all; for machine code, what it was given counts. */
static const struct rp_linked *linked_from(const void *data, size_t bytes)
{
    bool is_text = rp_image_kind(data) == RP_IMAGE_PTX && rp_switch_on(RP_SWITCH_LINKED_TEXT);
    return bytes || is_text ? NULL : rp_link_find(data);
}

static const struct rp_image *read_image(const void *data, size_t bytes,
                                         const struct rp_target *target)
{
    if (!data || !rp_switch_on(RP_SWITCH_IMAGES))
        return rp_image_unseen("the file that its image came from could not be read");
    const struct rp_linked *linked = linked_from(data, bytes);
    return linked ? rp_image_read_linked(data, linked) : rp_image_read(data, bytes, target);
}

static void load(struct loading *loading, const void *data, size_t bytes)
{
    const struct rp_target target = target_of(loading);
    rp_core_lock();
    const struct rp_image *image = read_image(data, bytes, &target);
    rp_kernel_load(RP_HANDLE(loading->module), image, loading->is_library);
    loading->context = rp_context_now();
    rp_kernel_met(RP_HANDLE(loading->module), loading->context);
    rp_image_globals(image, meet_global, loading);
    rp_core_unlock();
}

/* A library's variables come to be in each context in which it is used; where it is loaded without
 * one, in none yet. */
void rp_handler_meet_variables(const struct rp_kernel *kernel, unsigned context)
{
    const struct rp_image *image;
    if (rp_core.captures || context != rp_context_now())
        return; /* they are not known, then */
    uint64_t library = rp_kernel_unmet(kernel, context, &image);
    if (!library)
        return;
    rp_kernel_met(library, context);
    struct loading loading = {.module = (CUmodule)(uintptr_t)library, .is_library = true,
                              .context = context, .is_late = true};
    rp_image_globals(image, meet_global, &loading);
}

/* All forms start with the place for the handle and the image. */
void rp_on_module_load(struct rp_frame *frame)
{
    const struct rp_args_cuModuleLoadData *args = frame->args;
    if (frame->result != CUDA_SUCCESS || !args->module || !args->image)
        return;
    struct loading loading = {.module = *args->module,
                              .is_library = frame->id == RP_CALL_cuLibraryLoadData};
    load(&loading, args->image, 0);
}

/* The file is read before the driver does it, and used if it is still the same after. */
void rp_on_module_file(struct rp_frame *frame)
{
    const struct rp_args_cuModuleLoad *args = frame->args;
    frame->scratch[0] = args->fname ? rp_file_read(args->fname) : NULL;
}

void rp_on_module_file_done(struct rp_frame *frame)
{
    const struct rp_args_cuModuleLoad *args = frame->args;
    struct rp_file *file = frame->scratch[0];
    if (frame->result == CUDA_SUCCESS && args->module) {
        struct loading loading = {.module = *args->module,
                                  .is_library = frame->id == RP_CALL_cuLibraryLoadFromFile};
        bool same = file && rp_file_is_unchanged(file, args->fname);
        load(&loading, same ? file->bytes : NULL, same ? file->size : 0);
    }
    rp_file_release(file);
}

/* Before it happens. Other modes have nothing to do then, and take no lock. */
void rp_on_code_changes(struct rp_frame *frame)
{
    (void)frame;
    if (!rp_recompute_is_on())
        return;
    rp_core_lock();
    rp_recompute_code_changes();
    rp_core_unlock();
}

void rp_on_module_unload(struct rp_frame *frame)
{
    const struct rp_args_cuModuleUnload *args = frame->args;
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    rp_kernel_unload(RP_HANDLE(args->hmod), rp_handler_died);
    rp_core_unlock();
}

void rp_on_library_module(struct rp_frame *frame)
{
    const struct rp_args_cuLibraryGetModule *args = frame->args;
    if (frame->result != CUDA_SUCCESS || !args->pMod)
        return;
    rp_core_lock();
    rp_kernel_load_same(RP_HANDLE(*args->pMod), RP_HANDLE(args->library));
    rp_core_unlock();
}

/* ---- kernels ---------------------------------------------------------------------- */

void rp_on_function_got(struct rp_frame *frame)
{
    const struct rp_args_cuModuleGetFunction *args = frame->args;
    if (frame->result != CUDA_SUCCESS || !args->hfunc || !args->name)
        return;
    rp_core_lock();
    struct rp_kernel_layout told = rp_layout_of_function(*args->hfunc);
    rp_kernel_got(RP_HANDLE(*args->hfunc), RP_HANDLE(args->hmod), args->name, &told);
    rp_core_unlock();
}

void rp_on_kernel_got(struct rp_frame *frame)
{
    const struct rp_args_cuLibraryGetKernel *args = frame->args;
    if (frame->result != CUDA_SUCCESS || !args->pKernel || !args->name)
        return;
    rp_core_lock();
    struct rp_kernel_layout told = rp_layout_of_kernel(*args->pKernel);
    rp_kernel_got(RP_HANDLE(*args->pKernel), RP_HANDLE(args->library), args->name, &told);
    rp_kernel_is_handle(RP_HANDLE(*args->pKernel));
    rp_core_unlock();
}

/* Handles that come without a name: the driver knows it. */
void rp_on_functions_listed(struct rp_frame *frame)
{
    const struct rp_args_cuModuleEnumerateFunctions *args = frame->args;
    const char *name;
    for (unsigned i = 0; frame->result == CUDA_SUCCESS && i < args->numFunctions; i++) {
        if (!args->functions[i] || rp_real.cuFuncGetName(&name, args->functions[i]) != CUDA_SUCCESS)
            continue;
        rp_core_lock();
        struct rp_kernel_layout told = rp_layout_of_function(args->functions[i]);
        rp_kernel_got(RP_HANDLE(args->functions[i]), RP_HANDLE(args->mod), name, &told);
        rp_core_unlock();
    }
}

void rp_on_kernels_listed(struct rp_frame *frame)
{
    const struct rp_args_cuLibraryEnumerateKernels *args = frame->args;
    const char *name;
    for (unsigned i = 0; frame->result == CUDA_SUCCESS && i < args->numKernels; i++) {
        if (!args->kernels[i] || rp_real.cuKernelGetName(&name, args->kernels[i]) != CUDA_SUCCESS)
            continue;
        rp_core_lock();
        struct rp_kernel_layout told = rp_layout_of_kernel(args->kernels[i]);
        rp_kernel_got(RP_HANDLE(args->kernels[i]), RP_HANDLE(args->lib), name, &told);
        rp_kernel_is_handle(RP_HANDLE(args->kernels[i]));
        rp_core_unlock();
    }
}

void rp_on_kernel_function(struct rp_frame *frame)
{
    const struct rp_args_cuKernelGetFunction *args = frame->args;
    if (frame->result != CUDA_SUCCESS || !args->pFunc)
        return;
    rp_core_lock();
    rp_kernel_same(RP_HANDLE(*args->pFunc), RP_HANDLE(args->kernel));
    rp_core_unlock();
}

static uint64_t function_of(uint64_t kernel)
{
    CUfunction function = NULL;
    return rp_real.cuKernelGetFunction(&function, (CUkernel)(uintptr_t)kernel) == CUDA_SUCCESS
               ? RP_HANDLE(function) : 0;
}

void rp_handler_meet_function(uint64_t function)
{
    rp_kernel_meet(function, function_of);
}

/* ---- variables that the job asks for ------------------------------------------------ */

static void global_found(const struct rp_frame *frame, uint64_t address, uint64_t bytes,
                         const char *name)
{
    if (frame->result != CUDA_SUCCESS || !address || !bytes)
        return;
    rp_core_lock();
    /* Of an image that was read it is known; of any other, from here on. */
    if (rp_memory_find(rp_core.bench.memory, address, NULL, NULL, NULL) != RP_OK)
        rp_unseen_ask(rp_handler_born(RP_ALLOC_GLOBAL, address, bytes, name), address);
    rp_core_unlock();
}

/* Either place may be NULL: the driver is asked for both. The first version has places of 32 bits
 * and is else alike. */
void rp_on_global_got(struct rp_frame *frame)
{
    const struct rp_args_cuModuleGetGlobal_v2 *args = frame->args;
    size_t bytes = 0;
    CUdeviceptr address = 0;
    if (frame->result == CUDA_SUCCESS)
        rp_real.cuModuleGetGlobal_v2(&address, &bytes, args->hmod, args->name);
    global_found(frame, address, bytes, args->name);
}

void rp_on_library_global_got(struct rp_frame *frame)
{
    const struct rp_args_cuLibraryGetGlobal *args = frame->args;
    size_t bytes = 0;
    CUdeviceptr address = 0;
    if (frame->result == CUDA_SUCCESS)
        rp_real.cuLibraryGetGlobal(&address, &bytes, args->library, args->name);
    global_found(frame, address, bytes, args->name);
}

void rp_on_library_managed_got(struct rp_frame *frame)
{
    const struct rp_args_cuLibraryGetManaged *args = frame->args;
    size_t bytes = 0;
    CUdeviceptr address = 0;
    if (frame->result == CUDA_SUCCESS)
        rp_real.cuLibraryGetManaged(&address, &bytes, args->library, args->name);
    global_found(frame, address, bytes, args->name);
}
