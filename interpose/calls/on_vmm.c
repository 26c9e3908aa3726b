/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual memory management: physical memory, shown at addresses, more than once perhaps. */
#include "interpose/calls/handlers.h"

#include "interpose/recompute/answer.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/remark.h"

#include <stdlib.h>

/* Physical allocations by handle. One dies when it is released and mapped nowhere; since a
 * mapping keeps it alive, the table also counts maps. */
struct physical {
    uint64_t handle;
    rp_alloc_id id;
    uint64_t mapped;  /* bytes, over all mappings */
    unsigned handles; /* that the job still holds */
};
static struct physical *physicals;
static size_t physical_count, physical_capacity;

static struct physical *physical_by_handle(uint64_t handle)
{
    for (size_t i = 0; i < physical_count; i++)
        if (physicals[i].handle == handle && physicals[i].handles)
            return &physicals[i];
    return NULL;
}

static struct physical *physical_by_id(rp_alloc_id id)
{
    for (size_t i = 0; i < physical_count; i++)
        if (physicals[i].id == id)
            return &physicals[i];
    return NULL;
}

static void physical_bury(struct physical *physical)
{
    if (physical->handles || physical->mapped)
        return;
    rp_handler_died(physical->id);
    *physical = physicals[--physical_count];
}

static struct physical *physical_add(uint64_t handle, enum rp_alloc_kind kind, uint64_t bytes)
{
    if (physical_count == physical_capacity) {
        size_t capacity = physical_capacity ? physical_capacity * 2 : 64;
        struct physical *bigger = realloc(physicals, capacity * sizeof *bigger);
        if (!bigger)
            return NULL;
        physicals = bigger;
        physical_capacity = capacity;
    }
    physicals[physical_count] = (struct physical){
        .handle = handle, .id = rp_handler_born(kind, 0, bytes, NULL), .handles = 1};
    return &physicals[physical_count++];
}

void rp_on_mem_create(struct rp_frame *frame)
{
    const struct rp_args_cuMemCreate *args = frame->args;
    /* Of the host's it is in every way but the calls that make and show it. */
    bool on_host = args->prop && args->prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE;
    rp_core_lock();
    rp_handler_settle_budget(frame);
    if (frame->result == CUDA_SUCCESS && args->handle)
        physical_add(*args->handle, on_host ? RP_ALLOC_PINNED : RP_ALLOC_PHYSICAL, args->size);
    rp_core_unlock();
}

void rp_on_mem_release(struct rp_frame *frame)
{
    const struct rp_args_cuMemRelease *args = frame->args;
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    struct physical *physical = physical_by_handle(args->handle);
    if (physical) {
        physical->handles--;
        physical_bury(physical);
    }
    rp_core_unlock();
}

/* A handle that was imported, or is a multicast object's: others may write what it stands for. How
 * much that is only the mapping tells. */
static struct physical *physical_of_others(uint64_t handle, uint64_t bytes)
{
    rp_remark("cuMemMap", "maps memory that others made, and may write unseen");
    return physical_add(handle, RP_ALLOC_FOREIGN, bytes);
}

void rp_on_mem_map(struct rp_frame *frame)
{
    const struct rp_args_cuMemMap *args = frame->args;
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    struct physical *physical = physical_by_handle(args->handle);
    if (!physical)
        physical = physical_of_others(args->handle, args->offset + args->size);
    if (physical && rp_memory_map(rp_core.bench.memory, args->ptr, args->size, physical->id,
                                  args->offset) == RP_OK) {
        physical->mapped += args->size;
        RP_NOTE(mapping, RP_U(physical->id), RP_U(args->ptr), RP_U(args->size),
                RP_U(args->offset));
    } else { /* more of it than was mapped before, or no host memory: not known as an alias */
        rp_handler_born(RP_ALLOC_FOREIGN, args->ptr, args->size, NULL);
    }
    rp_core_unlock();
}

/* ---- what only mapped memory has -------------------------------------------------------- */

/* In the mode recompute memory that the job has allocated may be mapped, too, by the layer: the
 * driver is not asked of it, which would find that so. */
static bool refuse_allocated(struct rp_frame *frame, uint64_t address)
{
    rp_core_lock();
    bool is_ours = rp_answer_is_ours(address);
    rp_core_unlock();
    if (is_ours) {
        frame->result = CUDA_ERROR_INVALID_VALUE;
        frame->skip = true;
    }
    return is_ours;
}

void rp_on_access_asked(struct rp_frame *frame)
{
    const struct rp_args_cuMemGetAccess *args = frame->args;
    refuse_allocated(frame, args->ptr);
}

void rp_on_access_set(struct rp_frame *frame)
{
    const struct rp_args_cuMemSetAccess *args = frame->args;
    refuse_allocated(frame, args->ptr);
}

void rp_on_mem_retain_before(struct rp_frame *frame)
{
    const struct rp_args_cuMemRetainAllocationHandle *args = frame->args;
    refuse_allocated(frame, RP_HANDLE(args->addr));
}

void rp_on_multicast_address_before(struct rp_frame *frame)
{
    const struct rp_args_cuMulticastBindAddr *args = frame->args;
    refuse_allocated(frame, args->memptr);
}

void rp_on_mem_unmap_before(struct rp_frame *frame)
{
    const struct rp_args_cuMemUnmap *args = frame->args;
    if (refuse_allocated(frame, args->ptr))
        return;
    rp_core_lock();
    rp_recompute_moves(args->ptr, args->size);
    rp_core_unlock();
}

/* ---- unmapping --------------------------------------------------------------------------- */

static enum rp_status unmap_piece(void *ctx, uint64_t address, uint64_t length, rp_alloc_id id,
                                  uint64_t offset)
{
    (void)ctx, (void)address, (void)offset;
    struct physical *physical = physical_by_id(id);
    if (physical)
        physical->mapped -= length < physical->mapped ? length : physical->mapped;
    return RP_OK;
}

void rp_on_mem_unmap(struct rp_frame *frame)
{
    const struct rp_args_cuMemUnmap *args = frame->args;
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    (void)rp_memory_resolve(rp_core.bench.memory, args->ptr, args->size, unmap_piece, NULL);
    (void)rp_memory_unmap(rp_core.bench.memory, args->ptr, args->size);
    RP_NOTE(unmapping, RP_U(args->ptr), RP_U(args->size));
    for (size_t i = physical_count; i-- > 0;)
        physical_bury(&physicals[i]);
    rp_core_unlock();
}

void rp_on_mem_retain(struct rp_frame *frame)
{
    const struct rp_args_cuMemRetainAllocationHandle *args = frame->args;
    rp_alloc_id id;
    if (frame->result != CUDA_SUCCESS || !args->handle)
        return;
    rp_core_lock();
    if (rp_memory_find(rp_core.bench.memory, RP_HANDLE(args->addr), &id, NULL, NULL) == RP_OK) {
        struct physical *physical = physical_by_id(id);
        if (physical) {
            physical->handle = *args->handle;
            physical->handles++;
        }
    }
    rp_core_unlock();
}

rp_alloc_id rp_handler_physical(uint64_t handle)
{
    const struct physical *physical = physical_by_handle(handle);
    return physical ? physical->id : 0;
}

void rp_on_vmm_forget(void)
{
    physical_count = 0;
}
