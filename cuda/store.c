/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/store.h"

#include "cuda/lodging.h"
#include "cuda/switches.h"
#include "tracker/array.h"

#include <stdlib.h>

/* Classes are quarters of powers of two, from 256 bytes: a block is less than a quarter larger
 * than it need be. */
enum { SMALLEST_BITS = 8, QUARTERS = 4, LARGEST_BITS = 48 };
/* Small classes are cut from slabs, which are small themselves where the limit is. */
#define LARGEST_SLAB (UINT64_C(1) << 20)
#define SMALLEST_SLAB (UINT64_C(1) << 12)
enum { SLABS_IN_LIMIT = 64 };

struct idle {
    rp_device_ptr at;
    rp_stream last; /* the stream of its last use */
};

/* The idle blocks of one size. */
struct bin {
    uint64_t bytes;
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
    bool exact;
    struct bin *bins; /* by size */
    size_t bin_count, bin_capacity;
    struct slab *slabs;
    size_t slab_count, slab_capacity;
    rp_device_ptr slab;
    uint64_t slab_left;
    uint64_t limit, aim, reserved, held, held_peak;
    uint64_t out; /* what the blocks that are out take, be it in larger ones */
    struct rp_lodging lodging;
    rp_store_spare_fn spare; /* NULL when nobody can spare anything */
    rp_store_grown_fn grown; /* NULL when nobody wants to know */
};

enum rp_status rp_store_create(const struct rp_driver *driver, struct rp_order *order,
                               struct rp_store **out)
{
    struct rp_store *store = calloc(1, sizeof *store);
    if (!store)
        return RP_NO_MEMORY;
    store->driver = driver;
    store->order = order;
    store->limit = store->aim = UINT64_MAX;
    *out = store;
    return RP_OK;
}

void rp_store_fit_exactly(struct rp_store *store)
{
    store->exact = true;
}

void rp_store_abandon(struct rp_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < store->bin_count; i++)
        free(store->bins[i].items);
    free(store->bins);
    free(store->slabs);
    free(store);
}

void rp_store_destroy(struct rp_store *store)
{
    for (size_t i = 0; store && i < store->slab_count; i++)
        (void)store->driver->free(store->driver->self, store->slabs[i].at);
    rp_store_abandon(store);
}

/* ---- sizes ------------------------------------------------------------------ */

static uint64_t class_bytes(uint64_t bytes)
{
    if (bytes <= UINT64_C(1) << SMALLEST_BITS)
        return UINT64_C(1) << SMALLEST_BITS;
    unsigned bits = 63 - (unsigned)__builtin_clzll(bytes - 1);
    uint64_t quarter = UINT64_C(1) << (bits - 2);
    return ((bytes - 1) / quarter + 1) * quarter;
}

/* What a block of `bytes` takes; never 0. */
static uint64_t block_bytes(const struct rp_store *store, uint64_t bytes)
{
    uint64_t some = bytes ? bytes : 1;
    return store->exact ? rp_store_block_bytes(some) : class_bytes(some);
}

/* Where the bin of this size is, or ought to be. */
static size_t bin_place(const struct rp_store *store, uint64_t bytes)
{
    size_t low = 0, high = store->bin_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (store->bins[middle].bytes < bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* NULL when there is none. */
static struct bin *bin_find(const struct rp_store *store, uint64_t bytes)
{
    size_t at = bin_place(store, bytes);
    return at < store->bin_count && store->bins[at].bytes == bytes ? &store->bins[at] : NULL;
}

/* Prefers a block last used in the same stream: that one needs no waiting. None (bin->count) where
 * all the others may never be free before this stream goes on. */
static size_t bin_choose(const struct rp_store *store, const struct bin *bin, rp_stream stream)
{
    size_t chosen = bin->count;
    bool is_shut = rp_order_is_shut(store->order, stream);
    for (size_t i = bin->count; i-- > 0;) {
        if (bin->items[i].last == stream)
            return i;
        if (chosen == bin->count &&
            (is_shut || !rp_order_is_shut(store->order, bin->items[i].last)))
            chosen = i;
    }
    return chosen;
}

static bool has_idle(const struct rp_store *store, const struct bin *bin, rp_stream stream)
{
    return bin_choose(store, bin, stream) < bin->count;
}

/* The bin of this size where it has idle blocks for `stream`, else NULL. */
static struct bin *idle_bin(const struct rp_store *store, uint64_t bytes, rp_stream stream)
{
    struct bin *bin = bin_find(store, bytes);
    return bin && has_idle(store, bin, stream) ? bin : NULL;
}

/* NULL when the host is out of memory. */
static struct bin *bin_make(struct rp_store *store, uint64_t bytes)
{
    struct bin *found = bin_find(store, bytes);
    if (found)
        return found;
    struct bin *bins = rp_array_reserve(store->bins, &store->bin_capacity, store->bin_count + 1,
                                        sizeof *bins);
    if (!bins)
        return NULL;
    store->bins = bins;
    size_t at = bin_place(store, bytes);
    const struct bin made = {.bytes = bytes};
    rp_array_splice(bins, &store->bin_count, at, at, &made, 1, sizeof made);
    return &bins[at];
}

static enum rp_status bin_push(struct rp_store *store, uint64_t bytes, struct idle idle)
{
    struct bin *bin = bin_make(store, bytes);
    struct idle *items = bin ? rp_array_reserve(bin->items, &bin->capacity, bin->count + 1,
                                                sizeof *items)
                             : NULL;
    if (!items)
        return RP_NO_MEMORY;
    bin->items = items;
    items[bin->count++] = idle;
    return RP_OK;
}

/* ---- from the driver, and back ---------------------------------------------- */

/* The idle block that is the whole of a slab, or NULL. */
static struct idle *find_idle(const struct rp_store *store, const struct slab *slab,
                              struct bin **bin)
{
    *bin = bin_find(store, slab->bytes);
    for (size_t i = 0; *bin && i < (*bin)->count; i++)
        if ((*bin)->items[i].at == slab->at)
            return &(*bin)->items[i];
    return NULL;
}

/* Sizes that do not come again must not make the list of bins grow for ever. */
static void drop_empty_bins(struct rp_store *store)
{
    size_t kept = 0;
    for (size_t i = 0; i < store->bin_count; i++) {
        if (store->bins[i].count)
            store->bins[kept++] = store->bins[i];
        else
            free(store->bins[i].items);
    }
    store->bin_count = kept;
}

/* The driver waits for all that the device has been given: not to be asked where that may wait for
 * the host. */
void rp_store_trim(struct rp_store *store, uint64_t bytes)
{
    bool may_wait = !rp_order_is_any_shut(store->order);
    for (size_t i = store->slab_count; may_wait && i-- > 0 && store->reserved > bytes;) {
        struct slab slab = store->slabs[i];
        struct bin *bin = NULL;
        struct idle *idle = find_idle(store, &slab, &bin);
        if (!idle || store->driver->free(store->driver->self, slab.at) != RP_OK)
            continue;
        *idle = bin->items[--bin->count];
        store->slabs[i] = store->slabs[--store->slab_count];
        store->reserved -= slab.bytes;
    }
    drop_empty_bins(store);
}

/* Trims so that `bytes` more stay within `most`; false where that can't be had. */
static bool make_room(struct rp_store *store, uint64_t bytes, uint64_t most)
{
    uint64_t rest = bytes <= most ? most - bytes : 0;
    if (store->reserved > rest)
        rp_store_trim(store, rest);
    return bytes <= most && store->reserved <= rest;
}

static enum rp_status reserve(struct rp_store *store, uint64_t bytes, rp_device_ptr *out)
{
    struct slab *slabs = rp_array_reserve(store->slabs, &store->slab_capacity,
                                          store->slab_count + 1, sizeof *slabs);
    if (!slabs)
        return RP_NO_MEMORY;
    store->slabs = slabs;
    make_room(store, bytes, store->aim);
    if (!make_room(store, bytes, store->limit))
        return RP_NO_MEMORY;
    enum rp_status status = store->driver->alloc(store->driver->self, bytes, out);
    if (status == RP_NO_MEMORY && store->reserved) {
        rp_store_trim(store, 0);
        status = store->driver->alloc(store->driver->self, bytes, out);
    }
    if (status != RP_OK)
        return status;
    store->slabs[store->slab_count++] = (struct slab){*out, bytes};
    store->reserved += bytes;
    if (store->grown)
        store->grown();
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
    if (store->exact || bytes >= whole)
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

/* ---- blocks ----------------------------------------------------------------- */

static bool is_spared(const struct rp_store *store, bool needed)
{
    return store->spare && store->spare(needed);
}

static enum rp_status take_idle(struct rp_store *store, struct bin *bin, rp_stream stream,
                                rp_device_ptr *out)
{
    size_t chosen = bin_choose(store, bin, stream);
    enum rp_status status = rp_order_after(store->order, stream, bin->items[chosen].last);
    if (status != RP_OK)
        return status;
    *out = bin->items[chosen].at;
    bin->items[chosen] = bin->items[--bin->count];
    return RP_OK;
}

/* The bin of the smallest idle blocks for `stream` that are larger, or NULL. */
static struct bin *larger_bin(const struct rp_store *store, uint64_t bytes, rp_stream stream)
{
    for (size_t i = bin_place(store, bytes + 1); i < store->bin_count; i++)
        if (has_idle(store, &store->bins[i], stream))
            return &store->bins[i];
    return NULL;
}

/* Of an exact store, and of a size that was never watched: none of its blocks lodges. */
static uint64_t count_out(const struct rp_store *store, uint64_t bytes)
{
    const struct bin *bin = bin_find(store, bytes);
    uint64_t count = 0;
    for (size_t i = 0; i < store->slab_count; i++)
        count += store->slabs[i].bytes == bytes;
    return count - (bin ? bin->count : 0);
}

/* The bin to lodge in, where the aim has no room for one more block; NULL: the block is to be an
 * allocation of its own. */
static struct bin *find_lodging(struct rp_store *store, uint64_t bytes, rp_stream stream)
{
    bool has_room = bytes <= store->aim && store->reserved <= store->aim - bytes;
    struct bin *host = store->exact && !has_room ? larger_bin(store, bytes, stream) : NULL;
    if (!host || !rp_switch_on(RP_SWITCH_LODGING))
        return NULL;
    if (rp_lodging_allows(&store->lodging, bytes, host->bytes - bytes))
        return host;
    rp_lodging_watch(&store->lodging, bytes, count_out(store, bytes));
    return NULL;
}

static enum rp_status lodge(struct rp_store *store, struct bin *host, uint64_t bytes,
                            rp_stream stream, rp_device_ptr *out)
{
    enum rp_status status = take_idle(store, host, stream, out);
    if (status == RP_OK)
        rp_lodging_settle(&store->lodging, *out, bytes, host->bytes);
    return status;
}

static enum rp_status take(struct rp_store *store, uint64_t bytes, rp_stream stream,
                           rp_device_ptr *out)
{
    struct bin *idle = idle_bin(store, bytes, stream);
    while (!idle && store->slab_left < bytes && is_spared(store, false))
        idle = idle_bin(store, bytes, stream);
    if (idle)
        return take_idle(store, idle, stream, out);
    struct bin *host = find_lodging(store, bytes, stream);
    if (host)
        return lodge(store, host, bytes, stream, out);
    enum rp_status status = cut(store, bytes, out);
    while (status == RP_NO_MEMORY && is_spared(store, true)) {
        idle = idle_bin(store, bytes, stream);
        status = idle ? take_idle(store, idle, stream, out) : cut(store, bytes, out);
    }
    return status;
}

static void see_free(struct rp_store *store)
{
    rp_lodging_see(&store->lodging, store->out < store->aim ? store->aim - store->out : 0);
}

/* Blocks go out or come back, and what is watched is told. */
static void count_block(struct rp_store *store, uint64_t bytes, bool out)
{
    store->out = out ? store->out + bytes : store->out - bytes;
    rp_lodging_count(&store->lodging, bytes, out);
    see_free(store);
}

enum rp_status rp_store_take(struct rp_store *store, uint64_t bytes, rp_stream stream,
                             struct rp_block *out)
{
    *out = (struct rp_block){.bytes = bytes};
    enum rp_status status = bytes >> LARGEST_BITS
                                ? RP_NO_MEMORY
                                : take(store, block_bytes(store, bytes), stream, &out->at);
    if (status != RP_OK)
        return status;
    count_block(store, block_bytes(store, bytes), true);
    store->held += bytes;
    if (store->held > store->held_peak)
        store->held_peak = store->held;
    return RP_OK;
}

void rp_store_give(struct rp_store *store, const struct rp_block *block, rp_stream stream)
{
    uint64_t bytes = block_bytes(store, block->bytes);
    store->held -= block->bytes;
    count_block(store, bytes, false);
    (void)bin_push(store, rp_lodging_leave(&store->lodging, block->at, bytes),
                   (struct idle){.at = block->at, .last = stream});
}

void rp_store_on_shortage(struct rp_store *store, rp_store_spare_fn spare)
{
    store->spare = spare;
}

void rp_store_on_growth(struct rp_store *store, rp_store_grown_fn grown)
{
    store->grown = grown;
}

void rp_store_limit(struct rp_store *store, uint64_t bytes)
{
    store->limit = bytes;
}

void rp_store_aim(struct rp_store *store, uint64_t bytes)
{
    store->aim = bytes;
    see_free(store);
}

void rp_store_step(struct rp_store *store)
{
    rp_lodging_step(&store->lodging);
}

void rp_store_relearn(struct rp_store *store)
{
    rp_lodging_relearn(&store->lodging);
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
