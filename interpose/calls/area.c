/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/area.h"

#include "interpose/calls/array.h"
#include "interpose/calls/offload.h"
#include "interpose/recompute/answer.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/core.h"
#include "interpose/run/segment.h"

#include <sys/uio.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { MOST_ROWS = 4096 }; /* followed one by one; beyond, only the hull of them all */

struct rp_area rp_area_line(uint64_t address, uint64_t bytes)
{
    return (struct rp_area){.type = CU_MEMORYTYPE_UNIFIED, .base = address, .pitch = bytes,
                           .slice = bytes, .width = bytes, .height = 1, .depth = 1};
}

static struct rp_reach exactly(enum rp_effect effect)
{
    return (struct rp_reach){.effect = effect, .verdict = RP_VERDICT_EXACT, .certain = true};
}

/* Rows are numbered through all slices. */
static uint64_t row_at(const struct rp_area *area, uint64_t row)
{
    return area->base + row / area->height * area->slice + row % area->height * area->pitch;
}

static enum rp_status reach_hull(struct rp_footprint *call, const struct rp_area *area,
                                 enum rp_effect effect)
{
    uint64_t rows, slices, bytes;
    const struct rp_reach hull = {.effect = effect, .verdict = RP_VERDICT_BOUNDED};
    bool fits = !__builtin_mul_overflow(area->pitch, area->height, &rows) &&
                !__builtin_mul_overflow(area->slice, area->depth - 1, &slices) &&
                !__builtin_add_overflow(rows, slices, &bytes) && bytes < UINT64_MAX / 2;
    /* A area that no address space holds is refused by the driver. */
    return fits ? rp_footprint_reach(call, area->base, bytes, hull, NULL) : RP_OK;
}

/* From its first byte to its last. What no address space holds is left to the driver. */
static bool find_extent(const struct rp_area *area, uint64_t *bytes)
{
    uint64_t rows, slices;
    return !__builtin_mul_overflow(area->pitch, area->height - 1, &rows) &&
           !__builtin_mul_overflow(area->slice, area->depth - 1, &slices) &&
           !__builtin_add_overflow(rows, slices, bytes) &&
           !__builtin_add_overflow(*bytes, area->width, bytes);
}

static bool overruns(const struct rp_area *area)
{
    uint64_t bytes;
    return find_extent(area, &bytes) && rp_answer_overruns(area->base, bytes);
}

/* The driver wants memory between the rows, too. Where it may be elsewhere they count as read. */
static enum rp_status reach_gaps(struct rp_footprint *call, const struct rp_area *area)
{
    const struct rp_reach gaps = {.effect = RP_READ, .verdict = RP_VERDICT_BOUNDED};
    uint64_t bytes;
    return rp_recompute_is_on() && find_extent(area, &bytes)
               ? rp_footprint_reach(call, area->base, bytes, gaps, NULL) : RP_OK;
}

enum rp_status rp_area_reach(struct rp_footprint *call, const struct rp_area *area,
                            enum rp_effect effect)
{
    uint64_t bytes;
    if (!area->width || !area->height || !area->depth)
        return RP_OK;
    if (area->type == CU_MEMORYTYPE_ARRAY)
        return rp_array_reach(call, area->base, effect);
    call->overruns = call->overruns || overruns(area);
    if (area->pitch == area->width && area->depth == 1 &&
        !__builtin_mul_overflow(area->width, area->height, &bytes))
        return rp_footprint_reach(call, area->base, bytes, exactly(effect), NULL);
    if (area->height > MOST_ROWS || area->depth > MOST_ROWS ||
        area->height * area->depth > MOST_ROWS)
        return reach_hull(call, area, effect);
    enum rp_status status = reach_gaps(call, area);
    for (uint64_t row = 0; status == RP_OK && row < area->height * area->depth; row++)
        status = rp_footprint_reach(call, row_at(area, row), area->width, exactly(effect), NULL);
    return status;
}

/* With one address space a "host" pointer may be a device's: not for us to read. */
static bool is_host(const struct rp_area *area)
{
    rp_alloc_id id;
    if (!area->base || (area->type != CU_MEMORYTYPE_HOST && area->type != CU_MEMORYTYPE_UNIFIED))
        return false;
    if (rp_memory_find(rp_core.bench.memory, area->base, &id, NULL, NULL) == RP_OK)
        return rp_memory_get(rp_core.bench.memory, id)->kind == RP_ALLOC_PINNED;
    return area->type == CU_MEMORYTYPE_HOST;
}

/* With one address space, memory of which nobody has heard is the host's own. */
static bool is_on_host(const struct rp_area *area)
{
    return is_host(area) ||
           (area->base && area->type == CU_MEMORYTYPE_UNIFIED &&
            rp_memory_find(rp_core.bench.memory, area->base, NULL, NULL, NULL) != RP_OK);
}

/* True when the driver will find room for all of it: else it rejects the call, and may never look
 * at the source. */
static bool fits(const struct rp_area *to)
{
    uint64_t left, bytes;
    return to->type != CU_MEMORYTYPE_ARRAY &&
           rp_memory_find(rp_core.bench.memory, to->base, NULL, NULL, &left) == RP_OK &&
           !__builtin_mul_overflow(to->slice, to->depth, &bytes) && bytes <= left;
}

struct source {
    struct rp_footprint *call;
    uint64_t base, last; /* where it begins; the version of the range before */
};

/* Only a guard asks the driver how far it is; without, what the device wrote may be on its way. */
static bool is_pending(const struct rp_writer *writer)
{
    return writer->version && !writer->settled &&
           (!rp_core_keeps() || rp_core.captures ||
            !rp_order_is_done(rp_core.bench.order, writer->stream));
}

static enum rp_status note_writer(void *ctx, uint64_t lo, uint64_t hi,
                                  const struct rp_writer *writer)
{
    (void)hi;
    struct source *source = ctx;
    struct rp_footprint *call = source->call;
    if (writer->version == source->last)
        return RP_OK; /* however the map divides it */
    source->last = writer->version;
    call->host.content_versions = (call->host.content_versions * 31 + lo - source->base) * 31 +
                             writer->version;
    call->host.is_content_doubtful = call->host.is_content_doubtful || is_pending(writer);
    return RP_OK;
}

/* What a guard has put there for a replay is what the forward found, once it has come. */
static bool is_put_back(rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    struct rp_spans rewound = {0};
    bool found = false;
    for (size_t i = 0; !found && i < rp_transactions_count(); i++)
        found = rp_transaction_rewound(rp_transactions_at(i)->transaction, id, lo, hi,
                                       &rewound) != RP_OK || rewound.count;
    rp_spans_release(&rewound);
    return found;
}

/* Pinned memory that the device writes too: what stands there now, as the host sees it, need not
 * be what the copy will find, and is compared with nothing but the same versions. */
static void note_versions(struct rp_footprint *call, const struct rp_area *from)
{
    rp_alloc_id id;
    uint64_t offset, left, bytes;
    if (rp_memory_find(rp_core.bench.memory, from->base, &id, &offset, &left) != RP_OK)
        return;
    bool fits = !__builtin_mul_overflow(from->slice, from->depth, &bytes) && bytes <= left;
    uint64_t end = offset + (fits ? bytes : left);
    struct source source = {call, offset, 0};
    (void)rp_versions_read(rp_core.bench.versions, id, offset, end, note_writer, &source);
    if (is_put_back(id, offset, end))
        call->host.content_versions = RP_CONTENT_PUT_BACK;
}

/* Whose replay it is may be told by what the job puts there for it. Past a size, to look at it
 * would cost more than the copy does. */
static bool is_worth_hashing(const struct rp_area *from)
{
    const uint64_t most_bytes = UINT64_C(16) << 20;
    uint64_t rows, bytes;
    return rp_core.segments_wanted &&
           !__builtin_mul_overflow(from->height, from->depth, &rows) && rows <= MOST_ROWS &&
           !__builtin_mul_overflow(rows, from->width, &bytes) && bytes <= most_bytes;
}

/* Where nobody has heard of the memory there may be none: the driver answers that, and not a
 * signal. The hash is XXH3_64bits_withSeed's. False: it can't be read. */
static bool hash_unheard(uint64_t at, uint64_t bytes, uint64_t *content)
{
    static char chunk[256 << 10]; /* few system calls; the core's lock is held */
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, *content);
    for (uint64_t done = 0; done < bytes;) {
        size_t next = bytes - done < sizeof chunk ? (size_t)(bytes - done) : sizeof chunk;
        struct iovec here = {chunk, next}, there = {(void *)(uintptr_t)(at + done), next};
        if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != (ssize_t)next)
            return false;
        XXH3_64bits_update(&state, chunk, next);
        done += next;
    }
    *content = XXH3_64bits_digest(&state);
    return true;
}

/* Inside a segment, what comes from the host is a value that the replay must be given too. */
static void note_content(struct rp_footprint *call, const struct rp_area *to,
                         const struct rp_area *from)
{
    if (!is_on_host(from) || !from->width || !fits(to))
        return;
    if (!rp_thread_self()->scope_count && !is_worth_hashing(from)) {
        call->host.is_content_doubtful = true;
        return;
    }
    note_versions(call, from);
    if (call->host.is_content_doubtful)
        return;
    bool heard_of = is_host(from);
    for (uint64_t row = 0; row < from->height * from->depth && row < MOST_ROWS; row++)
        if (heard_of)
            call->host.content = XXH3_64bits_withSeed((const void *)(uintptr_t)row_at(from, row),
                                                 from->width, call->host.content);
        else if (!hash_unheard(row_at(from, row), from->width, &call->host.content))
            call->host.is_content_doubtful = true;
}

static bool is_line(const struct rp_area *area)
{
    return area->type != CU_MEMORYTYPE_ARRAY && area->height == 1 && area->depth == 1;
}

/* Whose bytes it copies. What a graph's nodes have on the host, nobody can look at yet. */
static void note_line(struct rp_footprint *call, const struct rp_area *to,
                      const struct rp_area *from)
{
    bool is_alone = !call->count && is_line(to) && is_line(from);
    bool from_host = is_on_host(from);
    call->is_copy = is_alone && !from_host;
    call->is_upload = call->is_upload || from_host;
    call->host.taken_bytes = 0;
    call->host.brought = (struct rp_provenance){0};
    call->host.upload_bytes = 0;
    if (!is_alone || rp_core.graph_seq || !is_worth_hashing(from))
        return;
    if (is_host(from) && !is_on_host(to) && !call->host.is_content_doubtful && fits(to)) {
        call->host.brought = rp_offload_find((const void *)(uintptr_t)from->base, from->width);
        call->host.upload = (const void *)(uintptr_t)from->base;
        call->host.upload_bytes = from->width;
    }
    if (!from_host && is_host(to)) {
        call->host.taken = (const void *)(uintptr_t)to->base;
        call->host.taken_bytes = from->width;
    }
}

static void note_landing(struct rp_footprint *call, const struct rp_area *to,
                         const struct rp_area *from)
{
    if (!from->width || !from->height || !from->depth || !is_on_host(to) || is_on_host(from))
        return;
    bool is_alone = !call->count && is_line(to);
    if (!call->host.landing.at)
        call->host.landing.at = to->base;
    call->host.landing.bytes = is_alone ? to->width : 0;
}

/* Many calls, and nodes of graphs, do the same: their work is what counts. */
enum work { COPY = 1 << 8, FROM_HOST = 1, TO_HOST = 2, FILL = 1 << 9 };

static void sign(struct rp_footprint *call, uint64_t work, const struct rp_area *area)
{
    if (call->signature == call->name)
        call->signature = UINT64_C(1) << 63;
    call->signature = (call->signature * 31 + work) * 31 + area->width;
    call->signature = (call->signature * 31 + area->height) * 31 + area->depth;
}

enum rp_status rp_area_copy(struct rp_footprint *call, const struct rp_area *to,
                           const struct rp_area *from)
{
    sign(call, COPY | (is_host(from) ? FROM_HOST : 0) | (is_host(to) ? TO_HOST : 0), from);
    call->is_transfer = true;
    note_content(call, to, from);
    note_line(call, to, from);
    note_landing(call, to, from);
    enum rp_status status = rp_area_reach(call, from, RP_READ);
    return status == RP_OK ? rp_area_reach(call, to, RP_WRITE) : status;
}

enum rp_status rp_area_fill(struct rp_footprint *call, const struct rp_area *area, unsigned unit,
                           uint64_t value)
{
    sign(call, FILL | unit, area);
    call->values = call->values * 31 + value;
    return rp_area_reach(call, area, RP_WRITE);
}

static uint64_t base_of(CUmemorytype type, const void *host, CUdeviceptr device, CUarray array)
{
    switch (type) {
    case CU_MEMORYTYPE_HOST: return (uintptr_t)host;
    case CU_MEMORYTYPE_ARRAY: return (uintptr_t)array;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED: break;
    }
    return device;
}

/* The first byte of the area, x bytes, y rows and z slices into its memory. */
static void step_in(struct rp_area *area, uint64_t bytes, uint64_t y, uint64_t z)
{
    if (area->type != CU_MEMORYTYPE_ARRAY)
        area->base += z * area->slice + y * area->pitch + bytes;
}

enum rp_status rp_area_copy_3d(struct rp_footprint *call, const CUDA_MEMCPY3D *copy)
{
    struct rp_area to = {.type = copy->dstMemoryType, .width = copy->WidthInBytes,
                        .height = copy->Height, .depth = copy->Depth};
    struct rp_area from = to;
    from.type = copy->srcMemoryType;
    from.pitch = copy->srcPitch ? copy->srcPitch : copy->WidthInBytes;
    to.pitch = copy->dstPitch ? copy->dstPitch : copy->WidthInBytes;
    from.slice = from.pitch * (copy->srcHeight ? copy->srcHeight : copy->Height);
    to.slice = to.pitch * (copy->dstHeight ? copy->dstHeight : copy->Height);
    from.base = base_of(from.type, copy->srcHost, copy->srcDevice, copy->srcArray);
    to.base = base_of(to.type, copy->dstHost, copy->dstDevice, copy->dstArray);
    step_in(&from, copy->srcXInBytes, copy->srcY, copy->srcZ);
    step_in(&to, copy->dstXInBytes, copy->dstY, copy->dstZ);
    return rp_area_copy(call, &to, &from);
}
