/* SPDX-License-Identifier: Apache-2.0 */
/* What a copy is. The entry points are in memcpy.c. */
#include "cuda/soft/api/copy.h"

#include "cuda/soft/api/clock.h"
#include "cuda/soft/api/memory.h"
#include "cuda/soft/api/timeline.h"
#include "cuda/soft/api/touched.h"

#include <stdlib.h>
#include <string.h>

static uint64_t extent(const struct soft_copy *copy, const struct soft_side *side)
{
    if (copy->width == 0 || copy->height == 0 || copy->depth == 0)
        return 0;
    return (copy->depth - 1) * side->slice + (copy->height - 1) * side->pitch + copy->width;
}

/* The device's view of a side: the whole stretch from its first byte to its last. */
static bool reachable(const struct soft_copy *copy, const struct soft_side *side, bool write)
{
    return side->pageable || soft_memory_allows(NULL, side->address, extent(copy, side), write);
}

static void copy_bytes(uint64_t to, uint64_t from, uint64_t bytes, const struct soft_copy *copy,
                       const struct soft_op *op)
{
    memmove(soft_pointer(to), soft_pointer(from), bytes);
    if (!copy->from.pageable)
        soft_touched_note(op, from, bytes, false);
    if (!copy->to.pageable)
        soft_touched_note(op, to, bytes, true);
}

/* In stretches between which a seeded order may have others run; else all at once. */
static void copy_row(uint64_t to, uint64_t from, uint64_t row, const struct soft_copy *copy,
                     struct soft_op *op)
{
    uint64_t stretch = op->turns > 1 ? soft_round_up(copy->width / 8 + 1, 64) : copy->width;
    uint64_t whole = copy->width * copy->height * copy->depth;

    for (uint64_t at = 0; at < copy->width; at += stretch) {
        uint64_t left = copy->width - at;
        if (row + at > 0)
            soft_op_progress(op, row * copy->width + at, whole);
        copy_bytes(to + at, from + at, left < stretch ? left : stretch, copy, op);
    }
}

static unsigned copy_pieces(const struct soft_work *work)
{
    const struct soft_copy *copy = (const struct soft_copy *)work;
    return copy->width * copy->height * copy->depth > 256 ? SOFT_MOST_TURNS : 1;
}

/* What the operation will not be seen to touch: pageable memory, and the link between devices. */
static void ask_of_clock(struct soft_demand *demand, const struct soft_copy *copy)
{
    uint64_t bytes = copy->width * copy->height * copy->depth;
    bool in = soft_memory_is_on_host(copy->from.address);
    bool out = soft_memory_is_on_host(copy->to.address);

    demand->engine = out ? SOFT_ENGINE_OUT : in ? SOFT_ENGINE_IN : SOFT_ENGINE_COMPUTE;
    if (copy->from.pageable || copy->to.pageable)
        demand->link_bytes += bytes;
    demand->peer =
        !in && !out &&
        soft_memory_find(copy->from.address)->device != soft_memory_find(copy->to.address)->device;
    if (demand->peer) {
        demand->engine = SOFT_ENGINE_OUT;
        demand->link_bytes += bytes;
    }
}

static CUresult copy_run(const struct soft_work *work, struct soft_op *op)
{
    const struct soft_copy *copy = (const struct soft_copy *)work;

    pthread_mutex_lock(&soft.lock);
    bool good = reachable(copy, &copy->to, true) && reachable(copy, &copy->from, false);
    if (good && soft_timeline_demand(op) != NULL)
        ask_of_clock(soft_timeline_demand(op), copy);
    pthread_mutex_unlock(&soft.lock);
    if (!good) {
        soft_say("copy of %llu bytes from %#llx to %#llx in stream %llu: the memory is gone",
                 (unsigned long long)copy->width * copy->height * copy->depth,
                 (unsigned long long)copy->from.address, (unsigned long long)copy->to.address,
                 (unsigned long long)op->stream);
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    for (uint64_t z = 0; z < copy->depth; z++) {
        uint64_t to = copy->to.address + z * copy->to.slice;
        uint64_t from = copy->from.address + z * copy->from.slice;
        for (uint64_t y = 0; y < copy->height; y++)
            copy_row(to + y * copy->to.pitch, from + y * copy->from.pitch, z * copy->height + y,
                     copy, op);
    }
    return CUDA_SUCCESS;
}

static void copy_release(struct soft_work *work)
{
    free(((struct soft_copy *)work)->staged);
}

struct soft_work *soft_copy_work(const struct soft_copy *copy)
{
    static const struct soft_work_type type = {
        .name = "copy",
        .class_ = SOFT_WORK_DEVICE,
        .node = CU_GRAPH_NODE_TYPE_MEMCPY,
        .capturable = true,
        .run = copy_run,
        .pieces = copy_pieces,
        .release = copy_release,
    };
    struct soft_copy *work = soft_work_create(&type, sizeof *work);
    if (work == NULL)
        return NULL;
    struct soft_work base = work->base;
    *work = *copy;
    work->base = base;
    return &work->base;
}

/* ---- checks ------------------------------------------------------------------------ */

static bool side_fits(const struct soft_copy *copy, const struct soft_side *side)
{
    if (copy->height > 1 && side->pitch < copy->width)
        return false;
    return copy->depth <= 1 || side->slice >= side->pitch * copy->height;
}

CUresult soft_copy_check(struct soft_copy *copy)
{
    if (copy->width == 0 || copy->height == 0 || copy->depth == 0)
        return CUDA_SUCCESS;
    if (copy->to.address == 0 || copy->from.address == 0 || !side_fits(copy, &copy->to) ||
        !side_fits(copy, &copy->from))
        return CUDA_ERROR_INVALID_VALUE;
    if (!reachable(copy, &copy->to, true) || !reachable(copy, &copy->from, false))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* Host memory that the device knows is treated like the device's own: copied when the stream
 * gets there. */
static bool is_pageable(uint64_t address)
{
    return soft_memory_find(address) == NULL;
}

struct place { /* what both ends of the driver's descriptions say */
    CUmemorytype type;
    uint64_t host, device;
    uint64_t x, y, z, pitch, height;
};

static CUresult side_from(const struct place *place, uint64_t width, struct soft_side *side)
{
    uint64_t pitch = place->pitch != 0 ? place->pitch : width;
    uint64_t base;

    switch (place->type) {
    case CU_MEMORYTYPE_HOST: base = place->host; break;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED: base = place->device; break;
    case CU_MEMORYTYPE_ARRAY: return soft_refuse("copies from and to arrays");
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    if (base == 0)
        return CUDA_ERROR_INVALID_VALUE;
    side->pitch = pitch;
    side->slice = pitch * place->height;
    side->address = base + place->x + place->y * side->pitch + place->z * side->slice;
    side->pageable = place->type != CU_MEMORYTYPE_DEVICE && is_pageable(side->address);
    return CUDA_SUCCESS;
}

CUresult soft_copy_from_3d(const CUDA_MEMCPY3D *d, struct soft_copy *copy)
{
    struct place from = {
        .type = d->srcMemoryType,
        .host = (uintptr_t)d->srcHost,
        .device = d->srcDevice,
        .x = d->srcXInBytes,
        .y = d->srcY,
        .z = d->srcZ,
        .pitch = d->srcPitch,
        .height = d->srcHeight != 0 ? d->srcHeight : d->Height,
    };
    struct place to = {
        .type = d->dstMemoryType,
        .host = (uintptr_t)d->dstHost,
        .device = d->dstDevice,
        .x = d->dstXInBytes,
        .y = d->dstY,
        .z = d->dstZ,
        .pitch = d->dstPitch,
        .height = d->dstHeight != 0 ? d->dstHeight : d->Height,
    };
    *copy = (struct soft_copy){.width = d->WidthInBytes, .height = d->Height, .depth = d->Depth};
    CUresult result = side_from(&from, copy->width, &copy->from);
    if (result == CUDA_SUCCESS)
        result = side_from(&to, copy->width, &copy->to);
    return result == CUDA_SUCCESS ? soft_copy_check(copy) : result;
}

static CUmemorytype type_of(const struct soft_side *side)
{
    return soft_memory_is_on_host(side->address) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

void soft_copy_to_3d(const struct soft_copy *copy, CUDA_MEMCPY3D *description)
{
    *description = (CUDA_MEMCPY3D){
        .srcMemoryType = type_of(&copy->from),
        .srcPitch = copy->from.pitch,
        .srcHeight = copy->from.pitch != 0 ? copy->from.slice / copy->from.pitch : 0,
        .dstMemoryType = type_of(&copy->to),
        .dstPitch = copy->to.pitch,
        .dstHeight = copy->to.pitch != 0 ? copy->to.slice / copy->to.pitch : 0,
        .WidthInBytes = copy->width,
        .Height = copy->height,
        .Depth = copy->depth,
    };
    if (description->srcMemoryType == CU_MEMORYTYPE_HOST)
        description->srcHost = soft_pointer(copy->from.address);
    else
        description->srcDevice = copy->from.address;
    if (description->dstMemoryType == CU_MEMORYTYPE_HOST)
        description->dstHost = soft_pointer(copy->to.address);
    else
        description->dstDevice = copy->to.address;
}
