/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what decides addresses: touches, the guards above them, and the values that both
 * need; numbers it in the order of evaluation. */
#include "cuda/access/slice.h"

#include <stdlib.h>
#include <string.h>

static struct rp_op *op_at(const struct rp_slice *slice, uint32_t value)
{
    return &RP_ITEMS(slice->build->ops, struct rp_op)[value];
}

static struct rp_natural_loop *loop_at(const struct rp_builder *build, uint32_t loop)
{
    return &RP_ITEMS(build->loops, struct rp_natural_loop)[loop];
}

static void need_node(struct rp_slice *slice, uint32_t node)
{
    if (slice->build->nodes[node].needed)
        return;
    slice->build->nodes[node].needed = true;
    *(uint32_t *)rp_build_push(slice->build, &slice->node_work, sizeof(uint32_t)) = node;
}

static void need_value(struct rp_slice *slice, uint32_t value, bool wanted)
{
    if (value == RP_NONE || (slice->kept[value] && (slice->wanted[value] || !wanted)))
        return;
    slice->kept[value] = true;
    slice->wanted[value] |= wanted;
    *(uint32_t *)rp_build_push(slice->build, &slice->work, sizeof(uint32_t)) = value;
}

static void need_loop(struct rp_slice *slice, uint32_t loop)
{
    struct rp_natural_loop *at = loop_at(slice->build, loop);
    if (at->needed)
        return;
    at->needed = true;
    need_node(slice, at->header);
    if (at->out.test != RP_NONE) {
        need_value(slice, at->out.test, true);
        need_node(slice, at->out.test_block);
        slice->rules[at->out.test_block].tests = loop;
    }
}

static void follow_value(struct rp_slice *slice, uint32_t value)
{
    const struct rp_op op = *op_at(slice, value);
    bool wanted = slice->wanted[value], used[3];
    need_node(slice, op.block);
    if (op.kind == RP_OP_PHI)
        for (uint32_t i = 0; i < op.b; i++) {
            const struct rp_phi_arg *args = slice->build->phi_args.items;
            need_value(slice, args[op.a + i].value, wanted);
            need_node(slice, args[op.a + i].block);
        }
    if (op.kind == RP_OP_INDUCTION)
        need_loop(slice, op.c);
    if (op.kind == RP_OP_EXIT)
        for (uint32_t loop = op.b;; loop = loop_at(slice->build, loop)->parent) {
            need_loop(slice, loop);
            if (loop == op.c)
                break;
        }
    if (!rp_op_operands(&op, used))
        return;
    if (used[0])
        need_value(slice, op.a, wanted);
    if (used[1])
        need_value(slice, op.b, wanted);
    if (used[2])
        need_value(slice, op.c, wanted);
}

static void follow_node(struct rp_slice *slice, uint32_t node)
{
    const struct rp_basic_block *rule = &slice->rules[node];
    if (rule->parent != RP_NONE)
        need_node(slice, rule->parent);
    if (rule->condition != RP_NONE)
        need_value(slice, rule->condition, true);
    if (rule->rule == RP_GUARD_HEADER)
        need_loop(slice, rule->loop);
}

static void find_needed(struct rp_slice *slice)
{
    struct rp_builder *build = slice->build;
    need_node(slice, RP_ENTRY_NODE);
    for (size_t i = 0; i < build->touches.count; i++) {
        const struct rp_touch *touch = &RP_ITEMS(build->touches, struct rp_touch)[i];
        need_node(slice, touch->block);
        need_value(slice, touch->address, touch->effect == RP_WRITE);
        need_value(slice, touch->guard, true);
    }
    while (slice->work.count || slice->node_work.count) {
        if (slice->work.count)
            follow_value(slice, RP_ITEMS(slice->work, uint32_t)[--slice->work.count]);
        else
            follow_node(slice, RP_ITEMS(slice->node_work, uint32_t)[--slice->node_work.count]);
    }
}

/* ---- order and output --------------------------------------------------------- */

static int compare_values(const void *left, const void *right, void *ctx)
{
    const struct rp_slice *slice = ctx;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct rp_op *x = op_at(slice, a), *y = op_at(slice, b);
    const struct rp_flow_node *nodes = slice->build->nodes;
    if (x->block != y->block)
        return nodes[x->block].order < nodes[y->block].order ? -1 : 1;
    if (x->stage != y->stage)
        return x->stage < y->stage ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void sort_values(struct rp_slice *slice)
{
    struct rp_builder *build = slice->build;
    size_t count = build->ops.count;
    slice->order = rp_build_alloc(build, (count + 1) * sizeof(uint32_t));
    slice->number = rp_build_alloc(build, (count + 1) * sizeof(uint32_t));
    for (uint32_t value = 0; value < count; value++)
        if (slice->kept[value])
            slice->order[slice->order_count++] = value;
    qsort_r(slice->order, slice->order_count, sizeof(uint32_t), compare_values, slice);
    for (uint32_t i = 0; i < slice->order_count; i++)
        slice->number[slice->order[i]] = i;
}

static uint32_t renumber(const struct rp_slice *slice, uint32_t value)
{
    return value == RP_NONE ? RP_NONE : slice->number[value];
}

static void write_ops(struct rp_slice *slice, struct rp_proof *proof)
{
    struct rp_builder *build = slice->build;
    proof->ops = rp_build_alloc(build, (slice->order_count + 1) * sizeof(*proof->ops));
    proof->op_count = slice->order_count;
    proof->phi_args = rp_build_alloc(build, (build->phi_args.count + 1) *
                                                sizeof(*proof->phi_args));
    for (uint32_t i = 0; i < slice->order_count; i++) {
        struct rp_op op = *op_at(slice, slice->order[i]);
        const struct rp_phi_arg *args = RP_ITEMS(build->phi_args, struct rp_phi_arg);
        bool used[3];
        op.wanted = slice->wanted[slice->order[i]];
        proof->loads |= op.kind == RP_OP_LOAD || op.kind == RP_OP_FIELD || op.kind == RP_OP_MAP;
        proof->joins |= op.bits == 64 && (op.kind == RP_OP_SELECT || op.kind == RP_OP_PHI);
        op.block = slice->node_number[op.block];
        if (op.kind == RP_OP_PHI) {
            args += op.a;
            op.a = (uint32_t)proof->phi_arg_count;
            for (uint32_t j = 0; j < op.b; j++)
                proof->phi_args[proof->phi_arg_count++] = (struct rp_phi_arg){
                    .block = slice->node_number[args[j].block],
                    .value = renumber(slice, args[j].value)};
        }
        if (op.kind == RP_OP_CARRIED || op.kind == RP_OP_PEXIT)
            op = (struct rp_op){.kind = op.bits == 1 ? RP_OP_PUNKNOWN : RP_OP_OPAQUE,
                                .bits = op.bits, .imm = op.bits, .block = op.block,
                                .wanted = op.wanted, .stage = op.stage};
        rp_op_operands(&op, used);
        op.a = used[0] ? renumber(slice, op.a) : op.a;
        op.b = used[1] ? renumber(slice, op.b) : op.b;
        op.c = used[2] ? renumber(slice, op.c) : op.c;
        proof->ops[i] = op;
        if (op.kind == RP_OP_PARAM && (uint64_t)op.imm + op.from / 8 > proof->param_bytes)
            proof->param_bytes = (uint64_t)op.imm + op.from / 8;
    }
}

static void number_nodes(struct rp_slice *slice, struct rp_proof *proof)
{
    struct rp_builder *build = slice->build;
    slice->node_number = rp_build_alloc(build, build->node_count * sizeof(uint32_t));
    memset(slice->node_number, 0xff, build->node_count * sizeof(uint32_t));
    for (uint32_t i = 0; i < build->rpo_count; i++)
        if (build->nodes[build->rpo[i]].needed)
            slice->node_number[build->rpo[i]] = (uint32_t)proof->block_count++;
}

static void write_blocks(struct rp_slice *slice, struct rp_proof *proof)
{
    struct rp_builder *build = slice->build;
    proof->blocks = rp_build_alloc(build, (proof->block_count + 1) * sizeof(*proof->blocks));
    uint32_t op = 0;
    for (uint32_t i = 0; i < build->rpo_count; i++) {
        uint32_t number = slice->node_number[build->rpo[i]];
        if (number == RP_NONE)
            continue;
        struct rp_basic_block *block = &proof->blocks[number];
        *block = slice->rules[build->rpo[i]];
        block->parent = block->parent == RP_NONE ? RP_NONE : slice->node_number[block->parent];
        block->condition = renumber(slice, block->condition);
        block->first_op = op;
        while (op < proof->op_count && proof->ops[op].block == number)
            op++;
        block->op_count = op - block->first_op;
    }
}

/* What the exit test of a loop needs from inside the loop, in order. A test that needs a
 * phi or the result of an inner loop is not followed. */
static void write_test(struct rp_slice *slice, struct rp_proof *proof, uint32_t index)
{
    struct rp_builder *build = slice->build;
    struct rp_loop *loop = &proof->loops[index];
    bool *marked = rp_build_alloc(build, proof->op_count + 1);
    loop->first_test_op = (uint32_t)proof->test_op_count;
    loop->test = renumber(slice, loop->test);
    marked[loop->test] = true;
    for (uint32_t value = loop->test + 1; value-- > 0;) {
        const struct rp_op *op = &proof->ops[value];
        uint32_t node = op_at(slice, slice->order[value])->block;
        bool used[3];
        if (!marked[value] || !rp_graph_in_loop(build, node, index))
            continue;
        if (build->nodes[node].loop != index || op->kind == RP_OP_PHI ||
            op->kind == RP_OP_EXIT || loop->test_op_count == 64) {
            loop->test = RP_NONE;
            return;
        }
        loop->test_op_count++;
        rp_op_operands(op, used);
        if (op->kind == RP_OP_INDUCTION)
            continue;
        const uint32_t operands[3] = {op->a, op->b, op->c};
        for (int i = 0; i < 3; i++)
            if (used[i])
                marked[operands[i]] = true;
    }
    for (uint32_t value = 0; value <= loop->test; value++)
        if (marked[value] && rp_graph_in_loop(build, op_at(slice, slice->order[value])->block,
                                              index))
            proof->test_ops[proof->test_op_count++] = value;
}

static void write_loops(struct rp_slice *slice, struct rp_proof *proof)
{
    struct rp_builder *build = slice->build;
    size_t count = proof->loop_count = build->loops.count;
    proof->loops = rp_build_alloc(build, (count + 1) * sizeof(*proof->loops));
    proof->test_ops = rp_build_alloc(build, (count * 64 + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < count; i++) {
        const struct rp_natural_loop *loop = loop_at(build, i);
        proof->loops[i] = loop->out;
        proof->loops[i].parent = loop->parent;
        proof->loops[i].header = slice->node_number[loop->header];
        proof->loops[i].test_op_count = 0;
        if (!loop->needed || loop->out.test == RP_NONE)
            proof->loops[i].test = RP_NONE;
        else
            write_test(slice, proof, i);
        if (proof->loops[i].test == RP_NONE && loop->out.test_block != RP_NONE && loop->needed)
            proof->blocks[slice->node_number[loop->out.test_block]].tests = RP_NONE;
    }
}

static int compare_keys(const int64_t (*keys)[2], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

#define KINDS 5 /* the keys of touches that may be joined */

static int compare_kinds(const void *left, const void *right)
{
    const struct rp_touch *a = left, *b = right;
    int kind_a = a->effect * 16 + a->updates * 8 + a->atomic * 4 + a->certain * 2 + a->generic;
    int kind_b = b->effect * 16 + b->updates * 8 + b->atomic * 4 + b->certain * 2 + b->generic;
    const int64_t keys[KINDS + 2][2] = {{a->block, b->block},     {a->address, b->address},
                                        {a->guard, b->guard},     {kind_a, kind_b},
                                        {a->verdict, b->verdict}, {a->offset, b->offset},
                                        {a->line, b->line}};
    return compare_keys(keys, KINDS + 2);
}

static int compare_places(const void *left, const void *right)
{
    const struct rp_touch *a = left, *b = right;
    const int64_t keys[][2] = {{a->block, b->block}, {a->address, b->address},
                               {a->guard, b->guard}, {a->offset, b->offset},
                               {(int64_t)a->width, (int64_t)b->width}, {a->effect, b->effect},
                               {a->line, b->line}};
    return compare_keys(keys, sizeof(keys) / sizeof(keys[0]));
}

/* Neighbours that one instruction could touch as well: the fields of a struct, the steps of
 * an unrolled loop. */
static bool join(struct rp_touch *to, const struct rp_touch *next)
{
    struct rp_touch same = *next;
    same.offset = to->offset;
    same.line = to->line;
    int64_t gap = next->offset - to->offset;
    if (to->verdict != RP_VERDICT_EXACT || to->address == RP_NONE || compare_kinds(to, &same) ||
        gap < 0 || (uint64_t)gap > to->width)
        return false;
    uint64_t end = (uint64_t)gap + next->width;
    to->width = end > to->width ? end : to->width;
    return true;
}

/* Touches in the order of their blocks, those of one place next to each other. */
static void write_touches(struct rp_slice *slice, struct rp_proof *proof)
{
    struct rp_builder *build = slice->build;
    size_t count = build->touches.count, kept = 0;
    struct rp_touch *touches = rp_build_alloc(build, (count + 1) * sizeof(*touches));
    for (size_t i = 0; i < count; i++) {
        touches[i] = RP_ITEMS(build->touches, struct rp_touch)[i];
        touches[i].block = slice->node_number[touches[i].block];
        touches[i].address = renumber(slice, touches[i].address);
        touches[i].guard = renumber(slice, touches[i].guard);
    }
    qsort(touches, count, sizeof(*touches), compare_kinds);
    for (size_t i = 0; i < count; i++)
        if (!kept || !join(&touches[kept - 1], &touches[i]))
            touches[kept++] = touches[i];
    qsort(touches, kept, sizeof(*touches), compare_places);
    proof->touches = touches;
    proof->touch_count = kept;
    for (size_t i = 0; i < kept; i++) {
        struct rp_basic_block *block = &proof->blocks[touches[i].block];
        if (!block->touch_count++)
            block->first_touch = (uint32_t)i;
    }
}

void rp_slice(struct rp_builder *build, struct rp_proof *proof)
{
    rp_slice_mark_sums(build);
    struct rp_slice slice = {.build = build};
    slice.kept = rp_build_alloc(build, build->ops.count + 1);
    slice.wanted = rp_build_alloc(build, build->ops.count + 1);
    rp_slice_rules(&slice);
    find_needed(&slice);
    sort_values(&slice);
    rp_slice_check_sums(&slice, proof);
    for (int i = 0; i < 3; i++)
        proof->grid_scale[i] = renumber(&slice, proof->grid_scale[i]);
    number_nodes(&slice, proof);
    write_ops(&slice, proof);
    write_blocks(&slice, proof);
    write_loops(&slice, proof);
    write_touches(&slice, proof);
    proof->roots = build->roots.items;
    proof->root_count = build->roots.count;
    rp_slice_path(&slice, proof);
}
