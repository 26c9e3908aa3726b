/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a kernel: order, dominators, loops.
 *
 * The graph is brought into a normal form first: no edge leads from a node with several
 * successors to one with several predecessors; each loop has one node before its header
 * (the preheader) and one that leads back to it (the latch).
 *
 * Post-dominance is meant within one iteration: b post-dominates a when every run from a
 * passes b before the loops around both start their next iteration. So its graph has, in
 * the place of an edge back to a header, edges to wherever that loop ends. */
#include "cuda/access/tree.h"

#include <string.h>

static struct rp_natural_loop *loop_at(const struct rp_builder *build, uint32_t loop)
{
    return &RP_ITEMS(build->loops, struct rp_natural_loop)[loop];
}

static void fill_predecessors(struct rp_builder *build)
{
    for (uint32_t i = 0; i < build->node_count; i++)
        build->nodes[i].pred = (struct rp_indices){0};
    for (uint32_t i = 0; i < build->node_count; i++)
        for (uint32_t j = 0; j < build->nodes[i].succ.count; j++)
            rp_indices_append(build, &build->nodes[build->nodes[i].succ.items[j]].pred, i);
}

static struct rp_tree forward_graph(struct rp_builder *build)
{
    struct rp_tree graph = {.count = build->node_count, .root = RP_ENTRY_NODE};
    graph.succ = rp_build_alloc(build, graph.count * sizeof(*graph.succ));
    graph.pred = rp_build_alloc(build, graph.count * sizeof(*graph.pred));
    for (uint32_t i = 0; i < graph.count; i++) {
        graph.succ[i] = build->nodes[i].succ;
        graph.pred[i] = build->nodes[i].pred;
    }
    return graph;
}

static void order_nodes(struct rp_builder *build)
{
    fill_predecessors(build);
    struct rp_tree graph = forward_graph(build);
    rp_tree_sort(build, &graph);
    rp_tree_dominators(build, &graph);
    const struct rp_tree_interval *tree = rp_tree_number(build, &graph);
    for (uint32_t i = 0; i < graph.count; i++) {
        build->nodes[i].order = graph.order[i];
        build->nodes[i].idom = graph.idom[i];
        build->nodes[i].dom = tree[i];
    }
    build->rpo = graph.sorted;
    build->rpo_count = graph.sorted_count;
}

static bool holds(struct rp_tree_interval a, struct rp_tree_interval b)
{
    return a.in <= b.in && b.out <= a.out && a.out > a.in;
}

bool rp_graph_dominates(const struct rp_builder *build, uint32_t a, uint32_t b)
{
    return holds(build->nodes[a].dom, build->nodes[b].dom);
}

bool rp_graph_postdominates(const struct rp_builder *build, uint32_t a, uint32_t b)
{
    return holds(build->nodes[a].pdom, build->nodes[b].pdom);
}

/* ---- normal form -------------------------------------------------------------- */

static uint32_t new_node(struct rp_builder *build, uint32_t to)
{
    if (build->node_count == build->node_capacity)
        rp_build_refuse(build, "the kernel has too many branches");
    struct rp_flow_node *node = &build->nodes[build->node_count];
    node->succ.items = rp_build_alloc(build, sizeof(uint32_t));
    node->succ.items[0] = to;
    node->succ.count = 1;
    return build->node_count++;
}

static void grow_nodes(struct rp_builder *build)
{
    uint32_t edges = 0;
    for (uint32_t i = 0; i < build->node_count; i++)
        edges += build->nodes[i].succ.count;
    uint32_t capacity = build->node_count + edges + 2 * build->node_count;
    struct rp_flow_node *nodes = rp_build_alloc(build, capacity * sizeof(*nodes));
    memcpy(nodes, build->nodes, build->node_count * sizeof(*nodes));
    build->nodes = nodes;
    build->node_capacity = capacity;
}

static void split_edges(struct rp_builder *build)
{
    uint32_t count = build->node_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct rp_indices *succ = &build->nodes[i].succ;
        for (uint32_t j = 0; succ->count > 1 && j < succ->count; j++)
            if (build->nodes[succ->items[j]].pred.count > 1)
                succ->items[j] = new_node(build, succ->items[j]);
    }
}

static bool is_back_edge(const struct rp_builder *build, uint32_t from, uint32_t to)
{
    return build->nodes[from].order != RP_NONE && rp_graph_dominates(build, to, from);
}

static void redirect(struct rp_builder *build, uint32_t node, uint32_t from, uint32_t to)
{
    const struct rp_indices *succ = &build->nodes[node].succ;
    for (uint32_t i = 0; i < succ->count; i++)
        if (succ->items[i] == from)
            succ->items[i] = to;
}

/* Gives each header one predecessor from outside and one from inside. */
static void shape_loops(struct rp_builder *build)
{
    uint32_t count = build->node_count;
    for (uint32_t node = 0; node < count; node++) {
        uint32_t back = 0;
        const struct rp_indices pred = build->nodes[node].pred;
        for (uint32_t j = 0; j < pred.count; j++)
            back += is_back_edge(build, pred.items[j], node);
        if (!back || build->nodes[node].order == RP_NONE)
            continue;
        uint32_t before = new_node(build, node), after = back > 1 ? new_node(build, node) : node;
        for (uint32_t j = 0; j < pred.count; j++) {
            bool is_back = is_back_edge(build, pred.items[j], node);
            if (build->nodes[pred.items[j]].order != RP_NONE)
                redirect(build, pred.items[j], node, is_back ? after : before);
        }
    }
}

/* ---- loops -------------------------------------------------------------------- */

/* `stack` has room for every node. */
static void collect_body(struct rp_builder *build, uint32_t index, uint32_t *stack)
{
    struct rp_natural_loop *loop = loop_at(build, index);
    uint32_t depth = 0;
    loop->parent = build->nodes[loop->header].loop;
    loop->depth = loop->parent == RP_NONE ? 0 : loop_at(build, loop->parent)->depth + 1;
    if (loop->depth > RP_MAX_LOOP_DEPTH)
        rp_build_refuse(build, "loops are nested too deeply");
    build->nodes[loop->header].loop = index;
    if (loop->latch != loop->header)
        stack[depth++] = loop->latch;
    build->nodes[loop->latch].loop = index;
    while (depth) {
        const struct rp_indices *pred = &build->nodes[stack[--depth]].pred;
        for (uint32_t i = 0; i < pred->count; i++) {
            struct rp_flow_node *before = &build->nodes[pred->items[i]];
            if (before->order == RP_NONE || before->loop == index)
                continue;
            before->loop = index;
            stack[depth++] = pred->items[i];
        }
    }
}

static void find_loops(struct rp_builder *build)
{
    uint32_t *stack = rp_build_alloc(build, build->node_count * sizeof(*stack));
    for (uint32_t i = 0; i < build->node_count; i++)
        build->nodes[i].loop = RP_NONE;
    for (uint32_t i = 0; i < build->rpo_count; i++) {
        uint32_t header = build->rpo[i];
        const struct rp_indices *pred = &build->nodes[header].pred;
        struct rp_natural_loop found = {.header = header, .latch = RP_NONE, .preheader = RP_NONE};
        for (uint32_t j = 0; j < pred->count; j++) {
            uint32_t from = pred->items[j];
            if (build->nodes[from].order == RP_NONE)
                continue;
            if (is_back_edge(build, from, header))
                found.latch = from;
            else if (build->nodes[from].order >= i)
                build->irreducible = true;
            else
                found.preheader = from;
        }
        if (found.latch == RP_NONE)
            continue;
        *(struct rp_natural_loop *)rp_build_push(build, &build->loops, sizeof(found)) = found;
        collect_body(build, (uint32_t)build->loops.count - 1, stack);
    }
}

bool rp_graph_in_loop(const struct rp_builder *build, uint32_t node, uint32_t loop)
{
    uint32_t at = build->nodes[node].loop;
    while (at != RP_NONE && at != loop)
        at = loop_at(build, at)->parent;
    return at == loop && at != RP_NONE;
}

uint32_t rp_graph_left_loop(const struct rp_builder *build, uint32_t node, uint32_t other)
{
    uint32_t left = RP_NONE;
    for (uint32_t at = build->nodes[node].loop; at != RP_NONE; at = loop_at(build, at)->parent)
        if (!rp_graph_in_loop(build, other, at))
            left = at;
    return left;
}

static void find_exits(struct rp_builder *build)
{
    for (uint32_t i = 0; i < build->rpo_count; i++) {
        uint32_t node = build->rpo[i];
        const struct rp_indices *succ = &build->nodes[node].succ;
        for (uint32_t j = 0; j < succ->count; j++)
            for (uint32_t at = build->nodes[node].loop; at != RP_NONE;
                 at = loop_at(build, at)->parent) {
                if (rp_graph_in_loop(build, succ->items[j], at))
                    break;
                rp_indices_append(build, &loop_at(build, at)->exits, succ->items[j]);
                rp_indices_append(build, &loop_at(build, at)->exit_from, node);
            }
    }
}

/* ---- post-dominance ----------------------------------------------------------- */

/* The graph of one iteration, turned round: from the exit to the entry. */
static struct rp_tree backward_graph(struct rp_builder *build)
{
    struct rp_tree graph = rp_tree_backward(build);
    for (uint32_t i = 0; i < build->rpo_count; i++) {
        uint32_t node = build->rpo[i];
        const struct rp_indices *succ = &build->nodes[node].succ;
        for (uint32_t j = 0; j < succ->count; j++) {
            if (!is_back_edge(build, node, succ->items[j])) {
                rp_tree_add_backward(build, &graph, node, succ->items[j]);
                continue;
            }
            const struct rp_natural_loop *loop =
                loop_at(build, build->nodes[succ->items[j]].loop);
            for (uint32_t e = 0; e < loop->exits.count; e++)
                rp_tree_add_backward(build, &graph, node, loop->exits.items[e]);
        }
    }
    return graph;
}

static void find_postdominators(struct rp_builder *build)
{
    struct rp_tree graph = backward_graph(build);
    rp_tree_sort_backward(build, &graph);
    rp_tree_dominators(build, &graph);
    const struct rp_tree_interval *tree = rp_tree_number(build, &graph);
    for (uint32_t i = 0; i < graph.count; i++)
        build->nodes[i].pdom = tree[i];
}

void rp_graph_build(struct rp_builder *build)
{
    grow_nodes(build);
    fill_predecessors(build);
    split_edges(build);
    order_nodes(build);
    shape_loops(build);
    order_nodes(build);
    find_loops(build);
    find_exits(build);
    find_postdominators(build);
}
