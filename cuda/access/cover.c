/* SPDX-License-Identifier: Apache-2.0 */
/* What one touch covers: strided terms where they can be had, or a range, or all of a root. */
#include "cuda/access/terms.h"

#include <string.h>

static const char data_address[] = "an address depends on data";
static const char unknown_origin[] = "an address comes from memory or from several pointers";
static const char unknown_pointer[] = "an address is counted from a number that is no pointer";
static const char unknown_map[] = "it copies through a tensor map that is not known";
static const char unknown_global[] = "where a module global stands is not known";
static const char too_many[] = "it has too many different accesses";
static const char uncertain[] = "who gets to an access depends on data or is not linear";

static void note(struct rp_run *run, enum rp_verdict verdict, const char *reason)
{
    if (verdict > run->found.reason_verdict) {
        run->found.reason_verdict = (uint8_t)verdict;
        run->found.reason = reason;
    }
}

/* It is a number: the pointer that belongs to it is not seen. */
static bool is_offset(const struct rp_run *run, int32_t root)
{
    bool is = run->root_known[root - 1] && rp_is_offset((uint64_t)run->root_numbers[root - 1]);
    run->root_used[root - 1] |= is;
    return is;
}

/* A touch of which only the root is known, if that. */
static void give_root(struct rp_run *run, const struct rp_touch *touch,
                      const struct rp_form *address, const char *reason)
{
    run->lacks_walk |= touch->walks && !rp_run_is_untold(run, touch);
    bool named = address->root && !(address->flags & RP_FORM_WILD);
    bool offset = named && is_offset(run, address->root);
    if (!named || offset || !run->root_known[address->root - 1]) {
        enum rp_verdict worst = touch->by_map && touch->effect == RP_WRITE ? RP_VERDICT_EVERYTHING
                                                                           : RP_VERDICT_REACHABLE;
        if (run->found.worst[touch->effect] < worst)
            run->found.worst[touch->effect] = (uint8_t)worst;
        note(run, worst, touch->by_map ? unknown_map : offset ? unknown_pointer
                         : named ? unknown_global : unknown_origin);
        return;
    }
    if (!touch->width)
        return; /* the map is known, and among the parameters */
    unsigned plain = touch->atomic ? 0u : (unsigned)touch->effect << RP_MARK_PLAIN_SHIFT;
    unsigned blind = touch->effect == RP_WRITE && !touch->updates ? RP_MARK_BLIND : 0u;
    run->root_marks[address->root - 1] |= (uint8_t)(touch->effect | plain | blind);
    note(run, RP_VERDICT_ROOT, reason);
}

/* ---- covers -------------------------------------------------------------------- */

enum { FOR_WRITES = RP_MAX_SETS / 4 }; /* that reads leave free, unless each is of another root */

static struct rp_cover *same_kind(struct rp_run *run, const struct rp_cover *cover)
{
    for (uint32_t i = 0; i < run->found.cover_count; i++)
        if (run->covers[i].root == cover->root && run->covers[i].effect == cover->effect)
            return &run->covers[i];
    return NULL;
}

/* All but the hull is lost. */
static void widen(struct rp_run *run, struct rp_cover *known, const struct rp_cover *cover)
{
    known->lo = cover->lo < known->lo ? cover->lo : known->lo;
    known->hi = cover->hi > known->hi ? cover->hi : known->hi;
    known->atomic &= cover->atomic;
    known->updates &= cover->updates;
    known->exact = false;
    known->term_count = 0;
    known->width = known->hi - known->lo;
    run->lacks_walk = true;
    note(run, RP_VERDICT_BOUNDED, too_many);
}

/* Of its root alone something can be said, if it has one. */
static void drop(struct rp_run *run, const struct rp_cover *cover)
{
    struct rp_form root;
    rp_form_set(&root, 0);
    root.root = cover->root;
    give_root(run, &run->proof->touches[cover->touch], &root, too_many);
}

static void add_cover(struct rp_run *run, const struct rp_cover *cover)
{
    uint32_t count = run->found.cover_count;
    bool crowded = count >= RP_MAX_SETS - (cover->effect == RP_READ ? FOR_WRITES : 0);
    struct rp_cover *known = crowded ? same_kind(run, cover) : NULL;
    if (known)
        widen(run, known, cover);
    else if (count < RP_MAX_SETS)
        run->covers[run->found.cover_count++] = *cover;
    else
        drop(run, cover);
}

/* Exact or not, all that is touched lies in the terms that were made; but where facts say more than
 * these do it is taken for all from lo to hi. */
static void put_terms(const struct rp_covering *at, bool made, uint64_t width, int64_t lo,
                      int64_t hi, struct rp_cover *out)
{
    bool rows = made && at->term_count <= RP_MAX_TERMS;
    out->exact = at->exact && rows;
    if (!out->exact && (!rows || lo != at->base || hi != at->top + (int64_t)at->address->fuzz)) {
        out->width = width + (uint64_t)(hi - lo);
        return;
    }
    out->width = width + at->address->fuzz;
    out->term_count = (uint8_t)at->term_count;
    memcpy(out->terms, at->terms, at->term_count * sizeof *at->terms);
}

/* The cover of a touch whose address has bounds; false when it has none after all. */
static bool find_cover(struct rp_run *run, const struct rp_touch *touch,
                       const struct rp_form *address, struct rp_cover *out)
{
    struct rp_covering at;
    int64_t lo, hi, number = address->root ? run->root_numbers[address->root - 1] : 0;
    out->term_count = 0;
    out->lo = out->hi = 0;
    if ((address->root && !run->root_known[address->root - 1]) ||
        !rp_run_range(run, address, &lo, &hi) || hi - lo >= RP_HUGE_RANGE || hi - lo < 0)
        return false;
    rp_terms_begin(&at, run, address, touch->effect == RP_WRITE);
    bool made = rp_terms_find(&at);
    if (made) {
        int64_t top = at.top + (int64_t)address->fuzz;
        lo = at.base > lo ? at.base : lo;
        hi = top < hi ? top : hi;
    }
    if (hi < lo)
        return true; /* the facts contradict each other: nobody gets here */
    put_terms(&at, made, touch->width, lo, hi, out);
    if (__builtin_add_overflow(lo, number, &lo) || __builtin_add_overflow(hi, number, &hi) ||
        lo < 0 || hi > INT64_MAX / 2) {
        if (address->root) /* from another place it may have had bounds */
            run->root_used[address->root - 1] = true;
        return false;
    }
    out->lo = (uint64_t)lo;
    out->hi = (uint64_t)hi + touch->width;
    out->root = address->root;
    return true;
}

static void cover(struct rp_run *run, const struct rp_touch *touch, const struct rp_form *address)
{
    struct rp_cover out;
    if (!find_cover(run, touch, address, &out)) {
        if (!rp_run_halve(run, touch))
            give_root(run, touch, address, "an address has no bounds");
        return;
    }
    if (out.lo == out.hi)
        return;
    out.exact &= touch->certain && !run->one_of_several;
    run->lacks_walk |= !out.exact && touch->walks && !rp_run_is_untold(run, touch);
    bool worth_it = (touch->effect == RP_WRITE || run->one_of_several) &&
                    touch->best == RP_VERDICT_EXACT;
    if (!out.exact && worth_it && rp_run_halve(run, touch))
        return;
    out.touch = (uint32_t)(touch - run->proof->touches);
    out.effect = touch->effect;
    out.atomic = touch->atomic;
    out.updates = touch->updates;
    if (!out.exact)
        note(run, RP_VERDICT_BOUNDED, uncertain);
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
    again.touch = (uint32_t)(touch - run->proof->touches);
    add_cover(run, &again);
    run->last_touch = run->found.cover_count > covers ? touch : NULL;
    return true;
}

static void touch_form(struct rp_run *run, const struct rp_touch *touch, struct rp_form *address)
{
    if (address->flags & RP_FORM_NEAR) {
        if (touch->generic)
            return; /* shared or local after all */
        address->flags |= RP_FORM_WILD;
        give_root(run, touch, address, NULL);
    } else if (touch->verdict >= RP_VERDICT_ROOT) {
        give_root(run, touch, address, touch->reason);
    } else if ((address->flags & RP_FORM_TOP) || address->fuzz >= RP_HUGE_FUZZ) {
        if (!rp_run_halve(run, touch))
            give_root(run, touch, address, data_address);
    } else {
        cover(run, touch, address);
    }
}

/* By one of several pointers: as if by each of them. */
static void touch_group(struct rp_run *run, const struct rp_touch *touch,
                        const struct rp_form *address)
{
    struct rp_form by;
    run->one_of_several = true;
    for (int32_t root = address->root; root; root = rp_run_group(run, root).more) {
        const struct rp_group group = rp_run_group(run, root);
        for (uint32_t i = 0; i < group.count; i++) {
            rp_form_copy(&by, address);
            by.root = group.first + (int32_t)(i * group.step);
            touch_form(run, touch, &by);
        }
    }
    run->one_of_several = false;
}

static void touch_address(struct rp_run *run, const struct rp_touch *touch)
{
    struct rp_form address;
    uint32_t covers = run->found.cover_count;
    rp_form_copy(&address, &run->forms[touch->address]);
    if (__builtin_add_overflow(address.c, touch->offset, &address.c))
        address.flags |= RP_FORM_TOP;
    bool group = rp_run_is_group(run, address.root);
    if (group)
        touch_group(run, touch, &address);
    else
        touch_form(run, touch, &address);
    if (run->found.cover_count > covers && !group)
        run->last_touch = touch;
}

void rp_run_touch(struct rp_run *run, const struct rp_touch *touch)
{
    if (run->walked[touch - run->proof->touches] || repeats_last(run, touch))
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
