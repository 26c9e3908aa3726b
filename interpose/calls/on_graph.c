/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs: made and changed. */
#include "interpose/calls/handlers.h"

#include "interpose/calls/graph.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/report.h"

/* The driver looks at the memory that nodes are about. */
void rp_on_graph_look(struct rp_frame *frame)
{
    (void)frame;
    rp_core_lock();
    rp_recompute_look_begins();
    rp_core_unlock();
}

void rp_on_graph_looked(struct rp_frame *frame)
{
    rp_core_lock();
    frame->result = rp_recompute_looked(frame->result);
    rp_recompute_look_ends();
    rp_core_unlock();
}

/* A graph that device code may launch runs without a call of the host. */
static void refuse_device_launch(const struct rp_frame *frame, CUgraphExec exec)
{
    cuuint64_t flags = 0;
    if (rp_real.cuGraphExecGetFlags(exec, &flags) != CUDA_SUCCESS ||
        !(flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH))
        return;
    rp_handler_not_followed(frame, "device code may launch the graph unseen: instantiate it "
                                   "without CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH, and let "
                                   "the host launch it");
}

/* All forms start with the place for the handle and the graph. */
void rp_on_graph_instantiated(struct rp_frame *frame)
{
    const struct rp_args_cuGraphInstantiateWithFlags *args = frame->args;
    rp_on_graph_looked(frame);
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
    rp_on_graph_looked(frame);
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
    rp_on_graph_looked(frame);
    struct rp_node *node = changed(frame, CU_GRAPH_NODE_TYPE_MEMCPY);
    if (!node)
        return;
    node->copy = *args->copyParams;
    rp_core_unlock();
}

void rp_on_graph_fill_set(struct rp_frame *frame)
{
    const struct rp_args_cuGraphExecMemsetNodeSetParams *args = frame->args;
    rp_on_graph_looked(frame);
    struct rp_node *node = changed(frame, CU_GRAPH_NODE_TYPE_MEMSET);
    if (!node)
        return;
    node->fill = *args->memsetParams;
    rp_core_unlock();
}

void rp_on_graph_batch_set(struct rp_frame *frame)
{
    const struct rp_args_cuGraphExecBatchMemOpNodeSetParams *args = frame->args;
    rp_on_graph_looked(frame);
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
    rp_on_graph_looked(frame);
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
