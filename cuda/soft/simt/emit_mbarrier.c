/* SPDX-License-Identifier: Apache-2.0 */
/* mbarrier.* and the arrival of asynchronous copies at one. */
#include "cuda/soft/simt/collective.h"
#include "cuda/soft/simt/compile.h"
#include "cuda/soft/simt/opcodes.h"

#include <string.h>

/* Order and scope fall away, as for atomics. */
static const char *const known[] = {
    "init", "inval", "arrive", "arrive_drop", "noComplete", "expect_tx", "test_wait", "try_wait",
    "parity", "pending_count", "shared", "shared::cta", "b64", "release", "acquire", "relaxed",
    "cta", "cluster", NULL};

static bool emit(struct compiler *c, int opcode, const struct rp_ptx_operand *address,
                 struct simt_op from)
{
    uint32_t width;
    if (!simt_operand_address(c, address, &from.a, &width, &from.imm))
        return false;
    struct simt_op *op = simt_emit(c, opcode);
    op->a = from.a;
    op->imm = from.imm;
    op->b = from.b;
    op->c = from.c;
    op->d = from.d;
    op->flags = (uint16_t)(from.flags | (width == 4 ? SIMT_ADDRESS_32 : 0) | SIMT_OWN_FROM |
                           SIMT_OWN_TO);
    op->target = c->next_site++;
    return true;
}

static bool emit_init(struct compiler *c)
{
    struct simt_op op = {0};
    return c->at->operand_count == 2
               ? simt_operand_value(c, &c->at->operands[1], 4, RP_PTX_U32, &op.b) &&
                     emit(c, SIMT_OP_mbarrier_init, &c->at->operands[0], op)
               : simt_refuse(c, "this number of operands");
}

/* mbarrier.arrive[_drop][.noComplete|.expect_tx] state, [object] [, count] */
static bool emit_arrive(struct compiler *c)
{
    const struct rp_ptx_instruction *at = c->at;
    struct simt_op op = {.d = SIMT_SINK_ROW, .b = simt_value_row(c, 4, 1)};
    const bool counted = at->operand_count == 3;
    const bool needs_count = rp_ptx_has(at, "noComplete") || rp_ptx_has(at, "expect_tx");
    if (at->operand_count < 2 || at->operand_count > 3 || (needs_count && !counted))
        return simt_refuse(c, "this number of operands");
    if (at->operands[0].kind != RP_PTX_OPERAND_SINK) {
        op.flags = SIMT_MBAR_RESULT;
        if (!simt_operand_target(c, &at->operands[0], 8, &op.d))
            return false;
    }
    if (counted && !simt_operand_value(c, &at->operands[2], 4, RP_PTX_U32, &op.b))
        return false;
    op.flags |= (rp_ptx_has(at, "arrive_drop") ? SIMT_MBAR_DROP : 0) |
                (rp_ptx_has(at, "expect_tx") ? SIMT_MBAR_EXPECT : 0);
    return emit(c, SIMT_OP_mbarrier_arrive, &at->operands[1], op);
}

static bool emit_expect(struct compiler *c)
{
    struct simt_op op = {.d = SIMT_SINK_ROW, .flags = SIMT_MBAR_EXPECT | SIMT_MBAR_ONLY_EXPECT};
    if (c->at->operand_count != 2)
        return simt_refuse(c, "this number of operands");
    return simt_operand_value(c, &c->at->operands[1], 4, RP_PTX_U32, &op.b) &&
           emit(c, SIMT_OP_mbarrier_arrive, &c->at->operands[0], op);
}

/* mbarrier.{test,try}_wait[.parity] over, [object], state [, how long to try] */
static bool emit_wait(struct compiler *c)
{
    const struct rp_ptx_instruction *at = c->at;
    const bool parity = rp_ptx_has(at, "parity");
    struct simt_op op = {.flags = parity ? SIMT_MBAR_PARITY : 0};
    if (at->operand_count != 3 && !(at->operand_count == 4 && rp_ptx_has(at, "try_wait")))
        return simt_refuse(c, "this number of operands");
    return simt_operand_target(c, &at->operands[0], 0, &op.d) &&
           simt_operand_value(c, &at->operands[2], parity ? 4 : 8, RP_PTX_B64, &op.c) &&
           emit(c, SIMT_OP_mbarrier_wait, &at->operands[1], op);
}

static bool emit_pending(struct compiler *c)
{
    uint32_t a, d;
    if (c->at->operand_count != 2)
        return simt_refuse(c, "this number of operands");
    if (!simt_operand_value(c, &c->at->operands[1], 8, RP_PTX_B64, &a) ||
        !simt_operand_target(c, &c->at->operands[0], 4, &d))
        return false;
    struct simt_op *op = simt_emit(c, SIMT_OP_mbarrier_pending);
    op->a = a;
    op->d = d;
    return true;
}

bool simt_emit_mbarrier(struct compiler *c)
{
    static const struct { const char *word; simt_emitter *emit; } forms[] = {
        {"init", emit_init},       {"inval", simt_emit_nothing}, {"arrive", emit_arrive},
        {"arrive_drop", emit_arrive}, {"expect_tx", emit_expect}, {"test_wait", emit_wait},
        {"try_wait", emit_wait},   {"pending_count", emit_pending}};
    const struct rp_ptx_instruction *at = c->at;
    if (!simt_modifiers_known(c, known))
        return false;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (at->type_count == 1 && !strcmp(at->modifiers[0], forms[i].word))
            return forms[i].emit(c);
    }
    return simt_refuse(c, "not supported");
}

/* cp.async.mbarrier.arrive[.noinc]: copies are over at once. With .noinc the arrival is one of
 * those that the object expects; without, it is one more, expected and made at once. */
bool simt_emit_copy_arrival(struct compiler *c)
{
    struct simt_op op = {.d = SIMT_SINK_ROW};
    if (c->at->operand_count != 1)
        return simt_refuse(c, "this number of operands");
    if (!rp_ptx_has(c->at, "noinc"))
        return true;
    op.b = simt_value_row(c, 4, 1);
    return emit(c, SIMT_OP_mbarrier_arrive, &c->at->operands[0], op);
}
