/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/guard.h"

#include "interpose/core.h"
#include "interpose/report.h"

static bool is_guarding(void)
{
    return rp_core.config.mode == RP_MODE_GUARD;
}

static bool is_discovering(void)
{
    return rp_core.config.contract->state == RP_STATE_DISCOVERED;
}

enum rp_status rp_guard_state(const struct rp_execution *execution, rp_alloc_id id, uint64_t lo,
                              uint64_t hi, struct rp_spans *state)
{
    rp_spans_clear(state);
    if (is_discovering()) {
        const struct rp_live *live = rp_instance_live(execution->instance, id);
        return live ? rp_spans_within(&live->live_in, lo, hi, state) : RP_OK;
    }
    const struct rp_spans *declared = rp_state_of(rp_core.state, id);
    return declared ? rp_spans_within(declared, lo, hi, state) : RP_OK;
}

/* ---- keeping ------------------------------------------------------------------ */

static enum rp_status keep_span(struct rp_execution *execution, rp_alloc_id id,
                                struct rp_span span, rp_stream stream, uint32_t writer)
{
    const struct rp_driver *driver = &rp_core.driver;
    if (rp_core.captures && driver->capturing(driver->self, stream))
        return RP_UNSUPPORTED; /* the copy would become a node of the graph and not run now */
    enum rp_status status =
        rp_kept_preserve(execution->kept, &rp_core.bench, id, span.lo, span.hi, stream);
    if (status == RP_OK)
        status = rp_instance_keep(execution->instance, id, span.lo, span.hi);
    if (status != RP_OK)
        return status;
    execution->last_stream = stream;
    rp_core.figures.bytes_preserved += span.hi - span.lo;
    RP_NOTE(preserve, RP_U(execution->instance->id), RP_U(id), RP_U(span.lo),
            RP_U(span.hi - span.lo), RP_U(rp_core.seq), RP_T(rp_name(writer)), RP_U(stream));
    return RP_OK;
}

static void keep_spans(struct rp_execution *execution, const struct rp_footprint *call,
                       rp_alloc_id id, const struct rp_spans *spans)
{
    for (size_t i = 0; i < spans->count; i++) {
        struct rp_span span = spans->items[i];
        if (keep_span(execution, id, span, call->stream, call->name) == RP_OK)
            continue;
        rp_report(RP_HAZARD_NOT_PRESERVED, execution, call, id, span.lo, span.hi, NULL, NULL);
    }
}

/* Live bytes that a transaction has stashed are not where a copy would look for them. They
 * come back by themselves when it ends, so a replay's write over them clobbers nothing. */
static enum rp_status leave_out_rewound(rp_alloc_id id, struct rp_spans *spans)
{
    struct rp_spans rewound = {0};
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < rp_transactions_count() && spans->count; i++) {
        uint64_t hi = spans->items[spans->count - 1].hi;
        status = rp_transaction_rewound(rp_transactions_at(i)->transaction, id,
                                        spans->items[0].lo, hi, &rewound);
        if (status == RP_OK)
            status = rp_spans_remove_all(spans, &rewound);
    }
    rp_spans_release(&rewound);
    return status;
}

/* What of an exposed stretch the contract wants kept: state, wholly or by regions. */
static enum rp_status wanted_spans(const struct rp_execution *execution, rp_alloc_id id,
                                   const struct rp_spans *exposed, struct rp_spans *wanted)
{
    struct rp_spans state = {0};
    enum rp_status status = RP_OK;
    rp_spans_clear(wanted);
    for (size_t i = 0; status == RP_OK && i < exposed->count; i++) {
        status = rp_guard_state(execution, id, exposed->items[i].lo, exposed->items[i].hi, &state);
        if (status == RP_OK)
            status = rp_spans_add_all(wanted, &state);
    }
    /* A whole buffer, once it is clobbered anywhere: all that the instance read of it. */
    if (status == RP_OK && wanted->count && is_discovering() &&
        rp_core.config.contract->policy == RP_POLICY_WHOLE)
        status = rp_instance_exposed(execution->instance, id, 0, UINT64_MAX, wanted);
    rp_spans_release(&state);
    return status;
}

static void clobber_one(struct rp_execution *execution, const struct rp_footprint *call,
                        const struct rp_reach *reach)
{
    struct rp_spans exposed = {0}, wanted = {0};
    enum rp_status status =
        rp_instance_exposed(execution->instance, reach->id, reach->lo, reach->hi, &exposed);
    if (status == RP_OK)
        status = leave_out_rewound(reach->id, &exposed);
    if (status == RP_OK && exposed.count)
        status = wanted_spans(execution, reach->id, &exposed, &wanted);
    if (status != RP_OK)
        rp_report(RP_HAZARD_NOT_PRESERVED, execution, call, reach->id, reach->lo, reach->hi, NULL,
                  NULL);
    else
        keep_spans(execution, call, reach->id, &wanted);
    rp_spans_release(&exposed);
    rp_spans_release(&wanted);
}

void rp_guard_clobber(const struct rp_footprint *call, const struct rp_execution *replayed)
{
    for (size_t i = 0; is_guarding() && i < rp_executions_count(); i++) {
        struct rp_execution *execution = rp_executions_at(i);
        if (execution == replayed || execution->refused)
            continue;
        for (size_t j = 0; j < call->count; j++)
            if (call->reaches[j].effect == RP_WRITE)
                clobber_one(execution, call, &call->reaches[j]);
    }
}

void rp_guard_touch(struct rp_execution *execution, const struct rp_footprint *call)
{
    if (!is_guarding() || is_discovering() || rp_core.config.contract->policy != RP_POLICY_WHOLE)
        return;
    struct rp_spans whole = {0};
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        uint64_t lo, hi;
        if (!rp_state_name(rp_core.state, reach->id, reach->lo, reach->hi, &lo, &hi))
            continue;
        const struct rp_live *live = rp_instance_live(execution->instance, reach->id);
        static const struct rp_spans none;
        if (rp_spans_missing(live ? &live->kept : &none, lo, hi, &whole) == RP_OK &&
            leave_out_rewound(reach->id, &whole) == RP_OK)
            keep_spans(execution, call, reach->id, &whole);
    }
    rp_spans_release(&whole);
}

/* ---- transactions ------------------------------------------------------------- */

/* Two replays that rewind the same bytes at the same time would take each other's past for
 * live. Inside one another on one thread is fine: the inner one ends first. */
static void refuse_overlap(const struct rp_scope *scope, const struct rp_footprint *call)
{
    const struct rp_copies *copies = &scope->execution->kept->copies;
    const struct rp_thread *thread = rp_thread_self();
    struct rp_spans rewound = {0};
    for (size_t i = 0; i < rp_transactions_count(); i++) {
        const struct rp_scope *other = rp_transactions_at(i);
        bool encloses = other >= thread->scopes && other < scope;
        for (size_t j = 0; !encloses && j < copies->count; j++) {
            const struct rp_copy *copy = &copies->items[j];
            if (rp_transaction_rewound(other->transaction, copy->id, copy->lo, copy->hi,
                                       &rewound) == RP_OK && rewound.count)
                rp_report(RP_HAZARD_LIVE_READ, scope->execution, call, copy->id, copy->lo,
                          copy->hi, NULL, NULL);
        }
    }
    rp_spans_release(&rewound);
}

static void begin(struct rp_scope *scope, const struct rp_footprint *call)
{
    struct rp_execution *execution = scope->execution;
    refuse_overlap(scope, call);
    enum rp_status status = rp_transaction_begin(&rp_core.bench, execution->kept, call->stream,
                                                 &scope->transaction);
    if (status != RP_OK) {
        rp_report(RP_HAZARD_NOT_PRESERVED, execution, call, 0, 0, 0, NULL, NULL);
        return;
    }
    rp_transactions_add(scope);
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
    if (!is_discovering() || !live ||
        rp_spans_within(&live->live_in, reach->lo, reach->hi, &strange) != RP_OK)
        return;
    if (rp_spans_remove_all(&strange, &live->touched) == RP_OK && strange.count)
        rp_report(RP_HAZARD_UNPROVED, scope->execution, call, reach->id, strange.items[0].lo,
                  strange.items[strange.count - 1].hi, NULL, NULL);
    rp_spans_release(&strange);
}

static enum rp_status stash_state(struct rp_scope *scope, const struct rp_footprint *call,
                                  const struct rp_reach *reach, struct rp_spans *state)
{
    refuse_strange_output(scope, call, reach);
    enum rp_status status =
        rp_guard_state(scope->execution, reach->id, reach->lo, reach->hi, state);
    for (size_t i = 0; status == RP_OK && i < state->count; i++)
        status = rp_transaction_stash(scope->transaction, reach->id, state->items[i].lo,
                                      state->items[i].hi, call->stream);
    return status;
}

void rp_guard_replay(struct rp_scope *scope, const struct rp_footprint *call)
{
    if (!is_guarding() || scope->execution->refused)
        return;
    if (!scope->transaction)
        begin(scope, call);
    if (!scope->transaction)
        return;
    enum rp_status status = rp_transaction_join(scope->transaction, call->stream);
    struct rp_spans state = {0};
    for (size_t i = 0; status == RP_OK && i < call->count; i++)
        if (call->reaches[i].effect == RP_WRITE)
            status = stash_state(scope, call, &call->reaches[i], &state);
    rp_spans_release(&state);
    if (status != RP_OK)
        rp_report(RP_HAZARD_NOT_PRESERVED, scope->execution, call, 0, 0, 0, NULL, NULL);
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
            rp_report(RP_HAZARD_LIVE_READ, scope->execution, call, reach->id,
                      rewound->items[i].lo, rewound->items[i].hi, NULL, NULL);
        return;
    }
    /* After the restoring copy, so that the live write is the one that stays. */
    enum rp_status status = rp_transaction_join(transaction, call->stream);
    if (status == RP_OK && reach->certain)
        status = rp_transaction_live_write(transaction, reach->id, reach->lo, reach->hi);
    call->wrote_live = true;
    if (status != RP_OK || !reach->certain) /* which bytes are live now can't be told */
        rp_report(RP_HAZARD_UNPROVED, scope->execution, call, reach->id, rewound->items[0].lo,
                  rewound->items[rewound->count - 1].hi, NULL, NULL);
}

void rp_guard_outside(struct rp_footprint *call)
{
    struct rp_spans rewound = {0};
    for (size_t i = 0; i < rp_transactions_count(); i++)
        for (size_t j = 0; j < call->count; j++)
            outside_reach(rp_transactions_at(i), call, &call->reaches[j], &rewound);
    rp_spans_release(&rewound);
}

void rp_guard_end(struct rp_scope *scope)
{
    if (!scope->transaction)
        return;
    uint64_t bytes;
    enum rp_status status = rp_transaction_end(scope->transaction, &bytes);
    scope->transaction = NULL;
    rp_core.figures.bytes_reinstated += bytes;
    RP_NOTE(reinstate, RP_U(scope->execution->instance->id), RP_U(0), RP_U(0), RP_U(bytes));
    if (status != RP_OK)
        rp_report(RP_HAZARD_STATE_LEFT, scope->execution, NULL, 0, 0, 0, NULL, NULL);
}
