/* SPDX-License-Identifier: Apache-2.0 */
/* Which operations may run, and with a seed in which order. */
#include "cuda/soft/api/scheduler.h"

#include "cuda/soft/api/context.h"
#include "cuda/soft/api/past.h"
#include "cuda/soft/api/queue.h"
#include "cuda/soft/api/timeline.h"

#include <time.h>

/* Device operations share a few places. */
#define FEWEST_PLACES 4

#define POLL_NS (MILLISECOND / 5)      /* between two looks at a waited-for value */
#define SETTLE_NS (1000 * MILLISECOND) /* how long a seeded query waits for the order */

struct soft_scheduler soft_scheduler = {.done = PTHREAD_COND_INITIALIZER,
                                        .rankable = {.is_of_rankable = true}};
#define scheduler soft_scheduler

void soft_scheduler_start(void)
{
    scheduler.random = soft.options.seed;
}

static void make_ready(struct soft_op *op)
{
    op->state = SOFT_OP_READY;
    soft_op_list_insert(&scheduler.ready, op);
}

static void call_for_ready(void)
{
    if (scheduler.ready.first != NULL)
        soft_executor_call();
}

/* Into the list of ready operations, where it can be: its next turn has a rank, nobody else
 * runs it, and all that it comes after is done. */
void soft_scheduler_offer(struct soft_op *op)
{
    if (op->state == SOFT_OP_PAUSED && op->ran < op->ranked) {
        op->rank = op->rank_of[op->ran];
        make_ready(op);
    } else if (op->state == SOFT_OP_WAITING && op->waits == 0) {
        make_ready(op);
    }
}

/* ---- the way of an operation ------------------------------------------------------- */

/* Markers among those that only waited for `op` are done at once, by the same loop. */
void soft_scheduler_finish(struct soft_op *op)
{
    struct soft_op *finished = op;
    op->next = NULL;
    while (finished != NULL) {
        struct soft_op *each = finished;
        finished = each->next;
        each->state = SOFT_OP_DONE;
        soft_seeded_forget_turns(each);
        soft_executor_return(each);
        soft_queue_leave(each);
        each->finished_ns = soft_now_ns();
        soft_timeline_done(each);
        soft_past_begin(each);
        for (size_t i = 0; i < each->later_count; i++) {
            struct soft_op *later = each->later[i];
            soft_past_join(later, each);
            if (--later->waits > 0 || later->rank == 0)
                continue;
            if (later->work->type->class_ != SOFT_WORK_MARKER) {
                make_ready(later);
                continue;
            }
            later->next = finished;
            finished = later;
        }
        each->later_count = 0;
        soft_op_release(each);
    }
    pthread_cond_broadcast(&scheduler.done);
}

void soft_op_submit(struct soft_op *op)
{
    soft_op_retain(op); /* until it is done */
    op->seq = ++scheduler.last_seq;
    op->state = SOFT_OP_WAITING;
    soft_timeline_submit(op);
    soft_past_join_program(op);
    if (soft.options.seeded) {
        if (op->unranked == 0)
            soft_op_list_insert(&scheduler.rankable, op);
        soft_seeded_rank_some();
        soft_executor_call(); /* somebody has to watch what has no rank yet */
        return;
    }
    op->rank = op->seq;
    if (op->waits > 0)
        return;
    if (op->work->type->class_ == SOFT_WORK_MARKER)
        soft_scheduler_finish(op);
    else
        make_ready(op);
    call_for_ready();
}

void soft_op_wait(struct soft_op *op)
{
    if (soft.options.seeded) {
        soft_seeded_rank_some();
        while (!soft_seeded_is_ranked(op) && soft_seeded_rank_one())
            ;
        call_for_ready();
    }
    while (op->state != SOFT_OP_DONE)
        pthread_cond_wait(&scheduler.done, &soft.lock);
    soft_op_met(op);
}

static unsigned places(void)
{
    if (soft.options.seeded)
        return 1;
    return soft.options.workers > FEWEST_PLACES ? (unsigned)soft.options.workers : FEWEST_PLACES;
}

static bool can_run(const struct soft_op *op)
{
    const struct soft_work_type *type = op->work->type;
    return type->ready == NULL || op->context->fault != CUDA_SUCCESS || type->ready(op->work, op);
}

struct soft_op *soft_scheduler_pick(uint64_t *again)
{
    *again = 0;
    if (soft.life != SOFT_READY)
        return NULL;
    if (soft.options.seeded && scheduler.device_running > 0)
        return NULL; /* one after the other, functions of the program too */
    if (soft_seeded_is_held(again))
        return NULL;
    *again = 0;
    for (struct soft_op *op = scheduler.ready.first; op != NULL; op = op->next) {
        bool is_device = op->work->type->class_ == SOFT_WORK_DEVICE;
        if (is_device && (scheduler.holds > 0 || scheduler.device_running >= places()))
            continue;
        if (can_run(op))
            return op;
        *again = POLL_NS;
    }
    if (soft.options.seeded && scheduler.rankable.first != NULL && *again == 0)
        *again = SOFT_IDLE_NS;
    return NULL;
}

/* ---- asking and holding ------------------------------------------------------------ */

static void wait_a_little(pthread_cond_t *until)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += (long)MILLISECOND;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    pthread_cond_timedwait(until, &soft.lock, &at);
}

void soft_scheduler_poll(void)
{
    uint64_t again, until;

    if (!soft.options.seeded)
        return;
    soft_seeded_rank_some();
    call_for_ready();
    until = soft_now_ns() + SETTLE_NS;
    while ((scheduler.device_running > 0 || soft_seeded_is_held(&again) ||
            soft_scheduler_pick(&again) != NULL) &&
           soft_now_ns() < until)
        wait_a_little(&scheduler.done);
}

bool soft_scheduler_await(pthread_cond_t *until)
{
    uint64_t again;
    while (soft.options.seeded && soft_seeded_rank_one())
        ;
    call_for_ready();
    bool goes_on = scheduler.device_running > 0 || soft_scheduler_program_works() ||
                   soft_scheduler_pick(&again) != NULL;
    if (goes_on)
        wait_a_little(until != NULL ? until : &scheduler.done);
    return goes_on;
}

/* What has begun ends first, also where it stands between two turns. */
void soft_scheduler_hold(void)
{
    while (scheduler.paused > 0 || (scheduler.holds > 0 && scheduler.device_running > 0)) {
        while (soft_seeded_rank_one())
            ;
        call_for_ready();
        pthread_cond_wait(&scheduler.done, &soft.lock);
    }
    scheduler.holds++;
    while (scheduler.device_running > 0)
        pthread_cond_wait(&scheduler.done, &soft.lock);
}

void soft_scheduler_resume(void)
{
    scheduler.holds--;
    call_for_ready();
}
