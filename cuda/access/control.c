/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/control.h"

#include "cuda/access/tree.h"

/* The graph turned round: from the exit to the entry. */
static struct rp_tree turn_round(struct rp_builder *build)
{
    struct rp_tree graph = rp_tree_backward(build);
    for (uint32_t i = 0; i < build->rpo_count; i++) {
        uint32_t node = build->rpo[i];
        const struct rp_indices *succ = &build->nodes[node].succ;
        for (uint32_t j = 0; j < succ->count; j++)
            rp_tree_add_backward(build, &graph, node, succ->items[j]);
    }
    return graph;
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
    bool complete = rp_tree_sort_backward(build, &graph);
    rp_tree_dominators(build, &graph);
    out->after = graph.idom;
    out->after[RP_EXIT_NODE] = RP_NONE;
    out->deciders = rp_build_alloc(build, graph.count * sizeof(*out->deciders));
    for (uint32_t i = 0; i < build->rpo_count; i++)
        find_decided(build, out, build->rpo[i]);
    return complete;
}
