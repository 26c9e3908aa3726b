/* SPDX-License-Identifier: Apache-2.0 */
/* Advice: what the planner says of each segment under policy joint: whether its outputs are to
 * stay, or may go where memory is short.
 *
 * While a step runs it is noted what each forward has made, how much of it another forward reads,
 * what was kept for it, and what there was beside outputs. With the times that the steps took that
 * is a profile. The plan for the budget is made of it when the next step begins, and made anew when
 * the figures change. It chooses between outputs, and no more: where those that may go are not
 * enough, the others go too. What was dead, and not known to be, counts as needed, so that a job
 * may run in less than the smallest budget that a plan is sure of.
 *
 * All functions want the core's lock; without policy joint they do nothing. */
#ifndef RP_INTERPOSE_ADVICE_H
#define RP_INTERPOSE_ADVICE_H

#include "interpose/run/execution.h"
#include "planner/plan.h"

void rp_advice_step_begins(void);
/* The forward is over, and what it holds is known. */
void rp_advice_forward(const struct rp_execution *execution);
/* A copy of so many bytes is made of what it has read; it is followed again. */
void rp_advice_kept(const struct rp_execution *execution, uint64_t bytes);
void rp_advice_recalled(const struct rp_execution *execution);
/* A call is done. */
void rp_advice_call(void);

/* True where the outputs of the segment at this place are to stay. */
bool rp_advice_retains(uint32_t place);

/* What the summary says. */
struct rp_advice {
    const struct rp_plan *plan; /* the latest, or NULL */
    uint32_t plans;
    const char *reason; /* why there is none, or NULL. Lives for ever */
};
struct rp_advice rp_advice(void);
/* After a fork. */
void rp_advice_forget(void);

#endif
