/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and differences: a pointer keeps its root as long as it is the only one. */
#include "cuda/access/op.h"

/* Of two roots, what can't be a pointer is a number. */
static void tell_apart(const struct rp_run *run, struct rp_form *a, struct rp_form *b)
{
    if (!a->root || !b->root)
        return;
    bool small_a = rp_op_is_small(run, a->root), small_b = rp_op_is_small(run, b->root);
    if (small_a)
        rp_op_unroot(run, a);
    if (small_b)
        rp_op_unroot(run, b);
}

/* A pointer plus an index keeps its root. A pointer plus what may be one itself has none:
 * which of them is the base cannot be told. */
void rp_op_add(const struct rp_run *run, struct rp_form *out, const struct rp_form *left,
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
    tell_apart(run, &a, &b);
    if (a.root && b.root) {
        rp_op_unroot(run, &a);
        rp_op_unroot(run, &b);
    } else if (a.root || b.root) {
        struct rp_form *base = a.root ? &a : &b;
        const struct rp_form *index = a.root ? &b : &a;
        if (index->flags & (RP_FORM_WILD | RP_FORM_NEAR))
            rp_op_unroot(run, base);
        else
            root = base->root;
    }
    bool near = (a.flags | b.flags) & RP_FORM_NEAR;
    bool wild = (a.flags | b.flags) & RP_FORM_WILD;
    rp_form_add(out, &a, &b);
    out->root = root;
    if (near && (wild || (a.flags & b.flags & RP_FORM_NEAR)))
        rp_op_unrelated(out, bits);
    rp_form_normalise(out, bits);
}

void rp_op_subtract(const struct rp_run *run, struct rp_form *out, const struct rp_form *left,
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
    if (a.root && b.root && a.root != b.root)
        tell_apart(run, &a, &b);
    int32_t root = a.root;
    if (b.flags & RP_FORM_NEAR) {
        rp_op_unrelated(out, bits);
        return;
    }
    if (a.root && a.root == b.root && !rp_run_is_group(run, a.root)) { /* within one allocation */
        a.root = b.root = root = 0;
    } else if (b.root || (b.flags & RP_FORM_WILD)) {
        rp_op_unroot(run, &a);
        rp_op_unroot(run, &b);
        root = 0;
        if (a.flags & RP_FORM_NEAR) {
            rp_op_unrelated(out, bits);
            return;
        }
    }
    rp_form_subtract(out, &a, &b);
    out->root = root;
    rp_form_normalise(out, bits);
}
