/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that make, map, unmap and free memory. */
#include "interpose/calls/handlers.h"

#include "interpose/calls/context.h"
#include "interpose/calls/unseen.h"
#include "interpose/plan/cost.h"
#include "interpose/plan/policy.h"
#include "interpose/plan/retain.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/budget.h"
#include "interpose/run/buffer.h"
#include "interpose/run/race.h"
#include "interpose/run/remark.h"
#include "interpose/run/report.h"

static int current_device(void)
{
    CUdevice device;
    return rp_real.cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
}

static void note_birth(const struct rp_alloc *alloc)
{
    RP_DETAIL(allocation, RP_U(alloc->id), RP_T(rp_alloc_kind_name(alloc->kind)),
              RP_U(alloc->bytes), RP_U(alloc->address), RP_U(alloc->birth_seq), RP_T(alloc->name),
              RP_U(rp_memory_live_bytes(rp_core.bench.memory)));
}

static void forget_dead(void);
static bool is_on_device(const struct rp_alloc *alloc);

rp_alloc_id rp_handler_born(enum rp_alloc_kind kind, uint64_t address, uint64_t bytes,
                            const char *name)
{
    rp_alloc_id id = 0;
    forget_dead();
    if (rp_memory_add(rp_core.bench.memory, kind, bytes, address, current_device(), ++rp_core.seq,
                      name, &id) != RP_OK) {
        rp_remark("allocation", "the host is out of memory: an allocation is not known");
        return 0;
    }
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, id);
    if (is_on_device(alloc))
        rp_core.device_bytes += bytes;
    rp_budget_share();
    rp_cost_memory();
    rp_recompute_born();
    if (kind != RP_ALLOC_PHYSICAL || name) /* physical memory belongs to no context */
        rp_context_holds(id);
    if (rp_unseen_why(alloc))
        rp_remark("memory", rp_unseen_why(alloc));
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

void rp_handler_died(rp_alloc_id id)
{
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, id);
    if (alloc && !alloc->death_seq && is_on_device(alloc))
        rp_core.device_bytes -= alloc->bytes;
    rp_budget_share();
    RP_DETAIL(free, RP_U(id), RP_U(rp_core.seq));
    (void)rp_memory_free(rp_core.bench.memory, id, ++rp_core.seq);
    rp_recompute_died(id);
    rp_track_death(id);
    rp_context_drops(id);
    rp_unseen_forget(id);
    forget_dead();
    dead[dead_count++] = id;
}

/* ---- device memory ------------------------------------------------------------ */

static void register_alloc(struct rp_frame *frame, enum rp_alloc_kind kind, const void *pointer,
                           uint64_t bytes)
{
    rp_core_lock();
    rp_handler_settle_budget(frame);
    if (frame->result == CUDA_SUCCESS && pointer)
        rp_handler_born(kind, *(const uint64_t *)pointer, bytes, NULL);
    rp_core_unlock();
}

/* Where the frames of these calls keep what they were promised, as a number. */
enum { PROMISE = 3 };

/* Wants the lock. */
static bool admit(struct rp_frame *frame, uint64_t bytes)
{
    if (rp_budget_admits(bytes) || rp_recompute_make_room_for(bytes))
        return true;
    rp_policy_refused();
    rp_policy_starved(bytes);
    rp_recompute_refuses(bytes);
    frame->result = CUDA_ERROR_OUT_OF_MEMORY;
    frame->skip = true;
    return false;
}

void rp_handler_keep_budget(struct rp_frame *frame, uint64_t bytes)
{
    if (!rp_budget_is_set())
        return;
    rp_core_lock();
    if (admit(frame, bytes)) {
        rp_budget_promise(bytes);
        frame->scratch[PROMISE] = (void *)(uintptr_t)bytes;
    }
    rp_core_unlock();
}

void rp_handler_settle_budget(struct rp_frame *frame)
{
    uint64_t promised = RP_HANDLE(frame->scratch[PROMISE]);
    frame->scratch[PROMISE] = NULL;
    if (promised)
        rp_budget_settle(promised);
}

/* The job frees none of it but by us. It is admitted, made and born under one lock: another thread
 * that came in between would count it neither as the job's nor as the driver's, or twice. What no
 * budget holds has its memory as it is needed, piecemeal. */
static void alloc_in_its_place(struct rp_frame *frame, const struct rp_args_cuMemAlloc_v2 *args)
{
    uint64_t bytes = args->bytesize;
    if (rp_budget_is_set() && !rp_recompute_outgrows(bytes) && !admit(frame, bytes))
        return;
    if (!args->dptr || !bytes)
        return; /* the driver will say so */
    frame->result = rp_recompute_alloc(bytes, args->dptr);
    frame->skip = frame->served = true;
    if (frame->result == CUDA_SUCCESS)
        rp_handler_born(RP_ALLOC_DEVICE, *args->dptr, bytes, NULL);
}

void rp_on_alloc_budget(struct rp_frame *frame)
{
    const struct rp_args_cuMemAlloc_v2 *args = frame->args; /* the older ones start alike */
    if (frame->id != RP_CALL_cuMemAlloc_v2 || !rp_recompute_is_on()) {
        rp_handler_keep_budget(frame, args->bytesize);
        return;
    }
    rp_core_lock();
    alloc_in_its_place(frame, args);
    rp_core_unlock();
}

/* What the driver adds to a row is not known before: rows count as wide as any pitch is coarse. */
void rp_on_alloc_pitch_budget(struct rp_frame *frame)
{
    const struct rp_args_cuMemAllocPitch_v2 *args = frame->args;
    uint64_t pitch = (args->WidthInBytes + 511) & ~UINT64_C(511), bytes;
    if (__builtin_mul_overflow(pitch, args->Height, &bytes))
        bytes = UINT64_MAX;
    rp_handler_keep_budget(frame, bytes);
}

void rp_on_mem_create_budget(struct rp_frame *frame)
{
    const struct rp_args_cuMemCreate *args = frame->args;
    if (args->prop && args->prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        rp_handler_keep_budget(frame, args->size);
}

/* Of its own, that is, which no budget counts: as for code, streams, or what a kernel spills. */
bool rp_memory_freed_for(struct rp_frame *frame)
{
    if (!rp_recompute_is_on() || rp_call_in_class(frame->id, "alloc.host"))
        return false;
    rp_core_lock();
    bool is_freed = rp_recompute_yields(frame->again);
    rp_core_unlock();
    return is_freed;
}

void rp_on_alloc(struct rp_frame *frame)
{
    const struct rp_args_cuMemAlloc_v2 *args = frame->args;
    if (!frame->served)
        register_alloc(frame, RP_ALLOC_DEVICE, args->dptr, args->bytesize);
}

/* The oldest calls have addresses and sizes of 32 bits. */
void rp_on_alloc_v1(struct rp_frame *frame)
{
    const struct rp_args_cuMemAlloc *args = frame->args;
    const uint64_t address = args->dptr ? *args->dptr : 0;
    register_alloc(frame, RP_ALLOC_DEVICE, address ? &address : NULL, args->bytesize);
}

void rp_on_alloc_pitch_v1(struct rp_frame *frame)
{
    const struct rp_args_cuMemAllocPitch *args = frame->args;
    const uint64_t address = args->dptr ? *args->dptr : 0;
    if (frame->result == CUDA_SUCCESS && args->pPitch)
        register_alloc(frame, RP_ALLOC_DEVICE, address ? &address : NULL,
                       (uint64_t)*args->pPitch * args->Height);
}

void rp_on_alloc_host_v1(struct rp_frame *frame)
{
    const struct rp_args_cuMemAllocHost *args = frame->args;
    register_alloc(frame, RP_ALLOC_PINNED, args->pp, args->bytesize);
}

void rp_on_alloc_pitch(struct rp_frame *frame)
{
    const struct rp_args_cuMemAllocPitch_v2 *args = frame->args;
    register_alloc(frame, RP_ALLOC_DEVICE, args->pPitch ? args->dptr : NULL,
                   args->pPitch ? *args->pPitch * args->Height : 0);
}

void rp_on_alloc_managed(struct rp_frame *frame)
{
    const struct rp_args_cuMemAllocManaged *args = frame->args;
    register_alloc(frame, RP_ALLOC_MANAGED, args->dptr, args->bytesize);
}

/* Device memory is nothing that a call for the host's could free: the driver refuses it. */
static bool may_free(const struct rp_frame *frame, rp_alloc_id id)
{
    bool is_for_host = rp_call_in_class(frame->id, "free.host") ||
                       rp_call_in_class(frame->id, "alias.destroy");
    return !is_for_host || rp_memory_get(rp_core.bench.memory, id)->kind != RP_ALLOC_DEVICE;
}

/* The allocation is found before the driver frees it: afterwards its address may already
 * belong to another thread's new one. */
static void before_free(struct rp_frame *frame, uint64_t address)
{
    rp_alloc_id id = 0;
    rp_stream stream = rp_calls[frame->id].stream_arg < 0 ? 0 : rp_handler_stream(frame);
    rp_core_lock();
    if (address && rp_memory_find(rp_core.bench.memory, address, &id, NULL, NULL) == RP_OK &&
        may_free(frame, id)) {
        frame->scratch[0] = (void *)(uintptr_t)id;
        if (rp_core.segments_wanted)
            rp_retain_free(id, stream);
        frame->served = (stream && rp_recompute_free_async(id, address, stream, &frame->result)) ||
                        rp_recompute_free(id, address);
        frame->skip = frame->served;
        if (frame->served && frame->result == CUDA_SUCCESS)
            rp_handler_died(id);
        if (frame->served)
            frame->scratch[0] = NULL;
    }
    rp_core_unlock();
}

void rp_on_free_before(struct rp_frame *frame)
{
    const struct rp_args_cuMemFree_v2 *args = frame->args;
    before_free(frame, args->dptr);
}

void rp_on_free_v1_before(struct rp_frame *frame)
{
    const struct rp_args_cuMemFree *args = frame->args;
    before_free(frame, args->dptr);
}

/* Where these frees keep that they could not be made to wait for a replay. */
enum { EARLY = 1 };

/* In its own stream it may be the next allocation's at once. */
static void wait_for_replays(struct rp_frame *frame, uint64_t address)
{
    rp_alloc_id id;
    struct rp_footprint *call = rp_footprint_take();
    rp_footprint_begin(call, rp_handler_name(frame->id), rp_handler_stream(frame));
    if (rp_memory_find(rp_core.bench.memory, address, &id, NULL, NULL) == RP_OK)
        rp_race_give_back(call, id);
    frame->scratch[EARLY] = call->is_early ? frame : NULL;
    rp_footprint_give(call);
}

void rp_on_free_async_before(struct rp_frame *frame)
{
    const struct rp_args_cuMemFreeAsync *args = frame->args;
    rp_core_lock();
    bool is_captured = rp_handler_is_captured(rp_handler_stream(frame));
    if (!is_captured)
        wait_for_replays(frame, args->dptr);
    rp_core_unlock();
    if (!is_captured)
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
    const struct rp_footprint call = {.name = rp_handler_name(frame->id)};
    if (frame->scratch[EARLY]) /* in a stream that is none the driver would have refused it */
        rp_report_lost(NULL, &call, id, 0, rp_memory_get(rp_core.bench.memory, id)->bytes, RP_IO);
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

static void map_host(uint64_t device, uint64_t host)
{
    rp_alloc_id id;
    uint64_t offset, left;
    if (device == host)
        return;
    rp_core_lock();
    if (rp_memory_find(rp_core.bench.memory, host, &id, &offset, &left) == RP_OK)
        (void)rp_memory_map(rp_core.bench.memory, device, left, id, offset);
    rp_core_unlock();
}

void rp_on_host_device_pointer(struct rp_frame *frame)
{
    const struct rp_args_cuMemHostGetDevicePointer_v2 *args = frame->args;
    if (frame->result == CUDA_SUCCESS && args->pdptr)
        map_host(*args->pdptr, RP_HANDLE(args->p));
}

void rp_on_host_device_pointer_v1(struct rp_frame *frame)
{
    const struct rp_args_cuMemHostGetDevicePointer *args = frame->args;
    if (frame->result == CUDA_SUCCESS && args->pdptr)
        map_host(*args->pdptr, RP_HANDLE(args->p));
}

void rp_on_memory_forget(void)
{
    dead_count = 0;
    rp_on_vmm_forget();
    rp_on_pool_forget();
}
