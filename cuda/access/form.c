/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/form.h"

#include <string.h>

#define EACH_VAR(v, bits) \
    for (uint32_t rest_ = (bits), v; rest_ && (v = (uint32_t)__builtin_ctz(rest_), true); \
         rest_ &= rest_ - 1)

void rp_form_unknown(struct rp_form *form, unsigned bits)
{
    rp_form_set(form, 0);
    if (bits >= 64) {
        form->flags = RP_FORM_TOP;
        return;
    }
    form->c = -(INT64_C(1) << (bits - 1));
    form->fuzz = (UINT64_C(1) << bits) - 1;
}

void rp_form_interval(struct rp_form *form, int64_t lo, int64_t hi)
{
    rp_form_set(form, lo);
    form->fuzz = (uint64_t)hi - (uint64_t)lo;
}

void rp_form_copy(struct rp_form *out, const struct rp_form *from)
{
    out->c = from->c;
    out->fuzz = from->fuzz;
    out->mask = from->mask;
    out->root = from->root;
    out->flags = from->flags;
    EACH_VAR(v, from->mask)
        out->k[v] = from->k[v];
}

bool rp_form_equal(const struct rp_form *a, const struct rp_form *b)
{
    if (a->c != b->c || a->fuzz != b->fuzz || a->mask != b->mask || a->root != b->root ||
        a->flags != b->flags || (a->flags & RP_FORM_TOP))
        return false;
    EACH_VAR(v, a->mask)
        if (a->k[v] != b->k[v])
            return false;
    return true;
}

static void make_top(struct rp_form *form, uint8_t flags)
{
    rp_form_set(form, 0);
    form->flags = flags | RP_FORM_TOP;
}

void rp_form_add(struct rp_form *out, const struct rp_form *a, const struct rp_form *b)
{
    uint8_t flags = a->flags | b->flags;
    uint32_t mask = a->mask | b->mask, kept = 0;
    bool overflow = __builtin_add_overflow(a->c, b->c, &out->c);
    overflow |= __builtin_add_overflow(a->fuzz, b->fuzz, &out->fuzz);
    EACH_VAR(v, mask) {
        int64_t x = a->mask >> v & 1 ? a->k[v] : 0, y = b->mask >> v & 1 ? b->k[v] : 0;
        overflow |= __builtin_add_overflow(x, y, &out->k[v]);
        kept |= out->k[v] ? 1u << v : 0;
    }
    out->mask = kept;
    out->root = 0;
    out->flags = flags;
    if (overflow || (flags & RP_FORM_TOP) || out->fuzz > INT64_MAX)
        make_top(out, flags);
}

void rp_form_scale(struct rp_form *out, const struct rp_form *a, int64_t by)
{
    uint8_t flags = a->flags;
    uint64_t factor = by < 0 ? -(uint64_t)by : (uint64_t)by, fuzz;
    bool overflow = __builtin_mul_overflow(a->fuzz, factor, &fuzz) || fuzz > INT64_MAX;
    overflow |= __builtin_mul_overflow(a->c, by, &out->c);
    EACH_VAR(v, a->mask)
        overflow |= __builtin_mul_overflow(a->k[v], by, &out->k[v]);
    if (by < 0) /* -[0, f] is -f + [0, f] */
        overflow |= __builtin_sub_overflow(out->c, (int64_t)fuzz, &out->c);
    out->mask = by ? a->mask : 0;
    out->fuzz = fuzz;
    out->root = 0;
    out->flags = flags;
    if (overflow || (flags & RP_FORM_TOP))
        make_top(out, flags);
}

void rp_form_subtract(struct rp_form *out, const struct rp_form *a, const struct rp_form *b)
{
    int64_t c;
    if (!b->mask && !b->fuzz && !b->flags && !__builtin_sub_overflow(a->c, b->c, &c)) {
        rp_form_copy(out, a);
        out->c = c;
        out->root = 0;
        return;
    }
    struct rp_form negative;
    rp_form_scale(&negative, b, -1);
    rp_form_add(out, a, &negative);
}

static int64_t wrap(int64_t value, unsigned bits)
{
    unsigned shift = 64 - bits;
    return (int64_t)((uint64_t)value << shift) >> shift;
}

void rp_form_normalise(struct rp_form *form, unsigned bits)
{
    if (bits >= 64)
        return;
    if ((form->flags & RP_FORM_TOP) || form->fuzz >= (UINT64_C(1) << bits) - 1) {
        uint8_t near = form->flags & RP_FORM_NEAR;
        rp_form_unknown(form, bits);
        form->flags |= near;
        return;
    }
    int64_t limit = INT64_C(1) << (bits - 1);
    uint32_t kept = 0;
    EACH_VAR(v, form->mask) {
        if (form->k[v] < -limit || form->k[v] >= limit)
            form->k[v] = wrap(form->k[v], bits);
        kept |= form->k[v] ? 1u << v : 0;
    }
    form->mask = kept;
    form->root = 0;
    form->flags &= RP_FORM_TOP | RP_FORM_NEAR;
    if (form->c < -limit || form->c >= limit)
        form->c = wrap(form->c, bits);
}

bool rp_form_range(const struct rp_form *form, const struct rp_box *box, int64_t *lo, int64_t *hi)
{
    if (form->flags & RP_FORM_TOP)
        return false;
    int64_t low = form->c, high, near, far;
    bool overflow = __builtin_add_overflow(form->c, (int64_t)form->fuzz, &high);
    EACH_VAR(v, form->mask) {
        bool negative = form->k[v] < 0;
        overflow |= __builtin_mul_overflow(form->k[v], negative ? box->hi[v] : box->lo[v], &near);
        overflow |= __builtin_mul_overflow(form->k[v], negative ? box->lo[v] : box->hi[v], &far);
        overflow |= __builtin_add_overflow(low, near, &low);
        overflow |= __builtin_add_overflow(high, far, &high);
    }
    *lo = low;
    *hi = high;
    return !overflow;
}
