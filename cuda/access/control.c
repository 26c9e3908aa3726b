/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/control.h"

#include "cuda/access/tree.h"

/* The graph turned round: from the exit to the entry. */
static struct rp_tree turn_round(struct rp_builder *build)
{
    struct rp_tree graph = {.count = build->node_count, .root = RP_EXIT_NODE};
    graph.succ = rp_build_alloc(build, graph.count * sizeof(*graph.succ));
    graph.pred = rp_build_alloc(build, graph.count * sizeof(*graph.pred));
    for (uint32_t i = 0; i < build->rpo_count; i++) {
        uint32_t node = build->rpo[i];
        const struct rp_indices *succ = &build->nodes[node].succ;
        for (uint32_t j = 0; j < succ->count; j++) {
            rp_indices_append(build, &graph.succ[succ->items[j]], node);
            rp_indices_append(build, &graph.pred[node], succ->items[j]);
        }
    }
    return graph;
}

/* What never ends, ends here for us. True where there is no such thing. */
static bool end_all(struct rp_builder *build, struct rp_tree *graph)
{
    bool complete = true;
    for (uint32_t i = 0; i < build->rpo_count; i++) {
        uint32_t node = build->rpo[i];
        if (graph->order[node] != RP_NONE)
            continue;
        rp_indices_append(build, &graph->succ[RP_EXIT_NODE], node);
        rp_indices_append(build, &graph->pred[node], RP_EXIT_NODE);
        complete = false;
    }
    if (!complete)
        rp_tree_sort(build, graph);
    return complete;
}

/* Between a branch and where its ways meet again, it decides. */
static void find_decided(struct rp_builder *build, struct rp_control *out, uint32_t branch)
{
    const struct rp_indices *succ = &build->nodes[branch].succ;
    for (uint32_t i = 0; succ->count > 1 && i < succ->count; i++)
        for (uint32_t at = succ->items[i]; at != out->after[branch] && at != RP_NONE;
             at = out->after[at]) {
            const struct rp_indices *known = &out->deciders[at];
            if (!known->count || known->items[known->count - 1] != branch)
                rp_indices_append(build, &out->deciders[at], branch);
        }
}

bool rp_control_find(struct rp_builder *build, struct rp_control *out)
{
    struct rp_tree graph = turn_round(build);
    rp_tree_sort(build, &graph);
    bool complete = end_all(build, &graph);
    rp_tree_dominators(build, &graph);
    out->after = graph.idom;
    out->after[RP_EXIT_NODE] = RP_NONE;
    out->deciders = rp_build_alloc(build, graph.count * sizeof(*out->deciders));
    for (uint32_t i = 0; i < build->rpo_count; i++)
        find_decided(build, out, build->rpo[i]);
    return complete;
}
