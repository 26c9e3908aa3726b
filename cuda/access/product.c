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

/* Scaling turns what may be a pointer into an index, unless by so much that it may put the
 * upper half of one into place, or back to where it was before a shift to the right. Any data
 * that is scaled so much may be such a half, or the 0 or 1 that a pointer is multiplied with. */
static uint8_t scaled_flags(const struct rp_form *form, int64_t by, unsigned bits)
{
    bool index = by >= 2 && by <= INT64_C(1) << 20 && !(form->flags & RP_FORM_PART);
    bool data = form->mask || form->fuzz || form->flags;
    uint64_t far = by < 0 ? 0 - (uint64_t)by : (uint64_t)by;
    uint8_t half = bits >= 64 && data && far >= UINT64_C(1) << 31 ? RP_FORM_WILD : 0;
    return half | (form->flags & (uint8_t)(RP_FORM_TOP |
                                           (index ? 0 : RP_FORM_WILD | RP_FORM_PART)));
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
    bool by_b = !b.mask && !b.fuzz && !(b.flags & RP_FORM_TOP);
    if (by_b || (!a.mask && !a.fuzz && !(a.flags & RP_FORM_TOP))) {
        int64_t by = by_b ? b.c : a.c;
        uint8_t flags = scaled_flags(by_b ? &a : &b, by, op->bits);
        rp_form_scale(out, by_b ? &a : &b, by);
        out->flags = flags | (out->flags & RP_FORM_TOP);
    } else {
        bool wild = op->bits >= 64 && !wide && ((a.flags | b.flags) & RP_FORM_WILD);
        multiply_ranges(run, &a, &b, out);
        if (wild)
            out->flags |= RP_FORM_WILD;
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
    } else if (amount >= op->bits) {
        rp_form_set(out, 0);
    } else if (amount > 61) {
        rp_op_unrelated(out, op->bits);
    } else {
        uint8_t flags = scaled_flags(&a, INT64_C(1) << amount, op->bits);
        rp_form_scale(out, &a, INT64_C(1) << amount);
        out->flags = flags | (out->flags & RP_FORM_TOP);
        rp_form_normalise(out, op->bits);
    }
}
