/* SPDX-License-Identifier: Apache-2.0 */
/* Calls whose writes are exact by their meaning: copies, sets, stream writes (L0). */
#include "interpose/calls/handlers.h"

#include "interpose/calls/area.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/remark.h"
#include "interpose/run/report.h"

/* Both sides may be host memory that nobody tracks: those bytes are left out. */
static void copy(struct rp_frame *frame, uint64_t to, uint64_t from, uint64_t bytes)
{
    struct rp_area target = rp_area_line(to, bytes), source = rp_area_line(from, bytes);
    if (rp_call_in_class(frame->id, "write.h2d"))
        source.type = CU_MEMORYTYPE_HOST;
    if (rp_call_in_class(frame->id, "read.d2h"))
        target.type = CU_MEMORYTYPE_HOST;
    rp_core_lock();
    struct rp_footprint *call = rp_handler_footprint(frame);
    rp_handler_track(frame, call, rp_area_copy(call, &target, &source));
    if (rp_call_in_class(frame->id, "write.d2d") && call->seq && !call->denied)
        rp_recompute_copy(to, from, bytes, call);
    rp_core_unlock();
}

void rp_on_copy_htod(struct rp_frame *frame)
{
    const struct rp_args_cuMemcpyHtoD_v2 *args = frame->args; /* the async form starts alike */
    copy(frame, args->dstDevice, RP_HANDLE(args->srcHost), args->ByteCount);
}

void rp_on_copy_dtoh(struct rp_frame *frame)
{
    const struct rp_args_cuMemcpyDtoH_v2 *args = frame->args; /* the async form starts alike */
    copy(frame, RP_HANDLE(args->dstHost), args->srcDevice, args->ByteCount);
}

void rp_on_copy_dtod(struct rp_frame *frame)
{
    const struct rp_args_cuMemcpyDtoD_v2 *args = frame->args;
    copy(frame, args->dstDevice, args->srcDevice, args->ByteCount);
}

void rp_on_copy_dtod_async(struct rp_frame *frame)
{
    const struct rp_args_cuMemcpyDtoDAsync_v2 *args = frame->args;
    copy(frame, args->dstDevice, args->srcDevice, args->ByteCount);
}

void rp_on_copy_unified(struct rp_frame *frame)
{
    const struct rp_args_cuMemcpy *args = frame->args; /* the async form starts alike */
    copy(frame, args->dst, args->src, args->ByteCount);
}

void rp_on_copy_peer(struct rp_frame *frame)
{
    const struct rp_args_cuMemcpyPeer *args = frame->args;
    copy(frame, args->dstDevice, args->srcDevice, args->ByteCount);
}

static void copy_3d(struct rp_frame *frame, const CUDA_MEMCPY3D *box)
{
    rp_core_lock();
    struct rp_footprint *call = rp_handler_footprint(frame);
    rp_handler_track(frame, call, rp_area_copy_3d(call, box));
    rp_core_unlock();
}

void rp_on_copy_2d(struct rp_frame *frame)
{
    const struct rp_args_cuMemcpy2D_v2 *args = frame->args; /* the async form starts alike */
    const CUDA_MEMCPY2D *flat = args->pCopy;
    if (!flat)
        return;
    copy_3d(frame, &(CUDA_MEMCPY3D){
                       .srcXInBytes = flat->srcXInBytes,
                       .srcY = flat->srcY,
                       .srcMemoryType = flat->srcMemoryType,
                       .srcHost = flat->srcHost,
                       .srcDevice = flat->srcDevice,
                       .srcArray = flat->srcArray,
                       .srcPitch = flat->srcPitch,
                       .dstXInBytes = flat->dstXInBytes,
                       .dstY = flat->dstY,
                       .dstMemoryType = flat->dstMemoryType,
                       .dstHost = flat->dstHost,
                       .dstDevice = flat->dstDevice,
                       .dstArray = flat->dstArray,
                       .dstPitch = flat->dstPitch,
                       .WidthInBytes = flat->WidthInBytes,
                       .Height = flat->Height,
                       .Depth = 1,
                   });
}

void rp_on_copy_3d(struct rp_frame *frame)
{
    const struct rp_args_cuMemcpy3D_v2 *args = frame->args; /* the async form starts alike */
    if (args->pCopy)
        copy_3d(frame, args->pCopy);
}

/* Between contexts: for the rest, the fields of the plain form under other names. */
void rp_on_copy_3d_peer(struct rp_frame *frame)
{
    const struct rp_args_cuMemcpy3DPeer *args = frame->args; /* the async form starts alike */
    const CUDA_MEMCPY3D_PEER *peer = args->pCopy;
    if (!peer)
        return;
    copy_3d(frame, &(CUDA_MEMCPY3D){
                       .srcXInBytes = peer->srcXInBytes,
                       .srcY = peer->srcY,
                       .srcZ = peer->srcZ,
                       .srcMemoryType = peer->srcMemoryType,
                       .srcHost = peer->srcHost,
                       .srcDevice = peer->srcDevice,
                       .srcArray = peer->srcArray,
                       .srcPitch = peer->srcPitch,
                       .srcHeight = peer->srcHeight,
                       .dstXInBytes = peer->dstXInBytes,
                       .dstY = peer->dstY,
                       .dstZ = peer->dstZ,
                       .dstMemoryType = peer->dstMemoryType,
                       .dstHost = peer->dstHost,
                       .dstDevice = peer->dstDevice,
                       .dstArray = peer->dstArray,
                       .dstPitch = peer->dstPitch,
                       .dstHeight = peer->dstHeight,
                       .WidthInBytes = peer->WidthInBytes,
                       .Height = peer->Height,
                       .Depth = peer->Depth,
                   });
}

static struct rp_footprint *set(struct rp_frame *frame, const struct rp_area *area,
                                unsigned unit, uint64_t value)
{
    struct rp_footprint *call = rp_handler_footprint(frame);
    rp_handler_track(frame, call, rp_area_fill(call, area, unit, value));
    return call;
}

static void set_line(struct rp_frame *frame, uint64_t to, uint64_t count, unsigned width,
                     unsigned value)
{
    const struct rp_area line = rp_area_line(to, count * width);
    rp_core_lock();
    const struct rp_footprint *call = set(frame, &line, width, value);
    if (call->seq && !call->denied)
        rp_recompute_set(to, count, width, value, call);
    rp_core_unlock();
}

static void set_rows(struct rp_frame *frame, uint64_t to, uint64_t pitch, uint64_t width,
                     uint64_t height, unsigned unit, uint64_t value)
{
    const struct rp_area rows = {.type = CU_MEMORYTYPE_DEVICE, .base = to, .pitch = pitch,
                                 .width = width * unit, .height = height, .depth = 1};
    rp_core_lock();
    set(frame, &rows, unit, value);
    rp_core_unlock();
}

/* The asynchronous forms have the same leading arguments. */
void rp_on_memset_d8(struct rp_frame *frame)
{
    const struct rp_args_cuMemsetD8_v2 *args = frame->args;
    set_line(frame, args->dstDevice, args->N, 1, args->uc);
}

void rp_on_memset_d16(struct rp_frame *frame)
{
    const struct rp_args_cuMemsetD16_v2 *args = frame->args;
    set_line(frame, args->dstDevice, args->N, 2, args->us);
}

void rp_on_memset_d32(struct rp_frame *frame)
{
    const struct rp_args_cuMemsetD32_v2 *args = frame->args;
    set_line(frame, args->dstDevice, args->N, 4, args->ui);
}

void rp_on_memset_2d8(struct rp_frame *frame)
{
    const struct rp_args_cuMemsetD2D8_v2 *args = frame->args;
    set_rows(frame, args->dstDevice, args->dstPitch, args->Width, args->Height, 1, args->uc);
}

void rp_on_memset_2d16(struct rp_frame *frame)
{
    const struct rp_args_cuMemsetD2D16_v2 *args = frame->args;
    set_rows(frame, args->dstDevice, args->dstPitch, args->Width, args->Height, 2, args->us);
}

void rp_on_memset_2d32(struct rp_frame *frame)
{
    const struct rp_args_cuMemsetD2D32_v2 *args = frame->args;
    set_rows(frame, args->dstDevice, args->dstPitch, args->Width, args->Height, 4, args->ui);
}

/* A call that may write and whose extent the layer does not work out: it may have written
 * any live byte, and every contract that is still to be replayed must know. */
void rp_on_unknown_writer(struct rp_frame *frame)
{
    rp_core_lock();
    const char *name = rp_calls[frame->id].name;
    rp_remark(name, "what it writes is not followed: it counts as writing everything");
    struct rp_footprint *call = rp_handler_footprint(frame);
    call->reason = "what it writes is not followed";
    rp_handler_track(frame, call, rp_footprint_everything(call, RP_WRITE));
    rp_core_unlock();
}

static void must_be_added(const struct rp_footprint *call, enum rp_status status)
{
    if (status == RP_NO_MEMORY)
        rp_report_unfollowed(call, "the host is out of memory");
}

static void add_host_memory(void *ctx, const struct rp_alloc *alloc)
{
    const struct rp_reach written = {.effect = RP_WRITE, .verdict = RP_VERDICT_REACHABLE};
    if (alloc->kind == RP_ALLOC_PINNED || alloc->kind == RP_ALLOC_MANAGED)
        must_be_added(ctx, rp_footprint_root(ctx, alloc->address, written));
}

void rp_copy_host_function(struct rp_footprint *call)
{
    call->reason = "a host function may write any host memory that kernels reach";
    call->is_gate = call->on_host = true;
    rp_memory_each(rp_core.bench.memory, add_host_memory, call);
}

static void add_foreign(void *ctx, const struct rp_alloc *alloc)
{
    const struct rp_reach written = {.id = alloc->id, .hi = alloc->bytes, .effect = RP_WRITE,
                                     .verdict = RP_VERDICT_REACHABLE};
    if (alloc->kind == RP_ALLOC_FOREIGN)
        must_be_added(ctx, rp_footprint_add(ctx, written));
}

void rp_copy_foreign(struct rp_footprint *call)
{
    call->is_gate = true;
    call->reason = "others may have written the memory that they share";
    rp_memory_each(rp_core.bench.memory, add_foreign, call);
}

/* Waiting for somebody outside: what they share with us may be written by then. */
void rp_on_foreign_wait(struct rp_frame *frame)
{
    rp_core_lock();
    struct rp_footprint *call = rp_handler_footprint(frame);
    rp_copy_foreign(call);
    rp_handler_track(frame, call, RP_OK);
    rp_core_unlock();
}

/* A host function runs in stream order and may write whatever the host can. */
void rp_on_host_function(struct rp_frame *frame)
{
    rp_core_lock();
    struct rp_footprint *call = rp_handler_footprint(frame);
    rp_copy_host_function(call);
    rp_handler_track(frame, call, RP_OK);
    rp_core_unlock();
}
