/* SPDX-License-Identifier: Apache-2.0 */
/* Trials: copies that are made to learn what a byte of them takes.
 *
 * Where all that a job lets the layer copy is of one size and so small that its bytes take hardly
 * any time, no copy of it tells what a large one would. After such a step two are made, of few
 * bytes and of as many as the largest piece that could have been copied has, within memory of the
 * layer's own. They lie outside the step, and are left out where budget or device have no room.
 *
 * All functions want the core's lock. Nothing waits. */
#ifndef RP_INTERPOSE_TRIAL_H
#define RP_INTERPOSE_TRIAL_H

#include "interpose/plan/step_cost.h"

/* The step is over, in this stream. */
void rp_trial_make(const struct rp_step_cost *step, rp_stream stream);
/* Takes in the times, if they have come. */
void rp_trial_collect(void);
/* The step after which the last one was made, or 0 when nothing is to come. */
uint32_t rp_trial_awaited(void);
/* The time of a byte in ns, as the last one told it: 0 where it does not show. False before. */
bool rp_trial_rate(double *ns);
/* The context of the events is gone. */
void rp_trial_lost(void);

#endif
