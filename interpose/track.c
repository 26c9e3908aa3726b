/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/track.h"

#include "interpose/core.h"
#include "interpose/cost.h"
#include "interpose/guard.h"
#include "interpose/report.h"
#include "interpose/segment.h"

/* ---- forward ------------------------------------------------------------------ */

static void refuse(struct rp_execution *execution, const char *reason)
{
    if (execution->refused)
        return;
    execution->refused = reason;
    rp_segment_figures(execution->instance->segment)->refused = reason;
}

static bool is_discovering(void)
{
    return rp_core.config.contract->state == RP_STATE_DISCOVERED;
}

/* Discovery must tell state from output by what is written for certain before it is read. */
static void doubt_read(struct rp_execution *execution, const struct rp_footprint *call,
                       const struct rp_reach *reach)
{
    if (!rp_instance_is_ambiguous(execution->instance, reach->id, reach->lo, reach->hi))
        return;
    if (!is_discovering()) { /* declared bytes are safe all the same; for others, say so */
        struct rp_spans doubtful = {0};
        if (rp_spans_add(&doubtful, reach->lo, reach->hi) == RP_OK &&
            (!rp_state_of(rp_core.state, reach->id) ||
             rp_spans_remove_all(&doubtful, rp_state_of(rp_core.state, reach->id)) == RP_OK) &&
            doubtful.count)
            rp_remark(rp_name(call->name), "reads undeclared bytes that the segment possibly "
                                           "wrote: their older content is not checked");
        rp_spans_release(&doubtful);
        return;
    }
    refuse(execution, "a call reads bytes that an earlier call of the segment may or may not "
                      "have written: declare the state");
    rp_remark(rp_name(call->name), "reads bytes that the segment possibly wrote");
}

static void doubt_write(struct rp_execution *execution, const struct rp_footprint *call,
                        const struct rp_reach *reach)
{
    if (!is_discovering())
        return;
    const struct rp_live *live = rp_instance_live(execution->instance, reach->id);
    if (reach->verdict >= RP_VERDICT_REACHABLE) {
        refuse(execution, "the segment holds a call whose writes are not proved: declare the state");
        rp_remark(rp_name(call->name), call->reason ? call->reason : "its writes are not proved");
    } else if (live && rp_spans_overlaps(&live->doubtful, reach->lo, reach->hi)) {
        refuse(execution, "the segment writes bytes that it possibly read before: declare the state");
        rp_remark(rp_name(call->name), "writes bytes that the segment possibly read");
    }
}

/* State that may be left as it was is read as much as written: the old bytes count. */
static enum rp_status state_that_may_stay(const struct rp_reach *reach, struct rp_spans *spans)
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
    enum rp_status status = state_that_may_stay(reach, &spans);
    for (size_t i = 0; status == RP_OK && i < spans.count; i++)
        status = rp_instance_read(execution->instance, rp_core.bench.versions, reach->id,
                                  spans.items[i].lo, spans.items[i].hi, true);
    rp_spans_release(&spans);
    return status;
}

static enum rp_status forward_reads(struct rp_execution *execution,
                                    const struct rp_footprint *call)
{
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (reach->effect == RP_READ) {
            doubt_read(execution, call, reach);
            status = rp_instance_read(execution->instance, rp_core.bench.versions, reach->id,
                                      reach->lo, reach->hi, reach->certain || reach->coupled);
        } else {
            doubt_write(execution, call, reach);
            status = read_what_may_stay(execution, reach);
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

static void out_of_memory(struct rp_execution *execution)
{
    refuse(execution, "the host is out of memory");
}

/* ---- replay ------------------------------------------------------------------- */

struct meeting {
    struct rp_scope *scope;
    const struct rp_footprint *call;
    const struct rp_reach *reach;
};

static enum rp_status mismatch(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi,
                               const struct rp_writer *found, const struct rp_writer *expected)
{
    struct meeting *meeting = ctx;
    if (!expected && !found->version)
        return RP_OK; /* never written since birth: undefined in the forward too */
    /* What only speculation says was read or written is no hazard unless it was declared. */
    if ((meeting->reach->verdict >= RP_VERDICT_REACHABLE || found->speculative) &&
        !is_discovering() && !rp_state_name(rp_core.state, id, lo, hi, NULL, NULL)) {
        rp_remark(rp_name(meeting->call->name),
                  "undeclared bytes that it may read may have changed: nothing is proved of them");
        return RP_OK;
    }
    meeting->scope->tainted = true;
    rp_report(expected ? RP_HAZARD_STALE_READ : RP_HAZARD_FOREIGN_READ, meeting->scope->execution,
              meeting->call, id, lo, hi, found, expected);
    return RP_OK;
}

struct leaving {
    const struct rp_scope *scope;
    const struct rp_footprint *call;
    rp_alloc_id id;
};

/* The live version is what should stand after the replay; the replay is about to write over
 * it, and nothing will put it back. */
static enum rp_status report_left(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *live)
{
    const struct leaving *leaving = ctx;
    const struct rp_footprint *call = leaving->call;
    const struct rp_writer replay = {.version = call->seq, .seq = call->seq, .name = call->name,
                                     .launch = call->launch, .stream = call->stream,
                                     .step = rp_core.step};
    rp_report(RP_HAZARD_STATE_LEFT, leaving->scope->execution, call, leaving->id, lo, hi, &replay,
              live);
    return RP_OK;
}

static void check_state_left(const struct rp_scope *scope, const struct rp_footprint *call,
                             const struct rp_reach *reach)
{
    struct leaving leaving = {scope, call, reach->id};
    struct rp_spans state = {0};
    if (rp_core.config.mode == RP_MODE_CHECK &&
        rp_guard_state(scope->execution, reach->id, reach->lo, reach->hi, &state) == RP_OK)
        for (size_t i = 0; i < state.count; i++)
            rp_versions_read(rp_core.bench.versions, reach->id, state.items[i].lo,
                             state.items[i].hi, report_left, &leaving);
    rp_spans_release(&state);
}

struct evolving {
    const struct rp_scope *scope;
    const struct rp_footprint *call;
    rp_alloc_id id;
    rp_version forward; /* what the forward's own call wrote */
};

static enum rp_status report_evolved(void *ctx, uint64_t lo, uint64_t hi,
                                     const struct rp_writer *live)
{
    const struct evolving *evolving = ctx;
    const struct rp_instance *instance = evolving->scope->execution->instance;
    if (live->origin != evolving->forward || live->version == evolving->forward)
        return RP_OK;
    struct rp_spans written = {0}; /* live-in bytes are state, and taken care of as such */
    const struct rp_live *known = rp_instance_live(instance, evolving->id);
    if (rp_spans_add(&written, lo, hi) == RP_OK && known &&
        rp_spans_remove_all(&written, &known->live_in) == RP_OK && written.count)
        rp_report(RP_HAZARD_UNPROVED, evolving->scope->execution, evolving->call, evolving->id, lo,
                  hi, live, NULL);
    rp_spans_release(&written);
    return RP_OK;
}

/* State that the segment writes without reading looks like output, until somebody carries on
 * from its value: the replay would set it back. Discovery cannot tell which is meant. */
static void refuse_evolved(const struct rp_scope *scope, const struct rp_footprint *call,
                           const struct rp_reach *reach)
{
    struct evolving evolving = {scope, call, reach->id,
                                scope->execution->log[scope->cursor - 1].version};
    if (is_discovering())
        rp_versions_read(rp_core.bench.versions, reach->id, reach->lo, reach->hi, report_evolved,
                         &evolving);
}

static void check_reach(struct meeting *meeting, const struct rp_reach *reach)
{
    const struct rp_instance *instance = meeting->scope->execution->instance;
    const struct rp_versions *now = rp_core.bench.versions;
    struct rp_spans spans = {0};
    meeting->reach = reach;
    if (reach->effect == RP_READ)
        rp_instance_check(instance, now, reach->id, reach->lo, reach->hi, mismatch, meeting);
    else if (state_that_may_stay(reach, &spans) == RP_OK)
        for (size_t i = 0; i < spans.count; i++)
            rp_instance_check(instance, now, reach->id, spans.items[i].lo, spans.items[i].hi,
                              mismatch, meeting);
    rp_spans_release(&spans);
}

static void replay_call(struct rp_scope *scope, const struct rp_footprint *call)
{
    struct meeting meeting = {scope, call, NULL};
    if (scope->execution->refused && rp_core.config.mode == RP_MODE_GUARD)
        rp_report(RP_HAZARD_UNPROVED, scope->execution, call, 0, 0, 0, NULL, NULL);
    rp_guard_replay(scope, call);
    for (size_t i = 0; i < call->count; i++) {
        check_reach(&meeting, &call->reaches[i]);
        if (call->reaches[i].effect != RP_WRITE)
            continue;
        check_state_left(scope, call, &call->reaches[i]);
        refuse_evolved(scope, call, &call->reaches[i]);
    }
}

static void replay_writes(struct rp_scope *scope, const struct rp_footprint *call)
{
    for (size_t i = 0; i < call->count; i++)
        if (call->reaches[i].effect == RP_WRITE &&
            rp_instance_rewrite(scope->execution->instance, call->reaches[i].id,
                                call->reaches[i].lo, call->reaches[i].hi) != RP_OK)
            scope->tainted = true;
}

/* The position in the log that this call of a replay repeats, or log_count when it repeats
 * none: then it is a call of the job's own that merely happens inside the replay's range. */
static size_t find_in_log(const struct rp_scope *scope, const struct rp_footprint *call)
{
    const struct rp_execution *execution = scope->execution;
    size_t at = scope->cursor;
    while (at < execution->log_count && execution->log[at].signature != call->signature)
        at++;
    return at;
}

/* True when the call belongs to the replay; its version is then that of the repeated write. */
static bool join_replay(struct rp_scope *scope, struct rp_footprint *call)
{
    size_t at = find_in_log(scope, call);
    if (at == scope->execution->log_count) {
        scope->stranger = call->name;
        return false;
    }
    if (at != scope->cursor || scope->execution->log[at].values != call->values) {
        scope->tainted = true;
        rp_report(RP_HAZARD_DIVERGED, scope->execution, call, 0, 0, 0, NULL, NULL);
    }
    call->cursor = scope->cursor;
    scope->cursor = at + 1;
    replay_call(scope, call);
    if (!scope->tainted)
        call->version = scope->execution->log[at].version;
    return true;
}

/* ---- the way of a call -------------------------------------------------------- */

static bool modifies(const struct rp_footprint *call, const struct rp_reach *write)
{
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++) {
        const struct rp_reach *read = &call->reaches[i];
        if (read->id == write->id && read->lo < write->hi && write->lo < read->hi)
            return true;
    }
    return false;
}

struct origins {
    struct rp_writer writer;
    rp_alloc_id id;
    uint64_t hi; /* end of what was visited */
};

/* One stretch at a time: the map may not change while it is walked. */
static enum rp_status take_origin(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *old)
{
    (void)lo;
    struct origins *origins = ctx;
    origins->writer.origin = old->origin ? old->origin : origins->writer.version;
    origins->hi = hi;
    return RP_END;
}

static enum rp_status write_modified(const struct rp_reach *reach, const struct rp_writer *writer)
{
    struct origins origins = {.writer = *writer, .id = reach->id};
    enum rp_status status = RP_OK;
    for (uint64_t lo = reach->lo; status == RP_OK && lo < reach->hi; lo = origins.hi) {
        origins.hi = reach->hi;
        rp_versions_read(rp_core.bench.versions, reach->id, lo, reach->hi, take_origin, &origins);
        status = rp_versions_write(rp_core.bench.versions, reach->id, lo, origins.hi,
                                   &origins.writer);
    }
    return status;
}

static void write_versions(const struct rp_footprint *call)
{
    struct rp_writer writer = {
        .version = call->version,
        .origin = call->version,
        .seq = call->seq,
        .launch = call->launch,
        .stream = call->stream,
        .step = rp_core.step,
        .name = call->name,
    };
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (reach->effect != RP_WRITE)
            continue;
        writer.speculative = reach->verdict >= RP_VERDICT_REACHABLE;
        if (modifies(call, reach))
            write_modified(reach, &writer);
        else
            rp_versions_write(rp_core.bench.versions, reach->id, reach->lo, reach->hi, &writer);
    }
}

static const char *effect_word(enum rp_effect effect)
{
    return effect == RP_READ ? "read" : "write";
}

static void note_reaches(const struct rp_footprint *call)
{
    for (size_t i = 0; rp_core.trace && i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        RP_NOTE(access, RP_U(call->seq), RP_U(reach->id), RP_U(reach->lo),
                RP_U(reach->hi - reach->lo), RP_T(effect_word(reach->effect)),
                RP_T(rp_verdict_name(reach->verdict)), RP_U(call->version));
    }
}

static void track_segments(struct rp_footprint *call)
{
    struct rp_thread *thread = rp_thread_self();
    if (call->is_launch)
        rp_segment_before_launch(thread, call);
    struct rp_scope *replay = rp_segment_replay(thread);
    call->replayed = replay && replay->execution && join_replay(replay, call);
    if (!call->replayed)
        rp_guard_outside(call);
    for (unsigned i = 0; i < thread->scope_count; i++) {
        struct rp_scope *scope = &thread->scopes[i];
        if (scope->kind != RP_SCOPE_FORWARD)
            continue;
        rp_guard_touch(scope->execution, call);
        if (forward_reads(scope->execution, call) != RP_OK)
            out_of_memory(scope->execution);
    }
    rp_guard_clobber(call, call->replayed ? replay->execution : NULL);
}

static void segments_ran(const struct rp_footprint *call)
{
    struct rp_thread *thread = rp_thread_self();
    if (call->replayed)
        replay_writes(rp_segment_replay(thread), call);
    for (unsigned i = 0; i < thread->scope_count; i++) {
        struct rp_scope *scope = &thread->scopes[i];
        if (scope->kind == RP_SCOPE_FORWARD &&
            (forward_writes(scope->execution, call) != RP_OK ||
             rp_execution_log(scope->execution, call) != RP_OK))
            out_of_memory(scope->execution);
    }
}

/* What may write anything may also have destroyed what discovery would have to keep. */
static void doubt_pending(const struct rp_footprint *call)
{
    if (!is_discovering() || call->writes < RP_VERDICT_REACHABLE)
        return;
    for (size_t i = 0; i < rp_executions_count(); i++)
        refuse(rp_executions_at(i), "a call whose writes are not proved came before the replay: "
                                    "declare the state");
    rp_remark(rp_name(call->name), call->reason ? call->reason : "its writes are not proved");
}

/* The reads of a rejected call stay noted: they can only make more bytes count as state,
 * which nothing but discovery would have to be sure of. */
static void segments_rejected(const struct rp_footprint *call)
{
    struct rp_thread *thread = rp_thread_self();
    rp_remark(rp_name(call->name), "the driver rejected it: it changed nothing");
    if (call->replayed)
        rp_segment_replay(thread)->cursor = call->cursor;
    for (unsigned i = 0; i < thread->scope_count; i++)
        if (thread->scopes[i].kind == RP_SCOPE_FORWARD && is_discovering())
            refuse(thread->scopes[i].execution,
                   "the driver rejected a call of the segment: declare the state");
    if (call->wrote_live) /* they would not be reinstated, and nobody has written them */
        rp_report(RP_HAZARD_UNPROVED, NULL, call, 0, 0, 0, NULL, NULL);
}

void rp_track(struct rp_footprint *call)
{
    call->seq = ++rp_core.seq;
    call->version = call->seq;
    call->launch = rp_core.launch_in_step;
    rp_core.launch_in_step += call->is_launch;
    if (!rp_core.segments_wanted)
        return;
    if (rp_core.config.mode == RP_MODE_GUARD)
        rp_order_meet(rp_core.bench.order, call->stream);
    doubt_pending(call);
    track_segments(call);
    rp_cost_call(call->stream);
}

void rp_track_done(struct rp_footprint *call, enum rp_outcome outcome)
{
    if (outcome == RP_OUTCOME_REJECTED) {
        if (rp_core.segments_wanted)
            segments_rejected(call);
        return;
    }
    for (size_t i = 0; outcome == RP_OUTCOME_UNSURE && i < call->count; i++)
        call->reaches[i].certain = false;
    if (rp_core.segments_wanted)
        segments_ran(call);
    write_versions(call);
    note_reaches(call);
    if (call->is_launch) {
        rp_core.figures.launches++;
        rp_core.figures.launches_by_verdict[call->writes]++;
    }
}

void rp_track_death(rp_alloc_id id)
{
    rp_versions_forget(rp_core.bench.versions, id);
    rp_state_forget(rp_core.state, id);
}
