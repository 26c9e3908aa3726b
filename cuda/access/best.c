/* SPDX-License-Identifier: Apache-2.0 */
/* The best that a proof can say at all, before any launch: what its values are made of. */
#include "cuda/access/build.h"

/* How well a value can be known; each includes those before it. */
enum knowledge { NUMBER, FUZZY, ANY_INDEX, ANY_POINTER };

struct origin {
    uint8_t knowledge;
    bool rooted; /* a pointer parameter or a global is in it */
    bool near;
};

static uint8_t worse(uint8_t a, uint8_t b)
{
    return a > b ? a : b;
}

static bool makes_index(enum rp_op_kind kind)
{
    return kind == RP_OP_MUL || kind == RP_OP_MUL_WIDE || kind == RP_OP_SHL || kind == RP_OP_DIV ||
           kind == RP_OP_REM;
}

static struct origin origin_of(const struct rp_proof *proof, const struct origin *known,
                               uint32_t value)
{
    const struct rp_op *op = &proof->ops[value];
    struct origin out = {0};
    bool used[3];
    const uint32_t operands[3] = {op->a, op->b, op->c};
    rp_op_operands(op, used);
    switch ((int)op->kind) {
    case RP_OP_OPAQUE:
        out.knowledge = op->imm < 32 ? FUZZY : op->imm < 64 || op->bits < 64 ? ANY_INDEX
                                                                             : ANY_POINTER;
        return out;
    case RP_OP_SREG:
        out.knowledge = op->imm > RP_PTX_LANEID && op->imm != RP_PTX_DYNAMIC_SMEM_SIZE ? ANY_INDEX
                                                                                       : NUMBER;
        return out;
    case RP_OP_PARAM: case RP_OP_ROOT:
        out.rooted = op->kind == RP_OP_ROOT || op->from == 64;
        return out;
    case RP_OP_NEAR: out.near = true; return out;
    case RP_OP_PUNKNOWN: out.knowledge = FUZZY; return out;
    case RP_OP_MAP: out.rooted = true; return out;
    case RP_OP_LOAD: case RP_OP_FIELD: /* of known bytes */
        out.rooted = op->from == 64;
        return out;
    case RP_OP_PHI:
        for (uint32_t i = 0; i < op->b; i++) {
            const struct origin *from = &known[proof->phi_args[op->a + i].value];
            out.knowledge = worse(out.knowledge, from->knowledge);
            out.rooted |= from->rooted;
            out.near |= from->near;
        }
        return out;
    default: break;
    }
    for (int i = 0; i < 3; i++)
        if (used[i] && !(i == 2 && (op->kind == RP_OP_SELECT || op->kind == RP_OP_PSELECT))) {
            out.knowledge = worse(out.knowledge, known[operands[i]].knowledge);
            out.rooted |= known[operands[i]].rooted;
            out.near |= known[operands[i]].near;
        }
    if ((op->kind == RP_OP_SELECT || op->kind == RP_OP_PSELECT) && known[op->c].knowledge > NUMBER)
        out.knowledge = worse(out.knowledge, FUZZY);
    if (makes_index((enum rp_op_kind)op->kind) || op->bits < 64) {
        out.rooted = false;
        if (out.knowledge == ANY_POINTER)
            out.knowledge = ANY_INDEX;
    }
    return out;
}

/* True when something above the block depends on data for sure. */
static bool is_uncertain(const struct rp_proof *proof, const struct origin *known, uint32_t block)
{
    for (; block != RP_NONE; block = proof->blocks[block].parent) {
        const struct rp_basic_block *at = &proof->blocks[block];
        if (!at->exact || (at->condition != RP_NONE && known[at->condition].knowledge > NUMBER) ||
            (at->rule == RP_GUARD_HEADER && (proof->loops[at->loop].test == RP_NONE ||
                                             !proof->loops[at->loop].single_exit)))
            return true;
    }
    return false;
}

static enum rp_verdict best_of(const struct rp_proof *proof, const struct origin *known,
                               const struct rp_touch *touch)
{
    if (touch->address == RP_NONE)
        return (enum rp_verdict)touch->verdict;
    const struct origin *from = &known[touch->address];
    bool stays_near = from->near && !from->rooted && from->knowledge < ANY_POINTER;
    if (stays_near && touch->generic)
        return RP_VERDICT_NONE;
    enum rp_verdict best = RP_VERDICT_EXACT;
    if (!touch->certain || from->knowledge == FUZZY || is_uncertain(proof, known, touch->block) ||
        (touch->guard != RP_NONE && known[touch->guard].knowledge > NUMBER))
        best = RP_VERDICT_BOUNDED;
    if (from->knowledge == ANY_INDEX)
        best = from->rooted ? RP_VERDICT_ROOT : RP_VERDICT_REACHABLE;
    if (from->knowledge == ANY_POINTER)
        best = RP_VERDICT_REACHABLE;
    return best > touch->verdict ? best : (enum rp_verdict)touch->verdict;
}

void rp_best_verdicts(struct rp_builder *build, struct rp_proof *proof)
{
    struct origin *known = rp_build_alloc(build, (proof->op_count + 1) * sizeof(*known));
    for (uint32_t i = 0; i < proof->op_count; i++)
        known[i] = origin_of(proof, known, i);
    for (size_t i = 0; i < proof->touch_count; i++) {
        struct rp_touch *touch = &proof->touches[i];
        enum rp_verdict best = best_of(proof, known, touch);
        enum rp_verdict *side = touch->effect == RP_WRITE ? &proof->best_writes
                                                          : &proof->best_reads;
        touch->best = (uint8_t)best;
        *side = best > *side ? best : *side;
    }
}
