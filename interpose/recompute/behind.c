/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/behind.h"

#include "cuda/driver_real.h"
#include "interpose/calls/handlers.h"
#include "interpose/recompute/drop.h"
#include "tracker/array.h"

/* What a stream was given since, of one allocation. */
struct trace {
    rp_stream stream;
    rp_alloc_id id;
    struct rp_spans met, written; /* met: written ones included */
};

static struct {
    struct trace *items;
    size_t count, capacity;
    bool is_on;    /* a gate is shut */
    bool is_known; /* ... and all that was given since is noted */
} behind;

void rp_behind_begins(void)
{
    rp_stream aside;
    rp_behind_ends();
    behind.is_on = true;
    behind.is_known =
        rp_drop_mover(&aside) && rp_order_gather(rp_core.bench.order, aside) == RP_OK;
    if (behind.is_known)
        rp_order_take_over(rp_core.bench.order, aside);
}

static void remove_at(size_t at)
{
    rp_spans_release(&behind.items[at].met);
    rp_spans_release(&behind.items[at].written);
    behind.items[at] = behind.items[--behind.count];
}

void rp_behind_ends(void)
{
    while (behind.count)
        remove_at(behind.count - 1);
    behind.is_on = false;
    if (rp_core.bench.order)
        rp_order_open(rp_core.bench.order);
}

void rp_behind_forget(void)
{
    rp_behind_ends();
}

/* ---- which streams are shut ----------------------------------------------------------------- */

/* It waits for the default stream of its context, and that for it; or nobody knows. */
static bool is_plain(rp_stream stream)
{
    unsigned flags;
    return rp_real.cuStreamGetFlags(rp_driver_stream(stream), &flags) != CUDA_SUCCESS ||
           !(flags & CU_STREAM_NON_BLOCKING);
}

static bool is_plain_and_shut(rp_stream stream, uint64_t legacy)
{
    return rp_order_is_shut(rp_core.bench.order, stream) &&
           rp_driver_legacy_of(stream) == legacy && is_plain(stream);
}

bool rp_behind_is_shut(rp_stream stream)
{
    const struct rp_order *order = rp_core.bench.order;
    rp_stream legacy = rp_driver_legacy_of(stream);
    if (!behind.is_on)
        return false;
    if (rp_order_is_shut(order, stream))
        return true;
    return stream == legacy ? rp_order_knows(order, is_plain_and_shut, legacy)
                            : rp_order_is_shut(order, legacy) && is_plain(stream);
}

/* What an open stream holds by now is waited for while that can be done: it is as if it had been
 * given before the gates. A call of another thread's may be on its way there, though. */
static bool settle(rp_stream stream, rp_stream *aside)
{
    *aside = 0;
    if (!rp_drop_is_quiet() || !rp_drop_mover(aside) ||
        rp_order_after(rp_core.bench.order, *aside, stream) != RP_OK)
        return false;
    for (size_t i = behind.count; i-- > 0;)
        if (behind.items[i].stream == stream)
            remove_at(i);
    return true;
}

void rp_behind_shuts(rp_stream stream)
{
    rp_stream aside;
    if (!behind.is_on || rp_behind_is_shut(stream))
        return;
    bool is_settled = settle(stream, &aside);
    rp_order_shut(rp_core.bench.order, stream, is_settled ? aside : 0, rp_core.seq);
}

/* The default stream is about to wait for a shut one, and all that wait for it with it. */
static void shut_default(rp_stream legacy)
{
    rp_stream aside;
    for (size_t i = behind.count; i-- > 0;) {
        rp_stream stream = i < behind.count ? behind.items[i].stream : legacy;
        if (stream != legacy && !rp_behind_is_shut(stream) && is_plain(stream))
            settle(stream, &aside);
    }
    rp_order_shut(rp_core.bench.order, legacy, 0, 0);
}

/* ---- what was given ---------------------------------------------------------------------- */

static struct trace *trace_of(rp_stream stream, rp_alloc_id id)
{
    for (size_t i = 0; i < behind.count; i++)
        if (behind.items[i].id == id && behind.items[i].stream == stream)
            return &behind.items[i];
    void *bigger = rp_array_reserve(behind.items, &behind.capacity, behind.count + 1,
                                    sizeof *behind.items);
    if (!bigger)
        return NULL;
    behind.items = bigger;
    behind.items[behind.count] = (struct trace){.stream = stream, .id = id};
    return &behind.items[behind.count++];
}

void rp_behind_anything(void)
{
    behind.is_known = false;
}

static bool note(rp_stream stream, const struct rp_reach *reach)
{
    struct trace *trace = trace_of(stream, reach->id);
    return trace && rp_spans_add(&trace->met, reach->lo, reach->hi) == RP_OK &&
           (reach->effect != RP_WRITE ||
            rp_spans_add(&trace->written, reach->lo, reach->hi) == RP_OK);
}

void rp_behind_call(const struct rp_footprint *call)
{
    if (!behind.is_on)
        return;
    if (call->stream == rp_driver_legacy_of(call->stream) && rp_behind_is_shut(call->stream))
        shut_default(call->stream);
    behind.is_known &= !rp_footprint_is_unproved(call) && !call->in_graph;
    for (size_t i = 0; behind.is_known && i < call->count; i++)
        behind.is_known = note(call->stream, &call->reaches[i]);
}

/* ---- what matters to whom ------------------------------------------------------------------- */

static bool meet(const struct rp_spans *a, const struct rp_spans *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (rp_spans_overlaps(a, b->items[i].lo, b->items[i].hi))
            return true;
    return false;
}

/* A forward that is followed again writes what it has written, and what is put back for it. */
static bool matters(const struct trace *trace, const struct rp_execution *execution)
{
    const struct rp_live *live = rp_instance_live(execution->instance, trace->id);
    return live && (meet(&live->live_in, &trace->written) || meet(&live->touched, &trace->met) ||
                    meet(&live->kept, &trace->met));
}

bool rp_behind_matters(const struct rp_footprint *call, const struct rp_execution *execution)
{
    bool does = rp_footprint_is_unproved(call) || call->in_graph;
    for (size_t i = 0; !does && i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        const struct rp_live *live = rp_instance_live(execution->instance, reach->id);
        does = live && (rp_spans_overlaps(&live->touched, reach->lo, reach->hi) ||
                        rp_spans_overlaps(&live->kept, reach->lo, reach->hi) ||
                        (reach->effect == RP_WRITE &&
                         rp_spans_overlaps(&live->live_in, reach->lo, reach->hi)));
    }
    return does;
}

bool rp_behind_may_follow(const struct rp_execution *execution)
{
    bool may = !behind.is_on || (behind.is_known && !rp_drop_meet_others(execution));
    for (size_t i = 0; behind.is_on && may && i < behind.count; i++)
        may = !matters(&behind.items[i], execution) || !rp_behind_is_shut(behind.items[i].stream);
    return may;
}

bool rp_behind_let_follow(const struct rp_execution *execution, rp_stream *aside)
{
    bool may = behind.is_on && rp_behind_may_follow(execution) && rp_drop_mover(aside);
    for (size_t i = 0; may && i < behind.count; i++)
        if (matters(&behind.items[i], execution))
            may = rp_order_after(rp_core.bench.order, *aside, behind.items[i].stream) == RP_OK;
    return may && !rp_order_is_shut(rp_core.bench.order, *aside);
}
