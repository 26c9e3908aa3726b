/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/behind.h"

#include "cuda/driver_real.h"
#include "interpose/calls/handlers.h"
#include "interpose/recompute/drop.h"
#include "tracker/array.h"

/* What a stream was given since. */
struct trace {
    rp_stream stream;
    rp_alloc_id id;
    struct rp_spans spans; /* of the allocation, read or written */
};

static struct {
    struct trace *items;
    size_t count, capacity;
    CUevent before; /* of the layer's own stream, which has waited for all others there */
    bool is_on;     /* a gate is shut */
    bool is_known;  /* ... and all that was given since is noted */
} behind;

void rp_behind_begins(void)
{
    rp_stream line;
    rp_behind_ends();
    behind.is_on = true;
    behind.is_known =
        rp_drop_line(&line) && rp_order_gather(rp_core.bench.order, line) == RP_OK &&
        (behind.before ||
         rp_real.cuEventCreate(&behind.before, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS) &&
        rp_real.cuEventRecord(behind.before, rp_driver_stream(line)) == CUDA_SUCCESS;
}

void rp_behind_ends(void)
{
    for (size_t i = 0; i < behind.count; i++)
        rp_spans_release(&behind.items[i].spans);
    behind.count = 0;
    behind.is_on = false;
}

void rp_behind_forget(void)
{
    rp_behind_ends();
    behind.before = NULL;
}

/* ---- what was given ---------------------------------------------------------------------- */

static struct rp_spans *spans_of(rp_stream stream, rp_alloc_id id)
{
    for (size_t i = 0; i < behind.count; i++)
        if (behind.items[i].id == id && behind.items[i].stream == stream)
            return &behind.items[i].spans;
    void *bigger = rp_array_reserve(behind.items, &behind.capacity, behind.count + 1,
                                    sizeof *behind.items);
    if (!bigger)
        return NULL;
    behind.items = bigger;
    behind.items[behind.count] = (struct trace){.stream = stream, .id = id};
    return &behind.items[behind.count++].spans;
}

void rp_behind_anything(void)
{
    behind.is_known = false;
}

void rp_behind_call(const struct rp_footprint *call)
{
    if (!behind.is_on)
        return;
    behind.is_known &= !rp_footprint_is_unproved(call) && !call->in_graph;
    for (size_t i = 0; behind.is_known && i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        struct rp_spans *spans = spans_of(call->stream, reach->id);
        behind.is_known = spans && rp_spans_add(spans, reach->lo, reach->hi) == RP_OK;
    }
}

void rp_behind_follows(const struct rp_execution *execution, rp_stream stream)
{
    const struct rp_instance *instance = execution->instance;
    for (size_t i = 0; behind.is_on && behind.is_known && i < instance->live_count; i++) {
        const struct rp_live *live = &instance->lives[i];
        struct rp_spans *spans = spans_of(stream, live->id);
        behind.is_known = spans && rp_spans_add_all(spans, &live->live_in) == RP_OK &&
                          rp_spans_add_all(spans, &live->touched) == RP_OK;
    }
}

/* ---- what meets it ------------------------------------------------------------------------ */

static bool meet(const struct rp_spans *a, const struct rp_spans *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (rp_spans_overlaps(a, b->items[i].lo, b->items[i].hi))
            return true;
    return false;
}

static bool meets(const struct rp_execution *execution, const struct trace *trace)
{
    const struct rp_live *live = rp_instance_live(execution->instance, trace->id);
    return live && (meet(&live->live_in, &trace->spans) || meet(&live->touched, &trace->spans));
}

bool rp_behind_is_clear(const struct rp_execution *execution, rp_stream stream)
{
    bool is_clear = behind.is_on && behind.is_known && rp_drop_is_alone();
    for (size_t i = 0; is_clear && i < behind.count; i++)
        is_clear = behind.items[i].stream == stream || !meets(execution, &behind.items[i]);
    return is_clear && rp_real.cuStreamWaitEvent(rp_driver_stream(stream), behind.before, 0) ==
                           CUDA_SUCCESS;
}
