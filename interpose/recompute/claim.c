/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/claim.h"

#include "cuda/switches.h"
#include "interpose/recompute/drop.h"
#include "interpose/recompute/loss.h"
#include "interpose/recompute/recipe.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/core.h"

static bool reads(const struct rp_footprint *call, const struct rp_holding *holding)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (reach->effect != RP_WRITE && reach->id == holding->id && reach->lo < holding->hi &&
            holding->lo < reach->hi)
            return true;
    }
    return false;
}

static bool overwrites(const struct rp_reach *reach, const struct rp_holding *holding)
{
    return reach->effect == RP_WRITE && reach->certain && reach->id == holding->id &&
           reach->lo <= holding->lo && holding->hi <= reach->hi;
}

/* Its content as it was, not as it will be: a copy would be made of it, or a recipe reads it. */
static bool needs(const struct rp_execution *execution, const struct rp_holding *holding)
{
    const struct rp_live *live = rp_instance_live(execution->instance, holding->id);
    struct rp_spans read = {0};
    bool needed = execution->recipe && !execution->recipe->closed && live;
    if (needed && rp_spans_within(&live->live_in, holding->lo, holding->hi, &read) == RP_OK &&
        rp_spans_remove_all(&read, &live->kept) == RP_OK)
        needed = read.count > 0; /* else it can't be told, and counts as needed */
    rp_spans_release(&read);
    return needed;
}

static bool is_needed(const struct rp_holding *holding)
{
    for (size_t i = 0; i < rp_executions_count(); i++)
        if (rp_executions_at(i) != holding->owner && needs(rp_executions_at(i), holding))
            return true;
    return false;
}

static bool is_overwritten(const struct rp_footprint *call, const struct rp_holding *holding)
{
    for (size_t i = 0; i < call->count; i++)
        if (overwrites(&call->reaches[i], holding))
            return true;
    return false;
}

bool rp_claim_may(const struct rp_footprint *call, const struct rp_holding *holding)
{
    return rp_switch_on(RP_SWITCH_CLAIM) && !call->in_graph &&
           holding->state == RP_HOLDING_DROPPED && !holding->claimed &&
           !holding->owner->recipe->busy && is_overwritten(call, holding) &&
           !reads(call, holding) && !is_needed(holding);
}

enum rp_status rp_claim_before(const struct rp_footprint *call)
{
    enum rp_status status = RP_OK;
    bool any = rp_holding_any_dropped();
    for (size_t i = 0; any && status == RP_OK && i < rp_holdings_count(); i++) {
        struct rp_holding *holding = rp_holdings_at(i);
        if (!rp_claim_may(call, holding))
            continue;
        rp_holding_claim(holding, true);
        status = rp_drop_fill(holding->backed, holding->lo, holding->hi);
    }
    return status;
}

/* ---- afterwards ------------------------------------------------------------------------ */

static void unclaim(const struct rp_reach *reach, bool lost)
{
    for (size_t i = 0; i < rp_holdings_count(); i++) {
        struct rp_holding *holding = rp_holdings_at(i);
        if (!holding->claimed || holding->id != reach->id || reach->lo > holding->lo ||
            holding->hi > reach->hi)
            continue;
        rp_holding_claim(holding, false);
        holding->owner->recipe->lost |= lost;
    }
}

void rp_claim_after(const struct rp_footprint *call, bool went, bool sure)
{
    bool any = false;
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (reach->effect != RP_WRITE)
            continue;
        if (!went || !sure)
            unclaim(reach, went);
        if (went)
            any |= rp_holdings_overwrite(reach->id, reach->lo, reach->hi);
    }
    if (any)
        rp_loss_let_go_of_empty();
}
