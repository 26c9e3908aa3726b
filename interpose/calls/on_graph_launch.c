/* SPDX-License-Identifier: Apache-2.0 */
/* A graph launch is the sequence of its nodes, each a call of the tracker; what they would clobber
 * is copied before the whole graph is launched. */
#include "interpose/calls/handlers.h"

#include "cuda/switches.h"
#include "interpose/calls/area.h"
#include "interpose/calls/audit.h"
#include "interpose/calls/graph.h"
#include "interpose/calls/launch.h"
#include "interpose/calls/values.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/overtake.h"
#include "interpose/run/race.h"
#include "interpose/run/remark.h"
#include "interpose/run/report.h"
#include "interpose/run/segment.h"
#include "interpose/run/underway.h"

/* The frame's scratch; AUDITED is a footprint of all nodes, with which the lock stays held. */
enum { TRACKED_NODES = 0, EXPECTED_TO_FAIL = 1, AUDITED = 2 };

static const char *name_of(const struct rp_node *node)
{
    switch (node->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return "(kernel node)"; /* until its kernel is known */
    case CU_GRAPH_NODE_TYPE_MEMCPY: return "(memcpy node)";
    case CU_GRAPH_NODE_TYPE_MEMSET: return "(memset node)";
    case CU_GRAPH_NODE_TYPE_HOST: return "(host node)";
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return "(memory operation node)";
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return "(conditional node)";
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: return "(semaphore wait node)";
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE: break;
    default: break;
    }
    return "(graph node)";
}

static enum rp_status reach_unknown(struct rp_footprint *call, const char *why)
{
    rp_remark(rp_name(call->name), why);
    call->reason = why;
    return rp_footprint_everything(call, RP_WRITE);
}

static enum rp_status reach_fill(struct rp_footprint *call, const CUDA_MEMSET_NODE_PARAMS_v1 *fill)
{
    uint64_t width = fill->width * fill->elementSize;
    const struct rp_area area = {.type = CU_MEMORYTYPE_DEVICE,
                                 .base = fill->dst,
                                 .pitch = fill->height > 1 ? fill->pitch : width,
                                 .width = width,
                                 .height = fill->height,
                                 .depth = 1};
    return rp_area_fill(call, &area, fill->elementSize, fill->value);
}

static struct rp_launched launched(const struct rp_node *node)
{
    return (struct rp_launched){.kernel = rp_kernel_find(node->kernel.function),
                                .geometry = node->kernel.geometry,
                                .of_graph = true,
                                .gathered = node->kernel.gathered};
}

static void reach_kernel(struct rp_footprint *call, const struct rp_node *node)
{
    struct rp_launched launch = launched(node);
    rp_footprint_begin(call, launch.kernel->name, call->stream);
    rp_buffer_meet_launch(launch.kernel->text, rp_launched_param, &launch);
    rp_launched_footprint(&launch, call);
}

/* What the node reads and writes; `call` is begun. */
static enum rp_status reach_node(struct rp_footprint *call, const struct rp_node *node)
{
    if (node->unknown) {
        rp_overtake_events_gone();
        return reach_unknown(call, node->unknown);
    }
    switch (node->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: reach_kernel(call, node); return RP_OK;
    case CU_GRAPH_NODE_TYPE_MEMCPY: return rp_area_copy_3d(call, &node->copy);
    case CU_GRAPH_NODE_TYPE_MEMSET: return reach_fill(call, &node->fill);
    case CU_GRAPH_NODE_TYPE_HOST: rp_copy_host_function(call); return RP_OK;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return rp_values_reach(call, node->batch.items, node->batch.count);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: rp_copy_foreign(call); return RP_OK;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: /* its event may be another by now */
        rp_overtake_events_gone();
        return RP_OK;
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: break;
    default: break;
    }
    return RP_OK;
}

static void give_back(rp_alloc_id id, rp_stream stream)
{
    struct rp_footprint *call = rp_footprint_take();
    rp_footprint_begin(call, rp_names_id(rp_core.names, "(memory node)"), stream);
    call->in_graph = true;
    rp_race_give_back(call, id);
    if (call->is_early)
        rp_report_lost(NULL, call, id, 0, rp_memory_get(rp_core.bench.memory, id)->bytes, RP_IO);
    rp_footprint_give(call);
    rp_handler_died(id);
}

/* Memory that a graph allocates has its address for good, and its bytes for one launch. A node that
 * could not be read may be about any. */
static bool changes_memory(const struct rp_node *node, rp_stream stream)
{
    rp_alloc_id id;
    bool there =
        rp_memory_find(rp_core.bench.memory, node->memory.address, &id, NULL, NULL) == RP_OK;
    if (node->unknown || (node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
                          node->type != CU_GRAPH_NODE_TYPE_MEM_FREE))
        return false;
    if (there)
        give_back(id, stream);
    if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        rp_handler_born(node->memory.kind, node->memory.address, node->memory.bytes, NULL);
    return true;
}

/* A segment that begins or ends between two nodes would need a copy between them. */
static void refuse_segment(const struct rp_footprint *call)
{
    const struct rp_contract *contract = rp_core.config.contract;
    for (size_t i = 0; rp_core.segments_wanted && i < contract->segment_count; i++) {
        const struct rp_where *const both[] = {&contract->segments[i].forward,
                                               &contract->segments[i].replay};
        for (int j = 0; j < 2; j++) {
            if (both[j]->kind != RP_WHERE_LAUNCHES ||
                (!rp_glob_match(both[j]->first, rp_name(call->name), NULL, 0) &&
                 !rp_glob_match(both[j]->last, rp_name(call->name), NULL, 0)))
                continue;
            rp_remark(rp_name(call->name), "begins or ends a segment inside a graph: name the "
                                           "segment by NVTX ranges");
            rp_report_cut(contract->segments[i].name, call);
        }
    }
}

static void note_launch(const struct rp_node *node, const struct rp_footprint *call)
{
    if (!call->is_launch || !rp_core.trace)
        return;
    struct rp_launched launch = launched(node); /* other nodes have other things in its place */
    rp_handler_note_launch(&launch, call);
}

static bool has_effect(const struct rp_node *node, const struct rp_footprint *call)
{
    return call->count || call->on_host || node->unknown ||
           node->type == CU_GRAPH_NODE_TYPE_KERNEL;
}

/* What a node writes, to what its graph writes. */
static void join(struct rp_footprint *all, const struct rp_footprint *call)
{
    for (size_t i = 0; i < call->count; i++)
        if (call->reaches[i].effect == RP_WRITE &&
            rp_footprint_add(all, call->reaches[i]) != RP_OK)
            all->writes = RP_VERDICT_EVERYTHING; /* then it can't be audited */
    if (call->writes > all->writes)
        all->writes = call->writes;
}

/* `all`, where it is not NULL, gets what the node writes. */
static void launch_node(const struct rp_node *node, rp_stream stream, struct rp_footprint *all)
{
    if (node->disabled || changes_memory(node, stream))
        return;
    struct rp_footprint *call = rp_footprint_take();
    if (!rp_core.graph_seq) /* what the first node, too, has on the host nobody can look at yet */
        rp_core.graph_seq = rp_core.seq + 1;
    rp_footprint_begin(call, rp_names_id(rp_core.names, name_of(node)), stream);
    if (reach_node(call, node) != RP_OK)
        rp_remark(rp_name(call->name), "the host is out of memory: a graph node is not followed");
    call->in_graph = true;
    if (all)
        join(all, call);
    if (call->is_launch)
        refuse_segment(call);
    if (has_effect(node, call)) {
        rp_track(call);
        rp_track_done(call, RP_OUTCOME_RAN);
        note_launch(node, call);
    }
    rp_footprint_give(call);
}

static void launch_unknown(struct rp_frame *frame, const char *why)
{
    struct rp_footprint *call = rp_handler_footprint(frame);
    rp_overtake_events_gone();
    if (reach_unknown(call, why) != RP_OK)
        rp_remark(rp_name(call->name), "the host is out of memory: the call is not followed");
    if (rp_core.segments_wanted)
        rp_captured_unknown(rp_thread_self());
    rp_track(call);
}

/* It becomes a node itself, which comes with its own ones when that graph is launched. */
static void capture_nodes(const struct rp_exec *exec)
{
    const struct rp_node *kernel = NULL;
    for (size_t i = 0; exec && i < exec->count && !kernel; i++)
        if (exec->nodes[i].type == CU_GRAPH_NODE_TYPE_KERNEL && !exec->nodes[i].disabled)
            kernel = &exec->nodes[i];
    uint32_t name = kernel ? rp_kernel_find(kernel->kernel.function)->name
                           : rp_handler_name(RP_CALL_cuGraphLaunch);
    if (rp_core.segments_wanted && (!exec || exec->count))
        rp_captured_call(rp_thread_self(), name, kernel);
}

/* A footprint for an audit of the graph, or NULL. */
static struct rp_footprint *begin_all(struct rp_frame *frame, const struct rp_exec *exec)
{
    bool has_kernels = false;
    for (size_t i = 0; i < exec->count; i++) {
        if (exec->nodes[i].type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
            exec->nodes[i].type == CU_GRAPH_NODE_TYPE_MEM_FREE)
            return NULL;
        has_kernels |= exec->nodes[i].type == CU_GRAPH_NODE_TYPE_KERNEL;
    }
    if (!rp_core.config.audit || !has_kernels)
        return NULL;
    struct rp_footprint *all = rp_footprint_take();
    rp_footprint_begin(all, rp_handler_name(frame->id), rp_handler_stream(frame));
    return all;
}

/* The nodes count as run before the driver has taken the graph: see rp_on_graph_launch_done. */
static void launch_nodes(struct rp_frame *frame, const struct rp_exec *exec)
{
    struct rp_footprint *all = begin_all(frame, exec);
    for (size_t i = 0; i < exec->count; i++)
        launch_node(&exec->nodes[i], rp_handler_stream(frame), all);
    rp_core.graph_seq = 0;
    frame->scratch[TRACKED_NODES] = frame;
    if (all && rp_audit_begin(all))
        frame->scratch[AUDITED] = all;
    else if (all)
        rp_footprint_give(all);
}

enum { MOST_KERNELS = 64 }; /* of a graph that are told apart */

static void end_audit(struct rp_frame *frame, bool ran)
{
    const struct rp_args_cuGraphLaunch *args = frame->args;
    const struct rp_exec *exec = rp_exec_find(RP_HANDLE(args->hGraph));
    const struct rp_kernel *kernels[MOST_KERNELS];
    size_t count = 0;
    for (size_t i = 0; exec && i < exec->count && count < MOST_KERNELS; i++) {
        if (exec->nodes[i].type != CU_GRAPH_NODE_TYPE_KERNEL || exec->nodes[i].disabled)
            continue;
        const struct rp_kernel *kernel = rp_kernel_find(exec->nodes[i].kernel.function);
        bool met = false;
        for (size_t j = 0; j < count && !met; j++)
            met = kernels[j]->name == kernel->name;
        if (!met)
            kernels[count++] = kernel;
    }
    rp_audit_end(kernels, count, frame->scratch[AUDITED], ran && count);
    rp_footprint_give(frame->scratch[AUDITED]);
}

/* What was tracked can't be taken back, so a launch that the driver is going to reject is better
 * known before: the executable is one of those that it made, but the stream may be any. */
static bool is_stream(CUstream stream)
{
    unsigned flags;
    return rp_real.cuStreamGetFlags(stream, &flags) == CUDA_SUCCESS;
}

static void deny(struct rp_frame *frame)
{
    frame->result = CUDA_ERROR_OUT_OF_MEMORY;
    frame->skip = true;
}

/* Its nodes have run, as far as is written down; so nobody else may come before the driver has the
 * graph. Host functions make no calls that could be what it waits for. */
static bool is_held(const struct rp_frame *frame)
{
    return frame->scratch[TRACKED_NODES] && !frame->scratch[AUDITED] &&
           rp_core_guards() && rp_switch_on(RP_SWITCH_INFLIGHT);
}

static void let_others_pass(const struct rp_frame *frame)
{
    const struct rp_footprint whole = {.name = rp_handler_name(frame->id),
                                       .stream = rp_handler_stream(frame), .in_graph = true};
    rp_underway_await(&whole);
}

void rp_on_graph_launch(struct rp_frame *frame)
{
    const struct rp_args_cuGraphLaunch *args = frame->args;
    if (!is_stream(args->hStream)) {
        frame->scratch[EXPECTED_TO_FAIL] = frame;
        return;
    }
    rp_core_lock();
    let_others_pass(frame);
    const struct rp_exec *exec = rp_exec_find(RP_HANDLE(args->hGraph));
    if (rp_handler_is_captured(rp_handler_stream(frame))) {
        capture_nodes(exec);
    } else if (rp_switch_on(RP_SWITCH_GRAPHS)) {
        if (!rp_recompute_graph_begins(rp_handler_stream(frame)))
            deny(frame);
        else if (!exec || exec->unknown)
            launch_unknown(frame, exec ? exec->unknown : "a graph whose making was not seen");
        else
            launch_nodes(frame, exec);
    }
    if (is_held(frame))
        rp_core_keep_lock();
    if (!frame->scratch[AUDITED])
        rp_core_unlock();
    rp_underway_linger(frame->scratch[TRACKED_NODES]);
}

static void doubt(const struct rp_frame *frame, const char *why)
{
    rp_core_lock();
    rp_handler_not_followed(frame, why);
    rp_core_unlock();
}

/* What the nodes of a rejected launch were going to write was written down as done, and can't be
 * taken back: nothing that depends on it is proved any more. */
void rp_on_graph_launch_done(struct rp_frame *frame)
{
    bool ran = rp_handler_outcome(frame->result) == RP_OUTCOME_RAN;
    if (is_held(frame)) {
        rp_core_lock();
        rp_core_unlock();
    }
    if (frame->scratch[AUDITED]) {
        end_audit(frame, ran);
        rp_core_unlock();
    }
    if (frame->scratch[TRACKED_NODES] && !ran)
        doubt(frame, "a graph launch failed, and its nodes were already counted as run: what it "
                     "wrote is not known; look for the cause of the error that it returned");
    if (frame->scratch[EXPECTED_TO_FAIL] && ran)
        doubt(frame, "a graph was launched in a stream that was none just before: what it wrote "
                     "is not known; let the stream be made before the launch begins");
    bool was_followed = frame->scratch[TRACKED_NODES] || rp_handler_tracked(frame);
    rp_on_tracked(frame);
    if (was_followed)
        rp_recompute_graph_ends();
}
