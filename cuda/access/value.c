/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/local.h"

static const struct rp_ptx_var *reg_var(const struct rp_builder *build, uint32_t frame,
                                        uint32_t reg)
{
    return &RP_ITEMS(build->frames, struct rp_inline_frame)[frame].function->regs[reg];
}

unsigned rp_value_bits(enum rp_ptx_type type)
{
    uint32_t bytes = rp_ptx_type_bytes(type);
    return type == RP_PTX_PRED ? 1 : bytes > 8 ? 64 : bytes ? bytes * 8 : 32;
}

bool rp_value_is_integer(enum rp_ptx_type type)
{
    return (type >= RP_PTX_B8 && type <= RP_PTX_B64) || (type >= RP_PTX_U8 && type <= RP_PTX_S64);
}

bool rp_value_is_signed(enum rp_ptx_type type)
{
    return type >= RP_PTX_S8 && type <= RP_PTX_S64;
}

static uint32_t variable_of(const struct rp_builder *build, uint32_t frame, uint32_t reg)
{
    return RP_ITEMS(build->frames, struct rp_inline_frame)[frame].first_reg + reg;
}

static uint32_t read_reg(struct rp_builder *build, uint32_t node, uint32_t frame, uint32_t reg)
{
    return rp_ssa_read(build, node, variable_of(build, frame, reg),
                       rp_value_bits(reg_var(build, frame, reg)->type));
}

uint32_t rp_value_make(const struct rp_translation *at, enum rp_op_kind kind, uint32_t a,
                       uint32_t b)
{
    return rp_ssa_op(at->build, (struct rp_op){.kind = (uint8_t)kind, .bits = (uint8_t)at->bits,
                                               .from = (uint8_t)at->bits,
                                               .is_signed = at->is_signed, .a = a, .b = b,
                                               .c = RP_NONE, .block = at->node, .stage = 2});
}

uint32_t rp_value_not(struct rp_builder *build, uint32_t node, uint32_t predicate)
{
    return rp_ssa_op(build, (struct rp_op){.kind = RP_OP_PNOT, .bits = 1, .a = predicate,
                                           .block = node, .stage = 2});
}

uint32_t rp_value_guard(struct rp_builder *build, uint32_t node, const struct rp_step *step)
{
    if (!step->guarded)
        return RP_NONE;
    uint32_t guard = rp_ssa_read(build, node, step->guard, 1);
    return step->negated ? rp_value_not(build, node, guard) : guard;
}

static uint32_t sreg_value(struct rp_builder *build, enum rp_ptx_sreg sreg, unsigned bits)
{
    uint64_t key = UINT64_MAX - (uint64_t)sreg * 256 - bits; /* some constant may have it, too */
    uint32_t value = rp_map_get(build->constants, key);
    if (value == RP_NONE || RP_ITEMS(build->ops, struct rp_op)[value].kind != RP_OP_SREG) {
        value = rp_ssa_op(build, (struct rp_op){.kind = RP_OP_SREG, .bits = (uint8_t)bits,
                                                .imm = sreg, .block = RP_ENTRY_NODE, .stage = 2});
        rp_map_set(build, build->constants, key, value);
    }
    return value;
}

/* The address of a variable. */
static uint32_t variable_value(struct rp_builder *build, uint32_t node, uint32_t frame,
                               const struct rp_ptx_operand *operand)
{
    const struct rp_ptx_var *var = operand->var;
    struct rp_op op = {.kind = RP_OP_NEAR, .bits = 64, .block = RP_ENTRY_NODE, .stage = 2};
    if (var->space == RP_PTX_GLOBAL || var->space == RP_PTX_CONST) {
        op.kind = RP_OP_ROOT;
        op.imm = rp_translate_root(build, var, RP_NONE);
    } else if (rp_slot_is_kernel_param(build, frame, var)) {
        op.imm = RP_NEAR_PARAM;
        op.b = (uint32_t)var->offset;
        op.c = (uint32_t)(var->offset + var->bytes);
    } else if (rp_local_find(build, frame, var) != RP_NONE) {
        op.imm = RP_NEAR_LOCAL;
        op.b = rp_local_find(build, frame, var);
    }
    uint32_t base = rp_ssa_op(build, op);
    if (!operand->imm)
        return base;
    return rp_ssa_op(build, (struct rp_op){.kind = RP_OP_ADD, .bits = 64, .from = 64, .a = base,
                                           .b = rp_ssa_constant(build, operand->imm, 64),
                                           .block = node, .stage = 2});
}

/* Whatever is not 0 is true: compilers write -1. */
static int64_t immediate(int64_t number, unsigned bits)
{
    return bits == 1 ? number != 0 : bits == 32 ? (int32_t)number : number;
}

uint32_t rp_translate_operand(struct rp_builder *build, uint32_t node, uint32_t frame,
                              const struct rp_ptx_operand *operand, unsigned bits)
{
    uint32_t value;
    switch (operand->kind) {
    case RP_PTX_OPERAND_REG:
        value = read_reg(build, node, frame, operand->reg);
        if (!operand->negated)
            return value;
        return bits == 1 ? rp_value_not(build, node, value)
                         : rp_ssa_opaque(build, node, bits, bits, false);
    case RP_PTX_OPERAND_IMM:
        if (operand->is_float)
            break;
        return rp_ssa_constant(build, immediate(operand->imm, bits), bits);
    case RP_PTX_OPERAND_SREG:
        return sreg_value(build, operand->sreg, bits);
    case RP_PTX_OPERAND_VAR:
        return variable_value(build, node, frame, operand);
    case RP_PTX_OPERAND_ADDRESS:
    case RP_PTX_OPERAND_LABEL:
    case RP_PTX_OPERAND_VECTOR:
    case RP_PTX_OPERAND_FUNCTION:
    case RP_PTX_OPERAND_SINK:
        break;
    }
    return rp_ssa_opaque(build, node, bits, bits, false);
}

uint32_t rp_value_operand(const struct rp_translation *at, unsigned index, unsigned bits)
{
    if (index >= at->ptx->operand_count)
        return rp_ssa_opaque(at->build, at->node, bits, bits, false);
    return rp_translate_operand(at->build, at->node, at->step->frame, &at->ptx->operands[index],
                                bits);
}

void rp_translate_assign(struct rp_builder *build, uint32_t node, uint32_t variable,
                         unsigned bits, uint32_t value)
{
    if (build->guard != RP_NONE)
        value = rp_ssa_op(build, (struct rp_op){
            .kind = bits == 1 ? RP_OP_PSELECT : RP_OP_SELECT, .bits = (uint8_t)bits, .a = value,
            .b = rp_ssa_read(build, node, variable, bits), .c = build->guard, .block = node,
            .stage = 2});
    rp_ssa_write(build, node, variable, value);
}

static void assign_reg(struct rp_builder *build, uint32_t node, const struct rp_step *step,
                       uint32_t reg, uint32_t value)
{
    rp_translate_assign(build, node, variable_of(build, step->frame, reg),
                        rp_value_bits(reg_var(build, step->frame, reg)->type), value);
}

static void assign_opaque(struct rp_builder *build, uint32_t node, const struct rp_step *step,
                          const struct rp_ptx_operand *to, unsigned bits, bool is_signed)
{
    for (uint32_t i = 0; to->kind == RP_PTX_OPERAND_VECTOR && i < to->item_count; i++)
        assign_opaque(build, node, step, &to->items[i], bits, is_signed);
    if (to->kind == RP_PTX_OPERAND_REG) {
        unsigned own = rp_value_bits(reg_var(build, step->frame, to->reg)->type);
        assign_reg(build, node, step, to->reg,
                   rp_ssa_opaque(build, node, own, bits && bits < own ? bits : own, is_signed));
    }
    if (to->paired)
        assign_reg(build, node, step, to->paired - 1, rp_ssa_opaque(build, node, 1, 1, false));
    if (to->kind == RP_PTX_OPERAND_VAR) { /* the result of a call */
        unsigned own = rp_value_bits(to->var->type);
        uint32_t variable = rp_slot_variable(build, step->frame, to->var, 0,
                                             (uint32_t)(to->var->is_array ? 1 : to->var->bytes));
        if (variable != RP_NONE)
            rp_translate_assign(build, node, variable, own,
                                rp_ssa_opaque(build, node, own, 64, false));
    }
}

void rp_translate_results(struct rp_builder *build, uint32_t node, const struct rp_step *step,
                          unsigned bits, bool is_signed)
{
    if (step->ptx->operand_count)
        assign_opaque(build, node, step, &step->ptx->operands[0], bits, is_signed);
}

void rp_value_opaque(const struct rp_translation *at)
{
    rp_translate_results(at->build, at->node, at->step, 0, false);
}

void rp_value_finish(const struct rp_translation *at, uint32_t value)
{
    const struct rp_ptx_operand *to = &at->ptx->operands[0];
    if (to->kind == RP_PTX_OPERAND_REG)
        assign_reg(at->build, at->node, at->step, to->reg, value);
}

unsigned rp_value_register_bits(const struct rp_translation *at,
                                const struct rp_ptx_operand *reg)
{
    return reg->kind == RP_PTX_OPERAND_REG
               ? rp_value_bits(reg_var(at->build, at->step->frame, reg->reg)->type) : 32;
}

void rp_value_assign(const struct rp_translation *at, uint32_t reg, uint32_t value)
{
    assign_reg(at->build, at->node, at->step, reg, value);
}

void rp_value_assign_opaque(const struct rp_translation *at, const struct rp_ptx_operand *to)
{
    assign_opaque(at->build, at->node, at->step, to, 0, false);
}
