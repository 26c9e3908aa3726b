/* SPDX-License-Identifier: Apache-2.0 */
/* One operation of the slice on forms. */
#include "cuda/access/run.h"

#include <string.h>

static bool is_number(const struct rp_form *form, unsigned bits, bool is_signed, int64_t *number)
{
    if (!rp_form_is_number(form))
        return false;
    *number = form->c;
    if (!is_signed && bits < 64)
        *number &= (int64_t)((UINT64_C(1) << bits) - 1);
    return is_signed || *number >= 0;
}

/* Takes the root into the number: the value is used as one. */
static void unroot(const struct rp_run *run, struct rp_form *form)
{
    if (!form->root)
        return;
    int32_t root = form->root - 1;
    form->root = 0;
    form->flags |= RP_FORM_WILD;
    run->root_used[root] = true;
    if (!run->root_known[root] ||
        __builtin_add_overflow(form->c, run->root_numbers[root], &form->c))
        form->flags |= RP_FORM_TOP;
}

static void unknown(struct rp_form *out, unsigned bits, uint8_t flags)
{
    rp_form_unknown(out, bits);
    out->flags |= flags;
}

/* What remains of a value that stands in no affine relation to its operands. */
static void unrelated(struct rp_form *out, unsigned bits)
{
    unknown(out, bits, bits >= 64 ? RP_FORM_WILD : 0);
}

static void interval(struct rp_form *out, int64_t lo, int64_t hi, unsigned bits)
{
    rp_form_interval(out, lo, hi);
    rp_form_normalise(out, bits);
}

/* ---- sums --------------------------------------------------------------------- */

/* A pointer plus an index keeps its root. A pointer plus what may be one itself has none:
 * which of them is the base cannot be told. */
static void add(const struct rp_run *run, struct rp_form *out, const struct rp_form *left,
                const struct rp_form *right, unsigned bits)
{
    if (!(left->flags | right->flags) && !(left->root && right->root)) {
        int32_t base = left->root | right->root;
        rp_form_add(out, left, right);
        out->root = base;
        rp_form_normalise(out, bits);
        return;
    }
    struct rp_form a, b;
    rp_form_copy(&a, left);
    rp_form_copy(&b, right);
    int32_t root = 0;
    if (a.root && b.root) {
        unroot(run, &a);
        unroot(run, &b);
    } else if (a.root || b.root) {
        struct rp_form *base = a.root ? &a : &b;
        const struct rp_form *index = a.root ? &b : &a;
        if (index->flags & (RP_FORM_WILD | RP_FORM_NEAR))
            unroot(run, base);
        else
            root = base->root;
    }
    bool near = (a.flags | b.flags) & RP_FORM_NEAR;
    bool wild = (a.flags | b.flags) & RP_FORM_WILD;
    rp_form_add(out, &a, &b);
    out->root = root;
    if (near && (wild || (a.flags & b.flags & RP_FORM_NEAR)))
        unrelated(out, bits);
    rp_form_normalise(out, bits);
}

static void subtract(const struct rp_run *run, struct rp_form *out, const struct rp_form *left,
                     const struct rp_form *right, unsigned bits)
{
    if (!(left->flags | right->flags) && !right->root) {
        int32_t base = left->root;
        rp_form_subtract(out, left, right);
        out->root = base;
        rp_form_normalise(out, bits);
        return;
    }
    struct rp_form a, b;
    rp_form_copy(&a, left);
    rp_form_copy(&b, right);
    int32_t root = a.root;
    if (b.flags & RP_FORM_NEAR) {
        unrelated(out, bits);
        return;
    }
    if (a.root && a.root == b.root) { /* a distance within one allocation */
        a.root = b.root = root = 0;
    } else if (b.root || (b.flags & RP_FORM_WILD)) {
        unroot(run, &a);
        unroot(run, &b);
        root = 0;
        if (a.flags & RP_FORM_NEAR) {
            unrelated(out, bits);
            return;
        }
    }
    rp_form_subtract(out, &a, &b);
    out->root = root;
    rp_form_normalise(out, bits);
}

/* ---- products ----------------------------------------------------------------- */

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
 * upper half of one into place, or back to where it was before a shift to the right. */
static uint8_t scaled_flags(uint8_t flags, int64_t by)
{
    bool index = by >= 2 && by <= INT64_C(1) << 20 && !(flags & RP_FORM_PART);
    return flags & (uint8_t)(RP_FORM_TOP | (index ? 0 : RP_FORM_WILD | RP_FORM_PART));
}

static void multiply(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    bool wide = op->kind == RP_OP_MUL_WIDE;
    struct rp_form a, b;
    rp_form_copy(&a, &run->forms[op->a]);
    rp_form_copy(&b, &run->forms[op->b]);
    unroot(run, &a);
    unroot(run, &b);
    if ((a.flags | b.flags) & RP_FORM_NEAR) {
        unrelated(out, op->bits);
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
        uint8_t flags = by_b ? a.flags : b.flags;
        rp_form_scale(out, by_b ? &a : &b, by);
        out->flags = scaled_flags(flags, by) | (out->flags & RP_FORM_TOP);
    } else {
        multiply_ranges(run, &a, &b, out);
    }
    rp_form_normalise(out, op->bits);
}

static void multiply_high(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form a, b;
    int64_t x, y, lo, hi;
    rp_form_copy(&a, &run->forms[op->a]);
    rp_form_copy(&b, &run->forms[op->b]);
    unrelated(out, op->bits);
    if (op->bits != 32 || !rp_run_fit(run, &a, 32, op->is_signed) ||
        !rp_run_fit(run, &b, 32, op->is_signed))
        return;
    if (is_number(&a, 32, op->is_signed, &x) && is_number(&b, 32, op->is_signed, &y)) {
        int64_t high = op->is_signed ? (x * y) >> 32 : (int64_t)((uint64_t)x * (uint64_t)y >> 32);
        interval(out, high, high, 32);
        return;
    }
    struct rp_form product;
    multiply_ranges(run, &a, &b, &product);
    if (rp_run_range(run, &product, &lo, &hi) && (op->is_signed || lo >= 0))
        interval(out, lo >> 32, hi >> 32, 32);
}

/* ---- shifts and divisions ----------------------------------------------------- */

static bool shift_amount(struct rp_run *run, const struct rp_op *op, int64_t *amount)
{
    return is_number(&run->forms[op->b], 32, false, amount);
}

static void shift_left(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form a;
    int64_t amount;
    rp_form_copy(&a, &run->forms[op->a]);
    unroot(run, &a);
    if (!shift_amount(run, op, &amount) || (a.flags & RP_FORM_NEAR)) {
        unrelated(out, op->bits);
    } else if (amount >= op->bits) {
        rp_form_set(out, 0);
    } else if (amount > 61) {
        unrelated(out, op->bits);
    } else {
        uint8_t flags = a.flags;
        rp_form_scale(out, &a, INT64_C(1) << amount);
        out->flags = scaled_flags(flags, INT64_C(1) << amount) | (out->flags & RP_FORM_TOP);
        rp_form_normalise(out, op->bits);
    }
}

static void shift_right(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form a;
    int64_t amount;
    rp_form_copy(&a, &run->forms[op->a]);
    unroot(run, &a);
    uint8_t wild = op->bits >= 64 && a.flags & RP_FORM_WILD ? RP_FORM_WILD | RP_FORM_PART : 0;
    int64_t lo, hi;
    if (!shift_amount(run, op, &amount) || (a.flags & RP_FORM_NEAR)) {
        unrelated(out, op->bits);
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
        unknown(out, op->bits, 0);
    } else if (op->is_signed) {
        int64_t half = INT64_C(1) << (op->bits - 1 - amount);
        rp_form_interval(out, -half, half - 1);
    } else {
        rp_form_interval(out, 0, (INT64_C(1) << (op->bits - amount)) - 1);
    }
    out->flags |= wild;
    rp_form_normalise(out, op->bits);
}

/* a mod 2^n of any integer that is congruent to a register of more than n bits. */
static void low_bits(struct rp_run *run, const struct rp_form *a, unsigned count, bool wanted,
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
    unroot(run, &a);
    unroot(run, &b);
    bool remainder = op->kind == RP_OP_REM;
    b.flags &= (uint8_t)~RP_FORM_WILD;
    bool fits = !((a.flags | b.flags) & RP_FORM_NEAR) &&
                rp_run_fit(run, &a, op->bits, op->is_signed) && rp_run_range(run, &a, &lo, &hi);
    unrelated(out, op->bits);
    if (!is_number(&b, op->bits, op->is_signed, &by) || by <= 0)
        return;
    if (!fits || lo < 0) {
        if (fits && rp_form_is_number(&a)) {
            number = remainder ? a.c % by : a.c / by;
            interval(out, number, number, op->bits);
        } else if (remainder) {
            interval(out, op->is_signed ? 1 - by : 0, by - 1, op->bits);
        } else if (fits) {
            interval(out, lo / by, hi / by, op->bits);
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

/* ---- bits --------------------------------------------------------------------- */

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
        low_bits(run, a, end, op->wanted, out);
    if (first) {
        low_bits(run, a, first, op->wanted, &part);
        rp_form_subtract(out, out, &part);
    }
    if (out->fuzz && end < op->bits) /* the mask says more than the difference does */
        rp_form_interval(out, 0, (int64_t)bits);
    return true;
}

static void bit_and(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form a, b;
    int64_t mask, lo, hi;
    rp_form_copy(&a, &run->forms[op->a]);
    rp_form_copy(&b, &run->forms[op->b]);
    unroot(run, &a);
    unroot(run, &b);
    bool near = (a.flags | b.flags) & RP_FORM_NEAR;
    bool wild = op->bits >= 64 && ((a.flags | b.flags) & RP_FORM_WILD);
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
    if (near || !is_number(&b, op->bits, true, &mask) || !and_mask(run, op, &a, mask, out)) {
        /* the result is no more than an operand that is not negative */
        unrelated(out, op->bits);
        if (!near && rp_run_fit(run, &b, op->bits, true) && rp_run_range(run, &b, &lo, &hi) &&
            lo >= 0)
            interval(out, 0, hi, op->bits);
        else if (!near && rp_run_fit(run, &a, op->bits, true) &&
                 rp_run_range(run, &a, &lo, &hi) && lo >= 0)
            interval(out, 0, hi, op->bits);
    }
    if (wild)
        out->flags |= RP_FORM_WILD;
    rp_form_normalise(out, op->bits);
}

/* How many low bits of a form are surely zero. */
static unsigned zero_bits(const struct rp_form *form)
{
    uint64_t all = (uint64_t)form->c;
    for (uint32_t rest = form->mask; rest; rest &= rest - 1)
        all |= (uint64_t)form->k[__builtin_ctz(rest)];
    return form->fuzz || form->flags ? 0 : all ? (unsigned)__builtin_ctzll(all) : 62;
}

/* Where no bit is set in both, OR and XOR are sums. */
static bool or_is_sum(const struct rp_run *run, const struct rp_form *a, const struct rp_form *b)
{
    int64_t lo, hi;
    unsigned zeros = zero_bits(a);
    return zeros && rp_run_range(run, b, &lo, &hi) && lo >= 0 &&
           hi < INT64_C(1) << (zeros < 62 ? zeros : 62);
}

static void bit_or(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form a, b;
    int64_t lo[2], hi[2];
    rp_form_copy(&a, &run->forms[op->a]);
    rp_form_copy(&b, &run->forms[op->b]);
    unroot(run, &a);
    unroot(run, &b);
    bool wild = op->bits >= 64 && ((a.flags | b.flags) & RP_FORM_WILD);
    bool near = (a.flags | b.flags) & RP_FORM_NEAR;
    if (near) {
        unrelated(out, op->bits);
        return;
    }
    if (op->kind == RP_OP_XOR && rp_form_is_number(&b) && b.c == -1) {
        rp_form_scale(out, &a, -1);
        out->c -= 1;
    } else if (or_is_sum(run, &a, &b) || or_is_sum(run, &b, &a)) {
        rp_form_add(out, &a, &b);
    } else if (rp_form_is_number(&a) && rp_form_is_number(&b)) {
        rp_form_set(out, op->kind == RP_OP_OR ? a.c | b.c : a.c ^ b.c);
    } else {
        unrelated(out, op->bits);
        if (rp_run_fit(run, &a, op->bits, true) && rp_run_range(run, &a, &lo[0], &hi[0]) &&
            rp_run_fit(run, &b, op->bits, true) && rp_run_range(run, &b, &lo[1], &hi[1]) &&
            lo[0] >= 0 && lo[1] >= 0 && (hi[0] | hi[1]) < INT64_C(1) << 61) {
            uint64_t all = (uint64_t)(hi[0] | hi[1]);
            interval(out, 0, all ? (int64_t)((UINT64_C(2) << (63 - __builtin_clzll(all))) - 1) : 0,
                     op->bits);
            if (op->bits >= 64)
                out->flags |= RP_FORM_WILD;
        }
    }
    if (wild)
        out->flags |= RP_FORM_WILD;
    rp_form_normalise(out, op->bits);
}

/* ---- choices ------------------------------------------------------------------ */

/* A value that is one of several: what they have in common. */
static void join(const struct rp_run *run, struct rp_form *out, const struct rp_form *other,
                 unsigned bits)
{
    if (rp_form_equal(out, other))
        return;
    struct rp_form a, b;
    rp_form_copy(&a, out);
    rp_form_copy(&b, other);
    uint8_t flags = (a.flags | b.flags) & (RP_FORM_WILD | RP_FORM_TOP);
    bool both_near = a.flags & b.flags & RP_FORM_NEAR;
    if (a.root != b.root || ((a.flags ^ b.flags) & RP_FORM_NEAR)) {
        unrelated(out, bits);
        return;
    }
    if (both_near || (flags & RP_FORM_TOP)) {
        unknown(out, bits, flags | (both_near ? RP_FORM_NEAR : 0));
        out->root = bits >= 64 ? a.root : 0;
        return;
    }
    struct rp_form difference;
    int64_t lo, hi;
    int32_t root = a.root;
    a.root = b.root = 0;
    rp_form_subtract(&difference, &b, &a);
    if (!difference.mask && !(difference.flags & RP_FORM_TOP)) { /* alike up to a constant */
        int64_t end_a = (int64_t)a.fuzz, end_b = b.c - a.c + (int64_t)b.fuzz;
        int64_t start = b.c < a.c ? b.c - a.c : 0;
        int64_t end = end_a > end_b ? end_a : end_b;
        rp_form_copy(out, &a);
        out->c += start;
        out->fuzz = (uint64_t)(end - start);
    } else if (rp_run_range(run, &a, &lo, &hi)) {
        int64_t other_lo, other_hi;
        if (rp_run_range(run, &b, &other_lo, &other_hi))
            rp_form_interval(out, lo < other_lo ? lo : other_lo, hi > other_hi ? hi : other_hi);
        else
            unknown(out, bits, 0);
    } else {
        unknown(out, bits, 0);
    }
    out->flags |= flags;
    out->root = root;
    rp_form_normalise(out, bits);
}

static void select_value(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    int64_t condition = run->forms[op->c].c;
    rp_form_copy(out, &run->forms[condition ? op->a : op->b]);
    if (condition == 2)
        join(run, out, &run->forms[op->b], op->bits);
}

static void smaller_or_larger(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form a, b;
    int64_t lo[2], hi[2];
    rp_form_copy(&a, &run->forms[op->a]);
    rp_form_copy(&b, &run->forms[op->b]);
    unroot(run, &a);
    unroot(run, &b);
    bool least = op->kind == RP_OP_MIN;
    if (((a.flags | b.flags) & RP_FORM_NEAR) || !rp_run_fit(run, &a, op->bits, op->is_signed) ||
        !rp_run_fit(run, &b, op->bits, op->is_signed) || !rp_run_range(run, &a, &lo[0], &hi[0]) ||
        !rp_run_range(run, &b, &lo[1], &hi[1])) {
        unrelated(out, op->bits);
        return;
    }
    if (least ? hi[0] <= lo[1] : lo[0] >= hi[1])
        rp_form_copy(out, &a);
    else if (least ? hi[1] <= lo[0] : lo[1] >= hi[0])
        rp_form_copy(out, &b);
    else if (least)
        rp_form_interval(out, lo[0] < lo[1] ? lo[0] : lo[1], hi[0] < hi[1] ? hi[0] : hi[1]);
    else
        rp_form_interval(out, lo[0] > lo[1] ? lo[0] : lo[1], hi[0] > hi[1] ? hi[0] : hi[1]);
    out->flags |= (a.flags | b.flags) & RP_FORM_WILD;
    rp_form_normalise(out, op->bits);
}

static void absolute(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form a;
    int64_t lo, hi;
    rp_form_copy(&a, &run->forms[op->a]);
    unroot(run, &a);
    if (!rp_run_fit(run, &a, op->bits, true) || !rp_run_range(run, &a, &lo, &hi)) {
        unrelated(out, op->bits);
    } else if (lo >= 0) {
        rp_form_copy(out, &a);
    } else if (hi <= 0) {
        rp_form_scale(out, &a, -1);
    } else {
        rp_form_interval(out, 0, -lo > hi ? -lo : hi);
    }
    rp_form_normalise(out, op->bits);
}

static void merge_phi(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    const struct rp_phi_arg *args = run->proof->phi_args + op->a;
    bool found = false;
    for (uint32_t i = 0; i < op->b; i++) {
        if (!run->contexts[args[i].block].live)
            continue;
        if (!found)
            rp_form_copy(out, &run->forms[args[i].value]);
        else if (op->bits == 1)
            out->c = out->c == run->forms[args[i].value].c ? out->c : 2;
        else
            join(run, out, &run->forms[args[i].value], op->bits);
        found = true;
    }
    if (!found)
        unrelated(out, op->bits);
}

/* ---- the rest ----------------------------------------------------------------- */

static void induct(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    const struct rp_loop *loop = &run->proof->loops[op->c];
    const struct rp_form *first = &run->forms[op->a];
    struct rp_form turns;
    int64_t lo, hi, a, b;
    struct rp_form step;
    rp_form_copy(&step, &run->forms[op->b]);
    unroot(run, &step);
    uint8_t flags = step.flags & (RP_FORM_WILD | RP_FORM_NEAR);
    step.flags &= (uint8_t)~RP_FORM_WILD;
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
        unknown(&turns, op->bits, 0);
    }
    turns.flags |= flags;
    add(run, out, first, &turns, op->bits);
}

static void convert(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    rp_form_copy(out, &run->forms[op->a]);
    if (op->from >= 64)
        return; /* as wide as before */
    uint8_t near = out->flags & RP_FORM_NEAR;
    unroot(run, out);
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
        unrelated(out, 64);
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
    unroot(run, &a);
    a.flags &= (uint8_t)~RP_FORM_WILD;
    if (a.flags & RP_FORM_NEAR)
        unknown(out, 32, 0);
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
    low_bits(run, &index, 5, op->wanted, out);
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
        unknown(out, op->bits, 0);
    rp_form_normalise(out, op->bits);
}

static void opaque(const struct rp_op *op, struct rp_form *out)
{
    unsigned type = (unsigned)op->imm;
    if (op->bits >= 64 && type >= 64) {
        unknown(out, 64, RP_FORM_WILD);
    } else if (type < op->bits) {
        int64_t half = INT64_C(1) << (type - 1);
        rp_form_interval(out, op->is_signed ? -half : 0,
                         op->is_signed ? half - 1 : 2 * half - 1);
    } else {
        unknown(out, op->bits, 0);
    }
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
    case RP_OP_OPAQUE: opaque(op, out); return;
    case RP_OP_CONST: rp_form_set(out, op->imm); rp_form_normalise(out, op->bits); return;
    case RP_OP_PARAM: load_param(run, op, out); return;
    case RP_OP_SREG: special(run, op, out); return;
    case RP_OP_ROOT: rp_form_set(out, 0); out->root = (int32_t)op->imm + 1; return;
    case RP_OP_NEAR: unknown(out, op->bits, RP_FORM_NEAR); return;
    case RP_OP_GRID:
        if (run->merged[op->imm]) {
            rp_form_copy(out, &run->piece->tid[op->imm]);
            return;
        }
        add(run, out, &run->forms[op->a], &run->forms[op->b], op->bits);
        return;
    case RP_OP_ADD: add(run, out, &run->forms[op->a], &run->forms[op->b], op->bits); return;
    case RP_OP_SUB: subtract(run, out, &run->forms[op->a], &run->forms[op->b], op->bits); return;
    case RP_OP_MUL: case RP_OP_MUL_WIDE: multiply(run, op, out); return;
    case RP_OP_MUL_HI: multiply_high(run, op, out); return;
    case RP_OP_SHL: shift_left(run, op, out); return;
    case RP_OP_SHR: shift_right(run, op, out); return;
    case RP_OP_AND: bit_and(run, op, out); return;
    case RP_OP_OR: case RP_OP_XOR: bit_or(run, op, out); return;
    case RP_OP_NOT: { /* -1 - a */
        struct rp_form ones;
        rp_form_set(&ones, -1);
        subtract(run, out, &ones, &run->forms[op->a], op->bits);
        return;
    }
    case RP_OP_DIV: case RP_OP_REM: divide(run, op, out); return;
    case RP_OP_MIN: case RP_OP_MAX: smaller_or_larger(run, op, out); return;
    case RP_OP_ABS: absolute(run, op, out); return;
    case RP_OP_CONVERT: convert(run, op, out); return;
    case RP_OP_PACK: pack(run, op, out); return;
    case RP_OP_HIGH: upper_half(run, op, out); return;
    case RP_OP_SELECT: select_value(run, op, out); return;
    case RP_OP_PHI: merge_phi(run, op, out); return;
    case RP_OP_INDUCTION: induct(run, op, out); return;
    case RP_OP_EXIT: rp_run_leave(run, op, out); return;
    case RP_OP_COMPARE: case RP_OP_PAND: case RP_OP_POR: case RP_OP_PXOR: case RP_OP_PNOT:
    case RP_OP_PSELECT: case RP_OP_PUNKNOWN: predicate(run, op, out); return;
    }
}
