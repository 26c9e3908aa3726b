/* SPDX-License-Identifier: Apache-2.0 */
/* Graves: memory that the job has freed, and that a recipe still writes or reads at its address.
 *
 * For the job it is gone. Its address is not given to anybody else before the last recipe that
 * knows it has come to its end. What recipes only write loses its memory when that is short;
 * what they read keeps its content. All functions want the core's lock. */
#ifndef RP_INTERPOSE_GRAVE_H
#define RP_INTERPOSE_GRAVE_H

#include "interpose/recompute/backing.h"
#include "tracker/memory.h"

/* True when a recipe that is good knows the allocation: it must be buried, not freed. */
bool rp_grave_is_needed(rp_alloc_id id);
/* The job frees it; `backed` is NULL where the driver made the memory. */
enum rp_status rp_grave_bury(rp_alloc_id id, uint64_t address, uint64_t bytes,
                             struct rp_backed *backed);
/* NULL when it is not buried, or was the driver's. */
struct rp_backed *rp_grave_backed(rp_alloc_id id);
/* Frees what no recipe knows any more. Only where the job itself has to wait for the driver. */
void rp_graves_sweep(void);
/* Takes the memory of what recipes only write; nobody may be using it. Returns the bytes. */
uint64_t rp_graves_empty(void);
/* The context is gone, and what was buried in it. */
void rp_graves_lose(uint64_t context);
/* After a fork. */
void rp_graves_forget(void);

#endif
