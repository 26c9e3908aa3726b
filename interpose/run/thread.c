/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/thread.h"

#include "interpose/run/core.h"

#include <stdlib.h>

/* On the heap: a preloaded object's thread-local storage is scarce. */
static __thread struct rp_thread *self;

/* A thread that ends inside a segment ends the segment: nobody else may look into its scopes
 * after that. */
static void thread_ended(void *ended)
{
    struct rp_thread *thread = ended;
    if (thread->scope_count) {
        rp_core_lock();
        while (rp_segment_end(thread) == RP_OK)
            continue;
        rp_core_unlock();
    }
    if (self == thread)
        self = NULL;
    rp_ranges_release(&thread->ranges);
    free(thread);
}

static pthread_key_t ended_key;

static void make_ended_key(void)
{
    pthread_key_create(&ended_key, thread_ended);
}

static struct rp_thread *own(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    /* Where memory is short no scope can be opened, and ranges are not counted. */
    static struct rp_thread full = {.scope_count = 0, .is_full = true};
    if (self)
        return self;
    self = calloc(1, sizeof *self);
    if (!self)
        return &full;
    pthread_once(&once, make_ended_key);
    pthread_setspecific(ended_key, self);
    return self;
}

/* Whatever is reported meanwhile may ask for the thread. */
struct rp_thread *rp_thread_self(void)
{
    struct rp_thread *thread = own();
    if (thread->is_early && rp_core.segments_wanted) {
        thread->is_early = false;
        rp_segment_catch_up(thread);
    }
    return thread;
}

bool rp_segment_is_own(const struct rp_scope *scope)
{
    return self && scope >= self->scopes && scope < self->scopes + RP_MAX_SCOPES;
}

void rp_threads_forget(void)
{
    for (unsigned i = 0; self && i < self->scope_count; i++) {
        free(self->scopes[i].captured.items);
        free(self->scopes[i].moved.items);
    }
    if (self)
        *self = (struct rp_thread){.scope_count = 0};
}

/* ---- before the layer is there ------------------------------------------------------------ */

int rp_thread_push_early(const void *domain, const char *message)
{
    struct rp_thread *thread = own();
    if (thread->is_full)
        return 0;
    thread->is_early = true;
    rp_ranges_push_early(&thread->ranges, domain, message);
    return (int)rp_ranges_depth(&thread->ranges, domain) - 1;
}

int rp_thread_pop_early(const void *domain)
{
    if (!self)
        return 0;
    rp_ranges_pop_early(&self->ranges, domain);
    return (int)rp_ranges_depth(&self->ranges, domain);
}

void rp_thread_tell_early(void)
{
    struct rp_range *range;
    char *message;
    if (!self || !self->is_early)
        return;
    self->is_early = false;
    while ((message = rp_ranges_take_early(&self->ranges, &range)) != NULL) {
        RP_NOTE(range, RP_T(message), RP_T("begins"), RP_U((uintptr_t)range->domain), RP_U(0));
        free(message);
    }
    rp_ranges_release(&self->ranges);
}
