/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a kernel does the same each time that it is given the same. */
#include "cuda/access/build.h"

#include <string.h>

static const char *const words[] = {
    [RP_VARIES_NOT] = NULL,
    [RP_VARIES_PLACE] = "a kernel of it reads a clock, or where on the device it runs",
    [RP_VARIES_ORDER] = "what a kernel of it writes depends on the order of its atomic operations",
    [RP_VARIES_DRIVER] = "a kernel of it allocates, or uses what printing returns",
};

const char *rp_proof_varies(const struct rp_proof *proof)
{
    return words[proof->varies];
}

static bool reads_place(const struct rp_ptx_operand *operand)
{
    for (uint32_t i = 0; i < operand->item_count; i++)
        if (reads_place(&operand->items[i]))
            return true;
    return operand->kind == RP_PTX_OPERAND_SREG &&
           ((operand->sreg >= RP_PTX_WARPID && operand->sreg <= RP_PTX_GLOBALTIMER_HI) ||
            operand->sreg >= RP_PTX_ENVREG1);
}

static bool names(const struct rp_ptx_operand *operand, uint32_t reg)
{
    for (uint32_t i = 0; i < operand->item_count; i++)
        if (names(&operand->items[i], reg))
            return true;
    bool is_reg = operand->kind == RP_PTX_OPERAND_REG ||
                  (operand->kind == RP_PTX_OPERAND_ADDRESS && operand->base == RP_PTX_OPERAND_REG);
    return is_reg && operand->reg == reg;
}

/* Another instruction names what `ptx` returns: it may well read it. */
static bool is_used(const struct rp_ptx_function *function, const struct rp_ptx_instruction *ptx)
{
    const struct rp_ptx_operand *result = &ptx->operands[0];
    if (!ptx->operand_count || result->kind != RP_PTX_OPERAND_REG)
        return ptx->operand_count && result->kind != RP_PTX_OPERAND_SINK;
    for (size_t i = 0; i < function->code_count; i++) {
        const struct rp_ptx_instruction *other = &function->code[i];
        if (other->guarded && other->guard == result->reg)
            return true;
        for (unsigned j = other == ptx; j < other->operand_count; j++)
            if (names(&other->operands[j], result->reg))
                return true;
    }
    return false;
}

static bool is_of(const struct rp_ptx_operand *operand, const struct rp_ptx_var *var)
{
    return operand->var == var && (operand->kind == RP_PTX_OPERAND_VAR ||
                                   operand->kind == RP_PTX_OPERAND_ADDRESS);
}

/* What the call returns by `var` is loaded from there to where it is used. */
static bool is_return_used(const struct rp_ptx_function *function,
                           const struct rp_ptx_instruction *call, const struct rp_ptx_var *var)
{
    for (size_t i = 0; i < function->code_count; i++) {
        const struct rp_ptx_instruction *other = &function->code[i];
        bool is_loaded = !strcmp(other->op, "ld") && other->operand_count == 2;
        for (unsigned j = 0; other != call && j < other->operand_count; j++)
            if (is_of(&other->operands[j], var) && !(is_loaded && !is_used(function, other)))
                return true;
    }
    return false;
}

/* The driver gives out memory as it likes, and says how much it could print. */
static bool depends_on_driver(const struct rp_ptx_function *function,
                              const struct rp_ptx_instruction *call)
{
    const struct rp_ptx_operand *callee = &call->operands[call->returns];
    if (call->operand_count <= call->returns || callee->kind != RP_PTX_OPERAND_FUNCTION ||
        !callee->name)
        return false;
    if (!strcmp(callee->name, "malloc") || !strcmp(callee->name, "free"))
        return true;
    if (strcmp(callee->name, "vprintf") != 0 || !call->returns)
        return false;
    bool is_by_var = call->operands[0].kind == RP_PTX_OPERAND_VAR;
    return is_by_var ? is_return_used(function, call, call->operands[0].var)
                     : is_used(function, call);
}

static bool is_float(const struct rp_ptx_instruction *ptx)
{
    for (unsigned i = 0; i < ptx->modifier_count; i++)
        if (ptx->modifiers[i][0] == 'f' || !strncmp(ptx->modifiers[i], "bf16", 4))
            return true;
    return false;
}

/* Threads come in any order: so do what they get back, sums of floats, and who is last. */
static bool depends_on_order(const struct rp_ptx_function *function,
                             const struct rp_ptx_instruction *ptx)
{
    bool is_atomic = !strcmp(ptx->op, "atom");
    bool reduces = !strcmp(ptx->op, "red") ||
                   (!strcmp(ptx->op, "cp") && rp_ptx_has(ptx, "reduce"));
    if (!is_atomic && !reduces)
        return false;
    return is_float(ptx) || rp_ptx_has(ptx, "exch") || rp_ptx_has(ptx, "cas") ||
           (is_atomic && is_used(function, ptx));
}

static enum rp_varies instruction_varies(const struct rp_ptx_function *function,
                                         const struct rp_ptx_instruction *ptx)
{
    for (unsigned i = 0; i < ptx->operand_count; i++)
        if (reads_place(&ptx->operands[i]))
            return RP_VARIES_PLACE;
    if (!strcmp(ptx->op, "call") && depends_on_driver(function, ptx))
        return RP_VARIES_DRIVER;
    return depends_on_order(function, ptx) ? RP_VARIES_ORDER : RP_VARIES_NOT;
}

static enum rp_varies function_varies(const struct rp_ptx_function *function)
{
    enum rp_varies varies = RP_VARIES_NOT;
    for (size_t i = 0; !varies && i < function->code_count; i++)
        varies = instruction_varies(function, &function->code[i]);
    return varies;
}

/* Functions that it could call count, whether it does or not. */
enum rp_varies rp_varies_find(const struct rp_ptx_module *module,
                              const struct rp_ptx_function *entry)
{
    enum rp_varies varies = function_varies(entry);
    for (size_t i = 0; !varies && i < module->function_count; i++)
        if (!module->functions[i].is_entry)
            varies = function_varies(&module->functions[i]);
    return varies;
}
