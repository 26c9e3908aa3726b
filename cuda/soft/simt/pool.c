/* SPDX-License-Identifier: Apache-2.0 */
/* Workers and launches.
 *
 * The thread that launches works on its launch itself; the pool's threads help whoever has
 * blocks left, one run after the other. A thread needs a workplace (arenas below 2 GiB, spare
 * frames) to work; workplaces are kept for the next one. */
#include "cuda/soft/simt/block.h"
#include "cuda/soft/simt/count.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA_LIMIT (UINT64_C(1) << 31)
#define ARENA_LOWEST (UINT64_C(1) << 24)

struct simt_pool {
    pthread_mutex_t lock;
    pthread_cond_t work; /* a run wants helpers, or the pool ends */
    pthread_cond_t idle; /* a helper has left its run */
    struct simt_run *runs;
    struct simt_worker *free_workers;
    pthread_t *threads;
    unsigned thread_count;
    bool ending;
    _Atomic uint64_t operations;
};

/* ---- workplaces --------------------------------------------------------------- */

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

static struct simt_worker *take_worker(struct simt_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    struct simt_worker *worker = pool->free_workers;
    if (worker)
        pool->free_workers = worker->next_free;
    pthread_mutex_unlock(&pool->lock);
    return worker ? worker : calloc(1, sizeof *worker);
}

static void give_worker(struct simt_pool *pool, struct simt_worker *worker)
{
    atomic_fetch_add(&pool->operations, worker->operations);
    worker->operations = 0;
    worker->run = NULL;
    pthread_mutex_lock(&pool->lock);
    worker->next_free = pool->free_workers;
    pool->free_workers = worker;
    pthread_mutex_unlock(&pool->lock);
}

static void destroy_worker(struct simt_worker *worker)
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

static void work(struct simt_worker *worker, struct simt_run *run)
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

/* ---- the pool's threads ------------------------------------------------------- */

static struct simt_run *run_to_help(struct simt_pool *pool)
{
    for (struct simt_run *run = pool->runs; run; run = run->next_run) {
        if (run->helpers < run->wanted && atomic_load(&run->next) < run->blocks &&
            !atomic_load(&run->stop))
            return run;
    }
    return NULL;
}

static void *help(void *argument)
{
    struct simt_pool *pool = argument;
    pthread_mutex_lock(&pool->lock);
    while (!pool->ending) {
        struct simt_run *run = run_to_help(pool);
        if (!run) {
            pthread_cond_wait(&pool->work, &pool->lock);
            continue;
        }
        run->helpers++;
        pthread_mutex_unlock(&pool->lock);
        struct simt_worker *worker = take_worker(pool);
        if (worker) {
            work(worker, run);
            give_worker(pool, worker);
        }
        pthread_mutex_lock(&pool->lock);
        run->helpers--;
        if (!worker)
            run->wanted = run->helpers; /* no more of them: the launcher goes on alone */
        pthread_cond_broadcast(&pool->idle);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

enum rp_status simt_pool_create(unsigned workers, struct simt_pool **out)
{
    *out = NULL;
    struct simt_pool *pool = calloc(1, sizeof *pool);
    if (!pool || workers == 0) {
        free(pool);
        return workers ? RP_NO_MEMORY : RP_INVALID;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->idle, NULL);
    pool->threads = calloc(workers, sizeof *pool->threads);
    while (pool->threads && pool->thread_count < workers - 1) {
        if (pthread_create(&pool->threads[pool->thread_count], NULL, help, pool))
            break;
        pool->thread_count++;
    }
    if (!pool->threads) { /* while fewer threads will do: the launcher works, too */
        simt_pool_destroy(pool);
        return RP_NO_MEMORY;
    }
    *out = pool;
    return RP_OK;
}

void simt_pool_destroy(struct simt_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    for (struct simt_worker *worker = pool->free_workers, *next; worker; worker = next) {
        next = worker->next_free;
        destroy_worker(worker);
    }
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->idle);
    free(pool->threads);
    free(pool);
}

uint64_t simt_pool_operations(const struct simt_pool *pool)
{
    return atomic_load(&pool->operations);
}

/* ---- launches ----------------------------------------------------------------- */

static int by_block(const void *a, const void *b)
{
    const struct simt_printed *x = a, *y = b;
    return x->block < y->block ? -1 : x->block > y->block;
}

static void write_text(struct simt_run *run)
{
    if (run->printed_count) {
        qsort(run->printed, run->printed_count, sizeof *run->printed, by_block);
        for (size_t i = 0; i < run->printed_count; i++) {
            fwrite(run->printed[i].text.bytes, 1, run->printed[i].text.length, stdout);
            free(run->printed[i].text.bytes);
        }
        fflush(stdout);
    }
    free(run->printed);
}

static bool shape_is_legal(const struct simt_launch *launch)
{
    uint64_t blocks = 1, threads = 1;
    for (int i = 0; i < 3; i++) {
        blocks *= launch->grid[i] <= INT32_MAX ? launch->grid[i] : 0;
        threads *= launch->block[i] <= 1024 ? launch->block[i] : 0;
        if (blocks > UINT64_C(1) << 48)
            return false;
    }
    return blocks && threads && threads <= 1024;
}

static enum rp_status prepare(struct simt_run *run, const struct simt_launch *launch)
{
    const struct simt_kernel *kernel = launch->kernel;
    if (kernel->refusal)
        return RP_UNSUPPORTED;
    if (!shape_is_legal(launch))
        return RP_INVALID;
    const uint64_t shared = (uint64_t)kernel->dynamic_offset + launch->dynamic_shared_bytes;
    if (launch->dynamic_shared_bytes > 256u << 10 || shared > 256u << 10)
        return RP_INVALID;
    run->launch = launch;
    run->kernel = kernel;
    run->isa = simt_isa_chosen();
    run->threads = launch->block[0] * launch->block[1] * launch->block[2];
    run->warps = (run->threads + SIMT_LANES - 1) / SIMT_LANES;
    run->shared_bytes = (uint32_t)shared;
    run->blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    if (launch->cooperative && run->blocks > 1u << 16)
        return RP_INVALID;
    run->deadline = launch->timeout_ns ? simt_now_ns() + launch->timeout_ns : 0;
    run->param_bytes = (uint32_t)kernel->function->ptx->param_bytes;
    run->params = aligned_alloc(256, (run->param_bytes + 256u) & ~255u);
    if (!run->params)
        return RP_NO_MEMORY;
    if (run->param_bytes)
        memcpy(run->params, launch->params, run->param_bytes);
    return RP_OK;
}

static void offer(struct simt_pool *pool, struct simt_run *run)
{
    const uint64_t others = run->blocks - 1;
    run->wanted = others < pool->thread_count ? (unsigned)others : pool->thread_count;
    run->share = (run->blocks + run->wanted) / (run->wanted + 1);
    if (!run->wanted)
        return;
    pthread_mutex_lock(&pool->lock);
    run->next_run = pool->runs;
    pool->runs = run;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

static void withdraw(struct simt_pool *pool, struct simt_run *run)
{
    pthread_mutex_lock(&pool->lock);
    struct simt_run **link = &pool->runs;
    while (*link && *link != run)
        link = &(*link)->next_run;
    if (*link)
        *link = run->next_run;
    while (run->helpers)
        pthread_cond_wait(&pool->idle, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

enum rp_status simt_run(struct simt_pool *pool, const struct simt_launch *launch,
                        struct simt_fault *fault)
{
    *fault = (struct simt_fault){0};
    struct simt_run run = {0};
    enum rp_status status = prepare(&run, launch);
    if (status != RP_OK)
        return status;
    struct simt_worker *worker = take_worker(pool);
    if (!worker) {
        free(run.params);
        return RP_NO_MEMORY;
    }
    pthread_mutex_init(&run.lock, NULL);
    offer(pool, &run);
    work(worker, &run);
    withdraw(pool, &run);
    give_worker(pool, worker);
    write_text(&run);
    *fault = run.fault;
    if (launch->counts)
        *launch->counts = run.counts;
    pthread_mutex_destroy(&run.lock);
    free(run.params);
    return RP_OK;
}
