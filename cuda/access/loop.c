/* SPDX-License-Identifier: Apache-2.0 */
/* What changes from iteration to iteration, and what ends a loop. */
#include "cuda/access/build.h"

static struct rp_op *op_at(const struct rp_builder *build, uint32_t value)
{
    return &RP_ITEMS(build->ops, struct rp_op)[value];
}

static struct rp_natural_loop *loop_at(const struct rp_builder *build, uint32_t loop)
{
    return &RP_ITEMS(build->loops, struct rp_natural_loop)[loop];
}

/* It may be anything, but for who follows a thread round the loop. */
static void make_opaque(struct rp_builder *build, uint32_t value)
{
    struct rp_op *op = op_at(build, value);
    op->kind = RP_OP_CARRIED;
    op->imm = op->bits;
}

static bool is_invariant(struct rp_builder *build, uint32_t value, uint32_t loop)
{
    return !rp_graph_in_loop(build, op_at(build, value)->block, loop);
}

/* What the loop adds to `phi` in one iteration: `latch` must be phi plus invariants. The sum
 * is built before the loop. RP_NONE when it is anything else. */
static uint32_t find_step(struct rp_builder *build, uint32_t phi, uint32_t latch, uint32_t loop)
{
    uint32_t before = loop_at(build, loop)->preheader, step = RP_NONE;
    unsigned bits = op_at(build, phi)->bits;
    for (unsigned length = 0; latch != phi; length++) {
        const struct rp_op op = *op_at(build, latch);
        if ((op.kind != RP_OP_ADD && op.kind != RP_OP_SUB) || op.bits != bits || length > 256)
            return RP_NONE;
        uint32_t a = rp_ssa_find(build, op.a), b = rp_ssa_find(build, op.b);
        if (op.kind == RP_OP_ADD && is_invariant(build, a, loop)) {
            uint32_t swap = a;
            a = b;
            b = swap;
        }
        if (!is_invariant(build, b, loop) || is_invariant(build, a, loop))
            return RP_NONE;
        uint32_t left = step == RP_NONE ? rp_ssa_constant(build, 0, bits) : step;
        step = rp_ssa_op(build, (struct rp_op){.kind = op.kind, .bits = (uint8_t)bits,
                                               .from = (uint8_t)bits, .a = left, .b = b,
                                               .block = before, .stage = 4});
        latch = a;
    }
    return step == RP_NONE ? rp_ssa_constant(build, 0, bits) : step;
}

static void understand_phi(struct rp_builder *build, uint32_t value, uint32_t loop)
{
    const struct rp_op op = *op_at(build, value);
    const struct rp_natural_loop *at = loop_at(build, loop);
    const struct rp_phi_arg *args = RP_ITEMS(build->phi_args, struct rp_phi_arg) + op.a;
    bool in_order = op.b == 2 && args[0].block == at->preheader && args[1].block == at->latch;
    bool reversed = op.b == 2 && args[1].block == at->preheader && args[0].block == at->latch;
    if ((!in_order && !reversed) || op.bits == 1) {
        make_opaque(build, value);
        return;
    }
    uint32_t first = args[reversed].value, latch = args[!reversed].value;
    uint32_t step = find_step(build, value, rp_ssa_find(build, latch), loop);
    if (step == RP_NONE) {
        make_opaque(build, value);
        return;
    }
    struct rp_op *out = op_at(build, value);
    out->kind = RP_OP_INDUCTION;
    out->a = first;
    out->b = step;
    out->c = loop;
}

static void understand_phis(struct rp_builder *build)
{
    size_t count = build->ops.count; /* steps are added behind */
    for (uint32_t value = 0; value < count; value++) {
        const struct rp_op *op = op_at(build, value);
        if (op->kind != RP_OP_PHI || rp_ssa_find(build, value) != value)
            continue;
        uint32_t loop = build->nodes[op->block].loop;
        if (build->irreducible)
            make_opaque(build, value);
        else if (loop != RP_NONE && loop_at(build, loop)->header == op->block)
            understand_phi(build, value, loop);
    }
}

/* ---- values that leave their loop --------------------------------------------- */

/* `value` as it is used in `node`: after the loops that it was computed in, and before those that
 * have begun since. To these it is one of the values from before. */
static uint32_t outside(struct rp_builder *build, uint32_t value, uint32_t node, unsigned stage)
{
    value = rp_ssa_find(build, value);
    uint32_t defined = op_at(build, value)->block;
    uint32_t left = rp_graph_left_loop(build, defined, node);
    uint32_t begun = rp_graph_left_loop(build, node, defined);
    if (left == RP_NONE)
        return value;
    if (begun != RP_NONE) {
        node = loop_at(build, begun)->preheader;
        stage = 3;
    }
    uint64_t key = (uint64_t)value << 32 | (uint64_t)node << 2 | stage; /* < 2^14 nodes */
    uint32_t known = rp_map_get(build->exits, key);
    if (known != RP_NONE)
        return known;
    const struct rp_op *op = op_at(build, value);
    struct rp_op exit = {.kind = RP_OP_EXIT, .bits = op->bits, .a = value,
                         .b = build->nodes[defined].loop, .c = left, .block = node,
                         .stage = (uint8_t)stage};
    if (op->bits == 1)
        exit.kind = RP_OP_PEXIT;
    known = rp_ssa_op(build, exit);
    rp_map_set(build, build->exits, key, known);
    return known;
}

bool rp_op_operands(const struct rp_op *op, bool used[3])
{
    used[0] = used[1] = used[2] = false;
    switch ((enum rp_op_kind)op->kind) {
    case RP_OP_OPAQUE: case RP_OP_CONST: case RP_OP_PARAM: case RP_OP_SREG: case RP_OP_ROOT:
    case RP_OP_NEAR: case RP_OP_MAP: case RP_OP_PUNKNOWN: case RP_OP_PHI: case RP_OP_CARRIED:
    case RP_OP_PEXIT:
        return false;
    case RP_OP_NOT: case RP_OP_ABS: case RP_OP_CONVERT: case RP_OP_HIGH: case RP_OP_EXIT:
    case RP_OP_PNOT: case RP_OP_LOAD: case RP_OP_FIELD:
        used[0] = true;
        return true;
    case RP_OP_SELECT: case RP_OP_PSELECT: case RP_OP_GRID:
        used[0] = used[1] = used[2] = true;
        return true;
    case RP_OP_ADD: case RP_OP_SUB: case RP_OP_MUL: case RP_OP_MUL_WIDE: case RP_OP_MUL_HI:
    case RP_OP_SHL: case RP_OP_SHR: case RP_OP_AND: case RP_OP_OR: case RP_OP_XOR: case RP_OP_DIV:
    case RP_OP_REM: case RP_OP_MIN: case RP_OP_MAX: case RP_OP_PACK: case RP_OP_INDUCTION:
    case RP_OP_COMPARE: case RP_OP_PAND: case RP_OP_POR: case RP_OP_PXOR:
        used[0] = used[1] = true;
        return true;
    }
    return false;
}

static void settle_op(struct rp_builder *build, uint32_t value)
{
    struct rp_op op = *op_at(build, value);
    bool used[3];
    if (op.kind == RP_OP_PHI || op.kind == RP_OP_CARRIED) {
        for (uint32_t i = 0; i < op.b; i++) {
            struct rp_phi_arg arg = RP_ITEMS(build->phi_args, struct rp_phi_arg)[op.a + i];
            arg.value = outside(build, arg.value, arg.block, 3);
            RP_ITEMS(build->phi_args, struct rp_phi_arg)[op.a + i] = arg;
        }
        return;
    }
    if (!rp_op_operands(&op, used) || op.kind == RP_OP_EXIT)
        return;
    /* the operands of an induction are taken before its loop */
    uint32_t node = op.kind == RP_OP_INDUCTION ? loop_at(build, op.c)->preheader : op.block;
    unsigned stage = op.stage == 4 || op.kind == RP_OP_INDUCTION ? 3 : 1;
    if (used[0])
        op.a = outside(build, op.a, node, stage);
    if (used[1])
        op.b = outside(build, op.b, node, stage);
    if (used[2])
        op.c = outside(build, op.c, node, stage);
    *op_at(build, value) = op;
}

static void settle_uses(struct rp_builder *build)
{
    size_t count = build->ops.count;
    for (uint32_t value = 0; value < count; value++)
        if (rp_ssa_find(build, value) == value)
            settle_op(build, value);
    for (size_t i = 0; i < build->touches.count; i++) {
        struct rp_touch *touch = &RP_ITEMS(build->touches, struct rp_touch)[i];
        if (touch->address != RP_NONE)
            touch->address = outside(build, touch->address, touch->block, 1);
        if (touch->guard != RP_NONE)
            touch->guard = outside(build, touch->guard, touch->block, 1);
    }
    for (uint32_t i = 0; i < build->rpo_count; i++) {
        struct rp_flow_node *node = &build->nodes[build->rpo[i]];
        if (node->condition != RP_NONE)
            node->condition = outside(build, node->condition, build->rpo[i], 1);
    }
}

/* ---- what ends a loop --------------------------------------------------------- */

/* How far a test is from saying when its loop ends: 0 when it compares what changes with what
 * does not, more with each value that comes from inside the loop otherwise. */
static unsigned vagueness(struct rp_builder *build, uint32_t value, uint32_t loop, unsigned depth)
{
    const struct rp_op *op = op_at(build, value);
    bool used[3];
    if (is_invariant(build, value, loop) || (op->kind == RP_OP_INDUCTION && op->c == loop))
        return 0;
    if (!rp_op_operands(op, used) || depth > 8)
        return 1;
    const uint32_t operands[3] = {op->a, op->b, op->c};
    unsigned sum = 0;
    for (int i = 0; i < 3; i++)
        if (used[i])
            sum += vagueness(build, rp_ssa_find(build, operands[i]), loop, depth + 1);
    return sum;
}

/* Chooses the exit that best says how often the loop comes round. It must be asked once in
 * each iteration: not in a loop inside, and not aside. */
static void understand_exit(struct rp_builder *build, uint32_t index)
{
    struct rp_natural_loop *loop = loop_at(build, index);
    unsigned least = UINT32_MAX;
    loop->out = (struct rp_loop){.header = loop->header, .depth = loop->depth, .test = RP_NONE,
                                 .single_exit = loop->exits.count == 1, .test_block = RP_NONE};
    for (uint32_t i = 0; i < loop->exits.count; i++) {
        uint32_t from = loop->exit_from.items[i];
        const struct rp_flow_node *node = &build->nodes[from];
        if (node->condition == RP_NONE || node->succ.count != 2 || node->loop != index ||
            !rp_graph_dominates(build, from, loop->latch))
            continue;
        unsigned vague = vagueness(build, node->condition, index, 0);
        if (vague >= least)
            continue;
        least = vague;
        loop->out.test = node->condition;
        loop->out.test_block = from;
        loop->out.continues_if = loop->exits.items[i] != node->succ.items[0];
    }
}

void rp_loop_understand(struct rp_builder *build)
{
    build->exits = rp_map_create(build);
    understand_phis(build);
    settle_uses(build);
    for (size_t i = 0; i < build->loops.count; i++)
        understand_exit(build, (uint32_t)i);
}
