/* SPDX-License-Identifier: Apache-2.0 */
/* Under which condition a node runs, told by one that stands before it. */
#include "cuda/access/slice.h"

static const struct rp_natural_loop *loop_at(const struct rp_builder *build, uint32_t loop)
{
    return &RP_ITEMS(build->loops, struct rp_natural_loop)[loop];
}

/* The block runs when `other` does, unless a loop lies between: then when that starts. */
static struct rp_basic_block same_as(const struct rp_builder *build, uint32_t node, uint32_t other)
{
    uint32_t left = rp_graph_left_loop(build, other, node);
    struct rp_basic_block rule = {.rule = RP_GUARD_SAME, .parent = other, .condition = RP_NONE,
                                  .loop = RP_NONE};
    if (left != RP_NONE) {
        rule.parent = loop_at(build, left)->preheader;
        other = loop_at(build, left)->header;
    }
    rule.exact = rp_graph_postdominates(build, node, other);
    return rule;
}

static struct rp_basic_block edge_rule(const struct rp_builder *build, uint32_t node,
                                       uint32_t before)
{
    const struct rp_flow_node *at = &build->nodes[before];
    struct rp_basic_block rule = same_as(build, node, before);
    if (rp_graph_left_loop(build, before, node) != RP_NONE || at->succ.count == 1)
        return rule;
    rule.exact = at->succ.count == 2;
    if (at->succ.count == 2) {
        rule.rule = RP_GUARD_EDGE;
        rule.condition = at->condition;
        rule.sense = at->succ.items[0] == node;
    }
    return rule;
}

static struct rp_basic_block rule_of(const struct rp_builder *build, uint32_t node)
{
    const struct rp_flow_node *at = &build->nodes[node];
    struct rp_basic_block rule = {.rule = RP_GUARD_ENTRY, .exact = true, .parent = RP_NONE,
                                  .condition = RP_NONE, .loop = RP_NONE};
    if (node == RP_ENTRY_NODE)
        return rule;
    if (at->loop != RP_NONE && loop_at(build, at->loop)->header == node) {
        rule.rule = RP_GUARD_HEADER;
        rule.parent = loop_at(build, at->loop)->preheader;
        rule.loop = at->loop;
        return rule;
    }
    uint32_t before = RP_NONE, count = 0;
    for (uint32_t i = 0; i < at->pred.count; i++)
        if (build->nodes[at->pred.items[i]].order != RP_NONE) {
            before = at->pred.items[i];
            count++;
        }
    return count == 1 ? edge_rule(build, node, before) : same_as(build, node, at->idom);
}

void rp_slice_rules(struct rp_slice *slice)
{
    struct rp_builder *build = slice->build;
    slice->rules = rp_build_alloc(build, build->node_count * sizeof(*slice->rules));
    for (uint32_t i = 0; i < build->rpo_count; i++) {
        uint32_t node = build->rpo[i];
        slice->rules[node] = rule_of(build, node);
        slice->rules[node].tests = RP_NONE;
        slice->rules[node].exact &= !build->irreducible;
    }
}
