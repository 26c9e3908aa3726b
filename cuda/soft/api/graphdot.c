/* SPDX-License-Identifier: Apache-2.0 */
/* cuGraphDebugDotPrint: a graph in Graphviz's language, child graphs as clusters. Flags ask for
 * more details of nodes; their kind, their kernel's name and their handle are always there. */
#include "cuda/soft/api/graph.h"
#include "cuda/soft/api/launch.h"

#include <stdio.h>

static const char *kind(const struct soft_node *node)
{
    switch ((int)node->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return "KERNEL";
    case CU_GRAPH_NODE_TYPE_MEMCPY: return "MEMCPY";
    case CU_GRAPH_NODE_TYPE_MEMSET: return "MEMSET";
    case CU_GRAPH_NODE_TYPE_HOST: return "HOST";
    case CU_GRAPH_NODE_TYPE_GRAPH: return "GRAPH";
    case CU_GRAPH_NODE_TYPE_EMPTY: return "EMPTY";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return "WAIT_EVENT";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return "EVENT_RECORD";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return "MEM_ALLOC";
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return "MEM_FREE";
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return "BATCH_MEM_OP";
    default: return "NODE";
    }
}

/* Kernel names are identifiers of PTX, so nothing in them needs quoting. */
static void print_node(FILE *out, const struct soft_node *node)
{
    struct soft_launch launch;
    fprintf(out, "  \"%p\" [label=\"%s", (const void *)node, kind(node));
    if (node->type == CU_GRAPH_NODE_TYPE_KERNEL) {
        const struct soft_function *function = soft_launch_read(node->work, &launch);
        fprintf(out, "\\n%s<<<(%u,%u,%u),(%u,%u,%u),%u>>>", function->name, launch.grid[0],
                launch.grid[1], launch.grid[2], launch.block[0], launch.block[1], launch.block[2],
                launch.shared);
    }
    fprintf(out, "\"];\n");
    for (size_t i = 0; i < node->from_count; i++)
        fprintf(out, "  \"%p\" -> \"%p\";\n", (const void *)node->from[i], (const void *)node);
}

static void print_graph(FILE *out, const struct soft_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        const struct soft_node *node = graph->nodes[i];
        print_node(out, node);
        if (node->child == NULL)
            continue;
        fprintf(out, "  subgraph \"cluster_%p\" {\n", (const void *)node);
        print_graph(out, node->child);
        fprintf(out, "  }\n");
    }
}

CUresult CUDAAPI cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags)
{
    struct soft_graph *graph;
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    (void)flags;
    result = path != NULL ? soft_graph_find(hGraph, &graph) : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    FILE *out = fopen(path, "we");
    if (out == NULL)
        return soft_leave(CUDA_ERROR_OPERATING_SYSTEM);
    fprintf(out, "digraph \"%p\" {\n", (const void *)graph);
    print_graph(out, graph);
    fprintf(out, "}\n");
    bool whole = ferror(out) == 0;
    whole = fclose(out) == 0 && whole;
    return soft_leave(whole ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM);
}
