/* SPDX-License-Identifier: Apache-2.0 */
/* What orders accesses to memory, or says how they are cached; and copies that are over at once. */
#include "cuda/soft/simt/collective.h"
#include "cuda/soft/simt/compile.h"
#include "cuda/soft/simt/opcodes.h"

#include <string.h>

struct place {
    uint32_t row, width;
    int64_t offset;
};

/* Hints about caches, which there are none of. `discard` is not among them: it may change
 * what is read later. */
bool simt_emit_nothing(struct compiler *c)
{
    (void)c;
    return true;
}

bool simt_emit_fence(struct compiler *c)
{
    static const char *const bars[] = {"cta", "gl", "sys", NULL};
    static const char *const fences[] = {"cta", "gpu", "sys", "cluster", "sc", "acq_rel", "acquire",
                                         "release", "proxy", "alias", "async", "generic", "global",
                                         "shared::cta", NULL};
    const bool scoped = rp_ptx_has(c->at, "cta") || rp_ptx_has(c->at, "cluster") ||
                        rp_ptx_has(c->at, "gpu") || rp_ptx_has(c->at, "sys") ||
                        rp_ptx_has(c->at, "gl") || rp_ptx_has(c->at, "proxy");
    if (!simt_modifiers_known(c, !strcmp(c->at->op, "membar") ? bars : fences))
        return false;
    if (!scoped)
        return simt_refuse(c, "no scope");
    simt_emit(c, SIMT_OP_fence);
    return true;
}

/* cp.async copies at once, so that committing and waiting have nothing to do. The bulk and
 * tensor forms are another matter. */
static bool emit_copy(struct compiler *c)
{
    static const char *const known[] = {"async", "ca", "cg", "shared", "shared::cta", "global",
                                        "L2::64B", "L2::128B", "L2::256B", NULL};
    const struct rp_ptx_instruction *at = c->at;
    if (!simt_modifiers_known(c, known))
        return false;
    if (at->operand_count != 3 && at->operand_count != 4)
        return simt_refuse(c, "this number of operands");
    const struct rp_ptx_operand *size = &at->operands[2];
    if (size->kind != RP_PTX_OPERAND_IMM || (size->imm != 4 && size->imm != 8 && size->imm != 16) ||
        (rp_ptx_has(at, "cg") && size->imm != 16))
        return simt_refuse(c, "a copy of this size");
    struct place to, from;
    uint32_t taken = 0;
    bool ignored = false;
    if (!simt_operand_address(c, &at->operands[0], &to.row, &to.width, &to.offset) ||
        !simt_operand_address(c, &at->operands[1], &from.row, &from.width, &from.offset))
        return false;
    if (at->operand_count == 4) {
        ignored = at->operands[3].kind == RP_PTX_OPERAND_REG &&
                  c->ptx->regs[at->operands[3].reg].type == RP_PTX_PRED;
        if (!(ignored ? simt_operand_predicate(c, &at->operands[3], &taken)
                      : simt_operand_value(c, &at->operands[3], 4, RP_PTX_U32, &taken)))
            return false;
    }
    if (to.offset != (int32_t)to.offset)
        return simt_refuse(c, "an offset of more than 32 bits");
    struct simt_op *op = simt_emit(c, SIMT_OP_copy_async);
    op->d = to.row;
    op->a = from.row;
    op->imm = from.offset;
    op->b = (uint32_t)(int32_t)to.offset;
    op->c = (uint32_t)size->imm;
    op->f = taken;
    op->flags = (uint16_t)((from.width == 4 ? SIMT_ADDRESS_32 : 0) |
                           (to.width == 4 ? SIMT_COPY_TO_32 : 0) | SIMT_OWN_TO |
                           (ignored                  ? SIMT_COPY_UNLESS
                            : at->operand_count == 4 ? SIMT_COPY_SIZED
                                                     : 0));
    op->target = c->next_site++;
    return true;
}

bool simt_emit_cp(struct compiler *c)
{
    char spelling[SIMT_SPELLING];
    simt_spell(c->at, spelling);
    if (!strcmp(spelling, "cp.async.commit_group") || !strcmp(spelling, "cp.async.wait_group") ||
        !strcmp(spelling, "cp.async.wait_all"))
        return true;
    if (!strncmp(spelling, "cp.async.mbarrier.arrive", 24))
        return simt_emit_copy_arrival(c);
    if (!strncmp(spelling, "cp.async.ca.shared", 18) ||
        !strncmp(spelling, "cp.async.cg.shared", 18))
        return emit_copy(c);
    return simt_refuse(c, "not supported");
}
