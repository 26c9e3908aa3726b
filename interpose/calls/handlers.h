/* SPDX-License-Identifier: Apache-2.0 */
/* What the handlers of single calls share. */
#ifndef RP_INTERPOSE_HANDLERS_H
#define RP_INTERPOSE_HANDLERS_H

#include "interpose/door/wrap.h"

#include "interpose/calls/launch.h"
#include "interpose/run/core.h"
#include "interpose/run/footprint.h"
#include "interpose/run/track.h"

/* The stream that a call works in, never 0: CU_STREAM_LEGACY or CU_STREAM_PER_THREAD where
 * the job names none. */
rp_stream rp_handler_stream(const struct rp_frame *frame);
rp_stream rp_handler_stream_of(CUstream stream, const struct rp_call_info *info);

/* A footprint, begun for this call, under the lock. It goes with the frame to rp_on_tracked,
 * which must be the call's after(), or end it: there the call becomes history, or was rejected. */
struct rp_footprint *rp_handler_footprint(struct rp_frame *frame);
/* Remarks what the call does unseen; in a job with segments that is a hazard. Wants the lock. */
void rp_handler_not_followed(const struct rp_frame *frame, const char *why);
/* rp_track, unless the call is captured; `status` tells whether its footprint is whole. Where
 * that has served the call, the driver is not asked. Wants the lock. */
void rp_handler_track(struct rp_frame *frame, struct rp_footprint *call, enum rp_status status);
/* What the driver's answer says of a call. */
enum rp_outcome rp_handler_outcome(CUresult result);
/* What rp_on_tracked does, for a call that has a footprint. Wants the lock. */
void rp_handler_settle(struct rp_frame *frame, enum rp_outcome outcome);
/* What this thread's latest call came to, when it was settled. */
struct rp_settled {
    uint64_t seq, launch; /* as in its footprint; 0: it was captured, or never settled */
    bool is_launch;
    bool remarks; /* something was remarked on it, by whomever */
    enum rp_verdict reads, writes;
};
extern _Thread_local struct rp_settled rp_handler_settled;
/* True when the call was tracked and ran: to be asked in after(), before rp_on_tracked. */
bool rp_handler_ran(const struct rp_frame *frame);
/* The footprint of the frame, or NULL. */
struct rp_footprint *rp_handler_tracked(const struct rp_frame *frame);

/* The call's name as the tracker knows it, under the lock. */
uint32_t rp_handler_name(enum rp_call_id id);
/* True when the call goes into a graph instead of running now: it counts when that is launched. */
bool rp_handler_is_captured(rp_stream stream);

/* An allocation came to be: it is registered, met and noted. Wants the lock. Returns its id, or
 * 0 when the host is out of memory. */
rp_alloc_id rp_handler_born(enum rp_alloc_kind kind, uint64_t address, uint64_t bytes,
                            const char *name);
/* Looks for the variables of the kernel's library in a context, that of the calling thread. */
void rp_handler_meet_variables(const struct rp_kernel *kernel, unsigned context);
/* A function that a graph's node has may be a known CUkernel's. */
void rp_handler_meet_function(uint64_t function);
/* The kind of what a pool with these properties makes: host code writes in some of it. */
enum rp_alloc_kind rp_handler_pool_kind(const CUmemPoolProps *properties);
/* A budget is enforced: past it the job's call fails as the driver's own would, and is skipped.
 * Within it the bytes are promised to the call, whose after() settles that, under the lock under
 * which it registers what came of it. */
void rp_handler_keep_budget(struct rp_frame *frame, uint64_t bytes);
void rp_handler_settle_budget(struct rp_frame *frame);
/* The physical allocation that a handle stands for, or 0. */
rp_alloc_id rp_handler_physical(uint64_t handle);
/* An allocation is gone: versions, state and record. Wants the lock. */
void rp_handler_died(rp_alloc_id id);
/* Add what a host function may write, and what others may; both want the lock. */
void rp_copy_foreign(struct rp_footprint *call);
void rp_copy_host_function(struct rp_footprint *call);

/* A launch that ran, to the trace. Wants the lock. */
void rp_handler_note_launch(const struct rp_launched *launch, const struct rp_footprint *call);

/* A handle as the layer stores it. */
#define RP_HANDLE(handle) ((uint64_t)(uintptr_t)(handle))

#include "cuda/calls/handler_list.h"

/* After a fork. */
void rp_on_memory_forget(void);
void rp_on_vmm_forget(void);
void rp_on_pool_forget(void);

#endif
