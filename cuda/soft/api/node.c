/* SPDX-License-Identifier: Apache-2.0 */
/* What graph nodes do: adding them, asking for and changing their parameters, in a graph and
 * in an executable. Parameters are turned into works in the call, so kernel arguments are
 * copied then. */
#include "cuda/soft/api/node.h"

#include "cuda/soft/api/context.h"
#include "cuda/soft/api/copy.h"
#include "cuda/soft/api/hostfunc.h"
#include "cuda/soft/api/launch.h"

#include <stdlib.h>
#include <string.h>

/* ---- works from parameters --------------------------------------------------------- */

/* A work and the context that it runs in. */
struct making {
    struct soft_work *work;
    struct soft_context *context;
};

/* All versions of kernel parameters agree in their first part; later ones add a CUkernel and
 * a context. */
static CUresult make_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *params, struct making *out)
{
    struct soft_context *context = soft_context_current();
    struct soft_function *function;
    CUresult result;

    if (params->func == NULL && params->kern == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (params->ctx != NULL) {
        result = soft_context_find(params->ctx, false, &context);
        if (result != CUDA_SUCCESS)
            return result;
    }
    CUfunction handle = params->func != NULL ? params->func : (CUfunction)(void *)params->kern;
    result = soft_function_find(context, handle, &function);
    if (result != CUDA_SUCCESS)
        return result;
    struct soft_launch launch = {
        .grid = {params->gridDimX, params->gridDimY, params->gridDimZ},
        .block = {params->blockDimX, params->blockDimY, params->blockDimZ},
        .shared = params->sharedMemBytes};
    out->context = function->module->context;
    return soft_launch_work(function, &launch, params->kernelParams, params->extra, &out->work);
}

static CUDA_KERNEL_NODE_PARAMS_v2 from_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    CUDA_KERNEL_NODE_PARAMS_v2 all = {.kern = NULL};
    memcpy(&all, params, sizeof *params);
    return all;
}

static CUDA_KERNEL_NODE_PARAMS_v2 from_v3(const CUDA_KERNEL_NODE_PARAMS_v3 *params)
{
    CUDA_KERNEL_NODE_PARAMS_v2 all;
    _Static_assert(sizeof all == sizeof *params, "the third version has the second's layout");
    memcpy(&all, params, sizeof all);
    return all;
}

static CUresult make_memcpy(const CUDA_MEMCPY3D *params, CUcontext context, struct making *out)
{
    struct soft_copy copy;
    CUresult result = soft_context_find(context, true, &out->context);
    if (result == CUDA_SUCCESS)
        result = soft_copy_from_3d(params, &copy);
    if (result != CUDA_SUCCESS)
        return result;
    out->work = soft_copy_work(&copy);
    return out->work != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult make_memset(const CUDA_MEMSET_NODE_PARAMS_v1 *params, CUcontext context,
                            struct making *out)
{
    struct soft_fill fill = {.address = params->dst,
                             .pitch = params->pitch,
                             .width = params->width,
                             .height = params->height,
                             .element = params->elementSize,
                             .value = params->value};
    CUresult result = soft_context_find(context, true, &out->context);
    if (result != CUDA_SUCCESS)
        return result;
    if (fill.element != 1 && fill.element != 2 && fill.element != 4)
        return CUDA_ERROR_INVALID_VALUE;
    result = soft_fill_check(&fill);
    if (result != CUDA_SUCCESS)
        return result;
    out->work = soft_fill_work(&fill);
    return out->work != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult make_host(CUhostFn function, void *argument, struct making *out)
{
    if (function == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    out->work = soft_host_function_work(function, argument);
    return out->work != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- adding ------------------------------------------------------------------------ */

/* The first half of every cuGraphAdd*Node: with the lock, `from` are live nodes. */
struct place {
    struct soft_graph *graph;
    struct soft_node **from;
    size_t count;
};

static CUresult begin(const CUgraphNode *out, CUgraph handle, const CUgraphNode *from,
                      size_t count, struct place *place)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (out == NULL || (count > 0 && from == NULL))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_graph_find(handle, &place->graph);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    place->count = count;
    place->from = calloc(count + 1, sizeof(struct soft_node *));
    if (place->from == NULL)
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = soft_node_find(from[i], &place->from[i]);
    if (result == CUDA_SUCCESS)
        return result;
    free(place->from);
    return soft_leave(result);
}

/* The second half: adds the node when `result` is still good. */
static CUresult end(struct place *place, CUresult result, CUgraphNodeType type,
                    const struct making *made, CUgraphNode *out, struct soft_node **node)
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

CUresult CUDAAPI cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                                         const CUgraphNode *dependencies, size_t numDependencies,
                                         const CUDA_KERNEL_NODE_PARAMS_v2 *nodeParams)
{
    struct place place;
    struct making made = {NULL, NULL};
    if (nodeParams == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = begin(phGraphNode, hGraph, dependencies, numDependencies, &place);
    if (result != CUDA_SUCCESS)
        return result;
    result = make_kernel(nodeParams, &made);
    return soft_leave(end(&place, result, CU_GRAPH_NODE_TYPE_KERNEL, &made, phGraphNode, NULL));
}

CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    if (nodeParams == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS_v2 params = from_v1(nodeParams);
    return cuGraphAddKernelNode_v2(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    struct place place;
    struct making made = {NULL, NULL};
    if (copyParams == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = begin(phGraphNode, hGraph, dependencies, numDependencies, &place);
    if (result != CUDA_SUCCESS)
        return result;
    result = make_memcpy(copyParams, ctx, &made);
    return soft_leave(end(&place, result, CU_GRAPH_NODE_TYPE_MEMCPY, &made, phGraphNode, NULL));
}

CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      const CUDA_MEMSET_NODE_PARAMS_v1 *memsetParams,
                                      CUcontext ctx)
{
    struct place place;
    struct making made = {NULL, NULL};
    if (memsetParams == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = begin(phGraphNode, hGraph, dependencies, numDependencies, &place);
    if (result != CUDA_SUCCESS)
        return result;
    result = make_memset(memsetParams, ctx, &made);
    return soft_leave(end(&place, result, CU_GRAPH_NODE_TYPE_MEMSET, &made, phGraphNode, NULL));
}

CUresult CUDAAPI cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                    const CUgraphNode *dependencies, size_t numDependencies,
                                    const CUDA_HOST_NODE_PARAMS_v1 *nodeParams)
{
    struct place place;
    struct making made = {NULL, NULL};
    if (nodeParams == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = begin(phGraphNode, hGraph, dependencies, numDependencies, &place);
    if (result != CUDA_SUCCESS)
        return result;
    result = make_host(nodeParams->fn, nodeParams->userData, &made);
    return soft_leave(end(&place, result, CU_GRAPH_NODE_TYPE_HOST, &made, phGraphNode, NULL));
}

CUresult CUDAAPI cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                     const CUgraphNode *dependencies, size_t numDependencies)
{
    struct place place;
    const struct making nothing = {NULL, NULL};
    CUresult result = begin(phGraphNode, hGraph, dependencies, numDependencies, &place);
    if (result != CUDA_SUCCESS)
        return result;
    return soft_leave(end(&place, result, CU_GRAPH_NODE_TYPE_EMPTY, &nothing, phGraphNode, NULL));
}

CUresult CUDAAPI cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                          const CUgraphNode *dependencies, size_t numDependencies,
                                          CUgraph childGraph)
{
    struct place place;
    struct soft_node *node = NULL;
    struct soft_graph *child, *copy = NULL;
    const struct making nothing = {NULL, NULL};
    CUresult result = begin(phGraphNode, hGraph, dependencies, numDependencies, &place);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_graph_find(childGraph, &child);
    if (result == CUDA_SUCCESS) {
        copy = soft_graph_copy(child);
        result = copy != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    result = end(&place, result, CU_GRAPH_NODE_TYPE_GRAPH, &nothing, phGraphNode, &node);
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
    struct place place;
    struct soft_event *event;
    struct soft_node *node = NULL;
    const struct making nothing = {NULL, NULL};
    CUresult result = begin(out, graph, from, count, &place);
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_event_find(handle, &event);
    result = end(&place, result, type, &nothing, out, &node);
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

/* The call for nodes of any type. */
CUresult CUDAAPI cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                const CUgraphNode *dependencies, size_t numDependencies,
                                CUgraphNodeParams *nodeParams)
{
    if (nodeParams == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    switch (nodeParams->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
        CUDA_KERNEL_NODE_PARAMS_v2 params = from_v3(&nodeParams->kernel);
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
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
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

/* ---- asking ------------------------------------------------------------------------ */

/* Enters with a node of this type. */
static CUresult enter(CUgraphNode handle, CUgraphNodeType type, const void *argument,
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
    CUresult result = enter(hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams, &node);
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

/* Attributes can't be set here: each has the value that it has in a plain launch. */
CUresult CUDAAPI cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                               CUkernelNodeAttrValue *value_out)
{
    struct soft_node *node;
    CUresult result = enter(hNode, CU_GRAPH_NODE_TYPE_KERNEL, value_out, &node);
    if (result != CUDA_SUCCESS)
        return result;
    if (attr != CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE &&
        attr != CU_LAUNCH_ATTRIBUTE_PRIORITY && attr != CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
        return soft_leave(soft_refuse("this attribute of a kernel node"));
    *value_out = (CUkernelNodeAttrValue){.pad = {0}};
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams)
{
    struct soft_node *node;
    CUresult result = enter(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams, &node);
    if (result != CUDA_SUCCESS)
        return result;
    soft_copy_to_3d((const struct soft_copy *)node->work, nodeParams);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphMemsetNodeGetParams(CUgraphNode hNode,
                                            CUDA_MEMSET_NODE_PARAMS_v1 *nodeParams)
{
    struct soft_node *node;
    CUresult result = enter(hNode, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams, &node);
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
    CUresult result = enter(hNode, CU_GRAPH_NODE_TYPE_HOST, nodeParams, &node);
    if (result != CUDA_SUCCESS)
        return result;
    soft_host_function_read(node->work, &nodeParams->fn, &nodeParams->userData);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph *phGraph)
{
    struct soft_node *node;
    CUresult result = enter(hNode, CU_GRAPH_NODE_TYPE_GRAPH, phGraph, &node);
    if (result != CUDA_SUCCESS)
        return result;
    *phGraph = graph_handle(node->child);
    return soft_leave(CUDA_SUCCESS);
}

static CUresult get_event(CUgraphNode handle, CUgraphNodeType type, CUevent *event)
{
    struct soft_node *node;
    CUresult result = enter(handle, type, event, &node);
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

/* ---- changing ---------------------------------------------------------------------- */

/* Enters with the node to change: of a graph where `exec` is NULL, else its copy there. */
static CUresult enter_target(CUgraphExec exec, CUgraphNode handle, CUgraphNodeType type,
                             const void *argument, struct soft_node **node)
{
    if (exec == NULL)
        return enter(handle, type, argument, node);
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_exec_node(exec, handle, type, node);
    if (result == CUDA_SUCCESS && argument == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? result : soft_leave(result);
}

static CUresult change(struct soft_node *node, CUresult result, const struct making *made)
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
    struct making made = {NULL, NULL};
    CUresult result = enter_target(exec, handle, CU_GRAPH_NODE_TYPE_KERNEL, params, &node);
    if (result != CUDA_SUCCESS)
        return result;
    result = make_kernel(params, &made);
    return change(node, result, &made);
}

static CUresult set_memcpy(CUgraphExec exec, CUgraphNode handle, const CUDA_MEMCPY3D *params,
                           CUcontext context)
{
    struct soft_node *node;
    struct making made = {NULL, NULL};
    CUresult result = enter_target(exec, handle, CU_GRAPH_NODE_TYPE_MEMCPY, params, &node);
    if (result != CUDA_SUCCESS)
        return result;
    result = make_memcpy(params, context != NULL ? context : context_handle(node->context), &made);
    return change(node, result, &made);
}

static CUresult set_memset(CUgraphExec exec, CUgraphNode handle,
                           const CUDA_MEMSET_NODE_PARAMS_v1 *params, CUcontext context)
{
    struct soft_node *node;
    struct making made = {NULL, NULL};
    CUresult result = enter_target(exec, handle, CU_GRAPH_NODE_TYPE_MEMSET, params, &node);
    if (result != CUDA_SUCCESS)
        return result;
    result = make_memset(params, context != NULL ? context : context_handle(node->context), &made);
    return change(node, result, &made);
}

static CUresult set_host(CUgraphExec exec, CUgraphNode handle,
                         const CUDA_HOST_NODE_PARAMS_v1 *params)
{
    struct soft_node *node;
    struct making made = {NULL, NULL};
    CUresult result = enter_target(exec, handle, CU_GRAPH_NODE_TYPE_HOST, params, &node);
    if (result != CUDA_SUCCESS)
        return result;
    made.context = node->context;
    result = make_host(params->fn, params->userData, &made);
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
    CUDA_KERNEL_NODE_PARAMS_v2 params = from_v1(nodeParams);
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

    if (params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        kernel = from_v3(&params->kernel);
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
    default: return CUDA_ERROR_INVALID_VALUE;
    }
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
    CUDA_KERNEL_NODE_PARAMS_v2 params = from_v1(nodeParams);
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
    return hGraphExec != NULL
               ? set_event(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event)
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
