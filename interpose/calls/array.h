/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA arrays: storage without an address, which copies name by a handle and kernels reach
 * through textures and surfaces. An allocation like any other, but it can't be preserved.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_ARRAY_H
#define RP_INTERPOSE_ARRAY_H

#include "interpose/run/footprint.h"

/* The array `handle` is the storage `id`; several arrays of one mipmap share one. */
void rp_array_known(uint64_t handle, rp_alloc_id id);
/* The storage of the array, or 0. */
rp_alloc_id rp_array_find(uint64_t handle);
void rp_array_forget(uint64_t handle);

/* Adds that any of the array may be read or written: which bytes its layout does not tell. */
enum rp_status rp_array_reach(struct rp_footprint *call, uint64_t handle, enum rp_effect effect);
/* After a fork. */
void rp_arrays_forget(void);

#endif
