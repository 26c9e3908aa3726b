/* SPDX-License-Identifier: Apache-2.0 */
/* cuGraph*NodeGetParams and their kin. */
#include "cuda/soft/api/node.h"

#include "cuda/soft/api/context.h"
#include "cuda/soft/api/copy.h"
#include "cuda/soft/api/hostfunc.h"
#include "cuda/soft/api/launch.h"

#include <stdlib.h>
#include <string.h>

/* Enters with a node of this type. */
CUresult soft_node_enter(CUgraphNode handle, CUgraphNodeType type, const void *argument,
                         struct soft_node **node)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_node_find(handle, node);
    if (result == CUDA_SUCCESS && ((*node)->type != type || argument == NULL))
        result = CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? result : soft_leave(result);
}

/* Pointers to the arguments in the node's own copy of them. */
static CUresult make_slots(struct soft_node *node, const struct soft_function *function)
{
    const struct rp_ptx_function *ptx = function->info.ptx;
    unsigned char *params = soft_launch_params(node->work);

    if (node->slots != NULL)
        return CUDA_SUCCESS;
    node->slots = calloc(ptx->param_count + 1, sizeof(void *));
    if (node->slots == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < ptx->param_count; i++)
        node->slots[i] = params + ptx->params[i].offset;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphKernelNodeGetParams_v2(CUgraphNode hNode,
                                               CUDA_KERNEL_NODE_PARAMS_v2 *nodeParams)
{
    struct soft_node *node;
    struct soft_launch launch;
    CUresult result = soft_node_enter(hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams, &node);
    if (result != CUDA_SUCCESS)
        return result;
    struct soft_function *function = soft_launch_read(node->work, &launch);
    result = make_slots(node, function);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    *nodeParams = (CUDA_KERNEL_NODE_PARAMS_v2){
        .func = function_handle(function),
        .gridDimX = launch.grid[0],
        .gridDimY = launch.grid[1],
        .gridDimZ = launch.grid[2],
        .blockDimX = launch.block[0],
        .blockDimY = launch.block[1],
        .blockDimZ = launch.block[2],
        .sharedMemBytes = launch.shared,
        .kernelParams = node->slots,
        .ctx = context_handle(node->context),
    };
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphKernelNodeGetParams(CUgraphNode hNode,
                                            CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    CUDA_KERNEL_NODE_PARAMS_v2 all;
    if (nodeParams == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = cuGraphKernelNodeGetParams_v2(hNode, &all);
    if (result == CUDA_SUCCESS)
        memcpy(nodeParams, &all, sizeof *nodeParams);
    return result;
}

/* Attributes have the values that they have in a plain launch, and can be set to no others. */
CUresult CUDAAPI cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                               CUkernelNodeAttrValue *value_out)
{
    struct soft_node *node;
    CUresult result = soft_node_enter(hNode, CU_GRAPH_NODE_TYPE_KERNEL, value_out, &node);
    if (result != CUDA_SUCCESS)
        return result;
    if (attr != CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE &&
        attr != CU_LAUNCH_ATTRIBUTE_PRIORITY && attr != CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
        return soft_leave(soft_refuse("attribute %d of a kernel node", (int)attr));
    *value_out = (CUkernelNodeAttrValue){.pad = {0}};
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams)
{
    struct soft_node *node;
    CUresult result = soft_node_enter(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams, &node);
    if (result != CUDA_SUCCESS)
        return result;
    soft_copy_to_3d((const struct soft_copy *)node->work, nodeParams);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphMemsetNodeGetParams(CUgraphNode hNode,
                                            CUDA_MEMSET_NODE_PARAMS_v1 *nodeParams)
{
    struct soft_node *node;
    CUresult result = soft_node_enter(hNode, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams, &node);
    if (result != CUDA_SUCCESS)
        return result;
    const struct soft_fill *fill = (const struct soft_fill *)node->work;
    *nodeParams = (CUDA_MEMSET_NODE_PARAMS_v1){.dst = fill->address,
                                               .pitch = fill->pitch,
                                               .value = fill->value,
                                               .elementSize = fill->element,
                                               .width = fill->width,
                                               .height = fill->height};
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS_v1 *nodeParams)
{
    struct soft_node *node;
    CUresult result = soft_node_enter(hNode, CU_GRAPH_NODE_TYPE_HOST, nodeParams, &node);
    if (result != CUDA_SUCCESS)
        return result;
    soft_host_function_read(node->work, &nodeParams->fn, &nodeParams->userData);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph *phGraph)
{
    struct soft_node *node;
    CUresult result = soft_node_enter(hNode, CU_GRAPH_NODE_TYPE_GRAPH, phGraph, &node);
    if (result != CUDA_SUCCESS)
        return result;
    *phGraph = graph_handle(node->child);
    return soft_leave(CUDA_SUCCESS);
}

static CUresult get_event(CUgraphNode handle, CUgraphNodeType type, CUevent *event)
{
    struct soft_node *node;
    CUresult result = soft_node_enter(handle, type, event, &node);
    if (result != CUDA_SUCCESS)
        return result;
    *event = node->event;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
    return get_event(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out);
}

CUresult CUDAAPI cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
    return get_event(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out);
}
