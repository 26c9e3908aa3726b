/* SPDX-License-Identifier: Apache-2.0 */
/* Gates: places in streams that somebody else opens, and perhaps the job itself once the call that
 * is under way has come back: host functions, waits for a value in memory or for a semaphore.
 *
 * What a stream holds behind a shut gate may never be over as long as the host waits for it. So the
 * host waits for nothing behind a gate at which the device has stood for long. How long is a bound
 * on host functions that need nobody; the wait is as for a driver that is short of memory.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_GATE_H
#define RP_INTERPOSE_GATE_H

#include "cuda/driver.h"

#include <stdbool.h>

/* The stream is about to be given a gate, by the call in hand: the lock is kept until that has come
 * back. Those that have begun were given: they are this call's. */
void rp_gate_begins(rp_stream stream);
void rp_gates_end(void);

/* Whether the device has any before it, as far as can be told without waiting. */
bool rp_gates_are_shut(void);
/* The host waits until the device has none before it. False when it has stood too long at one. */
bool rp_gates_await(void);
/* The host waits for `event`, of the driver's. False as above, or when it can't wait for it. */
bool rp_gates_await_event(void *event);
/* Waits as long as `it` is so, and lets other threads have the lock meanwhile. False as above, and
 * after a minute: a kernel that waits for the host is no gate that anybody knows. */
bool rp_gates_let_pass(bool (*it)(void));
/* After a fork, and when the context is gone. */
void rp_gates_forget(void);

#endif
