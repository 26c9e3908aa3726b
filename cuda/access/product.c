/* SPDX-License-Identifier: Apache-2.0 */
/* Products, and shifts to the left. */
#include "cuda/access/op.h"

/* The product of two ranges, of integers that fit. */
static void multiply_ranges(const struct rp_run *run, const struct rp_form *a,
                            const struct rp_form *b, struct rp_form *out)
{
    int64_t x[2], y[2], lo = INT64_MAX, hi = INT64_MIN, product;
    if (!rp_run_range(run, a, &x[0], &x[1]) || !rp_run_range(run, b, &y[0], &y[1])) {
        rp_form_unknown(out, 64);
        return;
    }
    for (int i = 0; i < 4; i++) {
        if (__builtin_mul_overflow(x[i & 1], y[i >> 1], &product)) {
            rp_form_unknown(out, 64);
            return;
        }
        lo = product < lo ? product : lo;
        hi = product > hi ? product : hi;
    }
    if ((uint64_t)hi - (uint64_t)lo > INT64_MAX)
        rp_form_unknown(out, 64);
    else
        rp_form_interval(out, lo, hi);
}

#define HALF (UINT64_C(1) << 31) /* a factor that puts upper halves into place */
#define FAR (UINT64_C(1) << 40)  /* no buffer has so many bytes */
enum { MOST_STEPS = 8 };         /* that are looked back */

static uint64_t size_of(int64_t number)
{
    return number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
}

/* The number that `op` multiplies 64 bits with, and which operand these are; 0: it does not. */
static uint64_t factor_of(const struct rp_run *run, const struct rp_op *op, uint32_t *operand)
{
    bool shifts = op->kind == RP_OP_SHL, wide = op->kind == RP_OP_MUL_WIDE;
    if (op->bits < 64 || (!shifts && !wide && op->kind != RP_OP_MUL))
        return 0;
    bool by_b = shifts || rp_form_is_number(&run->forms[op->b]);
    const struct rp_form *by = &run->forms[by_b ? op->b : op->a];
    *operand = by_b ? op->a : op->b;
    if (!rp_form_is_number(by))
        return 0;
    if (!shifts)
        return wide && !op->is_signed ? (uint32_t)by->c : size_of(by->c);
    return (uint64_t)by->c < 31 ? UINT64_C(1) << by->c : HALF;
}

/* With how much `value`, or what was added to other parts in it, has been multiplied before, up to
 * HALF: in many steps a half gets as far as in one. */
static uint64_t scaled_before(const struct rp_run *run, uint32_t value, unsigned steps)
{
    const struct rp_op *op = &run->proof->ops[value];
    bool adds = op->kind == RP_OP_ADD || op->kind == RP_OP_OR || op->kind == RP_OP_XOR;
    uint32_t operand;
    uint64_t by = 1, other = 1;
    if (steps == MOST_STEPS || op->bits < 64)
        return 1;
    if (adds) {
        by = scaled_before(run, op->a, steps + 1);
        other = scaled_before(run, op->b, steps + 1);
    } else if ((by = factor_of(run, op, &operand))) {
        by = (by < HALF ? by : HALF) * scaled_before(run, operand, steps + 1);
    }
    by = by > other ? by : other;
    return by < HALF ? by : HALF;
}

/* Scaling turns what may be a pointer into an index, unless by so much that it may put the
 * upper half of one into place, or back to where it was before a shift to the right. All that
 * is scaled so much may be such a half, or the 0 or 1 that a pointer is multiplied with; so may
 * what the launch's arguments make of it, which is a number here. One that is larger than any
 * index may be a pointer, put together of whatever. */
static uint8_t scaled_flags(const struct rp_run *run, uint32_t value, const struct rp_form *form,
                            int64_t by, unsigned bits)
{
    bool index = by >= 2 && by <= INT64_C(1) << 20 && !(form->flags & RP_FORM_PART);
    uint8_t kept = form->flags & (uint8_t)(RP_FORM_TOP | (index ? 0 : RP_FORM_STRANGE));
    bool any = form->c || form->mask || form->fuzz || form->flags;
    if (bits < 64 || !any || !by)
        return kept;
    bool number = !form->mask && !form->fuzz;
    bool far = number && size_of(form->c) >= (FAR - 1) / size_of(by) + 1;
    bool half = size_of(by) >= HALF || scaled_before(run, value, 0) >= HALF / size_of(by);
    return kept | (far || half ? RP_FORM_WILD : 0);
}

void rp_op_multiply(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    bool wide = op->kind == RP_OP_MUL_WIDE;
    struct rp_form a, b;
    rp_form_copy(&a, &run->forms[op->a]);
    rp_form_copy(&b, &run->forms[op->b]);
    rp_op_unroot(run, &a);
    rp_op_unroot(run, &b);
    if ((a.flags | b.flags) & RP_FORM_NEAR) {
        rp_op_unrelated(out, op->bits);
        return;
    }
    if (wide && (!rp_run_fit(run, &a, op->from, op->is_signed) ||
                 !rp_run_fit(run, &b, op->from, op->is_signed))) {
        /* the widest that the product of unknown operands can be, then: their types */
        int64_t half = INT64_C(1) << (op->from - 1), full = half * 2 - 1;
        struct rp_form type;
        rp_form_interval(&type, op->is_signed ? -half : 0, op->is_signed ? half - 1 : full);
        if (!rp_run_fit(run, &a, op->from, op->is_signed))
            rp_form_copy(&a, &type);
        if (!rp_run_fit(run, &b, op->from, op->is_signed))
            rp_form_copy(&b, &type);
    }
    bool by_a = !a.mask && !a.fuzz && !(a.flags & RP_FORM_TOP);
    bool by_b = !b.mask && !b.fuzz && !(b.flags & RP_FORM_TOP);
    if (by_a || by_b) {
        uint8_t flags = by_b ? scaled_flags(run, op->a, &a, b.c, op->bits) : 0;
        flags |= by_a ? scaled_flags(run, op->b, &b, a.c, op->bits) : 0;
        rp_form_scale(out, by_b ? &a : &b, by_b ? b.c : a.c);
        out->flags = flags | (out->flags & RP_FORM_TOP);
    } else {
        bool whole = op->bits >= 64 && !wide;
        uint8_t strange = whole ? (a.flags | b.flags) & RP_FORM_STRANGE : 0;
        multiply_ranges(run, &a, &b, out);
        out->flags |= strange;
    }
    rp_form_normalise(out, op->bits);
}

void rp_op_multiply_high(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form a, b;
    int64_t x, y, lo, hi;
    rp_form_copy(&a, &run->forms[op->a]);
    rp_form_copy(&b, &run->forms[op->b]);
    rp_op_unrelated(out, op->bits);
    if (op->bits != 32 || !rp_run_fit(run, &a, 32, op->is_signed) ||
        !rp_run_fit(run, &b, 32, op->is_signed))
        return;
    if (rp_op_number(&a, 32, op->is_signed, &x) && rp_op_number(&b, 32, op->is_signed, &y)) {
        int64_t high = op->is_signed ? (x * y) >> 32 : (int64_t)((uint64_t)x * (uint64_t)y >> 32);
        rp_op_interval(out, high, high, 32);
        return;
    }
    struct rp_form product;
    multiply_ranges(run, &a, &b, &product);
    if (rp_run_range(run, &product, &lo, &hi) && (op->is_signed || lo >= 0))
        rp_op_interval(out, lo >> 32, hi >> 32, 32);
}

bool rp_op_shift_amount(struct rp_run *run, const struct rp_op *op, int64_t *amount)
{
    return rp_op_number(&run->forms[op->b], 32, false, amount);
}

void rp_op_shift_left(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form a;
    int64_t amount;
    rp_form_copy(&a, &run->forms[op->a]);
    rp_op_unroot(run, &a);
    if (!rp_op_shift_amount(run, op, &amount) || (a.flags & RP_FORM_NEAR)) {
        rp_op_unrelated(out, op->bits);
        out->flags |= op->bits >= 64 ? a.flags & RP_FORM_PART : 0;
    } else if (amount >= op->bits) {
        rp_form_set(out, 0);
    } else if (amount > 61) {
        rp_op_unrelated(out, op->bits);
    } else {
        uint8_t flags = scaled_flags(run, op->a, &a, INT64_C(1) << amount, op->bits);
        rp_form_scale(out, &a, INT64_C(1) << amount);
        out->flags = flags | (out->flags & RP_FORM_TOP);
        rp_form_normalise(out, op->bits);
    }
}
