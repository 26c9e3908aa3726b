/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/path.h"

#define MOST_OPS (1u << 14) /* of a kernel that is worth the search */

const struct rp_op *rp_path_op(const struct rp_path *path, uint32_t value)
{
    return &RP_ITEMS(path->build->ops, struct rp_op)[value];
}

const struct rp_phi_arg *rp_path_args(const struct rp_path *path, const struct rp_op *op)
{
    return RP_ITEMS(path->build->phi_args, struct rp_phi_arg) + op->a;
}

bool rp_path_is_merge(const struct rp_op *op)
{
    return op->kind == RP_OP_PHI || op->kind == RP_OP_CARRIED;
}

bool rp_path_operands(const struct rp_op *op, bool used[3])
{
    if (rp_op_operands(op, used)) {
        used[2] &= op->kind != RP_OP_GRID;
        return true;
    }
    used[0] = op->kind == RP_OP_PEXIT;
    return used[0];
}

uint32_t rp_path_value(const struct rp_path *path, uint32_t number)
{
    return number == RP_NONE ? RP_NONE : path->slice->order[number];
}

/* ---- what matters ------------------------------------------------------------- */

static void need_value(struct rp_path *path, uint32_t value)
{
    if (value == RP_NONE || path->kept[value])
        return;
    path->kept[value] = true;
    *(uint32_t *)rp_build_push(path->build, &path->work, sizeof(uint32_t)) = value;
}

static void need_node(struct rp_path *path, uint32_t node)
{
    if (path->needed[node])
        return;
    path->needed[node] = true;
    *(uint32_t *)rp_build_push(path->build, &path->node_work, sizeof(uint32_t)) = node;
}

static void follow_node(struct rp_path *path, uint32_t node)
{
    const struct rp_indices *deciders = &path->control.deciders[node];
    for (uint32_t i = 0; i < deciders->count; i++) {
        uint32_t decider = deciders->items[i], after = path->control.after[decider];
        if (path->decides[decider])
            continue;
        path->decides[decider] = true;
        path->strays |= rp_path_is_switch(path, decider);
        need_value(path, path->build->nodes[decider].condition);
        if (rp_path_branches_on_data(path, decider) && after != RP_EXIT_NODE && after != RP_NONE)
            need_node(path, after);
        need_node(path, decider);
    }
}

static void follow_value(struct rp_path *path, uint32_t value)
{
    const struct rp_op *op = rp_path_op(path, value);
    const uint32_t operands[3] = {op->a, op->b, op->c};
    bool used[3];
    need_node(path, op->block);
    for (uint32_t i = 0; rp_path_is_merge(op) && i < op->b; i++) {
        need_value(path, rp_path_args(path, op)[i].value);
        need_node(path, rp_path_args(path, op)[i].block);
    }
    if (op->kind == RP_OP_INDUCTION) {
        const struct rp_natural_loop *loops = path->build->loops.items;
        need_node(path, loops[op->c].preheader);
        need_node(path, loops[op->c].latch);
    }
    if (!rp_path_operands(op, used))
        return;
    for (int i = 0; i < 3; i++)
        if (used[i])
            need_value(path, operands[i]);
}

static bool can_walk(const struct rp_path *path, const struct rp_touch *touch, uint32_t node)
{
    return touch->effect == RP_WRITE && touch->address != RP_NONE &&
           touch->verdict < RP_VERDICT_ROOT && !path->is_lost[node] &&
           !path->surely_data[rp_path_value(path, touch->address)];
}

/* Marks what the writes need that can be walked to; false when none can, or the way is no way. */
static bool find_needed(struct rp_path *path, const uint32_t *node_of)
{
    bool any = false;
    for (size_t i = 0; i < path->proof->touch_count; i++) {
        struct rp_touch *touch = &path->proof->touches[i];
        touch->walks = can_walk(path, touch, node_of[touch->block]);
        if (!touch->walks)
            continue;
        any = true;
        need_node(path, node_of[touch->block]);
        need_value(path, rp_path_value(path, touch->address));
        need_value(path, rp_path_value(path, touch->guard));
    }
    need_node(path, RP_ENTRY_NODE);
    while (path->work.count || path->node_work.count) {
        if (path->work.count)
            follow_value(path, RP_ITEMS(path->work, uint32_t)[--path->work.count]);
        else
            follow_node(path, RP_ITEMS(path->node_work, uint32_t)[--path->node_work.count]);
    }
    return any && !path->strays;
}

static uint32_t *nodes_of_blocks(const struct rp_path *path)
{
    const struct rp_slice *slice = path->slice;
    uint32_t *out = rp_build_alloc(path->build, (path->proof->block_count + 1) * sizeof *out);
    for (uint32_t node = 0; node < path->build->node_count; node++)
        if (slice->node_number[node] != RP_NONE)
            out[slice->node_number[node]] = node;
    return out;
}

void rp_slice_path(struct rp_slice *slice, struct rp_proof *proof)
{
    struct rp_builder *build = slice->build;
    struct rp_path path = {.build = build, .slice = slice, .proof = proof};
    /* What goes round in circles that are no loops, or forever, has no turns to tell apart. */
    if (build->ops.count > MOST_OPS || build->irreducible ||
        !rp_control_find(build, &path.control))
        return;
    path.value_is_data = rp_build_alloc(build, build->ops.count + 1);
    path.surely_data = rp_build_alloc(build, build->ops.count + 1);
    path.is_lost = rp_build_alloc(build, build->node_count + 1);
    path.branch_bit = rp_build_alloc(build, (build->node_count + 1) * sizeof(uint64_t));
    path.decided_by = rp_build_alloc(build, (build->node_count + 1) * sizeof(uint64_t));
    path.kept = rp_build_alloc(build, build->ops.count + 1);
    path.needed = rp_build_alloc(build, build->node_count + 1);
    path.decides = rp_build_alloc(build, build->node_count + 1);
    const uint32_t *node_of = nodes_of_blocks(&path);
    rp_path_find_data(&path);
    if (!find_needed(&path, node_of))
        return;
    rp_path_write(&path, node_of);
}
