/* SPDX-License-Identifier: Apache-2.0 */
/* Loads of what is known as the launch begins: pointers in memory, as far as the caller can tell,
 * and fields of the parameter block that an index picks. All eight bytes there are roots. */
#include "cuda/access/op.h"

#include <string.h>

#define MOST_CUTS 12 /* of a launch, so that each piece has one pointer */

bool rp_run_is_untold(const struct rp_run *run, const struct rp_touch *touch)
{
    return run->untold && (touch->depends & RP_DEPENDS_MEMORY);
}

/* ---- windows ---------------------------------------------------------------------- */

/* Two pointers that are one number now need not be so next time: each has windows of its own. */
static bool holds(const struct rp_window *window, const struct rp_op *op, uint64_t lo, uint64_t hi,
                  int32_t root)
{
    return window->of_params == (op->kind == RP_OP_FIELD) && window->root == root &&
           lo >= window->lo && hi <= window->hi &&
           (op->from < 64 || !window->bytes || (window->first && (lo - window->lo) % 8 == 0));
}

static const struct rp_window *find(const struct rp_run *run, const struct rp_op *op, uint64_t lo,
                                    uint64_t hi, int32_t root)
{
    for (uint32_t i = 0; i < run->window_count; i++)
        if (holds(&run->windows[i], op, lo, hi, root))
            return &run->windows[i];
    return NULL;
}

static const unsigned char *bytes_of(struct rp_run *run, struct rp_window *window)
{
    const struct rp_launch *launch = run->launch;
    uint64_t bytes = window->hi - window->lo;
    unsigned char *to = run->told + run->told_bytes;
    if (window->of_params)
        return window->hi <= launch->param_bytes ? launch->params + window->lo : NULL;
    if (!launch->known || bytes > RP_WINDOW_BYTES - run->told_bytes)
        return NULL;
    window->refused = !launch->known(launch->known_ctx, window->lo, bytes, to);
    if (window->refused)
        return NULL;
    run->told_bytes += (uint32_t)bytes;
    return to;
}

/* All pointers in it become roots; false when there are too many. */
static bool take_slots(struct rp_run *run, struct rp_window *window)
{
    uint32_t count = (uint32_t)((window->hi - window->lo) / 8);
    size_t root = run->proof->root_count + run->slot_count;
    if (count > RP_MAX_SLOTS - run->slot_count)
        return false;
    window->first = (int32_t)root + 1;
    run->slot_count += count;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(&run->root_numbers[root + i], window->bytes + i * 8, 8);
        run->root_known[root + i] = true;
    }
    return true;
}

/* The bytes at [lo, hi), which are asked for once; NULL where they are not known. `root`: lo is
 * counted from it. */
static const struct rp_window *look(struct rp_run *run, const struct rp_op *op, uint64_t lo,
                                    uint64_t hi, int32_t root)
{
    const struct rp_window *known = find(run, op, lo, hi, root);
    if (known)
        return known->bytes ? known : NULL;
    if (run->window_count == RP_MAX_WINDOWS || hi - lo > RP_WINDOW_BYTES)
        return NULL;
    struct rp_window *window = &run->windows[run->window_count++];
    *window = (struct rp_window){.lo = lo, .hi = hi, .of_params = op->kind == RP_OP_FIELD,
                                 .root = root};
    window->bytes = bytes_of(run, window);
    if (window->bytes && op->from == 64 && !take_slots(run, window))
        window->bytes = NULL;
    return window->bytes ? window : NULL;
}

/* ---- values ----------------------------------------------------------------------- */

static uint64_t value_at(const struct rp_window *window, const struct rp_op *op, uint64_t at)
{
    uint64_t value = 0;
    memcpy(&value, window->bytes + (at - window->lo), op->from / 8);
    unsigned shift = 64 - op->from;
    return op->is_signed ? (uint64_t)((int64_t)(value << shift) >> shift) : value;
}

static int32_t slot_at(const struct rp_window *window, uint64_t at)
{
    return window->first ? window->first + (int32_t)((at - window->lo) / 8) : 0;
}

bool rp_run_told(const struct rp_run *run, const struct rp_op *op, uint64_t at, int32_t from,
                 uint64_t *value, int32_t *root)
{
    const struct rp_window *window = find(run, op, at, at + op->from / 8, from);
    if (!window || !window->bytes)
        return false;
    *value = value_at(window, op, at);
    *root = op->from == 64 ? slot_at(window, at) : 0;
    return true;
}

/* Where the load may look: at every `step` bytes of [lo, hi]. */
struct places {
    uint64_t lo, hi, step;
};

static uint64_t step_of(const struct rp_form *form)
{
    uint64_t step = 0;
    for (uint32_t left = form->mask; left; left &= left - 1) {
        int64_t k = form->k[__builtin_ctz(left)];
        uint64_t rest = k < 0 ? 0 - (uint64_t)k : (uint64_t)k;
        while (rest) { /* the greatest that divides both */
            uint64_t more = step % rest;
            step = rest;
            rest = more;
        }
    }
    return step;
}

/* A load lies at a multiple of its size, or it fails. */
static bool find_places(const struct rp_run *run, const struct rp_op *op,
                        const struct rp_form *address, struct places *out)
{
    int64_t lo, hi, size = op->from / 8;
    int64_t number = address->root ? run->root_numbers[address->root - 1] : 0;
    if (!size || (address->flags & (RP_FORM_TOP | RP_FORM_NEAR)) ||
        (address->root && !run->root_known[address->root - 1]) ||
        !rp_run_range(run, address, &lo, &hi) || hi < lo ||
        __builtin_add_overflow(lo, number, &lo) || __builtin_add_overflow(hi, number, &hi) ||
        lo < 0 || hi > INT64_MAX / 2)
        return false;
    out->step = address->fuzz ? 0 : lo == hi ? (uint64_t)size : step_of(address);
    if (!out->step || out->step % (uint64_t)size) {
        if (address->root) /* of another number, other places */
            run->root_used[address->root - 1] = true;
        out->step = (uint64_t)size;
        lo = (lo + size - 1) / size * size;
    }
    out->lo = (uint64_t)lo;
    out->hi = (uint64_t)lo + (uint64_t)(hi - lo) / out->step * out->step;
    return lo <= hi;
}

/* Pieces of the launch in each of which it looks at one place, if these are few. */
static bool ask_apart(struct rp_run *run, const struct rp_op *op, const struct rp_form *address,
                      uint64_t count)
{
    uint32_t mask = address->mask;
    if (run->no_requests || !op->wanted || address->fuzz || count > MOST_CUTS || !mask ||
        (mask & (mask - 1)))
        return false;
    uint32_t v = (uint32_t)__builtin_ctz(mask);
    const struct rp_box *box = rp_run_box(run);
    if ((v >= RP_VAR_LOOP && v < RP_VAR_PART) || box->lo[v] == box->hi[v])
        return false;
    rp_run_request(run, RP_REQUEST_CUT, v, box->lo[v] + 1, 0);
    return true;
}

static void one_of(struct rp_run *run, const struct rp_op *op, const struct rp_window *window,
                   const struct places *places, struct rp_form *out)
{
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    uint64_t count = (places->hi - places->lo) / places->step + 1;
    for (uint64_t at = places->lo; at <= places->hi; at += places->step) {
        int64_t value = (int64_t)value_at(window, op, at);
        lo = value < lo ? value : lo;
        hi = value > hi ? value : hi;
    }
    const struct rp_group pointers = {.first = slot_at(window, places->lo),
                                      .count = (uint32_t)count,
                                      .step = (uint32_t)(places->step / 8)};
    int32_t group = op->from < 64 || (lo >= 0 && hi <= UINT32_MAX)
                        ? 0 : rp_run_make_group(run, pointers);
    if (group) {
        rp_form_set(out, 0);
        out->root = group;
    } else if (op->from < 64 || hi <= UINT32_MAX) {
        rp_op_interval(out, lo, hi, op->bits);
    } else {
        rp_op_unrelated(out, op->bits);
    }
}

/* A parameter's pointers need not begin where it does. */
static uint64_t skew_of(const struct rp_op *op, const struct places *places)
{
    return op->from == 64 ? (places->lo - (uint64_t)op->b) % 8 : 0;
}

void rp_run_load(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    struct rp_form address;
    struct places places = {0};
    const struct rp_window *window = NULL;
    rp_form_copy(&address, &run->forms[op->a]);
    bool is_field = op->kind == RP_OP_FIELD;
    if (is_field) /* an index is a number */
        rp_op_unroot(run, &address);
    bool placed = !__builtin_add_overflow(address.c, op->imm, &address.c) &&
                  find_places(run, op, &address, &places);
    if (is_field) /* all of the parameter, whatever it picks */
        window = look(run, op, op->b + skew_of(op, &places), op->c, 0);
    else if (placed)
        window = look(run, op, places.lo, places.hi + op->from / 8, address.root);
    run->untold |= !window && !is_field;
    bool inside = window && placed && places.lo >= window->lo &&
                  places.hi + op->from / 8 <= window->hi;
    uint64_t count = inside ? (places.hi - places.lo) / places.step + 1 : 0;
    if (!inside || (count > 1 && ask_apart(run, op, &address, count))) {
        rp_form_set(out, 0);
        rp_op_unrelated(out, op->bits);
    } else if (count > 1) {
        one_of(run, op, window, &places, out);
    } else if (op->from == 64) {
        rp_form_set(out, 0);
        out->root = slot_at(window, places.lo);
    } else {
        rp_form_set(out, (int64_t)value_at(window, op, places.lo));
        rp_form_normalise(out, op->bits);
    }
}

/* A pointer as a root of its own. */
static int32_t slot_of(struct rp_run *run, uint64_t pointer)
{
    size_t first = run->proof->root_count, root = first;
    while (root < first + run->slot_count && run->root_numbers[root] != (int64_t)pointer)
        root++;
    if (root == first + RP_MAX_SLOTS)
        return 0;
    run->slot_count += root == first + run->slot_count;
    run->root_numbers[root] = (int64_t)pointer;
    run->root_known[root] = true;
    return (int32_t)root + 1;
}

/* The map's bytes count as any that were picked out of a parameter; its tensor becomes a root. */
void rp_run_map(struct rp_run *run, const struct rp_op *op, struct rp_form *out)
{
    static const struct rp_op as_bytes = {.kind = RP_OP_FIELD, .from = 8};
    uint64_t at = (uint64_t)op->imm, address;
    const struct rp_window *window = look(run, &as_bytes, at, at + RP_MAP_BYTES, 0);
    rp_form_set(out, 0);
    rp_op_unrelated(out, op->bits);
    if (!window || !run->launch->map ||
        !run->launch->map(window->bytes + (at - window->lo), &address))
        return;
    int32_t root = slot_of(run, address);
    if (!root)
        return;
    rp_form_set(out, 0);
    out->root = root;
}

bool rp_run_contradicts(const struct rp_run *run, const struct rp_access_set *set)
{
    for (uint32_t i = 0; i < run->window_count; i++) {
        const struct rp_window *window = &run->windows[i];
        if (window->of_params || !window->bytes)
            continue;
        if (set->writes >= RP_VERDICT_ROOT)
            return true;
        for (size_t j = 0; j < set->count; j++)
            if (set->items[j].effect == RP_WRITE && set->items[j].lo < window->hi &&
                window->lo < set->items[j].hi)
                return true;
    }
    return false;
}
