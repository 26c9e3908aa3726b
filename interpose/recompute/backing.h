/* SPDX-License-Identifier: Apache-2.0 */
/* Memory behind addresses: allocations that the layer makes in the driver's place, so that it can
 * take their memory away, granule by granule, and leave the job its addresses.
 *
 * An allocation of the layer's is a reservation of addresses with one physical allocation a
 * granule behind it. Offsets are in bytes from its start. What is taken away loses its content;
 * that nobody uses it any more is the caller's business. rp_core.device_bytes counts the memory
 * that is there, and the budget holds for it.
 *
 * All functions want the core's lock and a current context. */
#ifndef RP_INTERPOSE_BACKING_H
#define RP_INTERPOSE_BACKING_H

#include "cuda/driver.h"
#include "tracker/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_backed;
struct rp_pool;

/* True for an allocation that is worth it: of a granule or more, on a device that can. */
bool rp_backing_suits(uint64_t bytes);

/* An allocation with all its memory. RP_NO_MEMORY when device or budget have not that much left,
 * RP_UNSUPPORTED when the driver can't. */
enum rp_status rp_backing_create(uint64_t bytes, uint64_t *address);
/* The same of one that no budget has room for as a whole: a granule has its memory when it is first
 * needed, and is absent until then. */
enum rp_status rp_backing_create_absent(uint64_t bytes, uint64_t *address);
/* Takes the memory of granules that nobody has used yet, as rp_backing_empty does. */
uint64_t rp_backing_make_absent(struct rp_backed *backed, uint64_t lo, uint64_t hi);
bool rp_backing_is_absent(const struct rp_backed *backed, uint64_t lo, uint64_t hi); /* any of it */
void rp_backing_destroy(struct rp_backed *backed);

/* It is a stream-ordered pool's; NULL of cuMemAlloc's. */
void rp_backing_put_into(struct rp_backed *backed, struct rp_pool *pool);
struct rp_pool *rp_backing_pool(const struct rp_backed *backed);
/* The job has given it back: only its pool knows it from now on. It comes again, as another one of
 * as many granules. */
void rp_backing_part(struct rp_backed *backed);
void rp_backing_renew(struct rp_backed *backed, uint64_t bytes);

/* Its memory has something that comes with no other: it is all there, and stays. */
void rp_backing_stay(struct rp_backed *backed);
bool rp_backing_stays(const struct rp_backed *backed);
uint64_t rp_backings_staying(void); /* bytes of memory of all that do */

/* The one that `address` lies in, or NULL when the driver made that memory. */
struct rp_backed *rp_backing_find(uint64_t address);
/* The one that `id` is, or NULL when the driver made that memory, or it is gone. */
struct rp_backed *rp_backing_of(rp_alloc_id id);
uint64_t rp_backing_address(const struct rp_backed *backed);
uint64_t rp_backing_bytes(const struct rp_backed *backed); /* as the job asked for */
uint64_t rp_backing_end(const struct rp_backed *backed); /* of its granules: no memory is there */
uint64_t rp_backing_owner(const struct rp_backed *backed); /* the context it was made in */
uint64_t rp_backing_number(const struct rp_backed *backed); /* of its own, for ever */
int rp_backing_device(const struct rp_backed *backed);

/* Puts memory where [lo, hi) has none; the content of that is undefined. Where the device has not
 * as much as the budget leaves, some of it may be there when it fails. */
enum rp_status rp_backing_fill(struct rp_backed *backed, uint64_t lo, uint64_t hi);
/* What that would take, in bytes. */
uint64_t rp_backing_missing(const struct rp_backed *backed, uint64_t lo, uint64_t hi);
/* Takes the memory of the granules that lie in [lo, hi) as a whole; the last granule ends where
 * the allocation ends. Returns how many bytes the device got back. */
uint64_t rp_backing_empty(struct rp_backed *backed, uint64_t lo, uint64_t hi);
/* The part of [lo, hi) that such granules cover; *lo == *hi when there is none. */
void rp_backing_inside(const struct rp_backed *backed, uint64_t *lo, uint64_t *hi);

/* All that there are, in order of their addresses. */
size_t rp_backings_count(void);
struct rp_backed *rp_backings_at(size_t index);
uint64_t rp_backings_mapped(void); /* bytes of memory that are there ... */
uint64_t rp_backings_span(void);   /* ... and that there would be if nothing were taken */
struct rp_use {
    uint64_t call;  /* its number */
    uint64_t fence; /* when it was given to the device, by rp_fence_now */
};
/* [lo, hi) is used by a call of this number, which the device was given. */
void rp_backing_use(struct rp_backed *backed, uint64_t lo, uint64_t hi, uint64_t call);
/* Shortens [lo, *hi) to the granules from lo on that are alike: with memory or without, and last
 * used by the same call. */
void rp_backing_run(const struct rp_backed *backed, uint64_t lo, uint64_t *hi, bool *is_there,
                    struct rp_use *used);

/* Whether the budget leaves so many more. */
bool rp_backing_fits(uint64_t bytes);

/* Another context than the first works on the device's memory, perhaps another device: what there
 * is can be reached from the current one, and no more is made. */
void rp_backing_share(void);
void rp_backing_share_with(int device);
bool rp_backing_is_shared(void);
/* The stream is of the context that all there is was made in, or there is nothing. */
bool rp_backing_is_home(rp_stream stream);
/* The context is gone, and with it what the job had in it: that counts as dead from then on. */
void rp_backing_lose(uint64_t context);
/* The context that is current, as a number. */
uint64_t rp_backing_context(void);
/* After a fork. */
void rp_backing_forget(void);

#endif
