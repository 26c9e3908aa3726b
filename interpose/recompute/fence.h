/* SPDX-License-Identifier: Apache-2.0 */
/* Fences: places in what the device was given, for the host to wait until it has got there, and not
 * until it has done everything.
 *
 * Uses of memory are noted by the number of fences so far, once they were given to the device; any
 * later fence has them behind it. All functions want the core's lock. */
#ifndef RP_INTERPOSE_FENCE_H
#define RP_INTERPOSE_FENCE_H

#include <stdbool.h>
#include <stdint.h>

/* What a use that has just been given to the device is noted by. */
uint64_t rp_fence_now(void);
/* Sets one behind all that was given in any stream. Without a way to, waits are longer. */
void rp_fence_set(void);
/* Uses noted by less than this are over, or can be waited for: no gate is in the way. */
uint64_t rp_fence_reach(void);
/* The host waits until a use noted by this is over. False when it can't. */
bool rp_fence_wait(uint64_t used);
/* After a fork, and when the context is gone. */
void rp_fence_forget(void);

#endif
