/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills: the works behind cuMemcpy* and cuMemset*, for streams and graphs. */
#ifndef RP_CUDA_SOFT_API_COPY_H
#define RP_CUDA_SOFT_API_COPY_H

#include "cuda/soft/api/work.h"

/* One end of a copy: rows of `width` bytes, `pitch` apart, in slices `slice` apart. */
struct soft_side {
    uint64_t address, pitch, slice;
    bool pageable;            /* the program's own memory, unknown to the device */
    struct soft_array *array; /* that it lies in, or NULL; looked up before it is followed */
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

/* The end of a copy that lies in an array: `x` bytes, `y` rows and `z` slices into it. How far the
 * copy reaches it says itself; a copy of one row may run on into the next ones. */
CUresult soft_side_in_array(CUarray handle, uint64_t x, uint64_t y, uint64_t z,
                            const struct soft_copy *copy, struct soft_side *side);

/* Fills in a copy from the driver's descriptions; what can't be done is refused. Pageable
 * sides are marked. Called with the lock. */
CUresult soft_copy_from_3d(const CUDA_MEMCPY3D *description, struct soft_copy *copy);
/* A description of the same copy; base and offset are told as one address. */
void soft_copy_to_3d(const struct soft_copy *copy, CUDA_MEMCPY3D *description);
CUresult soft_copy_check(struct soft_copy *copy);

/* How long a call lasts (memcpy.c): until the copy is done, or not at all. */
enum soft_manner { SOFT_WAITING, SOFT_ASYNC };
/* Submits a copy that has been checked. With the lock, which waiting gives up. */
struct soft_stream;
CUresult soft_copy_submit(struct soft_stream *stream, struct soft_copy *copy,
                          enum soft_manner manner);
CUresult soft_fill_check(const struct soft_fill *fill);
/* Works for these, or NULL for want of host memory. */
struct soft_work *soft_copy_work(const struct soft_copy *copy);
struct soft_work *soft_fill_work(const struct soft_fill *fill);

#endif
