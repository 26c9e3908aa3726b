/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the host's that the job has given to streams (cuLaunchHostFunc and the like), as
 * long as they may still wait there: what they do to variables comes later than the host believes.
 * Noted only where variables are declared. All functions want the core's lock; none waits. */
#ifndef RP_INTERPOSE_ERRAND_H
#define RP_INTERPOSE_ERRAND_H

#include "interpose/run/footprint.h"

/* `call` is one, and was taken by the driver, or is a node of a graph that will be. */
void rp_errand_given(const struct rp_footprint *call);

/* `stream` is about to be destroyed: what waits there goes on waiting. */
void rp_errands_stream_ends(rp_stream stream);
/* The context of this number is gone, and nothing waits in it any more. */
void rp_errands_context_gone(unsigned context);

/* Whether one that a replay has given may still wait. */
bool rp_errands_wait(void);
/* The replay is over: those of it are like any other. */
void rp_errands_replayed(void);

/* From now on it is watched whether those run that wait now. The moment, for the end of the watch;
 * 0 where none waits: then there is nothing to end. */
uint64_t rp_errands_watch(void);
/* Whether one that waited at that moment may have run since. */
bool rp_errands_ran(uint64_t since);

/* After a fork. */
void rp_errands_forget(void);

#endif
