/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/bins.h"

#include "tracker/array.h"

#include <stdlib.h>

void rp_bins_release(struct rp_bins *bins)
{
    for (size_t i = 0; i < bins->count; i++)
        free(bins->items[i].items);
    free(bins->items);
}

void rp_bins_drop_empty(struct rp_bins *bins)
{
    size_t kept = 0;
    for (size_t i = 0; i < bins->count; i++) {
        if (bins->items[i].count)
            bins->items[kept++] = bins->items[i];
        else
            free(bins->items[i].items);
    }
    bins->count = kept;
}

/* Where the bin of this size is, or ought to be. */
static size_t place(const struct rp_bins *bins, uint64_t bytes)
{
    size_t low = 0, high = bins->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bins->items[middle].bytes < bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct rp_bin *rp_bins_find(const struct rp_bins *bins, uint64_t bytes)
{
    size_t at = place(bins, bytes);
    return at < bins->count && bins->items[at].bytes == bytes ? &bins->items[at] : NULL;
}

/* NULL when the host is out of memory. */
static struct rp_bin *make(struct rp_bins *bins, uint64_t bytes)
{
    struct rp_bin *found = rp_bins_find(bins, bytes);
    if (found)
        return found;
    struct rp_bin *items = rp_array_reserve(bins->items, &bins->capacity, bins->count + 1,
                                            sizeof *items);
    if (!items)
        return NULL;
    bins->items = items;
    size_t at = place(bins, bytes);
    const struct rp_bin made = {.bytes = bytes};
    rp_array_splice(items, &bins->count, at, at, &made, 1, sizeof made);
    return &items[at];
}

enum rp_status rp_bins_put(struct rp_bins *bins, uint64_t bytes, struct rp_idle idle)
{
    struct rp_bin *bin = make(bins, bytes);
    struct rp_idle *items = bin ? rp_array_reserve(bin->items, &bin->capacity, bin->count + 1,
                                                   sizeof *items)
                                : NULL;
    if (!items)
        return RP_NO_MEMORY;
    bin->items = items;
    items[bin->count++] = idle;
    return RP_OK;
}

/* Prefers a block last used in the same stream: that one needs no waiting. None (bin->count) where
 * all the others may never be free before this stream goes on. */
static size_t choose(const struct rp_bins *bins, const struct rp_bin *bin, rp_stream stream)
{
    size_t chosen = bin->count;
    bool is_shut = rp_order_is_shut(bins->order, stream);
    for (size_t i = bin->count; i-- > 0;) {
        if (bin->items[i].last == stream)
            return i;
        if (chosen == bin->count &&
            (is_shut || !rp_order_is_shut(bins->order, bin->items[i].last)))
            chosen = i;
    }
    return chosen;
}

static bool has_idle(const struct rp_bins *bins, const struct rp_bin *bin, rp_stream stream)
{
    return choose(bins, bin, stream) < bin->count;
}

struct rp_bin *rp_bins_find_for(const struct rp_bins *bins, uint64_t bytes, rp_stream stream)
{
    struct rp_bin *bin = rp_bins_find(bins, bytes);
    return bin && has_idle(bins, bin, stream) ? bin : NULL;
}

struct rp_bin *rp_bins_find_larger(const struct rp_bins *bins, uint64_t bytes, rp_stream stream)
{
    for (size_t i = place(bins, bytes + 1); i < bins->count; i++)
        if (has_idle(bins, &bins->items[i], stream))
            return &bins->items[i];
    return NULL;
}

enum rp_status rp_bins_take(const struct rp_bins *bins, struct rp_bin *bin, rp_stream stream,
                            rp_device_ptr *out)
{
    struct rp_idle *chosen = &bin->items[choose(bins, bin, stream)];
    enum rp_status status = rp_order_after(bins->order, stream, chosen->last);
    if (status != RP_OK)
        return status;
    *out = chosen->at;
    rp_bin_remove(bin, chosen);
    return RP_OK;
}

struct rp_idle *rp_bin_find(const struct rp_bin *bin, rp_device_ptr at)
{
    for (size_t i = 0; i < bin->count; i++)
        if (bin->items[i].at == at)
            return &bin->items[i];
    return NULL;
}

void rp_bin_remove(struct rp_bin *bin, struct rp_idle *idle)
{
    *idle = bin->items[--bin->count];
}
