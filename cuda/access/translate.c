/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that compute: each becomes one or a few values. Only integers and predicates
 * are understood; whatever else there is becomes an opaque value of its type's range. */
#include "cuda/access/build.h"

#include <string.h>

struct context {
    struct rp_builder *build;
    uint32_t node;
    const struct rp_step *step;
    const struct rp_ptx_instruction *ptx;
    enum rp_ptx_type type; /* the first one written */
    unsigned bits;         /* of it; 1 for predicates */
    bool is_integer, is_signed;
};

static const struct rp_ptx_var *reg_var(const struct rp_builder *build, uint32_t frame,
                                        uint32_t reg)
{
    return &RP_ITEMS(build->frames, struct rp_frame)[frame].function->regs[reg];
}

static unsigned type_bits(enum rp_ptx_type type)
{
    uint32_t bytes = rp_ptx_type_bytes(type);
    return type == RP_PTX_PRED ? 1 : bytes > 8 ? 64 : bytes ? bytes * 8 : 32;
}

static bool type_is_integer(enum rp_ptx_type type)
{
    return (type >= RP_PTX_B8 && type <= RP_PTX_B64) || (type >= RP_PTX_U8 && type <= RP_PTX_S64);
}

static bool type_is_signed(enum rp_ptx_type type)
{
    return type >= RP_PTX_S8 && type <= RP_PTX_S64;
}

static uint32_t variable_of(const struct rp_builder *build, uint32_t frame, uint32_t reg)
{
    return RP_ITEMS(build->frames, struct rp_frame)[frame].first_reg + reg;
}

static uint32_t read_reg(struct rp_builder *build, uint32_t node, uint32_t frame, uint32_t reg)
{
    return rp_ssa_read(build, node, variable_of(build, frame, reg),
                       type_bits(reg_var(build, frame, reg)->type));
}

static uint32_t make(const struct context *at, enum rp_op_kind kind, uint32_t a, uint32_t b)
{
    return rp_ssa_op(at->build, (struct rp_op){.kind = (uint8_t)kind, .bits = (uint8_t)at->bits,
                                               .from = (uint8_t)at->bits,
                                               .is_signed = at->is_signed, .a = a, .b = b,
                                               .c = RP_NONE, .block = at->node, .stage = 2});
}

static uint32_t make_not(struct rp_builder *build, uint32_t node, uint32_t predicate)
{
    return rp_ssa_op(build, (struct rp_op){.kind = RP_OP_PNOT, .bits = 1, .a = predicate,
                                           .block = node, .stage = 2});
}

/* The value of the guard with which a step runs, or RP_NONE when it always does. Read once,
 * before the step assigns anything: it may assign its own guard. */
static uint32_t guard_of(struct rp_builder *build, uint32_t node, const struct rp_step *step)
{
    if (!step->guarded)
        return RP_NONE;
    uint32_t guard = rp_ssa_read(build, node, step->guard, 1);
    return step->negated ? make_not(build, node, guard) : guard;
}

static uint32_t sreg_value(struct rp_builder *build, enum rp_ptx_sreg sreg, unsigned bits)
{
    uint64_t key = UINT64_MAX - (uint64_t)sreg * 256 - bits;
    uint32_t value = rp_map_get(build->constants, key);
    if (value == RP_NONE) {
        value = rp_ssa_op(build, (struct rp_op){.kind = RP_OP_SREG, .bits = (uint8_t)bits,
                                                .imm = sreg, .block = RP_ENTRY_NODE, .stage = 2});
        rp_map_set(build, build->constants, key, value);
    }
    return value;
}

/* The address of a variable. */
static uint32_t variable_value(struct rp_builder *build, uint32_t node,
                               const struct rp_ptx_operand *operand)
{
    const struct rp_ptx_var *var = operand->var;
    struct rp_op op = {.kind = RP_OP_NEAR, .bits = 64, .block = RP_ENTRY_NODE, .stage = 2};
    if (var->space == RP_PTX_GLOBAL || var->space == RP_PTX_CONST) {
        op.kind = RP_OP_ROOT;
        op.imm = rp_translate_root(build, var, RP_NONE);
    }
    uint32_t base = rp_ssa_op(build, op);
    if (!operand->imm)
        return base;
    return rp_ssa_op(build, (struct rp_op){.kind = RP_OP_ADD, .bits = 64, .from = 64, .a = base,
                                           .b = rp_ssa_constant(build, operand->imm, 64),
                                           .block = node, .stage = 2});
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
        return bits == 1 ? make_not(build, node, value)
                         : rp_ssa_opaque(build, node, bits, bits, false);
    case RP_PTX_OPERAND_IMM:
        if (operand->is_float)
            break;
        return rp_ssa_constant(build, bits == 32 ? (int32_t)operand->imm : operand->imm, bits);
    case RP_PTX_OPERAND_SREG:
        return sreg_value(build, operand->sreg, bits);
    case RP_PTX_OPERAND_VAR:
        return variable_value(build, node, operand);
    case RP_PTX_OPERAND_ADDRESS:
    case RP_PTX_OPERAND_LABEL:
    case RP_PTX_OPERAND_VECTOR:
    case RP_PTX_OPERAND_FUNCTION:
    case RP_PTX_OPERAND_SINK:
        break;
    }
    return rp_ssa_opaque(build, node, bits, bits, false);
}

static uint32_t operand(const struct context *at, unsigned index, unsigned bits)
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
                        type_bits(reg_var(build, step->frame, reg)->type), value);
}

static void assign_opaque(struct rp_builder *build, uint32_t node, const struct rp_step *step,
                          const struct rp_ptx_operand *to, unsigned bits, bool is_signed)
{
    for (uint32_t i = 0; to->kind == RP_PTX_OPERAND_VECTOR && i < to->item_count; i++)
        assign_opaque(build, node, step, &to->items[i], bits, is_signed);
    if (to->kind == RP_PTX_OPERAND_REG) {
        unsigned own = type_bits(reg_var(build, step->frame, to->reg)->type);
        assign_reg(build, node, step, to->reg,
                   rp_ssa_opaque(build, node, own, bits && bits < own ? bits : own, is_signed));
    }
    if (to->paired)
        assign_reg(build, node, step, to->paired - 1, rp_ssa_opaque(build, node, 1, 1, false));
    if (to->kind == RP_PTX_OPERAND_VAR) { /* the result of a call */
        uint32_t variable = rp_flow_slot(build, step->frame, to->var, 0,
                                         (uint32_t)(to->var->is_array ? 1 : to->var->bytes));
        if (variable != RP_NONE)
            rp_translate_assign(build, node, variable, type_bits(to->var->type),
                                rp_ssa_opaque(build, node, type_bits(to->var->type), 64, false));
    }
}

void rp_translate_results(struct rp_builder *build, uint32_t node, const struct rp_step *step,
                          unsigned bits, bool is_signed)
{
    if (step->ptx->operand_count)
        assign_opaque(build, node, step, &step->ptx->operands[0], bits, is_signed);
}

static void opaque(const struct context *at)
{
    rp_translate_results(at->build, at->node, at->step, 0, false);
}

static void finish(const struct context *at, uint32_t value)
{
    const struct rp_ptx_operand *to = &at->ptx->operands[0];
    if (to->kind == RP_PTX_OPERAND_REG)
        assign_reg(at->build, at->node, at->step, to->reg, value);
}

/* ---- moves -------------------------------------------------------------------- */

static unsigned register_bits(const struct context *at, const struct rp_ptx_operand *reg)
{
    return reg->kind == RP_PTX_OPERAND_REG
               ? type_bits(reg_var(at->build, at->step->frame, reg->reg)->type) : 32;
}

/* mov.b64 {%r1, %r2}, %rd1 */
static void unpack(const struct context *at)
{
    const struct rp_ptx_operand *to = &at->ptx->operands[0];
    if (to->item_count != 2 || at->bits != 64) {
        opaque(at);
        return;
    }
    uint32_t whole = operand(at, 1, 64);
    for (uint32_t i = 0; i < 2; i++) {
        struct rp_op op = {.kind = i ? RP_OP_HIGH : RP_OP_CONVERT, .bits = 32, .from = 64,
                           .a = whole, .block = at->node, .stage = 2};
        if (to->items[i].kind == RP_PTX_OPERAND_REG && register_bits(at, &to->items[i]) == 32)
            assign_reg(at->build, at->node, at->step, to->items[i].reg,
                       rp_ssa_op(at->build, op));
        else
            assign_opaque(at->build, at->node, at->step, &to->items[i], 0, false);
    }
}

static void translate_move(struct context *at)
{
    const struct rp_ptx_operand *to = &at->ptx->operands[0], *from = &at->ptx->operands[1];
    if (at->ptx->operand_count != 2 || to->kind == RP_PTX_OPERAND_SINK) {
        opaque(at);
    } else if (to->kind == RP_PTX_OPERAND_VECTOR) {
        unpack(at);
    } else if (from->kind == RP_PTX_OPERAND_VECTOR) {
        bool halves = from->item_count == 2 && at->bits == 64 &&
                      register_bits(at, &from->items[0]) == 32 &&
                      register_bits(at, &from->items[1]) == 32;
        if (!halves) {
            opaque(at);
            return;
        }
        uint32_t low = rp_translate_operand(at->build, at->node, at->step->frame,
                                            &from->items[0], 32);
        uint32_t high = rp_translate_operand(at->build, at->node, at->step->frame,
                                             &from->items[1], 32);
        finish(at, make(at, RP_OP_PACK, low, high));
    } else {
        finish(at, operand(at, 1, at->bits));
    }
}

static bool is_local_space(enum rp_ptx_space space)
{
    return space == RP_PTX_SHARED || space == RP_PTX_LOCAL || space == RP_PTX_PARAM;
}

/* Generic addresses and those of a space are the same numbers to us; what is known is which
 * of them lie outside of global memory. */
static void translate_cvta(const struct context *at)
{
    if (is_local_space(at->ptx->space))
        finish(at, make(at, RP_OP_NEAR, RP_NONE, RP_NONE));
    else
        finish(at, operand(at, 1, at->bits));
}

/* ---- arithmetic --------------------------------------------------------------- */

static bool has_carry(const struct rp_ptx_instruction *ptx)
{
    return rp_ptx_has(ptx, "sat") || rp_ptx_has(ptx, "relu");
}

static void translate_binary(const struct context *at, enum rp_op_kind kind)
{
    if (!at->is_integer || has_carry(at->ptx)) {
        opaque(at);
        return;
    }
    bool shift = kind == RP_OP_SHL || kind == RP_OP_SHR;
    uint32_t a = operand(at, 1, at->bits), b = operand(at, 2, shift ? 32 : at->bits);
    finish(at, make(at, kind, a, b));
}

static void translate_logic(const struct context *at, enum rp_op_kind kind,
                            enum rp_op_kind predicate_kind)
{
    if (at->type != RP_PTX_PRED) {
        translate_binary(at, kind);
        return;
    }
    uint32_t a = operand(at, 1, 1), b = operand(at, 2, 1);
    finish(at, make(at, predicate_kind, a, b));
}

static void translate_unary(const struct context *at, enum rp_op_kind kind)
{
    bool predicate = at->type == RP_PTX_PRED;
    if (predicate && kind == RP_OP_NOT)
        finish(at, make_not(at->build, at->node, operand(at, 1, 1)));
    else if (at->is_integer && !has_carry(at->ptx))
        finish(at, make(at, kind, operand(at, 1, at->bits), RP_NONE));
    else
        opaque(at);
}

static void translate_negate(const struct context *at)
{
    if (!at->is_integer || has_carry(at->ptx)) {
        opaque(at);
        return;
    }
    uint32_t zero = rp_ssa_constant(at->build, 0, at->bits);
    finish(at, make(at, RP_OP_SUB, zero, operand(at, 1, at->bits)));
}

/* The product of operands 1 and 2 as .lo, .hi or .wide says. */
static uint32_t product(struct context *at)
{
    bool wide = rp_ptx_has(at->ptx, "wide");
    uint32_t a = operand(at, 1, at->bits), b = operand(at, 2, at->bits);
    unsigned from = at->bits;
    if (wide)
        at->bits *= 2;
    uint32_t value = make(at, wide ? RP_OP_MUL_WIDE
                              : rp_ptx_has(at->ptx, "hi") ? RP_OP_MUL_HI : RP_OP_MUL, a, b);
    RP_ITEMS(at->build->ops, struct rp_op)[value].from = (uint8_t)from;
    return value;
}

static void translate_product(struct context *at, bool add)
{
    if (!at->is_integer || has_carry(at->ptx) ||
        (rp_ptx_has(at->ptx, "wide") && at->bits > 32)) {
        opaque(at);
        return;
    }
    uint32_t value = product(at);
    finish(at, add ? make(at, RP_OP_ADD, value, operand(at, 3, at->bits)) : value);
}

static void translate_convert(struct context *at)
{
    enum rp_ptx_type from = at->ptx->type_count > 1 ? at->ptx->type[1] : RP_PTX_NONE;
    if (!at->is_integer || !type_is_integer(from) || has_carry(at->ptx)) {
        rp_translate_results(at->build, at->node, at->step, at->is_integer ? at->bits : 0,
                             at->is_signed);
        return;
    }
    /* A narrowing is a widening from the narrower type: bits above it are cut off, and what
     * is stored in a wider register is extended by the sign of the target. */
    unsigned own = register_bits(at, &at->ptx->operands[0]), source = type_bits(from);
    bool narrows = at->bits < source;
    struct rp_op op = {.kind = RP_OP_CONVERT, .bits = (uint8_t)own,
                       .from = (uint8_t)(narrows ? at->bits : source),
                       .is_signed = narrows ? at->is_signed : type_is_signed(from),
                       .a = operand(at, 1, source), .block = at->node, .stage = 2};
    if (!narrows && at->bits < own) { /* e.g. cvt.u16.s8 into 32 bits: two extensions */
        op.bits = (uint8_t)at->bits;
        op.a = rp_ssa_op(at->build, op);
        op.bits = (uint8_t)own;
        op.from = (uint8_t)at->bits;
        op.is_signed = at->is_signed;
    }
    finish(at, rp_ssa_op(at->build, op));
}

static void translate_select(const struct context *at)
{
    if (!at->is_integer || at->ptx->operand_count < 4) {
        opaque(at);
        return;
    }
    uint32_t a = operand(at, 1, at->bits), b = operand(at, 2, at->bits);
    uint32_t condition = operand(at, 3, 1);
    uint32_t value = make(at, RP_OP_SELECT, a, b);
    RP_ITEMS(at->build->ops, struct rp_op)[value].c = condition;
    finish(at, value);
}

/* bfe.u32 d, a, position, length with constants: a shift and a mask. */
static void translate_bfe(const struct context *at)
{
    const struct rp_ptx_operand *operands = at->ptx->operands;
    bool known = at->ptx->operand_count == 4 && operands[2].kind == RP_PTX_OPERAND_IMM &&
                 operands[3].kind == RP_PTX_OPERAND_IMM;
    uint64_t position = known ? (uint64_t)operands[2].imm & 255 : 0;
    uint64_t length = known ? (uint64_t)operands[3].imm & 255 : 0;
    if (!known || at->is_signed || position + length > at->bits || !length || length > 31) {
        opaque(at);
        return;
    }
    uint32_t shifted = make(at, RP_OP_SHR, operand(at, 1, at->bits),
                            rp_ssa_constant(at->build, (int64_t)position, 32));
    uint32_t mask = rp_ssa_constant(at->build, (int64_t)((UINT64_C(1) << length) - 1), at->bits);
    finish(at, make(at, RP_OP_AND, shifted, mask));
}

/* ---- comparisons -------------------------------------------------------------- */

static bool comparison_named(const struct rp_ptx_instruction *ptx, enum rp_compare *compare,
                             bool *is_unsigned)
{
    static const struct {
        char name[3];
        enum rp_compare compare;
        bool is_unsigned;
    } names[] = {{"eq", RP_EQ, false}, {"ne", RP_NE, false}, {"lt", RP_LT, false},
                 {"le", RP_LE, false}, {"gt", RP_GT, false}, {"ge", RP_GE, false},
                 {"lo", RP_LT, true},  {"ls", RP_LE, true},  {"hi", RP_GT, true},
                 {"hs", RP_GE, true}};
    for (size_t i = 0; ptx->modifier_count && i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(ptx->modifiers[0], names[i].name)) {
            *compare = names[i].compare;
            *is_unsigned = names[i].is_unsigned;
            return true;
        }
    return false;
}

/* A truth value that took the way over a register: (p ? 1 : 0) != 0 is p. */
static uint32_t unwrap(const struct context *at, uint32_t value, uint32_t constant,
                       enum rp_compare compare)
{
    const struct rp_op *ops = at->build->ops.items, *select = &ops[value];
    if (select->kind != RP_OP_SELECT || ops[constant].kind != RP_OP_CONST ||
        ops[select->a].kind != RP_OP_CONST || ops[select->b].kind != RP_OP_CONST ||
        (compare != RP_EQ && compare != RP_NE))
        return RP_NONE;
    bool yes = ops[select->a].imm == ops[constant].imm;
    bool no = ops[select->b].imm == ops[constant].imm;
    if (yes == no)
        return RP_NONE;
    uint32_t condition = select->c;
    return yes == (compare == RP_EQ) ? condition : make_not(at->build, at->node, condition);
}

static uint32_t compare_operands(const struct context *at)
{
    enum rp_compare compare;
    bool is_unsigned;
    if (!at->is_integer || !comparison_named(at->ptx, &compare, &is_unsigned))
        return rp_ssa_opaque(at->build, at->node, 1, 1, false);
    uint32_t a = operand(at, 1, at->bits), b = operand(at, 2, at->bits);
    uint32_t truth = unwrap(at, a, b, compare);
    if (truth != RP_NONE)
        return truth;
    return rp_ssa_op(at->build, (struct rp_op){
        .kind = RP_OP_COMPARE, .bits = 1, .from = (uint8_t)at->bits,
        .is_signed = at->is_signed && !is_unsigned, .compare = (uint8_t)compare, .a = a, .b = b,
        .block = at->node, .stage = 2});
}

static uint32_t combine(const struct context *at, uint32_t first, uint32_t second)
{
    enum rp_op_kind kind = rp_ptx_has(at->ptx, "and")  ? RP_OP_PAND
                           : rp_ptx_has(at->ptx, "or") ? RP_OP_POR : RP_OP_PXOR;
    return rp_ssa_op(at->build, (struct rp_op){.kind = (uint8_t)kind, .bits = 1, .a = first,
                                               .b = second, .block = at->node, .stage = 2});
}

static void translate_compare(const struct context *at)
{
    const struct rp_ptx_operand *to = &at->ptx->operands[0];
    uint32_t value = compare_operands(at);
    uint32_t opposite = to->paired ? make_not(at->build, at->node, value) : RP_NONE;
    if (at->ptx->operand_count > 3) {
        uint32_t other = operand(at, 3, 1);
        value = combine(at, value, other);
        if (to->paired)
            opposite = combine(at, opposite, other);
    }
    finish(at, value);
    if (to->paired)
        assign_reg(at->build, at->node, at->step, to->paired - 1, opposite);
}

/* ------------------------------------------------------------------------------- */

static void translate_copy(struct rp_builder *build, uint32_t node, const struct rp_step *step)
{
    uint32_t value = step->operand
                         ? rp_translate_operand(build, node, step->from, step->operand, step->bits)
                         : rp_ssa_read(build, node, step->source, step->bits);
    rp_ssa_write(build, node, step->variable, value);
}

static void translate_class(struct context *at, enum rp_opcode_class class_)
{
    switch (class_) {
    case RP_CLASS_MOVE: translate_move(at); return;
    case RP_CLASS_CVTA: translate_cvta(at); return;
    case RP_CLASS_ADD: translate_binary(at, RP_OP_ADD); return;
    case RP_CLASS_SUB: translate_binary(at, RP_OP_SUB); return;
    case RP_CLASS_MUL: translate_product(at, false); return;
    case RP_CLASS_MAD: translate_product(at, true); return;
    case RP_CLASS_SHL: translate_binary(at, RP_OP_SHL); return;
    case RP_CLASS_SHR: translate_binary(at, RP_OP_SHR); return;
    case RP_CLASS_DIV: translate_binary(at, RP_OP_DIV); return;
    case RP_CLASS_REM: translate_binary(at, RP_OP_REM); return;
    case RP_CLASS_MIN: translate_binary(at, RP_OP_MIN); return;
    case RP_CLASS_MAX: translate_binary(at, RP_OP_MAX); return;
    case RP_CLASS_AND: translate_logic(at, RP_OP_AND, RP_OP_PAND); return;
    case RP_CLASS_OR: translate_logic(at, RP_OP_OR, RP_OP_POR); return;
    case RP_CLASS_XOR: translate_logic(at, RP_OP_XOR, RP_OP_PXOR); return;
    case RP_CLASS_NOT: translate_unary(at, RP_OP_NOT); return;
    case RP_CLASS_ABS: translate_unary(at, RP_OP_ABS); return;
    case RP_CLASS_NEG: translate_negate(at); return;
    case RP_CLASS_CONVERT: translate_convert(at); return;
    case RP_CLASS_SELECT: translate_select(at); return;
    case RP_CLASS_COMPARE: translate_compare(at); return;
    case RP_CLASS_BFE: translate_bfe(at); return;
    case RP_CLASS_SYNC: return;
    case RP_CLASS_PURE: case RP_CLASS_FLOW: opaque(at); return; /* FLOW: a call without code */
    case RP_CLASS_UNKNOWN:
        rp_build_refuse(at->build, rp_build_format(at->build, "line %u: opcode %s is not known",
                                                   at->ptx->line, at->ptx->op));
    case RP_CLASS_LOAD: case RP_CLASS_STORE: case RP_CLASS_ATOMIC: case RP_CLASS_REDUCE:
    case RP_CLASS_COPY_ASYNC: case RP_CLASS_BULK: case RP_CLASS_TEXTURE:
    case RP_CLASS_MATRIX_LOAD: case RP_CLASS_MATRIX_STORE: case RP_CLASS_SHARED:
    case RP_CLASS_EVERYTHING:
        rp_translate_touch(at->build, at->node, at->step, class_);
        return;
    }
}

void rp_translate(struct rp_builder *build, uint32_t node, const struct rp_step *step)
{
    if (step->kind == RP_STEP_COPY) {
        translate_copy(build, node, step);
        return;
    }
    build->guard = guard_of(build, node, step);
    if (step->kind != RP_STEP_PLAIN) { /* the last step of a node */
        build->nodes[node].condition = step->kind == RP_STEP_SWITCH
                                           ? rp_ssa_opaque(build, node, 1, 1, false)
                                           : build->guard;
        return;
    }
    const struct rp_ptx_instruction *ptx = step->ptx;
    struct context at = {.build = build, .node = node, .step = step, .ptx = ptx,
                         .type = ptx->type_count ? ptx->type[0] : RP_PTX_NONE};
    at.bits = type_bits(at.type);
    at.is_integer = type_is_integer(at.type);
    at.is_signed = type_is_signed(at.type);
    enum rp_opcode_class class_ = rp_opcode_class(ptx);
    bool by_value = class_ >= RP_CLASS_MOVE;
    if (by_value && ptx->operand_count < 2)
        opaque(&at);
    else
        translate_class(&at, class_);
}
