/* SPDX-License-Identifier: Apache-2.0 */
/* Where addresses in local memory may get to: registers, by name, in whatever order instructions
 * come; memory, as one; parameters of functions, as one. What is computed of one may be one. */
#include "cuda/access/local.h"

enum { MOST_ROUNDS = 32 }; /* over all instructions, until no more is found */

struct holding {
    struct rp_builder *build;
    struct rp_local *local;
    bool changed, lost;
};

static bool is_local(const struct rp_ptx_var *var)
{
    return var->space == RP_PTX_LOCAL;
}

static uint32_t first_register(const struct holding *at, uint32_t frame)
{
    return RP_ITEMS(at->build->frames, struct rp_inline_frame)[frame].first_reg;
}

static bool operand_holds(const struct holding *at, uint32_t frame,
                          const struct rp_ptx_operand *operand)
{
    bool by_address = operand->kind == RP_PTX_OPERAND_ADDRESS;
    enum rp_ptx_operand_kind kind = by_address ? operand->base : operand->kind;
    for (uint32_t i = 0; i < operand->item_count; i++)
        if (operand_holds(at, frame, &operand->items[i]))
            return true;
    if (kind == RP_PTX_OPERAND_REG)
        return at->local->holds[first_register(at, frame) + operand->reg];
    return kind == RP_PTX_OPERAND_VAR && is_local(operand->var);
}

static bool any_holds(const struct holding *at, const struct rp_step *step, unsigned first)
{
    for (unsigned i = first; i < step->ptx->operand_count; i++)
        if (operand_holds(at, step->frame, &step->ptx->operands[i]))
            return true;
    return false;
}

static void set(struct holding *at, bool *holds, bool more)
{
    at->changed |= more && !*holds;
    *holds |= more;
}

static void set_operand(struct holding *at, uint32_t frame, const struct rp_ptx_operand *to)
{
    bool *holds = at->local->holds + first_register(at, frame);
    for (uint32_t i = 0; i < to->item_count; i++)
        set_operand(at, frame, &to->items[i]);
    if (to->kind == RP_PTX_OPERAND_REG)
        set(at, &holds[to->reg], true);
    if (to->paired)
        set(at, &holds[to->paired - 1], true);
}

/* A parameter or result of a call, which may be a register or not. */
static void follow_copy(struct holding *at, const struct rp_step *step)
{
    bool holds = step->operand ? operand_holds(at, step->from, step->operand)
                               : at->local->params_hold || at->local->holds[step->source];
    set(at, &at->local->holds[step->variable], holds);
    set(at, &at->local->params_hold, holds);
}

static bool load_holds(const struct holding *at, const struct rp_step *step)
{
    const struct rp_ptx_operand *from = &step->ptx->operands[1];
    if (step->ptx->space != RP_PTX_PARAM)
        return at->local->memory_holds;
    bool by_name = from->kind == RP_PTX_OPERAND_ADDRESS && from->base == RP_PTX_OPERAND_VAR;
    return at->local->params_hold &&
           !(by_name && rp_slot_is_kernel_param(at->build, step->frame, from->var));
}

/* Whether the result of the step may be made of such an address. */
static bool result_holds(struct holding *at, const struct rp_step *step)
{
    const struct rp_ptx_instruction *ptx = step->ptx;
    struct rp_local *local = at->local;
    enum rp_opcode_class class_ = rp_opcode_class(ptx);
    switch ((int)class_) {
    case RP_CLASS_SYNC: case RP_CLASS_FLOW:
        return false;
    case RP_CLASS_LOAD:
        return ptx->operand_count > 1 && load_holds(at, step);
    case RP_CLASS_STORE: case RP_CLASS_REDUCE:
        set(at, ptx->space == RP_PTX_PARAM ? &local->params_hold : &local->memory_holds,
            any_holds(at, step, 1));
        return false;
    case RP_CLASS_ATOMIC:
        set(at, &local->memory_holds, any_holds(at, step, 2));
        return local->memory_holds;
    case RP_CLASS_CVTA:
        return ptx->space == RP_PTX_LOCAL || any_holds(at, step, 1);
    case RP_CLASS_UNKNOWN: case RP_CLASS_COPY_ASYNC: case RP_CLASS_BULK: case RP_CLASS_TEXTURE:
    case RP_CLASS_MATRIX_LOAD: case RP_CLASS_MATRIX_STORE: case RP_CLASS_SHARED:
    case RP_CLASS_EVERYTHING:
        at->lost |= any_holds(at, step, 0);
        return local->memory_holds;
    default:
        return any_holds(at, step, 1);
    }
}

bool rp_local_hold(struct rp_builder *build, struct rp_local *local)
{
    struct holding at = {.build = build, .local = local};
    unsigned rounds = 0;
    local->holds = rp_build_alloc(build, build->variable_count + 1);
    do {
        at.changed = false;
        at.lost = rounds++ == MOST_ROUNDS;
        for (size_t i = 0; i < build->steps.count && !at.lost; i++) {
            const struct rp_step *step = &RP_ITEMS(build->steps, struct rp_step)[i];
            if (step->kind == RP_STEP_COPY)
                follow_copy(&at, step);
            else if (step->kind == RP_STEP_PLAIN && step->ptx->operand_count &&
                     result_holds(&at, step))
                set_operand(&at, step->frame, &step->ptx->operands[0]);
        }
    } while (at.changed && !at.lost);
    return !at.lost;
}
