/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/trace_writer.h"

#include "tracker/events.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DEFAULT_BUFFER_BYTES ((size_t)256 << 10)
#define LEAST_BUFFER_BYTES ((size_t)4 << 10)
#define LEAST_LIMIT_BYTES ((uint64_t)64 << 10)
#define DEFAULT_MAX_AGE_NS UINT64_C(200000000)
#define LEAST_PERIOD_NS UINT64_C(1000000)
/* Small chunks compress badly, since each begins with nothing known: they get more time. */
#define WORTH_A_CHUNK ((size_t)64 << 10)
#define PATIENCE 5
#define SPARE_BUFFERS 4 /* beside two for each thread */

_Static_assert(RP_EVENT_MAX_FIELDS * (RP_TRACE_MAX_TEXT + 64u) + 65536u < RP_TRACE_MAX_RAW,
               "the largest event fits the largest chunk");

/* ---- the writing thread ----------------------------------------------------------- */

/* Whether a buffer shall wait no longer, at its due age of `age`. */
static bool is_due(const struct rp_trace_buffer *buffer, uint64_t age, uint64_t now)
{
    if (buffer->used + buffer->times < WORTH_A_CHUNK)
        age *= PATIENCE;
    return buffer->first_ns + age <= now;
}

/* Takes over the buffers that are due. A thread that stays busy is waiting for
 * an empty buffer, or it crashed where it stands: it is passed over. */
static void collect(struct rp_trace_writer *writer, uint64_t age)
{
    struct rp_trace_thread *t = atomic_load_explicit(&writer->threads, memory_order_acquire);

    for (; t != NULL; t = t->next) {
        int attempts = 100;
        while (!rp_trace_thread_try_hold(t) && --attempts > 0)
            sched_yield();
        if (attempts == 0)
            continue;
        if (t->buffer != NULL && t->buffer->events > 0 &&
            is_due(t->buffer, age, rp_trace_now(writer)))
            rp_trace_hand_over(t);
        rp_trace_thread_release(t);
    }
}

/* Until there is work, or for `ns`. A glibc before 2.30 waits by the wall clock alone: where that
 * is set back meanwhile, what is written is late by as much, unless a buffer fills. */
static void await_work(struct rp_trace_writer *writer, uint64_t ns)
{
#ifdef RP_HAVE_SEM_CLOCKWAIT
    const clockid_t clock = CLOCK_MONOTONIC;
#else
    const clockid_t clock = CLOCK_REALTIME;
#endif
    struct timespec until;
    clock_gettime(clock, &until);
    ns += (uint64_t)until.tv_nsec;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
#ifdef RP_HAVE_SEM_CLOCKWAIT
    sem_clockwait(&writer->work, clock, &until);
#else
    sem_timedwait(&writer->work, &until);
#endif
}

static void *write_on(void *argument)
{
    struct rp_trace_writer *writer = argument;
    uint64_t period = writer->max_age_ns / 2;
    bool stop = false;

    pthread_setname_np(pthread_self(), "reprise-trace");
    while (!stop) {
        await_work(writer, period);
        rp_trace_clock_compare(&writer->clock);
        collect(writer, period);
        pthread_mutex_lock(&writer->lock);
        rp_trace_drain(writer);
        stop = writer->stop;
        pthread_mutex_unlock(&writer->lock);
    }
    return NULL;
}

/* The job's signals are the job's: none is ever delivered to this thread. */
bool rp_trace_start(struct rp_trace_writer *writer)
{
    sigset_t all, old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = pthread_create(&writer->thread, NULL, write_on, writer);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    atomic_store(&writer->running, error == 0);
    return error == 0;
}

/* ---- birth and death -------------------------------------------------------------- */

static void destroy_buffers(struct rp_trace_writer *writer, struct rp_trace_buffer *list)
{
    while (list != NULL) {
        struct rp_trace_buffer *next = list->next;
        rp_trace_buffer_destroy(writer, list);
        list = next;
    }
}

static void release(struct rp_trace_writer *writer)
{
    struct rp_trace_thread *t = atomic_load(&writer->threads);

    pthread_key_delete(writer->key); /* no thread that ends comes back here from now on */
    rp_trace_delist(writer);
    while (t != NULL) {
        struct rp_trace_thread *next = t->next;
        rp_trace_buffer_destroy(writer, t->buffer);
        rp_trace_coder_release(&t->coder);
        free(t);
        t = next;
    }
    destroy_buffers(writer, writer->queue);
    destroy_buffers(writer, writer->empty);
    rp_shelter_close(writer->shelter, rp_trace_phase_of(writer) == RP_TRACE_FORKED);
    for (unsigned i = 0; i < atomic_load(&writer->type_count); i++)
        rp_trace_type_destroy(writer->types[i]);
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

static void put_pair(const char *pair[2], const char *key, const char *value)
{
    pair[0] = key;
    pair[1] = value;
}

/* The caller's properties and the moment that all times count from. */
static enum rp_status create_file(struct rp_trace_writer *writer, const char *path,
                                  const struct rp_trace_options *options)
{
    char start[24];
    const char *(*pairs)[2] = calloc(options->property_count + 2, sizeof(*pairs));
    size_t count = 0;

    if (pairs == NULL)
        return RP_NO_MEMORY;
    snprintf(start, sizeof(start), "%llu", (unsigned long long)realtime_ns());
    put_pair(pairs[count++], "start_ns", start);
    if (options->keep == RP_TRACE_KEEP_LAST)
        put_pair(pairs[count++], "keep", "last");
    for (size_t i = 0; i < options->property_count; i++)
        put_pair(pairs[count++], options->properties[i][0], options->properties[i][1]);
    enum rp_status status = rp_trace_file_create(&writer->file, path,
                                                 (const char *const(*)[2])pairs, count);
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

static void apply_limit(struct rp_trace_writer *writer, const struct rp_trace_options *options)
{
    uint64_t limit = options->limit > LEAST_LIMIT_BYTES ? options->limit : LEAST_LIMIT_BYTES;

    rp_trace_file_limit(&writer->file, options->keep, limit);
    /* A chunk must not be larger than the file that it goes to. */
    if (options->keep != RP_TRACE_KEEP_ALL && writer->buffer_bytes > limit / 4)
        writer->buffer_bytes = limit / 4;
}

/* Who rescues may run in another folder. */
static void seek_shelter(struct rp_trace_writer *writer, const char *path, const char *shelter)
{
    struct rp_trace_shelter *found = rp_shelter_open(shelter);

    if (found == NULL)
        return;
    if (realpath(path, found->trace->path) == NULL) {
        rp_shelter_close(found, false);
        return;
    }
    found->trace->level = writer->level;
    found->trace->keep = writer->file.keep;
    found->trace->limit = writer->file.limit;
    rp_shelter_progress(found->trace, &writer->file, NULL, 0);
    writer->shelter = found;
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
    if (pthread_key_create(&writer->key, rp_trace_thread_ended) != 0) {
        free(writer);
        return RP_NO_MEMORY;
    }
    apply_options(writer, options != NULL ? options : &defaults);
    rp_trace_clock_start(&writer->clock);
    enum rp_status status = create_file(writer, path, options != NULL ? options : &defaults);
    if (status != RP_OK) {
        int error = errno;
        pthread_key_delete(writer->key);
        free(writer);
        errno = error;
        return status;
    }
    if (options != NULL)
        apply_limit(writer, options);
    if (options != NULL && options->shelter != NULL)
        seek_shelter(writer, path, options->shelter);
    writer->serial = atomic_fetch_add(&serials, 1) + 1;
    writer->pid = getpid();
    writer->queue_end = &writer->queue;
    writer->buffer_limit = SPARE_BUFFERS;
    writer->bytes_written = writer->file.offset;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->changed, NULL);
    sem_init(&writer->work, 0, 0);
    rp_trace_enlist(writer);
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
    struct rp_trace_thread *t = atomic_load_explicit(&writer->threads, memory_order_acquire);

    for (; t != NULL; t = t->next) {
        rp_trace_thread_hold(t);
        if (mark)
            rp_trace_mark_gap(t, true);
        rp_trace_hand_over(t);
        rp_trace_thread_release(t);
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
    if (rp_trace_phase_of(writer) != RP_TRACE_OPEN)
        return RP_INVALID;
    hand_over_all(writer, false);
    return wait_written(writer);
}

/* A trace that reached its limit says itself how many events it lacks, of all threads. The writing
 * thread has ended. */
static void tell_what_is_missing(struct rp_trace_writer *writer)
{
    struct rp_trace_thread *t = atomic_load(&writer->threads);

    if (t == NULL || !rp_trace_file_last_word(&writer->file))
        return;
    rp_trace_thread_hold(t);
    atomic_fetch_add(&t->unmarked, writer->lost_on_disk);
    writer->threadless = true; /* handed over is written */
    rp_trace_mark_gap(t, false);
    rp_trace_hand_over(t);
    rp_trace_thread_release(t);
}

/* All is in the file. What was sheltered may go, though the process may live long, and many more of
 * its kind. */
static void leave_shelter(struct rp_trace_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    struct rp_trace_buffer *empty = writer->empty;
    writer->empty = NULL;
    for (struct rp_trace_buffer *buffer = empty; buffer != NULL; buffer = buffer->next)
        writer->buffer_count--;
    pthread_mutex_unlock(&writer->lock);
    destroy_buffers(writer, empty);
    if (writer->shelter != NULL)
        atomic_store(&writer->shelter->trace->over, true);
}

enum rp_status rp_trace_writer_finish(struct rp_trace_writer *writer)
{
    int open = RP_TRACE_OPEN;

    if (!atomic_compare_exchange_strong(&writer->phase, &open, RP_TRACE_CLOSED))
        return RP_INVALID;
    hand_over_all(writer, true);
    pthread_mutex_lock(&writer->lock);
    writer->stop = true;
    pthread_mutex_unlock(&writer->lock);
    if (atomic_load(&writer->running)) {
        sem_post(&writer->work);
        pthread_join(writer->thread, NULL);
    }
    tell_what_is_missing(writer);
    leave_shelter(writer);
    enum rp_status status = rp_trace_file_finish(&writer->file);
    int error = errno;
    pthread_mutex_lock(&writer->lock);
    writer->bytes_written = writer->file.older_bytes + writer->file.offset;
    if (status != RP_OK && writer->error == 0)
        writer->error = error;
    pthread_mutex_unlock(&writer->lock);
    errno = error;
    return status;
}

enum rp_status rp_trace_writer_close(struct rp_trace_writer *writer)
{
    if (writer == NULL)
        return RP_OK;
    if (rp_trace_phase_of(writer) == RP_TRACE_FORKED) {
        rp_trace_writer_abandon(writer);
        return RP_OK;
    }
    enum rp_status status =
        rp_trace_phase_of(writer) == RP_TRACE_OPEN ? rp_trace_writer_finish(writer) : RP_OK;
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

void rp_trace_writer_stats(const struct rp_trace_writer *writer, struct rp_trace_stats *stats)
{
    struct rp_trace_writer *w = (struct rp_trace_writer *)(uintptr_t)writer;

    *stats = (struct rp_trace_stats){.lost = atomic_load(&w->lost_early)};
    for (struct rp_trace_thread *t = atomic_load(&w->threads); t != NULL; t = t->next) {
        stats->events += atomic_load_explicit(&t->events, memory_order_relaxed);
        stats->lost += atomic_load_explicit(&t->lost, memory_order_relaxed);
    }
    pthread_mutex_lock(&w->lock);
    stats->bytes_raw = w->bytes_raw;
    stats->bytes_written = w->bytes_written;
    stats->waits = w->waits;
    stats->lost += w->lost_on_disk;
    bool is_limit = w->error == EFBIG && w->file.keep == RP_TRACE_KEEP_FIRST;
    stats->error = is_limit ? 0 : w->error;
    pthread_mutex_unlock(&w->lock);
}
