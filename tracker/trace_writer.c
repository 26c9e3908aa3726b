/* SPDX-License-Identifier: Apache-2.0 */
/* Three kinds of threads meet here.
 *
 * An emitting thread appends to its own buffer under its own flag `busy`, which nobody else
 * holds for longer than it takes to detach the buffer. When the buffer is full it is queued,
 * under the writer's lock, and an empty one taken. The writing thread empties the queue, and
 * now and then takes over buffers that grew old. Threads that flush or close take over
 * buffers too, then wait for the writing thread.
 *
 * Order of locks: a thread's `busy` before the writer's lock. Thread states are never freed
 * before the writer is, so that their list can be walked without a lock. */
#include "tracker/trace.h"

#include "tracker/events.h"
#include "tracker/idmap.h"
#include "tracker/trace_encode.h"
#include "tracker/trace_file.h"
#include "tracker/trace_format.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_BUFFER_BYTES ((size_t)256 << 10)
#define LEAST_BUFFER_BYTES ((size_t)4 << 10)
#define DEFAULT_MAX_AGE_NS UINT64_C(200000000)
#define LEAST_PERIOD_NS UINT64_C(1000000)
#define SPARE_BUFFERS 4 /* beside two for each thread */

_Static_assert(RP_EVENT_MAX_FIELDS * (RP_TRACE_MAX_TEXT + 64u) + 65536u < RP_TRACE_MAX_RAW,
               "the largest event fits the largest chunk");

enum phase { OPEN, CLOSED, FORKED };

struct thread_state {
    struct thread_state *next;
    struct rp_trace_writer *writer;
    atomic_bool owned; /* by a thread that lives */
    atomic_flag busy;
    bool inside; /* set and read by the owner alone: a signal handler that emits inside emit */
    uint64_t thread;
    struct rp_trace_buffer *buffer;
    struct rp_trace_coder coder;
    atomic_uint_fast64_t unmarked; /* lost since the last gap event */
    atomic_uint_fast64_t events, lost;
};

struct rp_trace_writer {
    uint64_t serial; /* never the same twice in a process, as an address may be */
    pid_t pid;
    atomic_int phase;
    uint64_t start_ns;
    size_t buffer_bytes;
    uint64_t max_age_ns;
    int level;
    bool lossy;
    pthread_key_t key; /* this thread's state */
    _Atomic(struct thread_state *) threads;
    atomic_uint_fast64_t lost_early; /* by threads that could get no state */

    struct rp_trace_type *types[RP_TRACE_MAX_EVENT_TYPES];
    atomic_uint type_count;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    struct rp_idmap type_of; /* by address of the definition */
    struct rp_trace_buffer *queue, **queue_end;
    struct rp_trace_buffer *empty;
    size_t buffer_count, buffer_limit;
    uint64_t queued, written; /* buffers, ever */
    uint64_t waits, lost_on_disk, bytes_raw, bytes_written;
    int error; /* errno of the file's first failure */
    bool started, threadless, stop;

    struct rp_trace_file file; /* of whoever drains the queue, one at a time */
    pthread_t thread;
    atomic_bool running; /* the writing thread is there */
    sem_t work;
    atomic_bool rescue; /* asked for, from a signal handler */
    struct rp_trace_writer *older; /* in the list for forks */
};

static uint64_t now_ns(const struct rp_trace_writer *writer)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec -
           writer->start_ns;
}

static enum phase phase_of(struct rp_trace_writer *writer)
{
    return (enum phase)atomic_load_explicit(&writer->phase, memory_order_relaxed);
}

/* ---- buffers ---------------------------------------------------------------------- */

static struct rp_trace_buffer *buffer_create(size_t bytes)
{
    struct rp_trace_buffer *buffer = malloc(sizeof(*buffer) + bytes);

    if (buffer != NULL)
        buffer->capacity = (uint32_t)bytes;
    return buffer;
}

static void queue_push(struct rp_trace_writer *writer, struct rp_trace_buffer *buffer)
{
    buffer->next = NULL;
    *writer->queue_end = buffer;
    writer->queue_end = &buffer->next;
    writer->queued++;
}

static struct rp_trace_buffer *queue_pop(struct rp_trace_writer *writer)
{
    struct rp_trace_buffer *buffer = writer->queue;

    if (buffer != NULL) {
        writer->queue = buffer->next;
        if (writer->queue == NULL)
            writer->queue_end = &writer->queue;
    }
    return buffer;
}

static void retire(struct rp_trace_writer *writer, struct rp_trace_buffer *buffer)
{
    if (buffer->capacity > writer->buffer_bytes) { /* made for one huge event */
        free(buffer);
        writer->buffer_count--;
    } else {
        buffer->next = writer->empty;
        writer->empty = buffer;
    }
}

/* Writes all that is queued. The lock is held on entry and on return; while writing only if
 * there is no thread for it, when it keeps the emitting threads from each other. */
static void drain(struct rp_trace_writer *writer)
{
    struct rp_trace_buffer *buffer;

    while ((buffer = queue_pop(writer)) != NULL) {
        if (!writer->threadless)
            pthread_mutex_unlock(&writer->lock);
        enum rp_status status = rp_trace_file_append(&writer->file, buffer, writer->level);
        if (!writer->threadless)
            pthread_mutex_lock(&writer->lock);
        if (status != RP_OK)
            writer->lost_on_disk += buffer->events;
        writer->error = writer->file.error;
        writer->bytes_raw = writer->file.bytes_raw;
        writer->bytes_written = writer->file.offset;
        retire(writer, buffer);
        writer->written++;
        pthread_cond_broadcast(&writer->changed);
    }
}

static bool start_thread(struct rp_trace_writer *writer);

/* An empty buffer of at least `bytes`; NULL when there is none and this thread shall not
 * wait, or when the host is out of memory. */
static struct rp_trace_buffer *buffer_take(struct rp_trace_writer *writer, size_t bytes,
                                           bool may_wait)
{
    struct rp_trace_buffer *buffer = NULL;

    pthread_mutex_lock(&writer->lock);
    if (!writer->started) {
        writer->started = true;
        writer->threadless = !start_thread(writer);
    }
    if (writer->empty == NULL && writer->buffer_count >= writer->buffer_limit && may_wait)
        writer->waits++;
    while (writer->empty == NULL && writer->buffer_count >= writer->buffer_limit && may_wait)
        pthread_cond_wait(&writer->changed, &writer->lock);
    if (writer->empty != NULL) {
        buffer = writer->empty;
        writer->empty = buffer->next;
    } else if (writer->buffer_count < writer->buffer_limit) {
        buffer = buffer_create(writer->buffer_bytes);
        writer->buffer_count += buffer != NULL;
    }
    if (buffer != NULL && buffer->capacity < bytes) {
        free(buffer);
        buffer = buffer_create(bytes);
        if (buffer == NULL) {
            writer->buffer_count--;
            pthread_cond_broadcast(&writer->changed);
        }
    }
    pthread_mutex_unlock(&writer->lock);
    return buffer;
}

/* ---- the state of a thread -------------------------------------------------------- */

static bool try_enter(struct thread_state *t)
{
    return !atomic_flag_test_and_set_explicit(&t->busy, memory_order_acquire);
}

static void enter(struct thread_state *t)
{
    while (!try_enter(t))
        sched_yield();
}

static void leave(struct thread_state *t)
{
    atomic_flag_clear_explicit(&t->busy, memory_order_release);
}

/* Queues what the thread has gathered. The state is entered. */
static void hand_over(struct thread_state *t)
{
    struct rp_trace_writer *writer = t->writer;
    struct rp_trace_buffer *buffer = t->buffer;

    if (buffer == NULL)
        return;
    t->buffer = NULL;
    pthread_mutex_lock(&writer->lock);
    if (buffer->events > 0) {
        queue_push(writer, buffer);
    } else {
        retire(writer, buffer);
        pthread_cond_broadcast(&writer->changed);
    }
    if (writer->threadless)
        drain(writer);
    pthread_mutex_unlock(&writer->lock);
    sem_post(&writer->work);
}

static void thread_ended(void *state);

static struct thread_state *state_reuse(struct rp_trace_writer *writer)
{
    struct thread_state *t = atomic_load_explicit(&writer->threads, memory_order_acquire);

    for (; t != NULL; t = t->next) {
        bool owned = false;
        if (atomic_compare_exchange_strong(&t->owned, &owned, true))
            return t;
    }
    return NULL;
}

static struct thread_state *state_create(struct rp_trace_writer *writer)
{
    struct thread_state *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    t->writer = writer;
    atomic_store(&t->owned, true);
    atomic_flag_clear(&t->busy);
    pthread_mutex_lock(&writer->lock);
    writer->buffer_limit += 2;
    t->next = atomic_load(&writer->threads);
    atomic_store_explicit(&writer->threads, t, memory_order_release);
    pthread_mutex_unlock(&writer->lock);
    return t;
}

static _Thread_local struct {
    uint64_t serial; /* of the writer that this thread used last */
    struct thread_state *state;
} current;

/* NULL when this thread can have no state. */
static struct thread_state *this_thread(struct rp_trace_writer *writer)
{
    if (current.serial == writer->serial)
        return current.state;
    struct thread_state *t = pthread_getspecific(writer->key);
    if (t == NULL) {
        t = state_reuse(writer);
        if (t == NULL)
            t = state_create(writer);
        if (t == NULL)
            return NULL;
        t->thread = (uint64_t)syscall(SYS_gettid);
        if (pthread_setspecific(writer->key, t) != 0) {
            atomic_store(&t->owned, false);
            return NULL;
        }
    }
    current.serial = writer->serial;
    current.state = t;
    return t;
}

/* A thread ends; it may still emit from later destructors, and gets a state anew then. */
static void thread_ended(void *state)
{
    struct thread_state *t = state;

    current.serial = 0;
    if (phase_of(t->writer) != OPEN)
        return;
    enter(t);
    hand_over(t);
    leave(t);
    atomic_store(&t->owned, false);
}

/* ---- emitting --------------------------------------------------------------------- */

/* Makes the thread's buffer ready for one event of the type. */
static bool make_room(struct thread_state *t, const struct rp_trace_type *type, size_t bytes,
                      bool may_wait)
{
    struct rp_trace_writer *writer = t->writer;

    if (t->buffer != NULL && t->buffer->capacity - t->buffer->used >= bytes) {
        enum rp_status status = rp_trace_coder_prepare(&t->coder, type);
        if (status != RP_END)
            return status == RP_OK;
    }
    hand_over(t);
    t->buffer = buffer_take(writer, bytes, may_wait);
    if (t->buffer == NULL)
        return false;
    t->buffer->thread = t->thread;
    t->buffer->events = 0;
    t->buffer->used = 0;
    rp_trace_coder_begin(&t->coder);
    return rp_trace_coder_prepare(&t->coder, type) == RP_OK;
}

static bool append(struct thread_state *t, const struct rp_trace_type *type,
                   const union rp_value *values, bool may_wait)
{
    if (!make_room(t, type, rp_trace_bound(type, values), may_wait))
        return false;
    rp_trace_encode(&t->coder, t->buffer, type, values, now_ns(t->writer));
    /* Only this thread counts here: no need for a locked instruction. */
    uint64_t events = atomic_load_explicit(&t->events, memory_order_relaxed);
    atomic_store_explicit(&t->events, events + 1, memory_order_relaxed);
    return true;
}

/* Says in the trace itself how many events are missing at this place. */
static bool mark_gap(struct thread_state *t, bool may_wait)
{
    union rp_value lost = {.u = atomic_load_explicit(&t->unmarked, memory_order_relaxed)};

    if (lost.u == 0)
        return true;
    if (!append(t, t->writer->types[0], &lost, may_wait))
        return false;
    atomic_fetch_sub(&t->unmarked, lost.u);
    return true;
}

static void lose(struct thread_state *t)
{
    atomic_fetch_add(&t->lost, 1);
    atomic_fetch_add(&t->unmarked, 1);
}

void rp_trace_emit(struct rp_trace_writer *writer, uint32_t event, const union rp_value *values)
{
    if (phase_of(writer) != OPEN)
        return;
    struct thread_state *t = this_thread(writer);
    if (t == NULL) {
        atomic_fetch_add(&writer->lost_early, 1);
        return;
    }
    if (t->inside) { /* a signal came while this thread was here: waiting would be for ever */
        lose(t);
        return;
    }
    t->inside = true;
    atomic_signal_fence(memory_order_seq_cst);
    enter(t);
    if (phase_of(writer) == OPEN) {
        unsigned known = atomic_load_explicit(&writer->type_count, memory_order_acquire);
        if (event >= known || !mark_gap(t, !writer->lossy) ||
            !append(t, writer->types[event], values, !writer->lossy))
            lose(t);
    }
    leave(t);
    atomic_signal_fence(memory_order_seq_cst);
    t->inside = false;
}

uint32_t rp_trace_define(struct rp_trace_writer *writer, const struct rp_event_def *def)
{
    uint32_t id = UINT32_MAX;

    pthread_mutex_lock(&writer->lock);
    struct rp_trace_type *type = rp_idmap_find(&writer->type_of, (uintptr_t)def);
    if (type == NULL) {
        unsigned next = atomic_load(&writer->type_count);
        type = next < RP_TRACE_MAX_EVENT_TYPES ? rp_trace_type_create(def, next) : NULL;
        if (type != NULL && rp_idmap_insert(&writer->type_of, (uintptr_t)def, type) != RP_OK) {
            free(type);
            type = NULL;
        }
        if (type != NULL) {
            writer->types[next] = type;
            atomic_store_explicit(&writer->type_count, next + 1, memory_order_release);
        }
    }
    if (type != NULL)
        id = type->id;
    pthread_mutex_unlock(&writer->lock);
    return id;
}

/* ---- the writing thread ----------------------------------------------------------- */

/* Takes over the buffers that are older than `age`. A thread that stays busy is waiting for
 * an empty buffer, or it crashed where it stands: it is passed over. */
static void collect(struct rp_trace_writer *writer, uint64_t age)
{
    struct thread_state *t = atomic_load_explicit(&writer->threads, memory_order_acquire);

    for (; t != NULL; t = t->next) {
        int attempts = 100;
        while (!try_enter(t) && --attempts > 0)
            sched_yield();
        if (attempts == 0)
            continue;
        if (t->buffer != NULL && t->buffer->events > 0 &&
            t->buffer->first_ns + age <= now_ns(writer))
            hand_over(t);
        leave(t);
    }
}

static void *write_on(void *argument)
{
    struct rp_trace_writer *writer = argument;
    uint64_t period = writer->max_age_ns / 2;
    bool stop = false;

    pthread_setname_np(pthread_self(), "reprise-trace");
    while (!stop) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        uint64_t ns = (uint64_t)until.tv_nsec + period;
        until.tv_sec += (time_t)(ns / 1000000000);
        until.tv_nsec = (long)(ns % 1000000000);
        sem_clockwait(&writer->work, CLOCK_MONOTONIC, &until);

        bool rescue = atomic_load(&writer->rescue);
        collect(writer, rescue ? 0 : period);
        pthread_mutex_lock(&writer->lock);
        drain(writer);
        stop = writer->stop;
        pthread_mutex_unlock(&writer->lock);
        if (rescue)
            atomic_store(&writer->rescue, false);
    }
    return NULL;
}

/* The job's signals are the job's: none is ever delivered to this thread. */
static bool start_thread(struct rp_trace_writer *writer)
{
    sigset_t all, old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = pthread_create(&writer->thread, NULL, write_on, writer);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    atomic_store(&writer->running, error == 0);
    return error == 0;
}

/* ---- forks ------------------------------------------------------------------------ */

/* While a fork is under way all locks are held, so that the child inherits whole lists. */
static pthread_mutex_t writers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rp_trace_writer *writers;
static pthread_once_t fork_handlers = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
    pthread_mutex_lock(&writers_lock);
    for (struct rp_trace_writer *w = writers; w != NULL; w = w->older)
        pthread_mutex_lock(&w->lock);
}

static void after_fork_in_parent(void)
{
    for (struct rp_trace_writer *w = writers; w != NULL; w = w->older)
        pthread_mutex_unlock(&w->lock);
    pthread_mutex_unlock(&writers_lock);
}

static void after_fork_in_child(void)
{
    for (struct rp_trace_writer *w = writers; w != NULL; w = w->older)
        atomic_store(&w->phase, FORKED);
    after_fork_in_parent();
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void enlist(struct rp_trace_writer *writer)
{
    pthread_once(&fork_handlers, watch_forks);
    pthread_mutex_lock(&writers_lock);
    writer->older = writers;
    writers = writer;
    pthread_mutex_unlock(&writers_lock);
}

static void delist(struct rp_trace_writer *writer)
{
    pthread_mutex_lock(&writers_lock);
    struct rp_trace_writer **link = &writers;
    while (*link != NULL && *link != writer)
        link = &(*link)->older;
    if (*link != NULL)
        *link = writer->older;
    pthread_mutex_unlock(&writers_lock);
}

/* ---- birth and death -------------------------------------------------------------- */

static void release(struct rp_trace_writer *writer)
{
    struct thread_state *t = atomic_load(&writer->threads);
    struct rp_trace_buffer *lists[2] = {writer->queue, writer->empty};

    pthread_key_delete(writer->key); /* no thread that ends comes back here from now on */
    delist(writer);
    while (t != NULL) {
        struct thread_state *next = t->next;
        free(t->buffer);
        rp_trace_coder_release(&t->coder);
        free(t);
        t = next;
    }
    for (size_t i = 0; i < 2; i++) {
        for (struct rp_trace_buffer *b = lists[i]; b != NULL;) {
            struct rp_trace_buffer *next = b->next;
            free(b);
            b = next;
        }
    }
    for (unsigned i = 0; i < atomic_load(&writer->type_count); i++)
        free(writer->types[i]);
    rp_idmap_release(&writer->type_of);
    rp_trace_file_release(&writer->file);
    free(writer);
}

static uint64_t realtime_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* The caller's properties and the moment that all times count from. */
static enum rp_status create_file(struct rp_trace_writer *writer, const char *path,
                                  const struct rp_trace_options *options)
{
    char start[24];
    const char *(*pairs)[2] = calloc(options->property_count + 1, sizeof(*pairs));

    if (pairs == NULL)
        return RP_NO_MEMORY;
    snprintf(start, sizeof(start), "%llu", (unsigned long long)realtime_ns());
    pairs[0][0] = "start_ns";
    pairs[0][1] = start;
    for (size_t i = 0; i < options->property_count; i++) {
        pairs[i + 1][0] = options->properties[i][0];
        pairs[i + 1][1] = options->properties[i][1];
    }
    enum rp_status status =
        rp_trace_file_create(&writer->file, path, (const char *const(*)[2])pairs,
                             options->property_count + 1);
    free(pairs);
    return status;
}

static void apply_options(struct rp_trace_writer *writer, const struct rp_trace_options *options)
{
    size_t bytes = options->buffer_bytes != 0 ? options->buffer_bytes : DEFAULT_BUFFER_BYTES;

    if (bytes < LEAST_BUFFER_BYTES)
        bytes = LEAST_BUFFER_BYTES;
    writer->buffer_bytes = bytes < RP_TRACE_MAX_RAW ? bytes : RP_TRACE_MAX_RAW;
    writer->max_age_ns = options->max_age_ns != 0 ? options->max_age_ns : DEFAULT_MAX_AGE_NS;
    if (writer->max_age_ns < 2 * LEAST_PERIOD_NS)
        writer->max_age_ns = 2 * LEAST_PERIOD_NS;
    writer->level = options->level != 0 ? options->level : 1;
    writer->lossy = options->lossy;
}

enum rp_status rp_trace_writer_open(const char *path, const struct rp_trace_options *options,
                                    struct rp_trace_writer **out)
{
    static const struct rp_trace_options defaults;
    static atomic_uint_fast64_t serials;
    struct rp_trace_writer *writer = calloc(1, sizeof(*writer));

    *out = NULL;
    if (writer == NULL)
        return RP_NO_MEMORY;
    if (pthread_key_create(&writer->key, thread_ended) != 0) {
        free(writer);
        return RP_NO_MEMORY;
    }
    apply_options(writer, options != NULL ? options : &defaults);
    writer->start_ns = now_ns(writer);
    enum rp_status status = create_file(writer, path, options != NULL ? options : &defaults);
    if (status != RP_OK) {
        int error = errno;
        pthread_key_delete(writer->key);
        free(writer);
        errno = error;
        return status;
    }
    writer->serial = atomic_fetch_add(&serials, 1) + 1;
    writer->pid = getpid();
    writer->queue_end = &writer->queue;
    writer->buffer_limit = SPARE_BUFFERS;
    writer->bytes_written = writer->file.offset;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->changed, NULL);
    sem_init(&writer->work, 0, 0);
    enlist(writer);
    if (rp_trace_define(writer, &rp_event_defs[RP_EVENT_gap]) != 0) { /* mark_gap relies on 0 */
        unlink(path);
        release(writer);
        return RP_NO_MEMORY;
    }
    *out = writer;
    return RP_OK;
}

static void hand_over_all(struct rp_trace_writer *writer, bool mark)
{
    struct thread_state *t = atomic_load_explicit(&writer->threads, memory_order_acquire);

    for (; t != NULL; t = t->next) {
        enter(t);
        if (mark)
            mark_gap(t, true);
        hand_over(t);
        leave(t);
    }
}

static enum rp_status wait_written(struct rp_trace_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    uint64_t target = writer->queued;
    while (writer->written < target)
        pthread_cond_wait(&writer->changed, &writer->lock);
    int error = writer->error;
    pthread_mutex_unlock(&writer->lock);
    if (error == 0)
        return RP_OK;
    errno = error;
    return RP_IO;
}

enum rp_status rp_trace_writer_flush(struct rp_trace_writer *writer)
{
    if (phase_of(writer) != OPEN)
        return RP_INVALID;
    hand_over_all(writer, false);
    return wait_written(writer);
}

enum rp_status rp_trace_writer_finish(struct rp_trace_writer *writer)
{
    int open = OPEN;

    if (!atomic_compare_exchange_strong(&writer->phase, &open, CLOSED))
        return RP_INVALID;
    hand_over_all(writer, true);
    pthread_mutex_lock(&writer->lock);
    writer->stop = true;
    pthread_mutex_unlock(&writer->lock);
    if (atomic_load(&writer->running)) {
        sem_post(&writer->work);
        pthread_join(writer->thread, NULL);
    }
    enum rp_status status = rp_trace_file_finish(&writer->file);
    int error = errno;
    pthread_mutex_lock(&writer->lock);
    writer->bytes_written = writer->file.offset;
    pthread_mutex_unlock(&writer->lock);
    errno = error;
    return status;
}

enum rp_status rp_trace_writer_close(struct rp_trace_writer *writer)
{
    if (writer == NULL)
        return RP_OK;
    if (phase_of(writer) == FORKED) {
        rp_trace_writer_abandon(writer);
        return RP_OK;
    }
    enum rp_status status =
        phase_of(writer) == OPEN ? rp_trace_writer_finish(writer) : RP_OK;
    int error = errno;
    pthread_mutex_destroy(&writer->lock);
    pthread_cond_destroy(&writer->changed);
    sem_destroy(&writer->work);
    release(writer);
    errno = error;
    return status;
}

void rp_trace_writer_abandon(struct rp_trace_writer *writer)
{
    /* In the parent the writing thread is still at work on all this. The condition variable
     * is not destroyed: that would wait for threads that the child does not have. */
    if (writer != NULL && writer->pid != getpid())
        release(writer);
}

void rp_trace_writer_rescue(struct rp_trace_writer *writer)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    if (phase_of(writer) != OPEN || !atomic_load(&writer->running) ||
        pthread_equal(pthread_self(), writer->thread))
        return;
    atomic_store(&writer->rescue, true);
    sem_post(&writer->work);
    for (int i = 0; i < 1000 && atomic_load(&writer->rescue); i++)
        nanosleep(&pause, NULL);
}

void rp_trace_writer_stats(const struct rp_trace_writer *writer, struct rp_trace_stats *stats)
{
    struct rp_trace_writer *w = (struct rp_trace_writer *)(uintptr_t)writer;

    *stats = (struct rp_trace_stats){.lost = atomic_load(&w->lost_early)};
    for (struct thread_state *t = atomic_load(&w->threads); t != NULL; t = t->next) {
        stats->events += atomic_load_explicit(&t->events, memory_order_relaxed);
        stats->lost += atomic_load_explicit(&t->lost, memory_order_relaxed);
    }
    pthread_mutex_lock(&w->lock);
    stats->bytes_raw = w->bytes_raw;
    stats->bytes_written = w->bytes_written;
    stats->waits = w->waits;
    stats->lost += w->lost_on_disk;
    pthread_mutex_unlock(&w->lock);
}
