/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/victim.h"

#include "cuda/switches.h"
#include "interpose/recompute/advice.h"
#include "interpose/recompute/behind.h"
#include "interpose/recompute/drop.h"
#include "interpose/recompute/fence.h"
#include "interpose/recompute/granule.h"
#include "interpose/recompute/liveness.h"
#include "interpose/recompute/recall.h"
#include "interpose/recompute/recipe.h"
#include "interpose/run/core.h"

/* ---- who may go ---------------------------------------------------------------------- */

static bool is_written_by(const struct rp_recipe *recipe, const struct rp_holding *holding)
{
    for (size_t i = 0; i < recipe->reach_count; i++) {
        const struct rp_reach *reach = &recipe->reaches[i];
        if (reach->effect == RP_WRITE && reach->id == holding->id && reach->lo < holding->hi &&
            holding->lo < reach->hi)
            return true;
    }
    return false;
}

/* What a recipe that is being followed reads, or writes over: there must be memory for both. */
static bool is_wanted_by_busy(const struct rp_holding *holding)
{
    for (size_t i = 0; i < rp_executions_count(); i++) {
        const struct rp_execution *execution = rp_executions_at(i);
        if (execution->recipe && execution->recipe->busy &&
            (rp_holding_is_read(holding, execution) || is_written_by(execution->recipe, holding)))
            return true;
    }
    return false;
}

/* Of what was dropped there may be a part: where the device had less than the budget leaves. */
static bool has_memory(const struct rp_holding *holding)
{
    uint64_t missing = rp_backing_missing(holding->backed, holding->lo, holding->hi);
    return holding->state == RP_HOLDING_DROPPED
               ? missing < rp_granule_span(holding->hi - holding->lo)
               : missing == 0;
}

static uint64_t reach; /* see rp_fence_reach */

static bool may_go(const struct rp_holding *holding)
{
    const struct rp_execution *owner = holding->owner;
    if (rp_backing_is_shared() || rp_backing_stays(holding->backed) || !has_memory(holding) ||
        owner->recipe->busy || rp_holding_used(holding) >= reach ||
        rp_drop_is_under_way(holding) || is_wanted_by_busy(holding))
        return false;
    return holding->state == RP_HOLDING_DROPPED ||
           (rp_recipe_is_good(owner) && rp_holding_is_own(holding) &&
            rp_recall_is_possible(owner) && rp_behind_may_follow(owner));
}

/* ---- in which order -------------------------------------------------------------------- */

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Without its inputs others would have to be run again, or it could not go itself. */
static bool is_wanted(const struct rp_execution *execution)
{
    return rp_recipe_is_good(execution) &&
           (execution->recipe->next != UINT64_MAX || execution->recipe->dropped);
}

/* What is left of an earlier step is soon overwritten, as a rule, and would have to be made first
 * where something is made from it: such a forward goes late whose input has gone. */
static bool is_of_a_row(const struct rp_execution *execution)
{
    struct rp_execution *input;
    return execution->instance->step != rp_core.step &&
           (rp_recall_input(execution, &input) != RP_OK || input);
}

static bool is_input(const struct rp_holding *holding)
{
    if (is_of_a_row(holding->owner))
        return true;
    for (size_t i = 0; i < rp_executions_count(); i++) {
        const struct rp_execution *execution = rp_executions_at(i);
        if (execution != holding->owner && is_wanted(execution) &&
            rp_holding_is_read(holding, execution))
            return true;
    }
    return false;
}

/* Forwards that came before it have their depths already. Where a later one writes what it has
 * read, that was kept. */
static uint64_t depth_of(const struct rp_execution *execution)
{
    uint64_t depth = 1;
    for (size_t i = 0; i < rp_holdings_count(); i++) {
        const struct rp_holding *holding = rp_holdings_at(i);
        const struct rp_execution *owner = holding->owner;
        if (holding->state == RP_HOLDING_DROPPED && depth <= owner->recipe->depth &&
            owner->instance->id < execution->instance->id && rp_holding_is_read(holding, execution))
            depth = owner->recipe->depth + 1;
    }
    return depth;
}

static void measure_depths(void)
{
    for (size_t i = 0; i < rp_executions_count(); i++)
        if (rp_executions_at(i)->recipe)
            rp_executions_at(i)->recipe->depth = depth_of(rp_executions_at(i));
}

void rp_victims_rank(void)
{
    measure_depths();
    reach = rp_fence_reach();
    for (size_t i = 0; i < rp_executions_count(); i++)
        if (rp_executions_at(i)->recipe)
            rp_executions_at(i)->recipe->next = rp_executions_at(i)->recipe->missed = UINT64_MAX;
    for (size_t i = 0; i < rp_holdings_count(); i++) {
        struct rp_holding *holding = rp_holdings_at(i);
        struct rp_recipe *recipe = holding->owner->recipe;
        holding->next = rp_liveness_next(holding);
        recipe->next = sooner(recipe->next, holding->next);
    }
    for (size_t i = 0; i < rp_holdings_count(); i++) {
        struct rp_holding *holding = rp_holdings_at(i);
        struct rp_recipe *recipe = holding->owner->recipe;
        holding->is_input = is_input(holding);
        if (!holding->is_input)
            recipe->missed = sooner(recipe->missed, holding->next);
    }
}

enum tier { DROPPED, UNUSED, OUTPUT, RETAINED, INPUT };

static enum tier tier_of(const struct rp_holding *holding)
{
    if (holding->state == RP_HOLDING_DROPPED)
        return DROPPED;
    if (holding->is_input && rp_switch_on(RP_SWITCH_TOGETHER))
        return INPUT;
    if (holding->next == UINT64_MAX)
        return UNUSED;
    return rp_advice_retains(holding->owner->place) ? RETAINED : OUTPUT;
}

/* True when `a` is the better one to go. */
static bool goes_first(const struct rp_holding *a, const struct rp_holding *b)
{
    enum tier tier = tier_of(a);
    uint64_t missed_a = a->owner->recipe->missed, missed_b = b->owner->recipe->missed;
    if (tier != tier_of(b))
        return tier < tier_of(b);
    if (tier == INPUT && a->owner->recipe->depth != b->owner->recipe->depth)
        return a->owner->recipe->depth < b->owner->recipe->depth;
    if (tier != INPUT && rp_switch_on(RP_SWITCH_TOGETHER) && missed_a != missed_b)
        return missed_a > missed_b;
    if (a->next != b->next)
        return a->next > b->next;
    return a->owner->instance->id < b->owner->instance->id;
}

void rp_victim_went(const struct rp_holding *victim)
{
    measure_depths();
    for (size_t i = 0; i < rp_holdings_count(); i++) {
        struct rp_holding *holding = rp_holdings_at(i);
        holding->is_input |= (holding->owner != victim->owner &&
                              rp_holding_is_read(holding, victim->owner)) ||
                             is_of_a_row(holding->owner);
    }
}

struct rp_holding *rp_victim_best(void)
{
    struct rp_holding *best = NULL;
    for (size_t i = 0; i < rp_holdings_count(); i++) {
        struct rp_holding *holding = rp_holdings_at(i);
        if ((!best || goes_first(holding, best)) && may_go(holding))
            best = holding;
    }
    return best;
}
