/* SPDX-License-Identifier: Apache-2.0 */
/* Pools: memory that a job takes from a stream-ordered pool, made by the layer in the driver's
 * place, as that of cuMemAlloc is (backing.h).
 *
 * An allocation has its address, and its memory, when the call returns. It is given back in stream
 * order: nobody waits for that. What was given back counts for the budget until its stream has come
 * so far; the same stream may have it again at once, and any other from then on. Then it goes back
 * to the device, but for what the pool's threshold lets it keep.
 *
 * The layer stands in for pools that no other process and no other device can reach: the device's
 * default one, and those that were made without handles and without a limit. What is asked of such
 * a pool is answered as if all of it were the pool's. Sizes are bytes. All functions want the
 * core's lock and a current context. */
#ifndef RP_INTERPOSE_POOL_H
#define RP_INTERPOSE_POOL_H

#include "cuda/driver.h"
#include "interpose/door/real.h"
#include "interpose/recompute/backing.h"

struct rp_pool;

/* The pool, or with NULL the one that the device takes from; NULL when the layer does not stand in
 * for it. */
struct rp_pool *rp_pool_find(CUmemoryPool handle);
/* Whether an allocation of so many bytes of it is the layer's to make. */
bool rp_pool_suits(const struct rp_pool *pool, uint64_t bytes);
CUmemoryPool rp_pool_handle(const struct rp_pool *pool);
/* The job has made one, shows one to other devices, has destroyed one. */
void rp_pool_made(CUmemoryPool handle, const CUmemPoolProps *properties);
void rp_pool_shown(struct rp_pool *pool);
void rp_pool_goes(CUmemoryPool handle);

/* `backed` is the pool's from now on. */
void rp_pool_take(struct rp_pool *pool, struct rp_backed *backed);
/* What was given back, is as large in whole granules, and may be had in this stream, or NULL. It
 * is the pool's, and counts as made anew. */
struct rp_backed *rp_pool_take_again(struct rp_pool *pool, uint64_t bytes, rp_stream stream);
/* The driver has taken memory from the pool. */
void rp_pool_note(struct rp_pool *pool);
/* The job gives it back in this stream. Where that is none what the driver says of it, and it is
 * the job's. */
CUresult rp_pool_give(struct rp_backed *backed, rp_stream stream);
/* It is about to be destroyed at once, whether it is a pool's or not. */
void rp_pool_drop(const struct rp_backed *backed);

/* Gives at least `bytes` of what was given back to the device, or what there is; `waits`: the host
 * waits for streams. Returns how much. */
uint64_t rp_pools_reclaim(uint64_t bytes, bool waits);
/* The same of all that needs no waiting, but for what each pool may keep. */
void rp_pools_settle(void);
/* The same of one pool, which is to be left `bytes`, with what is in use. */
void rp_pool_trim(struct rp_pool *pool, uint64_t bytes);

/* Adds what the layer has of the pool to the driver's answer; a high mark is set back. */
void rp_pool_answer(struct rp_pool *pool, CUmemPool_attribute attribute, void *value);
void rp_pool_reset(struct rp_pool *pool, CUmemPool_attribute attribute);

/* The context is gone, with what was taken and given back in it, but for leftovers. */
void rp_pools_lose(uint64_t context);
/* After a fork. */
void rp_pools_forget(void);

#endif
