/* SPDX-License-Identifier: Apache-2.0 */
/* Races that a replay makes: the job has ordered its streams around the forward, and a replay comes
 * later, where nothing waits for it and it waits for nothing. Order is made by events in the job's
 * own streams, where two calls meet in bytes that one of them writes; see cuda/crossing.h. In check
 * nothing of this does anything. All functions want the core's lock. */
#ifndef RP_INTERPOSE_RACE_H
#define RP_INTERPOSE_RACE_H

#include "interpose/run/execution.h"

/* A call of a replay of `execution`, which repeats one of the forward, is about to go out: it waits
 * for its twin, and for who has written since, in another stream, what it is about to write. */
enum rp_status rp_race_begin(const struct rp_execution *execution, const struct rp_footprint *call);
/* Any call is about to go out, and it is known whether it repeats another: it waits for calls of
 * replays that it meets, or is early. */
void rp_race_meet(struct rp_footprint *call);
/* The same of a call, with no reaches yet, that gives an allocation back in its stream's order: it
 * is as if it wrote all of that. */
void rp_race_give_back(struct rp_footprint *call, rp_alloc_id id);
/* It has gone out. */
void rp_race_made(const struct rp_footprint *call);
/* A replay is over. */
void rp_race_over(void);

#endif
