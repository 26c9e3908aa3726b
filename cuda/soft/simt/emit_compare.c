/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons: setp, set, slct and testp, made of a few loops a type. */
#include "cuda/soft/simt/compile.h"
#include "cuda/soft/simt/opcodes.h"

#include <string.h>

bool simt_emit_testp(struct compiler *c)
{
    char spelling[SIMT_SPELLING];
    simt_spell(c->at, spelling);
    const int opcode = simt_opcode_find(spelling);
    uint32_t d, a;
    if (opcode < 0 || c->at->operand_count != 2)
        return simt_refuse(c, "not supported");
    const uint32_t width = rp_ptx_type_bytes(c->at->type[0]);
    if (!simt_operand_value(c, &c->at->operands[1], width, c->at->type[0], &a) ||
        !simt_operand_target(c, &c->at->operands[0], 0, &d))
        return false;
    struct simt_op *op = simt_emit(c, opcode);
    op->d = d;
    op->a = op->b = a;
    return true;
}

/* The loops for a type: ordered comparisons, from which swapping and negating make all. */
struct compare_loops {
    int eq, lt, le, ne, num;
    uint32_t width;
};

#define INT_LOOPS(eq, lt, width) {SIMT_OP_##eq, SIMT_OP_##lt, -1, -1, -1, width}
#define REAL_LOOPS(x, width)                                                                    \
    {SIMT_OP_eq_##x, SIMT_OP_lt_##x, SIMT_OP_le_##x, SIMT_OP_ne_##x, SIMT_OP_num_##x, width}

/* A pair is compared half by half. */
static bool is_pair(enum rp_ptx_type type)
{
    return type == RP_PTX_F16X2 || type == RP_PTX_BF16X2;
}

static enum rp_ptx_type half_of(enum rp_ptx_type type)
{
    return type == RP_PTX_F16X2 ? RP_PTX_F16 : type == RP_PTX_BF16X2 ? RP_PTX_BF16 : type;
}

static bool find_loops(enum rp_ptx_type type, bool ftz, struct compare_loops *loops)
{
    static const struct compare_loops by_type[RP_PTX_TYPE_COUNT] = {
        [RP_PTX_B16] = INT_LOOPS(eq_16, eq_16, 2),  [RP_PTX_U16] = INT_LOOPS(eq_16, lt_u16, 2),
        [RP_PTX_S16] = INT_LOOPS(eq_16, lt_s16, 2), [RP_PTX_B32] = INT_LOOPS(eq_32, eq_32, 4),
        [RP_PTX_U32] = INT_LOOPS(eq_32, lt_u32, 4), [RP_PTX_S32] = INT_LOOPS(eq_32, lt_s32, 4),
        [RP_PTX_B64] = INT_LOOPS(eq_64, eq_64, 8),  [RP_PTX_U64] = INT_LOOPS(eq_64, lt_u64, 8),
        [RP_PTX_S64] = INT_LOOPS(eq_64, lt_s64, 8), [RP_PTX_F16] = REAL_LOOPS(f16, 2),
        [RP_PTX_BF16] = REAL_LOOPS(bf16, 2),        [RP_PTX_F32] = REAL_LOOPS(f32, 4),
        [RP_PTX_F64] = REAL_LOOPS(f64, 8),
    };
    static const struct compare_loops flushed32 = REAL_LOOPS(ftz_f32, 4);
    static const struct compare_loops flushed16 = REAL_LOOPS(ftz_f16, 2);
    *loops = by_type[type];
    if (ftz && type == RP_PTX_F32)
        *loops = flushed32;
    else if (ftz && type == RP_PTX_F16)
        *loops = flushed16;
    else if (ftz)
        return false;
    return loops->width != 0;
}

struct comparison {
    int opcode;
    bool swap, negate;
    uint32_t width;
};

static bool find_comparison(const char *name, const struct compare_loops *loops, bool is_bits,
                            bool is_unsigned, struct comparison *out)
{
    const bool real = loops->num >= 0;
    const struct {
        const char *name;
        int opcode;
        bool swap, negate, allowed;
    } rows[] = {
        {"eq", loops->eq, false, false, true},
        {"ne", real ? loops->ne : loops->eq, false, !real, true},
        {"lt", loops->lt, false, false, !is_bits},
        {"gt", loops->lt, true, false, !is_bits},
        {"le", real ? loops->le : loops->lt, !real, !real, !is_bits},
        {"ge", real ? loops->le : loops->lt, real, !real, !is_bits},
        {"lo", loops->lt, false, false, is_unsigned},
        {"hi", loops->lt, true, false, is_unsigned},
        {"ls", loops->lt, true, true, is_unsigned},
        {"hs", loops->lt, false, true, is_unsigned},
        {"equ", loops->ne, false, true, real},
        {"neu", loops->eq, false, true, real},
        {"ltu", loops->le, true, true, real},
        {"gtu", loops->le, false, true, real},
        {"leu", loops->lt, true, true, real},
        {"geu", loops->lt, false, true, real},
        {"num", loops->num, false, false, real},
        {"nan", loops->num, false, true, real},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) != 0 || !rows[i].allowed)
            continue;
        *out = (struct comparison){rows[i].opcode, rows[i].swap, rows[i].negate, loops->width};
        return true;
    }
    return false;
}

/* What setp and set have in common: cmp[.and|.or|.xor][.ftz].type */
struct condition {
    struct comparison comparison;
    int combine; /* opcode, or -1 */
    enum rp_ptx_type type;
};

static int combining_opcode(const char *name)
{
    return !strcmp(name, "and")   ? SIMT_OP_pred_and
           : !strcmp(name, "or")  ? SIMT_OP_pred_or
           : !strcmp(name, "xor") ? SIMT_OP_pred_xor
                                  : -1;
}

static bool read_condition(struct compiler *c, uint32_t types, struct condition *out)
{
    const struct rp_ptx_instruction *at = c->at;
    uint32_t next = 1;
    bool ftz = false;
    *out = (struct condition){.combine = -1};
    if (at->type_count != types || at->modifier_count < types + 1)
        return simt_refuse(c, "not supported");
    if (next < at->modifier_count && (out->combine = combining_opcode(at->modifiers[next])) >= 0)
        next++;
    if (next < at->modifier_count && !strcmp(at->modifiers[next], "ftz")) {
        ftz = true;
        next++;
    }
    if (next + types != at->modifier_count)
        return simt_refuse(c, "not supported");
    out->type = at->type[types - 1];
    struct compare_loops loops;
    const bool is_bits = out->type == RP_PTX_B16 || out->type == RP_PTX_B32 ||
                         out->type == RP_PTX_B64;
    const bool is_unsigned = out->type == RP_PTX_U16 || out->type == RP_PTX_U32 ||
                             out->type == RP_PTX_U64;
    if (!find_loops(half_of(out->type), ftz, &loops) ||
        !find_comparison(at->modifiers[0], &loops, is_bits, is_unsigned, &out->comparison))
        return simt_refuse(c, "not supported");
    return true;
}

/* Compares operands 1 and 2 into predicate row d. */
static bool emit_comparison(struct compiler *c, const struct condition *condition, uint32_t d,
                            bool guarded)
{
    const struct comparison *compare = &condition->comparison;
    uint32_t a, b;
    c->lazy = simt_compares_compact(compare->opcode);
    if (!simt_operand_value(c, &c->at->operands[1], compare->width, condition->type, &a) ||
        !simt_operand_value(c, &c->at->operands[2], compare->width, condition->type, &b))
        return false;
    struct simt_op *op = guarded ? simt_emit(c, compare->opcode)
                                 : simt_emit_always(c, compare->opcode);
    op->d = d;
    op->a = compare->swap ? b : a;
    op->b = compare->swap ? a : b;
    op->imm = compare->negate ? (int64_t)SIMT_FULL : 0;
    if (c->lazy)
        simt_track(op);
    c->lazy = false;
    return true;
}

static void emit_predicate(struct compiler *c, int opcode, uint32_t d, uint32_t a, uint32_t b,
                           bool guarded)
{
    struct simt_op *op = guarded ? simt_emit(c, opcode) : simt_emit_always(c, opcode);
    op->d = d;
    op->a = a;
    op->b = b;
}

/* Compares the halves of operands 1 and 2 into two predicate rows. */
static bool emit_pair_comparison(struct compiler *c, const struct condition *condition,
                                 uint32_t result[2])
{
    const struct comparison *compare = &condition->comparison;
    uint32_t from[2];
    if (!simt_operand_value(c, &c->at->operands[1], 4, RP_PTX_B32, &from[0]) ||
        !simt_operand_value(c, &c->at->operands[2], 4, RP_PTX_B32, &from[1]))
        return false;
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t piece[2];
        for (uint32_t k = 0; k < 2; k++) {
            struct simt_op *cut = simt_emit_always(c, SIMT_OP_piece_16_32);
            cut->a = from[k];
            cut->d = piece[k] = simt_temporary(c, 2);
            cut->imm = 16 * half;
        }
        struct simt_op *op = simt_emit_always(c, compare->opcode);
        op->d = result[half] = simt_temporary(c, 0);
        op->a = piece[compare->swap];
        op->b = piece[!compare->swap];
        op->imm = compare->negate ? (int64_t)SIMT_FULL : 0;
    }
    return true;
}

/* setp on pairs: p for the lower half, q for the upper one */
static bool emit_pair_setp(struct compiler *c, const struct condition *condition, uint32_t other)
{
    const struct rp_ptx_operand *targets = &c->at->operands[0];
    uint32_t result[2], p;
    if (!targets->paired || simt_register_width(c, targets->paired - 1) != 0)
        return simt_refuse(c, "two predicates are needed");
    if (!simt_operand_target(c, targets, 0, &p) || !emit_pair_comparison(c, condition, result))
        return false;
    for (uint32_t half = 0; half < 2 && condition->combine >= 0; half++)
        emit_predicate(c, condition->combine, result[half], result[half], other, false);
    emit_predicate(c, SIMT_OP_pred_mov, p, result[0], result[0], true);
    emit_predicate(c, SIMT_OP_pred_mov, simt_register_row(c, targets->paired - 1), result[1],
                   result[1], true);
    return true;
}

/* setp: p = (a cmp b) op c; q = !(a cmp b) op c */
bool simt_emit_setp(struct compiler *c)
{
    const struct rp_ptx_instruction *at = c->at;
    struct condition condition;
    if (!read_condition(c, 1, &condition))
        return false;
    const bool combined = condition.combine >= 0;
    if (at->operand_count != (combined ? 4 : 3))
        return simt_refuse(c, "this number of operands");
    uint32_t p, q = 0, other = 0;
    if (!simt_operand_target(c, &at->operands[0], 0, &p) ||
        (combined && !simt_operand_predicate(c, &at->operands[3], &other)))
        return false;
    if (is_pair(condition.type))
        return emit_pair_setp(c, &condition, other);
    if (at->operands[0].paired && (condition.type == RP_PTX_F16 || condition.type == RP_PTX_BF16))
        return simt_refuse(c, "a second predicate");
    if (!combined && !at->operands[0].paired)
        return emit_comparison(c, &condition, p, true);

    const uint32_t result = simt_temporary(c, 0), inverse = simt_temporary(c, 0);
    if (!emit_comparison(c, &condition, result, false))
        return false;
    emit_predicate(c, SIMT_OP_pred_not, inverse, result, result, false);
    if (combined) {
        emit_predicate(c, condition.combine, result, result, other, false);
        emit_predicate(c, condition.combine, inverse, inverse, other, false);
    }
    emit_predicate(c, SIMT_OP_pred_mov, p, result, result, true);
    if (at->operands[0].paired) {
        q = simt_register_row(c, at->operands[0].paired - 1);
        emit_predicate(c, SIMT_OP_pred_mov, q, inverse, inverse, true);
    }
    return true;
}

static bool emit_select(struct compiler *c, uint32_t width, uint32_t d, uint32_t a, uint32_t b,
                        uint32_t predicate)
{
    struct simt_op *op = simt_emit(c, width == 2   ? SIMT_OP_select_16
                                      : width == 4 ? SIMT_OP_select_32
                                                   : SIMT_OP_select_64);
    op->d = d;
    op->a = a;
    op->b = b;
    op->c = predicate;
    return true;
}

/* set on pairs: 1.0 or, in an integer, 0xffff in each half where the comparison holds */
static bool emit_pair_set(struct compiler *c, const struct condition *condition)
{
    const struct rp_ptx_instruction *at = c->at;
    const enum rp_ptx_type type = at->type[0];
    const int64_t yes = type == RP_PTX_F16X2 ? 0x3c00 : type == RP_PTX_BF16X2 ? 0x3f80 : 0xffff;
    const bool combined = condition->combine >= 0;
    uint32_t d, other = 0, result[2], half[2];
    if ((yes == 0xffff ? type != RP_PTX_U32 && type != RP_PTX_S32 : type != condition->type) ||
        at->operand_count != (combined ? 4 : 3))
        return simt_refuse(c, "not supported");
    if (!simt_operand_target(c, &at->operands[0], 4, &d) ||
        (combined && !simt_operand_predicate(c, &at->operands[3], &other)) ||
        !emit_pair_comparison(c, condition, result))
        return false;
    for (uint32_t k = 0; k < 2; k++) {
        if (combined)
            emit_predicate(c, condition->combine, result[k], result[k], other, false);
        struct simt_op *pick = simt_emit_always(c, SIMT_OP_select_16);
        pick->d = half[k] = simt_temporary(c, 2);
        pick->a = simt_value_row(c, 2, yes);
        pick->b = simt_value_row(c, 2, 0);
        pick->c = result[k];
    }
    struct simt_op *op = simt_emit(c, SIMT_OP_pack_2x16);
    op->d = d;
    op->a = half[0];
    op->b = half[1];
    return true;
}

/* Does set answer in `to` for a comparison in `from`? Halves answer in their own kind too. */
static bool has_set(enum rp_ptx_type to, enum rp_ptx_type from)
{
    if (to == RP_PTX_U32 || to == RP_PTX_S32)
        return true;
    if (from == RP_PTX_F16 || from == RP_PTX_BF16)
        return to == from || to == RP_PTX_BF16 || to == RP_PTX_U16 || to == RP_PTX_S16;
    return to == RP_PTX_F32;
}

/* set: all ones or 1.0 where the comparison holds, else 0 */
bool simt_emit_set(struct compiler *c)
{
    const struct rp_ptx_instruction *at = c->at;
    struct condition condition;
    if (!read_condition(c, 2, &condition))
        return false;
    if (is_pair(condition.type))
        return emit_pair_set(c, &condition);
    const bool combined = condition.combine >= 0;
    const enum rp_ptx_type type = at->type[0];
    const uint32_t width = rp_ptx_type_bytes(type);
    const int64_t yes = type == RP_PTX_F32    ? 0x3f800000
                        : type == RP_PTX_F16  ? 0x3c00
                        : type == RP_PTX_BF16 ? 0x3f80
                                              : -1;
    if (!has_set(type, condition.type) || at->operand_count != (combined ? 4 : 3))
        return simt_refuse(c, "not supported");
    uint32_t d, other = 0;
    if (!simt_operand_target(c, &at->operands[0], width, &d) ||
        (combined && !simt_operand_predicate(c, &at->operands[3], &other)))
        return false;
    const uint32_t result = simt_temporary(c, 0);
    if (!emit_comparison(c, &condition, result, false))
        return false;
    if (combined)
        emit_predicate(c, condition.combine, result, result, other, false);
    return emit_select(c, width, d, simt_value_row(c, width, yes), simt_value_row(c, width, 0),
                       result);
}

/* slct: a where c >= 0, else b */
bool simt_emit_slct(struct compiler *c)
{
    const struct rp_ptx_instruction *at = c->at;
    const bool ftz = at->modifier_count == 3 && !strcmp(at->modifiers[0], "ftz");
    const uint32_t width = rp_ptx_type_bytes(at->type[0]);
    if (at->type_count != 2 || at->modifier_count != 2u + ftz || at->operand_count != 4 ||
        is_pair(at->type[0]) || half_of(at->type[0]) == RP_PTX_F16 || at->type[0] == RP_PTX_BF16 ||
        (width != 2 && width != 4 && width != 8) || (ftz && at->type[1] != RP_PTX_F32) ||
        (at->type[1] != RP_PTX_S32 && at->type[1] != RP_PTX_F32))
        return simt_refuse(c, "not supported");
    uint32_t d, a, b, key;
    if (!simt_operand_target(c, &at->operands[0], width, &d) ||
        !simt_operand_value(c, &at->operands[1], width, at->type[0], &a) ||
        !simt_operand_value(c, &at->operands[2], width, at->type[0], &b) ||
        !simt_operand_value(c, &at->operands[3], 4, at->type[1], &key))
        return false;
    const uint32_t result = simt_temporary(c, 0), zero = simt_value_row(c, 4, 0);
    const bool real = at->type[1] == RP_PTX_F32;
    /* 0 <= c; a subnormal is 0 when flushed, and then even a negative one is not below it. */
    struct simt_op *op = simt_emit_always(c, !real ? SIMT_OP_lt_s32
                                             : ftz ? SIMT_OP_le_ftz_f32
                                                   : SIMT_OP_le_f32);
    op->d = result;
    op->a = real ? zero : key;
    op->b = real ? key : zero;
    op->imm = real ? 0 : (int64_t)SIMT_FULL;
    return emit_select(c, width, d, a, b, result);
}
