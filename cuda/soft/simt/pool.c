/* SPDX-License-Identifier: Apache-2.0 */
/* Launches, and the threads that help with them.
 *
 * The thread that launches works on its launch itself; the pool's threads help whoever has
 * blocks left, one run after the other. A thread needs a workplace (arenas below 2 GiB, spare
 * frames) to work; workplaces are kept for the next one. */
#include "cuda/soft/simt/block.h"
#include "cuda/soft/simt/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
            simt_worker_work(worker, run);
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
        simt_worker_destroy(worker);
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

/* The parameters are the launch's own from here on; behind them is room for its workspace. */
static enum rp_status copy_parameters(struct simt_run *run)
{
    const uint32_t size = SIMT_WORKSPACE_BYTES;
    run->workspace_offset = (run->param_bytes + 255u) & ~255u;
    run->params = aligned_alloc(256, run->workspace_offset + 256);
    if (!run->params)
        return RP_NO_MEMORY;
    if (run->param_bytes)
        memcpy(run->params, run->launch->params, run->param_bytes);
    memset(run->params + run->workspace_offset, 0, size);
    memcpy(run->params + run->workspace_offset, &size, sizeof size);
    return RP_OK;
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
    return copy_parameters(run);
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
    simt_worker_work(worker, &run);
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
