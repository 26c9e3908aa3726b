/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/serve.h"

#include "interpose/plan/cost.h"
#include "interpose/plan/outputs.h"
#include "interpose/run/core.h"
#include "interpose/run/report.h"

static const struct rp_reach *write_at(const struct rp_footprint *call, uint32_t write)
{
    for (size_t i = 0; i < call->count; i++)
        if (call->reaches[i].effect == RP_WRITE && write-- == 0)
            return &call->reaches[i];
    return NULL;
}

static size_t first_output(const struct rp_outputs *outputs, size_t at)
{
    size_t i = 0;
    while (i < outputs->count && outputs->items[i].call < at)
        i++;
    return i;
}

/* Bytes that a call wrote which the replay leaves out: it counts on finding them ready, and so
 * they are state, however little of it showed in the forward. */
static bool is_found_ready(const struct rp_execution *execution,
                           const struct rp_forward_output *output)
{
    const struct rp_outputs *outputs = execution->outputs;
    for (size_t i = 0; i < outputs->count && outputs->items[i].call < output->call; i++) {
        const struct rp_forward_output *earlier = &outputs->items[i];
        if (!execution->log[earlier->call].repeated && earlier->id == output->id &&
            earlier->lo < output->hi && output->lo < earlier->hi)
            return true;
    }
    return false;
}

/* The call's writes become those of its outputs; what it reads is not read. */
static bool replace_reaches(const struct rp_execution *execution, size_t at,
                            struct rp_footprint *call)
{
    const struct rp_outputs *outputs = execution->outputs;
    struct rp_reach served[64];
    size_t count = 0;
    for (size_t i = first_output(outputs, at); i < outputs->count; i++) {
        const struct rp_forward_output *output = &outputs->items[i];
        if (output->call != at)
            break;
        if (is_found_ready(execution, output))
            continue;
        const struct rp_reach *reach = write_at(call, output->write);
        if (!reach || count == sizeof served / sizeof *served)
            return false;
        uint64_t lo = reach->lo + output->offset;
        served[count++] = (struct rp_reach){.id = reach->id, .lo = lo,
                                            .hi = lo + (output->hi - output->lo),
                                            .effect = RP_WRITE, .verdict = RP_VERDICT_EXACT,
                                            .certain = true};
    }
    if (count > call->capacity)
        return false;
    for (size_t i = 0; i < count; i++)
        call->reaches[i] = served[i];
    call->count = count;
    return true;
}

bool rp_serve(struct rp_execution *execution, size_t at, struct rp_footprint *call)
{
    const struct rp_outputs *outputs = execution->outputs;
    call->served = rp_outputs_can_serve(outputs) && !call->in_graph &&
                   at < outputs->shape_count && outputs->shapes[at] == rp_outputs_shape(call) &&
                   replace_reaches(execution, at, call);
    return call->served;
}

static enum rp_status deliver(struct rp_execution *execution, struct rp_forward_output *output,
                              const struct rp_reach *to, rp_stream stream)
{
    const struct rp_workbench *bench = &rp_core.bench;
    bool here = output->id == to->id && output->lo == to->lo;
    if (output->copy == RP_OUTPUT_IN_PLACE && here)
        return RP_OK;
    rp_meter(bench, execution->place, RP_COPYING_RESTORE, to->hi - to->lo, stream);
    if (output->copy == RP_OUTPUT_IN_PLACE)
        return rp_copy_across(bench, output->id, output->lo, to->id, to->lo, to->hi, stream);
    return rp_copy_to(&execution->outputs->copies.items[output->copy], bench, 0, to->id, to->lo,
                      to->hi, stream);
}

static void deliver_or_report(struct rp_execution *execution, struct rp_forward_output *output,
                              const struct rp_footprint *call, const struct rp_reach *to)
{
    if (deliver(execution, output, to, call->stream) != RP_OK)
        rp_report(RP_HAZARD_NOT_PRESERVED, (struct rp_met){.execution = execution, .call = call,
                                                           .id = to->id, .lo = to->lo,
                                                           .hi = to->hi});
    execution->last_stream = call->stream;
}

void rp_serve_deliver(struct rp_execution *execution, const struct rp_footprint *call)
{
    struct rp_outputs *outputs = execution->outputs;
    size_t i = first_output(outputs, call->entry), reach = 0;
    rp_core.figures.launches_served += call->is_launch;
    for (; i < outputs->count && outputs->items[i].call == call->entry; i++)
        if (!is_found_ready(execution, &outputs->items[i]))
            deliver_or_report(execution, &outputs->items[i], call, &call->reaches[reach++]);
}
