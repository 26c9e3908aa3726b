/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/forward.h"

#include "interpose/calls/unseen.h"
#include "interpose/plan/retain.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/core.h"
#include "interpose/run/guard.h"
#include "interpose/run/helper.h"
#include "interpose/run/keep.h"
#include "interpose/run/remark.h"

#include <stdio.h>

void rp_forward_refuse(struct rp_execution *execution, const struct rp_footprint *call,
                       const struct rp_reach *reach, const char *reason)
{
    if (execution->refused)
        return;
    execution->refused = reason;
    execution->refusal = (struct rp_refusal){.name = call->name, .launch = call->launch};
    if (reach) {
        execution->refusal.id = reach->id;
        execution->refusal.lo = reach->lo;
        execution->refusal.hi = reach->hi;
    }
    rp_segment_figures(execution->instance->segment)->refused = reason;
}

/* Discovery must tell state from output by what is written for certain before it is read. */
static void doubt_read(struct rp_execution *execution, const struct rp_footprint *call,
                       const struct rp_reach *reach)
{
    if (!rp_instance_is_ambiguous(execution->instance, reach->id, reach->lo, reach->hi))
        return;
    if (!rp_keep_discovers()) { /* declared bytes are safe all the same; for others, say so */
        struct rp_spans doubtful = {0};
        if (rp_spans_add(&doubtful, reach->lo, reach->hi) == RP_OK &&
            (!rp_state_of(rp_core.state, reach->id) ||
             rp_spans_remove_all(&doubtful, rp_state_of(rp_core.state, reach->id)) == RP_OK) &&
            doubtful.count)
            rp_remark(rp_name(call->name), RP_UNVOUCHED_OWN);
        rp_spans_release(&doubtful);
        return;
    }
    rp_forward_refuse(execution, call, reach,
                      "a call reads bytes that an earlier call of the segment may or may not have "
                      "written: declare the state");
    rp_remark(rp_name(call->name), "reads bytes that the segment possibly wrote");
}

static void doubt_write(struct rp_execution *execution, const struct rp_footprint *call,
                        const struct rp_reach *reach)
{
    if (!rp_keep_discovers())
        return;
    const struct rp_live *live = rp_instance_live(execution->instance, reach->id);
    if (reach->verdict >= RP_VERDICT_REACHABLE) {
        rp_forward_refuse(execution, call, reach,
                          "the segment holds a call whose writes are not proved: declare the "
                          "state");
        rp_remark(rp_name(call->name), call->reason ? call->reason : "its writes are not proved");
    } else if (live && !reach->coupled &&
               rp_spans_overlaps(&live->doubtful, reach->lo, reach->hi)) {
        rp_forward_refuse(execution, call, reach,
                          "the segment writes bytes that it possibly read before: declare the "
                          "state");
        rp_remark(rp_name(call->name), "writes bytes that the segment possibly read");
    }
}

static const char *or_declare(const char *why)
{
    char text[256];
    snprintf(text, sizeof text, "%s: declare the state", why);
    return rp_name(rp_names_id(rp_core.names, text));
}

/* What the forward reads there, the replay may find changed by no call that anyone saw. What a copy
 * takes from host memory is compared by value. */
static void doubt_unseen(struct rp_execution *execution, const struct rp_footprint *call,
                         const struct rp_reach *reach)
{
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, reach->id);
    const char *why = alloc ? rp_unseen_why(alloc) : NULL;
    if (!why || (alloc->kind == RP_ALLOC_PINNED && !call->is_launch))
        return;
    if (rp_execution_made(execution, reach))
        return;
    rp_remark(rp_name(call->name), why);
    if (!rp_keep_discovers())
        rp_remark(rp_name(call->name), RP_UNVOUCHED_UNSEEN);
    else if (!execution->refused)
        rp_forward_refuse(execution, call, reach, or_declare(why));
}

enum rp_status rp_forward_may_stay(const struct rp_reach *reach, struct rp_spans *spans)
{
    const struct rp_spans *declared = rp_state_of(rp_core.state, reach->id);
    if (reach->effect == RP_READ || reach->certain || !declared)
        return RP_OK;
    return rp_spans_within(declared, reach->lo, reach->hi, spans);
}

static enum rp_status read_what_may_stay(struct rp_execution *execution,
                                         const struct rp_reach *reach)
{
    struct rp_spans spans = {0};
    enum rp_status status = rp_forward_may_stay(reach, &spans);
    for (size_t i = 0; status == RP_OK && i < spans.count; i++)
        status = rp_instance_read(execution->instance, rp_core.bench.versions, reach->id,
                                  spans.items[i].lo, spans.items[i].hi, true);
    rp_spans_release(&spans);
    return status;
}

/* What the forward reads of its own, its replay may find ready instead of making it. Discovery
 * expects that of a first run only: after that, what a segment makes for itself are activations. */
static enum rp_status read_own(struct rp_execution *execution, const struct rp_reach *reach)
{
    if (!rp_keep_recalls(execution, reach->id))
        return RP_OK;
    return rp_instance_read_own(execution->instance, rp_core.bench.versions, reach->id, reach->lo,
                                reach->hi);
}

/* What one call writes in one piece, and has read for the most part, is state as a whole. */
static enum rp_status read_what_is_torn(struct rp_execution *execution,
                                        const struct rp_footprint *call,
                                        const struct rp_reach *write)
{
    if (!rp_keep_discovers() || !write->certain)
        return RP_OK;
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++) {
        const struct rp_reach *read = &call->reaches[i];
        if (read->id == write->id && read->lo < write->hi && write->lo < read->hi)
            return rp_instance_tear(execution->instance, rp_core.bench.versions, write->id,
                                    write->lo, write->hi);
    }
    return RP_OK;
}

static enum rp_status forward_reads(struct rp_execution *execution,
                                    const struct rp_footprint *call)
{
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (reach->effect == RP_READ) {
            doubt_read(execution, call, reach);
            doubt_unseen(execution, call, reach);
            status = rp_instance_read(execution->instance, rp_core.bench.versions, reach->id,
                                      reach->lo, reach->hi, reach->certain);
            if (status == RP_OK)
                status = read_own(execution, reach);
        } else {
            doubt_write(execution, call, reach);
            status = read_what_may_stay(execution, reach);
            if (status == RP_OK)
                status = read_what_is_torn(execution, call, reach);
        }
    }
    return status;
}

static enum rp_status forward_writes(struct rp_execution *execution,
                                     const struct rp_footprint *call)
{
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (reach->effect == RP_WRITE)
            status = rp_instance_write(execution->instance, reach->id, reach->lo, reach->hi,
                                       reach->certain);
    }
    return status;
}

/* ---- what others write while a forward is under way ------------------------------------- */

static bool is_own(const struct rp_thread *own, const struct rp_execution *execution)
{
    for (unsigned i = 0; i < own->scope_count; i++)
        if (own->scopes[i].execution == execution)
            return true;
    return false;
}

static bool has_met(const struct rp_execution *execution, const struct rp_reach *reach)
{
    const struct rp_live *live = rp_instance_live(execution->instance, reach->id);
    return live && (rp_spans_overlaps(&live->live_in, reach->lo, reach->hi) ||
                    rp_spans_overlaps(&live->touched, reach->lo, reach->hi));
}

static void note_beside(struct rp_execution *execution, const struct rp_footprint *call)
{
    const struct rp_writer writer = {.version = call->seq, .seq = call->seq, .name = call->name,
                                     .launch = call->launch, .stream = call->stream,
                                     .step = rp_core.step};
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (reach->effect != RP_WRITE || reach->verdict >= RP_VERDICT_REACHABLE ||
            !has_met(execution, reach))
            continue;
        if ((!execution->beside && rp_versions_create(&execution->beside) != RP_OK) ||
            rp_versions_write(execution->beside, reach->id, reach->lo, reach->hi, &writer) !=
                RP_OK)
            rp_forward_refuse(execution, call, reach, "the host is out of memory");
    }
}

void rp_forward_beside(const struct rp_thread *own, const struct rp_footprint *call)
{
    for (size_t i = rp_executions_count(); i-- > 0;) {
        struct rp_execution *execution = rp_executions_at(i);
        if (execution->phase == RP_PHASE_REPLAY)
            rp_helper_beside_replay(own, execution, call);
        if (execution->phase != RP_PHASE_FORWARD || is_own(own, execution))
            continue;
        note_beside(execution, call);
        rp_helper_beside_forward(own, execution, call);
    }
}

/* ---- the way of a forward's call --------------------------------------------------------- */

void rp_forward_before(struct rp_execution *execution, const struct rp_footprint *call)
{
    rp_recompute_forward(execution, call);
    rp_keep_touch(execution, call);
    if (forward_reads(execution, call) != RP_OK)
        rp_forward_refuse(execution, call, NULL, "the host is out of memory");
}

void rp_forward_after(struct rp_execution *execution, const struct rp_footprint *call)
{
    rp_retain_written(execution, call);
    if (forward_writes(execution, call) != RP_OK || rp_execution_log(execution, call) != RP_OK)
        rp_forward_refuse(execution, call, NULL, "the host is out of memory");
}
