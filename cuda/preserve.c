/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/preserve.h"

#include "cuda/switches.h"

#include <stdlib.h>

enum { HALF_ALIGNMENT = 512 }; /* of the blocks: copies of aligned bytes are the quickest */

enum rp_status rp_kept_create(struct rp_kept **out)
{
    struct rp_kept *kept = calloc(1, sizeof *kept);
    if (!kept)
        return RP_NO_MEMORY;
    enum rp_status status = rp_versions_create(&kept->versions);
    if (status != RP_OK) {
        free(kept);
        return status;
    }
    *out = kept;
    return RP_OK;
}

static void give(struct rp_copy *copy)
{
    if (copy->block.at)
        rp_store_give(copy->store, &copy->block, copy->stream);
}

void rp_copies_give(struct rp_copies *copies)
{
    for (size_t i = 0; i < copies->count; i++)
        give(&copies->items[i]);
    free(copies->items);
    *copies = (struct rp_copies){0};
}

void rp_kept_destroy(struct rp_kept *kept)
{
    if (!kept)
        return;
    rp_copies_give(&kept->copies);
    rp_versions_destroy(kept->versions);
    free(kept);
}

void rp_kept_clear(struct rp_kept *kept)
{
    rp_copies_give(&kept->copies);
    rp_versions_clear(kept->versions);
}

static enum rp_status copies_push(struct rp_copies *copies, const struct rp_copy *copy)
{
    if (copies->count == copies->capacity) {
        size_t capacity = copies->capacity ? copies->capacity * 2 : 8;
        struct rp_copy *bigger = realloc(copies->items, capacity * sizeof *bigger);
        if (!bigger)
            return RP_NO_MEMORY;
        copies->items = bigger;
        copies->capacity = capacity;
    }
    copies->items[copies->count++] = *copy;
    return RP_OK;
}

enum direction { OUT_OF_LIVE, INTO_LIVE };

/* Moves [lo, hi) of `id` between its live place and `block`, mapping by mapping. */
static enum rp_status move(const struct rp_workbench *bench, enum direction direction,
                           rp_alloc_id id, uint64_t lo, uint64_t hi, rp_device_ptr block,
                           rp_stream stream)
{
    const struct rp_driver *driver = bench->driver;
    while (lo < hi) {
        uint64_t address, left;
        enum rp_status status = rp_memory_address(bench->memory, id, lo, &address, &left);
        if (status != RP_OK)
            return status;
        uint64_t bytes = left < hi - lo ? left : hi - lo;
        rp_device_ptr to = direction == OUT_OF_LIVE ? block : address;
        rp_device_ptr from = direction == OUT_OF_LIVE ? address : block;
        status = driver->copy(driver->self, to, from, bytes, stream);
        if (status != RP_OK)
            return status;
        lo += bytes;
        block += bytes;
    }
    return RP_OK;
}

struct waiting {
    const struct rp_workbench *bench;
    rp_stream stream;
};

static enum rp_status wait_for_writer(void *ctx, uint64_t lo, uint64_t hi,
                                      const struct rp_writer *writer)
{
    (void)lo, (void)hi;
    const struct waiting *waiting = ctx;
    if (!writer->version || !rp_switch_on(RP_SWITCH_ORDER))
        return RP_OK;
    return rp_order_after_write(waiting->bench->order, waiting->stream, writer->stream,
                                writer->seq);
}

/* The copy must see every write that the versions know of, and those that they have forgotten. */
static enum rp_status wait_for_writers(const struct rp_workbench *bench, rp_alloc_id id,
                                       uint64_t lo, uint64_t hi, rp_stream stream)
{
    struct waiting waiting = {bench, stream};
    enum rp_status status =
        rp_versions_read(bench->versions, id, lo, hi, wait_for_writer, &waiting);
    return status == RP_OK ? rp_crossing_after_writes(bench->crossing, id, lo, hi, stream) : status;
}

/* A block for what `copy` is to hold, in the refuge where the store has no room. */
static enum rp_status take(struct rp_copy *copy, const struct rp_workbench *bench, uint32_t owner)
{
    uint64_t bytes = copy->hi - copy->lo;
    copy->store = bench->store;
    enum rp_status status = rp_store_take(copy->store, bytes, copy->stream, &copy->block);
    struct rp_store *refuge =
        status == RP_NO_MEMORY && bench->refuge ? bench->refuge(bytes) : NULL;
    if (!refuge)
        return status;
    rp_meter(bench, owner, RP_COPYING_ABROAD, bytes, copy->stream);
    copy->store = refuge;
    return rp_store_take(refuge, bytes, copy->stream, &copy->block);
}

/* Copies [lo, cut) and [cut, hi), one after the other; nothing, where cut is hi, of the latter. */
static enum rp_status copy_out(struct rp_copies *copies, const struct rp_workbench *bench,
                               uint32_t owner, rp_alloc_id id, uint64_t lo, uint64_t cut,
                               uint64_t hi, rp_stream stream)
{
    struct rp_copy copy = {.id = id, .lo = lo, .hi = hi, .stream = stream};
    enum rp_status status = wait_for_writers(bench, id, lo, hi, stream);
    if (status == RP_OK)
        status = take(&copy, bench, owner);
    if (status != RP_OK)
        return status;
    status = move(bench, OUT_OF_LIVE, id, lo, cut, copy.block.at, stream);
    if (status == RP_OK)
        status = move(bench, OUT_OF_LIVE, id, cut, hi, copy.block.at + (cut - lo), stream);
    if (status == RP_OK)
        status = copies_push(copies, &copy);
    if (status != RP_OK)
        give(&copy);
    return status;
}

enum rp_status rp_copy_aside(struct rp_copies *copies, const struct rp_workbench *bench,
                             uint32_t owner, rp_alloc_id id, uint64_t lo, uint64_t hi,
                             rp_stream stream)
{
    return copy_out(copies, bench, owner, id, lo, hi, hi, stream);
}

enum rp_status rp_copy_out(struct rp_copies *copies, const struct rp_workbench *bench,
                           rp_alloc_id id, uint64_t lo, uint64_t hi, rp_stream stream)
{
    struct rp_workbench here = *bench;
    here.refuge = NULL;
    return copy_out(copies, &here, 0, id, lo, hi, hi, stream);
}

enum rp_status rp_copy_move(struct rp_copy *copy, const struct rp_workbench *bench)
{
    const struct rp_driver *driver = bench->driver;
    struct rp_copy moved = *copy;
    moved.store = bench->store;
    enum rp_status status =
        rp_store_take(bench->store, copy->hi - copy->lo, copy->stream, &moved.block);
    if (status != RP_OK)
        return status;
    status = driver->copy(driver->self, moved.block.at, copy->block.at, copy->hi - copy->lo,
                          copy->stream);
    give(status == RP_OK ? copy : &moved);
    if (status == RP_OK)
        *copy = moved;
    return status;
}

enum rp_status rp_copy_in(struct rp_copy *copy, const struct rp_workbench *bench, uint64_t lo,
                          uint64_t hi, rp_stream stream)
{
    if (!copy->block.at) /* a pointer was kept instead of content: what is there is there */
        return RP_OK;
    if (rp_switch_on(RP_SWITCH_ORDER)) {
        enum rp_status status = rp_order_after(bench->order, stream, copy->stream);
        if (status != RP_OK)
            return status;
    }
    copy->stream = stream;
    return move(bench, INTO_LIVE, copy->id, lo, hi, copy->block.at + (lo - copy->lo), stream);
}

enum rp_status rp_copy_to(struct rp_copy *copy, const struct rp_workbench *bench, uint64_t from,
                          rp_alloc_id id, uint64_t lo, uint64_t hi, rp_stream stream)
{
    if (rp_switch_on(RP_SWITCH_ORDER)) {
        enum rp_status status = rp_order_after(bench->order, stream, copy->stream);
        if (status != RP_OK)
            return status;
    }
    copy->stream = stream;
    return move(bench, INTO_LIVE, id, lo, hi, copy->block.at + from, stream);
}

enum rp_status rp_copy_across(const struct rp_workbench *bench, rp_alloc_id source, uint64_t from,
                              rp_alloc_id id, uint64_t lo, uint64_t hi, rp_stream stream)
{
    enum rp_status status = wait_for_writers(bench, source, from, from + (hi - lo), stream);
    while (status == RP_OK && lo < hi) {
        uint64_t address, left;
        status = rp_memory_address(bench->memory, source, from, &address, &left);
        if (status != RP_OK)
            break;
        uint64_t bytes = left < hi - lo ? left : hi - lo;
        status = move(bench, INTO_LIVE, id, lo, lo + bytes, address, stream);
        from += bytes;
        lo += bytes;
    }
    return status;
}

struct naming {
    struct rp_versions *versions;
    rp_alloc_id id;
};

static enum rp_status name_version(void *ctx, uint64_t lo, uint64_t hi,
                                   const struct rp_writer *writer)
{
    const struct naming *naming = ctx;
    return rp_versions_write(naming->versions, naming->id, lo, hi, writer);
}

/* Where to cut, so that the second half is aligned as the first; `hi` for not at all. */
static uint64_t cut_of(const struct rp_workbench *bench, uint64_t lo, uint64_t hi)
{
    uint64_t half = (hi - lo) / 2 / HALF_ALIGNMENT * HALF_ALIGNMENT;
    return bench->in_halves && half ? lo + half : hi;
}

enum rp_status rp_kept_preserve(struct rp_kept *kept, const struct rp_workbench *bench,
                                rp_alloc_id id, uint64_t lo, uint64_t hi, rp_stream stream)
{
    if (!rp_switch_on(RP_SWITCH_PRESERVE))
        return RP_OK;
    enum rp_status status;
    if (rp_switch_on(RP_SWITCH_COPY_ON_SAVE)) {
        uint64_t cut = cut_of(bench, lo, hi);
        rp_meter(bench, kept->owner, cut < hi ? RP_COPYING_HALVES : RP_COPYING_PRESERVE, hi - lo,
                 stream);
        status = copy_out(&kept->copies, bench, kept->owner, id, lo, cut, hi, stream);
    } else {
        struct rp_copy pointer = {.id = id, .lo = lo, .hi = hi, .stream = stream};
        status = copies_push(&kept->copies, &pointer);
    }
    if (status != RP_OK)
        return status;
    struct naming naming = {kept->versions, id};
    return rp_versions_read(bench->versions, id, lo, hi, name_version, &naming);
}

enum rp_status rp_kept_adopt(struct rp_kept *kept, const struct rp_workbench *bench,
                             struct rp_copy *from, const struct rp_versions *versions,
                             uint64_t lo, uint64_t hi, rp_stream stream)
{
    const struct rp_driver *driver = bench->driver;
    struct rp_copy copy = {.id = from->id, .lo = lo, .hi = hi, .stream = stream};
    enum rp_status status = RP_OK;
    rp_meter(bench, kept->owner, RP_COPYING_PRESERVE, hi - lo, stream);
    if (rp_switch_on(RP_SWITCH_ORDER))
        status = rp_order_after(bench->order, stream, from->stream);
    if (status == RP_OK)
        status = take(&copy, bench, kept->owner);
    if (status != RP_OK)
        return status;
    from->stream = stream;
    status = driver->copy(driver->self, copy.block.at, from->block.at + (lo - from->lo), hi - lo,
                          stream);
    if (status == RP_OK)
        status = copies_push(&kept->copies, &copy);
    if (status != RP_OK) {
        give(&copy);
        return status;
    }
    struct naming naming = {kept->versions, from->id};
    return rp_versions_read(versions, from->id, lo, hi, name_version, &naming);
}

uint64_t rp_kept_bytes(const struct rp_kept *kept)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < kept->copies.count; i++)
        bytes += kept->copies.items[i].hi - kept->copies.items[i].lo;
    return bytes;
}
