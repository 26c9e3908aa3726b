/* SPDX-License-Identifier: Apache-2.0 */
/* The mode recompute, as the rest of the layer sees it: what it is told, and what it answers.
 *
 * In other modes each of these is a test and nothing more. All functions want the core's lock. */
#ifndef RP_INTERPOSE_RECOMPUTE_H
#define RP_INTERPOSE_RECOMPUTE_H

#include "interpose/calls/launch.h"
#include "interpose/run/core.h"
#include "interpose/run/execution.h"

struct rp_backed;
struct rp_pool;

static inline bool rp_recompute_is_on(void)
{
    return rp_core.config.mode == RP_MODE_RECOMPUTE;
}

/* ---- segments ---------------------------------------------------------------------- */

void rp_recompute_step_begins(void);
/* A call of the forward is about to go out; if it is a launch, with what it is given. */
void rp_recompute_forward(struct rp_execution *execution, const struct rp_footprint *call);
void rp_recompute_launch(const struct rp_launched *launch, uint64_t function, bool is_plain,
                         const struct rp_footprint *call);
/* The same of a copy from device memory to device memory, and of a set of `count` elements. */
void rp_recompute_copy(uint64_t to, uint64_t from, uint64_t bytes,
                       const struct rp_footprint *call);
void rp_recompute_set(uint64_t to, uint64_t count, unsigned width, unsigned value,
                      const struct rp_footprint *call);
void rp_recompute_forward_ends(struct rp_execution *execution);
/* True while its copies are wanted: its outputs may be dropped, or are. */
bool rp_recompute_protects(const struct rp_execution *execution);
/* A copy of what it has read can't be kept. True when it can do without from now on. */
bool rp_recompute_does_without(struct rp_execution *execution, rp_stream stream);
/* So many bytes of what it has read are about to be overwritten. True when copies of them would
 * take as much memory as its outputs could give: from now on these stay, and none are wanted. */
bool rp_recompute_lets_go(struct rp_execution *execution, uint64_t bytes);
/* True when it may not end: something of it is dropped. */
bool rp_recompute_needs(const struct rp_execution *execution);
/* True when it goes on for one more step, for what it has made may be dropped instead of moved. */
bool rp_recompute_outlasts(const struct rp_execution *execution);
/* It ends. */
void rp_recompute_ends(struct rp_execution *execution);

/* ---- calls -------------------------------------------------------------------------- */

/* Lets other threads' calls pass that have to come before what is made anew for `call`; the lock is
 * given up meanwhile. To be told before anything is noted of it; of a launch, with NULL, before it
 * is looked at. */
void rp_recompute_await(const struct rp_footprint *call);
/* Where `call` needs what is away, waits for the captures of other threads, as long as the calling
 * one has none. True when the lock was given up for that: what was gathered of the call may be
 * another's. Part of rp_recompute_await but for launches. */
bool rp_recompute_await_captures(const struct rp_footprint *call);
/* The same before a call that the driver looks at memory for, and that has no footprint: whatever
 * is away may have to stand for it. The lock is given up meanwhile. */
void rp_recompute_await_others(void);
/* Makes stand what `call` may meet. False when the device has no memory left for that: the call
 * is to be answered so, and must not go out. rp_recompute_done in either case. */
bool rp_recompute_before(struct rp_footprint *call);
/* `sure`: what the driver did with it is known; `went`: it runs. */
void rp_recompute_done(const struct rp_footprint *call, bool went, bool sure);
/* For tests: as if there never were enough memory, now that the call is no longer under way. */
void rp_recompute_unless_plenty(void);

/* `stream` is about to wait for an event. */
void rp_recompute_stream_waits(rp_stream stream);

/* A graph is about to be launched in `stream`: all stands, and nothing goes before it is launched.
 * False as above; only after true must it be ended, without the lock. */
bool rp_recompute_graph_begins(rp_stream stream);
void rp_recompute_graph_ends(void);

/* A graph is about to be built or changed, or a stream to be captured: the driver looks at memory
 * then that is used later. What can stand does, and nothing goes until it ends. */
void rp_recompute_look_begins(void);
void rp_recompute_look_ends(void);
/* What the job is to be told of such a call that the driver has answered with `result`: that there
 * is no memory, rather than that its addresses are wrong, where not all could stand. */
CUresult rp_recompute_looked(CUresult result);

/* The job is refused `bytes`, when all that could be dropped has been: as much more than there is
 * by then would have been needed, at least. */
void rp_recompute_refuses(uint64_t bytes);

/* ---- memory ------------------------------------------------------------------------- */

/* No budget that there is could hold an allocation of so many bytes as a whole, but the device
 * beside all that the job has. */
bool rp_recompute_outgrows(uint64_t bytes);
/* The job asks for device memory. Returns what the driver would: the address is set on success, and
 * what has come counts for rp_core.device_bytes when it is born, before the lock is given up. */
CUresult rp_recompute_alloc(uint64_t bytes, CUdeviceptr *address);
/* The same of a stream-ordered pool, with NULL the device's current one. False when the driver has
 * to answer, as it does for pools that the layer does not stand in for. */
bool rp_recompute_alloc_async(uint64_t bytes, CUmemoryPool pool, rp_stream stream,
                              CUdeviceptr *address, CUresult *result);
/* Memory has come, of whatever kind, and is counted. */
void rp_recompute_born(void);
/* The job frees `id`, of whatever kind, which lies at `address`. True when the layer has done the
 * driver's part: then it has to die before the lock is given up, for the same reason. */
bool rp_recompute_free(rp_alloc_id id, uint64_t address);
/* The job frees memory of a pool in this stream, and nobody waits for that. True when the layer has
 * answered: on success it has to die, as above. */
bool rp_recompute_free_async(rp_alloc_id id, uint64_t address, rp_stream stream, CUresult *result);
/* The job shows a pool to these devices: what the layer has made of it is shown, and nothing goes
 * any more. False where there is no room for all that there is. */
bool rp_recompute_shows(struct rp_pool *pool, const CUmemAccessDesc *map, size_t count);
/* What lies in [address, address + bytes) is about to lose that address. */
void rp_recompute_moves(uint64_t address, uint64_t bytes);
/* Others may read and write `id` from now on, unseen. */
void rp_recompute_shared(rp_alloc_id id);
/* Kernels are about to be unloaded, or to run otherwise than they did. */
void rp_recompute_code_changes(void);
/* `id` counts as dead from now on, whoever did it. */
void rp_recompute_died(rp_alloc_id id);
/* Drops what it takes for the budget to leave the job so many bytes more, or false. */
bool rp_recompute_make_room_for(uint64_t bytes);
/* Drops something for a call that the driver has found no memory for, the more the oftener it was
 * asked. False when nothing went. */
bool rp_recompute_yields(unsigned attempt);
/* Where copies go that the budget leaves no room for; NULL when there is no such place. */
const struct rp_workbench *rp_recompute_refuge(void);
/* A call of this name asks for something that comes with the memory itself: from now on all of that
 * is there. False where there is no room for it. */
bool rp_recompute_stays(struct rp_backed *backed, uint32_t name);
/* The job's context is gone, with its memory; to be told before that counts as dead. */
void rp_recompute_lost(uint64_t context);
/* After a fork. */
void rp_recompute_forget(void);

#endif
