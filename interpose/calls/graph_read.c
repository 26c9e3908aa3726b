/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/graph_read.h"

#include "interpose/calls/handlers.h"
#include "interpose/door/real.h"

#include <stdlib.h>
#include <string.h>

/* ---- one node -------------------------------------------------------------------- */

/* Kernels whose arguments a device program may change have no parameters that count. */
static bool is_device_updatable(CUgraphNode handle)
{
    CUkernelNodeAttrValue value = {.deviceUpdatableKernelNode = {.deviceUpdatable = 0}};
    CUresult result = rp_real.cuGraphKernelNodeGetAttribute(
        handle, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value);
    return result == CUDA_SUCCESS && value.deviceUpdatableKernelNode.deviceUpdatable;
}

static CUresult read_kernel(struct rp_node *node, CUgraphNode handle)
{
    CUDA_KERNEL_NODE_PARAMS_v2 params = {.func = NULL};
    CUDA_KERNEL_NODE_PARAMS_v1 old = {.func = NULL};
    CUresult result = rp_real.cuGraphKernelNodeGetParams_v2(handle, &params);
    if (result == CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) {
        result = rp_real.cuGraphKernelNodeGetParams(handle, &old);
        memcpy(&params, &old, sizeof old); /* the second version's beginning is the first */
    }
    if (result == CUDA_SUCCESS)
        rp_node_set_kernel(node, &params);
    if (is_device_updatable(handle))
        node->unknown = "device code may update the kernel node";
    return result;
}

static CUresult read_batch(struct rp_node *node, CUgraphNode handle)
{
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {.count = 0};
    CUresult result = rp_real.cuGraphBatchMemOpNodeGetParams(handle, &params);
    if (result == CUDA_SUCCESS)
        rp_node_set_batch(node, params.paramArray, params.count);
    return result;
}

static CUresult read_allocation(struct rp_node *node, CUgraphNode handle)
{
    CUDA_MEM_ALLOC_NODE_PARAMS params = {.bytesize = 0};
    CUresult result = rp_real.cuGraphMemAllocNodeGetParams(handle, &params);
    node->memory.address = params.dptr;
    node->memory.bytes = params.bytesize;
    node->memory.kind = rp_handler_pool_kind(&params.poolProps);
    return result;
}

static CUresult read_free(struct rp_node *node, CUgraphNode handle)
{
    CUdeviceptr address = 0;
    CUresult result = rp_real.cuGraphMemFreeNodeGetParams(handle, &address);
    node->memory.address = address;
    return result;
}

/* What a node of this type does, where that takes parameters. */
static CUresult read_params(struct rp_node *node, CUgraphNode handle)
{
    switch (node->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return read_kernel(node, handle);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return rp_real.cuGraphMemcpyNodeGetParams(handle, &node->copy);
    case CU_GRAPH_NODE_TYPE_MEMSET: return rp_real.cuGraphMemsetNodeGetParams(handle, &node->fill);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return read_batch(node, handle);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return read_allocation(node, handle);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return read_free(node, handle);
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        node->unknown = "a conditional node: the device decides what runs";
        break;
    default: node->unknown = "a graph node of a type that is not known";
    }
    return CUDA_SUCCESS;
}

static bool append(struct rp_exec *exec, CUgraphNode handle, uint64_t parent)
{
    if (exec->count == exec->capacity) {
        size_t capacity = exec->capacity ? exec->capacity * 2 : 16;
        struct rp_node *bigger = realloc(exec->nodes, capacity * sizeof *bigger);
        if (!bigger)
            return false;
        exec->nodes = bigger;
        exec->capacity = capacity;
    }
    struct rp_node *node = &exec->nodes[exec->count++];
    *node = (struct rp_node){.handle = (uintptr_t)handle, .parent = parent};
    if (rp_real.cuGraphNodeGetType(handle, &node->type) != CUDA_SUCCESS)
        return false;
    if (read_params(node, handle) != CUDA_SUCCESS)
        node->unknown = "the driver does not tell the parameters of a graph node";
    CUgraph child;
    if (node->type != CU_GRAPH_NODE_TYPE_GRAPH)
        return true;
    return rp_real.cuGraphChildGraphNodeGetGraph(handle, &child) == CUDA_SUCCESS &&
           rp_graph_read(exec, child, (uintptr_t)handle);
}

/* ---- order ----------------------------------------------------------------------- */

struct place {
    CUgraphNode handle;
    size_t index; /* among the nodes as the driver lists them, which is how they were made */
};

struct edge {
    size_t from, to; /* indices */
};

struct order {
    CUgraphNode *nodes;   /* as the driver lists them */
    struct place *places; /* the same, sorted by handle */
    size_t count;
    CUgraphNode *from, *to;
    struct edge *edges; /* sorted by `from` */
    size_t edge_count;
    size_t *waits; /* of each node: edges from nodes that are not out yet */
    size_t *queue; /* the nodes that are ready; it ends with all of them */
};

static int by_handle(const void *a, const void *b)
{
    uintptr_t left = (uintptr_t)((const struct place *)a)->handle;
    uintptr_t right = (uintptr_t)((const struct place *)b)->handle;
    return (left > right) - (left < right);
}

static int by_from(const void *a, const void *b)
{
    const struct edge *left = a, *right = b;
    if (left->from != right->from)
        return left->from < right->from ? -1 : 1;
    return (left->to > right->to) - (left->to < right->to);
}

static const struct place *find(const struct order *order, CUgraphNode handle)
{
    const struct place wanted = {.handle = handle};
    return bsearch(&wanted, order->places, order->count, sizeof wanted, by_handle);
}

/* With edge data where the driver has it: asking without fails when there is some. */
static CUresult ask_edges(CUgraph graph, struct order *order)
{
    CUgraphEdgeData *data = calloc(order->edge_count + 1, sizeof *data);
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (data)
        result = rp_real.cuGraphGetEdges_v2(graph, order->from, order->to,
                                            order->from ? data : NULL, &order->edge_count);
    free(data);
    if (result == CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER || result == CUDA_ERROR_NOT_SUPPORTED)
        result = rp_real.cuGraphGetEdges(graph, order->from, order->to, &order->edge_count);
    return result;
}

static bool make_room(struct order *order)
{
    order->nodes = calloc(order->count + 1, sizeof(void *));
    order->places = calloc(order->count + 1, sizeof *order->places);
    order->waits = calloc(order->count + 1, sizeof *order->waits);
    order->queue = calloc(order->count + 1, sizeof *order->queue);
    order->from = calloc(order->edge_count + 1, sizeof(void *));
    order->to = calloc(order->edge_count + 1, sizeof(void *));
    order->edges = calloc(order->edge_count + 1, sizeof *order->edges);
    return order->nodes && order->places && order->waits && order->queue && order->from &&
           order->to && order->edges;
}

static void release(struct order *order)
{
    free(order->nodes);
    free(order->places);
    free(order->waits);
    free(order->queue);
    free(order->from);
    free(order->to);
    free(order->edges);
}

static bool ask(CUgraph graph, struct order *order)
{
    if (rp_real.cuGraphGetNodes(graph, NULL, &order->count) != CUDA_SUCCESS ||
        ask_edges(graph, order) != CUDA_SUCCESS || !make_room(order))
        return false;
    if (order->count &&
        rp_real.cuGraphGetNodes(graph, order->nodes, &order->count) != CUDA_SUCCESS)
        return false;
    return !order->edge_count || ask_edges(graph, order) == CUDA_SUCCESS;
}

static bool link(struct order *order)
{
    for (size_t i = 0; i < order->count; i++)
        order->places[i] = (struct place){order->nodes[i], i};
    qsort(order->places, order->count, sizeof *order->places, by_handle);
    for (size_t i = 0; i < order->edge_count; i++) {
        const struct place *from = find(order, order->from[i]), *to = find(order, order->to[i]);
        if (!from || !to)
            return false;
        order->edges[i] = (struct edge){from->index, to->index};
        order->waits[to->index]++;
    }
    qsort(order->edges, order->edge_count, sizeof *order->edges, by_from);
    return true;
}

/* The first edge from the node, by bisection. */
static size_t first_edge(const struct order *order, size_t node)
{
    size_t lo = 0, hi = order->edge_count;
    while (lo < hi) {
        size_t middle = (lo + hi) / 2;
        if (order->edges[middle].from < node)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/* Kahn's algorithm. Nodes that may come in any order come as they were made, so that two graphs
 * of the same making are read alike. */
static bool sort(struct order *order)
{
    size_t ready = 0;
    for (size_t i = 0; i < order->count; i++)
        if (!order->waits[i])
            order->queue[ready++] = i;
    for (size_t done = 0; done < ready; done++) {
        size_t node = order->queue[done];
        for (size_t i = first_edge(order, node);
             i < order->edge_count && order->edges[i].from == node; i++)
            if (--order->waits[order->edges[i].to] == 0)
                order->queue[ready++] = order->edges[i].to;
    }
    return ready == order->count;
}

bool rp_graph_read(struct rp_exec *exec, CUgraph graph, uint64_t parent)
{
    struct order order = {.nodes = NULL};
    bool good = ask(graph, &order) && link(&order) && sort(&order);
    for (size_t i = 0; good && i < order.count; i++)
        good = append(exec, order.nodes[order.queue[i]], parent);
    release(&order);
    return good;
}
