/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that a thread has made before, in a run that does nothing but write a trace.
 *
 * What a launch, a copy or a set touches follows from its arguments and from what the layer knows
 * of memory, modules and streams. Where all of these are as they were, it is told by two short
 * records of the trace (rp_trace_again), one when it comes and one when the driver has answered,
 * without a lock, an allocation or a system call. Everything else is followed in full: what is
 * not proved and what calls for a remark, each time, as it counts among the reasons. */
#ifndef RP_INTERPOSE_REPEAT_H
#define RP_INTERPOSE_REPEAT_H

#include "interpose/calls/kernel.h"

/* A kernel is launched: from now on this thread can tell its launches apart. Wants the lock. */
void rp_repeat_meet(const struct rp_kernel *kernel);

/* Launches that were told briefly, by verdict of their writes; added to `counts`. */
void rp_repeat_count(uint64_t counts[RP_VERDICT_EVERYTHING + 1]);
/* After a fork. */
void rp_repeats_forget(void);

#endif
