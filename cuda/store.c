/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/store.h"

#include "cuda/bins.h"
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

/* What came from the driver in one piece. */
struct slab {
    rp_device_ptr at;
    uint64_t bytes;
};

struct rp_store {
    const struct rp_driver *driver;
    struct rp_order *order;
    bool exact;
    struct rp_bins bins;
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
    store->bins.order = order;
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
    rp_bins_release(&store->bins);
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

/* ---- from the driver, and back ---------------------------------------------- */

/* The driver waits for all that the device has been given: not to be asked where that may wait for
 * the host. */
void rp_store_trim(struct rp_store *store, uint64_t bytes)
{
    bool may_wait = !rp_order_is_any_shut(store->order);
    for (size_t i = store->slab_count; may_wait && i-- > 0 && store->reserved > bytes;) {
        struct slab slab = store->slabs[i];
        struct rp_bin *bin = rp_bins_find(&store->bins, slab.bytes);
        struct rp_idle *idle = bin ? rp_bin_find(bin, slab.at) : NULL;
        if (!idle || store->driver->free(store->driver->self, slab.at) != RP_OK)
            continue;
        rp_bin_remove(bin, idle);
        store->slabs[i] = store->slabs[--store->slab_count];
        store->reserved -= slab.bytes;
    }
    rp_bins_drop_empty(&store->bins);
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

/* Of an exact store, and of a size that was never watched: none of its blocks lodges. */
static uint64_t count_out(const struct rp_store *store, uint64_t bytes)
{
    const struct rp_bin *bin = rp_bins_find(&store->bins, bytes);
    uint64_t count = 0;
    for (size_t i = 0; i < store->slab_count; i++)
        count += store->slabs[i].bytes == bytes;
    return count - (bin ? bin->count : 0);
}

/* The bin to lodge in, where the aim has no room for one more block; NULL: the block is to be an
 * allocation of its own. */
static struct rp_bin *find_lodging(struct rp_store *store, uint64_t bytes, rp_stream stream)
{
    bool has_room = bytes <= store->aim && store->reserved <= store->aim - bytes;
    struct rp_bin *host =
        store->exact && !has_room ? rp_bins_find_larger(&store->bins, bytes, stream) : NULL;
    if (!host || !rp_switch_on(RP_SWITCH_LODGING))
        return NULL;
    if (rp_lodging_allows(&store->lodging, bytes, host->bytes - bytes))
        return host;
    rp_lodging_watch(&store->lodging, bytes, count_out(store, bytes));
    return NULL;
}

static enum rp_status lodge(struct rp_store *store, struct rp_bin *host, uint64_t bytes,
                            rp_stream stream, rp_device_ptr *out)
{
    enum rp_status status = rp_bins_take(&store->bins, host, stream, out);
    if (status == RP_OK)
        rp_lodging_settle(&store->lodging, *out, bytes, host->bytes);
    return status;
}

static enum rp_status take(struct rp_store *store, uint64_t bytes, rp_stream stream,
                           rp_device_ptr *out)
{
    struct rp_bins *bins = &store->bins;
    struct rp_bin *idle = rp_bins_find_for(bins, bytes, stream);
    while (!idle && store->slab_left < bytes && is_spared(store, false))
        idle = rp_bins_find_for(bins, bytes, stream);
    if (idle)
        return rp_bins_take(bins, idle, stream, out);
    struct rp_bin *host = find_lodging(store, bytes, stream);
    if (host)
        return lodge(store, host, bytes, stream, out);
    enum rp_status status = cut(store, bytes, out);
    while (status == RP_NO_MEMORY && is_spared(store, true)) {
        idle = rp_bins_find_for(bins, bytes, stream);
        status = idle ? rp_bins_take(bins, idle, stream, out) : cut(store, bytes, out);
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
    (void)rp_bins_put(&store->bins, rp_lodging_leave(&store->lodging, block->at, bytes),
                      (struct rp_idle){.at = block->at, .last = stream});
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
