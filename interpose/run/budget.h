/* SPDX-License-Identifier: Apache-2.0 */
/* Budget: the device memory that the job and the layer's own copies may have together.
 *
 * A budget is kept: what would pass it is refused to the job, as the driver refuses what it has
 * no room for, and to the store. What a plan says that a step takes is aimed at besides: memory
 * of the layer's that is idle goes back to the driver before job and layer would have more, but
 * nothing is refused for it.
 *
 * All functions but rp_budget_is_set want the core's lock. Sizes are bytes. */
#ifndef RP_INTERPOSE_BUDGET_H
#define RP_INTERPOSE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* A budget, or a plan that was made for one: the store is an exact one then. */
bool rp_budget_is_set(void);
/* The job's memory, or the plan, has changed: tells the store what that leaves for it. */
void rp_budget_share(void);
/* Whether the job may have `bytes` more. Idle memory of the layer's goes first. */
bool rp_budget_admits(uint64_t bytes);
/* What was admitted counts from then on, whatever other threads ask for until the driver has
 * answered; then, before the lock is given up, it is the job's memory or nobody's. */
void rp_budget_promise(uint64_t bytes);
void rp_budget_settle(uint64_t bytes);
/* Notes what counts against it now, for the most that it ever was. */
void rp_budget_note(void);
/* What counts against it now: the job's memory, and what the layer has from the driver. */
uint64_t rp_budget_used(void);
/* That, and what was promised: beside it there must be room. */
uint64_t rp_budget_taken(void);

#endif
