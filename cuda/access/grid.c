/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/slice.h"

#include <string.h>

static struct rp_op *op_at(const struct rp_builder *build, uint32_t value)
{
    return &RP_ITEMS(build->ops, struct rp_op)[value];
}

/* 0, 1 or 2 when `value` is the special register `first`.x, .y or .z; else -1. */
static int dimension(const struct rp_builder *build, uint32_t value, enum rp_ptx_sreg first)
{
    const struct rp_op *op = op_at(build, value);
    if (op->kind != RP_OP_SREG || op->imm < (int64_t)first || op->imm > (int64_t)first + 2)
        return -1;
    return (int)(op->imm - (int64_t)first);
}

/* The factor of a product with ctaid in dimension `want`, or RP_NONE. */
static uint32_t block_factor(struct rp_builder *build, uint32_t value, int want)
{
    const struct rp_op op = *op_at(build, value);
    if (op.bits != 32)
        return RP_NONE;
    if (op.kind == RP_OP_MUL && dimension(build, op.a, RP_PTX_CTAID_X) == want)
        return op.b;
    if (op.kind == RP_OP_MUL && dimension(build, op.b, RP_PTX_CTAID_X) == want)
        return op.a;
    const struct rp_op *by = op.kind == RP_OP_SHL ? op_at(build, op.b) : NULL;
    if (by && by->kind == RP_OP_CONST && by->imm >= 0 && by->imm < 16 &&
        dimension(build, op.a, RP_PTX_CTAID_X) == want)
        return rp_ssa_constant(build, INT64_C(1) << by->imm, 32);
    return RP_NONE;
}

void rp_slice_mark_sums(struct rp_builder *build)
{
    size_t count = build->ops.count;
    for (uint32_t value = 0; value < count; value++) {
        const struct rp_op op = *op_at(build, value);
        if (op.kind != RP_OP_ADD || op.bits != 32 || rp_ssa_find(build, value) != value)
            continue;
        int in_a = dimension(build, op.a, RP_PTX_TID_X);
        int in_b = dimension(build, op.b, RP_PTX_TID_X);
        int at = in_b >= 0 ? in_b : in_a;
        uint32_t factor = at < 0 ? RP_NONE : block_factor(build, in_b >= 0 ? op.a : op.b, at);
        if (factor == RP_NONE || op_at(build, factor)->block != RP_ENTRY_NODE)
            continue;
        struct rp_op *out = op_at(build, value);
        out->kind = RP_OP_GRID;
        out->imm = at;
        out->c = factor;
    }
}

static void forbid(struct rp_proof *proof, int at)
{
    if (at >= 0)
        proof->grid[at] = false;
}

/* A use of `value` by an op that is no such sum; `product` marks the products in sums. */
static void check_use(const struct rp_builder *build, struct rp_proof *proof, uint32_t value,
                      const bool *product, bool by_product)
{
    forbid(proof, dimension(build, value, RP_PTX_TID_X));
    if (!by_product)
        forbid(proof, dimension(build, value, RP_PTX_CTAID_X));
    if (product[value])
        memset(proof->grid, false, sizeof(proof->grid));
}

static void note_sum(const struct rp_builder *build, struct rp_proof *proof,
                     const struct rp_op *op, bool *product)
{
    int at = (int)op->imm;
    proof->grid[at] &= proof->grid_scale[at] == RP_NONE || proof->grid_scale[at] == op->c;
    proof->grid_scale[at] = op->c;
    product[dimension(build, op->a, RP_PTX_TID_X) == at ? op->b : op->a] = true;
}

void rp_slice_check_sums(const struct rp_slice *slice, struct rp_proof *proof)
{
    struct rp_builder *build = slice->build;
    bool *product = rp_build_alloc(build, build->ops.count);
    memset(proof->grid, true, sizeof(proof->grid));
    memset(proof->grid_scale, 0xff, sizeof(proof->grid_scale));
    for (uint32_t i = 0; i < slice->order_count; i++)
        if (op_at(build, slice->order[i])->kind == RP_OP_GRID)
            note_sum(build, proof, op_at(build, slice->order[i]), product);
    for (uint32_t i = 0; i < slice->order_count; i++) {
        const struct rp_op *op = op_at(build, slice->order[i]);
        const struct rp_phi_arg *args = RP_ITEMS(build->phi_args, struct rp_phi_arg);
        bool used[3];
        if (op->kind == RP_OP_SREG && op->imm == RP_PTX_LANEID)
            memset(proof->grid, false, sizeof(proof->grid));
        for (uint32_t j = 0; op->kind == RP_OP_PHI && j < op->b; j++)
            check_use(build, proof, args[op->a + j].value, product, false);
        if (op->kind == RP_OP_GRID || !rp_op_operands(op, used))
            continue;
        const uint32_t operands[3] = {op->a, op->b, op->c};
        for (int j = 0; j < 3; j++)
            if (used[j])
                check_use(build, proof, operands[j], product, product[slice->order[i]]);
    }
    for (int at = 0; at < 3; at++)
        proof->grid[at] &= proof->grid_scale[at] != RP_NONE;
}
