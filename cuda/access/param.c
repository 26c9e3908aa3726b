/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels and functions load of their parameters, and what they pass by them. */
#include "cuda/access/touch.h"

static uint32_t param_value(const struct rp_translation *at, const struct rp_ptx_var *var,
                            int64_t offset, uint32_t bytes, unsigned bits)
{
    struct rp_builder *build = at->build;
    if (!rp_slot_is_kernel_param(build, at->step->frame, var)) {
        uint32_t variable = rp_slot_variable(build, at->step->frame, var, offset, bytes);
        if (variable == RP_NONE || bits != bytes * 8)
            return rp_ssa_opaque(build, at->node, bits, bytes * 8, at->is_signed);
        return rp_ssa_read(build, at->node, variable, bits);
    }
    if (offset < 0 || (uint64_t)offset + bytes > var->bytes || bytes > 8)
        return rp_ssa_opaque(build, at->node, bits, bits, false);
    struct rp_op op = {.kind = RP_OP_PARAM, .bits = (uint8_t)bits, .from = (uint8_t)(bytes * 8),
                       .is_signed = at->is_signed, .a = RP_NONE, .b = RP_NONE,
                       .imm = (int64_t)var->offset + offset, .block = RP_ENTRY_NODE, .stage = 2};
    if (bytes == 8)
        op.a = rp_translate_root(build, var, (uint32_t)op.imm);
    return rp_ssa_op(build, op);
}

void rp_param_load(const struct rp_translation *at)
{
    const struct rp_ptx_operand *to = &at->ptx->operands[0], *from = &at->ptx->operands[1];
    uint32_t bytes = at->ptx->type_count ? rp_ptx_type_bytes(at->ptx->type[0]) : 0;
    if (from->kind != RP_PTX_OPERAND_ADDRESS || from->base != RP_PTX_OPERAND_VAR || !bytes) {
        int64_t offset = 0;
        bool by_register = from->kind == RP_PTX_OPERAND_ADDRESS && !from->item_count && bytes;
        uint32_t address = by_register ? rp_touch_address(at, from, &offset) : RP_NONE;
        rp_load_results(at->build, at->node, at->step, address, offset);
        return;
    }
    bool vector = to->kind == RP_PTX_OPERAND_VECTOR;
    for (uint32_t i = 0; i < (vector ? to->item_count : 1); i++) {
        const struct rp_ptx_operand *item = vector ? &to->items[i] : to;
        if (item->kind == RP_PTX_OPERAND_REG)
            rp_value_assign(at, item->reg,
                            param_value(at, from->var, from->imm + (int64_t)i * bytes, bytes,
                                        rp_value_register_bits(at, item)));
    }
}

void rp_param_store(const struct rp_translation *at)
{
    const struct rp_ptx_operand *to = &at->ptx->operands[0], *from = &at->ptx->operands[1];
    uint32_t bytes = at->ptx->type_count ? rp_ptx_type_bytes(at->ptx->type[0]) : 0;
    if (to->kind != RP_PTX_OPERAND_ADDRESS || to->base != RP_PTX_OPERAND_VAR || !bytes)
        return; /* through a register: a variable whose address is taken is not tracked */
    bool vector = from->kind == RP_PTX_OPERAND_VECTOR;
    for (uint32_t i = 0; i < (vector ? from->item_count : 1); i++) {
        const struct rp_ptx_operand *item = vector ? &from->items[i] : from;
        uint32_t variable = rp_slot_variable(at->build, at->step->frame, to->var,
                                             to->imm + (int64_t)i * bytes, bytes);
        if (variable == RP_NONE || bytes > 8)
            continue;
        bool fits = item->kind != RP_PTX_OPERAND_REG ||
                    rp_value_register_bits(at, item) == bytes * 8;
        uint32_t value = fits ? rp_translate_operand(at->build, at->node, at->step->frame, item,
                                                     bytes * 8)
                              : rp_ssa_opaque(at->build, at->node, bytes * 8, bytes * 8, false);
        rp_translate_assign(at->build, at->node, variable, bytes * 8, value);
    }
}
