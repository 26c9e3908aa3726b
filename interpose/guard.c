/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/guard.h"

#include "cuda/switches.h"
#include "interpose/core.h"
#include "interpose/report.h"

static bool is_guarding(void)
{
    return rp_core.config.mode == RP_MODE_GUARD;
}

bool rp_guard_discovers(void)
{
    return rp_core.config.contract->state == RP_STATE_DISCOVERED;
}

enum rp_status rp_guard_state(const struct rp_execution *execution, rp_alloc_id id, uint64_t lo,
                              uint64_t hi, struct rp_spans *state)
{
    rp_spans_clear(state);
    if (rp_guard_discovers()) {
        const struct rp_live *live = rp_instance_live(execution->instance, id);
        return live ? rp_spans_within(&live->live_in, lo, hi, state) : RP_OK;
    }
    const struct rp_spans *declared = rp_state_of(rp_core.state, id);
    return declared ? rp_spans_within(declared, lo, hi, state) : RP_OK;
}

/* ---- graph launches ----------------------------------------------------------- */

static enum rp_status see_writer(void *ctx, uint64_t lo, uint64_t hi,
                                 const struct rp_writer *writer)
{
    (void)lo, (void)hi;
    *(bool *)ctx |= writer->seq >= rp_core.graph_seq;
    return RP_OK;
}

/* The nodes of a graph are all tracked before the graph is launched. What an earlier node is going
 * to write can't be copied by then. */
static bool is_yet_to_come(rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    bool yet = false;
    if (rp_core.graph_seq)
        rp_versions_read(rp_core.bench.versions, id, lo, hi, see_writer, &yet);
    return yet;
}

/* ---- keeping ------------------------------------------------------------------ */

static enum rp_status keep_span(struct rp_execution *execution, rp_alloc_id id,
                                struct rp_span span, rp_stream stream, uint32_t writer)
{
    const struct rp_driver *driver = &rp_core.driver;
    if (rp_core.captures && driver->capturing(driver->self, stream))
        return RP_UNSUPPORTED; /* the copy would become a node of the graph and not run now */
    if (is_yet_to_come(id, span.lo, span.hi))
        return RP_UNSUPPORTED;
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
    if (status == RP_OK && wanted->count && rp_guard_discovers() &&
        execution->choice == RP_CHOICE_WHOLE)
        status = rp_instance_exposed(execution->instance, rp_core.bench.versions, id, 0,
                                     UINT64_MAX, wanted);
    rp_spans_release(&state);
    return status;
}

/* Bytes that were never written since their birth are a value like any other. */
static enum rp_status leave_out_absent(rp_alloc_id id, struct rp_spans *spans)
{
    struct rp_spans written = {0};
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < spans->count; i++) {
        struct rp_spans part = {0};
        status = rp_versions_dirty_since(rp_core.bench.versions, id, spans->items[i].lo,
                                         spans->items[i].hi, 0, &part);
        if (status == RP_OK)
            status = rp_spans_add_all(&written, &part);
        rp_spans_release(&part);
    }
    if (status == RP_OK)
        status = rp_spans_copy(spans, &written);
    rp_spans_release(&written);
    return status;
}

static void clobber(struct rp_execution *execution, const struct rp_footprint *call,
                    rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    struct rp_spans exposed = {0}, wanted = {0};
    enum rp_status status = rp_instance_exposed(execution->instance, rp_core.bench.versions, id,
                                                lo, hi, &exposed);
    if (status == RP_OK && exposed.count)
        status = wanted_spans(execution, id, &exposed, &wanted);
    if (status == RP_OK && !rp_switch_on(RP_SWITCH_ABSENCE))
        status = leave_out_absent(id, &wanted);
    if (status != RP_OK)
        rp_report(RP_HAZARD_NOT_PRESERVED, execution, call, id, lo, hi, NULL, NULL);
    else
        keep_spans(execution, call, id, &wanted);
    rp_spans_release(&exposed);
    rp_spans_release(&wanted);
}

/* ---- what a first run makes --------------------------------------------------------- */

/* Kept for luck, and so not without measure: a table that is filled once is small. */
#define RECALLED_BYTES (UINT64_C(64) << 20)

static enum rp_status recall_span(struct rp_execution *execution, rp_alloc_id id,
                                  struct rp_span span, rp_stream stream)
{
    enum rp_status status = RP_OK;
    if (rp_executions_recalled_bytes() + (span.hi - span.lo) > RECALLED_BYTES)
        return RP_NO_MEMORY;
    if (!execution->recalled) {
        status = rp_kept_create(&execution->recalled);
        if (status == RP_OK)
            execution->recalled->owner = execution->place;
    }
    if (status == RP_OK)
        status = rp_kept_preserve(execution->recalled, &rp_core.bench, id, span.lo, span.hi,
                                  stream);
    if (status == RP_OK)
        rp_core.figures.bytes_recalled += span.hi - span.lo;
    return status == RP_OK ? rp_instance_recall(execution->instance, id, span.lo, span.hi) : status;
}

/* The forward has written these bytes itself and read them. Its replay makes them again, as a
 * rule; but what a first run makes, its replay may find ready, and then needs it as it was. */
static void clobber_first(struct rp_execution *execution, const struct rp_footprint *call,
                          rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    struct rp_spans exposed = {0}, wanted = {0};
    enum rp_status status = rp_instance_first_exposed(
        execution->instance, rp_core.bench.versions, id, lo, hi, &exposed);
    const struct rp_spans *declared = rp_state_of(rp_core.state, id);
    for (size_t i = 0; status == RP_OK && i < exposed.count; i++) {
        struct rp_span span = exposed.items[i];
        if (rp_guard_discovers())
            status = recall_span(execution, id, span, call->stream);
        else if (declared)
            status = rp_spans_within(declared, span.lo, span.hi, &wanted);
        for (size_t j = 0; status == RP_OK && j < wanted.count; j++)
            status = recall_span(execution, id, wanted.items[j], call->stream);
    }
    if (status != RP_OK)
        rp_remark(rp_name(call->name), "overwrites what a first run has made, and it is not kept: "
                                       "a replay that does not make it again is reported");
    rp_spans_release(&exposed);
    rp_spans_release(&wanted);
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
        for (size_t j = 0; status == RP_OK && j < missed.count; j++)
            status = rp_transaction_restore(scope->transaction, execution->recalled, reach->id,
                                            missed.items[j].lo, missed.items[j].hi);
    }
    rp_spans_release(&missed);
    return status;
}

/* ---- clobbers ------------------------------------------------------------------------- */

static bool is_protected(const struct rp_execution *execution)
{
    return !execution->refused && !execution->serves && !rp_execution_is_served(execution);
}

void rp_guard_clobber(const struct rp_footprint *call, const struct rp_execution *replayed)
{
    for (size_t i = 0; is_guarding() && i < rp_executions_count(); i++) {
        struct rp_execution *execution = rp_executions_at(i);
        if (execution == replayed || !is_protected(execution))
            continue;
        for (size_t j = 0; j < call->count; j++) {
            const struct rp_reach *reach = &call->reaches[j];
            if (reach->effect != RP_WRITE)
                continue;
            clobber(execution, call, reach->id, reach->lo, reach->hi);
            if (execution->instance->remembers)
                clobber_first(execution, call, reach->id, reach->lo, reach->hi);
        }
    }
}

/* Live bytes that a transaction of another thread has stashed are not where a copy would look
 * for them. One of this thread is of a replay around this forward: what that finds, it sees. */
static enum rp_status leave_out_rewound(rp_alloc_id id, struct rp_spans *spans)
{
    struct rp_spans rewound = {0};
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < rp_transactions_count() && spans->count; i++) {
        const struct rp_scope *scope = rp_transactions_at(i);
        if (rp_segment_is_own(scope))
            continue;
        status = rp_transaction_rewound(scope->transaction, id, spans->items[0].lo,
                                        spans->items[spans->count - 1].hi, &rewound);
        if (status == RP_OK)
            status = rp_spans_remove_all(spans, &rewound);
    }
    rp_spans_release(&rewound);
    return status;
}

void rp_guard_touch(struct rp_execution *execution, const struct rp_footprint *call)
{
    if (!is_guarding() || rp_guard_discovers() || execution->choice != RP_CHOICE_WHOLE)
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

/* What a transaction has stashed and `execution` expects: copied for it, as far as the contract
 * wants it kept. */
static enum rp_status fetch(struct rp_execution *execution, struct rp_transaction *transaction,
                            rp_alloc_id id, uint64_t lo, uint64_t hi, rp_stream stream)
{
    struct rp_spans lost = {0}, wanted = {0}, handed = {0};
    enum rp_status status = rp_instance_displaced(execution->instance, rp_core.bench.versions, id,
                                                  lo, hi, &lost);
    if (status == RP_OK)
        status = wanted_spans(execution, id, &lost, &wanted);
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

/* A buffer that is kept whole holds more than the forward has read of it: of the rest, what the
 * segment itself writes is made again, or stands there, and must not be put back. */
static enum rp_status read_by_forward(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi,
                                      struct rp_spans *out)
{
    const struct rp_execution *execution = ctx;
    const struct rp_live *live = rp_instance_live(execution->instance, id);
    return live ? rp_spans_within(&live->live_in, lo, hi, out) : RP_OK;
}

static void begin(struct rp_scope *scope, const struct rp_footprint *call)
{
    struct rp_execution *execution = scope->execution;
    refuse_overlap(scope, call);
    if (execution->dropped)
        rp_report(RP_HAZARD_NOT_PRESERVED, execution, call, 0, 0, 0, NULL, NULL);
    /* The past would stand already when the graph's first nodes run, which are not the replay's. */
    bool too_late = rp_core.graph_seq && call->seq > rp_core.graph_seq;
    enum rp_status status = too_late ? RP_UNSUPPORTED : fetch_from_outer(scope, call->stream);
    if (status == RP_OK)
        status = rp_transaction_begin(&rp_core.bench, execution->kept, read_by_forward, execution,
                                      call->stream, &scope->transaction);
    if (status != RP_OK || !rp_transactions_add(scope)) {
        rp_report(RP_HAZARD_NOT_PRESERVED, execution, call, 0, 0, 0, NULL, NULL);
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
    if (!rp_guard_discovers() || !live ||
        rp_spans_within(&live->live_in, reach->lo, reach->hi, &strange) != RP_OK)
        return;
    if (rp_spans_remove_all(&strange, &live->touched) == RP_OK && strange.count)
        rp_report(RP_HAZARD_UNPROVED, scope->execution, call, reach->id, strange.items[0].lo,
                  strange.items[strange.count - 1].hi, NULL, NULL);
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
        if (is_yet_to_come(id, fresh.items[i].lo, fresh.items[i].hi))
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
        rp_guard_state(scope->execution, reach->id, reach->lo, reach->hi, state);
    for (size_t i = 0; status == RP_OK && i < state->count; i++)
        status = stash(scope, reach->id, state->items[i], call->stream);
    return status;
}

void rp_guard_replay(struct rp_scope *scope, const struct rp_footprint *call)
{
    if (!is_guarding() || scope->execution->refused)
        return;
    scope->repeating = call->name;
    if (!scope->transaction)
        begin(scope, call);
    if (!scope->transaction)
        return;
    enum rp_status status = rp_transaction_join(scope->transaction, call->stream);
    if (status == RP_OK)
        status = bring_back(scope, call);
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
            rp_report_rewound(scope->execution, scope->repeating, call, reach->id,
                              rewound->items[i].lo, rewound->items[i].hi);
        return;
    }
    /* After the restoring copy, so that the live write is the one that stays. */
    enum rp_status status = rp_transaction_join(transaction, call->stream);
    for (size_t i = 0; status == RP_OK && i < rp_executions_count(); i++)
        if (is_protected(rp_executions_at(i)) && rp_executions_at(i) != scope->execution)
            status = fetch(rp_executions_at(i), transaction, reach->id, reach->lo, reach->hi,
                           call->stream);
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
    for (size_t i = 0; i < rp_transactions_count(); i++) {
        const struct rp_scope *scope = rp_transactions_at(i);
        for (size_t j = 0; j < call->count; j++) {
            const struct rp_reach *reach = &call->reaches[j];
            outside_reach(scope, call, reach, &rewound);
            if (reach->effect == RP_WRITE)
                rp_instance_unwrite(scope->execution->instance, reach->id, reach->lo, reach->hi);
        }
    }
    rp_spans_release(&rewound);
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
    for (size_t i = 0; status == RP_OK && i < changed.count; i++)
        clobber(execution, &ending->call, id, changed.items[i].lo, changed.items[i].hi);
    if (status != RP_OK)
        clobber(execution, &ending->call, id, lo, hi);
    rp_spans_release(&same);
    rp_spans_release(&changed);
}

static void clobber_by_end(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    const struct ending *ending = ctx;
    for (size_t i = 0; i < rp_executions_count(); i++) {
        struct rp_execution *execution = rp_executions_at(i);
        if (execution != ending->scope->execution && is_protected(execution))
            clobber_by_end_of(ending, execution, id, lo, hi);
    }
}

void rp_guard_end(struct rp_scope *scope)
{
    if (!scope->transaction)
        return;
    uint64_t bytes;
    struct ending ending = {scope, {.name = rp_names_id(rp_core.names, "reinstatement"),
                                    .stream = rp_transaction_stream(scope->transaction)}};
    rp_transaction_each(scope->transaction, clobber_by_end, &ending);
    enum rp_status status = rp_transaction_end(scope->transaction, &bytes);
    scope->transaction = NULL;
    rp_core.figures.bytes_reinstated += bytes;
    RP_NOTE(reinstate, RP_U(scope->execution->instance->id), RP_U(0), RP_U(0), RP_U(bytes));
    if (status != RP_OK)
        rp_report(RP_HAZARD_STATE_LEFT, scope->execution, NULL, 0, 0, 0, NULL, NULL);
}
