/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/loss.h"

#include "cuda/switches.h"
#include "interpose/recompute/drop.h"
#include "interpose/recompute/holding.h"
#include "interpose/recompute/recall.h"
#include "interpose/recompute/recipe.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/core.h"
#include "interpose/run/report.h"

void rp_loss_let_go(struct rp_execution *execution)
{
    if (!execution->recipe || execution->recipe->closed)
        return;
    if (!execution->recipe->over)
        rp_recipe_retain(execution, "what it works on was freed before its end");
    execution->recipe->closed = true;
    rp_holdings_release(execution);
    rp_kept_clear(execution->kept);
}

static uint64_t held_bytes(const struct rp_execution *execution)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < rp_holdings_count(); i++)
        if (rp_holdings_at(i)->owner == execution)
            bytes += rp_holdings_at(i)->hi - rp_holdings_at(i)->lo;
    return bytes;
}

bool rp_loss_of_worthless(struct rp_execution *execution, uint64_t bytes)
{
    const struct rp_recipe *recipe = execution->recipe;
    if (!recipe || !recipe->over || recipe->closed || recipe->dropped || recipe->busy ||
        !rp_switch_on(RP_SWITCH_WORTH))
        return false;
    uint64_t held = held_bytes(execution), kept = rp_kept_bytes(execution->kept);
    if (kept < held && bytes < held - kept)
        return false;
    rp_loss_let_go(execution);
    return true;
}

bool rp_loss_of_old(struct rp_execution *execution)
{
    const struct rp_recipe *recipe = execution->recipe;
    if (!recipe || !recipe->over || recipe->closed || recipe->dropped || recipe->busy ||
        execution->instance->step == rp_core.step)
        return false;
    rp_loss_let_go(execution);
    return true;
}

void rp_loss_let_go_of_empty(void)
{
    for (size_t i = 0; i < rp_executions_count(); i++) {
        struct rp_execution *execution = rp_executions_at(i);
        if (execution->recipe && execution->recipe->over && !execution->recipe->held)
            rp_loss_let_go(execution);
    }
}

/* ---- what can't be made any more ----------------------------------------------------- */

static bool reads_lost(const struct rp_execution *execution)
{
    for (size_t i = 0; i < rp_holdings_count(); i++) {
        const struct rp_holding *holding = rp_holdings_at(i);
        if (holding->state == RP_HOLDING_DROPPED && holding->owner->recipe->lost &&
            holding->owner != execution && rp_holding_is_read(holding, execution))
            return true;
    }
    return false;
}

static bool lose_one_more(void)
{
    for (size_t i = 0; i < rp_executions_count(); i++) {
        struct rp_execution *execution = rp_executions_at(i);
        struct rp_recipe *recipe = execution->recipe;
        if (!recipe || recipe->closed || recipe->lost || !reads_lost(execution))
            continue;
        if (rp_recompute_needs(execution))
            recipe->lost = true;
        else
            rp_loss_let_go(execution);
        return true;
    }
    return false;
}

/* What is made from its outputs is lost with it. */
static void lose(struct rp_execution *execution)
{
    execution->recipe->lost = true;
    while (lose_one_more())
        ;
}

/* ---- before it goes -------------------------------------------------------------------- */

enum { ITS_CODE = 0 }; /* in the place of an allocation: none has this number */

/* Any stream will do, since all others wait for it: the job's own may be gone by now. So does the
 * host, unless what goes waits for streams. */
static void make_last(struct rp_execution *execution, rp_alloc_id id, bool at_once)
{
    rp_stream line;
    enum rp_status status = rp_drop_line(&line) ? rp_recall(execution, line) : RP_INVALID;
    if (status == RP_OK && at_once && !rp_drop_wait())
        status = RP_IO;
    if (status == RP_OK)
        rp_loss_let_go(execution);
    else
        lose(execution);
    const struct rp_alloc *gone = rp_memory_get(rp_core.bench.memory, id);
    if (status != RP_OK && status != RP_NO_MEMORY && status != RP_INVALID)
        rp_report(RP_HAZARD_NOT_PRESERVED, (struct rp_met){.execution = execution, .id = id,
                                                           .hi = gone ? gone->bytes : 0});
}

static bool knows(const struct rp_execution *execution, rp_alloc_id id)
{
    return execution->recipe && !execution->recipe->closed &&
           (id == ITS_CODE || rp_instance_live(execution->instance, id));
}

static bool has_dropped_elsewhere(const struct rp_execution *execution, rp_alloc_id id)
{
    for (size_t i = 0; i < rp_holdings_count(); i++) {
        const struct rp_holding *holding = rp_holdings_at(i);
        if (holding->owner == execution && holding->id != id &&
            holding->state == RP_HOLDING_DROPPED)
            return true;
    }
    return false;
}

/* Making one may drop what another holds, but no more of what has been let go of. */
static bool make_one_more(rp_alloc_id id, bool at_once)
{
    for (size_t i = 0; i < rp_executions_count(); i++) {
        struct rp_execution *execution = rp_executions_at(i);
        if (!knows(execution, id) || execution->recipe->lost ||
            !has_dropped_elsewhere(execution, id))
            continue;
        make_last(execution, id, at_once);
        return true;
    }
    return false;
}

void rp_loss_of_memory(rp_alloc_id id, bool at_once)
{
    while (make_one_more(id, at_once))
        ;
    rp_holdings_forget(id);
    for (size_t i = 0; i < rp_executions_count(); i++)
        if (knows(rp_executions_at(i), id) && !rp_recompute_needs(rp_executions_at(i)))
            rp_loss_let_go(rp_executions_at(i));
}

void rp_loss_of_code(void)
{
    rp_loss_of_memory(ITS_CODE, true);
}

static enum rp_status lose_piece(void *ctx, uint64_t address, uint64_t length, rp_alloc_id id,
                                 uint64_t offset)
{
    (void)ctx, (void)address, (void)length, (void)offset;
    rp_loss_of_memory(id, true);
    return RP_OK;
}

void rp_loss_of_range(uint64_t address, uint64_t bytes)
{
    (void)rp_memory_resolve(rp_core.bench.memory, address, bytes, lose_piece, NULL);
}

void rp_loss_noticed(rp_alloc_id id)
{
    rp_holdings_forget(id);
    for (size_t i = 0; i < rp_executions_count(); i++) {
        struct rp_execution *execution = rp_executions_at(i);
        if (!knows(execution, id) || execution->recipe->lost)
            continue;
        if (rp_recompute_needs(execution))
            lose(execution);
        else
            rp_loss_let_go(execution);
    }
}
