/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: which there are, and which holds which allocation.
 *
 * From the second on they have numbers, by which their streams are told apart: see
 * rp_driver_stream_in. All functions want the core's lock. */
#ifndef RP_INTERPOSE_CONTEXT_H
#define RP_INTERPOSE_CONTEXT_H

#include "interpose/run/footprint.h"

#include <stdbool.h>

/* May be told twice. `device` is that of a primary context, else -1. */
void rp_context_made(uint64_t context, int device);
void rp_context_gone(uint64_t context);
/* By which its streams are marked; one that no context has when it isn't known. */
unsigned rp_context_number(uint64_t context);
/* The current one of the thread; one that no context has when there is none. */
unsigned rp_context_now(void);
/* The primary context of a device, 0 when it was never seen. */
uint64_t rp_context_primary(int device);

/* The current context of the thread holds the allocation. */
void rp_context_holds(rp_alloc_id id);
void rp_context_drops(rp_alloc_id id); /* it died */
/* True when `context` held it; also when nobody knows who does, and no other context is left. */
bool rp_context_held(uint64_t context, rp_alloc_id id);

/* A stream's handle, or a default stream's of the calling thread, marked with its context. */
/* True as long as streams need not be told apart by their contexts. */
bool rp_context_is_one(void);
rp_stream rp_context_stream(rp_stream stream);
/* A call is about to work: refuses it where that is in a context past those that have numbers. */
void rp_context_check(const struct rp_footprint *call);
/* After a fork. */
void rp_contexts_forget(void);

#endif
