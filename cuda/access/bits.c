/* SPDX-License-Identifier: Apache-2.0 */
/* Logic on bits, where it is arithmetic in disguise. */
#include "cuda/access/op.h"

/* a & mask where the mask's ones are neighbours, from bit `first` to before bit `end`:
 * a mod 2^end - a mod 2^first. */
static bool and_mask(struct rp_run *run, const struct rp_op *op, const struct rp_form *a,
                     int64_t mask, struct rp_form *out)
{
    uint64_t bits = (uint64_t)mask;
    if (op->bits < 64)
        bits &= (UINT64_C(1) << op->bits) - 1;
    if (!bits)
        return false;
    unsigned first = (unsigned)__builtin_ctzll(bits), end = 64 - (unsigned)__builtin_clzll(bits);
    uint64_t ones = bits >> first;
    if ((ones & (ones + 1)) || first > 61 || (end > 61 && end != op->bits))
        return false;
    struct rp_form part;
    if (end == op->bits) /* nothing is cut off above */
        rp_form_copy(out, a);
    else
        rp_op_low_bits(run, a, end, op->wanted, out);
    if (first) {
        rp_op_low_bits(run, a, first, op->wanted, &part);
        rp_form_subtract(out, out, &part);
    }
    if (out->fuzz && end < op->bits) /* the mask says more than the difference does */
        rp_form_interval(out, 0, (int64_t)bits);
    return true;
}

void rp_op_and(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form a, b;
    int64_t mask, lo, hi;
    rp_form_copy(&a, &run->forms[op->a]);
    rp_form_copy(&b, &run->forms[op->b]);
    rp_op_unroot(run, &a);
    rp_op_unroot(run, &b);
    bool near = (a.flags | b.flags) & RP_FORM_NEAR;
    uint8_t strange = op->bits >= 64 ? (a.flags | b.flags) & RP_FORM_STRANGE : 0;
    if (rp_form_is_number(&a) && rp_form_is_number(&b)) {
        rp_form_set(out, a.c & b.c);
        return;
    }
    if (rp_form_is_number(&a)) {
        struct rp_form swap;
        rp_form_copy(&swap, &a);
        rp_form_copy(&a, &b);
        rp_form_copy(&b, &swap);
    }
    if (near || !rp_op_number(&b, op->bits, true, &mask) || !and_mask(run, op, &a, mask, out)) {
        /* the result is no more than an operand that is not negative */
        rp_op_unrelated(out, op->bits);
        if (!near && rp_run_fit(run, &b, op->bits, true) && rp_run_range(run, &b, &lo, &hi) &&
            lo >= 0)
            rp_op_interval(out, 0, hi, op->bits);
        else if (!near && rp_run_fit(run, &a, op->bits, true) &&
                 rp_run_range(run, &a, &lo, &hi) && lo >= 0)
            rp_op_interval(out, 0, hi, op->bits);
    }
    out->flags |= strange;
    rp_form_normalise(out, op->bits);
}

static bool is_known(const struct rp_form *form)
{
    return !form->mask && !form->fuzz && !(form->flags & ~RP_FORM_STRANGE);
}

/* How many low bits of a form are surely zero. */
static unsigned zero_bits(const struct rp_form *form)
{
    uint64_t all = (uint64_t)form->c;
    for (uint32_t rest = form->mask; rest; rest &= rest - 1)
        all |= (uint64_t)form->k[__builtin_ctz(rest)];
    if (form->fuzz || (form->flags & ~RP_FORM_STRANGE))
        return 0;
    return all ? (unsigned)__builtin_ctzll(all) : 62;
}

/* Where no bit is set in both, OR and XOR are sums. */
static bool or_is_sum(const struct rp_run *run, const struct rp_form *a, const struct rp_form *b)
{
    int64_t lo, hi;
    unsigned zeros = zero_bits(a);
    return zeros && rp_run_range(run, b, &lo, &hi) && lo >= 0 &&
           hi < INT64_C(1) << (zeros < 62 ? zeros : 62);
}

void rp_op_or(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form a, b;
    int64_t lo[2], hi[2];
    rp_form_copy(&a, &run->forms[op->a]);
    rp_form_copy(&b, &run->forms[op->b]);
    rp_op_unroot(run, &a);
    rp_op_unroot(run, &b);
    uint8_t strange = op->bits >= 64 ? (a.flags | b.flags) & RP_FORM_STRANGE : 0;
    bool near = (a.flags | b.flags) & RP_FORM_NEAR;
    if (near) {
        rp_op_unrelated(out, op->bits);
        return;
    }
    if (op->kind == RP_OP_XOR && rp_form_is_number(&b) && b.c == -1) {
        rp_form_scale(out, &a, -1);
        out->c -= 1;
    } else if (or_is_sum(run, &a, &b) || or_is_sum(run, &b, &a)) {
        rp_form_add(out, &a, &b);
    } else if (is_known(&a) && is_known(&b)) {
        rp_form_set(out, op->kind == RP_OP_OR ? a.c | b.c : a.c ^ b.c);
    } else {
        rp_op_unrelated(out, op->bits);
        if (rp_run_fit(run, &a, op->bits, true) && rp_run_range(run, &a, &lo[0], &hi[0]) &&
            rp_run_fit(run, &b, op->bits, true) && rp_run_range(run, &b, &lo[1], &hi[1]) &&
            lo[0] >= 0 && lo[1] >= 0 && (hi[0] | hi[1]) < INT64_C(1) << 61) {
            uint64_t all = (uint64_t)(hi[0] | hi[1]);
            uint64_t ones = all ? (UINT64_C(2) << (63 - __builtin_clzll(all))) - 1 : 0;
            rp_op_interval(out, 0, (int64_t)ones, op->bits);
            if (op->bits >= 64)
                out->flags |= RP_FORM_WILD;
        }
    }
    out->flags |= strange;
    rp_form_normalise(out, op->bits);
}
