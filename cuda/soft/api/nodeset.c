/* SPDX-License-Identifier: Apache-2.0 */
/* cuGraph*NodeSetParams, in a graph and in an executable. */
#include "cuda/soft/api/node.h"

#include "cuda/soft/api/context.h"

#include <string.h>

/* Enters with the node to change: of a graph where `exec` is NULL, else its copy there. */
static CUresult enter_target(CUgraphExec exec, CUgraphNode handle, CUgraphNodeType type,
                             const void *argument, struct soft_node **node)
{
    if (exec == NULL)
        return soft_node_enter(handle, type, argument, node);
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_exec_node(exec, handle, type, node);
    if (result == CUDA_SUCCESS && argument == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? result : soft_leave(result);
}

static CUresult change(struct soft_node *node, CUresult result, const struct soft_made *made)
{
    if (result == CUDA_SUCCESS) {
        soft_node_set_work(node, made->work);
        node->context = made->context;
    }
    return soft_leave(result);
}

static CUresult set_kernel(CUgraphExec exec, CUgraphNode handle,
                           const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
    struct soft_node *node;
    struct soft_made made = {NULL, NULL};
    CUresult result = enter_target(exec, handle, CU_GRAPH_NODE_TYPE_KERNEL, params, &node);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_made_kernel(params, &made);
    return change(node, result, &made);
}

static CUresult set_memcpy(CUgraphExec exec, CUgraphNode handle, const CUDA_MEMCPY3D *params,
                           CUcontext context)
{
    struct soft_node *node;
    struct soft_made made = {NULL, NULL};
    CUresult result = enter_target(exec, handle, CU_GRAPH_NODE_TYPE_MEMCPY, params, &node);
    if (result != CUDA_SUCCESS)
        return result;
    result =
        soft_made_memcpy(params, context != NULL ? context : context_handle(node->context), &made);
    return change(node, result, &made);
}

static CUresult set_memset(CUgraphExec exec, CUgraphNode handle,
                           const CUDA_MEMSET_NODE_PARAMS_v1 *params, CUcontext context)
{
    struct soft_node *node;
    struct soft_made made = {NULL, NULL};
    CUresult result = enter_target(exec, handle, CU_GRAPH_NODE_TYPE_MEMSET, params, &node);
    if (result != CUDA_SUCCESS)
        return result;
    result =
        soft_made_memset(params, context != NULL ? context : context_handle(node->context), &made);
    return change(node, result, &made);
}

static CUresult set_host(CUgraphExec exec, CUgraphNode handle,
                         const CUDA_HOST_NODE_PARAMS_v1 *params)
{
    struct soft_node *node;
    struct soft_made made = {NULL, NULL};
    CUresult result = enter_target(exec, handle, CU_GRAPH_NODE_TYPE_HOST, params, &node);
    if (result != CUDA_SUCCESS)
        return result;
    made.context = node->context;
    result = soft_made_host(params->fn, params->userData, &made);
    return change(node, result, &made);
}

static CUresult set_event(CUgraphExec exec, CUgraphNode handle, CUgraphNodeType type,
                          CUevent event_handle_)
{
    struct soft_node *node;
    struct soft_event *event;
    CUresult result = enter_target(exec, handle, type, event_handle_, &node);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_event_find(event_handle_, &event);
    if (result == CUDA_SUCCESS)
        node->event = event_handle_;
    return soft_leave(result);
}

CUresult CUDAAPI cuGraphKernelNodeSetParams_v2(CUgraphNode hNode,
                                               const CUDA_KERNEL_NODE_PARAMS_v2 *nodeParams)
{
    return set_kernel(NULL, hNode, nodeParams);
}

CUresult CUDAAPI cuGraphKernelNodeSetParams(CUgraphNode hNode,
                                            const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    if (nodeParams == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS_v2 params = soft_kernel_from_v1(nodeParams);
    return set_kernel(NULL, hNode, &params);
}

CUresult CUDAAPI cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams)
{
    return set_memcpy(NULL, hNode, nodeParams, NULL);
}

CUresult CUDAAPI cuGraphMemsetNodeSetParams(CUgraphNode hNode,
                                            const CUDA_MEMSET_NODE_PARAMS_v1 *nodeParams)
{
    return set_memset(NULL, hNode, nodeParams, NULL);
}

CUresult CUDAAPI cuGraphHostNodeSetParams(CUgraphNode hNode,
                                          const CUDA_HOST_NODE_PARAMS_v1 *nodeParams)
{
    return set_host(NULL, hNode, nodeParams);
}

CUresult CUDAAPI cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event)
{
    return set_event(NULL, hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult CUDAAPI cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event)
{
    return set_event(NULL, hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

static CUresult set_any(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS_v2 kernel;
    CUDA_MEMSET_NODE_PARAMS_v1 fill;
    CUDA_HOST_NODE_PARAMS_v1 host;
    CUDA_BATCH_MEM_OP_NODE_PARAMS batch;

    if (params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        kernel = soft_kernel_from_v3(&params->kernel);
        return set_kernel(exec, node, &kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return set_memcpy(exec, node, &params->memcpy.copyParams, params->memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        memcpy(&fill, &params->memset, sizeof fill);
        return set_memset(exec, node, &fill, params->memset.ctx);
    case CU_GRAPH_NODE_TYPE_HOST:
        host = (CUDA_HOST_NODE_PARAMS_v1){params->host.fn, params->host.userData};
        return set_host(exec, node, &host);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return set_event(exec, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, params->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return set_event(exec, node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, params->eventWait.event);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        memcpy(&batch, &params->memOp, sizeof batch);
        return exec != NULL ? cuGraphExecBatchMemOpNodeSetParams(exec, node, &batch)
                            : cuGraphBatchMemOpNodeSetParams(node, &batch);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* What can be set is what every node has anyway (nodeget.c); priorities are hints. */
CUresult CUDAAPI cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                               const CUkernelNodeAttrValue *value)
{
    struct soft_node *node;
    CUresult result = soft_node_enter(hNode, CU_GRAPH_NODE_TYPE_KERNEL, value, &node);
    if (result != CUDA_SUCCESS)
        return result;
    bool is_plain = attr == CU_LAUNCH_ATTRIBUTE_PRIORITY ||
                    (attr == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && value->cooperative == 0);
    return soft_leave(is_plain ? CUDA_SUCCESS
                               : soft_refuse("attribute %d of a kernel node", (int)attr));
}

/* Which are the same for all. */
CUresult CUDAAPI cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
    struct soft_node *to, *from;
    CUresult result = soft_node_enter(dst, CU_GRAPH_NODE_TYPE_KERNEL, src, &to);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_node_find(src, &from);
    if (result == CUDA_SUCCESS && from->type != CU_GRAPH_NODE_TYPE_KERNEL)
        result = CUDA_ERROR_INVALID_VALUE;
    return soft_leave(result);
}

CUresult CUDAAPI cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
    return set_any(NULL, hNode, nodeParams);
}

/* ---- changing an executable; its handle is checked where NULL would mean a graph --- */

CUresult CUDAAPI cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                   const CUDA_KERNEL_NODE_PARAMS_v2 *nodeParams)
{
    return hGraphExec != NULL ? set_kernel(hGraphExec, hNode, nodeParams)
                              : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    if (hGraphExec == NULL || nodeParams == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS_v2 params = soft_kernel_from_v1(nodeParams);
    return set_kernel(hGraphExec, hNode, &params);
}

CUresult CUDAAPI cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    return hGraphExec != NULL ? set_memcpy(hGraphExec, hNode, copyParams, ctx)
                              : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_MEMSET_NODE_PARAMS_v1 *memsetParams,
                                                CUcontext ctx)
{
    return hGraphExec != NULL ? set_memset(hGraphExec, hNode, memsetParams, ctx)
                              : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                              const CUDA_HOST_NODE_PARAMS_v1 *nodeParams)
{
    return hGraphExec != NULL ? set_host(hGraphExec, hNode, nodeParams) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                    CUevent event)
{
    return hGraphExec != NULL ? set_event(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event)
                              : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                  CUevent event)
{
    return hGraphExec != NULL ? set_event(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event)
                              : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                          CUgraphNodeParams *nodeParams)
{
    return hGraphExec != NULL ? set_any(hGraphExec, hNode, nodeParams) : CUDA_ERROR_INVALID_VALUE;
}
