/* SPDX-License-Identifier: Apache-2.0 */
/* What is needed of a way, sorted and numbered, into the proof. */
#include "cuda/access/path.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FOUND = 128 }; /* nodes between a branch in a loop and where its ways meet */

static bool is_uniform_kind(const struct rp_op *op)
{
    return op->kind == RP_OP_CONST || op->kind == RP_OP_PARAM || op->kind == RP_OP_ROOT ||
           (op->kind == RP_OP_SREG && op->imm != RP_PTX_LANEID &&
            !(op->imm >= RP_PTX_TID_X && op->imm <= RP_PTX_TID_Z) &&
            !(op->imm >= RP_PTX_CTAID_X && op->imm <= RP_PTX_CTAID_Z));
}

static int compare_values(const void *left, const void *right, void *ctx)
{
    const struct rp_path *path = ctx;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct rp_op *x = rp_path_op(path, a), *y = rp_path_op(path, b);
    const struct rp_flow_node *nodes = path->build->nodes;
    bool uniform_x = is_uniform_kind(x), uniform_y = is_uniform_kind(y);
    if (uniform_x != uniform_y)
        return uniform_x ? -1 : 1;
    if (x->block != y->block)
        return nodes[x->block].order < nodes[y->block].order ? -1 : 1;
    if (x->stage != y->stage)
        return x->stage < y->stage ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void sort_values(struct rp_path *path)
{
    size_t count = path->build->ops.count;
    path->order = rp_build_alloc(path->build, (count + 1) * sizeof(uint32_t));
    path->number = rp_build_alloc(path->build, (count + 1) * sizeof(uint32_t));
    for (uint32_t value = 0; value < count; value++)
        if (path->kept[value])
            path->order[path->order_count++] = value;
    qsort_r(path->order, path->order_count, sizeof(uint32_t), compare_values, path);
    for (uint32_t i = 0; i < path->order_count; i++)
        path->number[path->order[i]] = i;
}

static void number_blocks(struct rp_path *path)
{
    struct rp_builder *build = path->build;
    size_t bytes = build->node_count * sizeof(uint32_t);
    path->block_number = rp_build_alloc(build, bytes);
    memset(path->block_number, 0xff, bytes);
    for (uint32_t i = 0; i < build->rpo_count; i++)
        if (path->needed[build->rpo[i]])
            path->block_number[build->rpo[i]] = (uint32_t)path->proof->walk_block_count++;
}

static uint32_t renumber(const struct rp_path *path, uint32_t value)
{
    return value == RP_NONE ? RP_NONE : path->number[value];
}

static struct rp_op walk_op(struct rp_path *path, uint32_t value)
{
    struct rp_op op = *rp_path_op(path, value);
    struct rp_proof *proof = path->proof;
    op.fickle = rp_path_is_fickle(path, &op);
    if (rp_path_is_data(&op))
        op.kind = op.bits == 1 ? RP_OP_PUNKNOWN : RP_OP_OPAQUE;
    bool used[3];
    if (rp_path_is_merge(&op)) {
        const struct rp_phi_arg *args = rp_path_args(path, &op);
        op.a = (uint32_t)proof->walk_arg_count;
        for (uint32_t i = 0; i < op.b; i++)
            proof->walk_args[proof->walk_arg_count++] = (struct rp_phi_arg){
                .block = path->block_number[args[i].block],
                .value = renumber(path, args[i].value)};
    }
    if (op.kind == RP_OP_INDUCTION)
        op.c = path->block_number[RP_ITEMS(path->build->loops,
                                           struct rp_natural_loop)[op.c].preheader];
    if (rp_path_operands(&op, used)) {
        op.a = used[0] ? renumber(path, op.a) : op.a;
        op.b = used[1] ? renumber(path, op.b) : op.b;
        op.c = used[2] && op.kind != RP_OP_INDUCTION ? renumber(path, op.c) : op.c;
    }
    uint64_t end = op.kind == RP_OP_PARAM ? (uint64_t)op.imm + op.from / 8 : 0;
    proof->param_bytes = end > proof->param_bytes ? end : proof->param_bytes;
    if (op.kind == RP_OP_SREG)
        proof->walk_depends |= rp_depends_on_register(op.imm);
    return op;
}

static void write_ops(struct rp_path *path)
{
    struct rp_proof *proof = path->proof;
    proof->walk_ops = rp_build_alloc(path->build,
                                     (path->order_count + 1) * sizeof(*proof->walk_ops));
    proof->walk_args = rp_build_alloc(path->build, (path->build->phi_args.count + 1) *
                                                       sizeof(*proof->walk_args));
    for (uint32_t i = 0; i < path->order_count; i++) {
        proof->walk_ops[i] = walk_op(path, path->order[i]);
        proof->walk_uniform += is_uniform_kind(&proof->walk_ops[i]);
    }
    proof->walk_op_count = path->order_count;
}

static void write_touches(struct rp_path *path, const uint32_t *node_of)
{
    struct rp_proof *proof = path->proof;
    proof->walk_touches = rp_build_alloc(path->build, (proof->touch_count + 1) *
                                                          sizeof(*proof->walk_touches));
    for (uint32_t i = 0; i < proof->touch_count; i++) {
        const struct rp_touch *touch = &proof->touches[i];
        if (!touch->walks)
            continue;
        struct rp_walk_block *block =
            &proof->walk_blocks[path->block_number[node_of[touch->block]]];
        if (!block->touch_count++)
            block->first_touch = (uint32_t)proof->walk_touch_count;
        proof->walk_touches[proof->walk_touch_count++] = (struct rp_walk_touch){
            .touch = i, .address = renumber(path, rp_path_value(path, touch->address)),
            .guard = renumber(path, rp_path_value(path, touch->guard))};
    }
}

/* The first block that matters on the way over `to`. */
static uint32_t next_block(const struct rp_path *path, uint32_t to)
{
    while (to != RP_NONE && !path->needed[to])
        to = path->control.after[to];
    return to == RP_NONE ? RP_NONE : path->block_number[to];
}

static const struct rp_natural_loop *loop_of(const struct rp_path *path, uint32_t loop)
{
    return &RP_ITEMS(path->build->loops, struct rp_natural_loop)[loop];
}

/* The innermost loop around `node` that `other` is in, too. */
static uint32_t common_loop(const struct rp_path *path, uint32_t node, uint32_t other)
{
    uint32_t loop = path->build->nodes[node].loop;
    while (loop != RP_NONE &&
           (other == RP_NONE || !rp_graph_in_loop(path->build, other, loop)))
        loop = loop_of(path, loop)->parent;
    return loop;
}

/* It begins a turn of the loop, or of one around it. */
static bool begins_turn(const struct rp_path *path, uint32_t node, uint32_t loop)
{
    while (loop != RP_NONE && loop_of(path, loop)->header != node)
        loop = loop_of(path, loop)->parent;
    return loop != RP_NONE;
}

/* Every way from `first` on comes to `stop` before another turn of the loop, or of one around it,
 * begins. */
static bool stays_in_turn(const struct rp_path *path, uint32_t first, uint32_t stop, uint32_t loop)
{
    uint32_t found[MOST_FOUND] = {first}, count = loop != RP_NONE;
    for (uint32_t i = 0; i < count; i++) {
        const struct rp_indices *succ = &path->build->nodes[found[i]].succ;
        if (begins_turn(path, found[i], loop))
            return false;
        for (uint32_t j = 0; found[i] != stop && j < succ->count; j++) {
            uint32_t known = 0;
            while (known < count && found[known] != succ->items[j])
                known++;
            if (known == MOST_FOUND)
                return false;
            found[known] = succ->items[j];
            count += known == count;
        }
    }
    return true;
}

/* Each loop that the branch may leave can end by a branch that no data decide: who stays in it
 * comes to an end. */
static bool ends_without_data(const struct rp_path *path, uint32_t node, uint32_t common)
{
    for (uint32_t loop = path->build->nodes[node].loop; loop != common;
         loop = loop_of(path, loop)->parent) {
        const struct rp_indices *from = &loop_of(path, loop)->exit_from;
        bool ends = false;
        for (uint32_t i = 0; i < from->count && !ends; i++)
            ends = !rp_path_branches_on_data(path, from->items[i]);
        if (!ends)
            return false;
    }
    return true;
}

/* Which way is walked aside: the shorter one, where one is at its end. What each way makes is its
 * own, but for what the turns of a loop make: both have to meet within the turn that they part in,
 * or where the loop is over, whence its numbers are fickle. Then one may go on round it. */
static bool can_fork(const struct rp_path *path, uint32_t node, uint8_t *aside)
{
    const struct rp_indices *succ = &path->build->nodes[node].succ;
    uint32_t after = path->control.after[node], loop = path->build->nodes[node].loop;
    *aside = succ->items[1] == RP_EXIT_NODE;
    if (!rp_path_branches_on_data(path, node) || loop == RP_NONE)
        return rp_path_branches_on_data(path, node);
    uint32_t common = common_loop(path, node, after);
    if (!ends_without_data(path, node, common))
        return false;
    for (int i = 0; i < 2; i++, *aside ^= 1)
        if (stays_in_turn(path, succ->items[*aside], after, loop) &&
            stays_in_turn(path, succ->items[!*aside], after, common))
            return true;
    return false;
}

static void write_branch(const struct rp_path *path, uint32_t node, struct rp_walk_block *block)
{
    block->condition = block->meets = RP_NONE;
    if (!path->decides[node])
        return;
    block->condition = renumber(path, path->build->nodes[node].condition);
    block->forks = can_fork(path, node, &block->aside);
    uint32_t after = path->control.after[node];
    block->meets = after == RP_NONE || after == RP_EXIT_NODE ? RP_NONE : path->block_number[after];
}

static void write_blocks(struct rp_path *path)
{
    struct rp_proof *proof = path->proof;
    struct rp_builder *build = path->build;
    uint32_t op = proof->walk_uniform;
    proof->walk_blocks = rp_build_alloc(build, (proof->walk_block_count + 1) *
                                                   sizeof(*proof->walk_blocks));
    for (uint32_t i = 0; i < build->rpo_count; i++) {
        uint32_t node = build->rpo[i];
        if (!path->needed[node] || node == RP_EXIT_NODE)
            continue;
        struct rp_walk_block *block = &proof->walk_blocks[path->block_number[node]];
        const struct rp_indices *succ = &build->nodes[node].succ;
        block->first_op = op;
        for (; op < path->order_count && rp_path_op(path, path->order[op])->block == node; op++) {
            const struct rp_op *at = rp_path_op(path, path->order[op]);
            block->phi_count += rp_path_is_merge(at) || at->kind == RP_OP_INDUCTION;
        }
        block->op_count = op - block->first_op;
        block->next[0] = succ->count ? next_block(path, succ->items[0]) : RP_NONE;
        block->next[1] = succ->count > 1 ? next_block(path, succ->items[1]) : RP_NONE;
        write_branch(path, node, block);
    }
}

void rp_path_write(struct rp_path *path, const uint32_t *node_of)
{
    sort_values(path);
    number_blocks(path);
    write_ops(path);
    write_blocks(path);
    write_touches(path, node_of);
}
