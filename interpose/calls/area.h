/* SPDX-License-Identifier: Apache-2.0 */
/* Areas: the rows of bytes that 2D and 3D copies and sets touch in linear memory, and lines of
 * bytes, which are areas of one row. All functions want the core's lock. */
#ifndef RP_INTERPOSE_AREA_H
#define RP_INTERPOSE_AREA_H

#include "interpose/run/footprint.h"

#include "cuda/calls/calls.h"

struct rp_area {
    CUmemorytype type;     /* where it lies */
    uint64_t base;         /* address of the first byte; in an array, the array's handle */
    uint64_t pitch, slice; /* bytes from a row to the next, from a slice to the next */
    uint64_t width, height, depth; /* bytes, rows, slices */
};

/* Exactly these bytes; of very many rows, only the hull. In an array, possibly any of it. */
enum rp_status rp_area_reach(struct rp_footprint *call, const struct rp_area *area,
                            enum rp_effect effect);
/* From one to the other, which are of the same extent. */
enum rp_status rp_area_copy(struct rp_footprint *call, const struct rp_area *to,
                           const struct rp_area *from);
/* What a 3D copy, of which a 2D copy is a case, does. */
enum rp_status rp_area_copy_3d(struct rp_footprint *call, const CUDA_MEMCPY3D *copy);
/* `value` is what is set, `unit` bytes at a time. */
enum rp_status rp_area_fill(struct rp_footprint *call, const struct rp_area *area, unsigned unit,
                           uint64_t value);

/* Contiguous bytes at an address of whatever kind. */
struct rp_area rp_area_line(uint64_t address, uint64_t bytes);

#endif
