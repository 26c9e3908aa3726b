/* SPDX-License-Identifier: Apache-2.0 */
/* Ledger: the steps whose times have come, of which a profile is made.
 *
 * All functions want the core's lock. What they return is valid until the next call of one of
 * cost.h's. */
#ifndef RP_INTERPOSE_LEDGER_H
#define RP_INTERPOSE_LEDGER_H

#include "interpose/plan/step_cost.h"

/* The steps that were measured by part, oldest first. Once there are RP_COST_STEPS, later
 * steps' sums alone are measured, until rp_cost_restart; so are those of steps under a plan, which
 * the marks would slow down. */
#define RP_COST_STEPS 8
size_t rp_ledger_steps(const struct rp_step_cost *steps[RP_COST_STEPS]);
/* The first step of all, if it was measured by part and is none of these: its times mislead, for
 * it loads and allocates what the others find there, but its memory counts. Or NULL. */
const struct rp_step_cost *rp_ledger_first(void);
/* The last step of which the sums are known, or NULL. */
const struct rp_step_cost *rp_ledger_last(void);
/* The same of the last one that had segments. */
const struct rp_step_cost *rp_ledger_last_divided(void);
/* How many steps' sums have come in all. */
uint64_t rp_ledger_count(void);

/* Whether there is a place left for one by part. */
bool rp_ledger_has_place(void);
/* A step's times have come. Where it is kept, what was in the arrays goes out for others. */
void rp_ledger_take(struct rp_step_cost *cost);
/* Forgets those by part; and everything, after a fork. */
void rp_ledger_restart(void);
void rp_ledger_forget(void);

#endif
