/* SPDX-License-Identifier: Apache-2.0 */
/* A block: its memory, its warps, and their turns. */
#include "cuda/soft/simt/block.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS_A_LOOK = 64 }; /* a look at the clock costs as much as a warp's shortest turn */

uint64_t simt_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* ---- made once a worker and launch -------------------------------------------- */

bool simt_block_create(struct simt_worker *worker, struct simt_block *block, uint32_t shared_lo,
                       uint32_t local_lo)
{
    const struct simt_run *run = worker->run;
    const struct simt_function *function = run->kernel->function;
    const size_t file_bytes = (function->frame_bytes + 63) & ~(size_t)63;
    *block = (struct simt_block){.worker = worker,
                                 .warp_count = run->warps,
                                 .shared_lo = shared_lo,
                                 .shared_bytes = run->shared_bytes,
                                 .local_lo = local_lo,
                                 .local_stride = run->kernel->local_bytes};
    block->warps = calloc(run->warps, sizeof *block->warps);
    block->roots = calloc(run->warps, sizeof *block->roots);
    block->sites = calloc(function->module->site_count + 1, sizeof *block->sites);
    const size_t walk_bytes = (function->module->site_count + 1) * sizeof *block->walks;
    block->walks = aligned_alloc(64, walk_bytes);
    block->files = aligned_alloc(64, run->warps * file_bytes);
    if (!block->warps || !block->roots || !block->sites || !block->walks || !block->files) {
        simt_block_destroy(block);
        return false;
    }
    memset(block->walks, 0, walk_bytes);
    memset(block->files, 0, run->warps * file_bytes);
    for (uint32_t w = 0; w < run->warps; w++) {
        struct simt_warp *warp = &block->warps[w];
        block->roots[w] = (struct simt_frame){.function = function,
                                              .rows = block->files + w * file_bytes};
        warp->block = block;
        warp->worker = worker;
        warp->index = w;
        warp->root = &block->roots[w];
        warp->sites = block->sites;
        warp->walks = block->walks;
        warp->observed = run->launch->oracle != NULL;
        simt_frame_fill(warp, warp->root, false);
    }
    return true;
}

void simt_block_destroy(struct simt_block *block)
{
    free(block->warps);
    free(block->roots);
    free(block->sites);
    free(block->walks);
    free(block->files);
    free(block->printed.bytes);
    *block = (struct simt_block){0};
}

/* ---- for each block ----------------------------------------------------------- */

static void start_warp(struct simt_warp *warp, uint32_t live)
{
    simt_frame_fill(warp, warp->root, true);
    warp->live = live;
    warp->now = (struct simt_split){0};
    warp->parked[0] = (struct simt_split){
        .op = warp->root->function->ops, .frame = warp->root, .mask = live};
    warp->parked_count = 1;
    warp->rotate = warp->holding = warp->faulted = false;
    memset(warp->arrived, 0, sizeof warp->arrived);
}

/* Shared memory and the locals of the kernel itself start as zeros, so that a program that
 * reads them too early does so alike on any number of workers. */
static void clear_memory(struct simt_block *block)
{
    const struct simt_run *run = block->worker->run;
    const uint32_t locals = run->kernel->function->local_bytes;
    memset((void *)(uintptr_t)block->shared_lo, 0, block->shared_bytes);
    for (uint32_t t = 0; locals && t < run->threads; t++)
        memset((void *)(uintptr_t)(block->local_lo + t * block->local_stride), 0, locals);
}

void simt_block_start(struct simt_block *block, uint64_t linear)
{
    const struct simt_run *run = block->worker->run;
    const uint32_t *grid = run->launch->grid;
    block->linear = linear;
    block->id[0] = (uint32_t)(linear % grid[0]);
    block->id[1] = (uint32_t)(linear / grid[0] % grid[1]);
    block->id[2] = (uint32_t)(linear / grid[0] / grid[1]);
    block->live_threads = run->threads;
    memset(block->barriers, 0, sizeof block->barriers);
    clear_memory(block);
    for (uint32_t w = 0; w < block->warp_count; w++) {
        const uint32_t left = run->threads - w * SIMT_LANES;
        start_warp(&block->warps[w], left >= SIMT_LANES ? SIMT_FULL : (1u << left) - 1);
    }
    for (uint32_t w = 0; w < block->warp_count; w++)
        block->order[w] = (uint8_t)w;
    if (run->launch->schedule_seed) {
        uint64_t random = mix(run->launch->schedule_seed ^ mix(linear));
        for (uint32_t w = block->warp_count; w > 1; w--) {
            const uint32_t other = (uint32_t)((random = mix(random)) % w);
            const uint8_t swap = block->order[w - 1];
            block->order[w - 1] = block->order[other];
            block->order[other] = swap;
        }
    }
}

static void raise_at(struct simt_warp *warp, enum simt_fault_kind kind)
{
    const struct simt_split *split = &warp->parked[0];
    if (warp->parked_count)
        simt_fault_raise(warp, split->op, __builtin_ctz(split->mask), kind, 0, false);
}

static struct simt_warp *any_live(struct simt_block *block)
{
    for (uint32_t w = 0; w < block->warp_count; w++) {
        if (block->warps[w].live)
            return &block->warps[w];
    }
    return &block->warps[0];
}

/* Whether the launch is to end, by the clock or by another block's fault. */
static bool is_over(struct simt_run *run, struct simt_warp *warp)
{
    if (run->deadline && simt_now_ns() > run->deadline)
        raise_at(warp, SIMT_FAULT_TIMEOUT);
    return atomic_load_explicit(&run->stop, memory_order_relaxed);
}

/* Every ready warp has a turn. */
enum simt_progress simt_block_turn(struct simt_block *block)
{
    struct simt_run *run = block->worker->run;
    bool ran = false;
    for (uint32_t k = 0; k < block->warp_count; k++) {
        struct simt_warp *warp = &block->warps[block->order[k]];
        if (!warp->live || !simt_warp_ready(warp))
            continue;
        ran = true;
        const enum simt_stop stop = run->isa->run(warp);
        if (stop == SIMT_FAULTED)
            return SIMT_PROGRESS_STOPPED;
        if (stop == SIMT_TURN_OVER && is_over(run, warp))
            return SIMT_PROGRESS_STOPPED;
    }
    if (!block->live_threads)
        return SIMT_PROGRESS_DONE;
    if (!ran) {
        raise_at(any_live(block), SIMT_FAULT_BARRIER);
        return SIMT_PROGRESS_STOPPED;
    }
    /* Warps that meet at a barrier in a loop never use up a turn of theirs. */
    if (++block->turns % TURNS_A_LOOK == 0 && is_over(run, any_live(block)))
        return SIMT_PROGRESS_STOPPED;
    return SIMT_PROGRESS_GOING;
}

/* ---- the order of blocks ------------------------------------------------------ */

/* A permutation of [0, count) by seed: a Feistel network on the next even power of two,
 * walked until it lands inside. */
uint64_t simt_block_permute(uint64_t index, uint64_t count, uint64_t seed)
{
    uint32_t half = 1;
    while ((UINT64_C(1) << 2 * half) < count)
        half++;
    const uint64_t low = (UINT64_C(1) << half) - 1;
    do {
        uint64_t left = index >> half, right = index & low;
        for (uint32_t round = 0; round < 4; round++) {
            const uint64_t next = left ^ (mix(right ^ mix(seed + round)) & low);
            left = right;
            right = next;
        }
        index = left << half | right;
    } while (index >= count);
    return index;
}
