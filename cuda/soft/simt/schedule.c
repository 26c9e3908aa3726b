/* SPDX-License-Identifier: Apache-2.0 */
/* Splits of a warp: who runs next, and who has met. */
#include "cuda/soft/simt/machine.h"

static bool meets(const struct simt_split *a, const struct simt_split *b)
{
    return a->state == SIMT_READY && b->state == SIMT_READY && a->op == b->op &&
           a->frame == b->frame;
}

void simt_warp_park(struct simt_warp *warp, const struct simt_split *split)
{
    for (uint32_t i = 0; i < warp->parked_count; i++) {
        if (meets(&warp->parked[i], split)) {
            warp->parked[i].mask |= split->mask;
            return;
        }
    }
    warp->parked[warp->parked_count++] = *split;
}

/* Deeper frames first, so that a call ends before its callers go on; then the lower
 * address, so that those behind catch up. */
static bool runs_before(const struct simt_split *a, const struct simt_split *b)
{
    if (a->frame->depth != b->frame->depth)
        return a->frame->depth > b->frame->depth;
    return (uintptr_t)a->op < (uintptr_t)b->op;
}

static int choose(const struct simt_warp *warp)
{
    int best = -1;
    for (int i = 0; i < (int)warp->parked_count; i++) {
        const struct simt_split *split = &warp->parked[i];
        if (split->state != SIMT_READY)
            continue;
        if (best < 0 || (warp->holding ? split->stamp < warp->parked[best].stamp
                                       : runs_before(split, &warp->parked[best])))
            best = i;
    }
    return best;
}

static void join_parked(struct simt_warp *warp)
{
    for (uint32_t i = 0; i < warp->parked_count;) {
        if (meets(&warp->parked[i], &warp->now)) {
            warp->now.mask |= warp->parked[i].mask;
            warp->parked[i] = warp->parked[--warp->parked_count];
        } else {
            i++;
        }
    }
}

/* After a turn is used up the split that has waited longest runs, and those that stand
 * lower (they may be spinning on a lock that it holds) don't preempt it until it blocks or
 * its own turn is used up. */
bool simt_warp_switch(struct simt_warp *warp)
{
    if (warp->now.mask && warp->holding) {
        join_parked(warp);
        return true;
    }
    if (warp->now.mask)
        simt_warp_park(warp, &warp->now);
    warp->holding = warp->rotate;
    warp->rotate = false;
    const int next = choose(warp);
    if (next < 0) {
        warp->now.mask = 0;
        return false;
    }
    warp->now = warp->parked[next];
    warp->now.stamp = ++warp->turn;
    warp->parked[next] = warp->parked[--warp->parked_count];
    join_parked(warp);
    return true;
}

bool simt_warp_ready(const struct simt_warp *warp)
{
    for (uint32_t i = 0; i < warp->parked_count; i++) {
        if (warp->parked[i].state == SIMT_READY)
            return true;
    }
    return false;
}

void simt_warp_exit(struct simt_warp *warp, uint32_t mask)
{
    warp->live &= ~mask;
    warp->block->live_threads -= (uint32_t)__builtin_popcount(mask);
    if (warp->parked_count)
        simt_collective_resolve(warp);
    simt_barrier_recount(warp->block);
}
