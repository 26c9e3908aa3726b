/* SPDX-License-Identifier: Apache-2.0 */
/* Lodgings: which blocks of an exact store (store.h) may stand in larger idle ones.
 *
 * Where what is aimed at has no room for idle blocks of two sizes, each step would give one back
 * to the driver for the other, and take it again: calls that wait for the device. A block may
 * stand in a larger idle one instead. What it leaves of that is waste, though, and a block that
 * comes meanwhile may want it. So nothing lodges on a guess: of a size that has been traded so,
 * it is watched how much of the aim was always free while blocks of it were out. Some steps
 * later a waste that would have fitted at all these times is allowed. It is a habit all the same,
 * and no promise: a step unlike those may find the aim passed by so much.
 *
 * A few sizes are watched, and a few blocks lodge at one time; others are traded. Sizes are
 * bytes as taken from the driver. No allocation, no errors; as thread-safe as its store. */
#ifndef RP_CUDA_LODGING_H
#define RP_CUDA_LODGING_H

#include "cuda/driver.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_lodging {
    struct rp_lodging_size {
        uint64_t bytes;
        uint64_t out, guests; /* blocks, and those of them that lodge */
        uint64_t steps;       /* that have begun since it is watched */
        uint64_t free;        /* of the aim, at least, while some were out */
    } sizes[8];
    struct rp_lodging_guest {
        rp_device_ptr at;
        uint64_t bytes, host;
    } guests[8];
    size_t size_count, guest_count;
    uint64_t waste; /* of all guests */
};

/* A step begins. */
void rp_lodging_step(struct rp_lodging *lodging);
/* Forgets what was seen, as when other blocks are to come; guests stay. */
void rp_lodging_relearn(struct rp_lodging *lodging);
/* A block of this size is about to be traded for; `out` of the size are out already. */
void rp_lodging_watch(struct rp_lodging *lodging, uint64_t bytes, uint64_t out);
bool rp_lodging_allows(const struct rp_lodging *lodging, uint64_t bytes, uint64_t waste);
/* A block lodges at `at`, a block of `host` bytes. */
void rp_lodging_settle(struct rp_lodging *lodging, rp_device_ptr at, uint64_t bytes,
                       uint64_t host);
/* The block at `at` is given back: the bytes that stand there. */
uint64_t rp_lodging_leave(struct rp_lodging *lodging, rp_device_ptr at, uint64_t bytes);
/* A block is out, or is given back. */
void rp_lodging_count(struct rp_lodging *lodging, uint64_t bytes, bool out);
/* So much of the aim is free now, waste not counted. */
void rp_lodging_see(struct rp_lodging *lodging, uint64_t free);

#endif
