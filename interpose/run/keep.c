/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/keep.h"

#include "cuda/switches.h"
#include "interpose/plan/cost.h"
#include "interpose/plan/policy.h"
#include "interpose/plan/refuge.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/core.h"
#include "interpose/run/remark.h"
#include "interpose/run/report.h"
#include "interpose/run/segment.h"

bool rp_keep_discovers(void)
{
    return rp_recompute_is_on() ||
           rp_core.config.contract->state == RP_STATE_DISCOVERED;
}

enum rp_status rp_keep_state(const struct rp_execution *execution, rp_alloc_id id, uint64_t lo,
                             uint64_t hi, struct rp_spans *state)
{
    const struct rp_spans *declared = rp_recompute_is_on() ? NULL : rp_state_of(rp_core.state, id);
    const struct rp_live *live = rp_keep_discovers() ? rp_instance_live(execution->instance, id)
                                                     : NULL;
    struct rp_spans found = {0};
    rp_spans_clear(state);
    enum rp_status status = live ? rp_spans_within(&live->live_in, lo, hi, state) : RP_OK;
    if (status == RP_OK && declared)
        status = rp_spans_within(declared, lo, hi, &found);
    if (status == RP_OK)
        status = rp_spans_add_all(state, &found);
    rp_spans_release(&found);
    return status;
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
bool rp_keep_is_yet_to_come(rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    bool yet = false;
    if (rp_core.graph_seq)
        (void)rp_versions_read(rp_core.bench.versions, id, lo, hi, see_writer, &yet);
    return yet;
}

/* ---- keeping ------------------------------------------------------------------ */

/* The job orders who else writes what the call certainly meets, but not what is copied beside. */
static enum rp_status note_copied(const struct rp_workbench *bench, rp_stream stream,
                                  const struct rp_reach *reach, struct rp_span span)
{
    bool is_beside = !reach->certain || span.lo < reach->lo || span.hi > reach->hi;
    return is_beside ? rp_crossing_copied(bench->crossing, reach->id, span.lo, span.hi, stream)
                     : RP_OK;
}

void rp_keep_let_copy(struct rp_footprint *call)
{
    const struct rp_workbench *bench = &rp_core.bench;
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (reach->effect == RP_WRITE &&
            rp_crossing_after_copies(bench->crossing, reach->id, reach->lo, reach->hi,
                                     call->stream) != RP_OK)
            call->is_early = true;
    }
}

static bool can_copy_now(rp_alloc_id id, struct rp_span span, rp_stream stream)
{
    if (!rp_core_can_copy(stream))
        return false;
    return !rp_keep_is_yet_to_come(id, span.lo, span.hi);
}

static enum rp_status keep_span(struct rp_execution *execution, const struct rp_workbench *bench,
                                const struct rp_footprint *call, const struct rp_reach *reach,
                                struct rp_span span)
{
    rp_alloc_id id = reach->id;
    rp_stream stream = call->stream;
    if (!can_copy_now(id, span, stream))
        return RP_UNSUPPORTED;
    enum rp_status status =
        rp_kept_preserve(execution->kept, bench, id, span.lo, span.hi, stream);
    if (status == RP_OK)
        status = note_copied(bench, stream, reach, span);
    if (status == RP_OK)
        status = rp_instance_keep(execution->instance, id, span.lo, span.hi);
    if (status != RP_OK)
        return status;
    rp_cost_kept(execution, id, span.lo, span.hi);
    execution->last_stream = stream;
    rp_core.figures.bytes_preserved += span.hi - span.lo;
    RP_NOTE(preserve, RP_U(execution->instance->id), RP_U(id), RP_U(span.lo),
            RP_U(span.hi - span.lo), RP_U(rp_core.seq), RP_T(rp_name(call->name)), RP_U(stream));
    return RP_OK;
}

/* Where the budget leaves no room, recompute drops something else for it, and where nothing is left
 * to drop the copy goes to host memory. */
static enum rp_status keep_somewhere(struct rp_execution *execution,
                                     const struct rp_footprint *call,
                                     const struct rp_reach *reach, struct rp_span span)
{
    const struct rp_workbench *bench = &rp_core.bench;
    enum rp_status status = keep_span(execution, bench, call, reach, span);
    if (status == RP_NO_MEMORY && rp_recompute_make_room_for(2 * (span.hi - span.lo)))
        status = keep_span(execution, bench, call, reach, span);
    if (status != RP_NO_MEMORY || !(bench = rp_recompute_refuge()))
        return status;
    status = keep_span(execution, bench, call, reach, span);
    rp_core.figures.bytes_in_refuge += status == RP_OK ? span.hi - span.lo : 0;
    return status;
}

/* Without memory for whole buffers there is still the other way. */
static bool gives_way(struct rp_execution *execution, enum rp_status status)
{
    if (status == RP_NO_MEMORY)
        rp_policy_refused();
    if (status != RP_NO_MEMORY || execution->choice != RP_CHOICE_WHOLE)
        return false;
    execution->choice = RP_CHOICE_REGIONS;
    rp_remark("segment", "there was no memory for whole buffers: of such an instance just the "
                         "regions were preserved");
    return true;
}

/* False when it gave way: then only what is clobbered need be kept from now on. */
static bool keep_spans(struct rp_execution *execution, const struct rp_footprint *call,
                       const struct rp_reach *reach, const struct rp_spans *spans)
{
    for (size_t i = 0; i < spans->count; i++) {
        struct rp_span span = spans->items[i];
        enum rp_status status = keep_somewhere(execution, call, reach, span);
        if (status == RP_OK)
            continue;
        if (gives_way(execution, status))
            return false;
        if (rp_recompute_does_without(execution, call->stream))
            return true;
        rp_report_lost(execution, call, reach->id, span.lo, span.hi, status);
    }
    return true;
}

static uint64_t evict_kept(const struct rp_execution *execution)
{
    uint64_t bytes = rp_refuge_move(&execution->kept->copies, execution->place);
    if (execution->recalled)
        bytes += rp_refuge_move(&execution->recalled->copies, execution->place);
    return bytes;
}

/* The forward that is replayed last gives way first, and what is put back soonest last. */
bool rp_keep_evict(void)
{
    if (!rp_policy_is_planned() && !rp_recompute_is_on())
        return false;
    for (size_t i = 0; i < rp_executions_count(); i++)
        if (evict_kept(rp_executions_at(i)) > 0)
            return true;
    for (size_t i = 0; i < rp_transactions_count(); i++) {
        const struct rp_scope *scope = rp_transactions_at(i);
        struct rp_copies *stash = rp_transaction_stash_copies(scope->transaction);
        if (rp_refuge_move(stash, scope->execution->place) > 0)
            return true;
    }
    return false;
}

/* What of an exposed stretch the contract wants kept: state, wholly or by regions. */
enum rp_status rp_keep_wanted(const struct rp_execution *execution, rp_alloc_id id,
                              const struct rp_spans *exposed, struct rp_spans *wanted)
{
    struct rp_spans state = {0};
    enum rp_status status = RP_OK;
    rp_spans_clear(wanted);
    for (size_t i = 0; status == RP_OK && i < exposed->count; i++) {
        status = rp_keep_state(execution, id, exposed->items[i].lo, exposed->items[i].hi, &state);
        if (status == RP_OK)
            status = rp_spans_add_all(wanted, &state);
    }
    /* A whole buffer, once it is clobbered anywhere: all that the instance read of it. */
    if (status == RP_OK && wanted->count && rp_keep_discovers() &&
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

void rp_keep_bytes(struct rp_execution *execution, const struct rp_footprint *call,
                   const struct rp_reach *reach)
{
    struct rp_spans exposed = {0}, wanted = {0};
    rp_alloc_id id = reach->id;
    enum rp_status status = rp_instance_exposed(execution->instance, rp_core.bench.versions, id,
                                                reach->lo, reach->hi, &exposed);
    if (status == RP_OK && exposed.count)
        status = rp_keep_wanted(execution, id, &exposed, &wanted);
    if (status == RP_OK && !rp_switch_on(RP_SWITCH_ABSENCE))
        status = leave_out_absent(id, &wanted);
    bool kept = true;
    if (status != RP_OK)
        rp_report_lost(execution, call, id, reach->lo, reach->hi, status);
    else if (!rp_recompute_lets_go(execution, rp_spans_bytes(&wanted)))
        kept = keep_spans(execution, call, reach, &wanted);
    rp_spans_release(&exposed);
    rp_spans_release(&wanted);
    if (!kept)
        rp_keep_bytes(execution, call, reach);
}

/* ---- what a run makes for itself --------------------------------------------------------- */

bool rp_keep_recalls(const struct rp_execution *execution, rp_alloc_id id)
{
    return rp_core_keeps() && !rp_recompute_is_on() && rp_switch_on(RP_SWITCH_ABSENCE) &&
           (rp_keep_discovers() ? execution->is_first_run : rp_state_of(rp_core.state, id) != NULL);
}

/* Kept for luck, and so not without measure: a table that is filled once is small. */
#define RECALLED_BYTES (UINT64_C(64) << 20)

static enum rp_status recall_span(struct rp_execution *execution, const struct rp_reach *reach,
                                  struct rp_span span, rp_stream stream)
{
    rp_alloc_id id = reach->id;
    enum rp_status status = RP_OK;
    struct rp_workbench bench = rp_core.bench;
    if (rp_policy_plan())
        bench.refuge = NULL; /* no plan falls for it */
    if (rp_executions_recalled_bytes() + (span.hi - span.lo) > RECALLED_BYTES)
        return RP_NO_MEMORY;
    if (!can_copy_now(id, span, stream))
        return RP_UNSUPPORTED;
    if (!execution->recalled) {
        status = rp_kept_create(&execution->recalled);
        if (status == RP_OK)
            execution->recalled->owner = execution->place;
    }
    if (status == RP_OK)
        status = rp_kept_preserve(execution->recalled, &bench, id, span.lo, span.hi, stream);
    if (status == RP_OK)
        status = note_copied(&bench, stream, reach, span);
    if (status != RP_OK)
        return status;
    rp_cost_kept(execution, id, span.lo, span.hi);
    rp_core.figures.bytes_recalled += span.hi - span.lo;
    return rp_instance_recall(execution->instance, id, span.lo, span.hi);
}

/* The forward has written these bytes itself and read them. Its replay makes them again, as a
 * rule; but what a first run makes, its replay may find ready, and then needs it as it was. */
static void clobber_first(struct rp_execution *execution, const struct rp_footprint *call,
                          const struct rp_reach *reach)
{
    struct rp_spans exposed = {0}, wanted = {0};
    enum rp_status status = rp_instance_first_exposed(
        execution->instance, rp_core.bench.versions, reach->id, reach->lo, reach->hi, &exposed);
    const struct rp_spans *declared = rp_state_of(rp_core.state, reach->id);
    for (size_t i = 0; status == RP_OK && i < exposed.count; i++) {
        struct rp_span span = exposed.items[i];
        if (rp_keep_discovers())
            status = recall_span(execution, reach, span, call->stream);
        else if (declared)
            status = rp_spans_within(declared, span.lo, span.hi, &wanted);
        for (size_t j = 0; status == RP_OK && j < wanted.count; j++)
            status = recall_span(execution, reach, wanted.items[j], call->stream);
    }
    if (status != RP_OK)
        rp_remark(rp_name(call->name), "overwrites what a first run has made, and it is not kept: "
                                       "a replay that does not make it again is reported");
    rp_spans_release(&exposed);
    rp_spans_release(&wanted);
}

/* ---- clobbers ------------------------------------------------------------------------- */

bool rp_keep_protects(const struct rp_execution *execution)
{
    return !execution->refused && !execution->serves && !rp_execution_is_served(execution) &&
           rp_recompute_protects(execution);
}

void rp_keep_clobber(const struct rp_footprint *call, const struct rp_execution *replayed)
{
    for (size_t i = 0; rp_core_keeps() && i < rp_executions_count(); i++) {
        struct rp_execution *execution = rp_executions_at(i);
        if (execution == replayed || !rp_keep_protects(execution))
            continue;
        for (size_t j = 0; j < call->count; j++) {
            const struct rp_reach *reach = &call->reaches[j];
            if (reach->effect != RP_WRITE)
                continue;
            rp_keep_bytes(execution, call, reach);
            if (rp_keep_recalls(execution, reach->id))
                clobber_first(execution, call, reach);
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

void rp_keep_touch(struct rp_execution *execution, const struct rp_footprint *call)
{
    if (!rp_core_keeps() || rp_keep_discovers() || execution->choice != RP_CHOICE_WHOLE)
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
            (void)keep_spans(execution, call, reach, &whole); /* what it clobbers is kept yet */
    }
    rp_spans_release(&whole);
}
