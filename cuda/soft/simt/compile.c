/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/simt/compile.h"
#include "cuda/soft/simt/opcodes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LOCAL_BYTES (512u << 10) /* of a thread: as much as the hardware has */

static const struct {
    const char *op;
    simt_emitter *emit;
} emitters[] = {
    {"setp", simt_emit_setp},           {"set", simt_emit_set},
    {"slct", simt_emit_slct},           {"mov", simt_emit_mov},
    {"cvta", simt_emit_cvta},           {"cvt", simt_emit_cvt},
    {"lop3", simt_emit_lop3},           {"testp", simt_emit_testp},
    {"addc", simt_emit_carry},          {"subc", simt_emit_carry},
    {"madc", simt_emit_carry},          {"isspacep", simt_emit_isspacep},
    {"ld", simt_emit_load},             {"ldu", simt_emit_load},
    {"st", simt_emit_store},            {"atom", simt_emit_atom},
    {"red", simt_emit_red},             {"prefetch", simt_emit_nothing},
    {"prefetchu", simt_emit_nothing},   {"applypriority", simt_emit_nothing},
    {"pmevent", simt_emit_nothing},     {"membar", simt_emit_fence},
    {"fence", simt_emit_fence},         {"cp", simt_emit_cp},
    {"bra", simt_emit_bra},             {"brx", simt_emit_brx},
    {"call", simt_emit_call},           {"ret", simt_emit_ret},
    {"exit", simt_emit_exit},           {"trap", simt_emit_trap},
    {"bar", simt_emit_bar},             {"barrier", simt_emit_bar},
    {"shfl", simt_emit_shfl},           {"vote", simt_emit_vote},
    {"match", simt_emit_match},         {"redux", simt_emit_redux},
    {"activemask", simt_emit_activemask}, {"elect", simt_emit_elect},
    {"nanosleep", simt_emit_nanosleep}, {"mma", simt_emit_mma},
    {"mbarrier", simt_emit_mbarrier},   {"griddepcontrol", simt_emit_nothing},
    {"wmma", simt_emit_wmma},           {"ldmatrix", simt_emit_ldmatrix},
    {"stmatrix", simt_emit_stmatrix},   {"movmatrix", simt_emit_movmatrix},
};

void simt_spell(const struct rp_ptx_instruction *instruction, char text[SIMT_SPELLING])
{
    size_t at = (size_t)snprintf(text, SIMT_SPELLING, "%s", instruction->op);
    for (uint32_t i = 0; i < instruction->modifier_count && at < SIMT_SPELLING; i++)
        at += (size_t)snprintf(text + at, SIMT_SPELLING - at, ".%s", instruction->modifiers[i]);
}

bool simt_refuse(struct compiler *c, const char *why, ...)
{
    if (c->function->refusal)
        return false;
    char reason[128], opcode[SIMT_SPELLING] = "";
    va_list args;
    va_start(args, why);
    vsnprintf(reason, sizeof reason, why, args);
    va_end(args);
    if (c->at)
        simt_spell(c->at, opcode);
    if (asprintf(&c->function->refusal, "%u:%u: %s: %s", c->at ? c->at->line : c->ptx->line,
                 c->at ? c->at->column : 1, c->at ? opcode : c->ptx->name, reason) < 0) {
        c->function->refusal = NULL;
        c->no_memory = true;
    }
    return false;
}

bool simt_modifiers_known(struct compiler *c, const char *const *known)
{
    for (uint32_t i = 0; i < c->at->modifier_count; i++) {
        const char *modifier = c->at->modifiers[i];
        bool found = false;
        for (const char *const *k = known; *k && !found; k++)
            found = !strcmp(*k, modifier);
        if (!found)
            return simt_refuse(c, "modifier .%s is not supported", modifier);
    }
    return true;
}

struct simt_op *simt_emit_always(struct compiler *c, int opcode)
{
    static struct simt_op nowhere;
    if (c->op_count == c->op_capacity) {
        const uint32_t capacity = c->op_capacity ? 2 * c->op_capacity : 64;
        struct simt_op *ops = aligned_alloc(64, capacity * sizeof *ops);
        if (!ops) {
            c->no_memory = true;
            return &nowhere;
        }
        if (c->op_count)
            memcpy(ops, c->ops, c->op_count * sizeof *ops);
        free(c->ops);
        c->ops = ops;
        c->op_capacity = capacity;
    }
    struct simt_op *op = &c->ops[c->op_count++];
    *op = (struct simt_op){.opcode = (uint16_t)opcode, .line = c->at ? c->at->line : c->ptx->line};
    return op;
}

struct simt_op *simt_emit(struct compiler *c, int opcode)
{
    if (c->guarded) {
        struct simt_op *guard = simt_emit_always(c, SIMT_GUARD);
        guard->a = c->guard_row;
        guard->imm = c->at->guard_negated ? (int64_t)SIMT_FULL : 0;
    }
    return simt_emit_always(c, opcode);
}

bool simt_emit_constant(struct compiler *c, const struct rp_ptx_operand *operand, uint32_t width,
                        uint32_t row)
{
    if (operand->kind == RP_PTX_OPERAND_REG && !c->at->guarded &&
        c->reg_writes[operand->reg] == 1 && !c->reg_row[operand->reg] &&
        !c->lives_in[operand->reg] &&
        simt_register_width(c, operand->reg) == width) {
        c->reg_row[operand->reg] = row;
        c->aliased[operand->reg] = 1;
        return true;
    }
    uint32_t target;
    if (!simt_operand_target(c, operand, width, &target))
        return false;
    struct simt_op *op = simt_emit(c, width == 2   ? SIMT_OP_mov_16
                                      : width == 4 ? SIMT_OP_mov_32
                                                   : SIMT_OP_mov_64);
    op->d = target;
    op->a = row;
    if (operand->kind == RP_PTX_OPERAND_REG && c->compact[operand->reg])
        simt_track(op);
    return true;
}

/* ---- what is written where ---------------------------------------------------- */

static void count_write(struct compiler *c, const struct rp_ptx_operand *operand)
{
    if (operand->kind == RP_PTX_OPERAND_REG && c->reg_writes[operand->reg] < 2)
        c->reg_writes[operand->reg]++;
    if (operand->paired && c->reg_writes[operand->paired - 1] < 2)
        c->reg_writes[operand->paired - 1]++;
    for (uint32_t i = 0; operand->kind == RP_PTX_OPERAND_VECTOR && i < operand->item_count; i++)
        count_write(c, &operand->items[i]);
}

/* Whatever stands first is taken for a destination: too many are safe, too few are not. */
static void find_writes(struct compiler *c)
{
    uint32_t formal = 0;
    for (size_t i = 0; i < c->ptx->return_count + c->ptx->param_count; i++) {
        const struct rp_ptx_var *var = i < c->ptx->return_count
                                           ? &c->ptx->returns[i]
                                           : &c->ptx->params[i - c->ptx->return_count];
        if (var->space == RP_PTX_REG)
            c->reg_writes[formal++] = 2;
    }
    for (size_t i = 0; i < c->ptx->code_count; i++) {
        const struct rp_ptx_instruction *at = &c->ptx->code[i];
        const uint32_t results = at->returns ? at->returns : 1;
        for (uint32_t k = 0; k < results && k < at->operand_count; k++)
            count_write(c, &at->operands[k]);
    }
}

static void lead_to(struct compiler *c, uint32_t target, bool forward)
{
    c->entries[target] = 1;
    c->joins[target] |= forward;
}

/* Labels that jumps lead to; where one from above does lanes meet. */
static void find_joins(struct compiler *c)
{
    for (size_t i = 0; i < c->ptx->code_count; i++) {
        const struct rp_ptx_instruction *at = &c->ptx->code[i];
        for (uint32_t k = 0; k < at->operand_count; k++) {
            if (at->operands[k].kind == RP_PTX_OPERAND_LABEL)
                lead_to(c, at->operands[k].target, at->operands[k].target > i);
        }
    }
    for (size_t i = 0; i < c->ptx->list_count; i++) {
        const struct rp_ptx_list *list = &c->ptx->lists[i];
        for (size_t k = 0; list->targets && k < list->item_count; k++)
            lead_to(c, list->targets[k], true);
    }
}

/* ---- layout of local memory and formals --------------------------------------- */

static bool place_local(struct compiler *c, const struct rp_ptx_var *var, uint32_t *offset)
{
    const uint64_t align = var->align ? var->align : 1;
    const uint64_t at = (c->function->local_bytes + align - 1) & ~(align - 1);
    if (var->bytes > MAX_LOCAL_BYTES || at + var->bytes > MAX_LOCAL_BYTES)
        return simt_refuse(c, "more than %u KiB of local memory", MAX_LOCAL_BYTES >> 10);
    *offset = (uint32_t)at;
    c->function->local_bytes = (uint32_t)(at + var->bytes);
    return true;
}

static bool place_formal(struct compiler *c, const struct rp_ptx_var *var, uint32_t *reg,
                         struct simt_formal *formal)
{
    formal->in_register = var->space == RP_PTX_REG;
    formal->bytes = (uint32_t)var->bytes;
    if (!formal->in_register)
        return place_local(c, var, &formal->offset);
    formal->width = (uint8_t)simt_register_width(c, *reg);
    formal->offset = simt_register_row(c, (*reg)++);
    return true;
}

static bool lay_out(struct compiler *c)
{
    struct simt_function *function = c->function;
    uint32_t reg = 0;
    for (size_t i = 0; i < c->ptx->return_count; i++) {
        if (!place_formal(c, &c->ptx->returns[i], &reg, &function->returns[i]))
            return false;
    }
    for (size_t i = 0; !c->ptx->is_entry && i < c->ptx->param_count; i++) {
        if (!place_formal(c, &c->ptx->params[i], &reg, &function->params[i]))
            return false;
    }
    for (size_t i = 0; i < c->ptx->local_count; i++) {
        const struct rp_ptx_var *var = &c->ptx->locals[i];
        if ((var->space == RP_PTX_LOCAL || var->space == RP_PTX_PARAM) &&
            !place_local(c, var, &c->local_at[i]))
            return false;
    }
    function->local_bytes = (function->local_bytes + 15) & ~15u;
    return true;
}

/* ---- instructions ------------------------------------------------------------- */

static bool writes_guard(const struct rp_ptx_instruction *at)
{
    return at->operand_count && at->operands[0].kind == RP_PTX_OPERAND_REG &&
           (at->operands[0].reg == at->guard || at->operands[0].paired == at->guard + 1);
}

/* An instruction may become several operations, each with its guard; one that overwrites
 * its own guard gets a copy of it. */
static void start_guard(struct compiler *c)
{
    c->guarded = c->at->guarded;
    if (!c->guarded)
        return;
    c->guard_row = simt_register_row(c, c->at->guard);
    if (!writes_guard(c->at))
        return;
    const uint32_t copy = simt_temporary(c, 0);
    struct simt_op *op = simt_emit_always(c, SIMT_OP_pred_mov);
    op->d = copy;
    op->a = op->b = c->guard_row;
    c->guard_row = copy;
}

static bool compile_instruction(struct compiler *c)
{
    start_guard(c);
    c->temporary_count = 0;
    c->lazy = simt_is_tracked(c, c->at) && c->compact[c->at->operands[0].reg];
    for (size_t i = 0; i < sizeof emitters / sizeof emitters[0]; i++) {
        if (!strcmp(emitters[i].op, c->at->op))
            return emitters[i].emit(c);
    }
    return simt_emit_plain(c);
}

/* One instruction, or all that lead to an element of an array. */
static bool compile_next(struct compiler *c, uint32_t *next)
{
    const uint32_t first = *next;
    c->indexed.used = 0;
    if (simt_find_indexed(c, first, &c->indexed))
        *next += c->indexed.used - 1;
    for (uint32_t i = first; i <= *next; i++)
        c->place[i] = c->op_count;
    c->at = &c->ptx->code[*next];
    c->index = (*next)++;
    if (!c->dropped[c->index] && !compile_instruction(c))
        return false;
    for (uint32_t i = first; i < *next; i++)
        simt_release_rows(c, i);
    return true;
}

static void compile_code(struct compiler *c)
{
    for (uint32_t i = 0; i < c->ptx->code_count && !c->no_memory;) {
        c->at = &c->ptx->code[i];
        if (c->joins[i])
            simt_emit_always(c, SIMT_JOIN);
        if (!compile_next(c, &i))
            break;
    }
    c->at = NULL;
    if (c->joins[c->ptx->code_count])
        simt_emit_always(c, SIMT_JOIN);
    c->place[c->ptx->code_count] = c->op_count;
    simt_emit_always(c, c->ptx->is_entry ? SIMT_EXIT : SIMT_RETURN);
}

/* Jumps hold the number of an instruction until all places are known; then the distance. */
static void settle_jumps(struct compiler *c)
{
    for (uint32_t i = 0; i < c->op_count; i++) {
        struct simt_op *op = &c->ops[i];
        if (op->opcode == SIMT_JUMP || op->opcode == SIMT_JUMP_BACK ||
            op->opcode == SIMT_BRANCH || op->opcode == SIMT_BRANCH_BACK) {
            if (op->e) /* already a distance */
                continue;
            op->target = c->place[op->target] - i;
        } else if (op->opcode == SIMT_BRANCH_INDEX) {
            int32_t *targets = (int32_t *)(uintptr_t)op->data;
            for (uint32_t k = 0; k < op->b; k++)
                targets[k] = (int32_t)(c->place[targets[k]] - i);
        }
    }
}

static bool allocate(struct compiler *c)
{
    const struct rp_ptx_function *ptx = c->ptx;
    c->place = calloc(ptx->code_count + 1, sizeof *c->place);
    c->joins = calloc(ptx->code_count + 1, 1);
    c->reg_row = calloc(ptx->reg_count + 1, sizeof *c->reg_row);
    c->reg_writes = calloc(ptx->reg_count + 1, 1);
    c->compact = calloc(ptx->reg_count + 1, 1);
    c->aliased = calloc(ptx->reg_count + 1, 1);
    c->entries = calloc(ptx->code_count + 1, 1);
    c->dropped = calloc(ptx->code_count + 1, 1);
    c->lives_in = calloc(ptx->reg_count + 1, sizeof *c->lives_in);
    c->mentions = calloc(ptx->reg_count + 1, sizeof *c->mentions);
    c->ends = calloc(ptx->reg_count + 1, sizeof *c->ends);
    c->local_at = calloc(ptx->local_count + 1, sizeof *c->local_at);
    c->function->params = calloc(ptx->param_count + 1, sizeof *c->function->params);
    c->function->returns = calloc(ptx->return_count + 1, sizeof *c->function->returns);
    return c->place && c->joins && c->reg_row && c->reg_writes && c->compact &&
           c->aliased && c->local_at && c->entries && c->dropped && c->lives_in && c->mentions &&
           c->ends &&
           c->function->params && c->function->returns;
}

static bool registers_known(struct compiler *c)
{
    for (size_t i = 0; i < c->ptx->reg_count; i++) {
        if (rp_ptx_type_bytes(c->ptx->regs[i].type) > 8)
            return simt_refuse(c, "register %s has more than 64 bits", c->ptx->regs[i].name);
    }
    return true;
}

enum rp_status simt_compile_function(struct simt_function *function)
{
    struct compiler compiler = {.module = function->module,
                                .function = function,
                                .ptx = function->ptx,
                                .frame_end = SIMT_FIRST_ROW};
    struct compiler *c = &compiler;
    c->no_memory = !allocate(c);
    if (!c->no_memory && registers_known(c)) {
        find_writes(c);
        find_joins(c);
        simt_find_compact(c);
        simt_plan_rows(c);
        if (lay_out(c)) {
            compile_code(c);
            simt_list_compact(c);
            if (!c->no_memory && !function->refusal)
                settle_jumps(c);
        }
    }
    function->place = c->place;
    free(c->joins);
    free(c->reg_row);
    free(c->reg_writes);
    free(c->compact);
    free(c->aliased);
    free(c->entries);
    free(c->dropped);
    free(c->lives_in);
    free(c->mentions);
    free(c->ends);
    free(c->local_at);
    function->ops = c->ops;
    function->op_count = c->op_count;
    function->frame_bytes = c->frame_end;
    function->site_count = c->next_site;
    function->rows = c->rows;
    function->row_count = c->row_count;
    function->callees = c->callees;
    function->callee_count = c->callee_count;
    function->shared = c->shared;
    function->shared_count = c->shared_count;
    return c->no_memory ? RP_NO_MEMORY : RP_OK;
}
