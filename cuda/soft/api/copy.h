/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills: the works behind cuMemcpy* and cuMemset*, for streams and graphs. */
#ifndef RP_CUDA_SOFT_API_COPY_H
#define RP_CUDA_SOFT_API_COPY_H

#include "cuda/soft/api/work.h"

/* One end of a copy: rows of `width` bytes, `pitch` apart, in slices `slice` apart. */
struct soft_side {
    uint64_t address, pitch, slice;
    bool pageable; /* the program's own memory, unknown to the device */
};

struct soft_copy {
    struct soft_work base;
    struct soft_side to, from;
    uint64_t width, height, depth; /* bytes, rows, slices */
    void *staged;                  /* NULL, or the source's bytes of the time of the call */
};

struct soft_fill {
    struct soft_work base;
    uint64_t address, pitch;
    uint64_t width, height; /* elements, rows */
    unsigned element;       /* 1, 2 or 4 bytes */
    uint32_t value;
};

/* Fills in a copy from the driver's descriptions; what can't be done is refused. Pageable
 * sides are marked. Called with the lock. */
CUresult soft_copy_from_3d(const CUDA_MEMCPY3D *description, struct soft_copy *copy);
/* A description of the same copy; base and offset are told as one address. */
void soft_copy_to_3d(const struct soft_copy *copy, CUDA_MEMCPY3D *description);
CUresult soft_copy_check(struct soft_copy *copy);
CUresult soft_fill_check(const struct soft_fill *fill);
/* Works for these, or NULL for want of host memory. */
struct soft_work *soft_copy_work(const struct soft_copy *copy);
struct soft_work *soft_fill_work(const struct soft_fill *fill);

#endif
