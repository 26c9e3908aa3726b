/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic, comparisons, conversions and moves. Most instructions are a lane loop whose
 * key is the instruction as written; the others are made of a few loops each. */
#include "cuda/soft/simt/collective.h"
#include "cuda/soft/simt/compile.h"
#include "cuda/soft/simt/opcodes.h"

#include <stdio.h>
#include <string.h>

static const struct simt_signature *signature_of(int opcode)
{
    return &simt_signatures[opcode - SIMT_CONTROL_COUNT];
}

/* ---- by signature ------------------------------------------------------------- */

static enum rp_ptx_type operand_type(const struct compiler *c, uint32_t width)
{
    /* Types matter for float literals only, and those have the width of the operand. */
    for (uint32_t i = 0; i < c->at->type_count; i++) {
        if (rp_ptx_type_bytes(c->at->type[i]) == width)
            return c->at->type[i];
    }
    return RP_PTX_NONE;
}

static bool source(struct compiler *c, const struct rp_ptx_operand *operand, uint32_t width,
                   uint32_t *row)
{
    return width == 1 ? simt_operand_predicate(c, operand, row)
                      : simt_operand_value(c, operand, width, operand_type(c, width), row);
}

static bool target(struct compiler *c, const struct rp_ptx_operand *operand, uint32_t width,
                   uint32_t *row)
{
    return simt_operand_target(c, operand, width == 1 ? 0 : width, row);
}

bool simt_emit_by_signature(struct compiler *c, int opcode)
{
    const struct simt_signature *signature = signature_of(opcode);
    uint32_t sources = 0, rows[5] = {0};
    while (sources < 4 && signature->width[sources + 1])
        sources++;
    if (c->at->operand_count < 1)
        return simt_refuse(c, "no operands");
    /* Unary loops of the predicate kind name their operand twice. */
    const bool unary_predicate = opcode == SIMT_OP_pred_not || opcode == SIMT_OP_pred_mov;
    if (c->at->operand_count != sources + 1 - unary_predicate || c->at->operands[0].paired)
        return simt_refuse(c, "this number of operands");
    for (uint32_t k = 1; k <= sources - unary_predicate; k++) {
        if (!source(c, &c->at->operands[k], signature->width[k], &rows[k]))
            return false;
    }
    if (!target(c, &c->at->operands[0], signature->width[0], &rows[0]))
        return false;
    struct simt_op *op = simt_emit(c, opcode);
    op->d = rows[0];
    op->a = rows[1];
    op->b = unary_predicate ? rows[1] : rows[2];
    op->c = rows[3];
    op->e = rows[4];
    if (c->lazy)
        simt_track(op);
    return true;
}

/* nvcc writes max.s16x2.relu, and the ISA max.relu.s16x2. */
static void spell_in_order(const struct rp_ptx_instruction *at, char spelling[SIMT_SPELLING])
{
    const bool extreme = !strcmp(at->op, "min") || !strcmp(at->op, "max");
    if (extreme && at->modifier_count == 2 && !strcmp(at->modifiers[1], "relu"))
        snprintf(spelling, SIMT_SPELLING, "%s.relu.%s", at->op, at->modifiers[0]);
    else
        simt_spell(at, spelling);
}

bool simt_emit_plain(struct compiler *c)
{
    char spelling[SIMT_SPELLING];
    spell_in_order(c->at, spelling);
    for (uint32_t i = 0; i < c->at->modifier_count; i++) {
        if (!strcmp(c->at->modifiers[i], "cc"))
            return simt_emit_carry(c);
    }
    const int opcode = simt_opcode_find(spelling);
    if (opcode < 0 || !strncmp(spelling, "atom.", 5))
        return simt_refuse(c, "not supported");
    return simt_emit_by_signature(c, opcode);
}

/* lop3.b32 d, a, b, c, table */
bool simt_emit_lop3(struct compiler *c)
{
    const struct rp_ptx_instruction *at = c->at;
    uint32_t rows[4];
    if (at->modifier_count != 1 || strcmp(at->modifiers[0], "b32") != 0)
        return simt_refuse(c, "not supported");
    if (at->operand_count != 5 || at->operands[4].kind != RP_PTX_OPERAND_IMM)
        return simt_refuse(c, "these operands");
    for (uint32_t k = 1; k < 4; k++) {
        if (!source(c, &at->operands[k], 4, &rows[k]))
            return false;
    }
    if (!target(c, &at->operands[0], 4, &rows[0]))
        return false;
    struct simt_op *op = simt_emit(c, SIMT_OP_lop3);
    op->d = rows[0];
    op->a = rows[1];
    op->b = rows[2];
    op->c = rows[3];
    op->imm = at->operands[4].imm;
    return true;
}

/* ---- moves -------------------------------------------------------------------- */

static int move_opcode(uint32_t width)
{
    return width == 2 ? SIMT_OP_mov_16 : width == 4 ? SIMT_OP_mov_32 : SIMT_OP_mov_64;
}

static bool is_constant(const struct rp_ptx_operand *operand)
{
    return operand->kind == RP_PTX_OPERAND_IMM || operand->kind == RP_PTX_OPERAND_VAR ||
           operand->kind == RP_PTX_OPERAND_FUNCTION ||
           (operand->kind == RP_PTX_OPERAND_SREG && operand->sreg != RP_PTX_CLOCK &&
            operand->sreg != RP_PTX_CLOCK_HI && operand->sreg != RP_PTX_CLOCK64 &&
            operand->sreg != RP_PTX_GLOBALTIMER && operand->sreg != RP_PTX_GLOBALTIMER_LO &&
            operand->sreg != RP_PTX_GLOBALTIMER_HI);
}

/* Is the row one of the constants, so that its value never changes? */
static bool is_constant_row(const struct compiler *c, uint32_t row)
{
    for (uint32_t i = 0; i < c->row_count; i++) {
        if (c->rows[i].offset == row)
            return true;
    }
    return false;
}

static bool move_value(struct compiler *c, const struct rp_ptx_operand *to,
                       const struct rp_ptx_operand *from, uint32_t width, enum rp_ptx_type type)
{
    uint32_t d, a;
    if (!simt_operand_value(c, from, width, type, &a))
        return false;
    if (is_constant(from) || is_constant_row(c, a))
        return simt_emit_constant(c, to, width, a);
    if (!simt_operand_target(c, to, width, &d))
        return false;
    struct simt_op *op = simt_emit(c, move_opcode(width));
    op->d = d;
    op->a = a;
    if (c->lazy)
        simt_track(op);
    return true;
}

/* d = {a, b, ...} */
static bool pack(struct compiler *c, uint32_t width)
{
    const struct rp_ptx_operand *vector = &c->at->operands[1];
    const uint32_t count = vector->item_count, piece = count ? width / count : 0;
    const int opcode = width == 4 && count == 2   ? SIMT_OP_pack_2x16
                       : width == 8 && count == 2 ? SIMT_OP_pack_2x32
                       : width == 8 && count == 4 ? SIMT_OP_pack_4x16
                       : width == 2 && count == 2 ? SIMT_OP_pack_2x8
                       : width == 4 && count == 4 ? SIMT_OP_pack_4x8
                                                  : -1;
    uint32_t d, rows[4] = {0};
    if (opcode < 0)
        return simt_refuse(c, "packing %u values into %u bytes", count, width);
    for (uint32_t k = 0; k < count; k++) {
        if (!simt_operand_value(c, &vector->items[k], piece == 1 ? 2 : piece, RP_PTX_NONE,
                                &rows[k]))
            return false;
    }
    if (!target(c, &c->at->operands[0], width, &d))
        return false;
    struct simt_op *op = simt_emit(c, opcode);
    op->d = d;
    op->a = rows[0];
    op->b = rows[1];
    op->c = rows[2];
    op->e = rows[3];
    return true;
}

/* {a, b, ...} = d. A piece may overwrite the source's row only if widths were equal, which
 * they never are. */
static bool unpack(struct compiler *c, uint32_t width)
{
    const struct rp_ptx_operand *vector = &c->at->operands[0];
    const uint32_t count = vector->item_count, piece = count ? width / count : 0;
    const int opcode = width == 4 && piece == 2   ? SIMT_OP_piece_16_32
                       : width == 8 && piece == 2 ? SIMT_OP_piece_16_64
                       : width == 8 && piece == 4 ? SIMT_OP_piece_32_64
                       : width == 2 && piece == 1 ? SIMT_OP_piece_8_16
                       : width == 4 && piece == 1 ? SIMT_OP_piece_8_32
                                                  : -1;
    uint32_t from, d;
    if (opcode < 0 || piece * count != width || count < 2)
        return simt_refuse(c, "unpacking %u values from %u bytes", count, width);
    if (!simt_operand_value(c, &c->at->operands[1], width, RP_PTX_NONE, &from))
        return false;
    for (uint32_t k = 0; k < count; k++) {
        if (vector->items[k].kind == RP_PTX_OPERAND_SINK)
            continue;
        if (!simt_operand_target(c, &vector->items[k], piece == 1 ? 2 : piece, &d))
            return false;
        struct simt_op *op = simt_emit(c, opcode);
        op->d = d;
        op->a = from;
        op->imm = 8 * piece * k;
    }
    return true;
}

bool simt_emit_mov(struct compiler *c)
{
    const struct rp_ptx_instruction *at = c->at;
    if (at->modifier_count != 1 || at->type_count != 1 || at->operand_count != 2)
        return simt_refuse(c, "not supported");
    if (at->type[0] == RP_PTX_PRED)
        return simt_emit_by_signature(c, SIMT_OP_pred_mov);
    const uint32_t width = rp_ptx_type_bytes(at->type[0]);
    if ((width != 2 && width != 4 && width != 8) || at->type[0] == RP_PTX_F16)
        return simt_refuse(c, "not supported");
    if (at->operands[0].kind == RP_PTX_OPERAND_VECTOR)
        return unpack(c, width);
    if (at->operands[1].kind == RP_PTX_OPERAND_VECTOR)
        return pack(c, width);
    return move_value(c, &at->operands[0], &at->operands[1], width, at->type[0]);
}

/* Generic addresses are the addresses of their spaces. */
bool simt_emit_cvta(struct compiler *c)
{
    static const char *const known[] = {"to",    "global",      "shared",      "shared::cta",
                                        "local", "const",       "param",       "param::entry",
                                        "u64",   "u32",         NULL};
    const struct rp_ptx_instruction *at = c->at;
    if (!simt_modifiers_known(c, known))
        return false;
    if (at->type_count != 1 || at->operand_count != 2)
        return simt_refuse(c, "not supported");
    return move_value(c, &at->operands[0], &at->operands[1], rp_ptx_type_bytes(at->type[0]),
                      at->type[0]);
}

bool simt_emit_isspacep(struct compiler *c)
{
    static const char *const known[] = {"global", "shared", "shared::cta", "shared::cluster",
                                        "local", "const", "param", "param::entry", NULL};
    const struct rp_ptx_instruction *at = c->at;
    uint32_t d, a, width;
    if (!simt_modifiers_known(c, known))
        return false;
    if (at->modifier_count != 1 || at->operand_count != 2)
        return simt_refuse(c, "not supported");
    if (!target(c, &at->operands[0], 1, &d) ||
        !simt_operand_any(c, &at->operands[1], 8, RP_PTX_U64, &a, &width))
        return false;
    if (at->space == RP_PTX_CONST || (width != 4 && width != 8))
        return simt_refuse(c, "not supported");
    struct simt_op *op = simt_emit(c, SIMT_OP_isspacep);
    op->d = d;
    op->a = a;
    op->c = at->space;
    op->flags = width == 4 ? SIMT_ADDRESS_32 : 0;
    return true;
}

/* ---- cvt ---------------------------------------------------------------------- */

static bool is_signed(enum rp_ptx_type type)
{
    return type == RP_PTX_S8 || type == RP_PTX_S16 || type == RP_PTX_S32 || type == RP_PTX_S64;
}

static int resize_opcode(uint32_t to, uint32_t from, bool sign)
{
    char key[32];
    snprintf(key, sizeof key, "cvt.%c%u.%c%u", sign ? 's' : 'u', 8 * to, sign ? 's' : 'u',
             8 * from);
    return simt_opcode_find(key);
}

/* Registers may be wider than the type: the low part of a source counts, a result is
 * extended by its type's sign. */
bool simt_emit_cvt(struct compiler *c)
{
    const struct rp_ptx_instruction *at = c->at;
    char spelling[SIMT_SPELLING];
    simt_spell(at, spelling);
    const int opcode = simt_opcode_find(spelling);
    if (opcode < 0)
        return simt_refuse(c, "not supported");
    const struct simt_signature *signature = signature_of(opcode);
    if (signature->width[2])
        return simt_emit_by_signature(c, opcode);
    if (at->operand_count != 2 || at->type_count != 2)
        return simt_refuse(c, "this number of operands");
    uint32_t d, a, d_width, a_width;
    const uint32_t to = signature->width[0], from = signature->width[1];
    if (!simt_operand_any(c, &at->operands[1], from, at->type[1], &a, &a_width) ||
        !simt_operand_target_any(c, &at->operands[0], &d, &d_width))
        return false;
    if (d_width == 0)
        d_width = to;
    if (a_width < from || d_width < to)
        return simt_refuse(c, "a register that is too small");
    if (a_width > from) {
        struct simt_op *narrow = simt_emit_always(c, resize_opcode(from, a_width, false));
        narrow->a = a;
        narrow->d = a = simt_temporary(c, from);
    }
    const bool widen = d_width > to;
    const uint32_t result = widen ? simt_temporary(c, to) : d;
    struct simt_op *op = widen ? simt_emit_always(c, opcode) : simt_emit(c, opcode);
    op->d = result;
    op->a = a;
    if (c->lazy)
        simt_track(op);
    if (widen) {
        op = simt_emit(c, resize_opcode(d_width, to, is_signed(at->type[0])));
        op->d = d;
        op->a = result;
    }
    return true;
}

/* ---- carry chains ------------------------------------------------------------- */

/* add.cc, addc[.cc], sub.cc, subc[.cc], mad.{lo,hi}.cc, madc.{lo,hi}[.cc] */
struct carry_form {
    bool multiplies, high, carry_in, carry_out;
    enum rp_ptx_type type;
};

static bool read_carry_form(const struct rp_ptx_instruction *at, struct carry_form *form)
{
    const bool multiplies = !strncmp(at->op, "mad", 3);
    uint32_t next = 0;
    *form = (struct carry_form){.multiplies = multiplies, .carry_in = at->op[3] == 'c',
                                .type = at->type[0]};
    if (multiplies && at->modifier_count) {
        form->high = !strcmp(at->modifiers[next], "hi");
        if (!form->high && strcmp(at->modifiers[next], "lo") != 0)
            return false;
        next++;
    }
    form->carry_out = next < at->modifier_count && !strcmp(at->modifiers[next], "cc");
    next += form->carry_out;
    return at->type_count == 1 && next + 1 == at->modifier_count &&
           (form->type == RP_PTX_U32 || form->type == RP_PTX_S32 || form->type == RP_PTX_U64 ||
            form->type == RP_PTX_S64) &&
           at->operand_count == (multiplies ? 4 : 3) &&
           (multiplies || !strncmp(at->op, "add", 3) || !strncmp(at->op, "sub", 3));
}

/* -1 when there is none. */
static int carry_opcode(const char *op, const struct carry_form *form)
{
    char id[32];
    if (form->multiplies && form->high)
        snprintf(id, sizeof id, "madc_hi_%s", rp_ptx_type_name(form->type));
    else
        snprintf(id, sizeof id, "%.3sc%s_%u", op, form->multiplies ? "_lo" : "",
                 8 * rp_ptx_type_bytes(form->type));
    for (int k = SIMT_OP_addc_32; k <= SIMT_OP_madc_hi_s64; k++)
        if (!strcmp(signature_of(k)->id, id))
            return k;
    return -1;
}

bool simt_emit_carry(struct compiler *c)
{
    const struct rp_ptx_instruction *at = c->at;
    struct carry_form form;
    if (!read_carry_form(at, &form))
        return simt_refuse(c, "not supported");
    const uint32_t width = rp_ptx_type_bytes(form.type);
    const int opcode = carry_opcode(at->op, &form);
    uint32_t d, rows[4] = {0};
    for (uint32_t k = 1; k < at->operand_count; k++)
        if (!source(c, &at->operands[k], width, &rows[k]))
            return false;
    if (opcode < 0 || !target(c, &at->operands[0], width, &d))
        return simt_refuse(c, "not supported");
    if (!c->carry)
        c->carry = simt_new_row(c, 0);
    struct simt_op *op = simt_emit(c, opcode);
    op->d = d;
    op->a = rows[1];
    op->b = rows[2];
    op->c = form.multiplies ? rows[3] : rows[2];
    op->e = c->carry;
    op->flags = (uint16_t)((form.carry_in ? SIMT_CARRY_IN : 0) |
                           (form.carry_out ? SIMT_CARRY_OUT : 0));
    return true;
}
