/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are one of several. */
#include "cuda/access/op.h"

/* A pointer, or else an address in shared or local memory, by which nobody sees anything: who goes
 * by it goes somewhere by the pointer. */
static bool join_near(struct rp_form *out, const struct rp_form *a, const struct rp_form *b,
                      unsigned bits)
{
    const struct rp_form *near = a->flags & RP_FORM_NEAR ? a : b, *far = near == a ? b : a;
    if (bits < 64 || !(near->flags & RP_FORM_NEAR) || (far->flags & RP_FORM_NEAR) || near->root ||
        !far->root || ((near->flags | far->flags) & RP_FORM_STRANGE))
        return false;
    int32_t root = far->root;
    rp_op_unknown(out, bits, 0);
    out->root = root;
    return true;
}

/* Of two pointers neither is known: each is one of both. */
static void join_roots(struct rp_run *run, struct rp_form *a, struct rp_form *b, unsigned bits)
{
    bool apart = a->root && b->root && a->root != b->root;
    if (bits < 64 || !apart || ((a->flags | b->flags) & (RP_FORM_STRANGE | RP_FORM_NEAR)))
        return;
    int32_t root = rp_run_either(run, a->root, b->root);
    if (root)
        a->root = b->root = root;
}

/* A value that is one of several: what they have in common. */
static void join(struct rp_run *run, struct rp_form *out, const struct rp_form *other,
                 unsigned bits)
{
    if (rp_form_equal(out, other))
        return;
    struct rp_form a, b;
    rp_form_copy(&a, out);
    rp_form_copy(&b, other);
    uint8_t flags = (a.flags | b.flags) & (RP_FORM_STRANGE | RP_FORM_TOP);
    bool both_near = a.flags & b.flags & RP_FORM_NEAR;
    if (join_near(out, &a, &b, bits))
        return;
    join_roots(run, &a, &b, bits);
    if (a.root != b.root || ((a.flags ^ b.flags) & RP_FORM_NEAR)) {
        rp_op_unrelated(out, bits);
        out->flags |= bits >= 64 ? flags & RP_FORM_STRANGE : 0;
        return;
    }
    if (both_near || (flags & RP_FORM_TOP)) {
        rp_op_unknown(out, bits, flags | (both_near ? RP_FORM_NEAR : 0));
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
            rp_op_unknown(out, bits, 0);
    } else {
        rp_op_unknown(out, bits, 0);
    }
    out->flags |= flags;
    out->root = root;
    rp_form_normalise(out, bits);
}

/* The first value of v, above its least, from which on k v + c < 0 is true, or false, or with
 * `equal` from which on k v + c = 0 is. INT64_MIN: there is none. */
static int64_t turning_point(int64_t k, int64_t c, int64_t least, bool equal)
{
    int64_t quotient = -c / k, rest = -c % k;
    int64_t floor = quotient - (rest != 0 && (rest < 0) != (k < 0));
    if (equal)
        return rest ? INT64_MIN : floor > least ? floor : floor + 1;
    if (k > 0)
        return floor + (rest != 0); /* k v + c >= 0 */
    return floor + 1;               /* k v + c < 0 */
}

/* Which of two pointers it is depends on one coordinate, such as the block's: asks for pieces in
 * each of which it is one of them. */
static void ask_apart(struct rp_run *run, uint32_t condition)
{
    const struct rp_op *op = &run->proof->ops[condition];
    struct rp_form form;
    enum rp_compare compare;
    if (run->no_requests || op->kind != RP_OP_COMPARE ||
        !rp_run_difference(run, op, true, &form, &compare) || form.root || form.fuzz ||
        form.flags || !form.mask || (form.mask & (form.mask - 1)))
        return;
    uint32_t v = (uint32_t)__builtin_ctz(form.mask);
    bool is_loop = v >= RP_VAR_LOOP && v < RP_VAR_PART;
    int64_t k = form.k[v];
    if (is_loop || k > INT32_MAX || k < -INT32_MAX || form.c > INT64_MAX / 2 ||
        form.c < -(INT64_MAX / 2))
        return;
    const struct rp_box *box = rp_run_box(run);
    int64_t at = turning_point(k, form.c, box->lo[v], compare != RP_LT);
    if (at > box->lo[v] && at <= box->hi[v])
        rp_run_request(run, RP_REQUEST_CUT, v, at, 0);
}

void rp_op_select(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    int64_t condition = run->forms[op->c].c;
    if (condition == 2 && run->forms[op->a].root != run->forms[op->b].root)
        ask_apart(run, op->c);
    rp_form_copy(out, &run->forms[condition ? op->a : op->b]);
    if (condition == 2)
        join(run, out, &run->forms[op->b], op->bits);
}

void rp_op_least_or_most(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form a, b;
    int64_t lo[2], hi[2];
    rp_form_copy(&a, &run->forms[op->a]);
    rp_form_copy(&b, &run->forms[op->b]);
    rp_op_unroot(run, &a);
    rp_op_unroot(run, &b);
    bool least = op->kind == RP_OP_MIN;
    if (((a.flags | b.flags) & RP_FORM_NEAR) || !rp_run_fit(run, &a, op->bits, op->is_signed) ||
        !rp_run_fit(run, &b, op->bits, op->is_signed) || !rp_run_range(run, &a, &lo[0], &hi[0]) ||
        !rp_run_range(run, &b, &lo[1], &hi[1]))
        rp_op_unrelated(out, op->bits);
    else if (least ? hi[0] <= lo[1] : lo[0] >= hi[1])
        rp_form_copy(out, &a);
    else if (least ? hi[1] <= lo[0] : lo[1] >= hi[0])
        rp_form_copy(out, &b);
    else if (least)
        rp_form_interval(out, lo[0] < lo[1] ? lo[0] : lo[1], hi[0] < hi[1] ? hi[0] : hi[1]);
    else
        rp_form_interval(out, lo[0] > lo[1] ? lo[0] : lo[1], hi[0] > hi[1] ? hi[0] : hi[1]);
    out->flags |= op->bits >= 64 ? (a.flags | b.flags) & RP_FORM_STRANGE : 0;
    rp_form_normalise(out, op->bits);
}

void rp_op_absolute(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form a;
    int64_t lo, hi;
    rp_form_copy(&a, &run->forms[op->a]);
    rp_op_unroot(run, &a);
    if (!rp_run_fit(run, &a, op->bits, true) || !rp_run_range(run, &a, &lo, &hi)) {
        rp_op_unrelated(out, op->bits);
    } else if (lo >= 0) {
        rp_form_copy(out, &a);
    } else if (hi <= 0) {
        rp_form_scale(out, &a, -1);
    } else {
        rp_form_interval(out, 0, -lo > hi ? -lo : hi);
    }
    out->flags |= op->bits >= 64 ? a.flags & RP_FORM_STRANGE : 0;
    rp_form_normalise(out, op->bits);
}

void rp_op_phi(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
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
        rp_op_unrelated(out, op->bits);
}
