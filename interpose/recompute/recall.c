/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/recall.h"

#include "cuda/driver_real.h"
#include "cuda/switches.h"
#include "cuda/transaction.h"
#include "interpose/recompute/behind.h"
#include "interpose/recompute/drop.h"
#include "interpose/recompute/exile.h"
#include "interpose/recompute/fence.h"
#include "interpose/recompute/gate.h"
#include "interpose/recompute/granule.h"
#include "interpose/recompute/holding.h"
#include "interpose/recompute/recipe.h"
#include "interpose/recompute/recompute.h"
#include "interpose/recompute/round.h"
#include "interpose/door/real.h"
#include "interpose/plan/refuge.h"
#include "interpose/run/core.h"
#include "interpose/run/report.h"
#include "interpose/run/underway.h"

enum { ATTEMPTS = 4 };

static bool is_alive(rp_alloc_id id)
{
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, id);
    return alloc && !alloc->death_seq;
}

bool rp_recall_is_possible(const struct rp_execution *execution)
{
    const struct rp_instance *instance = execution->instance;
    struct rp_spans lost = {0};
    bool possible = !execution->recipe->lost && !execution->recipe->claimed;
    for (size_t i = 0; possible && i < instance->live_count; i++) {
        rp_alloc_id id = instance->lives[i].id;
        possible = is_alive(id) &&
                   rp_instance_displaced(instance, rp_core.bench.versions, id, 0, UINT64_MAX,
                                         &lost) == RP_OK && !lost.count;
    }
    rp_spans_release(&lost);
    return possible;
}

/* ---- inputs ------------------------------------------------------------------------- */

/* What the recipe reads and nobody keeps a copy of must stand where it stood. */
static enum rp_status input_in(const struct rp_live *live, struct rp_execution **input)
{
    struct rp_spans needed = {0};
    const struct rp_holding *holding = NULL;
    enum rp_status status = rp_spans_copy(&needed, &live->live_in);
    if (status == RP_OK)
        status = rp_spans_remove_all(&needed, &live->kept);
    for (size_t i = 0; status == RP_OK && !holding && i < needed.count; i++)
        holding = rp_holding_dropped(live->id, needed.items[i].lo, needed.items[i].hi);
    rp_spans_release(&needed);
    *input = holding ? holding->owner : NULL;
    return status;
}

enum rp_status rp_recall_input(const struct rp_execution *execution, struct rp_execution **input)
{
    const struct rp_instance *instance = execution->instance;
    enum rp_status status = RP_OK;
    *input = NULL;
    for (size_t i = 0; status == RP_OK && !*input && i < instance->live_count; i++)
        if (rp_switch_on(RP_SWITCH_INPUTS))
            status = input_in(&instance->lives[i], input);
    return status;
}

static enum rp_status recall_inputs(const struct rp_execution *execution, rp_stream stream)
{
    struct rp_execution *input;
    enum rp_status status;
    while ((status = rp_recall_input(execution, &input)) == RP_OK && input) {
        status = input->recipe->busy ? RP_INVALID : rp_recall(input, stream);
        if (status != RP_OK)
            break;
    }
    return status;
}

/* ---- memory ------------------------------------------------------------------------- */

/* Wherever the recipe writes there must be memory, wanted or not. */
static enum rp_status fill_all(const struct rp_recipe *recipe)
{
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < recipe->reach_count; i++) {
        const struct rp_reach *reach = &recipe->reaches[i];
        struct rp_backed *backed = reach->effect == RP_WRITE ? rp_backing_of(reach->id) : NULL;
        if (backed)
            status = rp_drop_fill(backed, reach->lo, reach->hi);
    }
    return status;
}

/* What is kept is put back where the recipe reads it: what lies there now may be dropped. */
static enum rp_status fill_in(const struct rp_execution *execution)
{
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < execution->instance->live_count; i++) {
        const struct rp_live *live = &execution->instance->lives[i];
        struct rp_backed *backed = rp_backing_of(live->id);
        for (size_t j = 0; backed && status == RP_OK && j < live->live_in.count; j++)
            status = rp_drop_fill(backed, live->live_in.items[j].lo, live->live_in.items[j].hi);
    }
    return status;
}

/* ---- the transaction ---------------------------------------------------------------- */

struct stashing {
    const struct rp_recipe *recipe;
    struct rp_transaction *transaction;
    rp_alloc_id id;
    rp_stream stream;
};

/* Bytes that the recipe writes over, and that are not its own: they must stand again. What is
 * dropped there itself has nothing to lose. */
static enum rp_status stash_foreign(void *ctx, uint64_t lo, uint64_t hi,
                                    const struct rp_writer *writer)
{
    const struct stashing *stashing = ctx;
    enum rp_status status = RP_OK;
    if (rp_recipe_wrote(stashing->recipe, writer->version))
        return RP_OK;
    while (status == RP_OK && lo < hi) {
        const struct rp_holding *holding = rp_holding_dropped(stashing->id, lo, hi);
        uint64_t end = !holding ? hi : holding->lo > lo ? holding->lo : lo;
        if (lo < end && rp_switch_on(RP_SWITCH_REINSTATE))
            status = rp_transaction_stash(stashing->transaction, stashing->id, lo, end,
                                          stashing->stream);
        lo = holding && holding->hi < hi ? holding->hi : hi;
    }
    return status;
}

static enum rp_status stash_all(const struct rp_recipe *recipe,
                                struct rp_transaction *transaction, rp_stream stream)
{
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < recipe->reach_count; i++) {
        const struct rp_reach *reach = &recipe->reaches[i];
        struct stashing stashing = {recipe, transaction, reach->id, stream};
        if (reach->effect == RP_WRITE && is_alive(reach->id))
            status = rp_versions_read(rp_core.bench.versions, reach->id, reach->lo, reach->hi,
                                      stash_foreign, &stashing);
    }
    return status;
}

/* `*lost` tells whether anything was written before it failed, and may still stand there. */
static enum rp_status follow(struct rp_execution *execution, const struct rp_workbench *bench,
                             rp_stream stream, bool *lost)
{
    struct rp_transaction *transaction;
    uint64_t reinstated = 0;
    enum rp_status status = rp_transaction_begin(bench, execution->kept, rp_execution_read,
                                                 execution, stream, &transaction);
    if (status != RP_OK)
        return status;
    rp_core.figures.transactions++;
    rp_core.figures.bytes_restored += rp_transaction_restored_bytes(transaction);
    status = stash_all(execution->recipe, transaction, stream);
    *lost = status == RP_OK;
    rp_underway_linger(true);
    if (status == RP_OK && rp_switch_on(RP_SWITCH_RECALL))
        status = rp_recipe_follow(execution->recipe, stream);
    enum rp_status ended = rp_transaction_end(transaction, &reinstated);
    *lost |= ended != RP_OK;
    rp_core.figures.bytes_reinstated += reinstated;
    execution->last_stream = stream;
    return status == RP_OK ? ended : status;
}

/* The most that one launch writes: copies are made launch by launch. */
static uint64_t largest_write(const struct rp_recipe *recipe)
{
    uint64_t most = rp_granule_bytes();
    for (size_t i = 0; i < recipe->reach_count; i++) {
        const struct rp_reach *reach = &recipe->reaches[i];
        if (reach->effect == RP_WRITE && reach->hi - reach->lo > most)
            most = reach->hi - reach->lo;
    }
    return most;
}

static enum rp_status follow_again(struct rp_execution *execution, const struct rp_workbench *bench,
                                   rp_stream stream, bool *lost)
{
    enum rp_status status = rp_order_gather(rp_core.bench.order, stream);
    return status == RP_OK ? follow(execution, bench, stream, lost) : status;
}

/* Copies of the transaction's may find no room before anything was written: something else is
 * dropped for them, more each time, and in the end they go to host memory. */
static enum rp_status follow_with_room(struct rp_execution *execution, rp_stream stream,
                                       bool *lost)
{
    uint64_t room = largest_write(execution->recipe);
    const struct rp_workbench *refuge;
    enum rp_status status = follow(execution, &rp_core.bench, stream, lost);
    for (int i = 0; i < ATTEMPTS && status == RP_NO_MEMORY && !*lost; i++, room *= 2) {
        if (!rp_drop_make_room_for(room))
            break;
        status = follow_again(execution, &rp_core.bench, stream, lost);
    }
    if (status == RP_NO_MEMORY && !*lost && (refuge = rp_refuge()) != NULL)
        status = follow_again(execution, refuge, stream, lost);
    return status;
}

static void stand_again(const struct rp_execution *execution)
{
    for (size_t i = 0; i < rp_holdings_count(); i++)
        if (rp_holdings_at(i)->owner == execution)
            rp_holding_set(rp_holdings_at(i), RP_HOLDING_STANDS);
    rp_core.figures.recalls++;
    rp_round_recalled(execution);
}

static enum rp_status make_anew(struct rp_execution *execution, rp_stream stream)
{
    bool lost = false;
    enum rp_status status = recall_inputs(execution, stream);
    if (status == RP_OK)
        status = rp_exile_return_for(execution, stream);
    if (status == RP_OK)
        status = fill_all(execution->recipe);
    if (status == RP_OK)
        status = fill_in(execution);
    if (status == RP_OK)
        status = rp_order_gather(rp_core.bench.order, stream);
    if (status == RP_OK)
        status = follow_with_room(execution, stream, &lost);
    if (status == RP_OK)
        status = rp_order_release(rp_core.bench.order, stream);
    if (status == RP_OK) {
        stand_again(execution);
    } else if (lost) {
        /* Whatever the driver called it, and whoever has asked: bytes that others live on may be
         * overwritten. */
        status = RP_IO;
        rp_report_lost(execution, NULL, 0, 0, 0, status);
    }
    return status;
}

/* ---- gates ---------------------------------------------------------------------------------- */

/* Just what it meets: what is behind a gate may be used for long. */
static void note_use(const struct rp_execution *execution)
{
    const struct rp_instance *instance = execution->instance;
    for (size_t i = 0; i < instance->live_count; i++) {
        const struct rp_live *live = &instance->lives[i];
        const struct rp_spans *all[] = {&live->live_in, &live->touched};
        struct rp_backed *backed = rp_backing_of(live->id);
        for (size_t j = 0; backed && j < 2; j++) {
            for (size_t k = 0; k < all[j]->count; k++) {
                const struct rp_span *span = &all[j]->items[k];
                rp_holdings_use_part(live->id, span->lo, span->hi);
                rp_backing_use(backed, span->lo, span->hi, rp_core.seq);
            }
        }
    }
}

/* While a gate is shut it is made beside those, so that nobody waits for it who would open them.
 * Where it has to come after something behind them, the host waits, but not for ever. */
static enum rp_status make_in_turn(struct rp_execution *execution, rp_stream stream)
{
    struct rp_order *order = rp_core.bench.order;
    rp_stream aside, before = rp_order_lone(order);
    enum rp_status status = RP_NO_MEMORY;
    rp_order_set_lone(order, 0);
    if (rp_gates_are_shut() && rp_behind_let_follow(execution, &aside)) {
        rp_order_set_lone(order, aside);
        status = make_anew(execution, aside);
        note_use(execution);
    } else if (rp_gates_await()) {
        status = make_anew(execution, stream);
        rp_holdings_use_any(); /* its inputs, too */
    }
    rp_order_set_lone(order, before);
    return status;
}

enum rp_status rp_recall(struct rp_execution *execution, rp_stream stream)
{
    if (!rp_recall_is_possible(execution))
        return RP_INVALID;
    /* Such a call is in no stream perhaps, and nobody knows yet what it has written. What a capture
     * keeps away was away before it for want of memory. */
    if (rp_core.captures || rp_drop_meet_others(execution))
        return RP_NO_MEMORY;
    struct rp_recipe *recipe = execution->recipe;
    bool is_elsewhere = rp_driver_context_of(stream) != rp_driver_context_of(recipe->stream);
    CUcontext left;
    if (is_elsewhere && rp_real.cuCtxPushCurrent_v2(recipe->context) != CUDA_SUCCESS)
        return RP_INVALID;
    recipe->busy = true;
    /* Every stream waits for it in the end, wherever that is. */
    enum rp_status status = make_in_turn(execution, is_elsewhere ? recipe->stream : stream);
    if (is_elsewhere)
        rp_real.cuCtxPopCurrent_v2(&left);
    recipe->busy = false;
    rp_fence_set();
    return status;
}

static enum rp_status fill_all_absent(void)
{
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < rp_backings_count(); i++) {
        struct rp_backed *backed = rp_backings_at(i);
        uint64_t bytes = rp_backing_bytes(backed);
        if (rp_backing_is_absent(backed, 0, bytes))
            status = rp_drop_fill(backed, 0, bytes);
    }
    return status;
}

enum rp_status rp_recall_all(rp_stream stream)
{
    const struct rp_holding *holding;
    enum rp_status status = RP_OK;
    rp_drop_hold(true); /* or one would make way for another */
    while (status == RP_OK && (holding = rp_holding_any_dropped()))
        status = rp_recall(holding->owner, stream);
    if (status == RP_OK)
        status = rp_exile_return_all(stream);
    if (status == RP_OK)
        status = fill_all_absent();
    rp_drop_hold(false);
    return status;
}
