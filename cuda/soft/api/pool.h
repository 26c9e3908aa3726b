/* SPDX-License-Identifier: Apache-2.0 */
/* Stream-ordered memory.
 *
 * An allocation has its address when the call returns; the memory is its own in stream order.
 * A free in stream order ends that. Freed memory is used again as soon as the order of the
 * streams allows: at once in the stream that freed it, elsewhere once the free is done.
 * What a pool keeps beyond its release threshold goes back to the device when it is freed. */
#ifndef RP_CUDA_SOFT_API_POOL_H
#define RP_CUDA_SOFT_API_POOL_H

#include "cuda/soft/api/memory.h"
#include "cuda/soft/api/stream.h"

struct soft_pool {
    struct soft_pool *next;
    struct soft_device *device;
    bool is_default, destroyed; /* destroyed: lives until its last allocation is freed */
    bool is_shareable;          /* made for other processes too (poolshare.c) */
    bool is_imported;           /* another process's: nothing is allocated from it here */
    uint64_t foreign_id;        /* of an imported one: its id there, and ... */
    int foreign_process;        /* ... where that is */
    uint64_t id;                /* never given twice */
    uint64_t threshold;         /* bytes that it may keep unused */
    uint64_t most;              /* bytes that it may have at all; 0: no limit of its own */
    int reuse[3];               /* CU_MEMPOOL_ATTR_REUSE_*, in their order */
    uint64_t reserved, reserved_high, used, used_high;
    unsigned readers, writers;  /* devices, a bit each */
    struct soft_kept *kept;     /* memory that is free to use */
};

CUresult soft_pool_create_default(struct soft_device *device);
/* A pool's allocation that was freed, with all work that used it done. */
void soft_pool_take_back(struct soft_allocation *allocation);
/* Gives back what the device's pools keep without using it; false when that is nothing. */
bool soft_pool_trim_all(struct soft_device *device);
/* Gives back until no more than `bytes` are kept; false when there was nothing to give. */
bool soft_pool_trim(struct soft_pool *pool, uint64_t bytes);

/* cuMemAllocFromPoolAsync and cuMemFreeAsync, with the lock. */
CUresult soft_pool_allocate(struct soft_pool *pool, struct soft_stream *stream, uint64_t bytes,
                            CUdeviceptr *address);
CUresult soft_pool_free(struct soft_allocation *allocation, struct soft_stream *stream);

/* Pools in general, in the order of creation. */
extern struct soft_pool *soft_pools;
CUresult soft_pool_create(struct soft_device *device, struct soft_pool **out);
/* soft_enter_bare, with a live pool. CUDA_ERROR_INVALID_VALUE, and the lock is not held, without
 * one or when `argument`, where an answer goes or comes from, is NULL. */
CUresult soft_pool_enter(CUmemoryPool handle, const void *argument, struct soft_pool **pool);
void soft_pool_destroy(struct soft_pool *pool);

#endif
