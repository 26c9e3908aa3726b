/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/claim.h"

#include "cuda/switches.h"
#include "interpose/recompute/drop.h"
#include "interpose/recompute/loss.h"
#include "interpose/recompute/recipe.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/core.h"

struct place {
    rp_alloc_id id;
    uint64_t lo, hi;
};

static bool reads(const struct rp_footprint *call, const struct place *place)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (reach->effect != RP_WRITE && reach->id == place->id && reach->lo < place->hi &&
            place->lo < reach->hi)
            return true;
    }
    return false;
}

static bool writes_all_of(const struct rp_footprint *call, const struct place *place)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (reach->effect == RP_WRITE && reach->certain && reach->id == place->id &&
            reach->lo <= place->lo && place->hi <= reach->hi)
            return true;
    }
    return false;
}

/* Bytes of its content that are wanted as they were: a copy would be made of them, or a recipe
 * reads them. */
static uint64_t wanted_by(const struct rp_execution *execution, const struct place *place)
{
    const struct rp_live *live = rp_instance_live(execution->instance, place->id);
    struct rp_spans read = {0};
    uint64_t bytes = 0;
    if (execution->recipe && !execution->recipe->closed && live) {
        bool told = rp_spans_within(&live->live_in, place->lo, place->hi, &read) == RP_OK &&
                    rp_spans_remove_all(&read, &live->kept) == RP_OK;
        bytes = told ? rp_spans_bytes(&read) : UINT64_MAX;
    }
    rp_spans_release(&read);
    return bytes;
}

static bool needs(struct rp_execution *execution, const struct place *place)
{
    uint64_t bytes = wanted_by(execution, place);
    return bytes && !rp_loss_of_worthless(execution, bytes);
}

bool rp_claim_overwrites(const struct rp_footprint *call, rp_alloc_id id, uint64_t lo, uint64_t hi,
                         const struct rp_execution *owner)
{
    const struct place place = {id, lo, hi};
    if (call->in_graph || !writes_all_of(call, &place) || reads(call, &place))
        return false;
    for (size_t i = 0; i < rp_executions_count(); i++)
        if (rp_executions_at(i) != owner && needs(rp_executions_at(i), &place))
            return false;
    return true;
}

bool rp_claim_may(const struct rp_footprint *call, const struct rp_holding *holding)
{
    return rp_switch_on(RP_SWITCH_CLAIM) && holding->state == RP_HOLDING_DROPPED &&
           !holding->claimed && !holding->owner->recipe->busy &&
           rp_claim_overwrites(call, holding->id, holding->lo, holding->hi, holding->owner);
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
