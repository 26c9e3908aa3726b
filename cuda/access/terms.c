/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/terms.h"

/* ---- facts on the address ----------------------------------------------------- */

static bool same_sum(const struct rp_form *a, const struct rp_form *b, uint32_t mask)
{
    bool same = true;
    for (uint32_t rest = mask; rest && same; rest &= rest - 1) {
        uint32_t v = (uint32_t)__builtin_ctz(rest);
        same = a->k[v] == b->k[v];
    }
    return same;
}

/* A younger fact that says the same and more makes this one superfluous. */
static bool is_implied(const struct rp_covering *at, int32_t index)
{
    const struct rp_fact *facts = at->run->facts, *fact = &facts[index];
    for (int32_t i = at->run->now->facts; i != index; i = facts[i].next)
        if (facts[i].form.mask == fact->form.mask && facts[i].lo >= fact->lo &&
            facts[i].hi <= fact->hi && same_sum(&facts[i].form, &fact->form, fact->form.mask))
            return true;
    return false;
}

static unsigned facts_with(const struct rp_covering *at, uint32_t variable)
{
    unsigned count = 0;
    const struct rp_fact *facts = at->run->facts;
    for (int32_t i = at->run->now->facts; i >= 0; i = facts[i].next)
        count += (facts[i].form.mask >> variable & 1) && !is_implied(at, i);
    return count;
}

/* Takes the variables that the address does not depend on out of a fact: somebody gets there
 * if somebody does with the best of their values. That is exact when nothing else is said of
 * them and the fact has one side only. */
static bool project(struct rp_covering *at, const struct rp_fact *fact, struct rp_tie *tie)
{
    *tie = (struct rp_tie){.form = &fact->form, .mask = fact->form.mask & at->address->mask,
                            .lo = fact->lo, .hi = fact->hi};
    uint32_t hidden = fact->form.mask & ~at->address->mask;
    if (hidden && fact->lo != INT64_MIN && fact->hi != INT64_MAX)
        at->exact = false;
    for (; hidden; hidden &= hidden - 1) {
        uint32_t v = (uint32_t)__builtin_ctz(hidden);
        int64_t k = fact->form.k[v], least, most;
        if (facts_with(at, v) > 1)
            at->exact = false;
        if (__builtin_mul_overflow(k, k > 0 ? at->box->lo[v] : at->box->hi[v], &least) ||
            __builtin_mul_overflow(k, k > 0 ? at->box->hi[v] : at->box->lo[v], &most))
            return false;
        if (tie->lo != INT64_MIN && __builtin_sub_overflow(tie->lo, most, &tie->lo))
            return false;
        if (tie->hi != INT64_MAX && __builtin_sub_overflow(tie->hi, least, &tie->hi))
            return false;
    }
    return true;
}

static void limit(struct rp_covering *at, uint32_t v, int64_t k, int64_t lo, int64_t hi)
{
    if (at->box != &at->narrowed) {
        at->narrowed = *at->box;
        at->box = &at->narrowed;
    }
    if (k < 0) {
        int64_t swap = lo;
        lo = hi == INT64_MAX ? INT64_MIN : -hi;
        hi = swap == INT64_MIN ? INT64_MAX : -swap;
        k = -k;
    }
    if (lo != INT64_MIN) {
        lo = lo / k + (lo % k > 0);
        at->narrowed.lo[v] = lo > at->box->lo[v] ? lo : at->box->lo[v];
    }
    if (hi != INT64_MAX) {
        hi = hi / k - (hi % k < 0);
        at->narrowed.hi[v] = hi < at->box->hi[v] ? hi : at->box->hi[v];
    }
}

/* Two facts about the same sum are one; about sums that share a variable, they are beyond us. */
static void add_tie(struct rp_covering *at, const struct rp_tie *tie)
{
    for (unsigned i = 0; i < at->tie_count; i++) {
        struct rp_tie *known = &at->ties[i];
        if (!(known->mask & tie->mask))
            continue;
        if (known->mask == tie->mask && same_sum(known->form, tie->form, tie->mask)) {
            known->lo = tie->lo > known->lo ? tie->lo : known->lo;
            known->hi = tie->hi < known->hi ? tie->hi : known->hi;
        } else {
            at->exact = false;
        }
        return;
    }
    if (at->tie_count == sizeof(at->ties) / sizeof(at->ties[0]))
        at->exact = false;
    else
        at->ties[at->tie_count++] = *tie;
}

static void gather_facts(struct rp_covering *at)
{
    const struct rp_fact *facts = at->run->facts;
    for (int32_t i = at->run->now->facts; i >= 0; i = facts[i].next) {
        struct rp_tie tie;
        if (is_implied(at, i))
            continue;
        if (!project(at, &facts[i], &tie)) {
            at->exact = false;
        } else if (!tie.mask) {
            at->exact &= tie.lo <= 0 && tie.hi >= 0;
        } else if (!(tie.mask & (tie.mask - 1))) {
            uint32_t v = (uint32_t)__builtin_ctz(tie.mask);
            limit(at, v, facts[i].form.k[v], tie.lo, tie.hi);
        } else {
            add_tie(at, &tie);
        }
    }
}

/* ---- terms -------------------------------------------------------------------- */

/* Adds `stride` * [0, count) from `first` on; false on overflow. */
static bool add_term(struct rp_covering *at, int64_t stride, int64_t first, int64_t count)
{
    int64_t start, span;
    if (count < 1 || __builtin_mul_overflow(stride, first, &start) ||
        __builtin_mul_overflow(stride, count - 1, &span))
        return false;
    if (stride < 0) {
        start += span;
        span = -span;
        stride = -stride;
    }
    if (__builtin_add_overflow(at->base, start, &at->base) ||
        __builtin_add_overflow(at->top, start, &at->top) ||
        __builtin_add_overflow(at->top, span, &at->top))
        return false;
    if (count > 1)
        at->terms[at->term_count++] = (struct rp_term){.stride = (uint64_t)stride,
                                                       .count = (uint64_t)count};
    return true;
}

static bool add_variable(struct rp_covering *at, uint32_t v)
{
    int64_t count;
    return !__builtin_sub_overflow(at->box->hi[v], at->box->lo[v], &count) && count < INT64_MAX &&
           add_term(at, at->address->k[v], at->box->lo[v], count + 1);
}

/* The values of a sum over the box as least + step * [0, count), if that is what they are. */
static bool progression(const struct rp_covering *at, const struct rp_tie *tie, int64_t *least,
                        int64_t *step, int64_t *count)
{
    uint32_t left = tie->mask;
    *least = 0;
    *count = 1;
    *step = 0;
    while (left) {
        uint32_t best = (uint32_t)__builtin_ctz(left);
        for (uint32_t rest = left; rest; rest &= rest - 1) {
            uint32_t v = (uint32_t)__builtin_ctz(rest);
            int64_t k = tie->form->k[v], other = tie->form->k[best];
            if ((k < 0 ? -k : k) < (other < 0 ? -other : other))
                best = v;
        }
        left &= ~(1u << best);
        int64_t k = tie->form->k[best], size = k < 0 ? -k : k, start, more;
        int64_t range = at->box->hi[best] - at->box->lo[best];
        if (range < 0 || range >= RP_HUGE_RANGE ||
            __builtin_mul_overflow(k, k < 0 ? at->box->hi[best] : at->box->lo[best], &start) ||
            __builtin_add_overflow(*least, start, least))
            return false;
        *step = *step ? *step : size;
        if (!*step || size % *step || (range && size / *step > *count) ||
            __builtin_mul_overflow(size / *step, range, &more) ||
            __builtin_add_overflow(*count, more, count))
            return false;
    }
    return *step != 0;
}

static bool add_tied(struct rp_covering *at, const struct rp_tie *tie)
{
    uint32_t first = (uint32_t)__builtin_ctz(tie->mask);
    int64_t ratio = at->address->k[first] / tie->form->k[first], least, step, count;
    for (uint32_t rest = tie->mask; rest; rest &= rest - 1) {
        uint32_t v = (uint32_t)__builtin_ctz(rest);
        int64_t product;
        if (__builtin_mul_overflow(ratio, tie->form->k[v], &product) ||
            product != at->address->k[v])
            return false;
    }
    if (!progression(at, tie, &least, &step, &count))
        return false;
    int64_t from = 0, to = count - 1, gap;
    if (tie->lo > least) {
        if (__builtin_sub_overflow(tie->lo, least, &gap))
            return false;
        from = gap / step + (gap % step > 0);
    }
    if (tie->hi != INT64_MAX) {
        if (__builtin_sub_overflow(tie->hi, least, &gap) || gap < 0)
            return false;
        to = gap / step < to ? gap / step : to;
    }
    int64_t stride, start;
    if (__builtin_mul_overflow(ratio, step, &stride) ||
        __builtin_mul_overflow(ratio, least, &start) ||
        __builtin_add_overflow(at->base, start, &at->base) ||
        __builtin_add_overflow(at->top, start, &at->top))
        return false;
    return add_term(at, stride, from, to - from + 1);
}

/* A sum with gaps that a fact cuts off: of most values of its coarsest variable, all or none
 * is left. Asks to cut the launch where that changes, so that the fact is about the finer
 * variables alone. */
static void ask_to_untie(struct rp_covering *at, const struct rp_tie *tie)
{
    struct rp_run *run = at->run;
    uint32_t coarsest = RP_VARS;
    int64_t least = 0, most = 0;
    for (uint32_t rest = tie->mask; rest; rest &= rest - 1) {
        uint32_t v = (uint32_t)__builtin_ctz(rest);
        if (at->box->lo[v] != at->box->hi[v] &&
            (coarsest == RP_VARS || tie->form->k[v] > tie->form->k[coarsest]))
            coarsest = v;
    }
    bool is_loop = coarsest >= RP_VAR_LOOP && coarsest < RP_VAR_PART;
    if (run->no_requests || coarsest == RP_VARS || is_loop || tie->form->k[coarsest] <= 0 ||
        tie->hi == INT64_MAX || tie->hi > RP_HUGE_RANGE || tie->hi < -RP_HUGE_RANGE)
        return;
    struct rp_form rest;
    rp_form_copy(&rest, tie->form);
    rest.mask = tie->mask & ~(1u << coarsest);
    if (!rp_form_range(&rest, at->box, &least, &most) || most > RP_HUGE_RANGE ||
        least < -RP_HUGE_RANGE)
        return;
    int64_t k = tie->form->k[coarsest], whole = tie->hi - most, some = tie->hi - least;
    int64_t last_whole = whole / k - (whole % k < 0), last_some = some / k - (some % k < 0);
    const struct rp_box *piece = &run->piece->box;
    int64_t cut = last_whole >= at->box->lo[coarsest] ? last_whole + 1 : last_some + 1;
    if (cut > piece->lo[coarsest] && cut <= piece->hi[coarsest])
        run->request = (struct rp_request){.kind = RP_REQUEST_CUT, .variable = coarsest,
                                           .at = cut};
}

/* Makes terms of all variables; false when only the plain range is to be had. */
static bool make_terms(struct rp_covering *at)
{
    uint32_t left = at->address->mask;
    if (at->run->now->facts >= 0)
        gather_facts(at);
    for (unsigned i = 0; i < at->tie_count; i++) {
        int64_t base = at->base, top = at->top;
        if (add_tied(at, &at->ties[i])) { /* its term comes last of all that it does */
            left &= ~at->ties[i].mask;
        } else {
            at->base = base;
            at->top = top;
            if (at->exact && at->wanted)
                ask_to_untie(at, &at->ties[i]);
            at->exact = false;
        }
    }
    for (; left; left &= left - 1)
        if (!add_variable(at, (uint32_t)__builtin_ctz(left)))
            return false;
    return true;
}

static void sort_terms(struct rp_covering *at)
{
    for (unsigned i = 1; i < at->term_count; i++)
        for (unsigned j = i; j && at->terms[j].stride > at->terms[j - 1].stride; j--) {
            struct rp_term swap = at->terms[j];
            at->terms[j] = at->terms[j - 1];
            at->terms[j - 1] = swap;
        }
}

void rp_terms_begin(struct rp_covering *at, struct rp_run *run, const struct rp_form *address,
                    bool wanted)
{
    at->run = run;
    at->address = address;
    at->box = rp_run_box(run);
    at->tie_count = at->term_count = 0;
    at->base = at->top = address->c;
    at->exact = run->now->exact && !address->fuzz;
    at->wanted = wanted;
}

bool rp_terms_find(struct rp_covering *at)
{
    bool made = make_terms(at);
    sort_terms(at);
    return made;
}
