/* SPDX-License-Identifier: Apache-2.0 */
/* On which coordinates of a thread a touch depends: along these a launch may be cut into pieces
 * until the touch is affine in each. What depends on data is no better known in any piece, and
 * best.c says so; on memory, not unless the launch knows what stands there. */
#include "cuda/access/build.h"

uint8_t rp_depends_on_register(int64_t sreg)
{
    if (sreg >= RP_PTX_TID_X && sreg <= RP_PTX_TID_Z)
        return (uint8_t)(RP_DEPENDS_TID << (sreg - RP_PTX_TID_X));
    if (sreg >= RP_PTX_CTAID_X && sreg <= RP_PTX_CTAID_Z)
        return (uint8_t)(RP_DEPENDS_CTAID << (sreg - RP_PTX_CTAID_X));
    return sreg == RP_PTX_LANEID ? 7 * RP_DEPENDS_TID : 0;
}

/* Who gets to a block, and how often. */
static uint8_t of_block(const struct rp_proof *proof, const uint8_t *known, uint32_t block)
{
    uint8_t out = 0;
    for (; block != RP_NONE; block = proof->blocks[block].parent) {
        const struct rp_basic_block *at = &proof->blocks[block];
        if (at->condition != RP_NONE)
            out |= known[at->condition];
        if (at->rule == RP_GUARD_HEADER && proof->loops[at->loop].test != RP_NONE)
            out |= known[proof->loops[at->loop].test];
    }
    return out;
}

/* After loops: how often they came round. */
static uint8_t of_exit(const struct rp_proof *proof, const uint8_t *known, const struct rp_op *op)
{
    uint8_t out = known[op->a];
    for (uint32_t loop = op->b; loop != RP_NONE; loop = proof->loops[loop].parent) {
        if (proof->loops[loop].test != RP_NONE)
            out |= known[proof->loops[loop].test];
        if (loop == op->c)
            break;
    }
    return out;
}

static uint8_t of_phi(const struct rp_proof *proof, const uint8_t *known, const struct rp_op *op)
{
    uint8_t out = 0;
    for (uint32_t i = 0; i < op->b; i++) {
        const struct rp_phi_arg *arg = &proof->phi_args[op->a + i];
        out |= known[arg->value] | of_block(proof, known, arg->block);
    }
    return out;
}

static uint8_t of_value(const struct rp_proof *proof, const uint8_t *known, uint32_t value)
{
    const struct rp_op *op = &proof->ops[value];
    const uint32_t operands[3] = {op->a, op->b, op->c};
    uint8_t out = 0;
    bool used[3];
    if (op->kind == RP_OP_SREG)
        return rp_depends_on_register(op->imm);
    if (op->kind == RP_OP_PHI)
        return of_phi(proof, known, op);
    if (op->kind == RP_OP_EXIT)
        return of_exit(proof, known, op);
    rp_op_operands(op, used);
    for (int i = 0; i < 3; i++)
        out |= used[i] ? known[operands[i]] : 0;
    return op->kind == RP_OP_LOAD ? out | RP_DEPENDS_MEMORY : out;
}

void rp_depends_find(struct rp_builder *build, struct rp_proof *proof)
{
    uint8_t *known = rp_build_alloc(build, proof->op_count + 1);
    for (uint32_t i = 0; i < proof->op_count; i++)
        known[i] = of_value(proof, known, i);
    for (size_t i = 0; i < proof->touch_count; i++) {
        struct rp_touch *touch = &proof->touches[i];
        touch->depends = of_block(proof, known, touch->block);
        if (touch->address != RP_NONE) {
            touch->depends |= known[touch->address];
            touch->told = known[touch->address] & RP_DEPENDS_MEMORY;
        }
        if (touch->guard != RP_NONE)
            touch->depends |= known[touch->guard];
    }
}
