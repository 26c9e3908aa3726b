/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/track.h"

#include "interpose/calls/upload.h"
#include "interpose/plan/cost.h"
#include "interpose/plan/retain.h"
#include "interpose/plan/serve.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/core.h"
#include "interpose/run/forward.h"
#include "interpose/run/guard.h"
#include "interpose/run/host.h"
#include "interpose/run/keep.h"
#include "interpose/run/overtake.h"
#include "interpose/run/race.h"
#include "interpose/run/remark.h"
#include "interpose/run/replay.h"
#include "interpose/run/report.h"
#include "interpose/run/undecided.h"
#include "interpose/run/underway.h"
#include "interpose/run/written.h"

static const char *effect_word(enum rp_effect effect)
{
    return effect == RP_READ ? "read" : "write";
}

enum { NOTED_AT_ONCE = 16, ACCESS_FIELDS = 7 };

/* One field after the other: a copy of what was just written would have to wait for it. */
static void describe(const struct rp_footprint *call, const struct rp_reach *reach,
                     union rp_value *values)
{
    values[0].u = call->seq;
    values[1].u = reach->id;
    values[2].u = reach->lo;
    values[3].u = reach->hi - reach->lo;
    values[4] = rp_value_text(effect_word(reach->effect));
    values[5] = rp_value_text(rp_verdict_name(reach->verdict));
    values[6].u = call->version;
}

static void note_reaches(const struct rp_footprint *call)
{
    union rp_value values[NOTED_AT_ONCE][ACCESS_FIELDS];
    struct rp_trace_item items[NOTED_AT_ONCE];
    size_t n = 0;
    for (size_t i = 0; i < call->count; i++) {
        describe(call, &call->reaches[i], values[n]);
        items[n].event = rp_core.trace_ids[RP_EVENT_access];
        items[n].values = values[n];
        if (++n < NOTED_AT_ONCE && i + 1 < call->count)
            continue;
        rp_trace_add(rp_core.trace, items, n);
        n = 0;
    }
}

/* ---- the way of a call ------------------------------------------------------------ */

/* What may write anything may also have destroyed what discovery would have to keep. A forward that
 * is made anew reads nothing that host code may write (recompute/recipe.h). */
static void doubt_pending(const struct rp_footprint *call)
{
    bool is_harmless = rp_recompute_is_on() && !rp_footprint_is_unproved(call);
    if (!rp_keep_discovers() || call->writes < RP_VERDICT_REACHABLE || is_harmless)
        return;
    for (size_t i = 0; i < rp_executions_count(); i++)
        rp_forward_refuse(rp_executions_at(i), call, NULL,
                          "a call whose writes are not proved came before the replay: declare the "
                          "state");
    rp_remark(rp_name(call->name), call->reason ? call->reason : "its writes are not proved");
}

/* Innermost first: which forward it repeats may depend on its first call. */
static struct rp_scope *enter_replay(struct rp_thread *thread, struct rp_footprint *call)
{
    struct rp_scope *replay = rp_segment_replay(thread);
    if (!replay || !replay->execution)
        return NULL;
    rp_replay_settle(replay, call);
    struct rp_scope *owner = rp_segment_owner(thread, replay);
    rp_replay_before(owner, call);
    return owner;
}

static void before_in_segments(struct rp_footprint *call)
{
    struct rp_thread *thread = rp_thread_self();
    if (call->is_launch && !call->in_graph)
        rp_segment_before_launch(thread, call);
    if (call->in_graph)
        rp_captured_ran(thread, call);
    if (thread->left_out.signature)
        rp_replay_beyond(thread, call);
    const struct rp_scope *replay = enter_replay(thread, call);
    if (!call->repeats) {
        rp_undecided_meet(call);
        rp_guard_outside(call);
    }
    rp_race_meet(call);
    if (thread->scope_count)
        call->sight = rp_footprint_sight(call);
    for (unsigned i = 0; i < thread->scope_count; i++)
        if (thread->scopes[i].kind == RP_SCOPE_FORWARD)
            rp_forward_before(thread->scopes[i].execution, call);
    rp_forward_beside(thread, call);
    rp_keep_clobber(call, call->repeats ? replay->execution : NULL);
    rp_retain_clobber(call);
}

/* Replays inside the one that the call belongs to. */
static void echo_in_parts(struct rp_thread *thread, const struct rp_footprint *call)
{
    for (struct rp_scope *part = rp_segment_replay(thread); part > call->replay; part--)
        if (part->kind == RP_SCOPE_REPLAY && part->execution)
            rp_replay_echo(part, call);
}

static void after_in_segments(struct rp_footprint *call)
{
    struct rp_thread *thread = rp_thread_self();
    if (!call->repeats)
        rp_guard_outside_ran(call);
    if (call->replay)
        rp_replay_after(call->replay, call);
    if (call->on_host)
        rp_host_function_given(call);
    rp_race_made(call);
    if (call->replay)
        echo_in_parts(thread, call);
    for (unsigned i = 0; i < thread->scope_count; i++)
        if (thread->scopes[i].kind == RP_SCOPE_FORWARD)
            rp_forward_after(thread->scopes[i].execution, call);
}

/* The reads of a rejected call stay noted: they can only make more bytes count as state,
 * which nothing but discovery would have to be sure of. */
static void rejected_in_segments(const struct rp_footprint *call)
{
    struct rp_thread *thread = rp_thread_self();
    rp_remark(rp_name(call->name), "the driver rejected it: it changed nothing");
    for (unsigned i = 0; i < thread->scope_count; i++)
        if (thread->scopes[i].kind == RP_SCOPE_FORWARD && rp_keep_discovers())
            rp_forward_refuse(thread->scopes[i].execution, call, NULL,
                              "the driver rejected a call of the segment: declare the state");
    if (call->wrote_live) /* they would not be reinstated, and nobody has written them */
        rp_report(RP_HAZARD_UNPROVED, (struct rp_met){.call = call});
}

void rp_track(struct rp_footprint *call)
{
    rp_recompute_await(call);
    if (!call->in_graph)
        rp_underway_await(call);
    call->seq = call->version = ++rp_core.seq;
    call->launch = call->is_launch ? rp_core.launch_in_step++ : rp_core.launch_in_step;
    if (!rp_core.segments_wanted)
        return;
    rp_underway_begins(call);
    rp_upload_meet(call);
    if (rp_core_keeps()) {
        call->is_early |= rp_order_meet(rp_core.bench.order, call->stream) == RP_NO_MEMORY;
        rp_keep_let_copy(call);
    }
    rp_overtake_meet(call);
    call->denied = !rp_recompute_before(call);
    if (call->denied)
        return;
    doubt_pending(call);
    /* A check says what it knows; the guard must not miss what it does not know. */
    if (rp_core_guards() && rp_footprint_suspect_state(call) != RP_OK)
        rp_remark(rp_name(call->name), "the host is out of memory: the call is not followed");
    before_in_segments(call);
    if (call->served)
        rp_serve_deliver(call->replay->execution, call);
    else
        rp_cost_call(call->stream, call->repeats);
}

static void note_outcome(struct rp_footprint *call, enum rp_outcome outcome)
{
    if (outcome == RP_OUTCOME_REJECTED) {
        if (rp_core.segments_wanted)
            rejected_in_segments(call);
        return;
    }
    if (call->is_early) /* in a stream that is none it would have been rejected */
        rp_report_lost(NULL, call, 0, 0, 0, RP_IO);
    for (size_t i = 0; outcome == RP_OUTCOME_UNSURE && i < call->count; i++)
        call->reaches[i].certain = false;
    if (rp_core.segments_wanted) { /* nobody else asks for versions */
        after_in_segments(call);
        rp_written_note(call);
    }
    if (rp_core.trace)
        note_reaches(call);
    if (call->is_launch)
        rp_core.figures.launches_by_verdict[call->writes]++;
}

void rp_track_done(struct rp_footprint *call, enum rp_outcome outcome)
{
    note_outcome(call, outcome);
    rp_recompute_done(call, outcome != RP_OUTCOME_REJECTED, outcome != RP_OUTCOME_UNSURE);
    rp_underway_ends(call);
    rp_recompute_unless_plenty();
}

void rp_track_death(rp_alloc_id id)
{
    rp_undecided_forget(id);
    rp_overtake_forget(id);
    rp_crossing_forget(rp_core.bench.crossing, id);
    rp_upload_forget(id);
    rp_versions_forget(rp_core.bench.versions, id);
    rp_state_forget(rp_core.state, id);
}
