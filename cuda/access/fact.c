/* SPDX-License-Identifier: Apache-2.0 */
/* Linear facts: from guards to bounds. */
#include "cuda/access/run.h"

#include <string.h>

static int64_t floor_divide(int64_t a, int64_t b) /* b > 0 */
{
    int64_t q = a / b;
    return q - (a % b < 0);
}

static int64_t ceil_divide(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q + (a % b > 0);
}

/* True when form = ratio * fact's form + rest, over the fact's variables. */
static bool proportional(const struct rp_form *form, const struct rp_form *fact, int64_t *ratio)
{
    if (!fact->mask || (form->mask & fact->mask) != fact->mask)
        return false;
    uint32_t first = (uint32_t)__builtin_ctz(fact->mask);
    if (form->k[first] % fact->k[first])
        return false;
    *ratio = form->k[first] / fact->k[first];
    for (uint32_t rest = fact->mask; rest; rest &= rest - 1) {
        uint32_t v = (uint32_t)__builtin_ctz(rest);
        int64_t product;
        if (__builtin_mul_overflow(*ratio, fact->k[v], &product) || product != form->k[v])
            return false;
    }
    return true;
}

/* Narrows [lo, hi] of `form` by one fact about a part of it. */
static void narrow(const struct rp_run *run, const struct rp_form *form,
                   const struct rp_fact *fact, int64_t *lo, int64_t *hi)
{
    int64_t ratio, part_lo, part_hi, rest_lo, rest_hi;
    const struct rp_box *box = rp_run_box(run);
    if (!proportional(form, &fact->form, &ratio) ||
        !rp_form_range(&fact->form, box, &part_lo, &part_hi))
        return;
    struct rp_form rest;
    rp_form_copy(&rest, form);
    rest.mask &= ~fact->form.mask;
    if (!rp_form_range(&rest, box, &rest_lo, &rest_hi))
        return;
    part_lo = fact->lo > part_lo ? fact->lo : part_lo;
    part_hi = fact->hi < part_hi ? fact->hi : part_hi;
    int64_t a, b;
    bool overflow = __builtin_mul_overflow(ratio, ratio < 0 ? part_hi : part_lo, &a);
    overflow |= __builtin_mul_overflow(ratio, ratio < 0 ? part_lo : part_hi, &b);
    overflow |= __builtin_add_overflow(a, rest_lo, &a);
    overflow |= __builtin_add_overflow(b, rest_hi, &b);
    if (overflow)
        return;
    *lo = a > *lo ? a : *lo;
    *hi = b < *hi ? b : *hi;
}

bool rp_run_range(const struct rp_run *run, const struct rp_form *form, int64_t *lo, int64_t *hi)
{
    if (!rp_form_range(form, rp_run_box(run), lo, hi)) {
        if (form->flags & RP_FORM_TOP)
            return false;
        *lo = INT64_MIN; /* a variable without an end may still be bounded by a fact */
        *hi = INT64_MAX;
    }
    for (int32_t at = run->now->facts; at >= 0; at = run->facts[at].next)
        narrow(run, form, &run->facts[at], lo, hi);
    return *lo != INT64_MIN && *hi != INT64_MAX && *lo <= *hi;
}

/* Moves [lo, hi] by whole turns of 2^bits into the type's range. */
static bool turn(struct rp_form *form, unsigned bits, bool is_signed, int64_t lo, int64_t hi)
{
    int64_t span = INT64_C(1) << bits, low = is_signed ? -(span / 2) : 0, moved, shift, c;
    if (__builtin_sub_overflow(lo, low, &moved) ||
        __builtin_mul_overflow(floor_divide(moved, span), span, &shift) ||
        __builtin_sub_overflow(hi, shift, &moved) || moved >= low + span ||
        __builtin_sub_overflow(form->c, shift, &c))
        return false;
    form->c = c;
    return true;
}

bool rp_run_fit(const struct rp_run *run, struct rp_form *form, unsigned bits, bool is_signed)
{
    int64_t lo, hi;
    bool known = rp_form_range(form, rp_run_box(run), &lo, &hi);
    if (bits < 64 && known && turn(form, bits, is_signed, lo, hi))
        return true;
    if (bits >= 64 && known && (is_signed || lo >= 0))
        return true;
    if (!rp_run_range(run, form, &lo, &hi)) /* the facts may say more than the box */
        return false;
    return bits < 64 ? turn(form, bits, is_signed, lo, hi) : is_signed || lo >= 0;
}

/* ---- adding ------------------------------------------------------------------- */

/* The box of the present context, its own to change. */
static struct rp_box *own_box(struct rp_run *run)
{
    if (!run->now->owns_box) {
        run->boxes[run->box_count] = *rp_run_box(run);
        run->now->box = run->box_count++;
        run->now->owns_box = true;
    }
    return rp_run_box(run);
}

static void limit_variable(struct rp_run *run, uint32_t v, int64_t lo, int64_t hi)
{
    struct rp_box *box = rp_run_box(run);
    if (lo <= box->lo[v] && hi >= box->hi[v])
        return;
    if (lo > box->hi[v] || hi < box->lo[v] || lo > hi) {
        run->now->live = false;
        return;
    }
    box = own_box(run);
    box->lo[v] = lo > box->lo[v] ? lo : box->lo[v];
    box->hi[v] = hi < box->hi[v] ? hi : box->hi[v];
}

/* lo <= k * v <= hi */
static void limit_scaled(struct rp_run *run, uint32_t v, int64_t k, int64_t lo, int64_t hi)
{
    if (k < 0) {
        int64_t swap = lo;
        lo = hi == INT64_MAX ? INT64_MIN : -hi;
        hi = swap == INT64_MIN ? INT64_MAX : -swap;
        k = -k;
    }
    limit_variable(run, v, lo == INT64_MIN ? lo : ceil_divide(lo, k),
                   hi == INT64_MAX ? hi : floor_divide(hi, k));
}

/* A sum that can only just be reached is reached by its extreme alone. */
static void limit_to_extreme(struct rp_run *run, const struct rp_form *form, bool least)
{
    for (uint32_t rest = form->mask; rest; rest &= rest - 1) {
        uint32_t v = (uint32_t)__builtin_ctz(rest);
        const struct rp_box *box = rp_run_box(run);
        int64_t end = (form->k[v] > 0) == least ? box->lo[v] : box->hi[v];
        limit_variable(run, v, end, end);
    }
}

void rp_run_fact(struct rp_run *run, const struct rp_form *form, int64_t lo, int64_t hi)
{
    int64_t low, high;
    if (form->fuzz) { /* form + f is within [lo, hi] for some f in [0, fuzz] */
        run->now->exact = false;
        if (lo != INT64_MIN && __builtin_sub_overflow(lo, (int64_t)form->fuzz, &lo))
            lo = INT64_MIN;
    }
    struct rp_form bare;
    rp_form_copy(&bare, form);
    bare.c = 0;
    bare.fuzz = 0;
    if ((lo != INT64_MIN && __builtin_sub_overflow(lo, form->c, &lo)) ||
        (hi != INT64_MAX && __builtin_sub_overflow(hi, form->c, &hi))) {
        run->now->exact = false;
        return;
    }
    if (!rp_form_range(&bare, rp_run_box(run), &low, &high)) {
        low = INT64_MIN;
        high = INT64_MAX;
    } else if (low >= lo && high <= hi) {
        return;
    } else if (low > hi || high < lo || lo > hi) {
        run->now->live = false;
        return;
    } else if (low == hi || high == lo) {
        limit_to_extreme(run, &bare, low == hi);
        return;
    }
    if (!(bare.mask & (bare.mask - 1))) {
        uint32_t v = (uint32_t)__builtin_ctz(bare.mask);
        limit_scaled(run, v, bare.k[v], lo, hi);
    } else if (run->fact_count == RP_MAX_FACTS) {
        run->now->exact = false;
    } else {
        struct rp_fact *fact = &run->facts[run->fact_count];
        rp_form_copy(&fact->form, &bare);
        fact->lo = lo;
        fact->hi = hi;
        fact->next = run->now->facts;
        run->now->facts = (int32_t)run->fact_count++;
    }
}

/* ---- comparisons -------------------------------------------------------------- */

static enum rp_compare opposite(enum rp_compare compare)
{
    static const enum rp_compare not[] = {[RP_EQ] = RP_NE, [RP_NE] = RP_EQ, [RP_LT] = RP_GE,
                                          [RP_LE] = RP_GT, [RP_GT] = RP_LE, [RP_GE] = RP_LT};
    return not[compare];
}

/* The number that a form with a root is; false when that is not known. */
static bool as_number(const struct rp_run *run, struct rp_form *form)
{
    if (!form->root)
        return !(form->flags & (RP_FORM_TOP | RP_FORM_NEAR));
    int32_t root = form->root - 1;
    form->root = 0;
    run->root_used[root] = true;
    return !(form->flags & RP_FORM_TOP) && run->root_known[root] &&
           !__builtin_add_overflow(form->c, run->root_numbers[root], &form->c);
}

bool rp_run_difference(struct rp_run *run, const struct rp_op *op, bool sense,
                       struct rp_form *difference, enum rp_compare *compare)
{
    struct rp_form a, b;
    rp_form_copy(&a, &run->forms[op->a]);
    rp_form_copy(&b, &run->forms[op->b]);
    enum rp_compare how = (enum rp_compare)op->compare;
    if (!sense)
        how = opposite(how);
    if (!as_number(run, &a) || !as_number(run, &b))
        return false;
    bool fits = rp_run_fit(run, &a, op->from, op->is_signed) &&
                rp_run_fit(run, &b, op->from, op->is_signed);
    if (!fits && (how == RP_EQ || how == RP_NE)) /* equal or not as the other kind of number */
        fits = rp_run_fit(run, &a, op->from, !op->is_signed) &&
               rp_run_fit(run, &b, op->from, !op->is_signed);
    if (!fits)
        return false;
    bool swap = how == RP_GT || how == RP_GE;
    rp_form_subtract(difference, swap ? &b : &a, swap ? &a : &b);
    if (difference->flags & RP_FORM_TOP)
        return false;
    if (how == RP_LE || how == RP_GE) /* a <= b is a - b - 1 < 0 */
        difference->c -= 1;
    *compare = how == RP_EQ || how == RP_NE ? how : RP_LT;
    return true;
}

int rp_run_compare(struct rp_run *run, const struct rp_op *op)
{
    struct rp_form difference;
    enum rp_compare compare;
    int64_t lo, hi;
    if (!rp_run_difference(run, op, true, &difference, &compare) ||
        !rp_run_range(run, &difference, &lo, &hi))
        return 2;
    if (compare == RP_LT)
        return hi < 0 ? 1 : lo >= 0 ? 0 : 2;
    if (lo > 0 || hi < 0)
        return compare == RP_NE;
    return lo == 0 && hi == 0 ? compare == RP_EQ : 2;
}

/* Unsigned a < b says two things of an `a` that may be negative as a signed number. */
static bool assume_in_range(struct rp_run *run, const struct rp_op *op, bool sense)
{
    enum rp_compare how = sense ? (enum rp_compare)op->compare
                                : opposite((enum rp_compare)op->compare);
    struct rp_form a, b, difference;
    if (op->is_signed || how == RP_EQ || how == RP_NE)
        return false;
    bool swap = how == RP_GT || how == RP_GE;
    rp_form_copy(&a, &run->forms[swap ? op->b : op->a]);
    rp_form_copy(&b, &run->forms[swap ? op->a : op->b]);
    if (!as_number(run, &a) || !as_number(run, &b) || !rp_run_fit(run, &a, op->from, true) ||
        !rp_run_fit(run, &b, op->from, true))
        return false;
    int64_t lo, hi;
    if (!rp_run_range(run, &b, &lo, &hi) || lo < 0)
        return false;
    rp_form_subtract(&difference, &a, &b);
    if (difference.flags & RP_FORM_TOP)
        return false;
    rp_run_fact(run, &a, 0, INT64_MAX);
    if (run->now->live)
        rp_run_fact(run, &difference, INT64_MIN, how == RP_LT || how == RP_GT ? -1 : 0);
    return true;
}

/* form != 0 cuts something off only at an end of its range. */
static void assume_different(struct rp_run *run, const struct rp_form *form)
{
    int64_t lo, hi;
    if (form->fuzz || !rp_run_range(run, form, &lo, &hi)) {
        run->now->exact = false;
        return;
    }
    if (lo > 0 || hi < 0)
        return;
    if (lo == 0)
        rp_run_fact(run, form, 1, INT64_MAX);
    else if (hi == 0)
        rp_run_fact(run, form, INT64_MIN, -1);
    else
        run->now->exact = false;
}

static void assume_compare(struct rp_run *run, const struct rp_op *op, bool sense)
{
    struct rp_form difference;
    enum rp_compare compare;
    if (!rp_run_difference(run, op, sense, &difference, &compare)) {
        if (!assume_in_range(run, op, sense))
            run->now->exact = false;
    } else if (compare == RP_NE) {
        assume_different(run, &difference);
    } else {
        rp_run_fact(run, &difference, compare == RP_EQ ? 0 : INT64_MIN,
                    compare == RP_EQ ? 0 : -1);
    }
}

void rp_run_assume(struct rp_run *run, uint32_t value, bool sense, unsigned depth)
{
    const struct rp_op *op = &run->proof->ops[value];
    int64_t known = run->forms[value].c;
    if (known != 2) {
        if (known != sense)
            run->now->live = false;
        return;
    }
    bool both = op->kind == RP_OP_PAND ? sense : !sense; /* of an OR: neither */
    if (depth > 16) {
        run->now->exact = false;
    } else if (op->kind == RP_OP_PNOT) {
        rp_run_assume(run, op->a, !sense, depth + 1);
    } else if ((op->kind == RP_OP_PAND || op->kind == RP_OP_POR) && both) {
        rp_run_assume(run, op->a, sense, depth + 1);
        if (run->now->live)
            rp_run_assume(run, op->b, sense, depth + 1);
    } else if (op->kind == RP_OP_PAND || op->kind == RP_OP_POR) {
        /* One of the two; which, is clear if the other is known not to be. */
        if (run->forms[op->a].c == !sense)
            rp_run_assume(run, op->b, sense, depth + 1);
        else if (run->forms[op->b].c == !sense)
            rp_run_assume(run, op->a, sense, depth + 1);
        else
            run->now->exact = false;
    } else if (op->kind == RP_OP_COMPARE) {
        assume_compare(run, op, sense);
    } else {
        run->now->exact = false;
    }
}
