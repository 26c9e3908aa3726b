/* SPDX-License-Identifier: Apache-2.0 */
/* Bins: the idle blocks of a store, by size.
 *
 * An idle block may still be in use by the device, in the stream that it was last used in. Whoever
 * takes it waits for that, so a block of the same stream is preferred; one whose stream may never
 * get there before the taker goes on (order.h, shut) is not given at all.
 *
 * Not thread-safe; the owner holds one lock around all calls. */
#ifndef RP_CUDA_BINS_H
#define RP_CUDA_BINS_H

#include "cuda/driver.h"
#include "cuda/order.h"

#include <stddef.h>

struct rp_idle {
    rp_device_ptr at;
    rp_stream last; /* the stream of its last use */
};

/* The idle blocks of one size. A pointer to one is good until a block is put into the bins or empty
 * bins are dropped. */
struct rp_bin {
    uint64_t bytes;
    struct rp_idle *items;
    size_t count, capacity;
};

struct rp_bins {
    struct rp_order *order;
    struct rp_bin *items; /* by size */
    size_t count, capacity;
};

void rp_bins_release(struct rp_bins *bins);
/* Sizes that do not come again must not make the list of bins grow for ever. */
void rp_bins_drop_empty(struct rp_bins *bins);

/* RP_NO_MEMORY when the host is out of memory. */
enum rp_status rp_bins_put(struct rp_bins *bins, uint64_t bytes, struct rp_idle idle);

/* The bin of this size, or NULL. */
struct rp_bin *rp_bins_find(const struct rp_bins *bins, uint64_t bytes);
/* The bin of this size where it has idle blocks for `stream`, else NULL. */
struct rp_bin *rp_bins_find_for(const struct rp_bins *bins, uint64_t bytes, rp_stream stream);
/* The bin of the smallest idle blocks for `stream` that are larger, or NULL. */
struct rp_bin *rp_bins_find_larger(const struct rp_bins *bins, uint64_t bytes, rp_stream stream);

/* Takes a block out of a bin that has one for `stream`, which waits for its last use. */
enum rp_status rp_bins_take(const struct rp_bins *bins, struct rp_bin *bin, rp_stream stream,
                            rp_device_ptr *out);
/* The block at `at`, or NULL; and out with it. */
struct rp_idle *rp_bin_find(const struct rp_bin *bin, rp_device_ptr at);
void rp_bin_remove(struct rp_bin *bin, struct rp_idle *idle);

#endif
