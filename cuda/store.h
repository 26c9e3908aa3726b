/* SPDX-License-Identifier: Apache-2.0 */
/* The layer's own device memory: blocks that hold preserved and stashed bytes.
 *
 * Blocks come from the driver and go back to a free list; to the driver only where memory is
 * short (freeing may synchronise the device). A block that is given back may be filled again
 * only after the work that still reads it; the store keeps that order.
 *
 * A store is roomy or exact. A roomy one rounds blocks up to classes, at most a quarter larger,
 * and cuts small ones from slabs: few driver calls, whatever sizes come. In an exact one each
 * block is an allocation of its own, a multiple of RP_STORE_QUANTUM, so that memory that is not
 * in a block that is out can always go back: whatever fits beside the blocks that are out is
 * had. That is what a budget, and a plan made for one, needs. Where it has an aim, blocks may
 * stand in larger ones, once it has seen that nothing misses the rest (lodging.h).
 *
 * Not thread-safe; the owner holds one lock around all calls. */
#ifndef RP_CUDA_STORE_H
#define RP_CUDA_STORE_H

#include "cuda/driver.h"
#include "cuda/order.h"

/* What a block of an exact store is a multiple of, in bytes. */
#define RP_STORE_QUANTUM 512

struct rp_block {
    rp_device_ptr at;
    uint64_t bytes; /* as asked for */
};

struct rp_store;

/* A roomy store, without a limit. */
enum rp_status rp_store_create(const struct rp_driver *driver, struct rp_order *order,
                               struct rp_store **out);
/* Makes it an exact one, before the first block is taken. */
void rp_store_fit_exactly(struct rp_store *store);
/* Gives all memory back to the driver. No block may be in use by the device any more. */
void rp_store_destroy(struct rp_store *store);
/* Forgets all memory without a driver call: its context is gone. */
void rp_store_abandon(struct rp_store *store);

/* A block whose first use is in `stream`. RP_NO_MEMORY when the device or the limit is full. */
enum rp_status rp_store_take(struct rp_store *store, uint64_t bytes, rp_stream stream,
                             struct rp_block *out);
/* The last use of the block has been submitted, to `stream`. Where the host has no memory to write
 * that down, nobody is given the block again. */
void rp_store_give(struct rp_store *store, const struct rp_block *block, rp_stream stream);

/* To be asked before memory is taken from the driver: gives blocks back that can be done
 * without, and returns false when there are none. `needed` is false as long as the driver may
 * still have some: what was merely kept for luck ought to go then, but need not. */
typedef bool (*rp_store_spare_fn)(bool needed);
void rp_store_on_shortage(struct rp_store *store, rp_store_spare_fn spare);
/* To be told whenever more has been taken from the driver. */
typedef void (*rp_store_grown_fn)(void);
void rp_store_on_growth(struct rp_store *store, rp_store_grown_fn grown);

/* Gives idle blocks back to the driver until at most `bytes` are reserved, or none is left that
 * could go. The driver waits for what may still use them, so this is for when memory is short;
 * where a stream is shut (order.h) none goes. */
void rp_store_trim(struct rp_store *store, uint64_t bytes);

/* Bytes taken from the driver, in use or not, may not exceed `bytes`; UINT64_MAX at first. */
void rp_store_limit(struct rp_store *store, uint64_t bytes);
/* Nor should they: beyond `bytes` idle blocks go back before more is taken, but nothing is
 * refused. UINT64_MAX at first. */
void rp_store_aim(struct rp_store *store, uint64_t bytes);
/* A step of the job's begins: it has habits, which the store learns (lodging.h). */
void rp_store_step(struct rp_store *store);
/* What comes from now on is aimed at by another plan: what the store has learnt is no longer
 * true. */
void rp_store_relearn(struct rp_store *store);
uint64_t rp_store_reserved(const struct rp_store *store); /* taken from the driver */
uint64_t rp_store_held(const struct rp_store *store);     /* in blocks that are out, as asked */
uint64_t rp_store_held_peak(const struct rp_store *store);

/* What a block of so many bytes takes in an exact store. */
static inline uint64_t rp_store_block_bytes(uint64_t bytes)
{
    return (bytes + RP_STORE_QUANTUM - 1) / RP_STORE_QUANTUM * RP_STORE_QUANTUM;
}

#endif
