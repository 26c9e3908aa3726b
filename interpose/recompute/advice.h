/* SPDX-License-Identifier: Apache-2.0 */
/* Advice: what the planner says of each segment under policy joint: whether its outputs are to
 * stay, or may go where memory is short.
 *
 * What is noted of a step (round.h), with the times that the steps took, is a profile. The plan for
 * the budget is made of it when the next step begins, and made anew when the figures change; before
 * the first step it is made of an earlier run's profile, where there is one. A plan that is given
 * (--plan) is in force from the first step on, and no other is made. It chooses between
 * outputs, and no more: where those that may go are not enough, the others go too. Nothing goes
 * before the budget is full.
 *
 * What was dead, and not known to be, counts as needed at first. Steps show what of that was not:
 * outputs that the plan lets go, and that stood all the same, had room; and so it is where no plan
 * was sure to fit, and the step did without help of the host. The next plan is made with so much
 * more.
 *
 * All functions want the core's lock; without policy joint there is no plan, but a profile. */
#ifndef RP_INTERPOSE_ADVICE_H
#define RP_INTERPOSE_ADVICE_H

#include "planner/plan.h"

/* The step that has ended, if any, is rp_core.step still. */
void rp_advice_step_begins(void);

/* True where the outputs of the segment at this place are to stay. */
bool rp_advice_retains(uint32_t place);

/* What the last measured step tells a later run of the job. RP_NOT_FOUND when there is none. */
enum rp_status rp_advice_profile(struct rp_profile **out);

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
