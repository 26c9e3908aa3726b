/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs: instantiation, and the nodes of one. */
#include "cuda/soft/api/graph.h"
#include "cuda/soft/api/node.h"

#include <stdlib.h>

#define KNOWN_FLAGS                                                                                \
    ((uint64_t)CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |                                   \
     (uint64_t)CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |                                                \
     (uint64_t)CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |                                         \
     (uint64_t)CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

CUresult soft_exec_find(CUgraphExec handle, struct soft_exec **out)
{
    if (!soft_handle_is(handle, SOFT_HANDLE_EXEC))
        return CUDA_ERROR_INVALID_VALUE;
    *out = handle_exec(handle);
    return CUDA_SUCCESS;
}

/* ---- instantiation ----------------------------------------------------------------- */

static CUresult instantiate(struct soft_graph *graph, uint64_t flags, struct soft_exec **out)
{
    struct soft_exec *exec = calloc(1, sizeof *exec);
    if (exec == NULL || !soft_handle_add(exec, SOFT_HANDLE_EXEC)) {
        free(exec);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    exec->flags = flags;
    exec->graph = soft_graph_copy(graph);
    if (exec->graph == NULL || !soft_graph_sort(exec->graph)) {
        CUresult result = exec->graph != NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
        if (exec->graph != NULL)
            soft_graph_destroy(exec->graph);
        soft_handle_remove(exec);
        free(exec);
        return result;
    }
    *out = exec;
    return CUDA_SUCCESS;
}

static CUresult instantiate_handle(CUgraphExec *out, CUgraph handle, uint64_t flags)
{
    struct soft_graph *graph;
    struct soft_exec *exec;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (out == NULL || (flags & ~KNOWN_FLAGS) != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if ((flags & (uint64_t)CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0)
        return soft_leave(soft_refuse("graphs that are launched by the device"));
    result = soft_graph_find(handle, &graph);
    if (result == CUDA_SUCCESS)
        result = instantiate(graph, flags, &exec);
    if (result == CUDA_SUCCESS)
        *out = exec_handle(exec);
    return soft_leave(result);
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
                                             unsigned long long flags)
{
    return instantiate_handle(phGraphExec, hGraph, flags);
}

CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph,
                                       CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize)
{
    if (phErrorNode != NULL)
        *phErrorNode = NULL;
    if (logBuffer != NULL && bufferSize > 0)
        logBuffer[0] = '\0';
    return instantiate_handle(phGraphExec, hGraph, 0);
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph,
                                    CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize)
{
    return cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult CUDAAPI cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
                                              CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
    if (instantiateParams == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = instantiate_handle(phGraphExec, hGraph, instantiateParams->flags);
    instantiateParams->hErrNode_out = NULL;
    instantiateParams->result_out =
        result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
    return result;
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec hGraphExec)
{
    struct soft_exec *exec;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_exec_find(hGraphExec, &exec);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    soft_handle_remove(exec);
    soft_graph_destroy(exec->graph);
    soft_op_release(exec->last);
    free(exec);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t *flags)
{
    struct soft_exec *exec;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = flags != NULL ? soft_exec_find(hGraphExec, &exec) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *flags = exec->flags;
    return soft_leave(result);
}
/* ---- nodes ------------------------------------------------------------------------- */

/* The copy of the node, which the program names by the original's handle. */
static struct soft_node *find_copy(const struct soft_graph *graph, CUgraphNode handle)
{
    for (size_t i = 0; i < graph->count; i++) {
        struct soft_node *node = graph->nodes[i];
        if (node->origin == handle_node(handle))
            return node;
        if (node->child != NULL) {
            struct soft_node *inner = find_copy(node->child, handle);
            if (inner != NULL)
                return inner;
        }
    }
    return NULL;
}

CUresult soft_exec_node(CUgraphExec exec_handle_, CUgraphNode node_handle_, CUgraphNodeType type,
                        struct soft_node **out)
{
    struct soft_exec *exec;
    CUresult result = soft_exec_find(exec_handle_, &exec);
    if (result != CUDA_SUCCESS)
        return result;
    *out = find_copy(exec->graph, node_handle_);
    return *out != NULL && (*out)->type == type ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool can_be_disabled(const struct soft_node *node)
{
    return node->type == CU_GRAPH_NODE_TYPE_KERNEL || node->type == CU_GRAPH_NODE_TYPE_MEMCPY ||
           node->type == CU_GRAPH_NODE_TYPE_MEMSET;
}

CUresult CUDAAPI cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
                                       unsigned int isEnabled)
{
    struct soft_exec *exec;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_exec_find(hGraphExec, &exec);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    struct soft_node *node = find_copy(exec->graph, hNode);
    if (node == NULL || !can_be_disabled(node))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    node->disabled = isEnabled == 0;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
                                       unsigned int *isEnabled)
{
    struct soft_exec *exec;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = isEnabled != NULL ? soft_exec_find(hGraphExec, &exec) : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    const struct soft_node *node = find_copy(exec->graph, hNode);
    if (node == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *isEnabled = !node->disabled;
    return soft_leave(CUDA_SUCCESS);
}
