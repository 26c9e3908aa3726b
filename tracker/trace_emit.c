/* SPDX-License-Identifier: Apache-2.0 */
/* The hot path: an event into the buffer of the thread that emits it. */
#include "tracker/trace_writer.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the state of a thread -------------------------------------------------------- */

void rp_trace_hand_over(struct rp_trace_thread *t)
{
    struct rp_trace_writer *writer = t->writer;
    struct rp_trace_buffer *buffer = t->buffer;

    if (buffer == NULL)
        return;
    t->buffer = NULL;
    rp_trace_count_again(&t->coder);
    pthread_mutex_lock(&writer->lock);
    if (buffer->events > 0) {
        rp_trace_queue(writer, buffer);
    } else {
        rp_trace_retire(writer, buffer);
        pthread_cond_broadcast(&writer->changed);
    }
    if (writer->threadless)
        rp_trace_drain(writer);
    pthread_mutex_unlock(&writer->lock);
    sem_post(&writer->work);
}

static struct rp_trace_thread *state_reuse(struct rp_trace_writer *writer)
{
    struct rp_trace_thread *t = atomic_load_explicit(&writer->threads, memory_order_acquire);

    for (; t != NULL; t = t->next) {
        bool owned = false;
        if (atomic_compare_exchange_strong(&t->owned, &owned, true))
            return t;
    }
    return NULL;
}

static struct rp_trace_thread *state_create(struct rp_trace_writer *writer)
{
    struct rp_trace_thread *t = calloc(1, sizeof(*t));

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

/* Reached without a call of the loader: the objects with this in them are there from the start. */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
    uint64_t serial; /* of the writer that this thread used last */
    struct rp_trace_thread *state;
    bool inside; /* in a function below: a signal handler must not wait for what it holds */
} current;

/* NULL when this thread can have no state. */
static struct rp_trace_thread *this_thread(struct rp_trace_writer *writer)
{
    if (current.serial == writer->serial)
        return current.state;
    struct rp_trace_thread *t = pthread_getspecific(writer->key);
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
void rp_trace_thread_ended(void *state)
{
    struct rp_trace_thread *t = state;

    current.serial = 0;
    if (rp_trace_phase_of(t->writer) != RP_TRACE_OPEN)
        return;
    rp_trace_thread_hold(t);
    rp_trace_hand_over(t);
    rp_trace_thread_release(t);
    atomic_store(&t->owned, false);
}

/* ---- emitting --------------------------------------------------------------------- */

/* Makes the thread's buffer ready for one event of the type. */
static bool make_room(struct rp_trace_thread *t, const struct rp_trace_type *type, size_t bytes,
                      bool may_wait)
{
    struct rp_trace_writer *writer = t->writer;

    bytes += RP_TRACE_MAX_VARINT; /* its time, once more */
    if (t->buffer != NULL &&
        t->buffer->capacity - t->buffer->used >= bytes + 2 * (size_t)t->buffer->times) {
        enum rp_status status = rp_trace_coder_prepare(&t->coder, type);
        if (status != RP_END)
            return status == RP_OK;
    }
    rp_trace_hand_over(t);
    t->buffer = rp_trace_take(writer, bytes, may_wait);
    if (t->buffer == NULL)
        return false;
    t->buffer->thread = t->thread;
    t->buffer->events = 0;
    t->buffer->used = 0;
    t->buffer->times = 0;
    atomic_store_explicit(&t->buffer->committed, 0, memory_order_release);
    atomic_store_explicit(&t->buffer->order, RP_TRACE_FILLING, memory_order_release);
    if (t->buffer->tally != NULL)
        rp_trace_tally_begin(t->buffer->tally);
    rp_trace_coder_begin(&t->coder);
    return rp_trace_coder_prepare(&t->coder, type) == RP_OK;
}

static void set_time(struct rp_trace_thread *t)
{
    uint64_t now = rp_trace_now(t->writer);
    t->last_ns = now > t->last_ns ? now : t->last_ns;
}

/* Only this thread counts here: no need for a locked instruction. */
static void count_events(struct rp_trace_thread *t, unsigned count)
{
    uint64_t events = atomic_load_explicit(&t->events, memory_order_relaxed);
    atomic_store_explicit(&t->events, events + count, memory_order_relaxed);
}

/* At the thread's latest time. */
static bool append(struct rp_trace_thread *t, struct rp_trace_type *type,
                   const union rp_value *values, bool may_wait)
{
    if (!make_room(t, type, rp_trace_bound(type, values), may_wait))
        return false;
    rp_trace_encode(&t->coder, t->buffer, type, values, t->last_ns);
    count_events(t, 1);
    return true;
}

bool rp_trace_mark_gap(struct rp_trace_thread *t, bool may_wait)
{
    union rp_value lost = {.u = atomic_load_explicit(&t->unmarked, memory_order_relaxed)};

    if (lost.u == 0)
        return true;
    if (!append(t, t->writer->types[0], &lost, may_wait))
        return false;
    atomic_fetch_sub(&t->unmarked, lost.u);
    if (t->writer->shelter != NULL)
        atomic_fetch_sub(&t->writer->shelter->trace->dropped, lost.u);
    return true;
}

static void lose(struct rp_trace_thread *t)
{
    atomic_fetch_add(&t->lost, 1);
    atomic_fetch_add(&t->unmarked, 1);
    if (t->writer->shelter != NULL)
        atomic_fetch_add(&t->writer->shelter->trace->dropped, 1);
}

/* This thread has no state, or none that can be used now. */
static void lose_early(struct rp_trace_writer *writer)
{
    if (current.serial == writer->serial && current.state != NULL)
        lose(current.state);
    else
        atomic_fetch_add(&writer->lost_early, 1);
}

static void begin_inside(void)
{
    current.inside = true;
    atomic_signal_fence(memory_order_seq_cst);
}

static void end_inside(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    current.inside = false;
}

static void emit_here(struct rp_trace_thread *t, const struct rp_trace_item *items, size_t count,
                      bool now)
{
    struct rp_trace_writer *writer = t->writer;

    rp_trace_thread_hold(t);
    if (rp_trace_phase_of(writer) == RP_TRACE_OPEN) {
        unsigned known = atomic_load_explicit(&writer->type_count, memory_order_acquire);
        if (now)
            set_time(t);
        for (size_t i = 0; i < count; i++)
            if (items[i].event >= known || !rp_trace_mark_gap(t, !writer->lossy) ||
                !append(t, writer->types[items[i].event], items[i].values, !writer->lossy))
                lose(t);
    }
    rp_trace_thread_release(t);
}

static void emit(struct rp_trace_writer *writer, const struct rp_trace_item *items, size_t count,
                 bool now)
{
    if (rp_trace_phase_of(writer) != RP_TRACE_OPEN)
        return;
    if (current.inside) {
        for (size_t i = 0; i < count; i++)
            lose_early(writer);
        return;
    }
    begin_inside();
    struct rp_trace_thread *t = this_thread(writer);
    if (t != NULL)
        emit_here(t, items, count, now);
    for (size_t i = 0; t == NULL && i < count; i++)
        lose_early(writer);
    end_inside();
}

/* ---- in the buffer that is there -------------------------------------------------- */

/* The thread's state when it can go on in the buffer that it has. It is held then. */
static struct rp_trace_thread *hold_buffer(struct rp_trace_writer *writer)
{
    if (rp_trace_phase_of(writer) != RP_TRACE_OPEN || current.inside ||
        current.serial != writer->serial || current.state == NULL)
        return NULL;
    begin_inside();
    struct rp_trace_thread *t = current.state;
    rp_trace_thread_hold(t);
    const struct rp_trace_buffer *buffer = t->buffer;
    if (rp_trace_phase_of(writer) == RP_TRACE_OPEN && buffer != NULL &&
        buffer->capacity - buffer->used >= RP_TRACE_GROUP_BOUND + 2 * (size_t)buffer->times &&
        atomic_load_explicit(&t->unmarked, memory_order_relaxed) == 0)
        return t;
    rp_trace_thread_release(t);
    end_inside();
    return NULL;
}

static void release_buffer(struct rp_trace_thread *t)
{
    rp_trace_thread_release(t);
    end_inside();
}

/* What most events are: no text, of a type that is known, and there is room. False: it is none. */
static bool emit_numbers(struct rp_trace_writer *writer, uint32_t event,
                         const union rp_value *values)
{
    struct rp_trace_thread *t = hold_buffer(writer);
    if (t == NULL)
        return false;
    unsigned known = atomic_load_explicit(&writer->type_count, memory_order_acquire);
    bool is_ready = event < known && rp_trace_coder_is_ready(&t->coder, writer->types[event]);
    if (is_ready) {
        set_time(t);
        rp_trace_encode_numbers(&t->coder, t->buffer, writer->types[event], values, t->last_ns);
        count_events(t, 1);
    }
    release_buffer(t);
    return is_ready;
}

void rp_trace_emit(struct rp_trace_writer *writer, uint32_t event, const union rp_value *values)
{
    if (!emit_numbers(writer, event, values))
        emit(writer, &(struct rp_trace_item){event, values}, 1, true);
}

void rp_trace_add(struct rp_trace_writer *writer, const struct rp_trace_item *items,
                  size_t count)
{
    emit(writer, items, count, false);
}

/* ---- what comes again ------------------------------------------------------------- */

void rp_trace_group(struct rp_trace_writer *writer, unsigned count,
                    const struct rp_trace_move *moves, unsigned move_count,
                    const uint64_t slots[RP_TRACE_SLOTS], struct rp_trace_group *group)
{
    group->thread = NULL;
    struct rp_trace_thread *t = hold_buffer(writer);
    if (t == NULL)
        return;
    if (rp_trace_encode_group(&t->coder, t->buffer, count, moves, move_count, slots,
                              &group->number)) {
        group->thread = t;
        group->serial = writer->serial;
        group->chunk = t->coder.chunk;
    }
    release_buffer(t);
}

bool rp_trace_group_stands(const struct rp_trace_writer *writer,
                           const struct rp_trace_group *group)
{
    const struct rp_trace_thread *t = group->thread;
    return group->serial == writer->serial && t == current.state && t->buffer != NULL &&
           t->coder.chunk == group->chunk;
}

uint64_t rp_trace_emitted(const struct rp_trace_writer *writer)
{
    bool known = current.serial == writer->serial && current.state != NULL;
    return known ? atomic_load_explicit(&current.state->events, memory_order_relaxed) : 0;
}

bool rp_trace_again(struct rp_trace_writer *writer, const struct rp_trace_group *group,
                    const uint64_t slots[RP_TRACE_SLOTS])
{
    if (group->serial != writer->serial || group->thread != current.state)
        return false;
    struct rp_trace_thread *t = hold_buffer(writer);
    if (t == NULL)
        return false;
    bool known = group->chunk == t->coder.chunk;
    if (known) {
        uint64_t before = t->last_ns;
        set_time(t);
        unsigned count = rp_trace_encode_again(&t->coder, t->buffer, group->number, slots, before,
                                               t->last_ns);
        count_events(t, count);
    }
    release_buffer(t);
    return known;
}

uint32_t rp_trace_define(struct rp_trace_writer *writer, const struct rp_event_def *def)
{
    uint32_t id = UINT32_MAX;

    if (current.inside) /* in a signal handler, and the lock may be this thread's */
        return id;
    begin_inside();
    pthread_mutex_lock(&writer->lock);
    struct rp_trace_type *type = rp_idmap_find(&writer->type_of, (uintptr_t)def);
    if (type == NULL) {
        unsigned next = atomic_load(&writer->type_count);
        type = next < RP_TRACE_MAX_EVENT_TYPES ? rp_trace_type_create(def, next) : NULL;
        if (type != NULL && rp_idmap_insert(&writer->type_of, (uintptr_t)def, type) != RP_OK) {
            rp_trace_type_destroy(type);
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
    end_inside();
    return id;
}
