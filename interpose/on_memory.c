/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that make, map, unmap and free memory. */
#include "interpose/handlers.h"

#include "interpose/buffer.h"
#include "interpose/cost.h"
#include "interpose/execution.h"
#include "interpose/report.h"
#include "interpose/retain.h"

#include <stdlib.h>

static int current_device(void)
{
    CUdevice device;
    return rp_real.cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
}

static void note_birth(const struct rp_alloc *alloc)
{
    RP_NOTE(allocation, RP_U(alloc->id), RP_T(rp_alloc_kind_name(alloc->kind)),
            RP_U(alloc->bytes), RP_U(alloc->address), RP_U(alloc->birth_seq), RP_T(alloc->name));
}

static void forget_dead(void);
static bool is_on_device(const struct rp_alloc *alloc);
static void share_budget(void);

rp_alloc_id rp_handler_born(enum rp_alloc_kind kind, uint64_t address, uint64_t bytes,
                            const char *name)
{
    rp_alloc_id id = 0;
    forget_dead();
    if (rp_memory_add(rp_core.bench.memory, kind, bytes, address, current_device(),
                      ++rp_core.seq, name, &id) != RP_OK) {
        rp_remark("allocation", "the host is out of memory: an allocation is not known");
        return 0;
    }
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, id);
    if (is_on_device(alloc))
        rp_core.device_bytes += bytes;
    share_budget();
    rp_cost_memory();
    note_birth(alloc);
    rp_buffer_meet_allocation(alloc);
    return id;
}

/* ---- death -------------------------------------------------------------------- */

/* Records of the dead are kept for messages, but not for ever: a job that allocates in each
 * step must not make the layer grow. */
enum { REMEMBERED_DEAD = 4096 };
static rp_alloc_id dead[REMEMBERED_DEAD];
static size_t dead_count;

static void forget_dead(void)
{
    if (dead_count < REMEMBERED_DEAD)
        return;
    for (size_t i = 0; i < REMEMBERED_DEAD / 2; i++)
        rp_memory_forget(rp_core.bench.memory, dead[i]);
    for (size_t i = REMEMBERED_DEAD / 2; i < REMEMBERED_DEAD; i++)
        dead[i - REMEMBERED_DEAD / 2] = dead[i];
    dead_count = REMEMBERED_DEAD / 2;
}

static bool is_on_device(const struct rp_alloc *alloc)
{
    return alloc->kind == RP_ALLOC_DEVICE || alloc->kind == RP_ALLOC_POOL ||
           alloc->kind == RP_ALLOC_MANAGED || alloc->kind == RP_ALLOC_PHYSICAL;
}

/* The budget is for the job and the layer together. */
static void share_budget(void)
{
    uint64_t budget = rp_core.config.budget, used = rp_core.device_bytes;
    if (budget != UINT64_MAX)
        rp_store_limit(rp_core.bench.store, used < budget ? budget - used : 0);
}

void rp_handler_died(rp_alloc_id id)
{
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, id);
    if (alloc && !alloc->death_seq && is_on_device(alloc))
        rp_core.device_bytes -= alloc->bytes;
    share_budget();
    RP_NOTE(free, RP_U(id), RP_U(rp_core.seq));
    rp_memory_free(rp_core.bench.memory, id, ++rp_core.seq);
    rp_track_death(id);
    forget_dead();
    dead[dead_count++] = id;
}

/* ---- device memory ------------------------------------------------------------ */

static void register_alloc(struct rp_frame *frame, enum rp_alloc_kind kind, const void *pointer,
                           uint64_t bytes)
{
    if (frame->result != CUDA_SUCCESS || !pointer)
        return;
    rp_core_lock();
    rp_handler_born(kind, *(const uint64_t *)pointer, bytes, NULL);
    rp_core_unlock();
}

/* Whether the job may have so many bytes more beside what the layer holds. What the layer has
 * no use for just now goes first. */
static bool has_room(uint64_t bytes)
{
    uint64_t budget = rp_core.config.budget, job = rp_core.device_bytes;
    if (job > budget || bytes > budget - job)
        return false;
    uint64_t left = budget - job - bytes;
    if (rp_store_reserved(rp_core.bench.store) > left && !rp_core.captures)
        rp_store_trim(rp_core.bench.store, left);
    while (rp_store_reserved(rp_core.bench.store) > left && !rp_core.captures &&
           rp_executions_spare(true))
        rp_store_trim(rp_core.bench.store, left);
    return rp_store_reserved(rp_core.bench.store) <= left;
}

/* A budget is enforced: past it the job's call fails as the driver's own would. */
static void keep_budget(struct rp_frame *frame, uint64_t bytes)
{
    if (rp_core.config.budget == UINT64_MAX)
        return;
    rp_core_lock();
    bool fits = has_room(bytes);
    rp_core_unlock();
    if (fits)
        return;
    frame->result = CUDA_ERROR_OUT_OF_MEMORY;
    frame->skip = true;
}

void rp_on_alloc_budget(struct rp_frame *frame)
{
    const struct rp_args_cuMemAlloc_v2 *args = frame->args; /* async and pooled start alike */
    keep_budget(frame, args->bytesize);
}

/* What the driver adds to a row is not known before: rows count as wide as any pitch is coarse. */
void rp_on_alloc_pitch_budget(struct rp_frame *frame)
{
    const struct rp_args_cuMemAllocPitch_v2 *args = frame->args;
    uint64_t pitch = (args->WidthInBytes + 511) & ~UINT64_C(511), bytes;
    if (__builtin_mul_overflow(pitch, args->Height, &bytes))
        bytes = UINT64_MAX;
    keep_budget(frame, bytes);
}

void rp_on_mem_create_budget(struct rp_frame *frame)
{
    const struct rp_args_cuMemCreate *args = frame->args;
    if (args->prop && args->prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        keep_budget(frame, args->size);
}

void rp_on_alloc(struct rp_frame *frame)
{
    const struct rp_args_cuMemAlloc_v2 *args = frame->args;
    register_alloc(frame, RP_ALLOC_DEVICE, args->dptr, args->bytesize);
}

void rp_on_alloc_pitch(struct rp_frame *frame)
{
    const struct rp_args_cuMemAllocPitch_v2 *args = frame->args;
    if (frame->result == CUDA_SUCCESS && args->pPitch)
        register_alloc(frame, RP_ALLOC_DEVICE, args->dptr, *args->pPitch * args->Height);
}

/* In a capture they make nodes, and the memory comes with the launch of their graph. */
static bool is_captured(const struct rp_frame *frame)
{
    rp_core_lock();
    bool captured = rp_handler_is_captured(rp_handler_stream(frame));
    rp_core_unlock();
    return captured;
}

void rp_on_alloc_async(struct rp_frame *frame)
{
    const struct rp_args_cuMemAllocAsync *args = frame->args;
    if (!is_captured(frame))
        register_alloc(frame, RP_ALLOC_POOL, args->dptr, args->bytesize);
}

void rp_on_alloc_from_pool(struct rp_frame *frame)
{
    const struct rp_args_cuMemAllocFromPoolAsync *args = frame->args;
    if (!is_captured(frame))
        register_alloc(frame, RP_ALLOC_POOL, args->dptr, args->bytesize);
}

void rp_on_alloc_managed(struct rp_frame *frame)
{
    const struct rp_args_cuMemAllocManaged *args = frame->args;
    register_alloc(frame, RP_ALLOC_MANAGED, args->dptr, args->bytesize);
}

/* The allocation is found before the driver frees it: afterwards its address may already
 * belong to another thread's new one. */
static void before_free(struct rp_frame *frame, uint64_t address)
{
    rp_alloc_id id = 0;
    rp_core_lock();
    if (address && rp_memory_find(rp_core.bench.memory, address, &id, NULL, NULL) == RP_OK) {
        frame->scratch[0] = (void *)(uintptr_t)id;
        if (rp_core.segments_wanted)
            rp_retain_free(id, rp_calls[frame->id].stream_arg < 0 ? 0 : rp_handler_stream(frame));
    }
    rp_core_unlock();
}

void rp_on_free_before(struct rp_frame *frame)
{
    const struct rp_args_cuMemFree_v2 *args = frame->args;
    before_free(frame, args->dptr);
}

void rp_on_free_async_before(struct rp_frame *frame)
{
    const struct rp_args_cuMemFreeAsync *args = frame->args;
    if (!is_captured(frame))
        before_free(frame, args->dptr);
}

void rp_on_host_free_before(struct rp_frame *frame)
{
    const struct rp_args_cuMemFreeHost *args = frame->args; /* unregistering is alike */
    before_free(frame, RP_HANDLE(args->p));
}

void rp_on_free_after(struct rp_frame *frame)
{
    rp_alloc_id id = RP_HANDLE(frame->scratch[0]);
    if (frame->result != CUDA_SUCCESS || !id)
        return;
    rp_core_lock();
    rp_handler_died(id);
    rp_core_unlock();
}

/* ---- host memory that kernels can reach ----------------------------------------- */

void rp_on_alloc_host(struct rp_frame *frame)
{
    const struct rp_args_cuMemAllocHost_v2 *args = frame->args;
    register_alloc(frame, RP_ALLOC_PINNED, args->pp, args->bytesize);
}

void rp_on_host_alloc(struct rp_frame *frame)
{
    const struct rp_args_cuMemHostAlloc *args = frame->args;
    register_alloc(frame, RP_ALLOC_PINNED, args->pp, args->bytesize);
}

void rp_on_host_register(struct rp_frame *frame)
{
    const struct rp_args_cuMemHostRegister_v2 *args = frame->args;
    register_alloc(frame, RP_ALLOC_PINNED, &args->p, args->bytesize);
}

void rp_on_host_device_pointer(struct rp_frame *frame)
{
    const struct rp_args_cuMemHostGetDevicePointer_v2 *args = frame->args;
    rp_alloc_id id;
    uint64_t offset, left;
    if (frame->result != CUDA_SUCCESS || !args->pdptr || *args->pdptr == RP_HANDLE(args->p))
        return;
    rp_core_lock();
    if (rp_memory_find(rp_core.bench.memory, RP_HANDLE(args->p), &id, &offset, &left) == RP_OK)
        rp_memory_map(rp_core.bench.memory, *args->pdptr, left, id, offset);
    rp_core_unlock();
}

/* ---- virtual memory management ---------------------------------------------------- */

/* Physical allocations by handle. One dies when it is released and mapped nowhere; since a
 * mapping keeps it alive, the table also counts maps. */
struct physical {
    uint64_t handle;
    rp_alloc_id id;
    uint64_t mapped; /* bytes, over all mappings */
    bool released;
};
static struct physical *physicals;
static size_t physical_count, physical_capacity;

static struct physical *physical_by_handle(uint64_t handle)
{
    for (size_t i = 0; i < physical_count; i++)
        if (physicals[i].handle == handle && !physicals[i].released)
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
    if (!physical->released || physical->mapped)
        return;
    rp_handler_died(physical->id);
    *physical = physicals[--physical_count];
}

void rp_on_mem_create(struct rp_frame *frame)
{
    const struct rp_args_cuMemCreate *args = frame->args;
    if (frame->result != CUDA_SUCCESS || !args->handle)
        return;
    rp_core_lock();
    if (physical_count == physical_capacity) {
        size_t capacity = physical_capacity ? physical_capacity * 2 : 64;
        struct physical *bigger = realloc(physicals, capacity * sizeof *bigger);
        physical_capacity = bigger ? capacity : physical_capacity;
        physicals = bigger ? bigger : physicals;
    }
    if (physical_count < physical_capacity)
        physicals[physical_count++] = (struct physical){
            .handle = *args->handle, .id = rp_handler_born(RP_ALLOC_PHYSICAL, 0, args->size, NULL)};
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
        physical->released = true;
        physical_bury(physical);
    }
    rp_core_unlock();
}

void rp_on_mem_map(struct rp_frame *frame)
{
    const struct rp_args_cuMemMap *args = frame->args;
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    struct physical *physical = physical_by_handle(args->handle);
    if (physical) {
        physical->mapped += args->size;
        rp_memory_map(rp_core.bench.memory, args->ptr, args->size, physical->id, args->offset);
        RP_NOTE(mapping, RP_U(physical->id), RP_U(args->ptr), RP_U(args->size),
                RP_U(args->offset));
    } else {
        /* Imported or retained out of sight: others may write it. */
        rp_handler_born(RP_ALLOC_FOREIGN, args->ptr, args->size, NULL);
        rp_remark("cuMemMap", "maps memory whose making was not seen");
    }
    rp_core_unlock();
}

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
    rp_memory_resolve(rp_core.bench.memory, args->ptr, args->size, unmap_piece, NULL);
    rp_memory_unmap(rp_core.bench.memory, args->ptr, args->size);
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
            physical->released = false;
        }
    }
    rp_core_unlock();
}

/* ---- the end of a context ---------------------------------------------------------- */

static void collect(void *ctx, const struct rp_alloc *alloc)
{
    rp_alloc_id **next = ctx;
    if (alloc->kind != RP_ALLOC_PINNED && alloc->kind != RP_ALLOC_HOST)
        *(*next)++ = alloc->id;
}

/* The summary tells of the whole run. */
static void remember_store(void)
{
    struct rp_figures *figures = &rp_core.figures;
    uint64_t peak = rp_store_held_peak(rp_core.bench.store);
    uint64_t reserved = rp_store_reserved(rp_core.bench.store);
    figures->bytes_held_peak = peak > figures->bytes_held_peak ? peak : figures->bytes_held_peak;
    figures->bytes_reserved = reserved > figures->bytes_reserved ? reserved
                                                                 : figures->bytes_reserved;
}

/* With the context goes everything in it: the job's memory, and the layer's own copies and
 * events. Which context an allocation is in is not followed; with several, the others' come
 * to be unknown, which is said. */
static void context_gone(void)
{
    rp_alloc_id *ids = malloc(rp_memory_live_count(rp_core.bench.memory) * sizeof *ids + 1);
    rp_alloc_id *end = ids;
    if (ids)
        rp_memory_each(rp_core.bench.memory, collect, &end);
    for (rp_alloc_id *id = ids; id < end; id++)
        rp_handler_died(*id);
    free(ids);
    rp_executions_expire();
    rp_cost_lost();
    remember_store();
    rp_store_abandon(rp_core.bench.store);
    rp_order_abandon(rp_core.bench.order);
    rp_core.bench.store = NULL;
    rp_core.bench.order = NULL;
    if (rp_order_create(rp_core.bench.driver, &rp_core.bench.order) != RP_OK ||
        rp_store_create(rp_core.bench.driver, rp_core.bench.order, &rp_core.bench.store) != RP_OK)
        rp_stop(rp_core.config.error_exitcode, "the host is out of memory");
    rp_store_on_shortage(rp_core.bench.store, rp_executions_spare);
    share_budget();
    rp_remark("cuCtxDestroy", "a context went; what other contexts hold is no longer followed");
}

void rp_on_context_destroy(struct rp_frame *frame)
{
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    context_gone();
    rp_core_unlock();
}

/* The primary context goes with its last user, or at once when it is reset. */
void rp_on_primary_reset(struct rp_frame *frame)
{
    const struct rp_args_cuDevicePrimaryCtxRelease_v2 *args = frame->args;
    unsigned flags;
    int active = 1;
    if (frame->result != CUDA_SUCCESS ||
        rp_real.cuDevicePrimaryCtxGetState(args->dev, &flags, &active) != CUDA_SUCCESS || active)
        return;
    rp_core_lock();
    context_gone();
    rp_core_unlock();
}

void rp_on_memory_forget(void)
{
    dead_count = 0;
    physical_count = 0;
}
