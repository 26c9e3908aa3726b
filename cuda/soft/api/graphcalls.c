/* SPDX-License-Identifier: Apache-2.0 */
/* The structure of graphs: nodes and edges, without what nodes do. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/graph.h"

#include <stdlib.h>
#include <string.h>

/* Enter with a live graph, respectively node. */
static CUresult enter_graph(CUgraph handle, struct soft_graph **graph)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_graph_find(handle, graph);
    return result == CUDA_SUCCESS ? result : soft_leave(result);
}

static CUresult enter_node(CUgraphNode handle, struct soft_node **node)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    result = soft_node_find(handle, node);
    return result == CUDA_SUCCESS ? result : soft_leave(result);
}

CUresult CUDAAPI cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (phGraph == NULL || flags != 0)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    struct soft_graph *graph = soft_graph_create();
    if (graph == NULL)
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    *phGraph = graph_handle(graph);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphDestroy(CUgraph hGraph)
{
    struct soft_graph *graph;
    CUresult result = enter_graph(hGraph, &graph);
    if (result != CUDA_SUCCESS)
        return result;
    if (graph->owner != NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    soft_graph_destroy(graph);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
    struct soft_graph *graph;
    CUresult result = enter_graph(originalGraph, &graph);
    if (result != CUDA_SUCCESS)
        return result;
    if (phGraphClone == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    struct soft_graph *copy = soft_graph_copy(graph);
    if (copy == NULL)
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    *phGraphClone = graph_handle(copy);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode,
                                        CUgraph hClonedGraph)
{
    struct soft_graph *graph;
    CUresult result = enter_graph(hClonedGraph, &graph);
    if (result != CUDA_SUCCESS)
        return result;
    if (phNode == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < graph->count; i++) {
        if (graph->nodes[i]->origin == handle_node(hOriginalNode)) {
            *phNode = node_handle(graph->nodes[i]);
            return soft_leave(CUDA_SUCCESS);
        }
    }
    return soft_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuGraphDestroyNode(CUgraphNode hNode)
{
    struct soft_node *node;
    CUresult result = enter_node(hNode, &node);
    if (result != CUDA_SUCCESS)
        return result;
    soft_node_destroy(node);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
    struct soft_node *node;
    CUresult result = enter_node(hNode, &node);
    if (result != CUDA_SUCCESS)
        return result;
    if (type == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    *type = node->type;
    return soft_leave(CUDA_SUCCESS);
}

/* ---- lists of nodes and edges ------------------------------------------------------ */

/* Where the program wants a list: room for *count entries, or none to ask for the number. What
 * is left of the room is filled with zeros. */
struct listing {
    CUgraphNode *nodes, *to;
    CUgraphEdgeData *edges;
    size_t room, found;
};

static void list(struct listing *listing, struct soft_node *node, struct soft_node *to)
{
    size_t at = listing->found++;
    if (at >= listing->room)
        return;
    if (listing->nodes != NULL)
        listing->nodes[at] = node_handle(node);
    if (listing->to != NULL)
        listing->to[at] = node_handle(to);
    if (listing->edges != NULL)
        memset(&listing->edges[at], 0, sizeof listing->edges[at]);
}

static CUresult finish_list(struct listing *listing, size_t *count)
{
    if (listing->nodes == NULL) {
        *count = listing->found;
        return CUDA_SUCCESS;
    }
    for (size_t at = listing->found; at < listing->room; at++) {
        listing->nodes[at] = NULL;
        if (listing->to != NULL)
            listing->to[at] = NULL;
    }
    if (listing->found < *count)
        *count = listing->found;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
    struct soft_graph *graph;
    CUresult result = enter_graph(hGraph, &graph);
    if (result != CUDA_SUCCESS)
        return result;
    if (numNodes == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    struct listing listing = {.nodes = nodes, .room = nodes != NULL ? *numNodes : 0};
    for (size_t i = 0; i < graph->count; i++)
        list(&listing, graph->nodes[i], NULL);
    return soft_leave(finish_list(&listing, numNodes));
}

CUresult CUDAAPI cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
    struct soft_graph *graph;
    CUresult result = enter_graph(hGraph, &graph);
    if (result != CUDA_SUCCESS)
        return result;
    if (numRootNodes == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    struct listing listing = {.nodes = rootNodes, .room = rootNodes != NULL ? *numRootNodes : 0};
    for (size_t i = 0; i < graph->count; i++)
        if (graph->nodes[i]->from_count == 0)
            list(&listing, graph->nodes[i], NULL);
    return soft_leave(finish_list(&listing, numRootNodes));
}

CUresult CUDAAPI cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
                                    CUgraphEdgeData *edgeData, size_t *numEdges)
{
    struct soft_graph *graph;
    CUresult result = enter_graph(hGraph, &graph);
    if (result != CUDA_SUCCESS)
        return result;
    if (numEdges == NULL || (from == NULL) != (to == NULL))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    struct listing listing = {
        .nodes = from, .to = to, .edges = edgeData, .room = from != NULL ? *numEdges : 0};
    for (size_t i = 0; i < graph->count; i++)
        for (size_t j = 0; j < graph->nodes[i]->from_count; j++)
            list(&listing, graph->nodes[i]->from[j], graph->nodes[i]);
    return soft_leave(finish_list(&listing, numEdges));
}

CUresult CUDAAPI cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
                                 size_t *numEdges)
{
    return cuGraphGetEdges_v2(hGraph, from, to, NULL, numEdges);
}

CUresult CUDAAPI cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode *dependencies,
                                               CUgraphEdgeData *edgeData, size_t *numDependencies)
{
    struct soft_node *node;
    CUresult result = enter_node(hNode, &node);
    if (result != CUDA_SUCCESS)
        return result;
    if (numDependencies == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    struct listing listing = {.nodes = dependencies,
                              .edges = edgeData,
                              .room = dependencies != NULL ? *numDependencies : 0};
    for (size_t i = 0; i < node->from_count; i++)
        list(&listing, node->from[i], NULL);
    return soft_leave(finish_list(&listing, numDependencies));
}

CUresult CUDAAPI cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode *dependencies,
                                            size_t *numDependencies)
{
    return cuGraphNodeGetDependencies_v2(hNode, dependencies, NULL, numDependencies);
}

CUresult CUDAAPI cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode *dependentNodes,
                                                 CUgraphEdgeData *edgeData,
                                                 size_t *numDependentNodes)
{
    struct soft_node *node;
    CUresult result = enter_node(hNode, &node);
    if (result != CUDA_SUCCESS)
        return result;
    if (numDependentNodes == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    struct listing listing = {.nodes = dependentNodes,
                              .edges = edgeData,
                              .room = dependentNodes != NULL ? *numDependentNodes : 0};
    for (size_t i = 0; i < node->graph->count; i++)
        if (soft_node_is_after(node->graph->nodes[i], node))
            list(&listing, node->graph->nodes[i], NULL);
    return soft_leave(finish_list(&listing, numDependentNodes));
}

CUresult CUDAAPI cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode *dependentNodes,
                                              size_t *numDependentNodes)
{
    return cuGraphNodeGetDependentNodes_v2(hNode, dependentNodes, NULL, numDependentNodes);
}

/* ---- edges ------------------------------------------------------------------------- */

/* Only edges that mean "after all of it" exist here. */
static bool is_plain(const CUgraphEdgeData *data, size_t count)
{
    static const CUgraphEdgeData plain;
    for (size_t i = 0; data != NULL && i < count; i++)
        if (memcmp(&data[i], &plain, sizeof plain) != 0)
            return false;
    return true;
}

static CUresult find_pair(const struct soft_graph *graph, CUgraphNode from, CUgraphNode to,
                          struct soft_node **earlier, struct soft_node **later)
{
    CUresult result = soft_node_find(from, earlier);
    if (result == CUDA_SUCCESS)
        result = soft_node_find(to, later);
    if (result == CUDA_SUCCESS && ((*earlier)->graph != graph || (*later)->graph != graph))
        result = CUDA_ERROR_INVALID_VALUE;
    return result;
}

CUresult CUDAAPI cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
                                           const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                                           size_t numDependencies)
{
    struct soft_node *earlier, *later;
    struct soft_graph *graph;
    CUresult result = enter_graph(hGraph, &graph);
    if (result != CUDA_SUCCESS)
        return result;
    if (numDependencies > 0 && (from == NULL || to == NULL))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    if (!is_plain(edgeData, numDependencies))
        return soft_leave(soft_refuse("graph edges with ports"));
    for (size_t i = 0; i < numDependencies && result == CUDA_SUCCESS; i++) {
        result = find_pair(graph, from[i], to[i], &earlier, &later);
        if (result == CUDA_SUCCESS)
            result = soft_node_after(later, earlier);
    }
    return soft_leave(result);
}

CUresult CUDAAPI cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from,
                                        const CUgraphNode *to, size_t numDependencies)
{
    return cuGraphAddDependencies_v2(hGraph, from, to, NULL, numDependencies);
}

CUresult CUDAAPI cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
                                              const CUgraphNode *to,
                                              const CUgraphEdgeData *edgeData,
                                              size_t numDependencies)
{
    struct soft_node *earlier, *later;
    struct soft_graph *graph;
    CUresult result = enter_graph(hGraph, &graph);
    if (result != CUDA_SUCCESS)
        return result;
    if ((numDependencies > 0 && (from == NULL || to == NULL)) ||
        !is_plain(edgeData, numDependencies))
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < numDependencies; i++) {
        result = find_pair(graph, from[i], to[i], &earlier, &later);
        if (result != CUDA_SUCCESS || !soft_node_is_after(later, earlier))
            return soft_leave(CUDA_ERROR_INVALID_VALUE);
        for (size_t j = 0; j < later->from_count; j++)
            if (later->from[j] == earlier)
                later->from[j--] = later->from[--later->from_count];
    }
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode *from,
                                           const CUgraphNode *to, size_t numDependencies)
{
    return cuGraphRemoveDependencies_v2(hGraph, from, to, NULL, numDependencies);
}
