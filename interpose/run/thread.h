/* SPDX-License-Identifier: Apache-2.0 */
/* What the layer keeps of each thread, as long as that lives; rp_thread_self gives it out.
 *
 * A job may push ranges before it first calls the driver, and with that the layer. They are kept as
 * they are, without the lock, and by no more than their messages: a process that never calls the
 * driver has nothing else of us. Those that are open still begin when their thread is first asked
 * for, which is before its first call is seen to. */
#ifndef RP_INTERPOSE_THREAD_H
#define RP_INTERPOSE_THREAD_H

#include "interpose/run/segment.h"

/* A range begins or ends that early: how many of its domain's are around it. */
int rp_thread_push_early(const void *domain, const char *message);
int rp_thread_pop_early(const void *domain);
/* The calling thread's, where nobody follows them: told to the trace as begun before all calls. */
void rp_thread_tell_early(void);

/* After a fork, in the only thread that is left. */
void rp_threads_forget(void);

#endif
