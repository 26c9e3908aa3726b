/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/retain.h"

#include "cuda/switches.h"
#include "interpose/plan/cost.h"
#include "interpose/plan/outputs.h"
#include "interpose/plan/policy.h"
#include "interpose/plan/refuge.h"
#include "interpose/run/core.h"
#include "interpose/run/guard.h"
#include "interpose/run/keep.h"
#include "interpose/run/report.h"

#include <stdlib.h>

/* Kept in earnest, not just counted: by an execution that is to be served. */
static bool is_kept(const struct rp_execution *execution)
{
    return execution->choice == RP_CHOICE_RETAIN;
}

static bool can_serve(const struct rp_execution *execution)
{
    return rp_outputs_can_serve(execution->outputs);
}

void rp_retain_refuse(struct rp_execution *execution, const char *reason)
{
    if (rp_outputs_make(&execution->outputs) && !execution->outputs->refused)
        execution->outputs->refused = reason;
}

/* ---- the forward ------------------------------------------------------------ */

/* Undeclared bytes that were read before they are written: neither state nor plain output. */
static bool evolves_unknown_state(const struct rp_execution *execution, rp_alloc_id id,
                                  const struct rp_spans *outputs)
{
    const struct rp_live *live = rp_instance_live(execution->instance, id);
    for (size_t i = 0; live && i < outputs->count; i++)
        if (rp_spans_overlaps(&live->live_in, outputs->items[i].lo, outputs->items[i].hi))
            return true;
    return false;
}

/* What of a write is output: all but state. */
static enum rp_status outputs_of(const struct rp_execution *execution,
                                 const struct rp_reach *reach, struct rp_spans *outputs)
{
    struct rp_spans state = {0};
    rp_spans_clear(outputs);
    enum rp_status status =
        rp_keep_state(execution, reach->id, reach->lo, reach->hi, &state);
    if (status == RP_OK)
        status = rp_spans_add(outputs, reach->lo, reach->hi);
    if (status == RP_OK)
        status = rp_spans_remove_all(outputs, &state);
    rp_spans_release(&state);
    return status;
}

static void add_write(struct rp_execution *execution, const struct rp_reach *reach,
                      uint32_t write)
{
    struct rp_spans spans = {0};
    bool good = outputs_of(execution, reach, &spans) == RP_OK;
    if (good && spans.count && !reach->certain)
        rp_retain_refuse(execution, "a call of it may leave bytes unwritten that count as written");
    else if (good && evolves_unknown_state(execution, reach->id, &spans))
        rp_retain_refuse(execution, "it reads, then writes bytes that are not declared as state");
    for (size_t i = 0; good && i < spans.count; i++) {
        const struct rp_forward_output output = {.call = execution->log_count,
                                                 .write = write,
                                                 .offset = spans.items[i].lo - reach->lo,
                                                 .id = reach->id,
                                                 .lo = spans.items[i].lo,
                                                 .hi = spans.items[i].hi,
                                                 .copy = RP_OUTPUT_IN_PLACE};
        good = rp_outputs_add(execution->outputs, &output);
    }
    if (!good)
        rp_retain_refuse(execution, "the host is out of memory");
    rp_spans_release(&spans);
}

void rp_retain_written(struct rp_execution *execution, const struct rp_footprint *call)
{
    if (!rp_core_guards() || !(is_kept(execution) || rp_cost_by_part()) ||
        !rp_outputs_make(&execution->outputs) || execution->outputs->refused)
        return;
    if (!call->on_device)
        rp_retain_refuse(execution, "a call of it does more than to write device memory");
    uint32_t write = 0;
    for (size_t i = 0; i < call->count; i++)
        if (call->reaches[i].effect == RP_WRITE)
            add_write(execution, &call->reaches[i], write++);
    if (!rp_outputs_add_shape(execution->outputs, rp_outputs_shape(call)))
        rp_retain_refuse(execution, "the host is out of memory");
}

/* ---- until the replay ends -------------------------------------------------- */

/* What is about to go over an output. */
struct clobber {
    const struct rp_footprint *call; /* NULL: the memory is freed */
    const struct rp_reach *reach;
    rp_stream stream;
};

/* The job orders who else writes what a call certainly meets, but not the rest of an output. */
static bool is_met_whole(const struct clobber *by, const struct rp_forward_output *output)
{
    return !by->reach || (by->reach->certain && by->reach->lo <= output->lo &&
                          by->reach->hi >= output->hi);
}

static enum rp_status copy_output(struct rp_execution *execution, struct rp_forward_output *output,
                                  const struct rp_workbench *bench, const struct clobber *by)
{
    if (!rp_core_can_copy(by->stream))
        return RP_UNSUPPORTED;
    rp_meter(bench, execution->place, RP_COPYING_PRESERVE, output->hi - output->lo, by->stream);
    enum rp_status status = rp_outputs_copy(execution->outputs, output, bench, by->stream);
    return status == RP_OK && !is_met_whole(by, output)
               ? rp_crossing_copied(bench->crossing, output->id, output->lo, output->hi, by->stream)
               : status;
}

/* Where there is no other way any more: the state that a replay would need was given up. */
static enum rp_status flee(struct rp_execution *execution, struct rp_forward_output *output,
                           const struct clobber *by)
{
    const struct rp_workbench *bench = rp_refuge();
    enum rp_status status = bench ? copy_output(execution, output, bench, by) : RP_NO_MEMORY;
    if (status == RP_OK)
        rp_core.figures.bytes_in_refuge += output->hi - output->lo;
    return status;
}

/* An output that can't be kept: before the end of the forward there is still another way. */
static void lose_output(struct rp_execution *execution, const struct rp_forward_output *output,
                        const struct rp_footprint *call)
{
    if (execution->phase == RP_PHASE_FORWARD)
        rp_retain_refuse(execution, "an output could not be copied");
    else
        rp_report(RP_HAZARD_NOT_PRESERVED, (struct rp_met){.execution = execution, .call = call,
                                                           .id = output->id, .lo = output->lo,
                                                           .hi = output->hi});
}

static void copy_or_lose(struct rp_execution *execution, struct rp_forward_output *output,
                         const struct clobber *by)
{
    enum rp_status status = copy_output(execution, output, &rp_core.bench, by);
    if (status == RP_OK)
        return;
    rp_policy_refused();
    if (status == RP_NO_MEMORY && execution->phase != RP_PHASE_FORWARD)
        status = flee(execution, output, by);
    if (status != RP_OK)
        lose_output(execution, output, by->call);
}

static void keep_output(struct rp_execution *execution, struct rp_forward_output *output,
                        const struct clobber *by)
{
    if (!is_kept(execution))
        output->copy = RP_OUTPUT_COUNTED;
    else if (!rp_switch_on(RP_SWITCH_OUTPUTS))
        return; /* it will not stand there any more */
    else
        copy_or_lose(execution, output, by);
    rp_cost_keep(&execution->outputs->keeping, execution->place,
                 execution->phase == RP_PHASE_FORWARD, output->hi - output->lo);
}

/* One that was replayed as often as promised keeps what it has and gets no more. */
static void keep_or_lose(struct rp_execution *execution, struct rp_forward_output *output,
                         const struct clobber *by)
{
    if (rp_execution_is_served(execution))
        rp_retain_refuse(execution, "an output was overwritten after its replay");
    else
        keep_output(execution, output, by);
}

/* The twin of the call that made it, in place: the very same bytes come again. */
static bool is_own(const struct rp_execution *execution, const struct rp_forward_output *output,
                   const struct rp_footprint *call, const struct rp_reach *reach)
{
    return call->repeats && call->replay->execution == execution &&
           call->entry == output->call && output->lo == reach->lo && output->hi == reach->hi;
}

static void keep_reached(struct rp_execution *execution, const struct rp_footprint *call,
                         const struct rp_reach *reach)
{
    struct rp_outputs *outputs = execution->outputs;
    const struct clobber by = {call, reach, call->stream};
    if (!rp_outputs_may_hold(outputs, reach->id))
        return;
    for (size_t i = 0; i < outputs->count && can_serve(execution); i++) {
        struct rp_forward_output *output = &outputs->items[i];
        if (output->copy != RP_OUTPUT_IN_PLACE || output->id != reach->id ||
            output->lo >= reach->hi || reach->lo >= output->hi)
            continue;
        if (is_own(execution, output, call, reach))
            output->again = true;
        else
            keep_or_lose(execution, output, &by);
    }
}

void rp_retain_clobber(const struct rp_footprint *call)
{
    for (size_t i = 0; i < rp_executions_count(); i++) {
        struct rp_execution *execution = rp_executions_at(i);
        for (size_t j = 0; j < call->count && can_serve(execution); j++)
            if (call->reaches[j].effect == RP_WRITE)
                keep_reached(execution, call, &call->reaches[j]);
    }
}

static enum rp_status last_writer(void *ctx, uint64_t lo, uint64_t hi,
                                  const struct rp_writer *writer)
{
    (void)lo, (void)hi;
    *(rp_stream *)ctx = writer->stream;
    return RP_OK;
}

void rp_retain_free(rp_alloc_id id, rp_stream in)
{
    for (size_t i = 0; i < rp_executions_count(); i++) {
        struct rp_execution *execution = rp_executions_at(i);
        if (!can_serve(execution) || !rp_outputs_may_hold(execution->outputs, id))
            continue;
        for (size_t j = 0; can_serve(execution) && j < execution->outputs->count; j++) {
            struct rp_forward_output *output = &execution->outputs->items[j];
            struct clobber by = {.stream = in};
            if (output->copy != RP_OUTPUT_IN_PLACE || output->id != id)
                continue;
            if (!by.stream)
                (void)rp_versions_read(rp_core.bench.versions, id, output->lo, output->hi,
                                       last_writer, &by.stream);
            keep_or_lose(execution, output, &by);
        }
    }
}

/* The forward that is replayed last gives way first. */
bool rp_retain_evict(void)
{
    for (size_t i = 0; i < rp_executions_count(); i++) {
        const struct rp_execution *execution = rp_executions_at(i);
        if (execution->serves &&
            rp_refuge_move(&execution->outputs->copies, execution->place) > 0)
            return true;
    }
    return false;
}

void rp_retain_decide(struct rp_execution *execution)
{
    rp_cost_forward_ends(execution->place);
    if (!rp_core_guards() || !is_kept(execution))
        return;
    const char *refused = execution->refused ? execution->refused
                          : execution->outputs ? execution->outputs->refused
                                               : "no call of it was seen";
    if (!refused) {
        execution->serves = true;
        rp_copies_give(&execution->kept->copies);
        if (execution->recalled) /* no replay is going to find any of it ready either */
            rp_copies_give(&execution->recalled->copies);
        return;
    }
    execution->choice = RP_CHOICE_REGIONS;
    rp_segment_figures(execution->instance->segment)->unserved = refused;
    if (execution->outputs)
        rp_copies_give(&execution->outputs->copies);
}

/* ---- costs ------------------------------------------------------------------ */

void rp_retain_note(const struct rp_execution *execution)
{
    struct rp_part *part = rp_cost_part(execution->place);
    const struct rp_outputs *outputs = execution->outputs;
    if (!part)
        return;
    part->no_retain = execution->refused ? execution->refused
                      : outputs ? outputs->refused
                                : "no call of it was seen";
    for (size_t i = 0; outputs && i < outputs->count; i++)
        if (outputs->items[i].copy != RP_OUTPUT_IN_PLACE || !outputs->items[i].again)
            rp_amount_add(&part->served, outputs->items[i].hi - outputs->items[i].lo);
    if (outputs)
        part->outputs = outputs->keeping;
}
