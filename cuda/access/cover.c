/* SPDX-License-Identifier: Apache-2.0 */
/* What one touch covers: an affine form over a box, cut by facts, as strided terms. */
#include "cuda/access/run.h"

#define HUGE_RANGE (INT64_C(1) << 40)

static const char data_address[] = "an address depends on data";
static const char unknown_origin[] = "an address comes from memory or from several pointers";
static const char unknown_global[] = "where a module global stands is not known";
static const char uncertain[] = "who gets to an access depends on data or is not linear";

static void note(struct rp_run *run, enum rp_verdict verdict, const char *reason)
{
    if (verdict > run->found.reason_verdict) {
        run->found.reason_verdict = (uint8_t)verdict;
        run->found.reason = reason;
    }
}

/* A touch of which only the root is known, if that. */
static void give_root(struct rp_run *run, const struct rp_touch *touch,
                      const struct rp_form *address, const char *reason)
{
    bool rooted = address->root && !(address->flags & RP_FORM_WILD) &&
                  run->root_known[address->root - 1];
    if (!rooted) {
        if (run->found.worst[touch->effect] < RP_VERDICT_REACHABLE)
            run->found.worst[touch->effect] = RP_VERDICT_REACHABLE;
        bool global = address->root && !(address->flags & RP_FORM_WILD);
        note(run, RP_VERDICT_REACHABLE, global ? unknown_global : unknown_origin);
        return;
    }
    unsigned plain = touch->atomic ? 0u : (unsigned)touch->effect << RP_MARK_PLAIN_SHIFT;
    unsigned blind = touch->effect == RP_WRITE && !touch->updates ? RP_MARK_BLIND : 0u;
    run->root_marks[address->root - 1] |= (uint8_t)(touch->effect | plain | blind);
    note(run, RP_VERDICT_ROOT, reason);
}

/* ---- facts on the address ----------------------------------------------------- */

struct group { /* variables that one fact ties together */
    const struct rp_form *form;
    uint32_t mask; /* of the form, without what the address does not depend on */
    int64_t lo, hi;
};

struct covering {
    struct rp_run *run;
    const struct rp_form *address;
    const struct rp_box *box; /* the context's, or `narrowed` */
    bool exact, wanted;
    unsigned group_count, term_count;
    int64_t base, top; /* lowest byte, and the lowest byte of the highest access */
    struct rp_term terms[RP_VARS];
    struct group groups[8];
    struct rp_box narrowed;
};

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
static bool is_implied(const struct covering *at, int32_t index)
{
    const struct rp_fact *facts = at->run->facts, *fact = &facts[index];
    for (int32_t i = at->run->now->facts; i != index; i = facts[i].next)
        if (facts[i].form.mask == fact->form.mask && facts[i].lo >= fact->lo &&
            facts[i].hi <= fact->hi && same_sum(&facts[i].form, &fact->form, fact->form.mask))
            return true;
    return false;
}

static unsigned facts_with(const struct covering *at, uint32_t variable)
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
static bool project(struct covering *at, const struct rp_fact *fact, struct group *group)
{
    *group = (struct group){.form = &fact->form, .mask = fact->form.mask & at->address->mask,
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
        if (group->lo != INT64_MIN && __builtin_sub_overflow(group->lo, most, &group->lo))
            return false;
        if (group->hi != INT64_MAX && __builtin_sub_overflow(group->hi, least, &group->hi))
            return false;
    }
    return true;
}

static void limit(struct covering *at, uint32_t v, int64_t k, int64_t lo, int64_t hi)
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
static void add_group(struct covering *at, const struct group *group)
{
    for (unsigned i = 0; i < at->group_count; i++) {
        struct group *known = &at->groups[i];
        if (!(known->mask & group->mask))
            continue;
        if (known->mask == group->mask && same_sum(known->form, group->form, group->mask)) {
            known->lo = group->lo > known->lo ? group->lo : known->lo;
            known->hi = group->hi < known->hi ? group->hi : known->hi;
        } else {
            at->exact = false;
        }
        return;
    }
    if (at->group_count == sizeof(at->groups) / sizeof(at->groups[0]))
        at->exact = false;
    else
        at->groups[at->group_count++] = *group;
}

static void gather_facts(struct covering *at)
{
    const struct rp_fact *facts = at->run->facts;
    for (int32_t i = at->run->now->facts; i >= 0; i = facts[i].next) {
        struct group group;
        if (is_implied(at, i))
            continue;
        if (!project(at, &facts[i], &group)) {
            at->exact = false;
        } else if (!group.mask) {
            at->exact &= group.lo <= 0 && group.hi >= 0;
        } else if (!(group.mask & (group.mask - 1))) {
            uint32_t v = (uint32_t)__builtin_ctz(group.mask);
            limit(at, v, facts[i].form.k[v], group.lo, group.hi);
        } else {
            add_group(at, &group);
        }
    }
}

/* ---- terms -------------------------------------------------------------------- */

/* Adds `stride` * [0, count) from `first` on; false on overflow. */
static bool add_term(struct covering *at, int64_t stride, int64_t first, int64_t count)
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

static bool add_variable(struct covering *at, uint32_t v)
{
    int64_t count;
    return !__builtin_sub_overflow(at->box->hi[v], at->box->lo[v], &count) && count < INT64_MAX &&
           add_term(at, at->address->k[v], at->box->lo[v], count + 1);
}

/* The values of a sum over the box as least + step * [0, count), if that is what they are. */
static bool progression(const struct covering *at, const struct group *group, int64_t *least,
                        int64_t *step, int64_t *count)
{
    uint32_t left = group->mask;
    *least = 0;
    *count = 1;
    *step = 0;
    while (left) {
        uint32_t best = (uint32_t)__builtin_ctz(left);
        for (uint32_t rest = left; rest; rest &= rest - 1) {
            uint32_t v = (uint32_t)__builtin_ctz(rest);
            int64_t k = group->form->k[v], other = group->form->k[best];
            if ((k < 0 ? -k : k) < (other < 0 ? -other : other))
                best = v;
        }
        left &= ~(1u << best);
        int64_t k = group->form->k[best], size = k < 0 ? -k : k, start, more;
        int64_t range = at->box->hi[best] - at->box->lo[best];
        if (range < 0 || range >= HUGE_RANGE ||
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

static bool add_tied(struct covering *at, const struct group *group)
{
    uint32_t first = (uint32_t)__builtin_ctz(group->mask);
    int64_t ratio = at->address->k[first] / group->form->k[first], least, step, count;
    for (uint32_t rest = group->mask; rest; rest &= rest - 1) {
        uint32_t v = (uint32_t)__builtin_ctz(rest);
        int64_t product;
        if (__builtin_mul_overflow(ratio, group->form->k[v], &product) ||
            product != at->address->k[v])
            return false;
    }
    if (!progression(at, group, &least, &step, &count))
        return false;
    int64_t from = 0, to = count - 1, gap;
    if (group->lo > least) {
        if (__builtin_sub_overflow(group->lo, least, &gap))
            return false;
        from = gap / step + (gap % step > 0);
    }
    if (group->hi != INT64_MAX) {
        if (__builtin_sub_overflow(group->hi, least, &gap) || gap < 0)
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
static void ask_to_untie(struct covering *at, const struct group *group)
{
    struct rp_run *run = at->run;
    uint32_t coarsest = RP_VARS;
    int64_t least = 0, most = 0;
    for (uint32_t rest = group->mask; rest; rest &= rest - 1) {
        uint32_t v = (uint32_t)__builtin_ctz(rest);
        if (at->box->lo[v] != at->box->hi[v] &&
            (coarsest == RP_VARS || group->form->k[v] > group->form->k[coarsest]))
            coarsest = v;
    }
    bool is_loop = coarsest >= RP_VAR_LOOP && coarsest < RP_VAR_PART;
    if (run->no_requests || coarsest == RP_VARS || is_loop || group->form->k[coarsest] <= 0 ||
        group->hi == INT64_MAX || group->hi > HUGE_RANGE || group->hi < -HUGE_RANGE)
        return;
    struct rp_form rest;
    rp_form_copy(&rest, group->form);
    rest.mask = group->mask & ~(1u << coarsest);
    if (!rp_form_range(&rest, at->box, &least, &most) || most > HUGE_RANGE || least < -HUGE_RANGE)
        return;
    int64_t k = group->form->k[coarsest], whole = group->hi - most, some = group->hi - least;
    int64_t last_whole = whole / k - (whole % k < 0), last_some = some / k - (some % k < 0);
    const struct rp_box *piece = &run->piece->box;
    int64_t cut = last_whole >= at->box->lo[coarsest] ? last_whole + 1 : last_some + 1;
    if (cut > piece->lo[coarsest] && cut <= piece->hi[coarsest])
        run->request = (struct rp_request){.kind = RP_REQUEST_CUT, .variable = coarsest,
                                           .at = cut};
}

/* Makes terms of all variables; false when only the plain range is to be had. */
static bool find_terms(struct covering *at)
{
    uint32_t left = at->address->mask;
    if (at->run->now->facts >= 0)
        gather_facts(at);
    for (unsigned i = 0; i < at->group_count; i++) {
        int64_t base = at->base, top = at->top;
        if (add_tied(at, &at->groups[i])) { /* its term comes last of all that it does */
            left &= ~at->groups[i].mask;
        } else {
            at->base = base;
            at->top = top;
            if (at->exact && at->wanted)
                ask_to_untie(at, &at->groups[i]);
            at->exact = false;
        }
    }
    for (; left; left &= left - 1)
        if (!add_variable(at, (uint32_t)__builtin_ctz(left)))
            return false;
    return true;
}

static void sort_terms(struct covering *at)
{
    for (unsigned i = 1; i < at->term_count; i++)
        for (unsigned j = i; j && at->terms[j].stride > at->terms[j - 1].stride; j--) {
            struct rp_term swap = at->terms[j];
            at->terms[j] = at->terms[j - 1];
            at->terms[j - 1] = swap;
        }
}

/* ------------------------------------------------------------------------------- */

static void add_cover(struct rp_run *run, const struct rp_cover *cover)
{
    if (run->found.cover_count < RP_MAX_SETS) {
        run->covers[run->found.cover_count++] = *cover;
        return;
    }
    /* Full: into the first of the same kind, losing all but the hull. */
    for (uint32_t i = 0; i < RP_MAX_SETS; i++) {
        struct rp_cover *known = &run->covers[i];
        if (known->root != cover->root || known->effect != cover->effect)
            continue;
        known->lo = cover->lo < known->lo ? cover->lo : known->lo;
        known->hi = cover->hi > known->hi ? cover->hi : known->hi;
        known->atomic &= cover->atomic;
        known->updates &= cover->updates;
        known->exact = false;
        note(run, RP_VERDICT_BOUNDED, "it has too many different accesses");
        return;
    }
    if (run->found.worst[cover->effect] < RP_VERDICT_REACHABLE)
        run->found.worst[cover->effect] = RP_VERDICT_REACHABLE;
    note(run, RP_VERDICT_REACHABLE, "it has too many different accesses");
}

/* The cover of a touch whose address has bounds; false when it has none after all. */
static bool find_cover(struct rp_run *run, const struct rp_touch *touch,
                       const struct rp_form *address, struct rp_cover *out)
{
    struct covering at;
    int64_t lo, hi, number = address->root ? run->root_numbers[address->root - 1] : 0;
    out->term_count = 0;
    out->lo = out->hi = 0;
    if ((address->root && !run->root_known[address->root - 1]) ||
        !rp_run_range(run, address, &lo, &hi) || hi - lo >= HUGE_RANGE || hi - lo < 0)
        return false;
    at.run = run;
    at.address = address;
    at.box = rp_run_box(run);
    at.group_count = at.term_count = 0;
    at.base = at.top = address->c;
    at.exact = run->now->exact && !address->fuzz;
    at.wanted = touch->effect == RP_WRITE;
    if (find_terms(&at)) {
        int64_t top = at.top + (int64_t)address->fuzz;
        lo = at.base > lo ? at.base : lo;
        hi = top < hi ? top : hi;
    } else {
        at.exact = false;
    }
    if (hi < lo)
        return true; /* the facts contradict each other: nobody gets here */
    if (__builtin_add_overflow(lo, number, &lo) || __builtin_add_overflow(hi, number, &hi) ||
        lo < 0 || hi > INT64_MAX / 2) {
        if (address->root) /* from another place it may have had bounds */
            run->root_used[address->root - 1] = true;
        return false;
    }
    out->lo = (uint64_t)lo;
    out->hi = (uint64_t)hi + touch->width;
    out->width = touch->width;
    out->root = address->root;
    out->exact = at.exact && at.term_count <= RP_MAX_TERMS;
    sort_terms(&at);
    for (unsigned i = 0; out->exact && i < at.term_count; i++)
        out->terms[out->term_count++] = at.terms[i];
    return true;
}

static void cover(struct rp_run *run, const struct rp_touch *touch, const struct rp_form *address)
{
    struct rp_cover out;
    if (!find_cover(run, touch, address, &out)) {
        give_root(run, touch, address, "an address has no bounds");
        return;
    }
    if (out.lo == out.hi)
        return;
    out.exact &= touch->certain;
    out.effect = touch->effect;
    out.atomic = touch->atomic;
    out.updates = touch->updates;
    if (!out.exact) {
        out.term_count = 0;
        note(run, RP_VERDICT_BOUNDED, uncertain);
    }
    add_cover(run, &out);
}

/* Instructions that read, change and write one place come in pairs. */
static bool repeats_last(struct rp_run *run, const struct rp_touch *touch)
{
    if (touch == run->proof->touches || run->last_touch != touch - 1)
        return false;
    const struct rp_touch *last = touch - 1;
    if (last->address != touch->address || last->offset != touch->offset ||
        last->width != touch->width || last->guard != touch->guard ||
        last->block != touch->block || !touch->certain || !last->certain)
        return false;
    uint32_t covers = run->found.cover_count;
    struct rp_cover again = run->covers[covers - 1];
    again.effect = touch->effect;
    again.atomic = touch->atomic;
    again.updates = touch->updates;
    add_cover(run, &again);
    run->last_touch = run->found.cover_count > covers ? touch : NULL;
    return true;
}

static void touch_address(struct rp_run *run, const struct rp_touch *touch)
{
    struct rp_form address;
    rp_form_copy(&address, &run->forms[touch->address]);
    if (__builtin_add_overflow(address.c, touch->offset, &address.c))
        address.flags |= RP_FORM_TOP;
    if (address.flags & RP_FORM_NEAR) {
        if (touch->generic)
            return; /* shared or local after all */
        address.flags |= RP_FORM_WILD;
        give_root(run, touch, &address, NULL);
    } else if (touch->verdict >= RP_VERDICT_ROOT) {
        give_root(run, touch, &address, touch->reason);
    } else if ((address.flags & RP_FORM_TOP) || address.fuzz >= RP_HUGE_FUZZ) {
        give_root(run, touch, &address, data_address);
    } else {
        uint32_t covers = run->found.cover_count;
        cover(run, touch, &address);
        if (run->found.cover_count > covers)
            run->last_touch = touch;
    }
}

void rp_run_touch(struct rp_run *run, const struct rp_touch *touch)
{
    if (repeats_last(run, touch))
        return;
    struct rp_context *block = run->now, here = *block;
    uint32_t boxes = run->box_count, facts = run->fact_count;
    here.owns_box = false;
    run->now = &here;
    if (touch->guard != RP_NONE)
        rp_run_assume(run, touch->guard, touch->sense, 0);
    if (here.live && touch->address == RP_NONE) {
        if (run->found.worst[touch->effect] < touch->verdict)
            run->found.worst[touch->effect] = touch->verdict;
        note(run, (enum rp_verdict)touch->verdict, touch->reason);
    } else if (here.live) {
        touch_address(run, touch);
    }
    run->box_count = boxes;
    run->fact_count = facts;
    run->now = block;
}
