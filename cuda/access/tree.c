/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/tree.h"

#include <string.h>

void rp_indices_append(struct rp_builder *build, struct rp_indices *list, uint32_t item)
{
    if ((list->count & (list->count - 1)) == 0) { /* 0 or a power of two: full */
        uint32_t *items = rp_build_alloc(build, (list->count ? list->count * 2 : 1) *
                                                    sizeof(*items));
        if (list->count)
            memcpy(items, list->items, list->count * sizeof(*items));
        list->items = items;
    }
    list->items[list->count++] = item;
}

struct rp_tree rp_tree_backward(struct rp_builder *build)
{
    struct rp_tree graph = {.count = build->node_count, .root = RP_EXIT_NODE};
    graph.succ = rp_build_alloc(build, graph.count * sizeof(*graph.succ));
    graph.pred = rp_build_alloc(build, graph.count * sizeof(*graph.pred));
    return graph;
}

void rp_tree_add_backward(struct rp_builder *build, struct rp_tree *graph, uint32_t from,
                          uint32_t to)
{
    rp_indices_append(build, &graph->succ[to], from);
    rp_indices_append(build, &graph->pred[from], to);
}

void rp_tree_sort(struct rp_builder *build, struct rp_tree *graph)
{
    uint32_t *stack = rp_build_alloc(build, graph->count * sizeof(*stack));
    uint32_t *next = rp_build_alloc(build, graph->count * sizeof(*next));
    uint32_t *post = rp_build_alloc(build, graph->count * sizeof(*post));
    graph->order = rp_build_alloc(build, graph->count * sizeof(*graph->order));
    graph->sorted = rp_build_alloc(build, graph->count * sizeof(*graph->sorted));
    memset(graph->order, 0xff, graph->count * sizeof(*graph->order));
    uint32_t depth = 0, done = 0;
    stack[depth++] = graph->root;
    graph->order[graph->root] = 0;
    while (depth) {
        uint32_t at = stack[depth - 1];
        if (next[at] == graph->succ[at].count) {
            post[done++] = at;
            depth--;
            continue;
        }
        uint32_t to = graph->succ[at].items[next[at]++];
        if (graph->order[to] == RP_NONE) {
            graph->order[to] = 0;
            stack[depth++] = to;
        }
    }
    graph->sorted_count = done;
    for (uint32_t i = 0; i < done; i++) {
        graph->sorted[i] = post[done - 1 - i];
        graph->order[graph->sorted[i]] = i;
    }
}

bool rp_tree_sort_backward(struct rp_builder *build, struct rp_tree *graph)
{
    bool complete = true;
    rp_tree_sort(build, graph);
    for (uint32_t i = 0; i < build->rpo_count; i++) {
        uint32_t node = build->rpo[i];
        if (graph->order[node] != RP_NONE)
            continue;
        rp_tree_add_backward(build, graph, node, RP_EXIT_NODE);
        complete = false;
    }
    if (!complete)
        rp_tree_sort(build, graph);
    return complete;
}

static uint32_t common_ancestor(const struct rp_tree *graph, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (graph->order[a] > graph->order[b])
            a = graph->idom[a];
        while (graph->order[b] > graph->order[a])
            b = graph->idom[b];
    }
    return a;
}

/* Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm". */
void rp_tree_dominators(struct rp_builder *build, struct rp_tree *graph)
{
    graph->idom = rp_build_alloc(build, graph->count * sizeof(*graph->idom));
    memset(graph->idom, 0xff, graph->count * sizeof(*graph->idom));
    graph->idom[graph->root] = graph->root;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 1; i < graph->sorted_count; i++) {
            uint32_t node = graph->sorted[i], best = RP_NONE;
            const struct rp_indices *pred = &graph->pred[node];
            for (uint32_t j = 0; j < pred->count; j++)
                if (graph->order[pred->items[j]] != RP_NONE &&
                    graph->idom[pred->items[j]] != RP_NONE)
                    best = best == RP_NONE ? pred->items[j]
                                           : common_ancestor(graph, best, pred->items[j]);
            if (graph->idom[node] != best) {
                graph->idom[node] = best;
                changed = true;
            }
        }
    }
}

/* Numbers the tree so that ancestors are found by comparing intervals. Children come after
 * their parents in `sorted`, so sizes are summed backwards and places given forwards. */
struct rp_tree_interval *rp_tree_number(struct rp_builder *build, const struct rp_tree *graph)
{
    struct rp_tree_interval *tree = rp_build_alloc(build, graph->count * sizeof(*tree));
    uint32_t *size = rp_build_alloc(build, graph->count * sizeof(*size));
    uint32_t *given = rp_build_alloc(build, graph->count * sizeof(*given));
    for (uint32_t i = graph->sorted_count; i-- > 0;) {
        uint32_t node = graph->sorted[i];
        size[node]++;
        if (i)
            size[graph->idom[node]] += size[node];
    }
    for (uint32_t i = 0; i < graph->sorted_count; i++) {
        uint32_t node = graph->sorted[i], parent = graph->idom[node];
        tree[node].in = i ? tree[parent].in + 1 + given[parent] : 0;
        tree[node].out = tree[node].in + size[node];
        if (i)
            given[parent] += size[node];
    }
    return tree;
}
