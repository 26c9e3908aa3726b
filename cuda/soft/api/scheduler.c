/* SPDX-License-Identifier: Apache-2.0 */
/* Which operations may run, and with a seed in which order. */
#include "cuda/soft/api/scheduler.h"

#include "cuda/soft/api/context.h"
#include "cuda/soft/api/past.h"
#include "cuda/soft/api/timeline.h"

#include <time.h>

/* Device operations share a few places. */
#define FEWEST_PLACES 4

#define POLL_NS (MILLISECOND / 5)      /* between two looks at a waited-for value */
#define GRACE_NS (100 * MILLISECOND)   /* how long the seeded order waits for the program */
#define SETTLE_NS (1000 * MILLISECOND) /* how long a seeded query waits for the order */

struct soft_scheduler soft_scheduler = {.done = PTHREAD_COND_INITIALIZER};
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

/* ---- the seeded order -------------------------------------------------------------- */

/* splitmix64 */
static uint64_t draw(void)
{
    uint64_t z = scheduler.random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void give_rank(struct soft_op *op)
{
    op->rank = ++scheduler.last_rank;
    for (size_t i = 0; i < op->later_count; i++) {
        struct soft_op *later = op->later[i];
        if (--later->unranked == 0 && later->state == SOFT_OP_WAITING)
            soft_op_list_insert(&scheduler.rankable, later);
    }
    if (op->waits == 0)
        make_ready(op);
}

/* Ranks one of the operations that could come next. False when there is none. */
static bool rank_one(void)
{
    size_t count = 0;
    struct soft_op *op = scheduler.rankable.first;

    for (const struct soft_op *each = op; each != NULL; each = each->next)
        count++;
    if (count == 0)
        return false;
    for (uint64_t skip = draw() % count; skip > 0; skip--)
        op = op->next;
    soft_op_list_remove(&scheduler.rankable, op);
    give_rank(op);
    return true;
}

/* Mostly little or nothing, so that streams lag behind the program and behind each other;
 * now and then a burst. */
static void rank_some(void)
{
    static const unsigned char burst[8] = {0, 0, 0, 0, 1, 1, 2, 6};
    scheduler.calls++;
    for (unsigned left = burst[draw() % 8]; left > 0 && rank_one(); left--)
        ;
}

void soft_scheduler_rank_abandoned(void)
{
    uint64_t now = soft_now_ns();
    if (scheduler.calls != scheduler.calls_seen) {
        scheduler.calls_seen = scheduler.calls;
        scheduler.seen_ns = now;
    }
    if (now - scheduler.seen_ns < SOFT_IDLE_NS)
        return;
    while (rank_one())
        ;
}

static bool program_is_new(void)
{
    return scheduler.program_running > 0 && soft_now_ns() - scheduler.program_since < GRACE_NS;
}

/* Seeded: a function of the program holds the order up for a while, so that what it does
 * comes before what follows it. Should it wait for the program, the order goes on. */
bool soft_scheduler_is_held(void)
{
    return soft.options.seeded && program_is_new();
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
        rank_some();
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
        rank_some();
        while (op->rank == 0 && rank_one())
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
    if (soft_scheduler_is_held()) {
        *again = GRACE_NS;
        return NULL;
    }
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

static void wait_a_little(void)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += (long)MILLISECOND;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&scheduler.done, &soft.lock, &at);
}

void soft_scheduler_poll(void)
{
    uint64_t again, until;

    if (!soft.options.seeded)
        return;
    rank_some();
    call_for_ready();
    until = soft_now_ns() + SETTLE_NS;
    while ((scheduler.device_running > 0 || soft_scheduler_is_held() ||
            soft_scheduler_pick(&again) != NULL) &&
           soft_now_ns() < until)
        wait_a_little();
}

bool soft_scheduler_await(void)
{
    uint64_t again;
    while (soft.options.seeded && rank_one())
        ;
    call_for_ready();
    bool goes_on = scheduler.device_running > 0 || program_is_new() ||
                   soft_scheduler_pick(&again) != NULL;
    if (goes_on)
        wait_a_little();
    return goes_on;
}

void soft_scheduler_hold(void)
{
    scheduler.holds++;
    while (scheduler.device_running > 0)
        pthread_cond_wait(&scheduler.done, &soft.lock);
}

void soft_scheduler_resume(void)
{
    scheduler.holds--;
    call_for_ready();
}
