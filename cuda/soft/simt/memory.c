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

/* The launch's own memory: shared and local memory of the block, and its parameters. */
static bool own_range(const struct simt_warp *warp, uint64_t address, uint64_t bytes,
                      bool is_write, struct simt_range *range)
{
    const struct simt_block *block = warp->block;
    const struct simt_run *run = warp->worker->run;
    const uint64_t locals = (uint64_t)run->threads * block->local_stride;
    const uint64_t params = (uintptr_t)run->params;
    const struct simt_range own[] = {
        {block->shared_lo, (uint64_t)block->shared_lo + block->shared_bytes},
        {block->local_lo, block->local_lo + locals},
        {params, params + (is_write ? 0 : run->param_bytes)},
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
    struct simt_range range;
    if (!own_range(warp, address, bytes, is_write, &range) &&
        !global_range(warp->worker, address, bytes, &range)) {
        simt_fault_raise(warp, op, lane, SIMT_FAULT_ADDRESS, address, is_write);
        return false;
    }
    if (address & (bytes - 1)) {
        simt_fault_raise(warp, op, lane, SIMT_FAULT_MISALIGNED, address, is_write);
        return false;
    }
    if (!warp->observed) /* every access must come here then */
        warp->sites[op->target] = range;
    return true;
}

/* Runs of lanes with consecutive addresses make one report. Only global memory counts. */
void simt_memory_observe(struct simt_warp *warp, uint32_t mask, const uint64_t *address,
                         uint32_t bytes, bool is_write)
{
    const struct simt_launch *launch = warp->worker->run->launch;
    uint64_t start = 0, end = 0;
    for (uint32_t i = 0; i < SIMT_LANES; i++) {
        struct simt_range own;
        if (!(mask >> i & 1) || own_range(warp, address[i], bytes, is_write, &own))
            continue;
        if (end != start && address[i] >= start && address[i] <= end) {
            end = address[i] + bytes > end ? address[i] + bytes : end;
            continue;
        }
        if (end != start)
            launch->oracle(launch->oracle_ctx, start, end - start, is_write);
        start = address[i];
        end = address[i] + bytes;
    }
    if (end != start)
        launch->oracle(launch->oracle_ctx, start, end - start, is_write);
}
