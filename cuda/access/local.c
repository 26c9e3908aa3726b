/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/local.h"

#include "cuda/access/touch.h"

enum {
    MOST_WORDS = 128,         /* of eight bytes, of all variables that are followed */
    MOST_FORGOTTEN = 1 << 15, /* words, if each store were to a place that is not known */
    MOST_STEPS = 200          /* from a value to all that it is made of */
};

static const struct rp_op *op_at(const struct rp_builder *build, uint32_t value)
{
    return &RP_ITEMS(build->ops, struct rp_op)[value];
}

static const struct rp_local_variable *variable_at(const struct rp_builder *build, uint32_t index)
{
    return &RP_ITEMS(build->local->variables, struct rp_local_variable)[index];
}

/* ---- which there are -------------------------------------------------------------- */

static void add_variable(struct rp_builder *build, struct rp_local *local, uint32_t frame,
                         const struct rp_ptx_var *var)
{
    struct rp_local_variable *out = rp_build_push(build, &local->variables, sizeof *out);
    *out = (struct rp_local_variable){.frame = frame, .var = var, .first = RP_NONE};
    if (var->bytes > 8 * (uint64_t)(MOST_WORDS - local->words))
        return;
    uint32_t words = (uint32_t)(var->bytes + 7) / 8;
    out->first = build->variable_count;
    out->count = RP_LOCAL_PARTS * words;
    build->variable_count += out->count;
    local->words += words;
}

static void find_variables(struct rp_builder *build, struct rp_local *local)
{
    for (uint32_t i = 0; i < build->frames.count; i++) {
        const struct rp_ptx_function *function =
            RP_ITEMS(build->frames, struct rp_inline_frame)[i].function;
        for (size_t j = 0; j < function->local_count; j++)
            if (function->locals[j].space == RP_PTX_LOCAL)
                add_variable(build, local, i, &function->locals[j]);
    }
}

static bool may_store(const struct rp_step *step)
{
    if (step->kind != RP_STEP_PLAIN ||
        (step->ptx->space != RP_PTX_LOCAL && step->ptx->space != RP_PTX_GENERIC))
        return false;
    enum rp_opcode_class class_ = rp_opcode_class(step->ptx);
    return class_ == RP_CLASS_STORE || class_ == RP_CLASS_ATOMIC || class_ == RP_CLASS_REDUCE;
}

static bool is_too_much(const struct rp_builder *build, const struct rp_local *local)
{
    uint64_t stores = 0;
    for (size_t i = 0; i < build->steps.count; i++)
        stores += may_store(&RP_ITEMS(build->steps, struct rp_step)[i]);
    return stores * local->words > MOST_FORGOTTEN;
}

void rp_local_survey(struct rp_builder *build)
{
    struct rp_local local = {0};
    find_variables(build, &local);
    if (!local.words || is_too_much(build, &local) || !rp_local_hold(build, &local))
        return;
    build->local = rp_build_alloc(build, sizeof *build->local);
    *build->local = local;
}

uint32_t rp_local_find(const struct rp_builder *build, uint32_t frame,
                       const struct rp_ptx_var *var)
{
    for (uint32_t i = 0; build->local && i < build->local->variables.count; i++)
        if (variable_at(build, i)->frame == frame && variable_at(build, i)->var == var)
            return i;
    return RP_NONE;
}

/* ---- where an access is ----------------------------------------------------------- */

static bool is_placed(struct rp_builder *build, uint32_t value, struct rp_place *out)
{
    return rp_place_find(build, value, out) && out->base != RP_NONE &&
           op_at(build, out->base)->imm == RP_NEAR_LOCAL;
}

bool rp_local_names(struct rp_builder *build, uint32_t value)
{
    struct rp_place place;
    return build->local && is_placed(build, value, &place);
}

/* The value may be made of an address in local memory; who runs out of steps can't tell. */
static bool may_lead_there(struct rp_builder *build, uint32_t value, unsigned *steps)
{
    const struct rp_op op = *op_at(build, value);
    const uint32_t operands[3] = {op.a, op.b, op.c};
    bool used[3];
    switch ((int)op.kind) {
    case RP_OP_CONST: case RP_OP_PARAM: case RP_OP_SREG: case RP_OP_ROOT: case RP_OP_MAP:
        return false;
    case RP_OP_NEAR: return op.imm != RP_NEAR_PARAM;
    case RP_OP_LOAD: return build->local->memory_holds || build->local->params_hold;
    default: break;
    }
    if (++*steps > MOST_STEPS || !rp_op_operands(&op, used))
        return true;
    for (int i = 0; i < 3; i++)
        if (used[i] && may_lead_there(build, operands[i], steps))
            return true;
    return false;
}

static bool may_be_local(const struct rp_translation *at, const struct rp_ptx_operand *address)
{
    if (at->ptx->space == RP_PTX_LOCAL)
        return true;
    if (at->ptx->space != RP_PTX_GENERIC)
        return false;
    const struct rp_inline_frame *frames = at->build->frames.items;
    if (address->kind != RP_PTX_OPERAND_ADDRESS)
        return true;
    if (address->base == RP_PTX_OPERAND_REG)
        return at->build->local->holds[frames[at->step->frame].first_reg + address->reg];
    return address->base != RP_PTX_OPERAND_VAR || address->var->space == RP_PTX_LOCAL;
}

enum rp_where rp_local_locate(const struct rp_translation *at,
                              const struct rp_ptx_operand *address, struct rp_place *out)
{
    int64_t offset;
    if (!at->build->local || !may_be_local(at, address))
        return RP_ELSEWHERE;
    if (address->kind != RP_PTX_OPERAND_ADDRESS || address->item_count)
        return RP_ANYWHERE;
    uint32_t value = rp_touch_address(at, address, &offset);
    if (is_placed(at->build, value, out))
        return __builtin_add_overflow(out->offset, offset, &out->offset) ? RP_ANYWHERE : RP_THERE;
    unsigned steps = 0;
    bool is_far = at->ptx->space == RP_PTX_GENERIC && !may_lead_there(at->build, value, &steps);
    return is_far ? RP_ELSEWHERE : RP_ANYWHERE;
}
