/* SPDX-License-Identifier: Apache-2.0 */
/* Leftovers: memory that the job has freed at a time when nobody could wait for the device, as
 * while a stream captures. It counts for the budget until it goes, which is once the device is done
 * with it and somebody frees other memory, or is short of it.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_LEFTOVER_H
#define RP_INTERPOSE_LEFTOVER_H

#include "interpose/recompute/backing.h"

/* The job has no more to do with it. False without memory for that: it is there for good. */
bool rp_leftover_add(struct rp_backed *backed);
/* Gives back what can be waited for. Returns how many bytes the device got. */
uint64_t rp_leftovers_reclaim(void);
/* The context is gone, with what was left in it. */
void rp_leftovers_lose(uint64_t context);
/* After a fork. */
void rp_leftovers_forget(void);

#endif
