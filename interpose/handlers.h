/* SPDX-License-Identifier: Apache-2.0 */
/* What the handlers of single calls share. */
#ifndef RP_INTERPOSE_HANDLERS_H
#define RP_INTERPOSE_HANDLERS_H

#include "interpose/wrap.h"

#include "interpose/core.h"
#include "interpose/footprint.h"
#include "interpose/launch.h"
#include "interpose/track.h"

/* The stream that a call works in, never 0: CU_STREAM_LEGACY or CU_STREAM_PER_THREAD where
 * the job names none. */
rp_stream rp_handler_stream(const struct rp_frame *frame);

/* A footprint, begun for this call, under the lock. It goes with the frame to rp_on_tracked,
 * which must be the call's after(). */
struct rp_footprint *rp_handler_footprint(struct rp_frame *frame);
/* rp_track, unless the call is captured; `status` tells whether its footprint is whole. Where
 * that has served the call, the driver is not asked. Wants the lock. */
void rp_handler_track(struct rp_frame *frame, struct rp_footprint *call, enum rp_status status);
/* What the driver's answer says of a call. */
enum rp_outcome rp_handler_outcome(CUresult result);
/* True when the call was tracked and ran: to be asked in after(), before rp_on_tracked. */
bool rp_handler_ran(const struct rp_frame *frame);
/* The footprint of the frame, or NULL. */
struct rp_footprint *rp_handler_tracked(const struct rp_frame *frame);
/* After every call that was tracked: it becomes history, or was rejected. */
void rp_on_tracked(struct rp_frame *frame);

/* The call's name as the tracker knows it, under the lock. */
uint32_t rp_handler_name(enum rp_call_id id);
/* True when the call goes into a graph instead of running now: it counts when that is launched. */
bool rp_handler_is_captured(rp_stream stream);

/* An allocation came to be: it is registered, met and noted. Wants the lock. Returns its id, or
 * 0 when the host is out of memory. */
rp_alloc_id rp_handler_born(enum rp_alloc_kind kind, uint64_t address, uint64_t bytes,
                            const char *name);
/* An allocation is gone: versions, state and record. Wants the lock. */
void rp_handler_died(rp_alloc_id id);
/* Add what a host function may write, and what others may; both want the lock. */
void rp_copy_foreign(struct rp_footprint *call);
void rp_copy_host_function(struct rp_footprint *call);

/* A launch that ran, to the trace. Wants the lock. */
void rp_handler_note_launch(const struct rp_launched *launch, const struct rp_footprint *call);

/* A handle as the layer stores it. */
#define RP_HANDLE(handle) ((uint64_t)(uintptr_t)(handle))

/* Handlers, by subject; handlers.c says which serves which call. */
void rp_on_copy_htod(struct rp_frame *);
void rp_on_copy_dtoh(struct rp_frame *);
void rp_on_copy_dtod(struct rp_frame *);
void rp_on_copy_dtod_async(struct rp_frame *);
void rp_on_copy_unified(struct rp_frame *);
void rp_on_copy_peer(struct rp_frame *);
void rp_on_copy_2d(struct rp_frame *);
void rp_on_copy_3d(struct rp_frame *);
void rp_on_copy_3d_peer(struct rp_frame *);
void rp_on_memset_d8(struct rp_frame *);
void rp_on_memset_d16(struct rp_frame *);
void rp_on_memset_d32(struct rp_frame *);
void rp_on_memset_2d8(struct rp_frame *);
void rp_on_memset_2d16(struct rp_frame *);
void rp_on_memset_2d32(struct rp_frame *);
void rp_on_write_value32(struct rp_frame *);
void rp_on_write_value64(struct rp_frame *);
void rp_on_wait_value32(struct rp_frame *);
void rp_on_wait_value64(struct rp_frame *);
void rp_on_batch_mem_op(struct rp_frame *);
void rp_on_foreign_wait(struct rp_frame *);
void rp_on_host_function(struct rp_frame *);
void rp_on_unknown_writer(struct rp_frame *);

void rp_on_alloc(struct rp_frame *);
void rp_on_alloc_budget(struct rp_frame *);
void rp_on_alloc_pitch_budget(struct rp_frame *);
void rp_on_mem_create_budget(struct rp_frame *);
void rp_on_alloc_pitch(struct rp_frame *);
void rp_on_alloc_async(struct rp_frame *);
void rp_on_alloc_from_pool(struct rp_frame *);
void rp_on_alloc_managed(struct rp_frame *);
void rp_on_alloc_host(struct rp_frame *);
void rp_on_host_alloc(struct rp_frame *);
void rp_on_host_register(struct rp_frame *);
void rp_on_host_device_pointer(struct rp_frame *);
void rp_on_free_before(struct rp_frame *);
void rp_on_free_async_before(struct rp_frame *);
void rp_on_host_free_before(struct rp_frame *);
void rp_on_free_after(struct rp_frame *);
void rp_on_mem_create(struct rp_frame *);
void rp_on_mem_release(struct rp_frame *);
void rp_on_mem_map(struct rp_frame *);
void rp_on_mem_unmap(struct rp_frame *);
void rp_on_mem_retain(struct rp_frame *);

void rp_on_module_load(struct rp_frame *);
void rp_on_module_file(struct rp_frame *);
void rp_on_module_file_done(struct rp_frame *);
void rp_on_module_unload(struct rp_frame *);
void rp_on_library_module(struct rp_frame *);
void rp_on_function_got(struct rp_frame *);
void rp_on_kernel_got(struct rp_frame *);
void rp_on_functions_listed(struct rp_frame *);
void rp_on_kernels_listed(struct rp_frame *);
void rp_on_kernel_function(struct rp_frame *);

void rp_on_launch(struct rp_frame *);
void rp_on_launch_done(struct rp_frame *);
void rp_on_launch_ex(struct rp_frame *);
void rp_on_launch_ex_done(struct rp_frame *);
void rp_on_launch_cooperative(struct rp_frame *);

void rp_on_graph_instantiated(struct rp_frame *);
void rp_on_graph_exec_destroyed(struct rp_frame *);
void rp_on_graph_exec_updated(struct rp_frame *);
void rp_on_graph_kernel_set_v1(struct rp_frame *);
void rp_on_graph_kernel_set(struct rp_frame *);
void rp_on_graph_copy_set(struct rp_frame *);
void rp_on_graph_fill_set(struct rp_frame *);
void rp_on_graph_batch_set(struct rp_frame *);
void rp_on_graph_child_set(struct rp_frame *);
void rp_on_graph_node_set(struct rp_frame *);
void rp_on_graph_node_enabled(struct rp_frame *);
void rp_on_graph_launch(struct rp_frame *);
void rp_on_graph_launch_done(struct rp_frame *);

void rp_on_stream_destroy(struct rp_frame *);
void rp_on_stream_created(struct rp_frame *);
void rp_on_capture_begun(struct rp_frame *);
void rp_on_capture_ended(struct rp_frame *);
void rp_on_context_destroy(struct rp_frame *);
void rp_on_primary_reset(struct rp_frame *);
/* After a fork. */
void rp_on_memory_forget(void);

#endif
