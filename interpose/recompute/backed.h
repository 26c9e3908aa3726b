/* SPDX-License-Identifier: Apache-2.0 */
/* What an allocation of the layer's is. Internal to backing.c, which has all of them, and
 * backing_memory.c, which puts memory behind one and takes it away. */
#ifndef RP_INTERPOSE_BACKED_H
#define RP_INTERPOSE_BACKED_H

#include "interpose/recompute/backing.h"

struct rp_granule {
    uint64_t handle; /* 0: no memory there */
    uint64_t used;   /* the last call that did ... */
    uint64_t fence;  /* ... and when that was, by rp_fence_now */
    bool absent;     /* nobody has needed it yet */
};

struct rp_backed {
    uint64_t address, bytes; /* as the job asked for */
    uint64_t span;           /* of addresses: whole granules */
    int device;
    uint64_t context;        /* that it was made in */
    uint64_t number;         /* no other ever has it */
    struct rp_pool *pool;
    bool parted;             /* the job has given it back */
    bool stays;              /* see rp_backing_stay */
    struct rp_granule granules[];
};

/* Bytes of memory that have come, and that went. */
void rp_backing_account(uint64_t more, uint64_t less);

#endif
