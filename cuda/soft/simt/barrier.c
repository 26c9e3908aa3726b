/* SPDX-License-Identifier: Apache-2.0 */
/* The sixteen barriers of a block.
 *
 * A barrier without a count waits for every thread that has not exited; one with a count
 * for so many threads, a whole warp counting 32 however many lanes it has. Operands are
 * rows: a the barrier, b the count (SIMT_BAR_COUNTED), c the predicate, d the result. */
#include "cuda/soft/simt/collective.h"

static uint32_t row32(const char *rows, uint32_t offset, int lane)
{
    return ((const uint32_t *)(const void *)(rows + offset))[lane];
}

static uint32_t counted_arrivals(const struct simt_block *block, uint32_t id)
{
    uint32_t threads = 0;
    for (uint32_t w = 0; w < block->warp_count; w++) {
        const struct simt_warp *warp = &block->warps[w];
        const uint32_t arrived = warp->arrived[id];
        const bool whole = arrived && (warp->live & ~arrived) == 0;
        threads += whole ? SIMT_LANES : (uint32_t)__builtin_popcount(arrived);
    }
    return threads;
}

static uint32_t arrived_and_live(const struct simt_block *block, uint32_t id)
{
    uint32_t threads = 0;
    for (uint32_t w = 0; w < block->warp_count; w++)
        threads += (uint32_t)__builtin_popcount(block->warps[w].arrived[id] & block->warps[w].live);
    return threads;
}

static bool complete(const struct simt_block *block, uint32_t id)
{
    const struct simt_barrier *barrier = &block->barriers[id];
    if (barrier->expected)
        return counted_arrivals(block, id) >= barrier->expected;
    return barrier->active && arrived_and_live(block, id) >= block->live_threads;
}

static void answer(const struct simt_barrier *barrier, const struct simt_split *split)
{
    const struct simt_op *op = split->op;
    char *rows = split->frame->rows;
    if (op->flags & SIMT_BAR_POPC) {
        for (uint32_t i = 0; i < SIMT_LANES; i++) {
            if (split->mask >> i & 1)
                ((uint32_t *)(void *)(rows + op->d))[i] = barrier->positive;
        }
    } else if (op->flags & (SIMT_BAR_AND | SIMT_BAR_OR)) {
        const bool result = op->flags & SIMT_BAR_AND ? barrier->positive == barrier->voters
                                                     : barrier->positive != 0;
        uint32_t *word = (uint32_t *)(void *)(rows + op->d);
        *word = (*word & ~split->mask) | (result ? split->mask : 0);
    }
}

static void open_barrier(struct simt_block *block, uint32_t id)
{
    struct simt_barrier *barrier = &block->barriers[id];
    for (uint32_t w = 0; w < block->warp_count; w++) {
        struct simt_warp *warp = &block->warps[w];
        warp->arrived[id] = 0;
        for (uint32_t i = 0; i < warp->parked_count; i++) {
            struct simt_split *split = &warp->parked[i];
            if (split->state != SIMT_AT_BARRIER || split->wait != id)
                continue;
            answer(barrier, split);
            split->op++;
            split->state = SIMT_READY;
        }
    }
    *barrier = (struct simt_barrier){0};
}

bool simt_barrier_arrive(struct simt_warp *warp, const struct simt_op *op, uint32_t mask)
{
    struct simt_block *block = warp->block;
    const int first = __builtin_ctz(mask);
    char *rows = warp->now.frame->rows;
    const uint32_t id = row32(rows, op->a, first);
    const uint32_t expected = op->flags & SIMT_BAR_COUNTED ? row32(rows, op->b, first) : 0;
    const bool wrong_count = op->flags & SIMT_BAR_COUNTED &&
                             (expected == 0 || expected % SIMT_LANES || expected > 1024);
    if (id >= SIMT_BARRIERS || wrong_count) {
        simt_fault_raise(warp, op, first, SIMT_FAULT_BARRIER, id, false);
        return false;
    }
    struct simt_barrier *barrier = &block->barriers[id];
    barrier->active = true;
    if (expected)
        barrier->expected = expected;
    warp->arrived[id] |= mask;
    if (op->flags & (SIMT_BAR_POPC | SIMT_BAR_AND | SIMT_BAR_OR)) {
        const uint32_t votes = (row32(rows, op->c, 0) ^ (uint32_t)op->imm) & mask;
        barrier->positive += (uint32_t)__builtin_popcount(votes);
        barrier->voters += (uint32_t)__builtin_popcount(mask);
    }
    if (op->flags & SIMT_BAR_ARRIVE) {
        if (complete(block, id))
            open_barrier(block, id);
        return true;
    }
    struct simt_split split = warp->now;
    split.mask = mask;
    split.state = SIMT_AT_BARRIER;
    split.wait = id;
    simt_warp_park(warp, &split);
    warp->now.mask = 0;
    if (complete(block, id))
        open_barrier(block, id);
    return false;
}

/* Threads have exited: barriers that only waited for them open. */
void simt_barrier_recount(struct simt_block *block)
{
    for (uint32_t id = 0; id < SIMT_BARRIERS; id++) {
        if (block->barriers[id].active && complete(block, id))
            open_barrier(block, id);
    }
}
