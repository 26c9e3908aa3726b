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
#ifndef RP_TRACKER_TRACE_WRITER_H
#define RP_TRACKER_TRACE_WRITER_H

#include "tracker/idmap.h"
#include "tracker/trace_clock.h"
#include "tracker/trace_encode.h"
#include "tracker/trace_file.h"
#include "tracker/trace_format.h"
#include "tracker/trace_shelter.h"
#include "tracker/trace_tally.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

enum rp_trace_phase { RP_TRACE_OPEN, RP_TRACE_CLOSED, RP_TRACE_FORKED };

struct rp_trace_thread {
    struct rp_trace_thread *next;
    struct rp_trace_writer *writer;
    atomic_bool owned; /* by a thread that lives */
    atomic_flag busy;
    uint64_t thread;
    struct rp_trace_buffer *buffer;
    struct rp_trace_coder coder;
    uint64_t last_ns; /* of its last event: its time never goes back */
    atomic_uint_fast64_t unmarked; /* lost since the last gap event */
    atomic_uint_fast64_t events, lost;
};

struct rp_trace_writer {
    uint64_t serial; /* never the same twice in a process, as an address may be */
    pid_t pid;
    atomic_int phase;
    struct rp_trace_clock clock;
    size_t buffer_bytes;
    uint64_t max_age_ns;
    int level;
    bool lossy;
    struct rp_trace_shelter *shelter; /* where buffers outlive the process; NULL: nowhere */
    pthread_key_t key; /* this thread's state */
    _Atomic(struct rp_trace_thread *) threads;
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
    struct rp_trace_writer *older; /* in the list for forks */
};

static inline uint64_t rp_trace_now(struct rp_trace_writer *writer)
{
    return rp_trace_clock_now(&writer->clock);
}

static inline enum rp_trace_phase rp_trace_phase_of(struct rp_trace_writer *writer)
{
    return (enum rp_trace_phase)atomic_load_explicit(&writer->phase, memory_order_relaxed);
}

/* Its buffer and its coder belong to whoever holds it, its own thread or one that flushes. */
static inline bool rp_trace_thread_try_hold(struct rp_trace_thread *t)
{
    return !atomic_flag_test_and_set_explicit(&t->busy, memory_order_acquire);
}

static inline void rp_trace_thread_hold(struct rp_trace_thread *t)
{
    while (!rp_trace_thread_try_hold(t))
        sched_yield();
}

static inline void rp_trace_thread_release(struct rp_trace_thread *t)
{
    atomic_flag_clear_explicit(&t->busy, memory_order_release);
}

/* ---- trace_buffer.c: all with the writer's lock held, but for rp_trace_take ------------ */

void rp_trace_buffer_destroy(struct rp_trace_writer *writer, struct rp_trace_buffer *buffer);
/* Appends to what is to be written. */
void rp_trace_queue(struct rp_trace_writer *writer, struct rp_trace_buffer *buffer);
/* Makes an empty buffer of it. */
void rp_trace_retire(struct rp_trace_writer *writer, struct rp_trace_buffer *buffer);
/* Writes all that is queued. The lock is given up while writing, unless there is no thread for
 * it: then it keeps the emitting threads from each other. */
void rp_trace_drain(struct rp_trace_writer *writer);
/* An empty buffer of at least `bytes`; NULL when there is none and this thread shall not wait,
 * or when the host is out of memory. Starts the writing thread the first time. */
struct rp_trace_buffer *rp_trace_take(struct rp_trace_writer *writer, size_t bytes, bool may_wait);

/* ---- trace_emit.c: with the thread's state held ------------------------------------ */

/* Queues what the thread has gathered. */
void rp_trace_hand_over(struct rp_trace_thread *t);
/* Says in the trace itself how many events are missing at this place. */
bool rp_trace_mark_gap(struct rp_trace_thread *t, bool may_wait);
/* The destructor of the writer's key; not held. */
void rp_trace_thread_ended(void *state);

/* ---- trace_fork.c ----------------------------------------------------------------- */

/* From now on until it is delisted, forks find the writer's lists whole, and its phase in the
 * child is RP_TRACE_FORKED. */
void rp_trace_enlist(struct rp_trace_writer *writer);
void rp_trace_delist(struct rp_trace_writer *writer);

/* ---- trace_writer.c ---------------------------------------------------------------- */

/* False when no thread can be had. */
bool rp_trace_start(struct rp_trace_writer *writer);

#endif
