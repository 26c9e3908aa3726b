/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs: made, changed, launched. A launch is the sequence of its nodes, each a call
 * of the tracker; what they would clobber is copied before the whole graph is launched. */
#include "interpose/handlers.h"

#include "cuda/switches.h"
#include "interpose/area.h"
#include "interpose/graph.h"
#include "interpose/launch.h"
#include "interpose/report.h"
#include "interpose/values.h"

/* ---- making and changing --------------------------------------------------------- */

/* A graph that device code may launch runs without a call of the host. */
static void refuse_device_launch(const struct rp_frame *frame, CUgraphExec exec)
{
    cuuint64_t flags = 0;
    if (rp_real.cuGraphExecGetFlags(exec, &flags) != CUDA_SUCCESS ||
        !(flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH))
        return;
    const struct rp_footprint call = {.name = rp_handler_name(frame->id)};
    rp_remark(rp_calls[frame->id].name, "device code may launch the graph unseen");
    if (rp_core.segments_wanted)
        rp_report(RP_HAZARD_UNPROVED, NULL, &call, 0, 0, 0, NULL, NULL);
}

/* All forms start with the place for the handle and the graph. */
void rp_on_graph_instantiated(struct rp_frame *frame)
{
    const struct rp_args_cuGraphInstantiateWithFlags *args = frame->args;
    if (frame->result != CUDA_SUCCESS || !args->phGraphExec)
        return;
    rp_core_lock();
    rp_exec_read(RP_HANDLE(*args->phGraphExec), args->hGraph);
    refuse_device_launch(frame, *args->phGraphExec);
    rp_core_unlock();
}

void rp_on_graph_exec_destroyed(struct rp_frame *frame)
{
    const struct rp_args_cuGraphExecDestroy *args = frame->args;
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    rp_exec_forget(RP_HANDLE(args->hGraphExec));
    rp_core_unlock();
}

static bool any_disabled(const struct rp_exec *exec)
{
    for (size_t i = 0; i < exec->count; i++)
        if (exec->nodes[i].disabled)
            return true;
    return false;
}

/* Both versions start with the executable and the graph. */
void rp_on_graph_exec_updated(struct rp_frame *frame)
{
    const struct rp_args_cuGraphExecUpdate_v2 *args = frame->args;
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    struct rp_exec *exec = rp_exec_find(RP_HANDLE(args->hGraphExec));
    bool doubtful = exec && any_disabled(exec);
    if (exec)
        rp_exec_read(exec->handle, args->hGraph);
    if (doubtful)
        exec->unknown = "it was updated while nodes were disabled";
    rp_core_unlock();
}

/* The node that a successful call has just changed, under the lock, which stays taken when there
 * is one. All calls start with the executable and the node. */
static struct rp_node *changed(const struct rp_frame *frame, CUgraphNodeType type)
{
    const struct rp_args_cuGraphNodeSetEnabled *args = frame->args;
    if (frame->result != CUDA_SUCCESS)
        return NULL;
    rp_core_lock();
    struct rp_exec *exec = rp_exec_find(RP_HANDLE(args->hGraphExec));
    struct rp_node *node = exec ? rp_exec_node(exec, args->hNode) : NULL;
    if (node && node->type == type)
        return node;
    if (node)
        node->unknown = "parameters of another type were set";
    rp_core_unlock();
    return NULL;
}

/* The second version only adds to the first. */
void rp_on_graph_kernel_set_v1(struct rp_frame *frame)
{
    const struct rp_args_cuGraphExecKernelNodeSetParams *args = frame->args;
    struct rp_node *node = changed(frame, CU_GRAPH_NODE_TYPE_KERNEL);
    if (!node)
        return;
    const CUDA_KERNEL_NODE_PARAMS_v1 *given = args->nodeParams;
    rp_node_set_kernel(node, &(CUDA_KERNEL_NODE_PARAMS_v2){
                                 .func = given->func,
                                 .gridDimX = given->gridDimX,
                                 .gridDimY = given->gridDimY,
                                 .gridDimZ = given->gridDimZ,
                                 .blockDimX = given->blockDimX,
                                 .blockDimY = given->blockDimY,
                                 .blockDimZ = given->blockDimZ,
                                 .sharedMemBytes = given->sharedMemBytes,
                                 .kernelParams = given->kernelParams,
                                 .extra = given->extra,
                             });
    rp_core_unlock();
}

void rp_on_graph_kernel_set(struct rp_frame *frame)
{
    const struct rp_args_cuGraphExecKernelNodeSetParams_v2 *args = frame->args;
    struct rp_node *node = changed(frame, CU_GRAPH_NODE_TYPE_KERNEL);
    if (!node)
        return;
    rp_node_set_kernel(node, args->nodeParams);
    rp_core_unlock();
}

void rp_on_graph_copy_set(struct rp_frame *frame)
{
    const struct rp_args_cuGraphExecMemcpyNodeSetParams *args = frame->args;
    struct rp_node *node = changed(frame, CU_GRAPH_NODE_TYPE_MEMCPY);
    if (!node)
        return;
    node->copy = *args->copyParams;
    rp_core_unlock();
}

void rp_on_graph_fill_set(struct rp_frame *frame)
{
    const struct rp_args_cuGraphExecMemsetNodeSetParams *args = frame->args;
    struct rp_node *node = changed(frame, CU_GRAPH_NODE_TYPE_MEMSET);
    if (!node)
        return;
    node->fill = *args->memsetParams;
    rp_core_unlock();
}

void rp_on_graph_batch_set(struct rp_frame *frame)
{
    const struct rp_args_cuGraphExecBatchMemOpNodeSetParams *args = frame->args;
    struct rp_node *node = changed(frame, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    if (!node)
        return;
    rp_node_set_batch(node, args->nodeParams->paramArray, args->nodeParams->count);
    rp_core_unlock();
}

static void set_child(CUgraphExec handle, CUgraphNode node, CUgraph child)
{
    struct rp_exec *exec = rp_exec_find(RP_HANDLE(handle));
    if (exec)
        rp_exec_set_child(exec, node, child);
}

void rp_on_graph_child_set(struct rp_frame *frame)
{
    const struct rp_args_cuGraphExecChildGraphNodeSetParams *args = frame->args;
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    set_child(args->hGraphExec, args->hNode, args->childGraph);
    rp_core_unlock();
}

static void set_fill(struct rp_node *node, const CUDA_MEMSET_NODE_PARAMS_v2 *given)
{
    node->fill = (CUDA_MEMSET_NODE_PARAMS_v1){.dst = given->dst,
                                              .pitch = given->pitch,
                                              .value = given->value,
                                              .elementSize = given->elementSize,
                                              .width = given->width,
                                              .height = given->height};
}

static void set_kernel(struct rp_node *node, const CUDA_KERNEL_NODE_PARAMS_v3 *given)
{
    CUDA_KERNEL_NODE_PARAMS_v2 same;
    _Static_assert(sizeof same == sizeof *given, "the third version has the second's layout");
    __builtin_memcpy(&same, given, sizeof same);
    rp_node_set_kernel(node, &same);
}

/* One call for all types. */
void rp_on_graph_node_set(struct rp_frame *frame)
{
    const struct rp_args_cuGraphExecNodeSetParams *args = frame->args;
    const CUgraphNodeParams *given = args->nodeParams;
    struct rp_node *node = given ? changed(frame, given->type) : NULL;
    if (!node)
        return;
    if (given->type == CU_GRAPH_NODE_TYPE_KERNEL)
        set_kernel(node, &given->kernel);
    else if (given->type == CU_GRAPH_NODE_TYPE_MEMCPY)
        node->copy = given->memcpy.copyParams;
    else if (given->type == CU_GRAPH_NODE_TYPE_MEMSET)
        set_fill(node, &given->memset);
    else if (given->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        rp_node_set_batch(node, given->memOp.paramArray, given->memOp.count);
    else if (given->type == CU_GRAPH_NODE_TYPE_GRAPH)
        set_child(args->hGraphExec, args->hNode, given->graph.graph);
    rp_core_unlock();
}

void rp_on_graph_node_enabled(struct rp_frame *frame)
{
    const struct rp_args_cuGraphNodeSetEnabled *args = frame->args;
    if (frame->result != CUDA_SUCCESS)
        return;
    rp_core_lock();
    struct rp_exec *exec = rp_exec_find(RP_HANDLE(args->hGraphExec));
    struct rp_node *node = exec ? rp_exec_node(exec, args->hNode) : NULL;
    if (node)
        node->disabled = !args->isEnabled;
    rp_core_unlock();
}

/* ---- launching ------------------------------------------------------------------- */

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
    return rp_area_fill(call, &area, fill->value);
}

static struct rp_launched launched(const struct rp_node *node)
{
    return (struct rp_launched){.kernel = rp_kernel_find(node->kernel.function),
                                .geometry = node->kernel.geometry,
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
    if (node->unknown)
        return reach_unknown(call, node->unknown);
    switch (node->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: reach_kernel(call, node); return RP_OK;
    case CU_GRAPH_NODE_TYPE_MEMCPY: return rp_area_copy_3d(call, &node->copy);
    case CU_GRAPH_NODE_TYPE_MEMSET: return reach_fill(call, &node->fill);
    case CU_GRAPH_NODE_TYPE_HOST: rp_copy_host_function(call); return RP_OK;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return rp_values_reach(call, node->batch.items, node->batch.count);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: rp_copy_foreign(call); return RP_OK;
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: break;
    default: break;
    }
    return RP_OK;
}

/* Memory that a graph allocates has its address for good, and its bytes for one launch. */
static bool changes_memory(const struct rp_node *node)
{
    rp_alloc_id id;
    bool there = rp_memory_find(rp_core.bench.memory, node->memory.address, &id, NULL, NULL) == RP_OK;
    if (node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC && node->type != CU_GRAPH_NODE_TYPE_MEM_FREE)
        return false;
    if (there)
        rp_handler_died(id);
    if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        rp_handler_born(RP_ALLOC_POOL, node->memory.address, node->memory.bytes, NULL);
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
            rp_report(RP_HAZARD_UNPROVED, NULL, call, 0, 0, 0, NULL, NULL);
        }
    }
}

static void note_launch(const struct rp_node *node, const struct rp_footprint *call)
{
    struct rp_launched launch = launched(node);
    if (call->is_launch && rp_core.trace)
        rp_handler_note_launch(&launch, call);
}

static bool has_effect(const struct rp_node *node, const struct rp_footprint *call)
{
    return call->count || node->unknown || node->type == CU_GRAPH_NODE_TYPE_KERNEL;
}

static void launch_node(const struct rp_node *node, rp_stream stream)
{
    if (node->disabled || changes_memory(node))
        return;
    struct rp_footprint *call = rp_footprint_take();
    rp_footprint_begin(call, rp_names_id(rp_core.names, name_of(node)), stream);
    if (reach_node(call, node) != RP_OK)
        rp_remark(rp_name(call->name), "the host is out of memory: a graph node is not followed");
    call->in_graph = true;
    if (call->is_launch)
        refuse_segment(call);
    if (has_effect(node, call)) {
        if (!rp_core.graph_seq)
            rp_core.graph_seq = rp_core.seq + 1;
        rp_track(call);
        if (call->served) /* from kept outputs; but the driver will run the node all the same */
            rp_report(RP_HAZARD_UNPROVED, NULL, call, 0, 0, 0, NULL, NULL);
        rp_track_done(call, RP_OUTCOME_RAN);
        note_launch(node, call);
    }
    rp_footprint_give(call);
}

static void launch_unknown(struct rp_frame *frame, const char *why)
{
    struct rp_footprint *call = rp_handler_footprint(frame);
    if (reach_unknown(call, why) != RP_OK)
        rp_remark(rp_name(call->name), "the host is out of memory: the call is not followed");
    rp_track(call);
}

/* The nodes count as run before the driver has taken the graph: see rp_on_graph_launch_done. */
static void launch_nodes(struct rp_frame *frame, const struct rp_exec *exec)
{
    for (size_t i = 0; i < exec->count; i++)
        launch_node(&exec->nodes[i], rp_handler_stream(frame));
    rp_core.graph_seq = 0;
    frame->scratch[0] = frame; /* not to be taken back */
}

void rp_on_graph_launch(struct rp_frame *frame)
{
    const struct rp_args_cuGraphLaunch *args = frame->args;
    rp_core_lock();
    const struct rp_exec *exec = rp_exec_find(RP_HANDLE(args->hGraph));
    if (!rp_handler_is_captured(rp_handler_stream(frame)) && rp_switch_on(RP_SWITCH_GRAPHS)) {
        if (!exec || exec->unknown)
            launch_unknown(frame, exec ? exec->unknown : "a graph whose making was not seen");
        else
            launch_nodes(frame, exec);
    }
    rp_core_unlock();
}

/* What the nodes of a rejected launch were going to write was written down as done, and can't be
 * taken back: nothing that depends on it is proved any more. */
void rp_on_graph_launch_done(struct rp_frame *frame)
{
    const struct rp_footprint call = {.name = rp_handler_name(frame->id)};
    if (frame->scratch[0] && rp_handler_outcome(frame->result) != RP_OUTCOME_RAN) {
        rp_core_lock();
        rp_remark(rp_calls[frame->id].name, "a graph launch failed: what it wrote is not known");
        if (rp_core.segments_wanted)
            rp_report(RP_HAZARD_UNPROVED, NULL, &call, 0, 0, 0, NULL, NULL);
        rp_core_unlock();
    }
    rp_on_tracked(frame);
}
