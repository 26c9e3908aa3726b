/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/oracle.h"
#include "cuda/soft/api/work.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Executors are made as they are needed. Device operations share a few places; functions
 * of the program may block for as long as they like and get a thread each. */
#define MOST_EXECUTORS 256
#define FEWEST_PLACES 4

#define MILLISECOND UINT64_C(1000000)
#define POLL_NS (MILLISECOND / 5)           /* between two looks at a waited-for value */
#define GRACE_NS (100 * MILLISECOND)        /* how long the seeded order waits for the program */
#define IDLE_NS (2000 * MILLISECOND)        /* without calls, seeded work goes on by itself */
#define SETTLE_NS (1000 * MILLISECOND)      /* how long a seeded query waits for the order */

struct op_list { /* by rank, or in order of arrival */
    struct soft_op *first;
};

static struct {
    pthread_cond_t work;     /* something became ready, or the rules changed */
    pthread_cond_t done;     /* some operation is done */
    struct op_list ready;    /* by rank */
    struct op_list rankable; /* seeded: could run next but has no rank */
    uint64_t last_seq, last_rank;
    uint64_t random;         /* state of the generator */
    uint64_t calls, calls_seen; /* seeded: submissions and waits, for the idle rule */
    unsigned executors, idle;
    bool watched;            /* an idle executor looks again by itself */
    unsigned device_running, program_running;
    uint64_t program_since;  /* when the oldest running function of the program started */
    unsigned holds;
} scheduler = {.work = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

/* ---- works ------------------------------------------------------------------------- */

void *soft_work_create(const struct soft_work_type *type, size_t bytes)
{
    struct soft_work *work = calloc(1, bytes);
    if (work != NULL)
        *work = (struct soft_work){type, 1};
    return work;
}

struct soft_work *soft_work_retain(struct soft_work *work)
{
    work->references++;
    return work;
}

void soft_work_release(struct soft_work *work)
{
    if (work == NULL || --work->references > 0)
        return;
    if (work->type->release != NULL)
        work->type->release(work);
    free(work);
}

struct soft_work *soft_work_marker(void)
{
    static const struct soft_work_type type = {.name = "marker",
                                               .class_ = SOFT_WORK_MARKER,
                                               .node = CU_GRAPH_NODE_TYPE_EMPTY,
                                               .capturable = true};
    static struct soft_work marker = {&type, 1};
    return soft_work_retain(&marker);
}

/* ---- lists ------------------------------------------------------------------------- */

static void list_insert(struct op_list *list, struct soft_op *op)
{
    struct soft_op **at = &list->first;
    while (*at != NULL && (*at)->rank <= op->rank)
        at = &(*at)->next;
    op->next = *at;
    *at = op;
}

static void list_remove(struct op_list *list, struct soft_op *op)
{
    struct soft_op **at = &list->first;
    while (*at != op)
        at = &(*at)->next;
    *at = op->next;
    op->next = NULL;
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

static void make_ready(struct soft_op *op);

static void give_rank(struct soft_op *op)
{
    op->rank = ++scheduler.last_rank;
    for (size_t i = 0; i < op->later_count; i++) {
        struct soft_op *later = op->later[i];
        if (--later->unranked == 0 && later->state == SOFT_OP_WAITING)
            list_insert(&scheduler.rankable, later);
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
    list_remove(&scheduler.rankable, op);
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

/* ---- operations -------------------------------------------------------------------- */

struct soft_op *soft_op_create(struct soft_context *context, struct soft_work *work)
{
    struct soft_op *op = calloc(1, sizeof *op);
    if (op == NULL) {
        soft_work_release(work);
        return NULL;
    }
    op->work = work;
    op->context = context;
    op->references = 1;
    return op;
}

struct soft_op *soft_op_retain(struct soft_op *op)
{
    op->references++;
    return op;
}

void soft_op_release(struct soft_op *op)
{
    if (op == NULL || --op->references > 0)
        return;
    soft_work_release(op->work);
    free(op->later);
    free(op);
}

bool soft_op_is_done(const struct soft_op *op)
{
    return op == NULL || op->state == SOFT_OP_DONE;
}

void soft_op_after(struct soft_op *op, struct soft_op *earlier)
{
    if (soft_op_is_done(earlier))
        return;
    if (earlier->later_count == earlier->later_capacity) {
        size_t capacity = earlier->later_capacity ? 2 * earlier->later_capacity : 4;
        struct soft_op **later = realloc(earlier->later, capacity * sizeof(struct soft_op *));
        if (later == NULL) {
            soft_op_retain(earlier);
            soft_op_wait(earlier);
            soft_op_release(earlier);
            return;
        }
        earlier->later = later;
        earlier->later_capacity = capacity;
    }
    earlier->later[earlier->later_count++] = op;
    op->waits++;
    if (earlier->rank == 0)
        op->unranked++;
}

static void start_executors(void);

static void make_ready(struct soft_op *op)
{
    op->state = SOFT_OP_READY;
    list_insert(&scheduler.ready, op);
    start_executors();
}

/* Marks `op` done and everything that only waited for it ready. Markers among those are
 * done at once, by the same loop. */
static void finish(struct soft_op *op)
{
    struct soft_op *finished = op;
    op->next = NULL;
    while (finished != NULL) {
        struct soft_op *each = finished;
        finished = each->next;
        each->state = SOFT_OP_DONE;
        each->finished_ns = soft_now_ns();
        for (size_t i = 0; i < each->later_count; i++) {
            struct soft_op *later = each->later[i];
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
    if (soft.options.seeded) {
        if (op->unranked == 0)
            list_insert(&scheduler.rankable, op);
        rank_some();
        return;
    }
    op->rank = op->seq;
    if (op->waits > 0)
        return;
    if (op->work->type->class_ == SOFT_WORK_MARKER)
        finish(op);
    else
        make_ready(op);
}

void soft_op_wait(struct soft_op *op)
{
    if (soft.options.seeded && op->state != SOFT_OP_DONE) {
        rank_some();
        while (op->rank == 0 && rank_one())
            ;
    }
    while (op->state != SOFT_OP_DONE)
        pthread_cond_wait(&scheduler.done, &soft.lock);
}

/* ---- executors --------------------------------------------------------------------- */

static struct timespec deadline_in(uint64_t ns)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    ns += (uint64_t)at.tv_nsec;
    at.tv_sec += (time_t)(ns / 1000000000u);
    at.tv_nsec = (long)(ns % 1000000000u);
    return at;
}

static unsigned places(void)
{
    if (soft.options.seeded)
        return 1;
    return soft.options.workers > FEWEST_PLACES ? (unsigned)soft.options.workers : FEWEST_PLACES;
}

/* Seeded: a function of the program holds the order up for a while, so that what it does
 * comes before what follows it. Should it wait for the program, the order goes on. */
static bool held_by_program(void)
{
    return soft.options.seeded && scheduler.program_running > 0 &&
           soft_now_ns() - scheduler.program_since < GRACE_NS;
}

/* The first ready operation that may start now. `*again` becomes the time after which to look
 * again without being told to, 0 for never. */
static struct soft_op *pick(uint64_t *again)
{
    *again = 0;
    if (soft.life != SOFT_READY)
        return NULL;
    if (soft.options.seeded && scheduler.device_running > 0)
        return NULL; /* one after the other, functions of the program too */
    if (held_by_program()) {
        *again = GRACE_NS;
        return NULL;
    }
    for (struct soft_op *op = scheduler.ready.first; op != NULL; op = op->next) {
        const struct soft_work_type *type = op->work->type;
        bool is_device = type->class_ == SOFT_WORK_DEVICE;
        if (is_device && (scheduler.holds > 0 || scheduler.device_running >= places()))
            continue;
        if (type->ready == NULL || op->context->fault != CUDA_SUCCESS ||
            type->ready(op->work, op))
            return op;
        *again = POLL_NS;
    }
    if (soft.options.seeded && scheduler.rankable.first != NULL && *again == 0)
        *again = IDLE_NS;
    return NULL;
}

static void run(struct soft_op *op)
{
    const struct soft_work_type *type = op->work->type;
    bool is_program = type->class_ == SOFT_WORK_PROGRAM;
    unsigned *running = is_program ? &scheduler.program_running : &scheduler.device_running;
    bool skip = op->context->fault != CUDA_SUCCESS && !type->always;
    CUresult result = CUDA_SUCCESS;

    list_remove(&scheduler.ready, op);
    if (scheduler.ready.first != NULL)
        start_executors(); /* this one may be away for long */
    op->state = SOFT_OP_RUNNING;
    op->started_ns = soft_now_ns();
    if (type->class_ != SOFT_WORK_MARKER && !skip) {
        if ((*running)++ == 0 && is_program)
            scheduler.program_since = op->started_ns;
        pthread_mutex_unlock(&soft.lock);
        soft_thread.in_host_function = is_program;
        if (!is_program)
            soft_oracle_begin(op);
        result = type->run(op->work, op);
        soft_oracle_end(op, type->name);
        soft_thread.in_host_function = false;
        pthread_mutex_lock(&soft.lock);
        (*running)--;
    }
    if (result != CUDA_SUCCESS)
        soft_context_fail(op->context, result);
    finish(op);
    pthread_cond_broadcast(&scheduler.work);
}

/* Seeded work that no call drives any more, because the program looks at memory instead of
 * asking: let all of it go. */
static void rank_when_abandoned(void)
{
    if (scheduler.calls != scheduler.calls_seen) {
        scheduler.calls_seen = scheduler.calls;
        return;
    }
    while (rank_one())
        ;
}

void soft_scheduler_poll(void)
{
    uint64_t again, until;

    if (!soft.options.seeded)
        return;
    rank_some();
    until = soft_now_ns() + SETTLE_NS;
    while (scheduler.device_running > 0 || held_by_program() || pick(&again) != NULL) {
        struct timespec at = deadline_in(MILLISECOND);
        pthread_cond_timedwait(&scheduler.done, &soft.lock, &at);
        if (soft_now_ns() > until)
            break;
    }
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
    pthread_cond_broadcast(&scheduler.work);
}

void soft_scheduler_start(void)
{
    scheduler.random = soft.options.seed;
}

static void *executor(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&soft.lock);
    for (;;) {
        uint64_t again;
        struct soft_op *op = pick(&again);
        if (op != NULL) {
            run(op);
            continue;
        }
        scheduler.idle++;
        if (again == 0 || scheduler.watched) {
            pthread_cond_wait(&scheduler.work, &soft.lock);
        } else {
            struct timespec at = deadline_in(again);
            scheduler.watched = true;
            bool timed_out = pthread_cond_timedwait(&scheduler.work, &soft.lock, &at) != 0;
            scheduler.watched = false;
            if (timed_out && again == IDLE_NS)
                rank_when_abandoned();
        }
        scheduler.idle--;
    }
    return NULL;
}

static void start_executors(void)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_cond_signal(&scheduler.work);
    if (scheduler.idle > 0 || scheduler.executors >= MOST_EXECUTORS)
        return;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attributes, executor, NULL) == 0)
        scheduler.executors++;
    else if (scheduler.executors == 0)
        soft_say("can't start a thread: work will not run");
    pthread_attr_destroy(&attributes);
}
