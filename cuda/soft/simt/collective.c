/* SPDX-License-Identifier: Apache-2.0 */
/* Shuffles, votes, matches and reductions, and how lanes wait for each other at them.
 *
 * Each lane names the lanes that it acts with. When all of those that have not exited stand
 * in the running split the operation runs at once. Otherwise its lanes are parked, grouped
 * by the mask they name, until a group is complete. Groups may meet from different places
 * of the code, as long as they do the same operation. */
#include "cuda/soft/simt/scalar.h"

#include <string.h>

static uint32_t members(const struct simt_op *op, const char *rows, uint32_t lane,
                        uint32_t present)
{
    return op->flags & SIMT_LANE_UNNAMED ? present : const_row32(rows, op->f)[lane];
}

bool simt_collective_ready(const struct simt_warp *warp, const char *rows,
                           const struct simt_op *op, uint32_t mask)
{
    if ((warp->live & ~mask) == 0 || op->flags & SIMT_LANE_UNNAMED)
        return true;
    if (op->flags & SIMT_LANE_ALIGNED)
        return false;
    for (uint32_t i = 0; i < SIMT_LANES; i++) {
        if ((mask >> i & 1) && (const_row32(rows, op->f)[i] & warp->live & ~mask))
            return false;
    }
    return true;
}

static void wait_for_all(struct simt_warp *warp)
{
    struct simt_split split = warp->now;
    split.state = SIMT_AT_COLLECTIVE;
    split.wait = SIMT_FULL;
    simt_warp_park(warp, &split);
}

static void wait_by_mask(struct simt_warp *warp)
{
    const uint32_t *named = const_row32(warp->now.frame->rows, warp->now.op->f);
    uint32_t left = warp->now.mask;
    while (left) {
        struct simt_split part = warp->now;
        part.state = SIMT_AT_COLLECTIVE;
        part.wait = named[__builtin_ctz(left)];
        part.mask = 0;
        for (uint32_t i = 0; i < SIMT_LANES; i++) {
            if ((left >> i & 1) && named[i] == part.wait)
                part.mask |= 1u << i;
        }
        left &= ~part.mask;
        simt_warp_park(warp, &part);
    }
}

/* Parks the running split, one part for each mask that its lanes name. */
void simt_collective_wait(struct simt_warp *warp)
{
    if (warp->now.op->flags & SIMT_LANE_ALIGNED)
        wait_for_all(warp);
    else
        wait_by_mask(warp);
    warp->now.mask = 0;
    simt_collective_resolve(warp);
}

static bool same_operation(const struct simt_split *a, const struct simt_split *b)
{
    return a->state == SIMT_AT_COLLECTIVE && b->state == SIMT_AT_COLLECTIVE &&
           a->wait == b->wait && a->op->opcode == b->op->opcode &&
           a->op->flags == b->op->flags &&
           (!(a->op->flags & SIMT_LANE_ALIGNED) || (a->op == b->op && a->frame == b->frame));
}

/* The sources of all participants as one row. */
static void gather(const struct simt_warp *warp, const struct simt_split *group, char *to)
{
    for (uint32_t k = 0; k < warp->parked_count; k++) {
        const struct simt_split *split = &warp->parked[k];
        if (!same_operation(split, group))
            continue;
        const char *from = split->frame->rows + split->op->a;
        if (group->op->flags & SIMT_LANE_PREDICATE) {
            const uint32_t votes = *const_row32(from, 0) ^ (uint32_t)split->op->imm;
            *row32(to, 0) = (*row32(to, 0) & ~split->mask) | (votes & split->mask);
            continue;
        }
        const size_t width = group->op->flags & SIMT_LANE_WIDE ? 8 : 4;
        for (uint32_t i = 0; i < SIMT_LANES; i++) {
            if (split->mask >> i & 1)
                memcpy(to + i * width, from + i * width, width);
        }
    }
}

/* Row 0 of a frame is scratch: there each split finds the sources. They are gathered before
 * anything is written, since results may overwrite them. */
static void perform(struct simt_warp *warp, const struct simt_split *group, uint32_t present)
{
    char sources[8 * SIMT_LANES] __attribute__((aligned(64))) = {0};
    if (group->op->flags & SIMT_LANE_ALIGNED) {
        group->op->lanes(warp, group->frame->rows, group->op, present);
        return;
    }
    gather(warp, group, sources);
    warp->participants = present;
    for (uint32_t k = 0; k < warp->parked_count; k++) {
        struct simt_split *split = &warp->parked[k];
        if (!same_operation(split, group))
            continue;
        memcpy(split->frame->rows, sources, sizeof sources);
        struct simt_op op = *split->op;
        op.a = 0;
        op.imm = op.flags & SIMT_LANE_PREDICATE ? 0 : op.imm;
        op.lanes(warp, split->frame->rows, &op, split->mask);
    }
}

/* Every group that is complete performs its operation and goes on. */
void simt_collective_resolve(struct simt_warp *warp)
{
    for (uint32_t k = 0; k < warp->parked_count; k++) {
        if (warp->parked[k].state != SIMT_AT_COLLECTIVE)
            continue;
        const struct simt_split group = warp->parked[k];
        uint32_t present = 0;
        for (uint32_t j = 0; j < warp->parked_count; j++)
            present |= same_operation(&warp->parked[j], &group) ? warp->parked[j].mask : 0;
        if (group.wait & warp->live & ~present)
            continue;
        perform(warp, &group, present);
        for (uint32_t j = 0; j < warp->parked_count; j++) {
            struct simt_split *split = &warp->parked[j];
            if (!same_operation(split, &group))
                continue;
            split->op++;
            split->state = SIMT_READY;
        }
    }
}

/* shfl: c packs the clamp in its low five bits and the segment mask above. */
static void shuffle(struct simt_warp *warp, char *rows, const struct simt_op *op, uint32_t mask,
                    int (*source)(int lane, int b, int direct, int high, bool *inside))
{
    uint32_t value[SIMT_LANES];
    memcpy(value, rows + op->a, sizeof value);
    uint32_t valid = 0;
    EACH(mask, i)
    {
        const uint32_t b = row32(rows, op->b)[i] & 31, c = row32(rows, op->c)[i];
        const uint32_t segment = c >> 8 & 31;
        const int low = (int)(i & segment), high = low | (int)(c & 31 & ~segment);
        const int direct = low | (int)(b & ~segment);
        bool inside = false;
        const int from = source((int)i, (int)b, direct, high, &inside);
        const bool taken = inside && (warp->participants >> from & 1);
        valid |= inside ? 1u << i : 0;
        row32(rows, op->d)[i] = value[taken ? from : (int)i];
    }
    if (op->flags & SIMT_LANE_WITH_PREDICATE)
        *row32(rows, op->e) = (*row32(rows, op->e) & ~mask) | valid;
}

static int from_up(int lane, int b, int direct, int high, bool *inside)
{
    (void)direct;
    *inside = lane - b >= high;
    return *inside ? lane - b : lane;
}

static int from_down(int lane, int b, int direct, int high, bool *inside)
{
    (void)direct;
    *inside = lane + b <= high;
    return *inside ? lane + b : lane;
}

static int from_bfly(int lane, int b, int direct, int high, bool *inside)
{
    (void)direct;
    *inside = (lane ^ b) <= high;
    return *inside ? lane ^ b : lane;
}

static int from_idx(int lane, int b, int direct, int high, bool *inside)
{
    (void)b;
    *inside = direct <= high;
    return *inside ? direct : lane;
}

SCALAR_LOOP(shfl_up)
{
    shuffle(warp, rows, op, mask, from_up);
}

SCALAR_LOOP(shfl_down)
{
    shuffle(warp, rows, op, mask, from_down);
}

SCALAR_LOOP(shfl_bfly)
{
    shuffle(warp, rows, op, mask, from_bfly);
}

SCALAR_LOOP(shfl_idx)
{
    shuffle(warp, rows, op, mask, from_idx);
}

/* For a vote: true and false voters among those that the lane names. */
static void vote(struct simt_warp *warp, char *rows, const struct simt_op *op, uint32_t mask,
                 bool (*decide)(uint32_t yes, uint32_t no))
{
    const uint32_t votes = *row32(rows, op->a) ^ (uint32_t)op->imm;
    uint32_t result = 0;
    EACH(mask, i)
    {
        const uint32_t named = members(op, rows, i, warp->participants) & warp->participants;
        result |= decide(votes & named, ~votes & named) ? 1u << i : 0;
    }
    *row32(rows, op->d) = (*row32(rows, op->d) & ~mask) | result;
}

static bool all_agree(uint32_t yes, uint32_t no)
{
    (void)yes;
    return no == 0;
}

static bool any_agrees(uint32_t yes, uint32_t no)
{
    (void)no;
    return yes != 0;
}

static bool uniform_vote(uint32_t yes, uint32_t no)
{
    return yes == 0 || no == 0;
}

SCALAR_LOOP(vote_all)
{
    vote(warp, rows, op, mask, all_agree);
}

SCALAR_LOOP(vote_any)
{
    vote(warp, rows, op, mask, any_agrees);
}

SCALAR_LOOP(vote_uni)
{
    vote(warp, rows, op, mask, uniform_vote);
}

SCALAR_LOOP(vote_ballot)
{
    const uint32_t votes = *row32(rows, op->a) ^ (uint32_t)op->imm;
    EACH(mask, i)
    row32(rows, op->d)[i] = votes & members(op, rows, i, warp->participants) & warp->participants;
}

static uint64_t wide_value(const char *rows, const struct simt_op *op, uint32_t lane)
{
    uint64_t value = 0;
    const size_t width = op->flags & SIMT_LANE_WIDE ? 8 : 4;
    memcpy(&value, rows + op->a + lane * width, width);
    return value;
}

static void match(struct simt_warp *warp, char *rows, const struct simt_op *op, uint32_t mask,
                  bool all)
{
    uint64_t value[SIMT_LANES];
    for (uint32_t i = 0; i < SIMT_LANES; i++)
        value[i] = wide_value(rows, op, i);
    uint32_t agreed = 0;
    EACH(mask, i)
    {
        const uint32_t named = members(op, rows, i, warp->participants) & warp->participants;
        uint32_t equal = 0;
        EACH(named, j) equal |= value[j] == value[i] ? 1u << j : 0;
        agreed |= equal == named ? 1u << i : 0;
        row32(rows, op->d)[i] = !all || equal == named ? equal : 0;
    }
    if (op->flags & SIMT_LANE_WITH_PREDICATE)
        *row32(rows, op->e) = (*row32(rows, op->e) & ~mask) | agreed;
}

SCALAR_LOOP(match_any_32)
{
    match(warp, rows, op, mask, false);
}

SCALAR_LOOP(match_any_64)
{
    match(warp, rows, op, mask, false);
}

SCALAR_LOOP(match_all_32)
{
    match(warp, rows, op, mask, true);
}

SCALAR_LOOP(match_all_64)
{
    match(warp, rows, op, mask, true);
}

#define REDUX(id, T, expr)                                                                      \
    SCALAR_LOOP(redux_##id)                                                                     \
    {                                                                                           \
        uint32_t value[SIMT_LANES];                                                             \
        memcpy(value, rows + op->a, sizeof value);                                              \
        EACH(mask, i)                                                                           \
        {                                                                                       \
            const uint32_t named = members(op, rows, i, warp->participants);                    \
            T x = (T)value[i];                                                                  \
            EACH(named & warp->participants & ~(1u << i), j)                                    \
            {                                                                                   \
                const T y = (T)value[j];                                                        \
                x = (expr);                                                                     \
            }                                                                                   \
            row32(rows, op->d)[i] = (uint32_t)x;                                                \
        }                                                                                       \
    }
REDUX(add, uint32_t, x + y)
REDUX(and, uint32_t, x & y)
REDUX(or, uint32_t, x | y)
REDUX(xor, uint32_t, x ^ y)
REDUX(min_u32, uint32_t, x < y ? x : y)
REDUX(max_u32, uint32_t, x > y ? x : y)
REDUX(min_s32, int32_t, x < y ? x : y)
REDUX(max_s32, int32_t, x > y ? x : y)

/* elect: the lowest of the named lanes is the leader, everyone learns its number. */
SCALAR_LOOP(elect)
{
    uint32_t leaders = 0;
    EACH(mask, i)
    {
        const uint32_t named = members(op, rows, i, warp->participants) & warp->participants;
        const uint32_t leader = named ? (uint32_t)__builtin_ctz(named) : i;
        row32(rows, op->d)[i] = leader;
        leaders |= leader == i ? 1u << i : 0;
    }
    *row32(rows, op->e) = (*row32(rows, op->e) & ~mask) | leaders;
}

SCALAR_LOOP(warp_sync)
{
    (void)warp, (void)rows, (void)op, (void)mask;
}

SCALAR_LOOP(activemask)
{
    const uint32_t present = mask & warp->live;
    EACH(mask, i) row32(rows, op->d)[i] = present;
}
