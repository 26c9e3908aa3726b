/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/parallel.h"

#include "planner/watch.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define MAX_WORKERS 64
#define MESSAGE_SIZE 256

/* Workers take the next task that nobody has. */
struct pool {
    rp_task_fn task;
    void *context;
    size_t count;
    atomic_size_t next, done;
    atomic_bool failed;
    pthread_mutex_t lock; /* around what follows */
    enum rp_status status;
    size_t failed_index;
    char message[MESSAGE_SIZE];
};

static void record_failure(struct pool *pool, size_t index, enum rp_status status,
                           const char *message)
{
    pthread_mutex_lock(&pool->lock);
    if (pool->status == RP_OK || index < pool->failed_index) {
        pool->status = status;
        pool->failed_index = index;
        snprintf(pool->message, sizeof(pool->message), "%s", message);
    }
    pthread_mutex_unlock(&pool->lock);
    atomic_store(&pool->failed, true);
}

static void take_tasks(struct pool *pool, const struct rp_watch *watch)
{
    while (!atomic_load(&pool->failed)) {
        char message[MESSAGE_SIZE] = "";
        size_t index = atomic_fetch_add(&pool->next, 1);
        if (index >= pool->count)
            break;
        enum rp_status status = pool->task(pool->context, index, message, sizeof(message));
        if (status != RP_OK)
            record_failure(pool, index, status, message);
        rp_watch_parts(watch, atomic_fetch_add(&pool->done, 1) + 1, pool->count);
    }
}

static void *help(void *argument)
{
    take_tasks(argument, NULL);
    return NULL;
}

/* Those that this process may run on, be there more. */
static size_t processor_count(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return (size_t)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN); /* more than the set can hold */
    return online > 1 ? (size_t)online : 1;
}

static size_t worker_count(size_t tasks)
{
    size_t workers = processor_count();

    if (workers > MAX_WORKERS)
        workers = MAX_WORKERS;
    return workers < tasks ? workers : tasks;
}

enum rp_status rp_parallel_run(rp_task_fn task, void *context, size_t count,
                               const struct rp_watch *watch, char *message, size_t message_size)
{
    struct pool pool = {.task = task,
                        .context = context,
                        .count = count,
                        .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[MAX_WORKERS];
    size_t others = 0, workers = worker_count(count);

    /* This thread works too; where no other can be had, it does it all. */
    while (others + 1 < workers && pthread_create(&threads[others], NULL, help, &pool) == 0)
        others++;
    take_tasks(&pool, watch);
    for (size_t i = 0; i < others; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&pool.lock);
    if (pool.status != RP_OK)
        snprintf(message, message_size, "%s", pool.message);
    return pool.status;
}
