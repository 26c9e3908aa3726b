/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations, mappings and aliases: the way from an address to a byte range.
 *
 * An allocation is storage with an identity that is never reused, even when its
 * address is. A mapping shows a range of an allocation at a virtual address; several
 * mappings of one allocation are aliases and lead to the same bytes. Everything else
 * in the project is keyed by (allocation, offset, length); addresses are only a way in.
 *
 * Not thread-safe: the owner holds one lock around all calls. Lookups are O(log n). */
#ifndef RP_TRACKER_MEMORY_H
#define RP_TRACKER_MEMORY_H

#include "tracker/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t rp_alloc_id; /* 1, 2, 3, ... in order of birth; 0 is "none" */

enum rp_alloc_kind {
    RP_ALLOC_DEVICE,   /* cuMemAlloc, cuMemAllocPitch */
    RP_ALLOC_POOL,     /* stream-ordered allocation */
    RP_ALLOC_PHYSICAL, /* cuMemCreate: has no address until it is mapped */
    RP_ALLOC_MANAGED,
    RP_ALLOC_PINNED, /* page-locked host memory that kernels can reach */
    RP_ALLOC_GLOBAL, /* a module's __device__ or __constant__ variable */
    RP_ALLOC_HOST,   /* a host variable named in the contract */
    RP_ALLOC_FOREIGN /* imported: others may write it unseen */
};

const char *rp_alloc_kind_name(enum rp_alloc_kind kind); /* "device", "pool", ... */

struct rp_alloc {
    rp_alloc_id id;
    enum rp_alloc_kind kind;
    uint64_t bytes;     /* length of the storage */
    uint64_t address;   /* address at birth, 0 if it had none */
    uint64_t birth_seq; /* sequence number of the driver call that made it, from 1 */
    uint64_t death_seq; /* of the call that freed it; 0 while it lives */
    uint64_t nth;       /* 0 for the first allocation of exactly this size, 1 for the second ... */
    int device;         /* device ordinal, -1 when not bound to one */
    char *name;         /* symbol name of globals and host variables, or NULL; owned here */
};

struct rp_memory;

enum rp_status rp_memory_create(struct rp_memory **out);
void rp_memory_destroy(struct rp_memory *memory);

/* Registers storage of at least one byte. With address != 0 it is also mapped there in full.
 * A leftover mapping under a new one is replaced: the driver reused the address, so the old
 * mapping is dead, whatever we were told. `name` is copied and may be NULL. */
enum rp_status rp_memory_add(struct rp_memory *memory, enum rp_alloc_kind kind, uint64_t bytes,
                             uint64_t address, int device, uint64_t seq, const char *name,
                             rp_alloc_id *out);

/* Shows bytes [offset, offset+length) of `id` at `address`. */
enum rp_status rp_memory_map(struct rp_memory *memory, uint64_t address, uint64_t length,
                             rp_alloc_id id, uint64_t offset);
/* Removes what is mapped in [address, address+length); may split mappings. */
enum rp_status rp_memory_unmap(struct rp_memory *memory, uint64_t address, uint64_t length);

/* Marks dead and removes all its mappings. The record stays readable (hazard messages name
 * dead buffers) until rp_memory_forget. RP_NOT_FOUND when it is unknown or dead already,
 * RP_INVALID for seq 0, which would mean that it lives. */
enum rp_status rp_memory_free(struct rp_memory *memory, rp_alloc_id id, uint64_t seq);
void rp_memory_forget(struct rp_memory *memory, rp_alloc_id id);

/* NULL when unknown. The pointer stays valid until the allocation is forgotten. */
const struct rp_alloc *rp_memory_get(const struct rp_memory *memory, rp_alloc_id id);
/* The live allocation mapped at `address`, its offset there, and how many bytes follow
 * in the same mapping. RP_NOT_FOUND when nothing is mapped. Outputs may be NULL. */
enum rp_status rp_memory_find(const struct rp_memory *memory, uint64_t address, rp_alloc_id *id,
                              uint64_t *offset, uint64_t *bytes_left);

/* rp_memory_find is going to be asked for this: what it will look at is fetched meanwhile. */
void rp_memory_expect(const struct rp_memory *memory, uint64_t address);

/* All that is mapped lies in [*lo, *hi); both are 0 when nothing is. */
void rp_memory_bounds(const struct rp_memory *memory, uint64_t *lo, uint64_t *hi);

/* The memory that pointer arithmetic on `address` may stay in: the mapping it lies in and, for
 * physical storage that was mapped piece by piece, the whole run of adjacent such mappings,
 * which a job may treat as one allocation. RP_NOT_FOUND when nothing is mapped. */
enum rp_status rp_memory_run(const struct rp_memory *memory, uint64_t address, uint64_t *start,
                             uint64_t *end);

/* Splits [address, address+length) into pieces of allocations, in address order.
 * `visit` gets id 0 and offset 0 for a part that nothing is mapped at; returning
 * anything but RP_OK stops the walk and is returned. */
typedef enum rp_status (*rp_memory_piece_fn)(void *ctx, uint64_t address, uint64_t length,
                                             rp_alloc_id id, uint64_t offset);
enum rp_status rp_memory_resolve(const struct rp_memory *memory, uint64_t address,
                                 uint64_t length, rp_memory_piece_fn visit, void *ctx);

/* An address at which byte `offset` of `id` can be reached now, with the number of
 * bytes reachable from there; RP_NOT_FOUND when it is not mapped. */
enum rp_status rp_memory_address(const struct rp_memory *memory, rp_alloc_id id, uint64_t offset,
                                 uint64_t *address, uint64_t *bytes_left);

/* Live allocations in order of birth. */
typedef void (*rp_memory_each_fn)(void *ctx, const struct rp_alloc *alloc);
void rp_memory_each(const struct rp_memory *memory, rp_memory_each_fn visit, void *ctx);

uint64_t rp_memory_live_bytes(const struct rp_memory *memory);
size_t rp_memory_live_count(const struct rp_memory *memory);
bool rp_memory_validate(const struct rp_memory *memory);

#endif
