/* SPDX-License-Identifier: Apache-2.0 */
/* Declared variables of the job's host code ("host_symbol"): a generator's state, most often.
 *
 * Nobody sees the host write them, so content decides, and time is that of the thread which
 * opens and closes the ranges: a forward's opening takes a copy; a replay's opening puts that
 * copy in place of the live content, and its closing puts the live content back. What the host
 * changes during a replay is the replay's own doing. In check, differences are reported. All
 * functions want the core's lock. */
#ifndef RP_INTERPOSE_HOST_H
#define RP_INTERPOSE_HOST_H

#include "interpose/run/segment.h"

void rp_host_forward_opens(struct rp_execution *execution);
void rp_host_forward_closes(struct rp_execution *execution);
void rp_host_replay_opens(struct rp_scope *scope);
void rp_host_replay_closes(struct rp_scope *scope);

/* True when all these bytes are put back for replays and after them. */
bool rp_host_holds(uint64_t address, uint64_t bytes);

/* True when the replay of `a` has found other host content than one of `b` would have. */
bool rp_host_differs(const struct rp_execution *a, const struct rp_execution *b);

/* `call`, a function of the host's, was given to a stream, and may wait there for long: what it
 * steps is stepped twice if a replay gives it again and nothing is declared, and where something
 * is, it may come after this was put back. Both are told. */
void rp_host_function_given(const struct rp_footprint *call);

/* After a fork: what was found is known to the parent's tables only. */
void rp_host_forget(void);

#endif
