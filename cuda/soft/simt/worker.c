/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/simt/worker.h"

#include "cuda/soft/simt/block.h"
#include "cuda/soft/simt/count.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA_LIMIT (UINT64_C(1) << 31)
#define ARENA_LOWEST (UINT64_C(1) << 24)

/* ---- the arena ---------------------------------------------------------------- */

/* Memory below 2 GiB: the kernel's own choice first, then wherever there is room. */
static void *map_low(uint64_t bytes)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *at = MAP_FAILED;
#ifdef MAP_32BIT
    at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_32BIT, -1, 0);
    if (at != MAP_FAILED && (uintptr_t)at + bytes <= ARENA_LIMIT)
        return at;
    if (at != MAP_FAILED)
        munmap(at, bytes);
#endif
    for (uint64_t hint = ARENA_LOWEST; hint + bytes <= ARENA_LIMIT; hint += ARENA_LOWEST) {
        at = mmap((void *)(uintptr_t)hint, bytes, PROT_READ | PROT_WRITE,
                  flags | MAP_FIXED_NOREPLACE, -1, 0);
        if (at != MAP_FAILED && (uintptr_t)at == hint)
            return at;
        if (at != MAP_FAILED) /* a kernel that does not know the flag */
            munmap(at, bytes);
    }
    return NULL;
}

static bool need_arena(struct simt_worker *worker, uint64_t bytes)
{
    bytes = (bytes + 0xffff) & ~UINT64_C(0xffff);
    if (worker->arena_bytes >= bytes)
        return true;
    if (worker->arena_bytes)
        munmap((void *)(uintptr_t)worker->arena_lo, worker->arena_bytes);
    worker->arena_bytes = 0;
    void *at = bytes < ARENA_LIMIT ? map_low(bytes) : NULL;
    if (!at)
        return false;
    worker->arena_lo = (uintptr_t)at;
    worker->arena_bytes = bytes;
    return true;
}

void simt_worker_destroy(struct simt_worker *worker)
{
    simt_frames_destroy(worker);
    if (worker->arena_bytes)
        munmap((void *)(uintptr_t)worker->arena_lo, worker->arena_bytes);
    free(worker);
}

/* ---- working on a run --------------------------------------------------------- */

static void no_memory(struct simt_run *run)
{
    pthread_mutex_lock(&run->lock);
    if (run->fault.kind == SIMT_FAULT_NONE)
        run->fault.kind = SIMT_FAULT_NO_MEMORY;
    pthread_mutex_unlock(&run->lock);
    atomic_store(&run->stop, true);
}

static void keep_text(struct simt_run *run, struct simt_block *block)
{
    if (!block->printed.length)
        return;
    pthread_mutex_lock(&run->lock);
    struct simt_printed *printed =
        realloc(run->printed, (run->printed_count + 1) * sizeof *run->printed);
    if (printed) {
        run->printed = printed;
        run->printed[run->printed_count++] =
            (struct simt_printed){.block = block->linear, .text = block->printed};
        block->printed = (struct simt_text){0};
    }
    pthread_mutex_unlock(&run->lock);
}

static bool next_block(struct simt_worker *worker, uint64_t *linear)
{
    struct simt_run *run = worker->run;
    if (atomic_load_explicit(&run->stop, memory_order_relaxed))
        return false;
    const uint64_t index = atomic_fetch_add(&run->next, 1);
    if (index >= run->blocks)
        return false;
    if (run->launch->between && index > 0) {
        const uint64_t away = run->launch->between(run->launch->between_ctx, index, run->blocks);
        run->deadline += run->deadline ? away : 0;
    }
    const uint64_t seed = run->launch->schedule_seed;
    *linear = seed ? simt_block_permute(index, run->blocks, seed) : index;
    return true;
}

static uint64_t shared_room(const struct simt_run *run)
{
    return (run->shared_bytes + UINT64_C(1023)) & ~UINT64_C(1023);
}

static uint64_t block_room(const struct simt_run *run)
{
    const uint64_t locals = (uint64_t)run->threads * run->kernel->local_bytes;
    return shared_room(run) + ((locals + 1023) & ~UINT64_C(1023)) + 1024;
}

static bool make_block(struct simt_worker *worker, struct simt_block *block, uint64_t number)
{
    const uint64_t at = worker->arena_lo + number * block_room(worker->run);
    return simt_block_create(worker, block, (uint32_t)at,
                             (uint32_t)(at + shared_room(worker->run)));
}

static void work_in_order(struct simt_worker *worker)
{
    struct simt_run *run = worker->run;
    struct simt_block block;
    uint64_t linear;
    if (!need_arena(worker, block_room(run)) || !make_block(worker, &block, 0)) {
        no_memory(run);
        return;
    }
    while (next_block(worker, &linear)) {
        simt_block_start(&block, linear);
        while (simt_block_turn(&block) == SIMT_PROGRESS_GOING)
            continue;
        keep_text(run, &block);
    }
    simt_block_destroy(&block);
}

/* A cooperative launch: a worker keeps several blocks alive and takes another one whenever
 * a round through them ended with none finished, since they may be waiting for it. */
struct company {
    struct simt_block *blocks;
    bool *alive;
    uint64_t count, capacity, living;
};

static bool join_company(struct simt_worker *worker, struct company *company)
{
    uint64_t linear;
    if (company->count == company->capacity || !next_block(worker, &linear))
        return false;
    struct simt_block *block = &company->blocks[company->count];
    if (!make_block(worker, block, company->count)) {
        no_memory(worker->run);
        return false;
    }
    company->alive[company->count++] = true;
    company->living++;
    simt_block_start(block, linear);
    return true;
}

static bool round_of(struct simt_run *run, struct company *company)
{
    bool finished = false;
    for (uint64_t i = 0; i < company->count; i++) {
        if (!company->alive[i])
            continue;
        const enum simt_progress progress = simt_block_turn(&company->blocks[i]);
        if (progress == SIMT_PROGRESS_STOPPED)
            atomic_store(&run->stop, true);
        if (progress == SIMT_PROGRESS_GOING)
            continue;
        keep_text(run, &company->blocks[i]);
        company->alive[i] = false;
        company->living--;
        finished = true;
    }
    return finished;
}

static void work_together(struct simt_worker *worker)
{
    struct simt_run *run = worker->run;
    struct company company = {.capacity = run->blocks};
    company.blocks = calloc(run->blocks, sizeof *company.blocks);
    company.alive = calloc(run->blocks, sizeof *company.alive);
    if (!company.blocks || !company.alive || !need_arena(worker, run->blocks * block_room(run))) {
        no_memory(run);
    } else {
        while (company.count < run->share && join_company(worker, &company))
            continue;
        while (company.living && !atomic_load(&run->stop)) {
            if (!round_of(run, &company) || !company.living)
                join_company(worker, &company);
        }
    }
    for (uint64_t i = 0; i < company.count; i++) {
        keep_text(run, &company.blocks[i]);
        simt_block_destroy(&company.blocks[i]);
    }
    free(company.blocks);
    free(company.alive);
}

void simt_worker_work(struct simt_worker *worker, struct simt_run *run)
{
    worker->run = run;
    memset(worker->known, 0, sizeof worker->known);
    if (run->launch->cooperative)
        work_together(worker);
    else
        work_in_order(worker);
    if (run->launch->oracle)
        simt_memory_report(worker);
    if (run->launch->counts)
        simt_count_settle(worker);
    simt_frames_reclaim(worker);
}

