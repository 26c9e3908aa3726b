/* SPDX-License-Identifier: Apache-2.0 */
/* From PTX operands to rows. */
#include "cuda/soft/simt/compact.h"
#include "cuda/soft/simt/compile.h"
#include "cuda/soft/simt/opcodes.h"

#include <stdlib.h>
#include <string.h>

#define PREDICATES_OF_A_ROW 16
#define MAX_FRAME (16u << 20)

uint32_t simt_new_row(struct compiler *c, uint32_t width)
{
    if (width == 0) {
        if (c->predicate_end % (4 * PREDICATES_OF_A_ROW) == 0) {
            c->predicate_end = c->frame_end;
            c->frame_end += 4 * PREDICATES_OF_A_ROW;
        }
        const uint32_t row = c->predicate_end;
        c->predicate_end += 4;
        return row;
    }
    const uint32_t start = c->frame_end, row = start + (width >= 4 ? SIMT_SLOT_BYTES : 0);
    c->frame_end = row + width * SIMT_LANES;
    if (c->frame_end > MAX_FRAME) {
        c->frame_end = start;
        simt_refuse(c, "the function needs too many registers");
        return SIMT_SINK_ROW;
    }
    return row;
}

/* A handful of rows of each width, used again in every instruction. */
uint32_t simt_temporary(struct compiler *c, uint32_t width)
{
    static const uint32_t slots = sizeof c->temporaries / sizeof c->temporaries[0];
    const uint32_t slot = c->temporary_count++ % slots;
    if (width == 0)
        return simt_new_row(c, 0);
    if (!c->temporaries[slot])
        c->temporaries[slot] = simt_new_row(c, 8);
    return c->temporaries[slot];
}

static bool same_row(const struct simt_row *a, const struct simt_row *b)
{
    return a->fill != SIMT_FILL_REGISTER && a->width == b->width && a->fill == b->fill &&
           a->bytes == b->bytes && a->sign == b->sign && a->symbol == b->symbol &&
           a->value == b->value;
}

static bool depends_on_block(const struct simt_row *row)
{
    return row->fill == SIMT_FILL_SPECIAL &&
           (row->symbol == RP_PTX_CTAID_X || row->symbol == RP_PTX_CTAID_Y ||
            row->symbol == RP_PTX_CTAID_Z || row->symbol == RP_PTX_SMID);
}

static void add_row(struct compiler *c, const struct simt_row *row)
{
    if (c->row_count == c->row_capacity) {
        const uint32_t capacity = c->row_capacity ? 2 * c->row_capacity : 32;
        struct simt_row *rows = realloc(c->rows, capacity * sizeof *rows);
        if (!rows) {
            c->no_memory = true;
            return;
        }
        c->rows = rows;
        c->row_capacity = capacity;
    }
    c->rows[c->row_count++] = *row;
}

uint32_t simt_constant_row(struct compiler *c, struct simt_row row)
{
    for (uint32_t i = 0; i < c->row_count; i++) {
        if (same_row(&c->rows[i], &row))
            return c->rows[i].offset;
    }
    row.offset = simt_new_row(c, row.width);
    row.per_block = depends_on_block(&row);
    add_row(c, &row);
    return row.offset;
}

void simt_list_compact(struct compiler *c)
{
    for (uint32_t i = 0; i < c->ptx->reg_count; i++) {
        if (!c->compact[i] || c->aliased[i] || !c->reg_row[i])
            continue;
        const struct simt_row row = {
            .offset = c->reg_row[i], .fill = SIMT_FILL_REGISTER, .per_block = true};
        add_row(c, &row);
    }
}

uint32_t simt_value_row(struct compiler *c, uint32_t width, int64_t value)
{
    if (width == 2)
        value &= 0xffff;
    else if (width == 4)
        value &= 0xffffffff;
    return simt_constant_row(
        c, (struct simt_row){.width = (uint8_t)width, .fill = SIMT_FILL_VALUE, .value = value});
}

uint32_t simt_register_width(const struct compiler *c, uint32_t reg)
{
    const uint32_t bytes = rp_ptx_type_bytes(c->ptx->regs[reg].type);
    return bytes == 1 ? 2 : bytes;
}

/* One that others have left, for a register that will leave it too. */
static uint32_t spare_row(struct compiler *c, uint32_t reg, uint32_t width)
{
    struct simt_spare *spare = &c->spare[width == 8];
    return c->ends[reg] && width >= 4 && spare->count ? spare->rows[--spare->count] : 0;
}

uint32_t simt_register_row(struct compiler *c, uint32_t reg)
{
    reg = c->lives_in[reg] ? c->lives_in[reg] - 1 : reg;
    if (!c->reg_row[reg]) {
        const uint32_t width = simt_register_width(c, reg), spare = spare_row(c, reg, width);
        c->reg_row[reg] = spare ? spare : simt_new_row(c, width);
    }
    return c->reg_row[reg];
}

/* ---- constants ---------------------------------------------------------------- */

static bool is_real(enum rp_ptx_type type)
{
    return type == RP_PTX_F32 || type == RP_PTX_F64;
}

static bool immediate_row(struct compiler *c, const struct rp_ptx_operand *operand, uint32_t width,
                          enum rp_ptx_type type, uint32_t *row)
{
    int64_t bits = operand->imm;
    if (!operand->is_float && is_real(type))
        return simt_refuse(c, "an integer literal where a float is needed");
    if (operand->is_float && !operand->is_f32) {
        double value;
        memcpy(&value, &operand->imm, sizeof value);
        if (width == 2)
            return simt_refuse(c, "a float literal for a 16-bit register");
        if (width == 4) {
            const float narrow = (float)value;
            uint32_t pattern;
            memcpy(&pattern, &narrow, sizeof pattern);
            bits = pattern;
        }
    } else if (operand->is_f32 && width == 8) {
        if (type == RP_PTX_F64)
            return simt_refuse(c, "a 32-bit float literal where 64 bits are needed");
    }
    *row = simt_value_row(c, width, bits);
    return true;
}

static int clock_opcode(enum rp_ptx_sreg sreg)
{
    switch ((int)sreg) {
    case RP_PTX_CLOCK: return SIMT_OP_clock32;
    case RP_PTX_CLOCK_HI: return SIMT_OP_clock32_hi;
    case RP_PTX_CLOCK64: return SIMT_OP_clock64;
    case RP_PTX_GLOBALTIMER: return SIMT_OP_timer64;
    case RP_PTX_GLOBALTIMER_LO: return SIMT_OP_timer32;
    case RP_PTX_GLOBALTIMER_HI: return SIMT_OP_timer32_hi;
    default: return -1;
    }
}

static uint32_t special_width(enum rp_ptx_sreg sreg)
{
    return sreg == RP_PTX_CLOCK64 || sreg == RP_PTX_GLOBALTIMER || sreg == RP_PTX_GRIDID ? 8 : 4;
}

static bool special_row(struct compiler *c, const struct rp_ptx_operand *operand, uint32_t width,
                        uint32_t *row)
{
    if (operand->sreg == RP_PTX_SREG_OTHER)
        return simt_refuse(c, "special register %s", operand->name ? operand->name : "?");
    const int clock = clock_opcode(operand->sreg);
    if (clock >= 0) {
        if (width != special_width(operand->sreg))
            return simt_refuse(c, "special register of another size");
        *row = simt_temporary(c, 8);
        simt_emit_always(c, clock)->d = *row;
        return true;
    }
    *row = simt_constant_row(c, (struct simt_row){.width = (uint8_t)width,
                                                  .fill = SIMT_FILL_SPECIAL,
                                                  .symbol = operand->sreg});
    return true;
}

static bool add_index(struct compiler *c, uint32_t **list, uint32_t *count, uint32_t *capacity,
                      uint32_t value)
{
    for (uint32_t i = 0; i < *count; i++) {
        if ((*list)[i] == value)
            return true;
    }
    if (*count == *capacity) {
        const uint32_t grown = *capacity ? 2 * *capacity : 8;
        uint32_t *bigger = realloc(*list, grown * sizeof *bigger);
        if (!bigger) {
            c->no_memory = true;
            return false;
        }
        *list = bigger;
        *capacity = grown;
    }
    (*list)[(*count)++] = value;
    return true;
}

static bool index_of(const struct rp_ptx_var *var, const struct rp_ptx_var *array, size_t count,
                     size_t *index)
{
    for (size_t i = 0; i < count; i++) {
        if (&array[i] == var) {
            *index = i;
            return true;
        }
    }
    return false;
}

static bool shared_variable(struct compiler *c, const struct rp_ptx_var *var, struct simt_row *row)
{
    for (uint32_t i = 0; i < c->module->shared_count; i++) {
        if (c->module->shared[i] != var)
            continue;
        row->fill = SIMT_FILL_SHARED;
        row->symbol = i;
        return add_index(c, &c->shared, &c->shared_count, &c->shared_capacity, i);
    }
    return simt_refuse(c, "shared variable %s", var->name);
}

static bool param_variable(struct compiler *c, const struct rp_ptx_var *var, struct simt_row *row)
{
    size_t index;
    if (c->ptx->is_entry && index_of(var, c->ptx->params, c->ptx->param_count, &index)) {
        row->fill = SIMT_FILL_PARAM_BASE;
        row->value += (int64_t)var->offset;
        return true;
    }
    row->fill = SIMT_FILL_LOCAL;
    if (index_of(var, c->ptx->params, c->ptx->param_count, &index))
        row->value += c->function->params[index].offset;
    else if (index_of(var, c->ptx->returns, c->ptx->return_count, &index))
        row->value += c->function->returns[index].offset;
    else if (index_of(var, c->ptx->locals, c->ptx->local_count, &index))
        row->value += c->local_at[index];
    else
        return simt_refuse(c, "parameter %s", var->name);
    return true;
}

bool simt_operand_variable(struct compiler *c, const struct rp_ptx_var *var, int64_t offset,
                           struct simt_row *row)
{
    *row = (struct simt_row){.width = 8, .value = offset};
    size_t index;
    switch ((int)var->space) {
    case RP_PTX_GLOBAL:
    case RP_PTX_CONST: {
        const uint64_t address = c->module->storage(c->module->storage_ctx, var);
        if (!address)
            return simt_refuse(c, "variable %s has no storage", var->name);
        row->fill = SIMT_FILL_VALUE;
        row->value += (int64_t)address;
        return true;
    }
    case RP_PTX_SHARED: return shared_variable(c, var, row);
    case RP_PTX_PARAM: return param_variable(c, var, row);
    case RP_PTX_LOCAL:
        if (!index_of(var, c->ptx->locals, c->ptx->local_count, &index))
            return simt_refuse(c, "local variable %s outside of functions", var->name);
        row->fill = SIMT_FILL_LOCAL;
        row->value += c->local_at[index];
        return true;
    default: return simt_refuse(c, "variable %s", var->name);
    }
}

static bool function_row(struct compiler *c, const struct rp_ptx_operand *operand, uint32_t *row)
{
    for (uint32_t i = 0; i < c->module->function_count; i++) {
        if (strcmp(c->module->ptx->functions[i].name, operand->name) != 0)
            continue;
        *row = simt_constant_row(
            c, (struct simt_row){.width = 8, .fill = SIMT_FILL_FUNCTION, .symbol = i});
        return add_index(c, &c->callees, &c->callee_count, &c->callee_capacity, i);
    }
    return simt_refuse(c, "function %s", operand->name);
}

static bool variable_row(struct compiler *c, const struct rp_ptx_operand *operand, uint32_t width,
                         uint32_t *row)
{
    struct simt_row address;
    if (!simt_operand_variable(c, operand->var, operand->imm, &address))
        return false;
    const bool below_4g = address.fill == SIMT_FILL_SHARED || address.fill == SIMT_FILL_LOCAL;
    if (width != 8 && (width != 4 || !below_4g))
        return simt_refuse(c, "address of %s in %u bytes", operand->var->name, width);
    address.width = (uint8_t)width;
    *row = simt_constant_row(c, address);
    return true;
}

/* ---- operands ----------------------------------------------------------------- */

/* The register's row as its readers want it: those that don't know compact rows get it
 * expanded. */
static uint32_t read_register(struct compiler *c, uint32_t reg)
{
    const uint32_t row = simt_register_row(c, reg);
    if (c->compact[reg] && !c->lazy && !c->aliased[reg]) {
        struct simt_op *op = simt_emit_always(c, SIMT_EXPAND);
        op->a = row;
        op->flags = simt_register_width(c, reg) == 8 ? SIMT_WIDE_A : 0;
    }
    return row;
}

bool simt_operand_value(struct compiler *c, const struct rp_ptx_operand *operand, uint32_t width,
                        enum rp_ptx_type type, uint32_t *row)
{
    if (operand->negated)
        return simt_refuse(c, "a negated operand");
    switch ((int)operand->kind) {
    case RP_PTX_OPERAND_REG:
        if (simt_register_width(c, operand->reg) != width)
            return simt_refuse(c, "register %s has the wrong size",
                               c->ptx->regs[operand->reg].name);
        *row = read_register(c, operand->reg);
        return true;
    case RP_PTX_OPERAND_IMM: return immediate_row(c, operand, width, type, row);
    case RP_PTX_OPERAND_SREG: return special_row(c, operand, width, row);
    case RP_PTX_OPERAND_VAR: return variable_row(c, operand, width, row);
    case RP_PTX_OPERAND_FUNCTION:
        return width == 8 ? function_row(c, operand, row)
                          : simt_refuse(c, "a function's address in %u bytes", width);
    default: return simt_refuse(c, "an operand that is no value");
    }
}

bool simt_operand_any(struct compiler *c, const struct rp_ptx_operand *operand, uint32_t fallback,
                      enum rp_ptx_type type, uint32_t *row, uint32_t *width)
{
    *width = operand->kind == RP_PTX_OPERAND_REG ? simt_register_width(c, operand->reg) : fallback;
    if (*width != 2 && *width != 4 && *width != 8)
        return simt_refuse(c, "an operand of this size");
    return simt_operand_value(c, operand, *width, type, row);
}

bool simt_operand_predicate(struct compiler *c, const struct rp_ptx_operand *operand,
                            uint32_t *row)
{
    if (operand->kind == RP_PTX_OPERAND_IMM && !operand->is_float) {
        *row = simt_constant_row(
            c, (struct simt_row){.fill = SIMT_FILL_VALUE, .value = operand->imm != 0});
        return true;
    }
    if (operand->kind != RP_PTX_OPERAND_REG || c->ptx->regs[operand->reg].type != RP_PTX_PRED)
        return simt_refuse(c, "an operand that is no predicate");
    *row = simt_register_row(c, operand->reg);
    if (operand->negated) {
        const uint32_t from = *row;
        *row = simt_temporary(c, 0);
        struct simt_op *op = simt_emit_always(c, SIMT_OP_pred_not);
        op->d = *row;
        op->a = op->b = from;
    }
    return true;
}

static bool target(struct compiler *c, const struct rp_ptx_operand *operand, uint32_t *row,
                   uint32_t *width)
{
    if (operand->kind == RP_PTX_OPERAND_SINK) {
        *row = SIMT_SINK_ROW;
        *width = 0;
        return true;
    }
    if (operand->kind != RP_PTX_OPERAND_REG || operand->negated)
        return simt_refuse(c, "a destination that is no register");
    *row = simt_register_row(c, operand->reg);
    *width = simt_register_width(c, operand->reg);
    return true;
}

bool simt_operand_target_any(struct compiler *c, const struct rp_ptx_operand *operand,
                             uint32_t *row, uint32_t *width)
{
    if (operand->kind == RP_PTX_OPERAND_REG && c->ptx->regs[operand->reg].type == RP_PTX_PRED)
        return simt_refuse(c, "a predicate where a number goes");
    return target(c, operand, row, width);
}

bool simt_operand_target(struct compiler *c, const struct rp_ptx_operand *operand, uint32_t width,
                         uint32_t *row)
{
    uint32_t actual = 0;
    if (!target(c, operand, row, &actual))
        return false;
    if (operand->kind == RP_PTX_OPERAND_REG && actual != width)
        return simt_refuse(c, "register %s has the wrong size", c->ptx->regs[operand->reg].name);
    return true;
}

bool simt_operand_address(struct compiler *c, const struct rp_ptx_operand *operand, uint32_t *row,
                          uint32_t *width, int64_t *offset)
{
    if (operand->kind != RP_PTX_OPERAND_ADDRESS || operand->item_count)
        return simt_refuse(c, "an operand that is no address");
    *offset = operand->imm;
    *width = 8;
    if (operand->base == RP_PTX_OPERAND_REG) {
        *width = simt_register_width(c, operand->reg);
        if (*width != 4 && *width != 8)
            return simt_refuse(c, "an address register of this size");
        *row = read_register(c, operand->reg);
        return true;
    }
    struct simt_row address = {.width = 8, .fill = SIMT_FILL_VALUE, .value = operand->imm};
    *offset = 0;
    if (operand->base == RP_PTX_OPERAND_VAR &&
        !simt_operand_variable(c, operand->var, operand->imm, &address))
        return false;
    *row = simt_constant_row(c, address);
    return true;
}
