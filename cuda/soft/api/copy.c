/* SPDX-License-Identifier: Apache-2.0 */
/* What a copy is. The entry points are in memcpy.c. */
#include "cuda/soft/api/copy.h"

#include "cuda/soft/api/array.h"
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
    const struct soft_allocation *allocation = soft_memory_find(side->address);
    if (side->pageable)
        return true;
    /* No address leads into an array. */
    if ((side->array != NULL) != (allocation != NULL && allocation->kind == SOFT_MEMORY_ARRAY))
        return false;
    return soft_memory_allows(NULL, side->address, extent(copy, side), write);
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

/* In arrays, rows follow each other without a gap, so one row may go on in the next. */
CUresult soft_side_in_array(CUarray handle, uint64_t x, uint64_t y, uint64_t z,
                            const struct soft_copy *copy, struct soft_side *side)
{
    struct soft_array *array;
    CUresult result = soft_array_find(handle, &array);
    if (result != CUDA_SUCCESS)
        return result;
    uint64_t whole = array->width * array->height * array->depth;
    bool is_row = copy->height == 1 && copy->depth == 1;
    unsigned element = soft_array_element(array->described.Format, array->described.NumChannels);
    uint64_t row = is_row ? whole : array->width;

    if (x % element != 0 || copy->width % element != 0 || x > row || copy->width > row - x ||
        y > array->height || copy->height > array->height - y || z > array->depth ||
        copy->depth > array->depth - z)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t offset = (z * array->height + y) * array->width + x;
    if (offset > whole || copy->width > whole - offset)
        return CUDA_ERROR_INVALID_VALUE;
    *side = (struct soft_side){.address = array->address + offset,
                               .pitch = array->width,
                               .slice = array->width * array->height,
                               .array = array};
    return CUDA_SUCCESS;
}

struct place { /* what both ends of the driver's descriptions say */
    CUmemorytype type;
    CUarray array;
    uint64_t host, device;
    uint64_t x, y, z, pitch, height;
};

static CUresult side_from(const struct place *place, const struct soft_copy *copy,
                          struct soft_side *side)
{
    uint64_t pitch = place->pitch != 0 ? place->pitch : copy->width;
    uint64_t base;

    switch (place->type) {
    case CU_MEMORYTYPE_HOST: base = place->host; break;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED: base = place->device; break;
    case CU_MEMORYTYPE_ARRAY:
        return soft_side_in_array(place->array, place->x, place->y, place->z, copy, side);
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
        .array = d->srcArray,
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
        .array = d->dstArray,
        .host = (uintptr_t)d->dstHost,
        .device = d->dstDevice,
        .x = d->dstXInBytes,
        .y = d->dstY,
        .z = d->dstZ,
        .pitch = d->dstPitch,
        .height = d->dstHeight != 0 ? d->dstHeight : d->Height,
    };
    *copy = (struct soft_copy){.width = d->WidthInBytes, .height = d->Height, .depth = d->Depth};
    if (d->srcLOD != 0 || d->dstLOD != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = side_from(&from, copy, &copy->from);
    if (result == CUDA_SUCCESS)
        result = side_from(&to, copy, &copy->to);
    return result == CUDA_SUCCESS ? soft_copy_check(copy) : result;
}

/* One end as the driver tells it. */
static struct place place_of(const struct soft_side *side)
{
    struct place place = {.type = CU_MEMORYTYPE_DEVICE, .pitch = side->pitch};
    if (side->array != NULL) {
        uint64_t offset = side->address - side->array->address, row = side->array->width;
        place.type = CU_MEMORYTYPE_ARRAY;
        place.array = array_handle(side->array);
        place.x = offset % row;
        place.y = offset / row % side->array->height;
        place.z = offset / row / side->array->height;
        place.pitch = 0; /* an array has its own */
        return place;
    }
    place.height = side->pitch != 0 ? side->slice / side->pitch : 0;
    if (soft_memory_is_on_host(side->address)) {
        place.type = CU_MEMORYTYPE_HOST;
        place.host = side->address;
    } else {
        place.device = side->address;
    }
    return place;
}

/* What was copied of an array that has been destroyed since is told as device memory. */
static struct soft_side living(const struct soft_side *side)
{
    struct soft_side alive = *side;
    if (!soft_handle_is(side->array, SOFT_HANDLE_ARRAY))
        alive.array = NULL;
    return alive;
}

void soft_copy_to_3d(const struct soft_copy *copy, CUDA_MEMCPY3D *description)
{
    const struct soft_side from_side = living(&copy->from), to_side = living(&copy->to);
    struct place from = place_of(&from_side), to = place_of(&to_side);

    *description = (CUDA_MEMCPY3D){
        .srcXInBytes = from.x,
        .srcY = from.y,
        .srcZ = from.z,
        .srcMemoryType = from.type,
        .srcHost = soft_pointer(from.host),
        .srcDevice = from.device,
        .srcArray = from.array,
        .srcPitch = from.pitch,
        .srcHeight = from.height,
        .dstXInBytes = to.x,
        .dstY = to.y,
        .dstZ = to.z,
        .dstMemoryType = to.type,
        .dstHost = soft_pointer(to.host),
        .dstDevice = to.device,
        .dstArray = to.array,
        .dstPitch = to.pitch,
        .dstHeight = to.height,
        .WidthInBytes = copy->width,
        .Height = copy->height,
        .Depth = copy->depth,
    };
}
