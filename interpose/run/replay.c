/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/replay.h"

#include "cuda/switches.h"
#include "interpose/plan/cost.h"
#include "interpose/plan/serve.h"
#include "interpose/run/core.h"
#include "interpose/run/forward.h"
#include "interpose/run/guard.h"
#include "interpose/run/host.h"
#include "interpose/run/keep.h"
#include "interpose/run/landing.h"
#include "interpose/run/match.h"
#include "interpose/run/meet.h"
#include "interpose/run/pairing.h"
#include "interpose/run/remark.h"
#include "interpose/run/renewal.h"
#include "interpose/run/report.h"
#include "interpose/run/undecided.h"

#include <string.h>

/* ---- calls against the log --------------------------------------------------------- */

/* A call that the forward did not have. */
static bool sees_history(const struct rp_scope *scope, const struct rp_footprint *call)
{
    if (call->reads >= RP_VERDICT_REACHABLE || call->writes >= RP_VERDICT_REACHABLE)
        return false;
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (!rp_instance_is_historic(scope->execution->instance, rp_core.bench.versions, reach->id,
                                     reach->lo, reach->hi))
            return false;
    }
    return true;
}

/* What it would have written is what its twin has written: no version needs to be checked. */
static void serve(struct rp_scope *scope, struct rp_footprint *call)
{
    for (size_t i = 0; i < call->count; i++) /* as long as these are its own, and no deliveries */
        if (call->reaches[i].effect == RP_WRITE)
            rp_undecided_leave(scope->execution, call, call->reaches[i].id, call->reaches[i].lo,
                               call->reaches[i].hi);
    if (!rp_serve(scope->execution, call->entry, call))
        rp_meet_other(scope, call, NULL);
    rp_undecided_remake(scope->execution, call);
    if (!scope->tainted)
        call->version = scope->execution->log[call->entry].version;
}

/* Bytes of pinned memory that the segment has not made itself. */
static bool takes_from_host(const struct rp_execution *execution, const struct rp_reach *reach)
{
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, reach->id);
    return alloc && alloc->kind == RP_ALLOC_PINNED && !rp_execution_made(execution, reach);
}

/* No call has changed the bytes that it copies, but host code may have, and they could not be
 * compared: the device was still to write them. */
static void doubt_content(const struct rp_scope *scope, const struct rp_footprint *call)
{
    const struct rp_logged *entry = &scope->execution->log[call->entry];
    if (!(entry->is_content_doubtful || call->host.is_content_doubtful) ||
        entry->content_versions != call->host.content_versions)
        return;
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (!takes_from_host(scope->execution, reach))
            continue;
        rp_remark(rp_name(call->name), RP_UNVOUCHED_CONTENT);
        if (rp_keep_discovers() && rp_core_guards())
            rp_report(RP_HAZARD_UNPROVED, (struct rp_met){.execution = scope->execution,
                                                          .call = call, .id = reach->id,
                                                          .lo = reach->lo, .hi = reach->hi});
    }
}

static void guard_call(struct rp_scope *scope, struct rp_footprint *call)
{
    if (scope->execution->refused && rp_core_guards())
        rp_report_refused(scope->execution);
    rp_guard_replay(scope, call);
    call->entry = rp_match_by_sight(scope, call);
}

static void join(struct rp_scope *scope, struct rp_footprint *call)
{
    if (!scope->execution->serves)
        guard_call(scope, call);
    const struct rp_logged *entry = &scope->execution->log[call->entry];
    if (!rp_pairing_same_values(entry, call))
        rp_meet_other(scope, call, NULL);
    doubt_content(scope, call);
    rp_match_doubt(scope, call);
    rp_landing_meet(scope, call);
    scope->skips = scope->skips || call->entry != scope->cursor;
    if (scope->execution->serves) {
        serve(scope, call);
        return;
    }
    rp_meet(scope, call);
    if (call->varies && rp_switch_on(RP_SWITCH_DOUBTS))
        rp_report_varies(scope->execution, call);
    if (!scope->tainted)
        call->version = entry->version;
    /* What it brings is its twin's, by whatever name that goes. */
    if (!scope->tainted && call->is_copy)
        call->is_in_turn = entry->is_in_turn;
}

/* Where both patterns have a `*`, its texts are a second opinion on the pairing by order. */
static bool contradicts_keys(const struct rp_scope *scope)
{
    const struct rp_segment_rule *rule = &rp_core.config.contract->segments[scope->segment];
    return rule->forward.kind == RP_WHERE_NVTX && rule->replay.kind == RP_WHERE_NVTX &&
           strchr(rule->forward.nvtx, '*') && strchr(rule->replay.nvtx, '*') &&
           strcmp(scope->execution->key, scope->key) != 0;
}

/* Why it may be another's, or NULL. */
static const char *why_guessed(const struct rp_scope *scope, const struct rp_pairing *before,
                               const struct rp_pairing *after)
{
    if (after->guessed)
        return after->guessed;
    if (rp_host_differs(before->execution, after->execution))
        return "its first call names another forward than the order does, for which the host's "
               "variables had been given back by then: " RP_PAIR_BY_KEY;
    return contradicts_keys(scope) ? "the text of its range names another forward than the order "
                                     "does: set the segment's \"pair\" to \"key\""
                                   : NULL;
}

static void tell_doubts(const struct rp_scope *scope, const struct rp_footprint *call,
                        const struct rp_pairing *before, const struct rp_pairing *after)
{
    const char *segment = rp_core.config.contract->segments[scope->segment].name;
    const char *why = why_guessed(scope, before, after);
    if (why && after->is_place)
        rp_report_misplaced(segment, scope->key, call, why);
    else if (why)
        rp_report_unpaired(segment, scope->key, call, why);
    else if (after->assumed == RP_ASSUMED_FILLED)
        rp_report_filled(scope->execution, call, &after->untold, RP_ASSUMED_FILLED);
    else if (after->assumed)
        rp_report_order(scope->execution, call, after->assumed);
}

void rp_replay_settle(struct rp_scope *scope, const struct rp_footprint *call)
{
    if (scope->settled)
        return;
    const struct rp_pairing before = {.execution = scope->execution, .guessed = scope->guessed};
    const struct rp_pairing after = rp_pairing_settle(before, scope->key, call);
    if (after.execution != before.execution) {
        rp_execution_replay_withdrawn(before.execution);
        rp_execution_replay_begins(after.execution);
        scope->execution = after.execution;
    } else if (rp_match_by_order(scope, call) == scope->execution->log_count) {
        return; /* it is none of theirs */
    }
    scope->settled = true;
    scope->guessed = after.guessed;
    tell_doubts(scope, call, &before, &after);
    rp_renewal_doubt(scope, call);
    rp_cost_replay(scope->execution);
}

/* Another call over what the replay itself has made: its output is no longer the forward's. */
static void check_output(struct rp_scope *scope, const struct rp_footprint *call)
{
    struct rp_spans changed = {0}, state = {0};
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        const struct rp_live *live = rp_instance_live(scope->execution->instance, reach->id);
        if (reach->effect != RP_WRITE || !live ||
            rp_spans_within(&live->replayed, reach->lo, reach->hi, &changed) != RP_OK ||
            rp_keep_state(scope->execution, reach->id, reach->lo, reach->hi, &state) != RP_OK ||
            rp_spans_remove_all(&changed, &state) != RP_OK || !changed.count)
            continue;
        rp_report_diverged(scope->execution, call, scope->cursor, NULL);
        break;
    }
    rp_spans_release(&changed);
    rp_spans_release(&state);
}

struct aside {
    const struct rp_scope *scope;
    const struct rp_footprint *call;
};

static enum rp_status report_aside(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi,
                                   const struct rp_writer *found, const struct rp_writer *expected)
{
    const struct aside *aside = ctx;
    const struct rp_execution *execution = aside->scope->execution;
    (void)found;
    if (expected && aside->scope->cursor)
        rp_report_rewound(execution, execution->log[aside->scope->cursor - 1].name, aside->call, id,
                          lo, hi);
    return RP_OK;
}

/* Where a replay is served nothing is rewound, and what reads there all the same is not seen by
 * that: it finds what is no longer as the forward's calls have read it. */
static void check_beside_served(const struct rp_scope *scope, const struct rp_footprint *call)
{
    struct aside aside = {scope, call};
    if (!scope->execution->serves || call->historic || call->reads >= RP_VERDICT_REACHABLE)
        return;
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++)
        if (rp_instance_check(scope->execution->instance, rp_core.bench.versions,
                              call->reaches[i].id, call->reaches[i].lo, call->reaches[i].hi,
                              report_aside, &aside) == RP_NO_MEMORY)
            rp_report_unfollowed(call, "the host is out of memory");
}

void rp_replay_before(struct rp_scope *scope, struct rp_footprint *call)
{
    rp_replay_settle(scope, call);
    call->replay = scope;
    call->entry = rp_match_by_order(scope, call);
    call->repeats = call->entry < scope->execution->log_count;
    if (call->repeats) {
        join(scope, call);
        return;
    }
    call->historic = sees_history(scope, call);
    check_beside_served(scope, call);
    check_output(scope, call);
}

static void rewrite(struct rp_scope *scope, const struct rp_footprint *call)
{
    for (size_t i = 0; i < call->count; i++)
        if (call->reaches[i].effect == RP_WRITE &&
            rp_instance_rewrite(scope->execution->instance, call->reaches[i].id,
                                call->reaches[i].lo, call->reaches[i].hi) != RP_OK)
            scope->tainted = true;
}

/* It carries on from what it finds, where the forward has not been: a counter that only the replay
 * steps looks like this, and backward work inside the range too. */
static bool steps_aside(const struct rp_execution *execution, const struct rp_footprint *call)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *write = &call->reaches[i];
        if (write->effect != RP_WRITE || rp_instance_live(execution->instance, write->id))
            continue;
        for (size_t j = 0; j < call->count && call->reaches[j].effect == RP_READ; j++)
            if (call->reaches[j].id == write->id && call->reaches[j].lo < write->hi &&
                write->lo < call->reaches[j].hi)
                return true;
    }
    return false;
}

static void meet_stranger(struct rp_scope *scope, const struct rp_footprint *call)
{
    if (steps_aside(scope->execution, call))
        rp_remark(rp_name(call->name), "a replay makes it and its forward did not: what it steps "
                                       "is left as it makes it, for the job's own work");
    if (!scope->stranger)
        scope->stranger = call->name;
    for (size_t i = 0; call->historic && i < call->count; i++)
        if (call->reaches[i].effect == RP_WRITE &&
            rp_instance_write_extra(scope->execution->instance, call->reaches[i].id,
                                    call->reaches[i].lo, call->reaches[i].hi) != RP_OK)
            scope->tainted = true;
}

static void note_repeated(struct rp_scope *scope, size_t entry)
{
    scope->execution->log[entry].repeated = true;
    scope->repeated++;
    scope->cursor = entry + 1;
}

void rp_replay_after(struct rp_scope *scope, const struct rp_footprint *call)
{
    if (!call->repeats) {
        meet_stranger(scope, call);
        return;
    }
    note_repeated(scope, call->entry);
    rewrite(scope, call);
}

/* The same call of the one forward, which is in both their logs. */
static size_t find_echo(const struct rp_scope *scope, const struct rp_footprint *call)
{
    const struct rp_execution *execution = scope->execution;
    rp_version version = call->replay->execution->log[call->entry].version;
    for (size_t i = 0; i < execution->log_count; i++)
        if (execution->log[i].version == version && !execution->log[i].repeated)
            return i;
    return execution->log_count;
}

void rp_replay_echo(struct rp_scope *scope, const struct rp_footprint *call)
{
    size_t at = call->repeats ? find_echo(scope, call) : rp_match_by_order(scope, call);
    if (at < scope->execution->log_count)
        note_repeated(scope, at);
}

/* Nothing is known of what the forward did: on this thread it did nothing. A segment may well have
 * no work, but then its replay has none. */
static void close_empty(const struct rp_scope *scope)
{
    const struct rp_execution *execution = scope->execution;
    const struct rp_footprint call = {.name = scope->stranger};
    if (scope->stranger)
        rp_report_diverged(execution, &call, 0, NULL);
    else if (execution->others_called || !rp_segment_figures(scope->segment)->calls)
        rp_report_empty(execution);
}

void rp_replay_close(struct rp_scope *scope)
{
    const struct rp_execution *execution = scope->execution;
    struct rp_segment_figures *figures = rp_segment_figures(scope->segment);
    size_t missing = execution->log_count - scope->repeated, at = 0;
    if (execution->captured || rp_captured_left(&scope->captured)) {
        rp_report_captured(execution, execution->captured ? execution->captured
                                                          : rp_captured_left(&scope->captured));
        return;
    }
    if (!execution->log_count)
        close_empty(scope);
    rp_match_close(scope);
    if (!missing)
        return;
    while (at < execution->log_count && execution->log[at].repeated)
        at++;
    if (scope->stranger || !scope->repeated) {
        const struct rp_footprint call = {.name = scope->stranger};
        rp_report_diverged(execution, scope->stranger ? &call : NULL, at, NULL);
        return;
    }
    figures->stopped_early += scope->cursor < execution->log_count;
    if (at < scope->cursor) {
        figures->skipped++;
        rp_remark(rp_name(execution->log[at].name),
                  "a replay left it out; what the others read was right all the same");
    }
}

/* ---- behind its end --------------------------------------------------------------------- */

struct rp_left_out rp_replay_left_out(const struct rp_scope *scope)
{
    const struct rp_execution *execution = scope->execution;
    if (!scope->repeated || scope->cursor >= execution->log_count || execution->serves)
        return (struct rp_left_out){.signature = 0};
    const struct rp_logged *entry = &execution->log[scope->cursor];
    return (struct rp_left_out){entry->signature, entry->values, entry->inputs, entry->outputs,
                                scope->segment, execution->instance->id};
}

void rp_replay_beyond(struct rp_thread *thread, const struct rp_footprint *call)
{
    struct rp_left_out *left = &thread->left_out;
    if (!thread->scope_count && left->signature == call->signature &&
        left->values == call->values && left->inputs == rp_pairing_inputs(call) &&
        left->outputs == rp_pairing_outputs(call) && rp_footprint_steps(call) &&
        rp_switch_on(RP_SWITCH_DOUBTS))
        rp_report_beyond(left, call);
    left->signature = 0;
}
