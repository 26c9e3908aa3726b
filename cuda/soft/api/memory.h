/* SPDX-License-Identifier: Apache-2.0 */
/* The table of everything that has a device address: who may touch what.
 *
 * Entries are disjoint address ranges. The device's lock guards the table; simulated kernels
 * ask it through soft_memory_bounds, which takes the lock. */
#ifndef RP_CUDA_SOFT_API_MEMORY_H
#define RP_CUDA_SOFT_API_MEMORY_H

#include "cuda/soft/api/soft.h"

enum soft_memory_kind {
    SOFT_MEMORY_DEVICE,     /* cuMemAlloc */
    SOFT_MEMORY_POOL,       /* cuMemAllocAsync */
    SOFT_MEMORY_GLOBAL,     /* a variable of a module */
    SOFT_MEMORY_MANAGED,    /* cuMemAllocManaged */
    SOFT_MEMORY_HOST,       /* cuMemHostAlloc */
    SOFT_MEMORY_REGISTERED, /* cuMemHostRegister: the program's own */
    SOFT_MEMORY_MAPPED,     /* cuMemMap */
    SOFT_MEMORY_IMPORTED,   /* another process's, or an external object's (share.h) */
    SOFT_MEMORY_GRAPH,      /* of a graph's allocation node */
    SOFT_MEMORY_ARRAY,      /* an array's storage: copies know it, kernels and pointers do not */
};

struct soft_physical; /* vmm.h */

struct soft_allocation {
    uint64_t address, bytes; /* as the program asked for it */
    uint64_t reserved;       /* bytes that it takes from the arena and the limit */
    enum soft_memory_kind kind;
    uint64_t buffer_id;           /* never given twice */
    struct soft_context *context; /* the owner; NULL for MAPPED and POOL */
    struct soft_device *device;
    unsigned flags; /* of HOST, REGISTERED, MANAGED */
    bool sync_memops;
    bool read_only;         /* REGISTERED: devices may only read it */
    struct soft_pool *pool; /* of POOL, and its pending cuMemFreeAsync, if any */
    struct soft_op *freed_by;
    struct soft_physical *physical; /* of MAPPED, and where in it this range begins */
    uint64_t offset;                /* of IMPORTED: from the first page that is mapped for it */
    unsigned readers, writers;      /* of MAPPED, POOL and IMPORTED: devices, a bit each */
    struct {
        uint64_t inode, offset;
        unsigned opened;
    } import; /* of cuIpcOpenMemHandle: what, how often; else nothing */
};

/* The entry that holds `address`, or NULL. */
struct soft_allocation *soft_memory_find(uint64_t address);
/* Is it memory of the host: pinned, registered, or nothing that the device knows? */
bool soft_memory_is_on_host(uint64_t address);
/* May `context` read, respectively write, all of [address, address+bytes)? It must lie in one
 * entry, or in neighbouring MAPPED ones. `bytes` 0 is fine anywhere. Without a context: may
 * anybody? That is the question of copies, which find their way between devices. */
bool soft_memory_allows(const struct soft_context *context, uint64_t address, uint64_t bytes,
                        bool write);
/* simt_bounds_fn; `context` is the struct soft_context. Takes the lock. */
bool soft_memory_bounds(void *context, uint64_t address, uint64_t bytes, uint64_t *lo,
                        uint64_t *hi);

/* Memory of `context`, which may be NULL, on `device`. The bytes are whatever they are: fill
 * them with soft_memory_spoil. */
CUresult soft_memory_allocate(struct soft_device *device, struct soft_context *context,
                              enum soft_memory_kind kind, uint64_t bytes,
                              struct soft_allocation **out);
/* Gives the range back to where it came from, and the record with it. */
void soft_memory_free(struct soft_allocation *allocation);
/* Takes the pages behind addresses away; the addresses stay the device's. */
void soft_memory_vacate(uint64_t address, size_t bytes);
/* Takes the pages of an IMPORTED range away and gives its addresses back. */
void soft_memory_unmap(const struct soft_allocation *allocation);
/* Frees all that belongs to `context`, except the variables of modules: those go with them. */
void soft_memory_free_all(struct soft_context *context);

/* The table alone. `add` gives the entry its buffer id; false for want of host memory. */
bool soft_memory_add(struct soft_allocation *allocation);
void soft_memory_remove(struct soft_allocation *allocation);
/* Walks the entries that meet [lo, hi) in address order; NULL at the end. */
struct soft_allocation *soft_memory_next(uint64_t lo, uint64_t hi);

/* Takes `bytes` of physical memory from the device's limit; false when it is not there. */
bool soft_memory_charge(struct soft_device *device, uint64_t bytes);
void soft_memory_refund(struct soft_device *device, uint64_t bytes);

/* Fresh memory holds words of 0x7fc0dead: a NaN as float, bfloat16 and (in part) half, huge as
 * double and integer. What a program reads before it writes is thus the same in every run
 * and shows. */
void soft_memory_spoil(uint64_t address, uint64_t bytes);
#define SOFT_SPOILED_BYTE 0xde /* for what is not made of words */

#define SOFT_ALIGNMENT 512

#endif
