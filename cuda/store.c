/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/store.h"

#include <stdlib.h>

/* Classes are quarters of powers of two, from 256 bytes: a block is less than a quarter larger
 * than it need be. */
enum { SMALLEST_BITS = 8, QUARTERS = 4, CLASS_COUNT = (48 - SMALLEST_BITS) * QUARTERS };
/* Small classes are cut from slabs, which are small themselves where the limit is. */
#define LARGEST_SLAB (UINT64_C(1) << 20)
#define SMALLEST_SLAB (UINT64_C(1) << 12)
enum { SLABS_IN_LIMIT = 64 };

struct idle {
    rp_device_ptr at;
    rp_stream last; /* the stream of its last use */
};

struct bin {
    struct idle *items;
    size_t count, capacity;
};

/* What came from the driver in one piece. */
struct slab {
    rp_device_ptr at;
    uint64_t bytes;
};

struct rp_store {
    const struct rp_driver *driver;
    struct rp_order *order;
    struct bin bins[CLASS_COUNT];
    struct slab *slabs;
    size_t slab_count, slab_capacity;
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
    free(store->slabs);
    free(store);
}

void rp_store_destroy(struct rp_store *store)
{
    for (size_t i = 0; store && i < store->slab_count; i++)
        store->driver->free(store->driver->self, store->slabs[i].at);
    rp_store_abandon(store);
}

/* The class whose blocks are the smallest that hold `bytes`. */
static unsigned class_of(uint64_t bytes)
{
    if (bytes <= UINT64_C(1) << SMALLEST_BITS)
        return 0;
    unsigned bits = 63 - (unsigned)__builtin_clzll(bytes - 1);
    return (bits - SMALLEST_BITS) * QUARTERS + (unsigned)((bytes - 1) >> (bits - 2) & 3) + 1;
}

static uint64_t class_bytes(unsigned class)
{
    return (uint64_t)(QUARTERS + class % QUARTERS) << (class / QUARTERS + SMALLEST_BITS - 2);
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

static bool make_slab(struct rp_store *store)
{
    if (store->slab_count < store->slab_capacity)
        return true;
    size_t capacity = store->slab_capacity ? store->slab_capacity * 2 : 16;
    struct slab *bigger = realloc(store->slabs, capacity * sizeof *bigger);
    if (!bigger)
        return false;
    store->slabs = bigger;
    store->slab_capacity = capacity;
    return true;
}

static enum rp_status reserve(struct rp_store *store, uint64_t bytes, rp_device_ptr *out)
{
    if (bytes > store->limit || store->reserved > store->limit - bytes)
        rp_store_trim(store, bytes > store->limit ? 0 : store->limit - bytes);
    if (bytes > store->limit || store->reserved > store->limit - bytes || !make_slab(store))
        return RP_NO_MEMORY;
    enum rp_status status = store->driver->alloc(store->driver->self, bytes, out);
    if (status != RP_OK)
        return status;
    store->slabs[store->slab_count++] = (struct slab){*out, bytes};
    store->reserved += bytes;
    return RP_OK;
}

static uint64_t slab_bytes(const struct rp_store *store)
{
    uint64_t share = store->limit / SLABS_IN_LIMIT & ~(SMALLEST_SLAB - 1);
    if (share < SMALLEST_SLAB)
        return SMALLEST_SLAB;
    return share < LARGEST_SLAB ? share : LARGEST_SLAB;
}

/* Small blocks are cut from slabs; where the limit leaves no room for one, from what it does
 * leave room for. */
static enum rp_status cut(struct rp_store *store, uint64_t bytes, rp_device_ptr *out)
{
    uint64_t whole = slab_bytes(store);
    if (bytes >= whole)
        return reserve(store, bytes, out);
    if (store->slab_left < bytes) {
        rp_device_ptr slab;
        if (reserve(store, whole, &slab) != RP_OK)
            return reserve(store, bytes, out);
        store->slab = slab;
        store->slab_left = whole;
    }
    *out = store->slab;
    store->slab += bytes;
    store->slab_left -= bytes;
    return RP_OK;
}

/* The idle block that is the whole of a slab, or NULL. */
static struct idle *find_idle(const struct rp_store *store, const struct slab *slab,
                              struct bin **bin)
{
    unsigned class = class_of(slab->bytes);
    if (class >= CLASS_COUNT || class_bytes(class) != slab->bytes)
        return NULL;
    *bin = (struct bin *)(uintptr_t)&store->bins[class];
    for (size_t i = 0; i < (*bin)->count; i++)
        if ((*bin)->items[i].at == slab->at)
            return &(*bin)->items[i];
    return NULL;
}

void rp_store_trim(struct rp_store *store, uint64_t bytes)
{
    for (size_t i = store->slab_count; i-- > 0 && store->reserved > bytes;) {
        struct slab slab = store->slabs[i];
        struct bin *bin = NULL;
        struct idle *idle = find_idle(store, &slab, &bin);
        if (!idle || store->driver->free(store->driver->self, slab.at) != RP_OK)
            continue;
        *idle = bin->items[--bin->count];
        store->slabs[i] = store->slabs[--store->slab_count];
        store->reserved -= slab.bytes;
    }
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
    uint64_t rounded = class_bytes(class);
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
