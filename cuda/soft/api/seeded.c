/* SPDX-License-Identifier: Apache-2.0 */
/* The order that a seed chooses.
 *
 * An operation runs in one or several turns, and each turn has a rank in one total order. The
 * program's calls draw the ranks: whose turn is next among all operations that what they come
 * after has its last rank already. Between two turns an operation stands still, a kernel
 * between blocks, a copy between stretches of bytes, and others have theirs. */
#include "cuda/soft/api/scheduler.h"

#include "cuda/soft/api/context.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define scheduler soft_scheduler

#define GRACE_NS (100 * MILLISECOND) /* how long the order waits for the program */

enum { NO_THREAD = -1 };

/* splitmix64 */
static uint64_t draw(void)
{
    uint64_t z = scheduler.random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* ---- ranks ------------------------------------------------------------------------- */

/* Half of what can be interrupted is not. */
static unsigned choose_turns(const struct soft_op *op)
{
    const struct soft_work_type *type = op->work->type;
    unsigned most = type->pieces != NULL ? type->pieces(op->work) : 1;
    if (most > SOFT_MOST_TURNS)
        most = SOFT_MOST_TURNS;
    return most < 2 || draw() % 2 == 0 ? 1 : 2 + (unsigned)(draw() % (most - 1));
}

bool soft_seeded_is_ranked(const struct soft_op *op)
{
    return op->turns > 0 && op->ranked == op->turns;
}

/* The last turn has its rank: those who come after it may have theirs. */
static void release_later(struct soft_op *op)
{
    for (size_t i = 0; i < op->later_count; i++) {
        struct soft_op *later = op->later[i];
        if (--later->unranked == 0 && later->state == SOFT_OP_WAITING)
            soft_op_list_insert(&scheduler.rankable, later);
    }
}

static void give_rank(struct soft_op *op)
{
    if (op->ranked == 0)
        op->turns = choose_turns(op);
    op->rank_of[op->ranked++] = ++scheduler.last_rank;
    if (op->ranked == 1)
        op->rank = scheduler.last_rank;
    if (op->ranked < op->turns)
        soft_op_list_insert(&scheduler.rankable, op);
    else
        release_later(op);
}

bool soft_seeded_rank_one(void)
{
    size_t count = 0;
    struct soft_op *op = scheduler.rankable.first;

    for (const struct soft_op *each = op; each != NULL; each = each->next_rankable)
        count++;
    if (count == 0)
        return false;
    for (uint64_t skip = draw() % count; skip > 0; skip--)
        op = op->next_rankable;
    soft_op_list_remove(&scheduler.rankable, op);
    give_rank(op);
    soft_scheduler_offer(op);
    return true;
}

/* Mostly little or nothing, so that streams lag behind the program and behind each other;
 * now and then a burst. */
void soft_seeded_rank_some(void)
{
    static const unsigned char burst[8] = {0, 0, 0, 0, 1, 1, 2, 6};
    scheduler.calls++;
    for (unsigned left = burst[draw() % 8]; left > 0 && soft_seeded_rank_one(); left--)
        ;
}

void soft_seeded_rank_abandoned(void)
{
    uint64_t now = soft_now_ns();
    if (scheduler.calls != scheduler.calls_seen) {
        scheduler.calls_seen = scheduler.calls;
        scheduler.seen_ns = now;
    }
    if (now - scheduler.seen_ns < SOFT_IDLE_NS)
        return;
    while (soft_seeded_rank_one())
        ;
}

/* Turns that an operation did not need, as it ended with a fault. */
void soft_seeded_forget_turns(struct soft_op *op)
{
    if (op->turns == op->ranked)
        return;
    soft_op_list_remove(&scheduler.rankable, op);
    op->turns = op->ranked;
    release_later(op);
}

/* ---- the program ------------------------------------------------------------------- */

static uint64_t spent_ns(clockid_t clock)
{
    struct timespec spent = {0};
    clock_gettime(clock, &spent);
    return (uint64_t)spent.tv_sec * 1000000000u + (uint64_t)spent.tv_nsec;
}

void soft_scheduler_program_begins(void)
{
    scheduler.program_since = soft_now_ns();
    scheduler.program_thread = (int)syscall(SYS_gettid);
    pthread_getcpuclockid(pthread_self(), &scheduler.program_clock);
    scheduler.program_spent_ns = spent_ns(scheduler.program_clock);
}

void soft_scheduler_program_ends(void)
{
    int own = (int)syscall(SYS_gettid);
    atomic_compare_exchange_strong(&scheduler.program_thread, &own, 0);
}

void soft_scheduler_program_left(void)
{
    int over = 0;
    atomic_compare_exchange_strong(&scheduler.program_thread, &over, NO_THREAD);
}

/* The state stands behind the name, which may hold anything. */
static bool sleeps(int thread)
{
    char path[64], text[128] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    const char *name_end = size > 0 ? strrchr(text, ')') : NULL;
    return name_end == NULL || strncmp(name_end, ") R", 3) != 0;
}

/* What neither sleeps nor has run for long only lacks a processor: on a machine that is busy the
 * order is the same. */
bool soft_scheduler_program_works(void)
{
    int thread = scheduler.program_thread;
    if (scheduler.program_running == 0)
        return false;
    if (soft_now_ns() - scheduler.program_since < GRACE_NS)
        return true;
    if (thread == 0 || sleeps(thread)) /* it may have ended just now, and sleep on the lock */
        return scheduler.program_thread == 0;
    return spent_ns(scheduler.program_clock) - scheduler.program_spent_ns < GRACE_NS;
}

/* A function of the program holds the order up for a while, so that what it does comes before
 * what follows it. Should it wait for the program, the order goes on. */
bool soft_seeded_is_held(uint64_t *again)
{
    *again = GRACE_NS;
    return soft.options.seeded && soft_scheduler_program_works();
}

/* ---- turns ------------------------------------------------------------------------- */

/* Where the turn that runs ends, of `whole` pieces of work. */
static uint64_t end_of_turn(const struct soft_op *op, uint64_t whole)
{
    return whole * (op->ran + 1) / op->turns;
}

uint64_t soft_op_progress(struct soft_op *op, uint64_t done, uint64_t whole)
{
    if (op->turns < 2 || op->ran + 1 == op->turns || done < end_of_turn(op, whole))
        return 0;
    uint64_t since = soft_now_ns();
    pthread_mutex_lock(&soft.lock);
    soft_executor_pause(op);
    pthread_mutex_unlock(&soft.lock);
    return soft_now_ns() - since;
}
