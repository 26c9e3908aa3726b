/* SPDX-License-Identifier: Apache-2.0 */
/* Which instructions are tracked, and which registers can therefore be compact. */
#include "cuda/soft/simt/compile.h"
#include "cuda/soft/simt/opcodes.h"

#include <stdlib.h>
#include <string.h>

/* By spelling without the type; the type is an integer of 32 or 64 bits. */
static const char *const tracked[] = {
    "add", "sub", "mul.lo", "mad.lo", "mul.hi", "mul.wide", "mad.wide", "mov", "shl", "neg", "not",
    "and", "or", "xor", "shr", "min", "max", "div", "rem", "cvt", "cvta", "cvta.to", "ld.param"};

static bool is_integer(enum rp_ptx_type type)
{
    switch ((int)type) {
    case RP_PTX_B32: case RP_PTX_U32: case RP_PTX_S32:
    case RP_PTX_B64: case RP_PTX_U64: case RP_PTX_S64: return true;
    default: return false;
    }
}

static bool plain_operands(const struct rp_ptx_instruction *at)
{
    for (uint32_t k = 0; k < at->operand_count; k++) {
        const enum rp_ptx_operand_kind kind = at->operands[k].kind;
        if (kind == RP_PTX_OPERAND_VECTOR || at->operands[k].paired)
            return false;
        if (kind == RP_PTX_OPERAND_SREG && at->operands[k].sreg >= RP_PTX_CLOCK &&
            at->operands[k].sreg <= RP_PTX_GLOBALTIMER_HI)
            return false;
    }
    return at->operand_count >= 2 && at->operands[0].kind == RP_PTX_OPERAND_REG;
}

/* The instruction's spelling up to its types, spaces of cvta left out. */
static void stem(const struct rp_ptx_instruction *at, char text[SIMT_SPELLING])
{
    size_t length = strlen(at->op);
    text[0] = 0;
    if (length >= SIMT_SPELLING)
        return;
    memcpy(text, at->op, length + 1);
    for (uint32_t i = 0; i + at->type_count < at->modifier_count; i++) {
        const char *modifier = at->modifiers[i];
        const size_t more = strlen(modifier) + 1;
        if (!strcmp(at->op, "cvta") && strcmp(modifier, "to") != 0)
            continue;
        if (length + more >= SIMT_SPELLING)
            return;
        text[length] = '.';
        memcpy(text + length + 1, modifier, more);
        length += more;
    }
}

bool simt_is_tracked(const struct compiler *c, const struct rp_ptx_instruction *at)
{
    if (!plain_operands(at) || !at->type_count)
        return false;
    const uint32_t width = simt_register_width(c, at->operands[0].reg);
    if (width != 4 && width != 8)
        return false;
    for (uint32_t i = 0; i < at->type_count; i++) {
        if (!is_integer(at->type[i]))
            return false;
    }
    /* cvt between registers that have the size of their types */
    if (!strcmp(at->op, "cvt") &&
        (at->type_count != 2 || rp_ptx_type_bytes(at->type[0]) != width ||
         at->operands[1].kind != RP_PTX_OPERAND_REG ||
         simt_register_width(c, at->operands[1].reg) != rp_ptx_type_bytes(at->type[1])))
        return false;
    char text[SIMT_SPELLING];
    stem(at, text);
    for (size_t i = 0; i < sizeof tracked / sizeof tracked[0]; i++) {
        if (!strcmp(tracked[i], text))
            return strcmp(at->op, "ld") != 0 || simt_is_entry_parameter(c, &at->operands[1]);
    }
    return false;
}

static void forbid(struct compiler *c, const struct rp_ptx_operand *operand)
{
    if (operand->kind == RP_PTX_OPERAND_REG)
        c->compact[operand->reg] = 0;
    if (operand->paired)
        c->compact[operand->paired - 1] = 0;
    for (uint32_t i = 0; operand->kind == RP_PTX_OPERAND_VECTOR && i < operand->item_count; i++)
        forbid(c, &operand->items[i]);
}

/* ---- which registers are worth it ---------------------------------------------- */

/* How the lanes of a value differ, as far as the code tells: not at all, regularly or so that
 * it may turn out to be regular, or with no hope. */
enum { SAME, REGULAR, IRREGULAR };

static uint8_t variety_of_operand(const struct compiler *c, const uint8_t *variety,
                                  const struct rp_ptx_operand *operand)
{
    switch ((int)operand->kind) {
    case RP_PTX_OPERAND_REG: return c->compact[operand->reg] ? variety[operand->reg] : IRREGULAR;
    case RP_PTX_OPERAND_SREG:
        return operand->sreg <= RP_PTX_TID_Z || operand->sreg == RP_PTX_LANEID ? REGULAR
               : operand->sreg >= RP_PTX_LANEMASK_EQ && operand->sreg <= RP_PTX_LANEMASK_GE
                   ? IRREGULAR : SAME;
    default: return SAME;
    }
}

static bool is_named(const struct rp_ptx_instruction *at, const char *const *names)
{
    while (*names && strcmp(at->op, *names) != 0)
        names++;
    return *names;
}

/* Of a tracked operation's result. */
static uint8_t variety_of_result(const struct compiler *c, const uint8_t *variety,
                                 const struct rp_ptx_instruction *at)
{
    static const char *const products[] = {"mul", "mad", NULL};
    static const char *const tangles[] = {"xor", "min", "max", NULL};
    uint8_t most = SAME, first = SAME, second = SAME;
    for (uint32_t k = 1; k < at->operand_count; k++) {
        const uint8_t own = variety_of_operand(c, variety, &at->operands[k]);
        most = own > most ? own : most;
        first = k == 1 ? own : first;
        second = k == 2 ? own : second;
    }
    const bool squares = is_named(at, products) && first != SAME && second != SAME;
    const bool shifts = !strcmp(at->op, "shl") && second != SAME;
    const bool tangled = (is_named(at, tangles) || rp_ptx_has(at, "hi")) && most != SAME;
    return squares || shifts || tangled ? IRREGULAR : most;
}

/* Registers that hold no regular values are better off as plain rows. Chains of results that
 * stand in the wrong order may take more rounds than this; then some of them stay. */
static void leave_irregular(struct compiler *c)
{
    enum { ROUNDS = 6 };
    uint8_t *variety = calloc(c->ptx->reg_count + 1, 1);
    if (!variety) {
        c->no_memory = true;
        return;
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < c->ptx->code_count; i++) {
            const struct rp_ptx_instruction *at = &c->ptx->code[i];
            if (!at->operand_count || at->operands[0].kind != RP_PTX_OPERAND_REG ||
                !c->compact[at->operands[0].reg])
                continue;
            const uint8_t own = variety_of_result(c, variety, at);
            uint8_t *kept = &variety[at->operands[0].reg];
            *kept = own > *kept ? own : *kept;
        }
    }
    for (size_t i = 0; i < c->ptx->reg_count; i++)
        c->compact[i] &= variety[i] != IRREGULAR;
    free(variety);
}

void simt_find_compact(struct compiler *c)
{
    for (size_t i = 0; i < c->ptx->code_count; i++) {
        if (simt_is_tracked(c, &c->ptx->code[i]))
            c->compact[c->ptx->code[i].operands[0].reg] = 1;
    }
    uint32_t formals = 0;
    for (size_t i = 0; i < c->ptx->return_count; i++)
        formals += c->ptx->returns[i].space == RP_PTX_REG;
    for (size_t i = 0; i < c->ptx->param_count; i++)
        formals += c->ptx->params[i].space == RP_PTX_REG;
    memset(c->compact, 0, formals);
    for (size_t i = 0; i < c->ptx->code_count; i++) {
        const struct rp_ptx_instruction *at = &c->ptx->code[i];
        const uint32_t results = at->returns ? at->returns : 1;
        for (uint32_t k = 0; !simt_is_tracked(c, at) && k < results && k < at->operand_count; k++)
            forbid(c, &at->operands[k]);
    }
    leave_irregular(c);
}

bool simt_compares_compact(int opcode)
{
    switch (opcode) {
    case SIMT_OP_eq_32: case SIMT_OP_eq_64: case SIMT_OP_lt_u32: case SIMT_OP_lt_s32:
    case SIMT_OP_lt_u64: case SIMT_OP_lt_s64: return true;
    default: return false;
    }
}

void simt_track(struct simt_op *op)
{
    const uint8_t *width = simt_signatures[op->opcode - SIMT_CONTROL_COUNT].width;
    op->flags = (uint16_t)(SIMT_TRACKED | (width[0] >= 4 ? SIMT_HAS_D : 0) |
                           (width[0] == 8 ? SIMT_WIDE_D : 0) | (width[1] == 8 ? SIMT_WIDE_A : 0) |
                           (width[2] ? SIMT_HAS_B : 0) | (width[2] == 8 ? SIMT_WIDE_B : 0) |
                           (width[3] ? SIMT_HAS_C : 0) | (width[3] == 8 ? SIMT_WIDE_C : 0));
    /* Slots of operands that are not there are looked at too. */
    op->b = width[2] ? op->b : op->a;
    op->c = width[3] ? op->c : op->a;
}
