/* SPDX-License-Identifier: Apache-2.0 */
/* Calls whose writes are exact by their meaning: copies, sets, stream writes (L0). */
#include "interpose/handlers.h"

#include "interpose/report.h"
#include "interpose/segment.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static void track(const struct rp_frame *frame, struct rp_footprint *call)
{
    if (!rp_handler_is_captured(frame, call->stream))
        rp_track(call);
}

/* What the layer cannot follow for want of memory is as good as unknown. */
static void note_failure(enum rp_status status, const struct rp_frame *frame)
{
    if (status != RP_OK)
        rp_remark(rp_calls[frame->id].name, "the host is out of memory: the call is not followed");
}

static struct rp_reach exactly(enum rp_effect effect)
{
    return (struct rp_reach){.effect = effect, .verdict = RP_VERDICT_EXACT, .certain = true};
}

/* Inside a segment, what comes from the host is a value that the replay must be given too. */
static uint64_t host_values(const struct rp_frame *frame, uint64_t from, uint64_t bytes)
{
    rp_alloc_id id;
    if (!rp_call_in_class(frame->id, "write.h2d") || !rp_thread_self()->scope_count || !from)
        return 0;
    /* With one address space a "host" pointer may be a device's: not for us to read. */
    if (rp_memory_find(rp_core.bench.memory, from, &id, NULL, NULL) == RP_OK &&
        rp_memory_get(rp_core.bench.memory, id)->kind != RP_ALLOC_PINNED)
        return 0;
    return XXH3_64bits((const void *)(uintptr_t)from, bytes);
}

/* Both sides may be host memory that nobody tracks: those bytes are left out. */
static void copy(struct rp_frame *frame, uint64_t to, uint64_t from, uint64_t bytes)
{
    rp_core_lock();
    struct rp_footprint *call = rp_handler_footprint(frame);
    call->signature = call->signature * 31 + bytes;
    call->values = host_values(frame, from, bytes);
    enum rp_status status = rp_footprint_reach(call, from, bytes, exactly(RP_READ), NULL);
    if (status == RP_OK)
        status = rp_footprint_reach(call, to, bytes, exactly(RP_WRITE), NULL);
    note_failure(status, frame);
    track(frame, call);
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

/* One side of a 2D or 3D copy, when it is linear memory. */
struct side {
    CUmemorytype type;
    uint64_t base, pitch, slice; /* address of the first byte, bytes a row, bytes a slice */
};

enum { MOST_ROWS = 4096 }; /* followed one by one; beyond, only the hull of them all */

static enum rp_status reach_box(struct rp_footprint *call, const struct side *side, uint64_t width,
                                uint64_t height, uint64_t depth, enum rp_effect effect)
{
    uint64_t rows, slices, bytes;
    if (side->type == CU_MEMORYTYPE_ARRAY || !width || !height || !depth)
        return RP_OK; /* arrays have no address: nothing else can alias them */
    if (side->pitch == width && depth == 1 && !__builtin_mul_overflow(width, height, &bytes))
        return rp_footprint_reach(call, side->base, bytes, exactly(effect), NULL);
    if (height > MOST_ROWS || depth > MOST_ROWS || height * depth > MOST_ROWS) {
        struct rp_reach hull = {.effect = effect, .verdict = RP_VERDICT_BOUNDED};
        bool fits = !__builtin_mul_overflow(side->pitch, height, &rows) &&
                    !__builtin_mul_overflow(side->slice, depth - 1, &slices) &&
                    !__builtin_add_overflow(rows, slices, &bytes) && bytes < UINT64_MAX / 2;
        /* A box that no address space holds is refused by the driver. */
        return fits ? rp_footprint_reach(call, side->base, bytes, hull, NULL) : RP_OK;
    }
    for (uint64_t z = 0; z < depth; z++) {
        for (uint64_t y = 0; y < height; y++) {
            uint64_t row = side->base + z * side->slice + y * side->pitch;
            enum rp_status status =
                rp_footprint_reach(call, row, width, exactly(effect), NULL);
            if (status != RP_OK)
                return status;
        }
    }
    return RP_OK;
}

static void copy_box(struct rp_frame *frame, const struct side *to, const struct side *from,
                     uint64_t width, uint64_t height, uint64_t depth)
{
    rp_core_lock();
    struct rp_footprint *call = rp_handler_footprint(frame);
    call->signature = call->signature * 31 + width * height * depth;
    enum rp_status status = reach_box(call, from, width, height, depth, RP_READ);
    if (status == RP_OK)
        status = reach_box(call, to, width, height, depth, RP_WRITE);
    note_failure(status, frame);
    track(frame, call);
    rp_core_unlock();
}

static uint64_t side_address(CUmemorytype type, const void *host, CUdeviceptr device)
{
    return type == CU_MEMORYTYPE_HOST ? RP_HANDLE(host) : device;
}

void rp_on_copy_2d(struct rp_frame *frame)
{
    const struct rp_args_cuMemcpy2D_v2 *args = frame->args; /* the async form starts alike */
    const CUDA_MEMCPY2D *box = args->pCopy;
    if (!box)
        return;
    uint64_t from_pitch = box->srcPitch ? box->srcPitch : box->WidthInBytes;
    uint64_t to_pitch = box->dstPitch ? box->dstPitch : box->WidthInBytes;
    struct side from = {.type = box->srcMemoryType, .pitch = from_pitch};
    struct side to = {.type = box->dstMemoryType, .pitch = to_pitch};
    from.base = side_address(from.type, box->srcHost, box->srcDevice) + box->srcY * from_pitch +
                box->srcXInBytes;
    to.base = side_address(to.type, box->dstHost, box->dstDevice) + box->dstY * to_pitch +
              box->dstXInBytes;
    copy_box(frame, &to, &from, box->WidthInBytes, box->Height, 1);
}

void rp_on_copy_3d(struct rp_frame *frame)
{
    const struct rp_args_cuMemcpy3D_v2 *args = frame->args; /* the async form starts alike */
    const CUDA_MEMCPY3D *box = args->pCopy;
    if (!box)
        return;
    uint64_t from_pitch = box->srcPitch ? box->srcPitch : box->WidthInBytes;
    uint64_t to_pitch = box->dstPitch ? box->dstPitch : box->WidthInBytes;
    struct side from = {.type = box->srcMemoryType, .pitch = from_pitch};
    struct side to = {.type = box->dstMemoryType, .pitch = to_pitch};
    from.slice = from_pitch * (box->srcHeight ? box->srcHeight : box->Height);
    to.slice = to_pitch * (box->dstHeight ? box->dstHeight : box->Height);
    from.base = side_address(from.type, box->srcHost, box->srcDevice) + box->srcZ * from.slice +
                box->srcY * from_pitch + box->srcXInBytes;
    to.base = side_address(to.type, box->dstHost, box->dstDevice) + box->dstZ * to.slice +
              box->dstY * to_pitch + box->dstXInBytes;
    copy_box(frame, &to, &from, box->WidthInBytes, box->Height, box->Depth);
}

static void set(struct rp_frame *frame, uint64_t to, uint64_t bytes, uint64_t value)
{
    rp_core_lock();
    struct rp_footprint *call = rp_handler_footprint(frame);
    call->values = value;
    call->signature = call->signature * 31 + bytes;
    note_failure(rp_footprint_reach(call, to, bytes, exactly(RP_WRITE), NULL), frame);
    track(frame, call);
    rp_core_unlock();
}

/* The asynchronous forms have the same leading arguments. */
void rp_on_memset_d8(struct rp_frame *frame)
{
    const struct rp_args_cuMemsetD8_v2 *args = frame->args;
    set(frame, args->dstDevice, args->N, args->uc);
}

void rp_on_memset_d16(struct rp_frame *frame)
{
    const struct rp_args_cuMemsetD16_v2 *args = frame->args;
    set(frame, args->dstDevice, args->N * 2, args->us);
}

void rp_on_memset_d32(struct rp_frame *frame)
{
    const struct rp_args_cuMemsetD32_v2 *args = frame->args;
    set(frame, args->dstDevice, args->N * 4, args->ui);
}

static void set_box(struct rp_frame *frame, uint64_t to, uint64_t pitch, uint64_t width,
                    uint64_t height)
{
    const struct side nowhere = {.type = CU_MEMORYTYPE_ARRAY};
    const struct side side = {.type = CU_MEMORYTYPE_DEVICE, .base = to, .pitch = pitch};
    copy_box(frame, &side, &nowhere, width, height, 1);
}

void rp_on_memset_2d8(struct rp_frame *frame)
{
    const struct rp_args_cuMemsetD2D8_v2 *args = frame->args;
    set_box(frame, args->dstDevice, args->dstPitch, args->Width, args->Height);
}

void rp_on_memset_2d16(struct rp_frame *frame)
{
    const struct rp_args_cuMemsetD2D16_v2 *args = frame->args;
    set_box(frame, args->dstDevice, args->dstPitch, args->Width * 2, args->Height);
}

void rp_on_memset_2d32(struct rp_frame *frame)
{
    const struct rp_args_cuMemsetD2D32_v2 *args = frame->args;
    set_box(frame, args->dstDevice, args->dstPitch, args->Width * 4, args->Height);
}

void rp_on_write_value32(struct rp_frame *frame)
{
    const struct rp_args_cuStreamWriteValue32_v2 *args = frame->args;
    set(frame, args->addr, 4, args->value);
}

void rp_on_write_value64(struct rp_frame *frame)
{
    const struct rp_args_cuStreamWriteValue64_v2 *args = frame->args;
    set(frame, args->addr, 8, args->value);
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
    note_failure(rp_footprint_everything(call, RP_WRITE), frame);
    track(frame, call);
    rp_core_unlock();
}

static void add_host_memory(void *ctx, const struct rp_alloc *alloc)
{
    struct rp_footprint *call = ctx;
    if (alloc->kind == RP_ALLOC_PINNED || alloc->kind == RP_ALLOC_MANAGED)
        rp_footprint_root(call, alloc->address, (struct rp_reach){
                                                    .effect = RP_WRITE,
                                                    .verdict = RP_VERDICT_REACHABLE});
}

/* A host function runs in stream order and may write whatever the host can. */
void rp_on_host_function(struct rp_frame *frame)
{
    rp_core_lock();
    struct rp_footprint *call = rp_handler_footprint(frame);
    call->reason = "a host function may write any host memory that kernels reach";
    rp_memory_each(rp_core.bench.memory, add_host_memory, call);
    track(frame, call);
    rp_core_unlock();
}
