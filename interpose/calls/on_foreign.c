/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that comes from elsewhere, and memory that is given away. */
#include "interpose/calls/handlers.h"

#include "interpose/calls/array.h"
#include "interpose/calls/unseen.h"
#include "interpose/recompute/answer.h"
#include "interpose/run/remark.h"
#include "interpose/run/report.h"

/* ---- coming ---------------------------------------------------------------------- */

static void born_foreign(const struct rp_frame *frame, uint64_t address, uint64_t bytes)
{
    CUdeviceptr base = 0;
    size_t whole = 0;
    if (!bytes && rp_real.cuMemGetAddressRange_v2(&base, &whole, address) == CUDA_SUCCESS) {
        address = base;
        bytes = whole;
    }
    rp_core_lock();
    rp_remark(rp_calls[frame->id].name, "brings memory that others may write unseen");
    if (bytes)
        rp_handler_born(RP_ALLOC_FOREIGN, address, bytes, NULL);
    rp_core_unlock();
}

/* The driver knows the length: cuIpcOpenMemHandle, both versions, and cuMemPoolImportPointer
 * start with the place for the address. */
void rp_on_memory_imported(struct rp_frame *frame)
{
    const struct rp_args_cuIpcOpenMemHandle *args = frame->args;
    if (frame->result == CUDA_SUCCESS && args->pdptr)
        born_foreign(frame, *args->pdptr, 0);
}

void rp_on_external_buffer(struct rp_frame *frame)
{
    const struct rp_args_cuExternalMemoryGetMappedBuffer *args = frame->args;
    if (frame->result == CUDA_SUCCESS && args->devPtr && args->bufferDesc)
        born_foreign(frame, *args->devPtr, args->bufferDesc->size);
}

void rp_on_graphics_pointer(struct rp_frame *frame)
{
    const struct rp_args_cuGraphicsResourceGetMappedPointer_v2 *args = frame->args;
    if (frame->result == CUDA_SUCCESS && args->pDevPtr)
        born_foreign(frame, *args->pDevPtr, args->pSize ? *args->pSize : 0);
}

/* Arrays and mipmaps of others: all of these start with the place for the handle. */
void rp_on_foreign_array(struct rp_frame *frame)
{
    const struct rp_args_cuGraphicsResourceGetMappedMipmappedArray *args = frame->args;
    if (frame->result != CUDA_SUCCESS || !args->pMipmappedArray)
        return;
    rp_core_lock();
    rp_remark(rp_calls[frame->id].name, "brings an array that others may write unseen");
    rp_array_known(RP_HANDLE(*args->pMipmappedArray),
                   rp_handler_born(RP_ALLOC_FOREIGN, 0, 1, "array"));
    rp_core_unlock();
}

static void close_at(struct rp_frame *frame, uint64_t address)
{
    rp_alloc_id id;
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    if (rp_memory_find(rp_core.bench.memory, address, &id, NULL, NULL) == RP_OK)
        rp_handler_died(id);
    rp_core_unlock();
}

void rp_on_ipc_closed(struct rp_frame *frame)
{
    const struct rp_args_cuIpcCloseMemHandle *args = frame->args;
    close_at(frame, args->dptr);
}

/* ---- going ----------------------------------------------------------------------- */

static void share_at(uint64_t address, const char *why)
{
    rp_alloc_id id;
    if (rp_memory_find(rp_core.bench.memory, address, &id, NULL, NULL) == RP_OK)
        rp_unseen_share(id, why);
}

void rp_on_ipc_exported(struct rp_frame *frame)
{
    const struct rp_args_cuIpcGetMemHandle *args = frame->args;
    rp_core_lock();
    if (frame->result != CUDA_SUCCESS) {
        if (rp_answer_for(args->dptr))
            rp_remark("cuIpcGetMemHandle", "refused: the layer has made this memory");
        rp_core_unlock();
        return;
    }
    share_at(args->dptr, "another process may write it, which got a handle (cuIpcGetMemHandle)");
    rp_core_unlock();
}

void rp_on_pool_pointer_exported(struct rp_frame *frame)
{
    const struct rp_args_cuMemPoolExportPointer *args = frame->args;
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    share_at(args->ptr, "another process may write it, which got it from a pool");
    rp_core_unlock();
}

/* It can't be taken away any more, nor is there another way to ask who holds it. */
void rp_on_range_export(struct rp_frame *frame)
{
    const struct rp_args_cuMemGetHandleForAddressRange *args = frame->args;
    rp_core_lock();
    if (!rp_answer_stays(args->dptr, rp_handler_name(frame->id))) {
        frame->result = CUDA_ERROR_OUT_OF_MEMORY;
        frame->skip = true;
    }
    rp_core_unlock();
}

/* A range that a network card or another driver may write. It may span allocations. */
static enum rp_status share_piece(void *ctx, uint64_t address, uint64_t length, rp_alloc_id id,
                                  uint64_t offset)
{
    (void)address, (void)length, (void)offset;
    if (id)
        rp_unseen_share(id, ctx);
    return RP_OK;
}

void rp_on_range_exported(struct rp_frame *frame)
{
    static char why[] = "a network card or another driver may write it "
                        "(cuMemGetHandleForAddressRange)";
    const struct rp_args_cuMemGetHandleForAddressRange *args = frame->args;
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    (void)rp_memory_resolve(rp_core.bench.memory, args->dptr, args->size, share_piece, why);
    rp_core_unlock();
}

void rp_on_physical_exported(struct rp_frame *frame)
{
    const struct rp_args_cuMemExportToShareableHandle *args = frame->args;
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    rp_unseen_share(rp_handler_physical(args->handle),
                    "another process may write it, which got its physical memory");
    rp_core_unlock();
}

/* ---- what can't be followed ------------------------------------------------------- */

/* The call has opened a way to memory on which nobody can be held. */
void rp_on_refused(struct rp_frame *frame)
{
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    const struct rp_footprint call = {.name = rp_handler_name(frame->id)};
    rp_remark(rp_calls[frame->id].name, rp_calls[frame->id].note);
    if (rp_core.segments_wanted)
        rp_report(RP_HAZARD_UNPROVED, (struct rp_met){.call = &call});
    rp_core_unlock();
}

/* Every runtime asks for tables of private functions, so it is said, and no more. */
void rp_on_export_table(struct rp_frame *frame)
{
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    rp_remark(rp_calls[frame->id].name, rp_calls[frame->id].note);
    rp_core_unlock();
}

/* ---- multicast ------------------------------------------------------------------- */

static const char by_multicast[] = "stores to a multicast address write it unseen";

void rp_on_multicast_memory(struct rp_frame *frame)
{
    const struct rp_args_cuMulticastBindMem *args = frame->args;
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    rp_unseen_share(rp_handler_physical(args->memHandle), by_multicast);
    rp_core_unlock();
}

void rp_on_multicast_address(struct rp_frame *frame)
{
    const struct rp_args_cuMulticastBindAddr *args = frame->args;
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    share_at(args->memptr, by_multicast);
    rp_core_unlock();
}
