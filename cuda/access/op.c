/* SPDX-License-Identifier: Apache-2.0 */
/* One operation of the slice on forms. */
#include "cuda/access/op.h"

#include <string.h>

bool rp_op_number(const struct rp_form *form, unsigned bits, bool is_signed, int64_t *number)
{
    if (!rp_form_is_number(form))
        return false;
    *number = form->c;
    if (!is_signed && bits < 64)
        *number &= (int64_t)((UINT64_C(1) << bits) - 1);
    return is_signed || *number >= 0;
}

bool rp_op_is_small(const struct rp_run *run, int32_t root)
{
    run->root_used[root - 1] = true;
    return run->root_known[root - 1] &&
           (uint64_t)run->root_numbers[root - 1] < RP_LEAST_ADDRESS;
}

void rp_op_unroot(const struct rp_run *run, struct rp_form *form)
{
    if (!form->root)
        return;
    bool small = rp_op_is_small(run, form->root);
    int32_t root = form->root - 1;
    form->root = 0;
    form->flags |= small ? 0 : RP_FORM_WILD;
    run->root_used[root] = true;
    if (!run->root_known[root] ||
        __builtin_add_overflow(form->c, run->root_numbers[root], &form->c))
        form->flags |= RP_FORM_TOP;
}

void rp_op_unknown(struct rp_form *out, unsigned bits, uint8_t flags)
{
    rp_form_unknown(out, bits);
    out->flags |= flags;
}

/* What remains of a value that stands in no affine relation to its operands. */
void rp_op_unrelated(struct rp_form *out, unsigned bits)
{
    rp_op_unknown(out, bits, bits >= 64 ? RP_FORM_WILD : 0);
}

void rp_op_interval(struct rp_form *out, int64_t lo, int64_t hi, unsigned bits)
{
    rp_form_interval(out, lo, hi);
    rp_form_normalise(out, bits);
}

static void induct(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    const struct rp_loop *loop = &run->proof->loops[op->c];
    const struct rp_form *first = &run->forms[op->a];
    struct rp_form turns;
    int64_t lo, hi, a, b;
    struct rp_form step;
    rp_form_copy(&step, &run->forms[op->b]);
    rp_op_unroot(run, &step);
    uint8_t flags = step.flags & (RP_FORM_STRANGE | RP_FORM_NEAR);
    step.flags &= (uint8_t)~RP_FORM_STRANGE;
    if (loop->depth < RP_MAX_DEPTH && rp_form_is_number(&step)) {
        uint32_t counter = RP_VAR_LOOP + loop->depth;
        rp_form_set(&turns, 0);
        turns.mask = step.c ? 1u << counter : 0;
        turns.k[counter] = step.c;
    } else if (loop->depth < RP_MAX_DEPTH && rp_run_range(run, &step, &lo, &hi) &&
               !__builtin_mul_overflow(lo, rp_run_box(run)->hi[RP_VAR_LOOP + loop->depth], &a) &&
               !__builtin_mul_overflow(hi, rp_run_box(run)->hi[RP_VAR_LOOP + loop->depth], &b)) {
        rp_form_interval(&turns, a < 0 ? a : 0, b > 0 ? b : 0);
    } else {
        rp_op_unknown(&turns, op->bits, 0);
    }
    turns.flags |= flags;
    rp_op_add(run, out, first, &turns, op->bits);
}

static void convert(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    rp_form_copy(out, &run->forms[op->a]);
    if (op->from >= 64 && op->bits >= 64)
        return; /* as wide as before */
    uint8_t near = out->flags & RP_FORM_NEAR;
    rp_op_unroot(run, out);
    out->flags &= (uint8_t)~RP_FORM_WILD;
    if (op->from < op->bits) {
        rp_form_normalise(out, op->from);
        if (near || !rp_run_fit(run, out, op->from, op->is_signed)) {
            int64_t half = INT64_C(1) << (op->from - 1);
            rp_form_interval(out, op->is_signed ? -half : 0,
                             op->is_signed ? half - 1 : 2 * half - 1);
        }
    }
    out->flags |= near;
    rp_form_normalise(out, op->bits);
}

static void pack(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form low, high;
    rp_form_copy(&low, &run->forms[op->a]);
    rp_form_copy(&high, &run->forms[op->b]);
    bool known = !((low.flags | high.flags) & RP_FORM_NEAR) && rp_form_is_number(&high) &&
                 rp_run_fit(run, &low, 32, false);
    if (!known) {
        rp_op_unrelated(out, 64);
        return;
    }
    rp_form_copy(out, &low);
    out->c += (int64_t)((uint64_t)high.c << 32);
    if (high.c)
        out->flags |= RP_FORM_WILD;
}

static void upper_half(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form a;
    rp_form_copy(&a, &run->forms[op->a]);
    rp_op_unroot(run, &a);
    a.flags &= (uint8_t)~RP_FORM_WILD;
    if (a.flags & RP_FORM_NEAR)
        rp_op_unknown(out, 32, 0);
    else if (rp_form_is_number(&a))
        rp_form_set(out, a.c >> 32);
    else
        rp_run_divide(run, &a, INT64_C(1) << 32, false, out);
    rp_form_normalise(out, 32);
}

static void load_param(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    uint64_t bits = 0;
    if (op->from == 64) {
        rp_form_set(out, 0);
        out->root = (int32_t)op->a + 1;
        return;
    }
    memcpy(&bits, run->launch->params + op->imm, op->from / 8);
    unsigned shift = 64 - op->from;
    rp_form_set(out, op->is_signed ? (int64_t)(bits << shift) >> shift : (int64_t)bits);
    rp_form_normalise(out, op->bits);
}

static void add_scaled(struct rp_form *out, const struct rp_form *add, int64_t by)
{
    struct rp_form part;
    rp_form_scale(&part, add, by);
    rp_form_add(out, out, &part);
}

/* The lane: the index of the thread in its block, modulo 32. */
static void lane(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form index;
    const uint32_t *block = run->launch->block;
    rp_form_copy(&index, &run->piece->tid[0]);
    add_scaled(&index, &run->piece->tid[1], block[0]);
    add_scaled(&index, &run->piece->tid[2], (int64_t)block[0] * block[1]);
    rp_op_low_bits(run, &index, 5, op->wanted, out);
}

static void special(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    const struct rp_launch *launch = run->launch;
    int64_t sreg = op->imm;
    if (sreg >= RP_PTX_TID_X && sreg <= RP_PTX_TID_Z)
        rp_form_copy(out, &run->piece->tid[sreg - RP_PTX_TID_X]);
    else if (sreg >= RP_PTX_CTAID_X && sreg <= RP_PTX_CTAID_Z)
        rp_form_copy(out, &run->piece->ctaid[sreg - RP_PTX_CTAID_X]);
    else if (sreg >= RP_PTX_NTID_X && sreg <= RP_PTX_NTID_Z)
        rp_form_set(out, launch->block[sreg - RP_PTX_NTID_X]);
    else if (sreg >= RP_PTX_NCTAID_X && sreg <= RP_PTX_NCTAID_Z)
        rp_form_set(out, launch->grid[sreg - RP_PTX_NCTAID_X]);
    else if (sreg == RP_PTX_LANEID)
        lane(run, op, out);
    else if (sreg == RP_PTX_DYNAMIC_SMEM_SIZE)
        rp_form_set(out, launch->shared_bytes);
    else
        rp_op_unknown(out, op->bits, 0);
    rp_form_normalise(out, op->bits);
}

static void opaque(const struct rp_op *op, struct rp_form *out)
{
    unsigned type = (unsigned)op->imm;
    if (op->bits >= 64 && type >= 64) {
        rp_op_unknown(out, 64, RP_FORM_WILD);
    } else if (type < op->bits) {
        int64_t half = INT64_C(1) << (type - 1);
        rp_form_interval(out, op->is_signed ? -half : 0,
                         op->is_signed ? half - 1 : 2 * half - 1);
    } else {
        rp_op_unknown(out, op->bits, 0);
    }
}

/* A predicate is 0 or 1, and no number with a sign. */
static void constant(const struct rp_op *op, struct rp_form *out)
{
    rp_form_set(out, op->imm);
    if (op->bits > 1)
        rp_form_normalise(out, op->bits);
}

static int64_t three_valued(enum rp_op_kind kind, int64_t a, int64_t b)
{
    if (kind == RP_OP_PAND)
        return !a || !b ? 0 : a == 1 && b == 1 ? 1 : 2;
    if (kind == RP_OP_POR)
        return a == 1 || b == 1 ? 1 : !a && !b ? 0 : 2;
    return a == 2 || b == 2 ? 2 : a ^ b;
}

static void predicate(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    int64_t value = 2, condition;
    switch ((int)op->kind) {
    case RP_OP_COMPARE: value = rp_run_compare(run, op); break;
    case RP_OP_PNOT:
        value = run->forms[op->a].c;
        value = value == 2 ? 2 : !value;
        break;
    case RP_OP_PAND: case RP_OP_POR: case RP_OP_PXOR:
        value = three_valued((enum rp_op_kind)op->kind, run->forms[op->a].c, run->forms[op->b].c);
        break;
    case RP_OP_PSELECT:
        condition = run->forms[op->c].c;
        if (condition != 2)
            value = run->forms[condition ? op->a : op->b].c;
        else if (run->forms[op->a].c == run->forms[op->b].c)
            value = run->forms[op->a].c;
        break;
    default: break;
    }
    rp_form_set(out, value);
}

void rp_run_op(struct rp_run *run, uint32_t value)
{
    const struct rp_op *op = &run->proof->ops[value];
    struct rp_form *out = &run->forms[value];
    switch ((enum rp_op_kind)op->kind) {
    case RP_OP_OPAQUE: case RP_OP_CARRIED: opaque(op, out); return;
    case RP_OP_CONST: constant(op, out); return;
    case RP_OP_PARAM: load_param(run, op, out); return;
    case RP_OP_SREG: special(run, op, out); return;
    case RP_OP_ROOT: rp_form_set(out, 0); out->root = (int32_t)op->imm + 1; return;
    case RP_OP_NEAR: rp_op_unknown(out, op->bits, RP_FORM_NEAR); return;
    case RP_OP_LOAD: case RP_OP_FIELD: rp_run_load(run, op, out); return;
    case RP_OP_MAP: rp_run_map(run, op, out); return;
    case RP_OP_GRID:
        if (run->merged[op->imm]) {
            rp_form_copy(out, &run->piece->tid[op->imm]);
            return;
        }
        rp_op_add(run, out, &run->forms[op->a], &run->forms[op->b], op->bits);
        return;
    case RP_OP_ADD: rp_op_add(run, out, &run->forms[op->a], &run->forms[op->b], op->bits); return;
    case RP_OP_SUB:
        rp_op_subtract(run, out, &run->forms[op->a], &run->forms[op->b], op->bits);
        return;
    case RP_OP_MUL: case RP_OP_MUL_WIDE: rp_op_multiply(run, op, out); return;
    case RP_OP_MUL_HI: rp_op_multiply_high(run, op, out); return;
    case RP_OP_SHL: rp_op_shift_left(run, op, out); return;
    case RP_OP_SHR: rp_op_shift_right(run, op, out); return;
    case RP_OP_AND: rp_op_and(run, op, out); return;
    case RP_OP_OR: case RP_OP_XOR: rp_op_or(run, op, out); return;
    case RP_OP_NOT: { /* -1 - a */
        struct rp_form ones;
        rp_form_set(&ones, -1);
        rp_op_subtract(run, out, &ones, &run->forms[op->a], op->bits);
        return;
    }
    case RP_OP_DIV: case RP_OP_REM: rp_op_divide(run, op, out); return;
    case RP_OP_MIN: case RP_OP_MAX: rp_op_least_or_most(run, op, out); return;
    case RP_OP_ABS: rp_op_absolute(run, op, out); return;
    case RP_OP_CONVERT: convert(run, op, out); return;
    case RP_OP_PACK: pack(run, op, out); return;
    case RP_OP_HIGH: upper_half(run, op, out); return;
    case RP_OP_SELECT: rp_op_select(run, op, out); return;
    case RP_OP_PHI: rp_op_phi(run, op, out); return;
    case RP_OP_INDUCTION: induct(run, op, out); return;
    case RP_OP_EXIT: rp_run_leave(run, op, out); return;
    case RP_OP_COMPARE: case RP_OP_PAND: case RP_OP_POR: case RP_OP_PXOR: case RP_OP_PNOT:
    case RP_OP_PSELECT: case RP_OP_PUNKNOWN: case RP_OP_PEXIT: predicate(run, op, out); return;
    }
}
