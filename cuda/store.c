/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/store.h"

#include <stdlib.h>

enum { SMALLEST_CLASS = 8, CLASS_COUNT = 48 }; /* classes are powers of two from 256 bytes */
#define SLAB_BYTES (UINT64_C(1) << 20)         /* small classes are cut from slabs */

struct idle {
    rp_device_ptr at;
    rp_stream last; /* the stream of its last use */
};

struct bin {
    struct idle *items;
    size_t count, capacity;
};

struct rp_store {
    const struct rp_driver *driver;
    struct rp_order *order;
    struct bin bins[CLASS_COUNT];
    struct bin slabs; /* everything that came from the driver, to be freed at the end */
    rp_device_ptr slab;
    uint64_t slab_left;
    uint64_t limit, reserved, held, held_peak;
    rp_store_spare_fn spare; /* NULL when nobody can spare anything */
};

enum rp_status rp_store_create(const struct rp_driver *driver, struct rp_order *order,
                               struct rp_store **out)
{
    struct rp_store *store = calloc(1, sizeof *store);
    if (!store)
        return RP_NO_MEMORY;
    store->driver = driver;
    store->order = order;
    store->limit = UINT64_MAX;
    *out = store;
    return RP_OK;
}

void rp_store_abandon(struct rp_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < CLASS_COUNT; i++)
        free(store->bins[i].items);
    free(store->slabs.items);
    free(store);
}

void rp_store_destroy(struct rp_store *store)
{
    for (size_t i = 0; store && i < store->slabs.count; i++)
        store->driver->free(store->driver->self, store->slabs.items[i].at);
    rp_store_abandon(store);
}

static unsigned class_of(uint64_t bytes)
{
    unsigned bits = bytes > 1 ? 64 - (unsigned)__builtin_clzll(bytes - 1) : 0;
    return bits < SMALLEST_CLASS ? SMALLEST_CLASS : bits;
}

static enum rp_status bin_push(struct bin *bin, struct idle idle)
{
    if (bin->count == bin->capacity) {
        size_t capacity = bin->capacity ? bin->capacity * 2 : 16;
        struct idle *bigger = realloc(bin->items, capacity * sizeof *bigger);
        if (!bigger)
            return RP_NO_MEMORY;
        bin->items = bigger;
        bin->capacity = capacity;
    }
    bin->items[bin->count++] = idle;
    return RP_OK;
}

static enum rp_status reserve(struct rp_store *store, uint64_t bytes, rp_device_ptr *out)
{
    if (bytes > store->limit || store->reserved > store->limit - bytes)
        return RP_NO_MEMORY;
    enum rp_status status = store->driver->alloc(store->driver->self, bytes, out);
    if (status != RP_OK)
        return status;
    status = bin_push(&store->slabs, (struct idle){.at = *out});
    if (status != RP_OK) {
        store->driver->free(store->driver->self, *out);
        return status;
    }
    store->reserved += bytes;
    return RP_OK;
}

/* Small blocks are cut from slabs; where the limit leaves no room for one, from what it does
 * leave room for. */
static enum rp_status cut(struct rp_store *store, uint64_t bytes, rp_device_ptr *out)
{
    if (bytes >= SLAB_BYTES)
        return reserve(store, bytes, out);
    if (store->slab_left < bytes) {
        rp_device_ptr slab;
        if (reserve(store, SLAB_BYTES, &slab) != RP_OK)
            return reserve(store, bytes, out);
        store->slab = slab;
        store->slab_left = SLAB_BYTES;
    }
    *out = store->slab;
    store->slab += bytes;
    store->slab_left -= bytes;
    return RP_OK;
}

/* Prefers a block last used in the same stream: that one needs no waiting. */
static size_t bin_choose(const struct bin *bin, rp_stream stream)
{
    for (size_t i = bin->count; i-- > 0;)
        if (bin->items[i].last == stream)
            return i;
    return bin->count - 1;
}

static bool is_spared(const struct rp_store *store, bool needed)
{
    return store->spare && store->spare(needed);
}

static enum rp_status take_idle(struct rp_store *store, struct bin *bin, rp_stream stream,
                                struct rp_block *out)
{
    size_t chosen = bin_choose(bin, stream);
    enum rp_status status = rp_order_after(store->order, stream, bin->items[chosen].last);
    if (status != RP_OK)
        return status;
    out->at = bin->items[chosen].at;
    bin->items[chosen] = bin->items[--bin->count];
    return RP_OK;
}

static enum rp_status take(struct rp_store *store, unsigned class, rp_stream stream,
                           struct rp_block *out)
{
    struct bin *bin = &store->bins[class];
    uint64_t rounded = UINT64_C(1) << class;
    while (!bin->count && store->slab_left < rounded && is_spared(store, false)) {
    }
    if (bin->count)
        return take_idle(store, bin, stream, out);
    enum rp_status status = cut(store, rounded, &out->at);
    while (status == RP_NO_MEMORY && !bin->count && is_spared(store, true)) {
    }
    return status == RP_NO_MEMORY && bin->count ? take_idle(store, bin, stream, out) : status;
}

enum rp_status rp_store_take(struct rp_store *store, uint64_t bytes, rp_stream stream,
                             struct rp_block *out)
{
    unsigned class = class_of(bytes);
    *out = (struct rp_block){.bytes = bytes};
    enum rp_status status = class < CLASS_COUNT ? take(store, class, stream, out) : RP_NO_MEMORY;
    if (status != RP_OK)
        return status;
    store->held += bytes;
    if (store->held > store->held_peak)
        store->held_peak = store->held;
    return RP_OK;
}

enum rp_status rp_store_give(struct rp_store *store, const struct rp_block *block,
                             rp_stream stream)
{
    store->held -= block->bytes;
    return bin_push(&store->bins[class_of(block->bytes)],
                    (struct idle){.at = block->at, .last = stream});
}

void rp_store_on_shortage(struct rp_store *store, rp_store_spare_fn spare)
{
    store->spare = spare;
}

void rp_store_limit(struct rp_store *store, uint64_t bytes)
{
    store->limit = bytes;
}

uint64_t rp_store_reserved(const struct rp_store *store)
{
    return store->reserved;
}

uint64_t rp_store_held(const struct rp_store *store)
{
    return store->held;
}

uint64_t rp_store_held_peak(const struct rp_store *store)
{
    return store->held_peak;
}
