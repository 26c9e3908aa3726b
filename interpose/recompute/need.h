/* SPDX-License-Identifier: Apache-2.0 */
/* Needs: the least device memory in which what the job does can be done.
 *
 * A call needs what it meets, in whole granules, beside the memory that the driver has made itself:
 * all else can be dropped, or be on the host. An allocation of the layer's needs nothing: one that
 * the budget does not hold has its memory with its use. A graph, a capture and a call of which
 * nothing is proved need all that there is. The most that anything has needed
 * so far is the smallest budget in which the run could have come as far. What was refused counts
 * for nothing: the job went on without it, and may have asked for luck.
 *
 * Sizes are bytes of device memory, the driver's own included. Calls that several threads have
 * under way at one time are counted one by one. All functions want the core's lock. */
#ifndef RP_INTERPOSE_NEED_H
#define RP_INTERPOSE_NEED_H

#include "interpose/recompute/backing.h"
#include "interpose/run/footprint.h"

/* The device was given it, and what it meets is there. */
void rp_need_call(const struct rp_footprint *call);
/* Memory has come, whoever made it, and is counted. */
void rp_need_memory(void);
/* All that there is is there, and has to be. */
void rp_need_everything(void);

/* Bytes that can't make way: the driver's own, and what stays. */
uint64_t rp_need_fixed(void);
/* Whether the device could hold all that there would be if nothing were taken, and so much more. */
bool rp_need_fits_device(uint64_t more);
/* Bytes of memory that the call meets and that are not there. */
uint64_t rp_need_missing(const struct rp_footprint *call);

/* An earlier run needed so much. */
void rp_need_expect(uint64_t bytes);
/* The most so far; of calls alone, with what is expected. */
uint64_t rp_need_least(void);
uint64_t rp_need_of_calls(void);
/* After a fork. */
void rp_need_forget(void);

#endif
