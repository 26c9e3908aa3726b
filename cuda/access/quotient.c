/* SPDX-License-Identifier: Apache-2.0 */
/* Quotients and remainders, and shifts to the right. */
#include "cuda/access/op.h"

void rp_op_shift_right(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form a;
    int64_t amount;
    rp_form_copy(&a, &run->forms[op->a]);
    rp_op_unroot(run, &a);
    /* what is too large for its place may be a pointer that was shifted to the left before */
    bool wild = op->bits >= 64 && (a.flags & (RP_FORM_WILD | RP_FORM_TOP));
    int64_t lo, hi;
    if (!rp_op_shift_amount(run, op, &amount) || (a.flags & RP_FORM_NEAR)) {
        rp_op_unrelated(out, op->bits);
        return;
    }
    if (amount >= op->bits)
        amount = op->bits - (op->is_signed ? 1 : 0);
    bool fits = rp_run_fit(run, &a, op->bits, op->is_signed);
    if (fits && amount < 62) {
        rp_run_divide(run, &a, INT64_C(1) << amount, op->wanted, out);
    } else if (fits && rp_run_range(run, &a, &lo, &hi)) {
        amount = amount > 63 ? 63 : amount;
        rp_form_interval(out, lo >> amount, hi >> amount);
    } else if (op->bits >= 64 || !amount) {
        rp_op_unknown(out, op->bits, 0);
    } else if (op->is_signed) {
        int64_t half = INT64_C(1) << (op->bits - 1 - amount);
        rp_form_interval(out, -half, half - 1);
    } else {
        rp_form_interval(out, 0, (INT64_C(1) << (op->bits - amount)) - 1);
    }
    out->flags |= wild ? RP_FORM_STRANGE : 0;
    rp_form_normalise(out, op->bits);
}

/* a mod 2^n of any integer that is congruent to a register of more than n bits. */
void rp_op_low_bits(struct rp_run *run, const struct rp_form *a, unsigned count, bool wanted,
                    struct rp_form *out)
{
    struct rp_form quotient;
    int64_t by = INT64_C(1) << count;
    if (a->flags & RP_FORM_TOP) {
        rp_form_interval(out, 0, by - 1);
        return;
    }
    rp_run_divide(run, a, by, wanted, &quotient);
    if (quotient.fuzz || (quotient.flags & RP_FORM_TOP)) {
        rp_form_interval(out, 0, by - 1);
        return;
    }
    rp_form_scale(&quotient, &quotient, by);
    rp_form_subtract(out, a, &quotient);
    out->flags = out->flags & RP_FORM_TOP;
    if (a->fuzz)
        rp_form_interval(out, 0, by - 1);
}

static void divide(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form a, b;
    int64_t by, lo, hi, number;
    rp_form_copy(&a, &run->forms[op->a]);
    rp_form_copy(&b, &run->forms[op->b]);
    rp_op_unroot(run, &a);
    rp_op_unroot(run, &b);
    bool remainder = op->kind == RP_OP_REM;
    b.flags &= (uint8_t)~RP_FORM_WILD;
    bool fits = !((a.flags | b.flags) & RP_FORM_NEAR) &&
                rp_run_fit(run, &a, op->bits, op->is_signed) && rp_run_range(run, &a, &lo, &hi);
    rp_op_unrelated(out, op->bits);
    if (!rp_op_number(&b, op->bits, op->is_signed, &by) || by <= 0)
        return;
    if (!fits || lo < 0) {
        if (fits && rp_form_is_number(&a)) {
            number = remainder ? a.c % by : a.c / by;
            rp_op_interval(out, number, number, op->bits);
        } else if (remainder) {
            rp_op_interval(out, op->is_signed ? 1 - by : 0, by - 1, op->bits);
        } else if (fits) {
            rp_op_interval(out, lo / by, hi / by, op->bits);
        }
        return;
    }
    struct rp_form quotient;
    rp_run_divide(run, &a, by, op->wanted, &quotient);
    if (!remainder) {
        rp_form_copy(out, &quotient);
    } else if (quotient.fuzz || a.fuzz || (quotient.flags & RP_FORM_TOP)) {
        rp_form_interval(out, 0, hi < by - 1 ? hi : by - 1);
    } else {
        rp_form_scale(&quotient, &quotient, by);
        rp_form_subtract(out, &a, &quotient);
        out->flags &= RP_FORM_TOP;
    }
    rp_form_normalise(out, op->bits);
}

/* A quotient of what may be a pointer becomes one again when it is multiplied; a remainder is one
 * where the divisor is larger than pointers' differences are. */
void rp_op_divide(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    const struct rp_form *a = &run->forms[op->a], *b = &run->forms[op->b];
    bool wild = op->bits >= 64 && (a->root || (a->flags & (RP_FORM_WILD | RP_FORM_TOP)));
    bool small = rp_form_is_number(b) && b->c > 0 && b->c <= INT64_C(1) << 20;
    divide(run, op, out);
    if (wild && (op->kind == RP_OP_DIV || !small))
        out->flags |= RP_FORM_STRANGE;
}
