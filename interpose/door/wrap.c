/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/door/wrap.h"

#include <pthread.h>

_Atomic unsigned rp_listening = RP_LISTEN_START;
_Thread_local bool rp_inside;

static _Atomic int life = RP_LIFE_UNINIT;
static pthread_once_t started = PTHREAD_ONCE_INIT;
static _Atomic uint64_t last_seq;
static _Atomic uint64_t changes = 1;

enum rp_life rp_wrap_life(void)
{
    return (enum rp_life)atomic_load_explicit(&life, memory_order_acquire);
}

uint64_t rp_wrap_calls(void)
{
    return atomic_load_explicit(&last_seq, memory_order_relaxed);
}

uint64_t rp_wrap_changes(void)
{
    return atomic_load_explicit(&changes, memory_order_acquire);
}

void rp_listen(unsigned bits)
{
    if (rp_wrap_life() == RP_LIFE_READY)
        atomic_store_explicit(&rp_listening, bits & ~(unsigned)RP_LISTEN_START,
                              memory_order_release);
}

/* Only the forking thread lives on in the child, and what other threads were doing inside
 * the layer is cut off in the middle: everything starts anew. */
static void forget_parent(void)
{
    bool was_started = rp_wrap_life() != RP_LIFE_UNINIT;
    atomic_fetch_add(&changes, 1);
    rp_inside = false;
    started = (pthread_once_t)PTHREAD_ONCE_INIT;
    atomic_store(&life, RP_LIFE_UNINIT);
    atomic_store(&rp_listening, RP_LISTEN_START);
    if (was_started)
        rp_layer_forked();
}

static void start(void)
{
    static bool watches_forks; /* inherited by children together with the registration */
    if (!watches_forks)
        watches_forks = pthread_atfork(NULL, NULL, forget_parent) == 0;

    atomic_store(&life, RP_LIFE_INITIALISING);
    rp_inside = true;
    unsigned bits = rp_real_found() ? rp_layer_start() : 0;
    rp_inside = false;
    atomic_store(&life, bits != 0 ? RP_LIFE_READY : RP_LIFE_DISABLED);
    atomic_store_explicit(&rp_listening, bits & ~(unsigned)RP_LISTEN_START, memory_order_release);
}

unsigned rp_wrap_start(void)
{
    /* Opening the driver takes the loader's lock. A thread that holds that lock (a library's
     * constructor may call the driver) must not be made to wait for one that wants it, so
     * this happens before, not within, the once. */
    if (!rp_real_open())
        return 0;
    pthread_once(&started, start);
    return atomic_load_explicit(&rp_listening, memory_order_acquire);
}

static void before(struct rp_frame *frame, const struct rp_handler *handler)
{
    if (frame->listening & RP_LISTEN_TRACE) {
        frame->put_off = handler->repeats && rp_repeat_enter(frame);
        if (frame->put_off)
            return;
        rp_record_enter(frame);
    }
    if ((frame->listening & RP_LISTEN_HANDLERS) && handler->before != NULL)
        handler->before(frame);
}

static void after(struct rp_frame *frame, const struct rp_handler *handler)
{
    if (frame->put_off) {
        rp_repeat_leave(frame);
        return;
    }
    if ((frame->listening & RP_LISTEN_HANDLERS) && handler->after != NULL &&
        (!frame->skip || frame->served))
        handler->after(frame);
    if (handler->changes)
        atomic_fetch_add_explicit(&changes, 1, memory_order_release);
    if (frame->listening & RP_LISTEN_TRACE)
        rp_record_leave(frame);
}

bool rp_wrap_enter(struct rp_frame *frame)
{
    frame->listening = atomic_load_explicit(&rp_listening, memory_order_acquire);
    frame->seq = atomic_fetch_add_explicit(&last_seq, 1, memory_order_relaxed) + 1;
    rp_inside = true;
    before(frame, &rp_handlers[frame->id]);
    rp_inside = false;
    return !frame->skip;
}

bool rp_wrap_again(struct rp_frame *frame)
{
    rp_inside = true;
    bool is_freed = (frame->listening & RP_LISTEN_HANDLERS) && rp_memory_freed_for(frame);
    rp_inside = false;
    frame->again++;
    return is_freed;
}

CUresult rp_wrap_leave(struct rp_frame *frame)
{
    rp_inside = true;
    after(frame, &rp_handlers[frame->id]);
    rp_inside = false;
    return frame->result;
}
