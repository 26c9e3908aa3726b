/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual memory management: physical allocations, address reservations, mappings.
 *
 * A physical allocation is a file in memory; mapping it twice makes true aliases. It lives as
 * long as a handle or a mapping does. */
#ifndef RP_CUDA_SOFT_API_VMM_H
#define RP_CUDA_SOFT_API_VMM_H

#include "cuda/soft/api/memory.h"

struct soft_physical {
    struct soft_physical *next;
    uint64_t block_id;  /* never given twice */
    uint64_t bytes;
    int file;
    struct soft_device *device; /* whose limit it counts against; NULL for host memory */
    CUmemAllocationProp properties;
    unsigned handles, mappings;
};

/* A physical allocation for a handle from the program. */
CUresult soft_physical_find(CUmemGenericAllocationHandle handle, struct soft_physical **out);
/* To be called when a handle or a mapping went: frees it with the last one. */
void soft_physical_settle(struct soft_physical *physical);

#endif
