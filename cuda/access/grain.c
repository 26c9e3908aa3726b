/* SPDX-License-Identifier: Apache-2.0 */
/* Fine pieces. Where addresses or guards are not affine, but made of nothing but numbers, a small
 * launch is halved until they are: in a piece of one thread everything is a number. Only the
 * coordinates count that the touch depends on: a row index that is taken modulo something needs no
 * cutting along the columns. */
#include "cuda/access/run.h"
#include "cuda/switches.h"

/* The variables that stand for the coordinates in question, parts of divided ones too. */
static uint32_t variables_of(const struct rp_run *run, uint8_t depends)
{
    uint32_t mask = 0;
    for (unsigned i = 0; i < 3; i++) {
        bool tid = depends & RP_DEPENDS_TID << i, ctaid = depends & RP_DEPENDS_CTAID << i;
        if (tid || (ctaid && run->merged[i]))
            mask |= run->piece->tid[i].mask;
        if (ctaid && !run->merged[i])
            mask |= run->piece->ctaid[i].mask;
    }
    return mask;
}

bool rp_run_halve(struct rp_run *run, const struct rp_touch *touch)
{
    const struct rp_box *box = &run->piece->box;
    uint64_t grains = 1, most = 1;
    uint32_t widest = 0;
    if (rp_run_is_untold(run, touch))
        return false;
    run->lacks_walk |= touch->walks;
    if (touch->best > RP_VERDICT_BOUNDED || !rp_switch_on(RP_SWITCH_GRAINS))
        return false;
    run->lacks_grains = true;
    if (run->no_grains)
        return false;
    for (uint32_t rest = variables_of(run, touch->depends); rest; rest &= rest - 1) {
        uint32_t v = (uint32_t)__builtin_ctz(rest);
        uint64_t count = (uint64_t)(box->hi[v] - box->lo[v]) + 1;
        if (count > RP_MOST_GRAINS || (grains *= count) > RP_MOST_GRAINS)
            return false;
        if (count > most) {
            most = count;
            widest = v;
        }
    }
    run->no_grains |= grains == 1 || run->work + grains * run->proof->op_count > RP_GRAIN_WORK;
    if (run->no_grains)
        return false;
    rp_run_request(run, RP_REQUEST_HALVE, widest, box->lo[widest] + (int64_t)(most / 2), 0);
    return true;
}

/* ---- rows ------------------------------------------------------------------------- */

static bool is_plain(const struct rp_cover *cover)
{
    return cover->exact && !cover->term_count;
}

/* `cover` is the next of the row that `known` is. */
static bool extend_row(struct rp_cover *known, const struct rp_cover *cover)
{
    struct rp_term *term = &known->terms[0];
    if (known->term_count > 1 || known->width != cover->width || cover->lo <= known->lo)
        return false;
    if (known->term_count == 0) {
        *term = (struct rp_term){cover->lo - known->lo, 1};
        known->term_count = 1;
    } else if (cover->lo != known->lo + term->stride * term->count) {
        return false;
    }
    term->count++;
    known->hi = cover->hi;
    return true;
}

static bool extend(struct rp_cover *known, const struct rp_cover *cover)
{
    if (known->touch != cover->touch || known->root != cover->root || !known->exact ||
        !is_plain(cover))
        return false;
    if (cover->lo >= known->lo && cover->hi <= known->hi && !known->term_count)
        return true;
    if (!known->term_count && cover->lo <= known->hi && cover->hi >= known->lo) {
        known->lo = cover->lo < known->lo ? cover->lo : known->lo;
        known->hi = cover->hi > known->hi ? cover->hi : known->hi;
        known->width = known->hi - known->lo;
        return true;
    }
    return extend_row(known, cover);
}

void rp_run_join(struct rp_run *run, uint32_t first)
{
    enum { NEAR = 64 };
    uint32_t kept = first;
    for (uint32_t i = first; i < run->found.cover_count; i++) {
        bool joined = false;
        for (uint32_t j = first; j-- > 0 && first - j <= NEAR && !joined;)
            joined = extend(&run->covers[j], &run->covers[i]);
        if (!joined)
            run->covers[kept++] = run->covers[i];
    }
    run->found.cover_count = kept;
}
