/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that compute: each becomes one or a few values. Only integers and predicates
 * are understood; whatever else there is becomes an opaque value of its type's range. */
#include "cuda/access/local.h"

#include <string.h>

/* ---- the grid's barrier ----------------------------------------------------------
 *
 * cooperative_groups' grid.sync() meets at a word of the driver's own: %envreg1 and %envreg2 are
 * the halves of its address (cooperative_groups/details/driver_abi.h), which no job can set, and
 * where no job has memory. Like shared memory it is nothing that anybody else sees. */

enum { MOST_STEPS = 6 }; /* from the registers to the address */

/* Made of these two registers and nothing else. */
static bool is_of_driver(const struct rp_builder *build, uint32_t value, unsigned steps)
{
    const struct rp_op *ops = build->ops.items, *op = &ops[value];
    if (steps == MOST_STEPS)
        return false;
    switch ((int)op->kind) {
    case RP_OP_SREG: return op->imm == RP_PTX_ENVREG1 || op->imm == RP_PTX_ENVREG2;
    case RP_OP_CONVERT: return is_of_driver(build, op->a, steps + 1);
    case RP_OP_SHL:
        return ops[op->b].kind == RP_OP_CONST && is_of_driver(build, op->a, steps + 1);
    case RP_OP_OR: case RP_OP_PACK:
        return is_of_driver(build, op->a, steps + 1) && is_of_driver(build, op->b, steps + 1);
    default: return false;
    }
}

/* `value`, or that it is such an address. */
static uint32_t or_barrier(const struct rp_translation *at, uint32_t value)
{
    bool is_barrier = at->bits == 64 && is_of_driver(at->build, value, 0);
    return is_barrier ? rp_value_make(at, RP_OP_NEAR, RP_NONE, RP_NONE) : value;
}

/* bfi.b64 d, high, low, 32, 32 puts the halves together. All else that it may be is not known. */
static void translate_bfi(const struct rp_translation *at)
{
    const struct rp_ptx_operand *operands = at->ptx->operands;
    bool joins = at->ptx->operand_count == 5 && at->bits == 64 &&
                 operands[3].kind == RP_PTX_OPERAND_IMM && operands[3].imm == 32 &&
                 operands[4].kind == RP_PTX_OPERAND_IMM && operands[4].imm == 32;
    if (joins && is_of_driver(at->build, rp_value_operand(at, 1, 64), 0) &&
        is_of_driver(at->build, rp_value_operand(at, 2, 64), 0))
        rp_value_finish(at, rp_value_make(at, RP_OP_NEAR, RP_NONE, RP_NONE));
    else
        rp_value_opaque(at);
}

/* ---- moves -------------------------------------------------------------------- */

/* mov.b64 {%r1, %r2}, %rd1 */
static void unpack(const struct rp_translation *at)
{
    const struct rp_ptx_operand *to = &at->ptx->operands[0];
    if (to->item_count != 2 || at->bits != 64) {
        rp_value_opaque(at);
        return;
    }
    uint32_t whole = rp_value_operand(at, 1, 64);
    for (uint32_t i = 0; i < 2; i++) {
        struct rp_op op = {.kind = i ? RP_OP_HIGH : RP_OP_CONVERT, .bits = 32, .from = 64,
                           .a = whole, .block = at->node, .stage = 2};
        if (to->items[i].kind == RP_PTX_OPERAND_REG &&
            rp_value_register_bits(at, &to->items[i]) == 32)
            rp_value_assign(at, to->items[i].reg, rp_ssa_op(at->build, op));
        else
            rp_value_assign_opaque(at, &to->items[i]);
    }
}

static void translate_move(struct rp_translation *at)
{
    const struct rp_ptx_operand *to = &at->ptx->operands[0], *from = &at->ptx->operands[1];
    if (at->ptx->operand_count != 2 || to->kind == RP_PTX_OPERAND_SINK) {
        rp_value_opaque(at);
    } else if (to->kind == RP_PTX_OPERAND_VECTOR) {
        unpack(at);
    } else if (from->kind == RP_PTX_OPERAND_VECTOR) {
        bool halves = from->item_count == 2 && at->bits == 64 &&
                      rp_value_register_bits(at, &from->items[0]) == 32 &&
                      rp_value_register_bits(at, &from->items[1]) == 32;
        if (!halves) {
            rp_value_opaque(at);
            return;
        }
        uint32_t low = rp_translate_operand(at->build, at->node, at->step->frame,
                                            &from->items[0], 32);
        uint32_t high = rp_translate_operand(at->build, at->node, at->step->frame,
                                             &from->items[1], 32);
        rp_value_finish(at, or_barrier(at, rp_value_make(at, RP_OP_PACK, low, high)));
    } else {
        rp_value_finish(at, rp_value_operand(at, 1, at->bits));
    }
}

static bool is_local_space(enum rp_ptx_space space)
{
    return space == RP_PTX_SHARED || space == RP_PTX_LOCAL;
}

/* Generic addresses and those of a space are the same numbers to us; what is known is which
 * of them lie outside of global memory. */
static void translate_cvta(const struct rp_translation *at)
{
    uint32_t value = rp_value_operand(at, 1, at->bits);
    bool is_named = at->ptx->space == RP_PTX_LOCAL && rp_local_names(at->build, value);
    if (is_local_space(at->ptx->space) && !is_named)
        value = rp_value_make(at, RP_OP_NEAR, RP_NONE, RP_NONE);
    rp_value_finish(at, value);
}

/* ---- arithmetic --------------------------------------------------------------- */

static bool has_carry(const struct rp_ptx_instruction *ptx)
{
    return rp_ptx_has(ptx, "sat") || rp_ptx_has(ptx, "relu");
}

static void translate_binary(const struct rp_translation *at, enum rp_op_kind kind)
{
    if (!at->is_integer || has_carry(at->ptx)) {
        rp_value_opaque(at);
        return;
    }
    bool shift = kind == RP_OP_SHL || kind == RP_OP_SHR;
    uint32_t a = rp_value_operand(at, 1, at->bits);
    uint32_t b = rp_value_operand(at, 2, shift ? 32 : at->bits);
    uint32_t value = rp_value_make(at, kind, a, b);
    rp_value_finish(at, kind == RP_OP_OR ? or_barrier(at, value) : value);
}

static void translate_logic(const struct rp_translation *at, enum rp_op_kind kind,
                            enum rp_op_kind predicate_kind)
{
    if (at->type != RP_PTX_PRED) {
        translate_binary(at, kind);
        return;
    }
    uint32_t a = rp_value_operand(at, 1, 1), b = rp_value_operand(at, 2, 1);
    rp_value_finish(at, rp_value_make(at, predicate_kind, a, b));
}

static void translate_unary(const struct rp_translation *at, enum rp_op_kind kind)
{
    bool predicate = at->type == RP_PTX_PRED;
    if (predicate && kind == RP_OP_NOT)
        rp_value_finish(at, rp_value_not(at->build, at->node, rp_value_operand(at, 1, 1)));
    else if (at->is_integer && !has_carry(at->ptx))
        rp_value_finish(at, rp_value_make(at, kind, rp_value_operand(at, 1, at->bits), RP_NONE));
    else
        rp_value_opaque(at);
}

static void translate_negate(const struct rp_translation *at)
{
    if (!at->is_integer || has_carry(at->ptx)) {
        rp_value_opaque(at);
        return;
    }
    uint32_t zero = rp_ssa_constant(at->build, 0, at->bits);
    rp_value_finish(at, rp_value_make(at, RP_OP_SUB, zero, rp_value_operand(at, 1, at->bits)));
}

/* The product of operands 1 and 2 as .lo, .hi or .wide says. */
static uint32_t product(struct rp_translation *at)
{
    bool wide = rp_ptx_has(at->ptx, "wide");
    uint32_t a = rp_value_operand(at, 1, at->bits), b = rp_value_operand(at, 2, at->bits);
    unsigned from = at->bits;
    if (wide)
        at->bits *= 2;
    uint32_t value = rp_value_make(at, wide ? RP_OP_MUL_WIDE
                              : rp_ptx_has(at->ptx, "hi") ? RP_OP_MUL_HI : RP_OP_MUL, a, b);
    RP_ITEMS(at->build->ops, struct rp_op)[value].from = (uint8_t)from;
    return value;
}

static void translate_product(struct rp_translation *at, bool add)
{
    if (!at->is_integer || has_carry(at->ptx) ||
        (rp_ptx_has(at->ptx, "wide") && at->bits > 32)) {
        rp_value_opaque(at);
        return;
    }
    uint32_t value = product(at);
    if (add)
        value = rp_value_make(at, RP_OP_ADD, value, rp_value_operand(at, 3, at->bits));
    rp_value_finish(at, value);
}

static void translate_convert(struct rp_translation *at)
{
    enum rp_ptx_type from = at->ptx->type_count > 1 ? at->ptx->type[1] : RP_PTX_NONE;
    if (!at->is_integer || !rp_value_is_integer(from) || has_carry(at->ptx)) {
        rp_translate_results(at->build, at->node, at->step, at->is_integer ? at->bits : 0,
                             at->is_signed);
        return;
    }
    /* A narrowing is a widening from the narrower type: bits above it are cut off, and what
     * is stored in a wider register is extended by the sign of the target. */
    unsigned own = rp_value_register_bits(at, &at->ptx->operands[0]), source = rp_value_bits(from);
    bool narrows = at->bits < source;
    struct rp_op op = {.kind = RP_OP_CONVERT, .bits = (uint8_t)own,
                       .from = (uint8_t)(narrows ? at->bits : source),
                       .is_signed = narrows ? at->is_signed : rp_value_is_signed(from),
                       .a = rp_value_operand(at, 1, source), .block = at->node, .stage = 2};
    if (!narrows && at->bits < own) { /* e.g. cvt.u16.s8 into 32 bits: two extensions */
        op.bits = (uint8_t)at->bits;
        op.a = rp_ssa_op(at->build, op);
        op.bits = (uint8_t)own;
        op.from = (uint8_t)at->bits;
        op.is_signed = at->is_signed;
    }
    rp_value_finish(at, rp_ssa_op(at->build, op));
}

static void translate_select(const struct rp_translation *at)
{
    if (!at->is_integer || at->ptx->operand_count < 4) {
        rp_value_opaque(at);
        return;
    }
    uint32_t a = rp_value_operand(at, 1, at->bits), b = rp_value_operand(at, 2, at->bits);
    uint32_t condition = rp_value_operand(at, 3, 1);
    uint32_t value = rp_value_make(at, RP_OP_SELECT, a, b);
    RP_ITEMS(at->build->ops, struct rp_op)[value].c = condition;
    rp_value_finish(at, value);
}

/* bfe.u32 d, a, position, length with constants: a shift and a mask. */
static void translate_bfe(const struct rp_translation *at)
{
    const struct rp_ptx_operand *operands = at->ptx->operands;
    bool known = at->ptx->operand_count == 4 && operands[2].kind == RP_PTX_OPERAND_IMM &&
                 operands[3].kind == RP_PTX_OPERAND_IMM;
    uint64_t position = known ? (uint64_t)operands[2].imm & 255 : 0;
    uint64_t length = known ? (uint64_t)operands[3].imm & 255 : 0;
    if (!known || at->is_signed || position + length > at->bits || !length || length > 31) {
        rp_value_opaque(at);
        return;
    }
    uint32_t shifted = rp_value_make(at, RP_OP_SHR, rp_value_operand(at, 1, at->bits),
                            rp_ssa_constant(at->build, (int64_t)position, 32));
    uint32_t mask = rp_ssa_constant(at->build, (int64_t)((UINT64_C(1) << length) - 1), at->bits);
    rp_value_finish(at, rp_value_make(at, RP_OP_AND, shifted, mask));
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
static uint32_t unwrap(const struct rp_translation *at, uint32_t value, uint32_t constant,
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
    return yes == (compare == RP_EQ) ? condition : rp_value_not(at->build, at->node, condition);
}

/* One value, whatever it is; but what a special register says may be another one each time, and an
 * address in local or param memory is another number as a generic one. */
static bool is_same(const struct rp_translation *at, uint32_t a, uint32_t b)
{
    struct rp_place place;
    return a == b && RP_ITEMS(at->build->ops, struct rp_op)[a].kind != RP_OP_SREG &&
           !(rp_place_find(at->build, a, &place) && place.base != RP_NONE);
}

static uint32_t compare_operands(const struct rp_translation *at)
{
    enum rp_compare compare;
    bool is_unsigned;
    if (!at->is_integer || !comparison_named(at->ptx, &compare, &is_unsigned))
        return rp_ssa_opaque(at->build, at->node, 1, 1, false);
    uint32_t a = rp_value_operand(at, 1, at->bits), b = rp_value_operand(at, 2, at->bits);
    uint32_t truth = unwrap(at, a, b, compare);
    if (truth != RP_NONE)
        return truth;
    if (is_same(at, a, b))
        a = b = rp_ssa_constant(at->build, 0, at->bits);
    return rp_ssa_op(at->build, (struct rp_op){
        .kind = RP_OP_COMPARE, .bits = 1, .from = (uint8_t)at->bits,
        .is_signed = at->is_signed && !is_unsigned, .compare = (uint8_t)compare, .a = a, .b = b,
        .block = at->node, .stage = 2});
}

static uint32_t combine(const struct rp_translation *at, uint32_t first, uint32_t second)
{
    enum rp_op_kind kind = rp_ptx_has(at->ptx, "and")  ? RP_OP_PAND
                           : rp_ptx_has(at->ptx, "or") ? RP_OP_POR : RP_OP_PXOR;
    return rp_ssa_op(at->build, (struct rp_op){.kind = (uint8_t)kind, .bits = 1, .a = first,
                                               .b = second, .block = at->node, .stage = 2});
}

static void translate_compare(const struct rp_translation *at)
{
    const struct rp_ptx_operand *to = &at->ptx->operands[0];
    uint32_t value = compare_operands(at);
    uint32_t opposite = to->paired ? rp_value_not(at->build, at->node, value) : RP_NONE;
    if (at->ptx->operand_count > 3) {
        uint32_t other = rp_value_operand(at, 3, 1);
        value = combine(at, value, other);
        if (to->paired)
            opposite = combine(at, opposite, other);
    }
    rp_value_finish(at, value);
    if (to->paired)
        rp_value_assign(at, to->paired - 1, opposite);
}

/* ------------------------------------------------------------------------------- */

static void translate_copy(struct rp_builder *build, uint32_t node, const struct rp_step *step)
{
    uint32_t value = step->operand
                         ? rp_translate_operand(build, node, step->from, step->operand, step->bits)
                         : rp_ssa_read(build, node, step->source, step->bits);
    rp_ssa_write(build, node, step->variable, value);
}

static void translate_class(struct rp_translation *at, enum rp_opcode_class class_)
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
    case RP_CLASS_BFI: translate_bfi(at); return;
    case RP_CLASS_SYNC: return;
    case RP_CLASS_FLOW: /* a call without code */
    case RP_CLASS_PURE: rp_value_opaque(at); return;
    case RP_CLASS_UNKNOWN:
        rp_build_refuse(at->build, rp_build_format(at->build, "line %u: opcode %s is not known",
                                                   at->ptx->line, at->ptx->op));
    case RP_CLASS_LOAD: case RP_CLASS_STORE: case RP_CLASS_ATOMIC: case RP_CLASS_REDUCE:
    case RP_CLASS_COPY_ASYNC: case RP_CLASS_BULK: case RP_CLASS_TEXTURE:
    case RP_CLASS_MATRIX_LOAD: case RP_CLASS_MATRIX_STORE: case RP_CLASS_SHARED:
    case RP_CLASS_EVERYTHING:
        rp_translate_touch(at, class_);
        return;
    }
}

void rp_translate(struct rp_builder *build, uint32_t node, const struct rp_step *step)
{
    if (step->kind == RP_STEP_COPY) {
        translate_copy(build, node, step);
        return;
    }
    if (step->kind > RP_STEP_COPY) {
        rp_slot_forget(build, node, step);
        return;
    }
    build->guard = rp_value_guard(build, node, step);
    if (step->kind != RP_STEP_PLAIN) { /* the last step of a node */
        build->nodes[node].condition = step->kind == RP_STEP_SWITCH
                                           ? rp_ssa_opaque(build, node, 1, 1, false)
                                           : build->guard;
        return;
    }
    const struct rp_ptx_instruction *ptx = step->ptx;
    struct rp_translation at = {.build = build, .node = node, .step = step, .ptx = ptx,
                         .type = ptx->type_count ? ptx->type[0] : RP_PTX_NONE};
    at.bits = rp_value_bits(at.type);
    at.is_integer = rp_value_is_integer(at.type);
    at.is_signed = rp_value_is_signed(at.type);
    enum rp_opcode_class class_ = rp_opcode_class(ptx);
    bool by_value = class_ >= RP_CLASS_MOVE;
    if (by_value && ptx->operand_count < 2)
        rp_value_opaque(&at);
    else
        translate_class(&at, class_);
}
