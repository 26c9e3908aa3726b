/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/meet.h"

#include "cuda/switches.h"
#include "interpose/run/core.h"
#include "interpose/run/forward.h"
#include "interpose/run/keep.h"
#include "interpose/run/remark.h"
#include "interpose/run/report.h"
#include "interpose/run/undecided.h"

#define RP_CALLS_LEFT_OUT                                                                         \
    "the replay has left calls of its forward out, or made them in another order, and this one "  \
    "reads what they change: let it make them as its forward did, or mark as a segment those "    \
    "alone that are replayed"

struct meeting {
    struct rp_scope *scope;
    const struct rp_footprint *call;
    const struct rp_reach *reach;
    uint64_t sight; /* what the call finds */
    bool same;      /* it is what its twin found */
    bool met;       /* something that the forward did not read */
};

/* What was never written since its birth is undefined; its twin has met as much of that. */
static bool is_undefined_alike(const struct meeting *meeting)
{
    const struct rp_logged *twin = &meeting->scope->execution->log[meeting->call->entry];
    return !meeting->reach->certain ||
           rp_footprint_bytes_absent(meeting->call) <= twin->bytes_absent;
}

static enum rp_status mismatch(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi,
                               const struct rp_writer *found, const struct rp_writer *expected)
{
    struct meeting *meeting = ctx;
    meeting->met = true;
    if (!expected && !found->version && is_undefined_alike(meeting))
        return RP_OK;
    /* What only speculation says was read or written is no hazard unless it was declared. */
    if ((meeting->reach->verdict >= RP_VERDICT_REACHABLE || found->speculative) &&
        !rp_keep_discovers() && !rp_state_name(rp_core.state, id, lo, hi, NULL, NULL)) {
        rp_remark(rp_name(meeting->call->name), RP_UNVOUCHED_READ);
        return RP_OK;
    }
    meeting->scope->tainted = true;
    rp_report(expected ? RP_HAZARD_STALE_READ : RP_HAZARD_FOREIGN_READ,
              (struct rp_met){.execution = meeting->scope->execution, .call = meeting->call,
                              .id = id, .lo = lo, .hi = hi, .found = found, .wanted = expected});
    return RP_OK;
}

/* Another value, by a call of the same kind: not what the forward found ready, made once more. */
static bool is_other_value(const struct rp_writer *found, const struct rp_writer *expected)
{
    return found->name == expected->name && !found->copied && found->value && expected->value &&
           found->place == expected->place;
}

/* A further call of the replay has put it where the forward has read. */
static enum rp_status doubt_put(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi,
                                const struct rp_writer *found, const struct rp_writer *expected)
{
    struct meeting *meeting = ctx;
    if (is_other_value(found, expected))
        return mismatch(ctx, id, lo, hi, found, expected);
    rp_report_put(meeting->scope->execution, meeting->call, id, lo, hi, found);
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
    rp_report(RP_HAZARD_STATE_LEFT, (struct rp_met){.execution = leaving->scope->execution,
                                                    .call = call, .id = leaving->id, .lo = lo,
                                                    .hi = hi, .found = &replay, .wanted = live});
    return RP_OK;
}

static void check_state_left(const struct rp_scope *scope, const struct rp_footprint *call,
                             const struct rp_reach *reach)
{
    struct leaving leaving = {scope, call, reach->id};
    struct rp_spans state = {0};
    if (rp_core.config.mode == RP_MODE_CHECK &&
        rp_keep_state(scope->execution, reach->id, reach->lo, reach->hi, &state) == RP_OK)
        for (size_t i = 0; i < state.count; i++)
            (void)rp_versions_read(rp_core.bench.versions, reach->id, state.items[i].lo,
                                   state.items[i].hi, report_left, &leaving);
    rp_spans_release(&state);
}

/* What could not be looked through may hold anything. */
static void check(const struct meeting *meeting, enum rp_status status)
{
    if (status != RP_NO_MEMORY)
        return;
    meeting->scope->tainted = true;
    rp_report_unfollowed(meeting->call, "the host is out of memory");
}

static void check_reach(struct meeting *meeting, const struct rp_reach *reach)
{
    const struct rp_instance *instance = meeting->scope->execution->instance;
    const struct rp_versions *now = rp_core.bench.versions;
    struct rp_spans spans = {0};
    meeting->reach = reach;
    if (reach->effect == RP_READ && !meeting->same)
        check(meeting, rp_instance_check(instance, now, reach->id, reach->lo, reach->hi, mismatch,
                                         meeting));
    if (reach->effect == RP_READ && !meeting->same && rp_switch_on(RP_SWITCH_DOUBTS))
        check(meeting, rp_instance_check_extra(instance, now, reach->id, reach->lo, reach->hi,
                                               doubt_put, meeting));
    if (reach->effect == RP_WRITE)
        check(meeting, rp_forward_may_stay(reach, &spans));
    for (size_t i = 0; i < spans.count; i++)
        check(meeting, rp_instance_check(instance, now, reach->id, spans.items[i].lo,
                                         spans.items[i].hi, mismatch, meeting));
    rp_spans_release(&spans);
}

void rp_meet_other(struct rp_scope *scope, const struct rp_footprint *call, const char *why)
{
    scope->tainted = true;
    rp_report_diverged(scope->execution, call, call->entry, why);
}

/* Bytes of a further call of the replay stand for what the forward found ready. */
static bool reads_extra(const struct rp_execution *execution, const struct rp_footprint *call)
{
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        const struct rp_live *live = rp_instance_live(execution->instance, reach->id);
        if (live && rp_spans_overlaps(&live->extra, reach->lo, reach->hi))
            return true;
    }
    return false;
}

/* ... and where the forward has found nothing, there is nothing to compare them with. */
static void remark_made_ready(const struct rp_execution *execution, const struct rp_footprint *call)
{
    struct rp_spans made = {0};
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        const struct rp_live *live = rp_instance_live(execution->instance, reach->id);
        if (live && rp_spans_within(&live->extra, reach->lo, reach->hi, &made) == RP_OK &&
            rp_spans_remove_all(&made, &live->live_in) == RP_OK && made.count)
            rp_remark(rp_name(call->name), RP_MADE_READY);
    }
    rp_spans_release(&made);
}

/* Whatever it reads the forward has read too, but not in this place: inputs that changed places. */
static bool reads_elsewhere(const struct meeting *meeting)
{
    const struct rp_footprint *call = meeting->call;
    const struct rp_execution *execution = meeting->scope->execution;
    const struct rp_logged *entry = &execution->log[call->entry];
    return rp_switch_on(RP_SWITCH_DOUBTS) && !meeting->same && !meeting->met && meeting->sight &&
           entry->sight && call->reads <= RP_VERDICT_BOUNDED &&
           rp_footprint_bytes_read(call) == entry->bytes_read && !reads_extra(execution, call);
}

/* What others have written while the forward ran, over what it had met: with two contents in one
 * place, the forward's calls after that have read what no replay finds. */
struct beside {
    rp_alloc_id id;
    struct rp_span bytes; /* empty: there is none */
    struct rp_writer writer;
};

static enum rp_status take_beside(void *ctx, uint64_t lo, uint64_t hi,
                                  const struct rp_writer *writer)
{
    struct beside *beside = ctx;
    if (!writer->version)
        return RP_OK;
    beside->bytes = (struct rp_span){lo, hi};
    beside->writer = *writer;
    return RP_END;
}

static struct beside find_beside(const struct rp_execution *execution,
                                 const struct rp_footprint *call)
{
    struct beside beside = {.id = 0};
    for (size_t i = 0; execution->beside && i < call->count && !beside.bytes.hi; i++) {
        beside.id = call->reaches[i].id;
        if (call->reaches[i].effect == RP_READ)
            (void)rp_versions_read(execution->beside, beside.id, call->reaches[i].lo,
                                   call->reaches[i].hi, take_beside, &beside);
    }
    return beside;
}

/* It finds other than its twin what the replay, or the layer itself, has put there. */
static void tell_difference(struct rp_scope *scope, const struct rp_footprint *call,
                            const struct beside *beside)
{
    if (beside->bytes.hi) {
        scope->tainted = true;
        rp_report_beside(scope->execution, call, beside->id, beside->bytes.lo, beside->bytes.hi,
                         &beside->writer);
        return;
    }
    rp_meet_other(scope, call, scope->skips ? RP_CALLS_LEFT_OUT : NULL);
}

void rp_meet(struct rp_scope *scope, const struct rp_footprint *call)
{
    uint64_t sight = rp_footprint_sight(call);
    struct meeting meeting = {
        .scope = scope, .call = call, .sight = sight,
        .same = rp_footprint_sees(call, scope->execution->log[call->entry].sight,
                                  scope->execution->instance->expected)};
    for (size_t i = 0; i < call->count; i++) {
        check_reach(&meeting, &call->reaches[i]);
        if (call->reaches[i].effect == RP_WRITE)
            check_state_left(scope, call, &call->reaches[i]);
    }
    rp_undecided_remake(scope->execution, call);
    if (scope->tainted || meeting.same)
        return;
    remark_made_ready(scope->execution, call);
    const struct beside beside = find_beside(scope->execution, call);
    /* What the replay has made itself is no proof where something was left out. */
    if (scope->skips || reads_elsewhere(&meeting) || (beside.bytes.hi && !sight))
        tell_difference(scope, call, &beside);
}
