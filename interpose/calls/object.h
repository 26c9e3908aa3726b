/* SPDX-License-Identifier: Apache-2.0 */
/* Names by which kernels reach memory without its address: texture and surface objects, and
 * tensor maps. A kernel that nothing is proved of may use each that is among its arguments.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_OBJECT_H
#define RP_INTERPOSE_OBJECT_H

#include "interpose/run/footprint.h"

#include "cuda/calls/calls.h"

/* `object` names the bytes at an address, or an array (address 0). */
void rp_object_known(uint64_t object, uint64_t address, uint64_t array);
void rp_object_forget(uint64_t object);
/* The job has filled in `map`: kernels that are given a copy of it reach `address`. */
void rp_object_map_known(const CUtensorMap *map, uint64_t address);

/* rp_map_fn: what a map was filled in with. */
bool rp_object_map_find(const unsigned char *map, uint64_t *address);

/* Adds what the objects and maps among these bytes lead to. */
enum rp_status rp_object_reach(struct rp_footprint *call, const unsigned char *params,
                               size_t bytes, unsigned effects);
/* After a fork. */
void rp_objects_forget(void);

#endif
