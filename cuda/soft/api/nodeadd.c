/* SPDX-License-Identifier: Apache-2.0 */
/* cuGraphAdd*Node. */
#include "cuda/soft/api/node.h"

#include "cuda/soft/api/context.h"

#include <stdlib.h>
#include <string.h>

static CUresult find_place(CUgraph handle, const CUgraphNode *from, size_t count,
                           struct soft_place *place)
{
    CUresult result = soft_graph_find(handle, &place->graph);
    if (result != CUDA_SUCCESS)
        return result;
    place->count = count;
    place->from = calloc(count + 1, sizeof(struct soft_node *));
    if (place->from == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = soft_node_find(from[i], &place->from[i]);
    if (result != CUDA_SUCCESS)
        free(place->from);
    return result;
}

CUresult soft_place_begin(const CUgraphNode *out, CUgraph handle, const CUgraphNode *from,
                          size_t count, struct soft_place *place)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (out == NULL || (count > 0 && from == NULL))
        result = CUDA_ERROR_INVALID_VALUE;
    else
        result = find_place(handle, from, count, place);
    if (result != CUDA_SUCCESS)
        soft_leave(result);
    return result;
}

CUresult soft_place_end(struct soft_place *place, CUresult result, CUgraphNodeType type,
                        const struct soft_made *made, CUgraphNode *out, struct soft_node **node)
{
    struct soft_node *fresh = NULL;
    if (result == CUDA_SUCCESS)
        result = soft_graph_add(place->graph, type, made->work, place->from, place->count, &fresh);
    free(place->from);
    if (result == CUDA_SUCCESS) {
        fresh->context = made->context;
        *out = node_handle(fresh);
        if (node != NULL)
            *node = fresh;
    }
    return result;
}

CUresult soft_node_add(CUgraphNode *out, CUgraph graph, const CUgraphNode *from, size_t count,
                       CUgraphNodeType type, soft_make_fn make, const void *params)
{
    struct soft_place place;
    struct soft_made made = {NULL, NULL};
    if (params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = soft_place_begin(out, graph, from, count, &place);
    if (result != CUDA_SUCCESS)
        return result;
    result = make(params, &made);
    return soft_leave(soft_place_end(&place, result, type, &made, out, NULL));
}

/* ---- what nodes hold --------------------------------------------------------------- */

static CUresult make_kernel(const void *params, struct soft_made *out)
{
    return soft_made_kernel(params, out);
}

struct in_context { /* parameters that come with a context */
    const void *params;
    CUcontext context;
};

static CUresult make_memcpy(const void *params, struct soft_made *out)
{
    const struct in_context *in = params;
    return soft_made_memcpy(in->params, in->context, out);
}

static CUresult make_memset(const void *params, struct soft_made *out)
{
    const struct in_context *in = params;
    return soft_made_memset(in->params, in->context, out);
}

static CUresult make_host(const void *params, struct soft_made *out)
{
    const CUDA_HOST_NODE_PARAMS_v1 *host = params;
    return soft_made_host(host->fn, host->userData, out);
}

static CUresult make_nothing(const void *params, struct soft_made *out)
{
    (void)params;
    (void)out;
    return CUDA_SUCCESS;
}

/* ---- entry points ------------------------------------------------------------------ */

CUresult CUDAAPI cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                                         const CUgraphNode *dependencies, size_t numDependencies,
                                         const CUDA_KERNEL_NODE_PARAMS_v2 *nodeParams)
{
    return soft_node_add(phGraphNode, hGraph, dependencies, numDependencies,
                         CU_GRAPH_NODE_TYPE_KERNEL, make_kernel, nodeParams);
}

CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    if (nodeParams == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS_v2 params = soft_kernel_from_v1(nodeParams);
    return cuGraphAddKernelNode_v2(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    const struct in_context in = {copyParams, ctx};
    return soft_node_add(phGraphNode, hGraph, dependencies, numDependencies,
                         CU_GRAPH_NODE_TYPE_MEMCPY, make_memcpy, copyParams != NULL ? &in : NULL);
}

CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      const CUDA_MEMSET_NODE_PARAMS_v1 *memsetParams, CUcontext ctx)
{
    const struct in_context in = {memsetParams, ctx};
    return soft_node_add(phGraphNode, hGraph, dependencies, numDependencies,
                         CU_GRAPH_NODE_TYPE_MEMSET, make_memset, memsetParams != NULL ? &in : NULL);
}

CUresult CUDAAPI cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                    const CUgraphNode *dependencies, size_t numDependencies,
                                    const CUDA_HOST_NODE_PARAMS_v1 *nodeParams)
{
    return soft_node_add(phGraphNode, hGraph, dependencies, numDependencies,
                         CU_GRAPH_NODE_TYPE_HOST, make_host, nodeParams);
}

CUresult CUDAAPI cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                     const CUgraphNode *dependencies, size_t numDependencies)
{
    return soft_node_add(phGraphNode, hGraph, dependencies, numDependencies,
                         CU_GRAPH_NODE_TYPE_EMPTY, make_nothing, "");
}

CUresult CUDAAPI cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                          const CUgraphNode *dependencies, size_t numDependencies,
                                          CUgraph childGraph)
{
    struct soft_place place;
    struct soft_node *node = NULL;
    struct soft_graph *child, *copy = NULL;
    const struct soft_made nothing = {NULL, NULL};
    CUresult result = soft_place_begin(phGraphNode, hGraph, dependencies, numDependencies, &place);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_graph_find(childGraph, &child);
    if (result == CUDA_SUCCESS) {
        copy = soft_graph_copy(child);
        result = copy != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    result = soft_place_end(&place, result, CU_GRAPH_NODE_TYPE_GRAPH, &nothing, phGraphNode, &node);
    if (result == CUDA_SUCCESS) {
        node->child = copy;
        copy->owner = node;
    } else if (copy != NULL) {
        soft_graph_destroy(copy);
    }
    return soft_leave(result);
}

static CUresult add_event_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *from,
                               size_t count, CUevent handle, CUgraphNodeType type)
{
    struct soft_place place;
    struct soft_event *event;
    struct soft_node *node = NULL;
    const struct soft_made nothing = {NULL, NULL};
    CUresult result = soft_place_begin(out, graph, from, count, &place);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_event_find(handle, &event);
    result = soft_place_end(&place, result, type, &nothing, out, &node);
    if (result == CUDA_SUCCESS)
        node->event = handle;
    return soft_leave(result);
}

CUresult CUDAAPI cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                           const CUgraphNode *dependencies, size_t numDependencies,
                                           CUevent event)
{
    return add_event_node(phGraphNode, hGraph, dependencies, numDependencies, event,
                          CU_GRAPH_NODE_TYPE_EVENT_RECORD);
}

CUresult CUDAAPI cuGraphAddEventWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                         const CUgraphNode *dependencies, size_t numDependencies,
                                         CUevent event)
{
    return add_event_node(phGraphNode, hGraph, dependencies, numDependencies, event,
                          CU_GRAPH_NODE_TYPE_WAIT_EVENT);
}

static CUresult add_allocation(CUgraphNode *out, CUgraph graph, const CUgraphNode *from,
                               size_t count, CUDA_MEM_ALLOC_NODE_PARAMS_v2 *params)
{
    CUDA_MEM_ALLOC_NODE_PARAMS_v1 first = {.poolProps = params->poolProps,
                                           .accessDescs = params->accessDescs,
                                           .accessDescCount = params->accessDescCount,
                                           .bytesize = params->bytesize};
    CUresult result = cuGraphAddMemAllocNode(out, graph, from, count, &first);
    params->dptr = first.dptr;
    return result;
}

/* The call for nodes of any type. */
CUresult CUDAAPI cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                const CUgraphNode *dependencies, size_t numDependencies,
                                CUgraphNodeParams *nodeParams)
{
    if (nodeParams == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    switch (nodeParams->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
        CUDA_KERNEL_NODE_PARAMS_v2 params = soft_kernel_from_v3(&nodeParams->kernel);
        return cuGraphAddKernelNode_v2(phGraphNode, hGraph, dependencies, numDependencies, &params);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return cuGraphAddMemcpyNode(phGraphNode, hGraph, dependencies, numDependencies,
                                    &nodeParams->memcpy.copyParams, nodeParams->memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
        CUDA_MEMSET_NODE_PARAMS_v1 params;
        memcpy(&params, &nodeParams->memset, sizeof params);
        return cuGraphAddMemsetNode(phGraphNode, hGraph, dependencies, numDependencies, &params,
                                    nodeParams->memset.ctx);
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
        CUDA_HOST_NODE_PARAMS_v1 params = {nodeParams->host.fn, nodeParams->host.userData};
        return cuGraphAddHostNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
    }
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return cuGraphAddChildGraphNode(phGraphNode, hGraph, dependencies, numDependencies,
                                        nodeParams->graph.graph);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return cuGraphAddEmptyNode(phGraphNode, hGraph, dependencies, numDependencies);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return cuGraphAddEventWaitNode(phGraphNode, hGraph, dependencies, numDependencies,
                                       nodeParams->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return cuGraphAddEventRecordNode(phGraphNode, hGraph, dependencies, numDependencies,
                                         nodeParams->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return add_allocation(phGraphNode, hGraph, dependencies, numDependencies,
                              &nodeParams->alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return cuGraphAddMemFreeNode(phGraphNode, hGraph, dependencies, numDependencies,
                                     nodeParams->free.dptr);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
        CUDA_BATCH_MEM_OP_NODE_PARAMS params;
        memcpy(&params, &nodeParams->memOp, sizeof params);
        return cuGraphAddBatchMemOpNode(phGraphNode, hGraph, dependencies, numDependencies,
                                        &params);
    }
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return soft_refuse("graph nodes of type %d", (int)nodeParams->type);
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                                   const CUgraphNode *dependencies,
                                   const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                   CUgraphNodeParams *nodeParams)
{
    static const CUgraphEdgeData plain;
    for (size_t i = 0; dependencyData != NULL && i < numDependencies; i++)
        if (memcmp(&dependencyData[i], &plain, sizeof plain) != 0)
            return soft_refuse("graph edges with ports");
    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
}
