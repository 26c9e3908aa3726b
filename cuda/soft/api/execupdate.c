/* SPDX-License-Identifier: Apache-2.0 */
/* cuGraphExecUpdate and its kin: other graphs of the same shape in an executable. */
#include "cuda/soft/api/graph.h"
#include "cuda/soft/api/node.h"

/* Index of a node in its graph. */
static size_t place_of(const struct soft_node *node)
{
    for (size_t i = 0; i < node->graph->count; i++)
        if (node->graph->nodes[i] == node)
            return i;
    return SIZE_MAX;
}

/* Do two graphs, both sorted by the same rule, have the same nodes and edges? */
static CUgraphExecUpdateResult compare(const struct soft_graph *old, const struct soft_graph *new,
                                       const struct soft_node **where)
{
    *where = NULL;
    if (old->count != new->count)
        return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t i = 0; i < old->count; i++) {
        const struct soft_node *was = old->nodes[i], *is = new->nodes[i];
        *where = is->origin;
        if (was->type != is->type)
            return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        if (was->from_count != is->from_count)
            return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        for (size_t j = 0; j < was->from_count; j++)
            if (place_of(was->from[j]) != place_of(is->from[j]))
                return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        if (was->child != NULL) {
            CUgraphExecUpdateResult inner = compare(was->child, is->child, where);
            if (inner != CU_GRAPH_EXEC_UPDATE_SUCCESS)
                return inner;
        }
    }
    *where = NULL;
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/* The old executable's nodes keep their names and switches. */
static void inherit_names(const struct soft_graph *old, struct soft_graph *new)
{
    for (size_t i = 0; i < old->count; i++) {
        new->nodes[i]->origin = old->nodes[i]->origin;
        new->nodes[i]->disabled = old->nodes[i]->disabled;
        if (old->nodes[i]->child != NULL)
            inherit_names(old->nodes[i]->child, new->nodes[i]->child);
    }
}

static CUresult sorted_copy(struct soft_graph *graph, struct soft_graph **out)
{
    *out = soft_graph_copy(graph);
    if (*out == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (soft_graph_sort(*out))
        return CUDA_SUCCESS;
    soft_graph_destroy(*out);
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult update(CUgraphExec exec_handle_, CUgraph graph_handle_,
                       CUgraphExecUpdateResult *verdict, CUgraphNode *where)
{
    const struct soft_node *culprit;
    struct soft_graph *graph;
    struct soft_exec *exec;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_exec_find(exec_handle_, &exec);
    if (result == CUDA_SUCCESS)
        result = soft_graph_find(graph_handle_, &graph);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    struct soft_graph *fresh;
    result = sorted_copy(graph, &fresh);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    *verdict = compare(exec->graph, fresh, &culprit);
    *where = (CUgraphNode)(uintptr_t)culprit;
    if (*verdict != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
        soft_graph_destroy(fresh);
        return soft_leave(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    }
    inherit_names(exec->graph, fresh);
    soft_graph_destroy(exec->graph);
    exec->graph = fresh;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph,
                                   CUgraphNode *hErrorNode_out,
                                   CUgraphExecUpdateResult *updateResult_out)
{
    CUgraphExecUpdateResult verdict = CU_GRAPH_EXEC_UPDATE_ERROR;
    CUgraphNode where = NULL;
    CUresult result = update(hGraphExec, hGraph, &verdict, &where);
    if (hErrorNode_out != NULL)
        *hErrorNode_out = where;
    if (updateResult_out != NULL)
        *updateResult_out = verdict;
    return result;
}

CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                                      CUgraphExecUpdateResultInfo *resultInfo)
{
    CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    CUresult result = update(hGraphExec, hGraph, &info.result, &info.errorNode);
    if (resultInfo != NULL)
        *resultInfo = info;
    return result;
}

static CUresult set_child(struct soft_node *node, struct soft_graph *graph)
{
    const struct soft_node *culprit;
    struct soft_graph *fresh;
    CUresult result = sorted_copy(graph, &fresh);
    if (result != CUDA_SUCCESS)
        return result;
    if (compare(node->child, fresh, &culprit) != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
        soft_graph_destroy(fresh);
        return CUDA_ERROR_INVALID_VALUE;
    }
    inherit_names(node->child, fresh);
    soft_graph_destroy(node->child);
    node->child = fresh;
    fresh->owner = node;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                    CUgraph childGraph)
{
    struct soft_node *node;
    struct soft_graph *graph;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_graph_find(childGraph, &graph);
    if (result == CUDA_SUCCESS)
        result = soft_exec_node(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_GRAPH, &node);
    return soft_leave(result == CUDA_SUCCESS ? set_child(node, graph) : result);
}
