/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses a lane may touch, and the faults when it may not. */
#include "cuda/soft/simt/machine.h"

#include <string.h>

enum { KNOWN_RANGES = 8 };

void simt_fault_raise(struct simt_warp *warp, const struct simt_op *op, int lane,
                      enum simt_fault_kind kind, uint64_t address, bool is_write)
{
    struct simt_run *run = warp->worker->run;
    const uint32_t *size = run->launch->block;
    const uint32_t thread = warp->index * SIMT_LANES + (uint32_t)lane;
    warp->faulted = true;
    pthread_mutex_lock(&run->lock);
    if (run->fault.kind == SIMT_FAULT_NONE) {
        run->fault.kind = kind;
        memcpy(run->fault.block, warp->block->id, sizeof run->fault.block);
        run->fault.thread[0] = thread % size[0];
        run->fault.thread[1] = thread / size[0] % size[1];
        run->fault.thread[2] = thread / size[0] / size[1];
        run->fault.address = address;
        run->fault.line = op->line;
        run->fault.is_write = is_write;
    }
    pthread_mutex_unlock(&run->lock);
    atomic_store(&run->stop, true);
}

static bool inside(const struct simt_range *range, uint64_t address, uint64_t bytes)
{
    return address >= range->lo && address < range->hi && range->hi - address >= bytes;
}

/* The launch's own memory: shared and local memory of the block, its parameters, and the
 * workspace of a cooperative one. */
static bool own_range(const struct simt_warp *warp, uint64_t address, uint64_t bytes,
                      bool is_write, struct simt_range *range)
{
    const struct simt_block *block = warp->block;
    const struct simt_run *run = warp->worker->run;
    const uint64_t locals = (uint64_t)run->threads * block->local_stride;
    const uint64_t params = (uintptr_t)run->params, workspace = simt_run_workspace(run);
    const struct simt_range own[] = {
        {block->shared_lo, (uint64_t)block->shared_lo + block->shared_bytes},
        {block->local_lo, block->local_lo + locals},
        {params, params + (is_write ? 0 : run->param_bytes)},
        {workspace, workspace + (workspace ? SIMT_WORKSPACE_BYTES : 0)},
    };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (inside(&own[i], address, bytes)) {
            *range = own[i];
            return true;
        }
    }
    return false;
}

static bool in_arena(const struct simt_worker *worker, uint64_t address)
{
    return address >= worker->arena_lo &&
           address - worker->arena_lo < (uint64_t)worker->arena_bytes;
}

static bool global_range(struct simt_worker *worker, uint64_t address, uint64_t bytes,
                         struct simt_range *range)
{
    for (uint32_t i = 0; i < KNOWN_RANGES; i++) {
        if (inside(&worker->known[i], address, bytes)) {
            *range = worker->known[i];
            return true;
        }
    }
    const struct simt_launch *launch = worker->run->launch;
    if (in_arena(worker, address) || address + bytes < address || !launch->bounds)
        return false;
    if (!launch->bounds(launch->bounds_ctx, address, bytes, &range->lo, &range->hi) ||
        !inside(range, address, bytes))
        return false;
    worker->known[worker->known_next++ % KNOWN_RANGES] = *range;
    return true;
}

bool simt_memory_check(struct simt_warp *warp, const struct simt_op *op, int lane,
                       uint64_t address, uint32_t bytes, bool is_write)
{
    return simt_memory_check_part(warp, op, lane, address, bytes, bytes, is_write);
}

bool simt_memory_check_part(struct simt_warp *warp, const struct simt_op *op, int lane,
                            uint64_t address, uint32_t bytes, uint32_t align, bool is_write)
{
    struct simt_range range;
    if (address & (align - 1)) { /* a GPU sees that before it looks where the address leads */
        simt_fault_raise(warp, op, lane, SIMT_FAULT_MISALIGNED, address, is_write);
        return false;
    }
    const bool own = own_range(warp, address, bytes, is_write, &range);
    const bool may_leave = !(op->flags & (is_write ? SIMT_OWN_TO : SIMT_OWN_FROM));
    if (!own && !(may_leave && global_range(warp->worker, address, bytes, &range))) {
        simt_fault_raise(warp, op, lane, SIMT_FAULT_ADDRESS, address, is_write);
        return false;
    }
    if (own || !warp->observed) /* every global access must come here then */
        warp->sites[op->target] = range;
    return true;
}

void simt_walk_anew(struct simt_walk *walk, const struct simt_slot *slot, bool wide,
                    uint32_t scale, int far, uint32_t bytes)
{
    bool sequence = true;
    walk->seen = slot->numbers;
    walk->below = walk->above = 0;
    walk->shape = SIMT_WALK_STEPS;
    for (int k = 0; k < SIMT_LANE_BITS; k++) {
        const int64_t step = wide ? (int64_t)slot->step[k] : (int32_t)slot->step[k];
        if ((step < 0 ? -(step + 1) : step) >> far != 0 || step * scale % bytes != 0) {
            walk->shape = SIMT_WALK_SCATTERED;
            return;
        }
        walk->step[k] = step * scale;
        walk->below += walk->step[k] < 0 ? walk->step[k] : 0;
        walk->above += walk->step[k] > 0 ? walk->step[k] : 0;
        sequence = sequence && walk->step[k] == (int64_t)bytes << k;
    }
    if (sequence)
        walk->shape = SIMT_WALK_SEQUENCE;
}

/* ---- the oracle --------------------------------------------------------------- */

void simt_memory_report(struct simt_worker *worker)
{
    const struct simt_launch *launch = worker->run->launch;
    if (worker->touch_count)
        launch->oracle(launch->oracle_ctx, worker->touches, worker->touch_count);
    worker->touch_count = 0;
}

static void touch(struct simt_worker *worker, uint64_t start, uint64_t end, bool is_write)
{
    if (end == start)
        return;
    worker->touches[worker->touch_count++] =
        (struct simt_touch){.address = start, .bytes = end - start, .is_write = is_write};
    if (worker->touch_count == sizeof worker->touches / sizeof worker->touches[0])
        simt_memory_report(worker);
}

/* Runs of lanes with consecutive addresses make one touch. */
static void touch_lanes(struct simt_worker *worker, uint32_t mask, const uint64_t *address,
                        uint32_t bytes, bool is_write)
{
    uint64_t start = 0, end = 0;
    for (; mask; mask &= mask - 1) {
        const uint64_t at = address[__builtin_ctz(mask)];
        if (end != start && at >= start && at <= end) {
            end = at + bytes > end ? at + bytes : end;
            continue;
        }
        touch(worker, start, end, is_write);
        start = at;
        end = at + bytes;
    }
    touch(worker, start, end, is_write);
}

void simt_memory_observe(struct simt_warp *warp, uint32_t mask, const uint64_t *address,
                         uint32_t bytes, bool is_write)
{
    uint32_t global = mask;
    for (uint32_t left = mask; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        struct simt_range own;
        if (own_range(warp, address[i], bytes, is_write, &own))
            global &= ~(1u << i);
    }
    touch_lanes(warp->worker, global, address, bytes, is_write);
}

bool simt_memory_observe_all(struct simt_warp *warp, uint32_t mask, const uint64_t *address,
                             uint32_t bytes, bool is_write)
{
    uint64_t lo = UINT64_MAX, hi = 0, odd = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        const uint64_t at = address[__builtin_ctz(left)];
        lo = at < lo ? at : lo;
        hi = at > hi ? at : hi;
        odd |= at & (bytes - 1);
    }
    if (odd)
        return false;
    for (uint32_t i = 0; i < KNOWN_RANGES; i++) {
        if (hi >= lo && inside(&warp->worker->known[i], lo, hi - lo + bytes)) {
            touch_lanes(warp->worker, mask, address, bytes, is_write);
            return true;
        }
    }
    return false;
}
