/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/use.h"

#include "interpose/recompute/claim.h"
#include "interpose/recompute/drop.h"
#include "interpose/recompute/exile.h"
#include "interpose/recompute/gate.h"
#include "interpose/recompute/loss.h"
#include "interpose/recompute/recall.h"
#include "interpose/recompute/recipe.h"
#include "interpose/run/execution.h"
#include "interpose/run/underway.h"

static bool meets(const struct rp_footprint *call, const struct rp_holding *holding)
{
    for (size_t i = 0; i < call->count; i++)
        if (call->reaches[i].id == holding->id && call->reaches[i].lo < holding->hi &&
            holding->lo < call->reaches[i].hi)
            return true;
    return false;
}

const struct rp_holding *rp_use_first_needed(const struct rp_footprint *call)
{
    bool any = rp_holding_any_dropped();
    for (size_t i = 0; any && i < rp_holdings_count(); i++) {
        const struct rp_holding *holding = rp_holdings_at(i);
        if (holding->state == RP_HOLDING_DROPPED && !holding->claimed && meets(call, holding) &&
            !rp_claim_may(call, holding))
            return holding;
    }
    return NULL;
}

/* ---- one after the other -------------------------------------------------------------- */

/* After that it can be moved, and is not dropped again for the next one. `depth`: how many wait. */
static enum rp_status make_apart(struct rp_execution *execution, rp_stream stream, size_t depth)
{
    struct rp_execution *input = NULL;
    enum rp_status status = depth < rp_executions_count() ? RP_OK : RP_INVALID;
    do {
        if (status == RP_OK && input)
            status = make_apart(input, stream, depth + 1);
        if (status == RP_OK)
            status = rp_recall_input(execution, &input);
    } while (status == RP_OK && input);
    if (status == RP_OK)
        status = rp_recall(execution, stream);
    if (status == RP_OK) {
        rp_recipe_retain(execution, "what it works on does not fit into the budget beside its use");
        rp_loss_let_go(execution);
    }
    return status;
}

/* A call may meet more than any before, so that nothing can be made anew beside that, nor two
 * forwards at one time. For so long what it meets may go to the host. */
static enum rp_status make_all_apart(const struct rp_footprint *call)
{
    const struct rp_holding *holding;
    enum rp_status status = RP_OK;
    rp_underway_ends(call);
    while (status == RP_OK && (holding = rp_use_first_needed(call)) != NULL)
        status = make_apart(holding->owner, call->stream, 0);
    rp_underway_begins(call);
    return status;
}

/* Memory that nobody has used yet comes with its first use, whatever that is. */
static enum rp_status fill_absent(const struct rp_footprint *call)
{
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        struct rp_backed *backed = rp_backing_of(reach->id);
        if (backed && rp_backing_is_absent(backed, reach->lo, reach->hi))
            status = rp_drop_fill(backed, reach->lo, reach->hi);
    }
    return status;
}

/* A graph's nodes are all looked at before the first of them runs. */
enum rp_status rp_use_begins(const struct rp_footprint *call)
{
    if (rp_footprint_is_unproved(call) || call->in_graph)
        return rp_recall_all(call->stream);
    const struct rp_holding *holding;
    enum rp_status status = RP_OK;
    while (status == RP_OK && (holding = rp_use_first_needed(call)) != NULL)
        status = rp_recall(holding->owner, call->stream);
    if (status == RP_NO_MEMORY && !rp_gates_are_shut())
        status = make_all_apart(call);
    if (status == RP_OK)
        status = rp_claim_before(call);
    if (status == RP_OK)
        status = rp_exile_before(call);
    return status == RP_OK ? fill_absent(call) : status;
}
