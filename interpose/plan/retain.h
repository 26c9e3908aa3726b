/* SPDX-License-Identifier: Apache-2.0 */
/* Retain: the outputs of a forward are kept, and its replay is served from them; its calls are
 * not run again.
 *
 * An output is a stretch of bytes that one call of the forward wrote for certain and that is no
 * state. It stays where it stands until something would overwrite or free it; only then is it
 * copied. A replay's call is served by putting that call's own outputs where the call would have
 * written them, in its stream; state is left alone, because nothing of the replay runs.
 *
 * That is sound only where all of the forward can be served, so it is decided when the forward
 * ends: every call a launch, a set or a copy on the device, every write certain, nothing
 * undeclared both read and written. Up to then state is preserved as under `regions`, to which
 * the execution falls back otherwise. From then on outputs have to be kept: what the device has no
 * memory for goes to host memory (interpose/plan/refuge.h). Executions under another policy only
 * count what retaining them would take.
 *
 * All functions want the core's lock. */
#ifndef RP_INTERPOSE_RETAIN_H
#define RP_INTERPOSE_RETAIN_H

#include "interpose/run/segment.h"

/* A call of the forward has run: its writes are outputs from now on. */
void rp_retain_written(struct rp_execution *execution, const struct rp_footprint *call);
/* `call` is about to write: keeps the outputs that it would destroy, of every execution. */
void rp_retain_clobber(const struct rp_footprint *call);
/* `id` is about to be freed, in the order of `stream`; 0 for a free that waits for the device. */
void rp_retain_free(rp_alloc_id id, rp_stream stream);
/* It can't be served, for this reason. */
void rp_retain_refuse(struct rp_execution *execution, const char *reason);
/* Memory is short: moves outputs of one execution to the host. False when there are none. */
bool rp_retain_evict(void);
/* The forward is over: serves from now on, or falls back. */
void rp_retain_decide(struct rp_execution *execution);

/* The replay is over: tells the costs what retaining takes. */
void rp_retain_note(const struct rp_execution *execution);

#endif
