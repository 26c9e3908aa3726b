/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the host's that the job has given to streams (cuLaunchHostFunc and the like), as
 * long as they may still wait there: what they do to variables comes later than the host believes.
 * Noted only where variables are declared. All functions want the core's lock; none waits. */
#ifndef RP_INTERPOSE_ERRAND_H
#define RP_INTERPOSE_ERRAND_H

#include "interpose/run/footprint.h"

/* `call` is one, and was taken by the driver, or is a node of a graph that will be. */
void rp_errand_given(const struct rp_footprint *call);

/* Whether one may still wait, in a stream of a replay if `of_replay`, else in any; its name is in
 * *name then. */
bool rp_errands_wait(bool of_replay, uint32_t *name);
/* The replay is over: those of it are like any other. */
void rp_errands_replayed(void);

/* After a fork. */
void rp_errands_forget(void);

#endif
