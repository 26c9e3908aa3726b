/* SPDX-License-Identifier: Apache-2.0 */
/* What a graph is. Entry points: graphcalls.c (structure), node.c (parameters), exec.c. */
#include "cuda/soft/api/graph.h"

#include "cuda/soft/api/context.h"
#include "cuda/soft/api/userobject.h"

#include <stdlib.h>
#include <string.h>

CUresult soft_graph_find(CUgraph handle, struct soft_graph **out)
{
    if (!soft_handle_is(handle, SOFT_HANDLE_GRAPH))
        return CUDA_ERROR_INVALID_VALUE;
    *out = handle_graph(handle);
    return CUDA_SUCCESS;
}

CUresult soft_node_find(CUgraphNode handle, struct soft_node **out)
{
    if (!soft_handle_is(handle, SOFT_HANDLE_NODE))
        return CUDA_ERROR_INVALID_VALUE;
    *out = handle_node(handle);
    return CUDA_SUCCESS;
}

/* ---- life -------------------------------------------------------------------------- */

struct soft_graph *soft_graph_create(void)
{
    struct soft_graph *graph = calloc(1, sizeof *graph);
    if (graph != NULL && !soft_handle_add(graph, SOFT_HANDLE_GRAPH)) {
        free(graph);
        graph = NULL;
    }
    return graph;
}

static void free_node(struct soft_node *node)
{
    soft_handle_remove(node);
    soft_work_release(node->work);
    if (node->child != NULL)
        soft_graph_destroy(node->child);
    free(node->slots);
    free(node->from);
    free(node);
}

void soft_graph_destroy(struct soft_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++)
        free_node(graph->nodes[i]);
    soft_user_objects_release(graph);
    soft_handle_remove(graph);
    free(graph->nodes);
    free(graph);
}

/* ---- nodes and edges --------------------------------------------------------------- */

static bool reserve(void ***items, size_t count, size_t *capacity)
{
    if (count < *capacity)
        return true;
    size_t wanted = *capacity ? 2 * *capacity : 4;
    void **fresh = realloc(*items, wanted * sizeof(void *));
    if (fresh == NULL)
        return false;
    *items = fresh;
    *capacity = wanted;
    return true;
}

bool soft_node_is_after(const struct soft_node *node, const struct soft_node *earlier)
{
    for (size_t i = 0; i < node->from_count; i++)
        if (node->from[i] == earlier)
            return true;
    return false;
}

CUresult soft_node_after(struct soft_node *node, struct soft_node *earlier)
{
    if (node == earlier || node->graph != earlier->graph || soft_node_is_after(node, earlier))
        return CUDA_ERROR_INVALID_VALUE;
    if (!reserve((void ***)&node->from, node->from_count, &node->from_capacity))
        return CUDA_ERROR_OUT_OF_MEMORY;
    node->from[node->from_count++] = earlier;
    return CUDA_SUCCESS;
}

static struct soft_node *new_node(struct soft_graph *graph)
{
    struct soft_node *node = calloc(1, sizeof *node);
    if (node == NULL)
        return NULL;
    if (!reserve((void ***)&graph->nodes, graph->count, &graph->capacity) ||
        !soft_handle_add(node, SOFT_HANDLE_NODE)) {
        free(node);
        return NULL;
    }
    node->graph = graph;
    graph->nodes[graph->count++] = node;
    return node;
}

static void forget_edges_from(struct soft_node *node, const struct soft_node *gone)
{
    for (size_t i = 0; i < node->from_count; i++)
        if (node->from[i] == gone)
            node->from[i--] = node->from[--node->from_count];
}

void soft_node_destroy(struct soft_node *node)
{
    struct soft_graph *graph = node->graph;
    size_t at = graph->count;

    for (size_t i = 0; i < graph->count; i++) {
        forget_edges_from(graph->nodes[i], node);
        if (graph->nodes[i] == node)
            at = i;
    }
    memmove(&graph->nodes[at], &graph->nodes[at + 1],
            (graph->count - at - 1) * sizeof(struct soft_node *));
    graph->count--;
    free_node(node);
}

CUresult soft_graph_add(struct soft_graph *graph, CUgraphNodeType type, struct soft_work *work,
                        struct soft_node *const *from, size_t from_count, struct soft_node **out)
{
    struct soft_node *node = new_node(graph);
    CUresult result = CUDA_SUCCESS;

    if (node == NULL) {
        soft_work_release(work);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    node->type = type;
    node->work = work;
    for (size_t i = 0; i < from_count && result == CUDA_SUCCESS; i++)
        result = soft_node_after(node, from[i]);
    if (result == CUDA_SUCCESS)
        *out = node;
    else
        soft_node_destroy(node);
    return result;
}

void soft_node_set_work(struct soft_node *node, struct soft_work *work)
{
    soft_work_release(node->work);
    node->work = work;
    free(node->slots);
    node->slots = NULL;
}

/* ---- copies and order -------------------------------------------------------------- */

static struct soft_node *copy_node(struct soft_graph *graph, struct soft_node *node)
{
    struct soft_node *copy = new_node(graph);
    if (copy == NULL)
        return NULL;
    copy->type = node->type;
    copy->context = node->context;
    copy->event = node->event;
    copy->origin = node;
    copy->disabled = node->disabled;
    if (node->work != NULL)
        copy->work = soft_work_retain(node->work);
    if (node->child != NULL) {
        copy->child = soft_graph_copy(node->child);
        if (copy->child == NULL)
            return NULL; /* the graph's destruction frees what is there */
        copy->child->owner = copy;
    }
    node->copy = copy;
    return copy;
}

struct soft_graph *soft_graph_copy(struct soft_graph *graph)
{
    struct soft_graph *copy = soft_graph_create();
    bool good = copy != NULL && soft_user_objects_copy(copy, graph);

    for (size_t i = 0; i < graph->count && good; i++)
        good = copy_node(copy, graph->nodes[i]) != NULL;
    for (size_t i = 0; i < graph->count && good; i++)
        for (size_t j = 0; j < graph->nodes[i]->from_count && good; j++)
            good = soft_node_after(graph->nodes[i]->copy, graph->nodes[i]->from[j]->copy) ==
                   CUDA_SUCCESS;
    if (good)
        return copy;
    if (copy != NULL)
        soft_graph_destroy(copy);
    return NULL;
}

/* Picks nodes whose predecessors are all picked, in the order of creation. `mark` is the
 * node's place, from 1. */
bool soft_graph_sort(struct soft_graph *graph)
{
    struct soft_node **sorted = calloc(graph->count + 1, sizeof(struct soft_node *));
    size_t placed = 0;
    bool moved = true;

    if (sorted == NULL)
        return false;
    for (size_t i = 0; i < graph->count; i++)
        graph->nodes[i]->mark = 0;
    while (moved) {
        moved = false;
        for (size_t i = 0; i < graph->count; i++) {
            struct soft_node *node = graph->nodes[i];
            bool ready = node->mark == 0;
            for (size_t j = 0; j < node->from_count && ready; j++)
                ready = node->from[j]->mark != 0;
            if (!ready)
                continue;
            sorted[placed++] = node;
            node->mark = placed;
            moved = true;
        }
    }
    bool is_whole = placed == graph->count;
    if (is_whole && placed > 0)
        memcpy(graph->nodes, sorted, placed * sizeof(struct soft_node *));
    free(sorted);
    for (size_t i = 0; i < graph->count && is_whole; i++)
        if (graph->nodes[i]->child != NULL)
            is_whole = soft_graph_sort(graph->nodes[i]->child);
    return is_whole;
}
