/* SPDX-License-Identifier: Apache-2.0 */
/* .param variables of functions and calls: which of their bytes are variables of their own. */
#include "cuda/access/build.h"

#include <string.h>

enum { MOST_UNITS = 512 }; /* of one that is tracked */

static const struct rp_inline_frame *frame_at(const struct rp_builder *build, uint32_t frame)
{
    return &RP_ITEMS(build->frames, struct rp_inline_frame)[frame];
}

static bool is_one_of(const struct rp_ptx_var *var, const struct rp_ptx_var *list, size_t count)
{
    return count && var >= list && var < list + count;
}

bool rp_slot_is_kernel_param(const struct rp_builder *build, uint32_t frame,
                             const struct rp_ptx_var *var)
{
    return !frame && is_one_of(var, build->entry->params, build->entry->param_count);
}

/* A callee's parameter is the caller's variable that was passed for it. */
static void resolve(const struct rp_builder *build, uint32_t *frame, const struct rp_ptx_var **var)
{
    while (*frame) {
        const struct rp_inline_frame *at = frame_at(build, *frame);
        const struct rp_ptx_function *function = at->function;
        const struct rp_ptx_operand *operands = at->call->operands, *operand;
        if (is_one_of(*var, function->params, function->param_count))
            operand = &operands[at->call->returns + 1 + (*var - function->params)];
        else if (is_one_of(*var, function->returns, function->return_count))
            operand = &operands[*var - function->returns];
        else
            return;
        if (operand->kind != RP_PTX_OPERAND_VAR || operand->imm)
            return;
        *var = operand->var;
        *frame = at->parent;
    }
}

static struct rp_slot *find_slot(struct rp_builder *build, uint32_t frame,
                                 const struct rp_ptx_var *var, uint32_t *index)
{
    resolve(build, &frame, &var);
    struct rp_slot *slots = build->slots.items;
    for (*index = 0; *index < build->slots.count; ++*index)
        if (slots[*index].var == var && slots[*index].frame == frame)
            return &slots[*index];
    struct rp_slot *slot = rp_build_push(build, &build->slots, sizeof(*slot));
    *slot = (struct rp_slot){.frame = frame, .var = var};
    return slot;
}

uint32_t rp_slot_variable(struct rp_builder *build, uint32_t frame, const struct rp_ptx_var *var,
                      int64_t offset, uint32_t bytes)
{
    uint32_t index;
    const struct rp_slot *slot = find_slot(build, frame, var, &index);
    bool outside = offset < 0 || (uint64_t)offset + bytes > slot->var->bytes;
    if (slot->messy || outside || (slot->unit && slot->unit != bytes) || offset % bytes)
        return RP_NONE;
    uint64_t key = (uint64_t)index << 32 | (uint64_t)offset;
    uint32_t variable = rp_map_get(build->slot_variables, key);
    if (variable == RP_NONE) {
        variable = build->variable_count++;
        rp_map_set(build, build->slot_variables, key, variable);
    }
    return variable;
}

/* Looks at every use of .param variables before any is translated: one that is accessed in
 * pieces of different sizes, or whose address is taken, is not tracked. */
static void survey_operand(struct rp_builder *build, uint32_t frame,
                           const struct rp_ptx_operand *operand, uint32_t unit, bool is_argument)
{
    for (uint32_t i = 0; i < operand->item_count; i++)
        survey_operand(build, frame, &operand->items[i], 0, is_argument);
    bool address = operand->kind == RP_PTX_OPERAND_ADDRESS && operand->base == RP_PTX_OPERAND_VAR;
    if (!address && operand->kind != RP_PTX_OPERAND_VAR)
        return;
    if (operand->var->space != RP_PTX_PARAM || (is_argument && !operand->imm) ||
        rp_slot_is_kernel_param(build, frame, operand->var))
        return;
    uint32_t index;
    struct rp_slot *slot = find_slot(build, frame, operand->var, &index);
    if (!address || !unit || (slot->unit && slot->unit != unit) ||
        slot->var->bytes / unit > MOST_UNITS)
        slot->messy = true;
    slot->unit = unit;
}

static void survey_step(struct rp_builder *build, const struct rp_step *step)
{
    const struct rp_ptx_instruction *ptx = step->ptx;
    if (!ptx)
        return;
    bool access = !strcmp(ptx->op, "ld") || !strcmp(ptx->op, "st");
    uint32_t unit = access && ptx->type_count ? rp_ptx_type_bytes(ptx->type[0]) : 0;
    for (unsigned i = 0; i < ptx->operand_count; i++)
        survey_operand(build, step->frame, &ptx->operands[i], unit, !strcmp(ptx->op, "call"));
}

void rp_slot_survey(struct rp_builder *build)
{
    for (size_t i = 0; i < build->steps.count; i++)
        survey_step(build, &RP_ITEMS(build->steps, struct rp_step)[i]);
}

/* ---- calls --------------------------------------------------------------------- */

static void forget(struct rp_builder *build, uint32_t node, uint32_t frame,
                   const struct rp_ptx_var *vars, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t index;
        if (vars[i].space != RP_PTX_PARAM)
            continue;
        const struct rp_slot slot = *find_slot(build, frame, &vars[i], &index);
        unsigned bits = slot.unit < 8 ? slot.unit * 8 : 64;
        for (uint64_t at = 0; slot.unit && at + slot.unit <= slot.var->bytes; at += slot.unit) {
            uint32_t variable = rp_slot_variable(build, frame, &vars[i], (int64_t)at, slot.unit);
            if (variable == RP_NONE)
                break;
            rp_ssa_write(build, node, variable, rp_ssa_opaque(build, node, bits, bits, false));
        }
    }
}

void rp_slot_forget(struct rp_builder *build, uint32_t node, const struct rp_step *step)
{
    const struct rp_ptx_function *function = frame_at(build, step->frame)->function;
    if (step->kind == RP_STEP_CALL)
        forget(build, node, step->frame, function->returns, function->return_count);
    else if (step->kind == RP_STEP_RETURN)
        forget(build, node, step->frame, function->params, function->param_count);
}
