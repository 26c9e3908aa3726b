/* SPDX-License-Identifier: Apache-2.0 */
/* Division with rounding down. A quotient of an affine form is affine when what is not
 * divisible stays within one multiple of the divisor; where it does not, the launch may be
 * cut into pieces in which it does. */
#include "cuda/access/run.h"

static int64_t floor_divide(int64_t a, int64_t b) /* b > 0 */
{
    int64_t q = a / b;
    return q - (a % b < 0);
}

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a;
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* a = by * whole + rest; the rest keeps the fuzz and 0 <= its c < by. */
static void take_apart(const struct rp_form *a, int64_t by, struct rp_form *whole,
                       struct rp_form *rest)
{
    rp_form_set(whole, floor_divide(a->c, by));
    rp_form_copy(rest, a);
    rest->c -= whole->c * by;
    rest->root = 0;
    for (uint32_t left = a->mask; left; left &= left - 1) {
        uint32_t v = (uint32_t)__builtin_ctz(left);
        if (a->k[v] % by)
            continue;
        whole->mask |= 1u << v;
        whole->k[v] = a->k[v] / by;
        rest->mask &= ~(1u << v);
    }
}

/* rest / by = (rest / g) / (by / g): if all but a part smaller than g is divisible by g, the
 * part falls away. Puts the quotient by g in *rest and by / g in *by. */
static bool reduce(const struct rp_run *run, struct rp_form *rest, int64_t *by)
{
    for (uint32_t left = rest->mask; left; left &= left - 1) {
        int64_t g = greatest_divisor(rest->k[__builtin_ctz(left)], *by), lo, hi;
        struct rp_form whole, small;
        if (g <= 1)
            continue;
        take_apart(rest, g, &whole, &small);
        if (!rp_form_range(&small, rp_run_box(run), &lo, &hi) || lo < 0 || hi >= g)
            continue;
        rp_form_copy(rest, &whole);
        *by /= g;
        return true;
    }
    return false;
}

void rp_run_request(struct rp_run *run, enum rp_request_kind kind, uint32_t variable, int64_t at,
                    int64_t shift)
{
    if (run->request.kind == RP_REQUEST_NONE)
        run->request = (struct rp_request){.kind = (uint8_t)kind, .variable = variable, .at = at,
                                           .shift = shift};
}

/* The first value of v, above its least, at which floor((k v + c) / by) changes. */
static int64_t next_step(int64_t k, int64_t c, int64_t by, int64_t least)
{
    int64_t now = floor_divide(k * least + c, by);
    if (k > 0) {
        int64_t need = by * (now + 1) - c;
        return need / k + (need % k > 0);
    }
    return floor_divide(c - by * now, -k) + 1;
}

/* Asks for pieces in which the quotient of `rest` is affine. Splitting the variable is best,
 * since it keeps the launch in one piece; but its box must begin and end with a multiple of
 * the divisor. Cutting the box is for what is worth it. */
static void ask(struct rp_run *run, const struct rp_form *rest, int64_t by, bool may_cut)
{
    if (run->no_requests || rest->fuzz || (rest->mask & (rest->mask - 1)))
        return;
    uint32_t v = (uint32_t)__builtin_ctz(rest->mask);
    const struct rp_box *box = rp_run_box(run), *whole = &run->piece->box;
    bool is_loop = v >= RP_VAR_LOOP && v < RP_VAR_PART;
    int64_t k = rest->k[v], lo, hi;
    if (is_loop || k > INT32_MAX || k < INT32_MIN || !rp_form_range(rest, box, &lo, &hi))
        return;
    if (box->hi[v] < whole->hi[v] || box->lo[v] > whole->lo[v]) {
        if (may_cut) /* a guard holds here: first cut where it does */
            rp_run_request(run, RP_REQUEST_CUT, v,
                           box->hi[v] < whole->hi[v] ? box->hi[v] + 1 : box->lo[v], 0);
        return;
    }
    int64_t steps = floor_divide(hi, by) - floor_divide(lo, by);
    /* v = by * q + r - shift, with r in [0, by) */
    int64_t shift = k > 0 ? rest->c : by - 1 - rest->c;
    int64_t first = floor_divide(box->lo[v] + shift + by - 1, by) * by - shift;
    int64_t last = floor_divide(box->hi[v] + 1 + shift, by) * by - shift;
    bool unit = k == 1 || k == -1;
    bool aligned = unit && first == box->lo[v] && last == box->hi[v] + 1;
    if (aligned && run->piece->parts < RP_VARS - RP_VAR_PART)
        rp_run_request(run, RP_REQUEST_SPLIT, v, by, shift);
    else if (may_cut && steps <= 3)
        rp_run_request(run, RP_REQUEST_CUT, v, next_step(k, rest->c, by, box->lo[v]), 0);
    else if (may_cut && unit && !aligned)
        rp_run_request(run, RP_REQUEST_CUT, v, first > box->lo[v] ? first : last, 0);
}

void rp_run_divide(struct rp_run *run, const struct rp_form *a, int64_t by, bool wanted,
                   struct rp_form *out)
{
    struct rp_form whole, rest;
    int64_t lo, hi;
    take_apart(a, by, &whole, &rest);
    while (by > 1 && !rest.fuzz && reduce(run, &rest, &by)) {
        struct rp_form more;
        take_apart(&rest, by, &more, &rest);
        rp_form_add(&whole, &whole, &more);
    }
    if (!rp_run_range(run, &rest, &lo, &hi)) {
        rp_form_unknown(out, 64);
        return;
    }
    int64_t first = floor_divide(lo, by), last = floor_divide(hi, by);
    if (first != last)
        ask(run, &rest, by, wanted);
    struct rp_form part;
    rp_form_interval(&part, first, last);
    rp_form_add(out, &whole, &part);
}
