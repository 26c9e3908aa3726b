/* SPDX-License-Identifier: Apache-2.0 */
/* A warp's turn, as the dispatcher has it: which split runs, where it stands, and the steps that
 * take it elsewhere. All of it is inlined there, so that the numbers stay in registers. */
#ifndef RP_SOFT_SIMT_TURN_H
#define RP_SOFT_SIMT_TURN_H

#include "cuda/soft/simt/count.h"
#include "cuda/soft/simt/lanes.h"

/* `base` is the running split's mask with all lanes that have exited added: when that is full, a
 * lane loop needs no blending. Operations that reach outside the registers get the true mask.
 * `active` is `base`, but for the one operation after a GUARD. */
struct turn {
    struct simt_warp *warp;
    const struct simt_op *op;
    const struct simt_op *line; /* where control came last: operations are counted by lines */
    char *rows;
    uint32_t base, active, live, lanes;
    uint64_t operations, waits;
    bool counted;
};

#define INLINED static inline __attribute__((always_inline))

/* The next split that is ready, from where it stands; false when none is. */
INLINED bool turn_take_split(struct turn *turn)
{
    struct simt_warp *warp = turn->warp;
    if (!simt_warp_switch(warp))
        return false;
    turn->op = turn->line = warp->now.op;
    turn->rows = warp->now.frame->rows;
    turn->live = warp->live;
    turn->base = turn->active = warp->now.mask | ~turn->live;
    turn->lanes = (uint32_t)__builtin_popcount(warp->now.mask);
    warp->reunions += warp->parted && turn->base == SIMT_FULL;
    warp->parted = turn->base != SIMT_FULL;
    return true;
}

INLINED uint32_t turn_mask(const struct turn *turn)
{
    return turn->base & turn->live;
}

/* Control leaves a straight line at `op`. */
INLINED void turn_count_line(struct turn *turn)
{
    turn->operations += (uint64_t)(turn->op + 1 - turn->line) * turn->lanes;
    if (__builtin_expect(turn->counted, 0))
        simt_count_line(turn->warp, turn->line, turn->op);
}

INLINED void turn_go_to(struct turn *turn, const struct simt_op *op)
{
    turn->op = turn->line = op;
    turn->active = turn->base;
}

/* Where lanes may come by again, a turn that is used up ends; `op` itself runs in the next. */
INLINED bool turn_is_spent(const struct turn *turn)
{
    return __builtin_expect(turn->operations + turn->waits > SIMT_TURN, 0);
}

INLINED bool turn_ends_here(struct turn *turn)
{
    if (!turn_is_spent(turn))
        return false;
    turn_count_line(turn);
    turn_go_to(turn, turn->op);
    return true;
}

/* A split stands at a place that others may stand at too: is there one to look at? */
INLINED bool turn_meets(struct turn *turn)
{
    turn->warp->now.op = turn->op;
    return turn->warp->parked_count != 0;
}

/* BRANCH: on the lanes that jump, and those that go on. True when the splits are to be looked
 * at. */
INLINED bool turn_branch(struct turn *turn)
{
    struct simt_warp *warp = turn->warp;
    const struct simt_op *op = turn->op, *target = op + (int32_t)op->target;
    char *const rows = turn->rows;
    const uint32_t mask = turn_mask(turn);
    const uint32_t taken = (MASK(op->a) ^ op->flags * SIMT_FULL) & mask;
    turn_count_line(turn);
    if (taken == 0) {
        turn_go_to(turn, op + 1);
    } else if (taken == mask) {
        turn_go_to(turn, target);
    } else {
        struct simt_split other = warp->now;
        other.op = target;
        other.mask = taken;
        simt_warp_park(warp, &other);
        warp->now.mask = mask & ~taken;
        turn_go_to(turn, op + 1);
    }
    return turn_meets(turn);
}

/* BRANCH_INDEX: a split for each value of the index. False after a fault. */
INLINED bool turn_branch_index(struct turn *turn)
{
    struct simt_warp *warp = turn->warp;
    const struct simt_op *op = turn->op;
    char *const rows = turn->rows;
    const u32 *index = ROW(u32, op->a);
    const int32_t *targets = op->data;
    uint32_t left = turn_mask(turn);
    turn_count_line(turn);
    while (left) {
        const uint32_t value = index[__builtin_ctz(left)];
        struct simt_split part = warp->now;
        part.mask = 0;
        EACH_LANE(left, i) part.mask |= index[i] == value ? lane_bit32[i] : 0;
        left &= ~part.mask;
        if (value >= op->b) {
            simt_fault_raise(warp, op, __builtin_ctz(part.mask), SIMT_FAULT_TRAP, value, false);
            return false;
        }
        part.op = op + targets[value];
        simt_warp_park(warp, &part);
    }
    warp->now.mask = 0;
    return true;
}

/* EXIT: the lanes leave the machine. */
INLINED void turn_exit(struct turn *turn)
{
    struct simt_warp *warp = turn->warp;
    warp->now.mask = 0;
    simt_frame_abandon(warp, warp->now.frame, turn_mask(turn));
    simt_warp_exit(warp, turn_mask(turn));
}

/* A turn that is over: the split waits with the others, and who has waited longest runs next. */
INLINED void turn_hand_over(struct turn *turn)
{
    struct simt_warp *warp = turn->warp;
    warp->now.op = turn->op;
    simt_warp_park(warp, &warp->now);
    warp->now.mask = 0;
    warp->rotate = true;
}

#endif
