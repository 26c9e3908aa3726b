/* SPDX-License-Identifier: Apache-2.0 */
/* Policy in force: how each segment of the step that runs is to be replayed.
 *
 *     whole, regions, retain   the same for every segment
 *     a plan                   what the plan says of the segment at its place in the chain
 *     joint                    the first steps under the safe policy, measured; then, at a step's
 *                              beginning, a plan for the budget; measured on, and made anew when
 *                              the step changes
 *
 * The safe policy is `regions`: every plan's needs are met by what it keeps. Where that is more
 * than the budget has room for, some of it is kept in host memory (refuge.h). A plan stops fitting
 * when the step's segments are not its own, when the step takes more memory than it says, or when
 * memory is refused; then the safe policy is in force again, from the next segment on, and the
 * summary says so.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_POLICY_H
#define RP_INTERPOSE_POLICY_H

#include "interpose/plan/cost.h"
#include "planner/plan.h"

/* Reads the plan that the configuration names. RP_INVALID with one line in `message` when it is
 * none, was made for another job or under another model than nested, or takes more than the
 * budget. That it was made for another device shows before the first step: the job is stopped
 * then, if it was to run as planned or not at all (REPRISE_STRICT). */
enum rp_status rp_policy_start(char *message, size_t message_size);
void rp_policy_forget(void);
/* What a run asks of a plan that was read: RP_INVALID with one line in `message` when it is of
 * another job, model or mode, takes more than the budget, or, once that is known, is of another
 * device. The segments are not known before they come. */
enum rp_status rp_policy_check(const struct rp_plan *plan, char *message, size_t message_size);

/* For the forward at `place` of the chain, which has just joined it. */
enum rp_choice rp_policy_choice(uint32_t place);
/* A step is about to begin: the moment to change plans. */
void rp_policy_step_begins(void);
/* The sums of a step have come; it ran under plan number `cost->plan`. */
void rp_policy_measured(const struct rp_step_cost *cost);
/* 0 while the safe or a fixed policy is in force, else the number of the plan, from 1. */
uint32_t rp_policy_plan(void);
/* Memory was refused, to the job or to copies that the plan wants: the plan falls. */
void rp_policy_refused(void);
/* The job was refused `bytes`, or a copy for which host memory was no refuge: before there is a
 * plan, for want of room for the first steps. */
void rp_policy_starved(uint64_t bytes);
/* What the plan says that a step takes, of job and layer together, in bytes; UINT64_MAX where
 * there is none. */
uint64_t rp_policy_aim(void);
/* True when memory is planned: what was replayed as often as promised is given up at once. */
bool rp_policy_is_planned(void);

/* What the summary says. Texts live as long as the process; plan is NULL when there is none. */
struct rp_policy_state {
    bool wanted;              /* a plan was asked for */
    const struct rp_plan *plan; /* the one in force, or the last that was */
    uint32_t plans;           /* made or read so far */
    bool in_force;
    const char *reason;       /* why none is in force, or why the last one fell */
    uint64_t steps;           /* measured under this plan */
    uint64_t median_ns, peak; /* of these */
    uint64_t needed; /* what the steps that a joint policy begins by would have taken at least,
                      * with all that could be in host memory there, where the budget had no room
                      * for it; else 0 */
};
void rp_policy_state(struct rp_policy_state *state);

#endif
