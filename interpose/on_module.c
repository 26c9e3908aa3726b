/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that load images and hand out kernels. */
#include "interpose/handlers.h"

#include "interpose/buffer.h"
#include "interpose/kernel.h"

struct loading {
    CUmodule module;
    bool is_library;
};

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
    if (result != CUDA_SUCCESS || !bytes ||
        rp_memory_add(rp_core.bench.memory, RP_ALLOC_GLOBAL, bytes, address, -1, ++rp_core.seq,
                      symbol, &id) != RP_OK)
        return;
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, id);
    RP_NOTE(allocation, RP_U(id), RP_T(rp_alloc_kind_name(alloc->kind)), RP_U(bytes),
            RP_U(address), RP_U(alloc->birth_seq), RP_T(symbol));
    rp_kernel_global_found(RP_HANDLE(loading->module), symbol, address, bytes, id);
    rp_buffer_meet_allocation(alloc);
}

/* All forms start with the place for the handle and the image. */
void rp_on_module_load(struct rp_frame *frame)
{
    const struct rp_args_cuModuleLoadData *args = frame->args;
    if (frame->result != CUDA_SUCCESS || !args->module || !args->image)
        return;
    struct loading loading = {.module = *args->module,
                              .is_library = frame->id == RP_CALL_cuLibraryLoadData};
    rp_core_lock();
    rp_kernel_load(RP_HANDLE(loading.module), args->image);
    rp_kernel_globals(RP_HANDLE(loading.module), meet_global, &loading);
    rp_core_unlock();
}

void rp_on_module_load_unseen(struct rp_frame *frame)
{
    const struct rp_args_cuModuleLoad *args = frame->args;
    if (frame->result != CUDA_SUCCESS || !args->module)
        return;
    rp_core_lock();
    rp_kernel_load_unseen(RP_HANDLE(*args->module),
                          "its image came from a file, which is not read yet");
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

/* cuModuleGetFunction and cuLibraryGetKernel have the same arguments. */
void rp_on_function_got(struct rp_frame *frame)
{
    const struct rp_args_cuModuleGetFunction *args = frame->args;
    if (frame->result != CUDA_SUCCESS || !args->hfunc || !args->name)
        return;
    rp_core_lock();
    rp_kernel_got(RP_HANDLE(*args->hfunc), RP_HANDLE(args->hmod), args->name);
    rp_core_unlock();
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
