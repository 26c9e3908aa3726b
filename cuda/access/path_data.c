/* SPDX-License-Identifier: Apache-2.0 */
/* What on the way of a thread may depend on data: values, and which way it takes. */
#include "cuda/access/path.h"

#define MANY_BRANCHES (UINT64_C(1) << 63)

static bool is_known_register(int64_t sreg)
{
    return sreg <= RP_PTX_LANEID || sreg == RP_PTX_DYNAMIC_SMEM_SIZE;
}

bool rp_path_is_switch(const struct rp_path *path, uint32_t node)
{
    const struct rp_flow_node *at = &path->build->nodes[node];
    return at->succ.count > 2 || (at->succ.count == 2 && at->condition == RP_NONE);
}

bool rp_path_branches_on_data(const struct rp_path *path, uint32_t node)
{
    const struct rp_flow_node *at = &path->build->nodes[node];
    return rp_path_is_switch(path, node) ||
           (at->succ.count > 1 && path->value_is_data[at->condition]);
}

/* Which of its predecessors a node is reached from: data decide that if they decide, by branches
 * that do not decide whether it is reached at all, whether one of these is. */
static bool is_chosen_by_data(const struct rp_path *path, uint32_t node, uint32_t before)
{
    uint64_t more = path->decided_by[before] & ~path->decided_by[node];
    return more || (path->decided_by[before] & MANY_BRANCHES);
}

static bool loop_ends_by_data(const struct rp_path *path, uint32_t loop)
{
    const struct rp_natural_loop *at = RP_ITEMS(path->build->loops, struct rp_natural_loop) + loop;
    for (uint32_t i = 0; i < at->exit_from.count; i++)
        if (rp_path_branches_on_data(path, at->exit_from.items[i]))
            return true;
    return false;
}

static bool merges_data(const struct rp_path *path, const struct rp_op *op)
{
    const struct rp_phi_arg *args = rp_path_args(path, op);
    for (uint32_t i = 0; i < op->b; i++)
        if (path->value_is_data[args[i].value])
            return true;
    return false;
}

static bool is_chosen(const struct rp_path *path, const struct rp_op *op)
{
    const struct rp_phi_arg *args = rp_path_args(path, op);
    for (uint32_t i = 0; i < op->b; i++)
        if (is_chosen_by_data(path, op->block, args[i].block))
            return true;
    return false;
}

static bool leaves_by_data(const struct rp_path *path, const struct rp_op *op)
{
    const struct rp_natural_loop *loops = path->build->loops.items;
    for (uint32_t loop = op->b; loop != RP_NONE; loop = loops[loop].parent) {
        if (loop_ends_by_data(path, loop))
            return true;
        if (loop == op->c)
            break;
    }
    return false;
}

bool rp_path_is_fickle(const struct rp_path *path, const struct rp_op *op)
{
    switch ((int)op->kind) {
    case RP_OP_PHI: case RP_OP_CARRIED: return is_chosen(path, op);
    case RP_OP_EXIT: case RP_OP_PEXIT: return leaves_by_data(path, op);
    default: return false;
    }
}

bool rp_path_is_data(const struct rp_op *op)
{
    return op->kind == RP_OP_OPAQUE || op->kind == RP_OP_PUNKNOWN || op->kind == RP_OP_NEAR ||
           (op->kind == RP_OP_SREG && !is_known_register(op->imm));
}

static bool is_made_of_data(const struct rp_path *path, const struct rp_op *op)
{
    const uint32_t operands[3] = {op->a, op->b, op->c};
    bool used[3];
    if (rp_path_is_data(op) || op->kind == RP_OP_LOAD || rp_path_is_fickle(path, op) ||
        (rp_path_is_merge(op) && merges_data(path, op)))
        return true;
    rp_path_operands(op, used);
    for (int i = 0; i < 3; i++)
        if (used[i] && path->value_is_data[operands[i]])
            return true;
    return false;
}

/* Whatever the launch: no choice that arguments make can leave the data out. */
static bool is_surely_data(const struct rp_path *path, const struct rp_op *op)
{
    const bool *sure = path->surely_data;
    const uint32_t operands[3] = {op->a, op->b, op->c};
    bool used[3];
    switch ((int)op->kind) {
    case RP_OP_SELECT: case RP_OP_PSELECT: return sure[op->c] || (sure[op->a] && sure[op->b]);
    case RP_OP_PAND: case RP_OP_POR: return sure[op->a] && sure[op->b];
    case RP_OP_PHI: case RP_OP_CARRIED: return false;
    default: break;
    }
    rp_path_operands(op, used);
    for (int i = 0; i < 3; i++)
        if (used[i] && sure[operands[i]])
            return true;
    return rp_path_is_data(op);
}

/* By which branches data decide whether the node is reached: a bit each, and one for all above. */
static bool find_decided(struct rp_path *path, uint32_t node)
{
    const struct rp_indices *deciders = &path->control.deciders[node];
    uint64_t bits = path->decided_by[node];
    bool lost = path->is_lost[node];
    for (uint32_t i = 0; i < deciders->count; i++) {
        uint32_t decider = deciders->items[i];
        bits |= path->decided_by[decider];
        lost |= path->is_lost[decider] || rp_path_is_switch(path, decider);
        if (!rp_path_branches_on_data(path, decider))
            continue;
        if (!path->branch_bit[decider])
            path->branch_bit[decider] = path->branch_count < 63
                                            ? UINT64_C(1) << path->branch_count++ : MANY_BRANCHES;
        bits |= path->branch_bit[decider];
    }
    bool changed = bits != path->decided_by[node] || lost != path->is_lost[node];
    path->decided_by[node] = bits;
    path->is_lost[node] = lost;
    return changed;
}

void rp_path_find_data(struct rp_path *path)
{
    struct rp_builder *build = path->build;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < build->rpo_count; i++)
            changed |= find_decided(path, build->rpo[i]);
        for (uint32_t value = 0; value < build->ops.count; value++) {
            if (!path->value_is_data[value] && is_made_of_data(path, rp_path_op(path, value)))
                changed = path->value_is_data[value] = true;
            if (!path->surely_data[value] && is_surely_data(path, rp_path_op(path, value)))
                changed = path->surely_data[value] = true;
        }
    }
}
