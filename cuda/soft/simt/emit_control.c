/* SPDX-License-Identifier: Apache-2.0 */
/* Jumps and calls. */
#include "cuda/soft/simt/collective.h"
#include "cuda/soft/simt/compile.h"
#include "cuda/soft/simt/opcodes.h"

#include <stdlib.h>
#include <string.h>

/* ---- guards of control flow --------------------------------------------------- */

uint32_t simt_branch_around(struct compiler *c)
{
    if (!c->guarded)
        return UINT32_MAX;
    const uint32_t at = c->op_count;
    struct simt_op *op = simt_emit_always(c, SIMT_BRANCH);
    op->a = c->guard_row;
    op->flags = !c->at->guard_negated;
    op->e = 1;
    c->guarded = false;
    return at;
}

void simt_end_around(struct compiler *c, uint32_t branch)
{
    if (branch == UINT32_MAX || c->no_memory)
        return;
    simt_emit_always(c, SIMT_JOIN);
    c->ops[branch].target = c->op_count - branch;
}

/* ---- jumps -------------------------------------------------------------------- */

/* Does the loop look as if it waited for another thread? */
static bool spins(const struct compiler *c, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i <= to; i++) {
        const struct rp_ptx_instruction *at = &c->ptx->code[i];
        if (!strcmp(at->op, "atom") || !strcmp(at->op, "nanosleep") ||
            !strcmp(at->op, "mbarrier") || rp_ptx_has(at, "volatile") ||
            rp_ptx_has(at, "relaxed") || rp_ptx_has(at, "acquire"))
            return true;
    }
    return false;
}

bool simt_emit_bra(struct compiler *c)
{
    static const char *const known[] = {"uni", NULL};
    const struct rp_ptx_instruction *at = c->at;
    if (!simt_modifiers_known(c, known))
        return false;
    if (at->operand_count != 1 || at->operands[0].kind != RP_PTX_OPERAND_LABEL)
        return simt_refuse(c, "a target that is no label");
    const uint32_t target = at->operands[0].target;
    const bool back = target <= c->index;
    struct simt_op *op = simt_emit_always(c, c->guarded ? (back ? SIMT_BRANCH_BACK : SIMT_BRANCH)
                                                        : (back ? SIMT_JUMP_BACK : SIMT_JUMP));
    op->target = target;
    if (c->guarded) {
        op->a = c->guard_row;
        op->flags = at->guard_negated;
    }
    if (back)
        op->imm = spins(c, target, c->index) ? SIMT_SPIN_COST : 0;
    return true;
}

/* brx.idx index, list */
bool simt_emit_brx(struct compiler *c)
{
    static const char *const known[] = {"idx", "uni", NULL};
    const struct rp_ptx_instruction *at = c->at;
    const struct rp_ptx_list *list = NULL;
    uint32_t index;
    if (!simt_modifiers_known(c, known))
        return false;
    if (at->operand_count != 2 || !at->operands[1].name)
        return simt_refuse(c, "these operands");
    for (size_t i = 0; i < c->ptx->list_count; i++) {
        if (!strcmp(c->ptx->lists[i].name, at->operands[1].name) && c->ptx->lists[i].targets)
            list = &c->ptx->lists[i];
    }
    if (!list)
        return simt_refuse(c, "no list of targets named %s", at->operands[1].name);
    if (!simt_operand_value(c, &at->operands[0], 4, RP_PTX_U32, &index))
        return false;
    const uint32_t around = simt_branch_around(c);
    int32_t *targets = malloc((list->item_count + 1) * sizeof *targets);
    if (!targets) {
        c->no_memory = true;
        return false;
    }
    for (size_t k = 0; k < list->item_count; k++)
        targets[k] = (int32_t)list->targets[k];
    struct simt_op *op = simt_emit_always(c, SIMT_BRANCH_INDEX);
    op->a = index;
    op->b = (uint32_t)list->item_count;
    op->data = targets;
    simt_end_around(c, around);
    return true;
}

static bool emit_alone(struct compiler *c, int opcode)
{
    static const char *const known[] = {"uni", NULL};
    if (!simt_modifiers_known(c, known))
        return false;
    if (c->at->operand_count)
        return simt_refuse(c, "operands");
    const uint32_t around = simt_branch_around(c);
    simt_emit_always(c, opcode);
    simt_end_around(c, around);
    return true;
}

bool simt_emit_ret(struct compiler *c)
{
    return emit_alone(c, c->ptx->is_entry ? SIMT_EXIT : SIMT_RETURN);
}

bool simt_emit_exit(struct compiler *c)
{
    return emit_alone(c, SIMT_EXIT);
}

bool simt_emit_trap(struct compiler *c)
{
    return emit_alone(c, SIMT_TRAP);
}

/* The others go on before the sleepers do; time does not matter. */
bool simt_emit_nanosleep(struct compiler *c)
{
    uint32_t row;
    if (c->at->operand_count != 1 ||
        !simt_operand_value(c, &c->at->operands[0], 4, RP_PTX_U32, &row))
        return simt_refuse(c, "these operands");
    const uint32_t around = simt_branch_around(c);
    simt_emit_always(c, SIMT_YIELD);
    simt_end_around(c, around);
    return true;
}

/* ---- calls -------------------------------------------------------------------- */

static bool read_actual(struct compiler *c, const struct rp_ptx_operand *operand, bool is_result,
                        const struct rp_ptx_var *formal, struct simt_actual *out)
{
    if (operand->kind == RP_PTX_OPERAND_VAR && operand->var->space == RP_PTX_PARAM) {
        struct simt_row row;
        if (!simt_operand_variable(c, operand->var, operand->imm, &row))
            return false;
        if (row.fill != SIMT_FILL_LOCAL)
            return simt_refuse(c, "a kernel parameter as an argument");
        out->offset = (uint32_t)row.value;
        out->bytes = (uint32_t)operand->var->bytes;
        return true;
    }
    out->in_register = true;
    const bool predicate = operand->kind == RP_PTX_OPERAND_REG &&
                           c->ptx->regs[operand->reg].type == RP_PTX_PRED;
    uint32_t width = 0;
    bool ok;
    if (is_result && predicate)
        ok = simt_operand_target(c, operand, 0, &out->offset);
    else if (is_result)
        ok = simt_operand_target_any(c, operand, &out->offset, &width);
    else if (predicate)
        ok = simt_operand_predicate(c, operand, &out->offset);
    else
        ok = simt_operand_any(c, operand, formal ? rp_ptx_type_bytes(formal->type) : 4,
                              formal ? formal->type : RP_PTX_NONE, &out->offset, &width);
    out->width = (uint8_t)width;
    return ok;
}

static const struct simt_function *find_callee(const struct compiler *c, const char *name,
                                               uint32_t *index)
{
    for (uint32_t i = 0; i < c->module->function_count; i++) {
        if (!strcmp(c->module->ptx->functions[i].name, name)) {
            *index = i;
            return &c->module->functions[i];
        }
    }
    return NULL;
}

static bool fits(struct compiler *c, const struct rp_ptx_var *formal,
                 const struct simt_actual *actual)
{
    const bool in_register = formal->space == RP_PTX_REG;
    uint32_t width = rp_ptx_type_bytes(formal->type);
    width = width == 1 ? 2 : width;
    if (in_register != actual->in_register || (in_register && width != actual->width))
        return simt_refuse(c, "an argument that does not fit %s", formal->name);
    return true;
}

/* vprintf and the like: the device library's hooks into the driver. */
static bool emit_builtin(struct compiler *c, const char *name, const struct simt_actual *actuals,
                         uint32_t returns, uint32_t arguments)
{
    const bool is_print = !strcmp(name, "vprintf"), is_assert = !strcmp(name, "__assertfail");
    if (!is_print && !is_assert)
        return simt_refuse(c, "call of %s, which has no body", name);
    const uint32_t wanted = is_print ? 2 : 5;
    if (arguments != wanted || returns > 1)
        return simt_refuse(c, "arguments of %s", name);
    for (uint32_t k = 0; k < returns + arguments; k++) {
        if (actuals[k].in_register)
            return simt_refuse(c, "arguments of %s", name);
    }
    const struct simt_actual *args = actuals + returns;
    struct simt_op *op = simt_emit(c, is_print ? SIMT_OP_vprintf : SIMT_OP_assertfail);
    op->a = args[0].offset;
    op->b = args[1].offset;
    op->c = args[2 < wanted ? 2 : 0].offset;
    op->e = args[3 < wanted ? 3 : 0].offset;
    op->d = returns ? actuals[0].offset : UINT32_MAX;
    op->target = c->next_site++;
    return true;
}

static bool add_callee(struct compiler *c, uint32_t index)
{
    if (c->callee_count == c->callee_capacity) {
        const uint32_t capacity = c->callee_capacity ? 2 * c->callee_capacity : 8;
        uint32_t *callees = realloc(c->callees, capacity * sizeof *callees);
        if (!callees) {
            c->no_memory = true;
            return false;
        }
        c->callees = callees;
        c->callee_capacity = capacity;
    }
    c->callees[c->callee_count++] = index;
    return true;
}

/* One block: the call with its lists behind it. */
static struct simt_call *make_call(const struct simt_actual *actuals, uint32_t returns,
                                   uint32_t arguments)
{
    const size_t count = returns + arguments;
    struct simt_call *call = calloc(1, sizeof *call + count * sizeof *actuals);
    if (!call)
        return NULL;
    call->returns = (struct simt_actual *)(call + 1);
    call->args = call->returns + returns;
    call->return_count = returns;
    call->arg_count = arguments;
    memcpy(call->returns, actuals, count * sizeof *actuals);
    return call;
}

static bool emit_call_of(struct compiler *c, const struct simt_actual *actuals, uint32_t returns,
                         uint32_t arguments)
{
    const struct rp_ptx_instruction *at = c->at;
    const struct rp_ptx_operand *callee = &at->operands[returns];
    const struct simt_function *function = NULL;
    uint32_t index = 0, pointer = 0;
    if (callee->kind == RP_PTX_OPERAND_FUNCTION) {
        function = find_callee(c, callee->name, &index);
        if (!function)
            return simt_refuse(c, "call of %s, which is not declared", callee->name);
        if (!function->ptx->is_defined)
            return emit_builtin(c, callee->name, actuals, returns, arguments);
        if (function->ptx->is_entry || function->ptx->param_count != arguments ||
            function->ptx->return_count != returns)
            return simt_refuse(c, "arguments of %s", callee->name);
        for (uint32_t k = 0; k < returns; k++) {
            if (!fits(c, &function->ptx->returns[k], &actuals[k]))
                return false;
        }
        for (uint32_t k = 0; k < arguments; k++) {
            if (!fits(c, &function->ptx->params[k], &actuals[returns + k]))
                return false;
        }
        if (!add_callee(c, index))
            return false;
    } else {
        if (!simt_operand_value(c, callee, 8, RP_PTX_U64, &pointer))
            return false;
        c->function->calls_unknown = true;
    }
    struct simt_call *call = make_call(actuals, returns, arguments);
    if (!call) {
        c->no_memory = true;
        return false;
    }
    call->callee = function;
    call->pointer = pointer;
    const uint32_t around = simt_branch_around(c);
    simt_emit_always(c, SIMT_CALL)->data = call;
    /* Lanes come back one group after the other. */
    simt_emit_always(c, SIMT_JOIN);
    simt_end_around(c, around);
    return true;
}

bool simt_emit_call(struct compiler *c)
{
    static const char *const known[] = {"uni", NULL};
    const struct rp_ptx_instruction *at = c->at;
    if (!simt_modifiers_known(c, known))
        return false;
    const uint32_t returns = at->returns;
    if (at->operand_count <= returns)
        return simt_refuse(c, "no callee");
    uint32_t arguments = at->operand_count - returns - 1u;
    if (arguments && at->operands[at->operand_count - 1].kind == RP_PTX_OPERAND_FUNCTION)
        arguments--; /* the prototype */
    const struct rp_ptx_function *callee = NULL;
    uint32_t index;
    if (at->operands[returns].kind == RP_PTX_OPERAND_FUNCTION) {
        const struct simt_function *found = find_callee(c, at->operands[returns].name, &index);
        callee = found ? found->ptx : NULL;
    }
    struct simt_actual actuals[256] = {0};
    for (uint32_t k = 0; k < returns; k++) {
        if (!read_actual(c, &at->operands[k], true, NULL, &actuals[k]))
            return false;
    }
    for (uint32_t k = 0; k < arguments; k++) {
        const struct rp_ptx_var *formal =
            callee && k < callee->param_count ? &callee->params[k] : NULL;
        if (!read_actual(c, &at->operands[returns + 1 + k], false, formal, &actuals[returns + k]))
            return false;
    }
    return emit_call_of(c, actuals, returns, arguments);
}
