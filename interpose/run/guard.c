/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/guard.h"

#include "cuda/switches.h"
#include "interpose/plan/cost.h"
#include "interpose/run/brought.h"
#include "interpose/run/core.h"
#include "interpose/run/keep.h"
#include "interpose/run/race.h"
#include "interpose/run/report.h"
#include "interpose/run/undecided.h"

/* All nodes of a graph are looked at before the first one runs: what is put back for a later node
 * would stand there when the earlier ones run, and go under what they write. */
static bool is_too_late(const struct rp_footprint *call)
{
    return rp_core.graph_seq && call->seq > rp_core.graph_seq;
}

/* A replay's call reads what its forward made, and the replay has left out. */
static enum rp_status bring_back(const struct rp_scope *scope, const struct rp_footprint *call)
{
    struct rp_execution *execution = scope->execution;
    struct rp_spans missed = {0};
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && execution->recalled && i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (reach->effect != RP_READ)
            continue;
        status = rp_instance_first_missed(execution->instance, rp_core.bench.versions, reach->id,
                                          reach->lo, reach->hi, &missed);
        if (status == RP_OK && missed.count && is_too_late(call))
            status = RP_UNSUPPORTED;
        for (size_t j = 0; status == RP_OK && j < missed.count; j++)
            status = rp_transaction_restore(scope->transaction, execution->recalled, reach->id,
                                            missed.items[j].lo, missed.items[j].hi);
    }
    rp_spans_release(&missed);
    return status;
}

/* What calls of the job's own in the replay's range have put where the forward's calls have read:
 * these read on as they did, and behind the replay it stands again. */
static enum rp_status put_back(const struct rp_scope *scope, const struct rp_footprint *call,
                               const struct rp_reach *reach, struct rp_spans *overlaid)
{
    struct rp_execution *execution = scope->execution;
    rp_stream stream = rp_transaction_stream(scope->transaction);
    enum rp_status status = rp_instance_overlaid(execution->instance, rp_core.bench.versions,
                                                 reach->id, reach->lo, reach->hi, overlaid);
    if (status == RP_OK && overlaid->count && is_too_late(call))
        status = RP_UNSUPPORTED;
    if (status == RP_OK && overlaid->count && rp_switch_on(RP_SWITCH_ORDER))
        status = rp_order_gather(rp_core.bench.order, stream);
    for (size_t i = 0; status == RP_OK && i < overlaid->count; i++) {
        struct rp_span span = overlaid->items[i];
        status = rp_transaction_restore(scope->transaction, execution->kept, reach->id, span.lo,
                                        span.hi);
        if (status == RP_OK)
            status = rp_instance_unwrite(execution->instance, reach->id, span.lo, span.hi);
    }
    return status;
}

static enum rp_status put_back_all(const struct rp_scope *scope, const struct rp_footprint *call)
{
    struct rp_spans overlaid = {0};
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < call->count; i++)
        if (call->reaches[i].effect == RP_READ || !call->reaches[i].certain)
            status = put_back(scope, call, &call->reaches[i], &overlaid);
    rp_spans_release(&overlaid);
    return status;
}

/* ---- transactions ------------------------------------------------------------- */

/* What a transaction has stashed and `execution` expects: copied for it, as far as the contract
 * wants it kept. */
static enum rp_status fetch(struct rp_execution *execution, struct rp_transaction *transaction,
                            rp_alloc_id id, uint64_t lo, uint64_t hi, rp_stream stream)
{
    struct rp_spans lost = {0}, wanted = {0}, handed = {0};
    enum rp_status status = rp_instance_displaced(execution->instance, rp_core.bench.versions, id,
                                                  lo, hi, &lost);
    if (status == RP_OK)
        status = rp_keep_wanted(execution, id, &lost, &wanted);
    for (size_t i = 0; status == RP_OK && i < wanted.count; i++) {
        status = rp_transaction_hand_on(transaction, execution->kept,
                                        execution->instance->expected, id, wanted.items[i].lo,
                                        wanted.items[i].hi, stream, &handed);
        for (size_t j = 0; status == RP_OK && j < handed.count; j++) {
            status = rp_instance_keep(execution->instance, id, handed.items[j].lo,
                                      handed.items[j].hi);
            rp_core.figures.bytes_preserved += handed.items[j].hi - handed.items[j].lo;
        }
    }
    rp_spans_release(&lost);
    rp_spans_release(&wanted);
    rp_spans_release(&handed);
    return status;
}

/* A replay inside another: what the outer one has stashed is what this one's forward saw, or
 * what will stand again when the outer one ends. */
static enum rp_status fetch_from_outer(const struct rp_scope *scope, rp_stream stream)
{
    struct rp_execution *execution = scope->execution;
    enum rp_status status = RP_OK;
    for (size_t i = 0; i < rp_transactions_count(); i++) {
        const struct rp_scope *outer = rp_transactions_at(i);
        if (!rp_segment_is_own(outer))
            continue;
        for (size_t j = 0; status == RP_OK && j < execution->instance->live_count; j++)
            status = fetch(execution, outer->transaction, execution->instance->lives[j].id, 0,
                           UINT64_MAX, stream);
    }
    return status;
}

/* Two replays that rewind the same bytes at the same time would take each other's past for
 * live. Inside one another on one thread is fine: the inner one ends first. */
static void refuse_overlap(const struct rp_scope *scope, const struct rp_footprint *call)
{
    const struct rp_copies *copies = &scope->execution->kept->copies;
    struct rp_spans rewound = {0};
    for (size_t i = 0; i < rp_transactions_count(); i++) {
        const struct rp_scope *other = rp_transactions_at(i);
        for (size_t j = 0; !rp_segment_is_own(other) && j < copies->count; j++) {
            const struct rp_copy *copy = &copies->items[j];
            if (rp_transaction_rewound(other->transaction, copy->id, copy->lo, copy->hi,
                                       &rewound) == RP_OK && rewound.count)
                rp_report_rewound(other->execution, other->repeating, call, copy->id, copy->lo,
                                  copy->hi);
        }
    }
    rp_spans_release(&rewound);
}

static void begin(struct rp_scope *scope, const struct rp_footprint *call)
{
    struct rp_execution *execution = scope->execution;
    refuse_overlap(scope, call);
    if (execution->dropped)
        rp_report_lost(execution, call, 0, 0, 0, RP_NO_MEMORY);
    if (execution->bereft)
        rp_report_bereft(RP_HAZARD_NOT_PRESERVED, execution, call);
    rp_brought_remark(execution);
    enum rp_status status = is_too_late(call) ? RP_UNSUPPORTED
                                              : fetch_from_outer(scope, call->stream);
    if (status == RP_OK)
        status = rp_transaction_begin(&rp_core.bench, execution->kept, rp_execution_read, execution,
                                      call->stream, &scope->transaction);
    if (status != RP_OK || !rp_transactions_add(scope)) {
        rp_report_lost(execution, call, 0, 0, 0, status);
        return;
    }
    execution->last_stream = call->stream;
    rp_core.figures.transactions++;
    rp_core.figures.bytes_restored += rp_transaction_restored_bytes(scope->transaction);
    const struct rp_copies *copies = &execution->kept->copies;
    for (size_t i = 0; rp_core.trace && i < copies->count; i++)
        RP_NOTE(restore, RP_U(execution->instance->id), RP_U(copies->items[i].id),
                RP_U(copies->items[i].lo), RP_U(copies->items[i].hi - copies->items[i].lo),
                RP_U(0));
}

/* Discovery takes for state what the forward read. A replay that writes such bytes where its
 * forward wrote none has its output there, and reinstating would destroy it. */
static void refuse_strange_output(const struct rp_scope *scope, const struct rp_footprint *call,
                                  const struct rp_reach *reach)
{
    const struct rp_live *live = rp_instance_live(scope->execution->instance, reach->id);
    struct rp_spans strange = {0};
    if (!rp_keep_discovers() || !live ||
        rp_spans_within(&live->live_in, reach->lo, reach->hi, &strange) != RP_OK)
        return;
    if (rp_spans_remove_all(&strange, &live->touched) == RP_OK && strange.count)
        rp_report(RP_HAZARD_UNPROVED, (struct rp_met){.execution = scope->execution, .call = call,
                                                      .id = reach->id, .lo = strange.items[0].lo,
                                                      .hi = strange.items[strange.count - 1].hi});
    rp_spans_release(&strange);
}

/* What is stashed already, the graph may well write before. */
static enum rp_status stash(struct rp_scope *scope, rp_alloc_id id, struct rp_span span,
                            rp_stream stream)
{
    struct rp_spans rewound = {0}, fresh = {0};
    enum rp_status status =
        rp_transaction_rewound(scope->transaction, id, span.lo, span.hi, &rewound);
    if (status == RP_OK)
        status = rp_spans_missing(&rewound, span.lo, span.hi, &fresh);
    for (size_t i = 0; status == RP_OK && i < fresh.count; i++)
        if (rp_keep_is_yet_to_come(id, fresh.items[i].lo, fresh.items[i].hi))
            status = RP_UNSUPPORTED;
    rp_spans_release(&rewound);
    rp_spans_release(&fresh);
    return status == RP_OK ? rp_transaction_stash(scope->transaction, id, span.lo, span.hi, stream)
                           : status;
}

static enum rp_status stash_state(struct rp_scope *scope, const struct rp_footprint *call,
                                  const struct rp_reach *reach, struct rp_spans *state)
{
    refuse_strange_output(scope, call, reach);
    enum rp_status status =
        rp_keep_state(scope->execution, reach->id, reach->lo, reach->hi, state);
    for (size_t i = 0; status == RP_OK && i < state->count; i++)
        status = stash(scope, reach->id, state->items[i], call->stream);
    return status;
}

void rp_guard_replay(struct rp_scope *scope, const struct rp_footprint *call)
{
    if (!rp_core_guards() || scope->execution->refused)
        return;
    scope->repeating = call->name;
    if (!scope->transaction)
        begin(scope, call);
    if (!scope->transaction)
        return;
    enum rp_status status = rp_transaction_join(scope->transaction, call->stream);
    if (status == RP_OK)
        status = rp_race_begin(scope->execution, call);
    if (status == RP_OK)
        status = bring_back(scope, call);
    if (status == RP_OK)
        status = put_back_all(scope, call);
    struct rp_spans state = {0};
    for (size_t i = 0; status == RP_OK && i < call->count; i++)
        if (call->reaches[i].effect == RP_WRITE)
            status = stash_state(scope, call, &call->reaches[i], &state);
    rp_spans_release(&state);
    if (status != RP_OK)
        rp_report_lost(scope->execution, call, 0, 0, 0, status);
}

static void outside_reach(const struct rp_scope *scope, struct rp_footprint *call,
                          const struct rp_reach *reach, struct rp_spans *rewound)
{
    struct rp_transaction *transaction = scope->transaction;
    if (rp_transaction_rewound(transaction, reach->id, reach->lo, reach->hi, rewound) != RP_OK ||
        !rewound->count)
        return;
    if (reach->effect == RP_READ) {
        for (size_t i = 0; i < rewound->count; i++)
            rp_report_rewound(scope->execution, scope->repeating, call, reach->id,
                              rewound->items[i].lo, rewound->items[i].hi);
        return;
    }
    /* After the restoring copy, so that the live write is the one that stays. */
    enum rp_status status = rp_transaction_outside(transaction, call->stream);
    for (size_t i = 0; status == RP_OK && i < rp_executions_count(); i++)
        if (rp_keep_protects(rp_executions_at(i)) && rp_executions_at(i) != scope->execution)
            status = fetch(rp_executions_at(i), transaction, reach->id, reach->lo, reach->hi,
                           call->stream);
    if (status == RP_OK && reach->certain)
        status = rp_transaction_live_write(transaction, reach->id, reach->lo, reach->hi);
    call->wrote_live = true;
    if (status != RP_OK || !reach->certain) /* which bytes are live now can't be told */
        rp_report(RP_HAZARD_UNPROVED, (struct rp_met){.execution = scope->execution, .call = call,
                                                      .id = reach->id, .lo = rewound->items[0].lo,
                                                      .hi = rewound->items[rewound->count - 1].hi});
}

static void meet(const struct rp_scope *scope, struct rp_footprint *call)
{
    struct rp_spans rewound = {0};
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        outside_reach(scope, call, reach, &rewound);
        if (reach->effect == RP_WRITE &&
            rp_instance_unwrite(scope->execution->instance, reach->id, reach->lo, reach->hi) !=
                RP_OK)
            rp_report_unfollowed(call, "the host is out of memory");
    }
    rp_spans_release(&rewound);
}

/* What it writes, it writes after the restoring copy, and after what the replay reads there. */
static void join(const struct rp_scope *scope, struct rp_footprint *call)
{
    struct rp_spans rewound = {0};
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        enum rp_status status = RP_OK;
        if (reach->effect == RP_WRITE)
            status = rp_transaction_rewound(scope->transaction, reach->id, reach->lo, reach->hi,
                                            &rewound);
        if (status == RP_OK && reach->effect == RP_WRITE && rewound.count)
            status = rp_transaction_outside(scope->transaction, call->stream);
        call->is_early = call->is_early || status != RP_OK;
    }
    rp_spans_release(&rewound);
}

/* Nobody else ends a replay of this thread's: what the driver may yet reject can wait. All nodes of
 * a graph are looked at before the first one runs. */
static bool can_wait(const struct rp_scope *scope, const struct rp_footprint *call)
{
    return rp_segment_is_own(scope) && !call->in_graph && rp_switch_on(RP_SWITCH_REJECTION);
}

void rp_guard_outside(struct rp_footprint *call)
{
    for (size_t i = 0; i < rp_transactions_count(); i++) {
        const struct rp_scope *scope = rp_transactions_at(i);
        if (can_wait(scope, call))
            join(scope, call);
        else
            meet(scope, call);
    }
}

void rp_guard_outside_ran(struct rp_footprint *call)
{
    for (size_t i = 0; i < rp_transactions_count(); i++)
        if (can_wait(rp_transactions_at(i), call))
            meet(rp_transactions_at(i), call);
}

void rp_guard_stream_ends(rp_stream stream, rp_stream heir)
{
    for (size_t i = 0; i < rp_transactions_count(); i++) {
        const struct rp_scope *scope = rp_transactions_at(i);
        enum rp_status status = rp_transaction_leave(scope->transaction, stream, heir);
        if (status != RP_OK)
            rp_report_lost(scope->execution, NULL, 0, 0, 0, status);
    }
}

struct ending {
    const struct rp_scope *scope;
    struct rp_footprint call; /* the reinstatement, as one that writes */
};

/* A forward inside the replay has seen history, which the live bytes are about to replace; but
 * where these are of the same version, nothing changes. */
static void clobber_by_end_of(const struct ending *ending, struct rp_execution *execution,
                              rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    struct rp_spans same = {0}, changed = {0};
    enum rp_status status = rp_transaction_holds(ending->scope->transaction,
                                                 execution->instance->expected, id, lo, hi, &same);
    if (status == RP_OK)
        status = rp_spans_missing(&same, lo, hi, &changed);
    struct rp_reach reach = {.id = id, .lo = lo, .hi = hi, .effect = RP_WRITE, .certain = true};
    if (status != RP_OK)
        rp_keep_bytes(execution, &ending->call, &reach);
    for (size_t i = 0; status == RP_OK && i < changed.count; i++) {
        reach.lo = changed.items[i].lo;
        reach.hi = changed.items[i].hi;
        rp_keep_bytes(execution, &ending->call, &reach);
    }
    rp_spans_release(&same);
    rp_spans_release(&changed);
}

static void clobber_by_end(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    const struct ending *ending = ctx;
    const struct rp_scope *scope = ending->scope;
    rp_undecided_reinstate(scope->execution, scope->repeating,
                           rp_transaction_live(scope->transaction), id, lo, hi);
    for (size_t i = 0; i < rp_executions_count(); i++) {
        struct rp_execution *execution = rp_executions_at(i);
        if (execution != ending->scope->execution && rp_keep_protects(execution))
            clobber_by_end_of(ending, execution, id, lo, hi);
    }
}

static void note_stashed(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    rp_cost_stashed(ctx, id, lo, hi);
}

static void end(struct rp_scope *scope)
{
    uint64_t bytes;
    struct ending ending = {scope, {.name = rp_names_id(rp_core.names, "reinstatement"),
                                    .stream = rp_transaction_stream(scope->transaction)}};
    rp_transaction_each(scope->transaction, clobber_by_end, &ending);
    if (rp_cost_by_part())
        rp_transaction_each(scope->transaction, note_stashed, scope->execution);
    enum rp_status status = rp_transaction_end(scope->transaction, &bytes);
    scope->transaction = NULL;
    rp_core.figures.bytes_reinstated += bytes;
    RP_NOTE(reinstate, RP_U(scope->execution->instance->id), RP_U(0), RP_U(0), RP_U(bytes));
    if (status != RP_OK)
        rp_report(RP_HAZARD_STATE_LEFT, (struct rp_met){.execution = scope->execution});
}

void rp_guard_abandon(void)
{
    while (rp_transactions_count()) {
        struct rp_scope *scope = rp_transactions_at(0);
        bool is_left = rp_transaction_abandon(scope->transaction);
        scope->transaction = NULL;
        rp_transactions_remove(scope);
        if (is_left)
            rp_report_bereft(RP_HAZARD_STATE_LEFT, scope->execution, NULL);
    }
}

void rp_guard_end(struct rp_scope *scope)
{
    if (scope->transaction)
        end(scope);
    rp_race_over();
}
