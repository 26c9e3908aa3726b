/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/timeline.h"

#include "cuda/soft/api/clock.h"
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/scheduler.h"

#include <stdlib.h>

struct origin {
    struct soft_moment *moment;
    uint64_t lag;
};

struct soft_moment {
    unsigned references;
    bool known;    /* what it asks of the device */
    bool resolved; /* `end` says when */
    bool in_graph;
    int device;
    uint64_t floor, end; /* ns */
    struct origin *from; /* what it comes after, until it is resolved */
    size_t from_count, from_capacity;
    struct soft_moment *next; /* in the queue */
    struct soft_demand demand;
};

static struct {
    struct soft_moment *first, *last; /* not resolved, in the order of submission */
    uint64_t free_at[SOFT_MAX_DEVICES][SOFT_ENGINES];
    struct soft_host_time latest; /* of whichever thread called last */
    bool said;
} timeline;

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- moments ----------------------------------------------------------------------- */

static struct soft_moment *create(int device)
{
    struct soft_moment *moment = calloc(1, sizeof *moment);
    if (moment == NULL)
        return NULL;
    moment->references = 1;
    moment->device = device;
    return moment;
}

static struct soft_moment *retain(struct soft_moment *moment)
{
    if (moment != NULL)
        moment->references++;
    return moment;
}

static void forget_origins(struct soft_moment *moment)
{
    for (size_t i = 0; i < moment->from_count; i++)
        soft_timeline_drop(moment->from[i].moment);
    free(moment->from);
    moment->from = NULL;
    moment->from_count = moment->from_capacity = 0;
}

void soft_timeline_drop(struct soft_moment *moment)
{
    if (moment == NULL || --moment->references > 0)
        return;
    forget_origins(moment);
    free(moment);
}

static bool reserve(struct soft_moment *moment)
{
    if (moment->from_count < moment->from_capacity)
        return true;
    size_t capacity = moment->from_capacity ? 2 * moment->from_capacity : 4;
    struct origin *from = realloc(moment->from, capacity * sizeof *from);
    if (from == NULL)
        return false;
    moment->from = from;
    moment->from_capacity = capacity;
    return true;
}

/* `moment` is not before `lag` after `earlier`, which may be NULL: the beginning. */
static void come_after(struct soft_moment *moment, struct soft_moment *earlier, uint64_t lag)
{
    if (earlier == NULL || earlier->resolved) {
        moment->floor = later(moment->floor, lag + (earlier != NULL ? earlier->end : 0));
    } else if (reserve(moment)) {
        moment->from[moment->from_count++] = (struct origin){retain(earlier), lag};
    } else {
        if (!timeline.said)
            soft_say("model clock: no host memory; times are too early");
        timeline.said = true;
    }
}

/* ---- the queue --------------------------------------------------------------------- */

static void resolve(struct soft_moment *moment)
{
    enum soft_engine engine = moment->demand.engine;
    uint64_t begin = moment->floor;

    for (size_t i = 0; i < moment->from_count; i++)
        begin = later(begin, moment->from[i].moment->end + moment->from[i].lag);
    moment->end = begin;
    if (engine != SOFT_ENGINE_NONE) {
        uint64_t *free_at = &timeline.free_at[moment->device][engine];
        moment->end =
            later(begin, *free_at) + soft_clock_duration(&moment->demand, moment->in_graph);
        *free_at = moment->end;
    }
    moment->resolved = true;
    forget_origins(moment);
}

/* Resolves what is known, up to the first that is not or, where there is a `target`, past those
 * up to the target. */
static void advance(const struct soft_moment *target)
{
    struct soft_moment **at = &timeline.first, *before = NULL;
    while (*at != NULL && ((*at)->known || (target != NULL && !target->resolved))) {
        struct soft_moment *moment = *at;
        if (!moment->known) {
            before = moment;
            at = &moment->next;
            continue;
        }
        resolve(moment);
        *at = moment->next;
        if (timeline.last == moment)
            timeline.last = before;
        soft_timeline_drop(moment);
    }
}

static void append(struct soft_moment *moment)
{
    retain(moment);
    moment->next = NULL;
    if (timeline.last != NULL)
        timeline.last->next = moment;
    else
        timeline.first = moment;
    timeline.last = moment;
}

/* ---- the program's time ------------------------------------------------------------ */

static void fold(struct soft_host_time *time)
{
    if (time->moment == NULL || !time->moment->resolved)
        return;
    time->lag += time->moment->end;
    soft_timeline_drop(time->moment);
    time->moment = NULL;
}

static void set(struct soft_host_time *time, struct soft_moment *moment, uint64_t lag)
{
    retain(moment);
    soft_timeline_drop(time->moment);
    *time = (struct soft_host_time){moment, lag, true};
}

/* A thread that calls for the first time begins where another one is. */
static struct soft_host_time *host_time(void)
{
    struct soft_host_time *time = &soft_thread.host_time;
    if (!time->started) {
        soft_thread_keep();
        set(time, timeline.latest.moment, timeline.latest.lag);
    }
    fold(time);
    return time;
}

static void spend(struct soft_host_time *time, double ns)
{
    time->lag += (uint64_t)(ns + 0.5);
    set(&timeline.latest, time->moment, time->lag);
}

void soft_timeline_met(const struct soft_op *op)
{
    if (op == NULL || op->moment == NULL)
        return;
    struct soft_host_time *time = host_time();
    if (time->moment == NULL && op->moment->resolved) {
        time->lag = later(time->lag, op->moment->end);
    } else {
        struct soft_moment *join = create(0);
        if (join == NULL)
            return;
        come_after(join, time->moment, time->lag);
        come_after(join, op->moment, 0);
        join->known = true;
        append(join);
        set(time, join, 0);
        soft_timeline_drop(join);
        advance(NULL);
    }
    spend(time, 0);
}

void soft_timeline_begin_graph(void)
{
    if (soft_clock_figures() == NULL)
        return;
    spend(host_time(), soft_clock_figures()->graph_ns);
    soft_thread.in_graph = true;
}

void soft_timeline_end_graph(void)
{
    soft_thread.in_graph = false;
}

/* ---- operations -------------------------------------------------------------------- */

bool soft_timeline_enter(struct soft_op *op)
{
    if (soft_clock_figures() == NULL)
        return true;
    op->moment = create(op->context->device->ordinal);
    return op->moment != NULL;
}

void soft_timeline_after(struct soft_op *op, const struct soft_op *earlier)
{
    if (op->moment != NULL && earlier != NULL)
        come_after(op->moment, earlier->moment, 0);
}

void soft_timeline_submit(struct soft_op *op)
{
    const struct soft_figures *figures = soft_clock_figures();
    if (op->moment == NULL)
        return;
    struct soft_host_time *time = host_time();
    op->moment->in_graph = soft_thread.in_graph;
    spend(time, soft_thread.in_graph ? figures->graph_node_ns : figures->call_ns);
    come_after(op->moment, time->moment, time->lag);
    append(op->moment);
}

void soft_timeline_done(struct soft_op *op)
{
    if (op->moment == NULL)
        return;
    op->moment->known = true;
    advance(NULL);
}

struct soft_demand *soft_timeline_demand(const struct soft_op *op)
{
    return op->moment != NULL ? &op->moment->demand : NULL;
}

bool soft_timeline_tell(const struct soft_op *op, uint64_t *ns)
{
    const struct soft_moment *moment = op->moment;
    if (moment == NULL)
        return false;
    while (!moment->resolved && soft_scheduler_await(NULL))
        ;
    advance(moment);
    *ns = moment->end;
    return true;
}
