/* SPDX-License-Identifier: Apache-2.0 */
/* Executors: the threads that run operations.
 *
 * They are made as they are needed, as functions of the program may block for as long as they
 * like and get a thread each. An idle executor sleeps on a condition of its own, so that a
 * call wakes exactly one, and that one for sure; it finds work, starts it and calls the next
 * one where more is ready. */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/past.h"
#include "cuda/soft/api/scheduler.h"
#include "cuda/soft/api/watch.h"

#include <time.h>

#define MOST_EXECUTORS 256
#define FOREVER UINT64_MAX

struct executor {
    struct executor *next; /* in the list of idle ones */
    pthread_cond_t wake;
    bool called;
};

static struct {
    struct executor *idle; /* the last that went to sleep comes first */
    unsigned count;
    unsigned reserved;      /* by functions of the program that are not over: they may block */
    uint64_t watched_until; /* somebody looks again by itself at this time, FOREVER: nobody */
} executors = {.watched_until = FOREVER};

/* ---- sleeping ---------------------------------------------------------------------- */

static struct timespec realtime_in(uint64_t ns)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    ns += (uint64_t)at.tv_nsec;
    at.tv_sec += (time_t)(ns / 1000000000u);
    at.tv_nsec = (long)(ns % 1000000000u);
    return at;
}

static void leave_idle(const struct executor *executor)
{
    struct executor **at = &executors.idle;
    while (*at != executor)
        at = &(*at)->next;
    *at = executor->next;
}

/* Until called, or for `ns` as the one that watches. True when the time is over. */
static bool watch(struct executor *executor, uint64_t ns)
{
    struct timespec at = realtime_in(ns);
    uint64_t until = soft_now_ns() + ns;
    int timed_out = 0;

    executors.watched_until = until;
    while (!executor->called && timed_out == 0)
        timed_out = pthread_cond_timedwait(&executor->wake, &soft.lock, &at);
    if (executors.watched_until == until)
        executors.watched_until = FOREVER;
    if (executor->called)
        return false;
    leave_idle(executor);
    return true;
}

static bool rest(struct executor *executor, uint64_t again)
{
    executor->called = false;
    executor->next = executors.idle;
    executors.idle = executor;
    if (again != 0 && soft_now_ns() + again < executors.watched_until)
        return watch(executor, again);
    while (!executor->called)
        pthread_cond_wait(&executor->wake, &soft.lock);
    return false;
}

/* ---- running ----------------------------------------------------------------------- */

static CUresult perform(struct soft_op *op, const struct soft_work_type *type)
{
    bool is_program = type->class_ == SOFT_WORK_PROGRAM;
    struct soft_scheduler *scheduler = &soft_scheduler;
    unsigned *running = is_program ? &scheduler->program_running : &scheduler->device_running;

    if ((*running)++ == 0 && is_program)
        soft_scheduler_program_begins();
    soft_past_begin(op);
    pthread_mutex_unlock(&soft.lock);
    soft_thread.in_host_function = is_program;
    if (!is_program)
        soft_watch_begin(op);
    CUresult result = type->run(op->work, op);
    if (is_program)
        soft_scheduler_program_ends();
    soft_watch_end(op);
    soft_thread.in_host_function = false;
    pthread_mutex_lock(&soft.lock);
    if (--(*running) > 0 && is_program)
        soft_scheduler_program_left();
    return result;
}

/* Its thread goes on. */
static void resume(struct soft_op *op)
{
    soft_op_list_remove(&soft_scheduler.ready, op);
    op->state = SOFT_OP_RUNNING;
    soft_scheduler.paused--;
    soft_scheduler.device_running++;
    pthread_cond_signal(op->resume);
}

static void run(struct soft_op *op)
{
    const struct soft_work_type *type = op->work->type;
    bool skip = op->context->fault != CUDA_SUCCESS && !type->always;
    CUresult result = CUDA_SUCCESS;

    soft_op_list_remove(&soft_scheduler.ready, op);
    op->state = SOFT_OP_RUNNING;
    /* This one may be away for long: somebody has to see to the others. */
    if (soft_scheduler.ready.first != NULL || soft_scheduler.rankable.first != NULL)
        soft_executor_call();
    if (type->class_ != SOFT_WORK_MARKER && !skip)
        result = perform(op, type);
    if (result != CUDA_SUCCESS)
        soft_context_fail(op->context, result);
    soft_scheduler_finish(op);
}

static void *executor_main(void *unused)
{
    struct executor self = {.wake = PTHREAD_COND_INITIALIZER};
    (void)unused;

    pthread_mutex_lock(&soft.lock);
    for (;;) {
        uint64_t again;
        struct soft_op *op = soft_scheduler_pick(&again);
        if (op != NULL && op->resume != NULL)
            resume(op);
        else if (op != NULL)
            run(op);
        else if (rest(&self, again) && again == SOFT_IDLE_NS)
            soft_seeded_rank_abandoned();
    }
    return NULL;
}

static bool add_executor(void)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    bool made = pthread_create(&thread, &attributes, executor_main, NULL) == 0;
    pthread_attr_destroy(&attributes);
    executors.count += made;
    return made;
}

/* False when nobody is idle and nobody can be added: those who are busy will look later. */
static bool call(void)
{
    struct executor *executor = executors.idle;
    if (executor == NULL)
        return executors.count < MOST_EXECUTORS && add_executor();
    executors.idle = executor->next;
    executor->called = true;
    pthread_cond_signal(&executor->wake);
    return true;
}

void soft_executor_call(void)
{
    call();
}

bool soft_executor_reserve(bool for_program)
{
    unsigned needed = executors.reserved + for_program + 1;
    while (executors.count < needed && executors.count < MOST_EXECUTORS)
        if (!add_executor())
            return false;
    executors.reserved += for_program;
    return true;
}

void soft_executor_return(struct soft_op *op)
{
    executors.reserved -= op->has_reserved;
    op->has_reserved = false;
}

void soft_executor_pause(struct soft_op *op)
{
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

    op->ran++;
    if (!call())
        return; /* nobody could go on */
    op->state = SOFT_OP_PAUSED;
    op->resume = &cond;
    soft_scheduler.paused++;
    soft_scheduler.device_running--;
    soft_scheduler_offer(op);
    pthread_cond_broadcast(&soft_scheduler.done); /* some wait until nothing runs */
    while (op->state != SOFT_OP_RUNNING)
        pthread_cond_wait(&cond, &soft.lock);
    op->resume = NULL;
}
