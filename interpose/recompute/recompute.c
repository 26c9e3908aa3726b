/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/recompute.h"

#include "cuda/driver_real.h"
#include "cuda/switches.h"
#include "interpose/calls/handlers.h"
#include "interpose/plan/refuge.h"
#include "interpose/plan/cost.h"
#include "interpose/recompute/advice.h"
#include "interpose/recompute/behind.h"
#include "interpose/recompute/claim.h"
#include "interpose/recompute/drop.h"
#include "interpose/recompute/exile.h"
#include "interpose/recompute/fence.h"
#include "interpose/recompute/gate.h"
#include "interpose/recompute/holding.h"
#include "interpose/recompute/liveness.h"
#include "interpose/recompute/loss.h"
#include "interpose/recompute/need.h"
#include "interpose/recompute/pool.h"
#include "interpose/recompute/recall.h"
#include "interpose/recompute/recipe.h"
#include "interpose/recompute/round.h"
#include "interpose/run/budget.h"
#include "interpose/run/report.h"
#include "interpose/run/segment.h"

/* ---- segments ---------------------------------------------------------------------- */

void rp_recompute_step_begins(void)
{
    if (!rp_recompute_is_on())
        return;
    rp_pools_settle();
    rp_liveness_step_begins();
    rp_advice_step_begins();
    rp_round_begins();
}

void rp_recompute_forward(struct rp_execution *execution, const struct rp_footprint *call)
{
    if (rp_recompute_is_on())
        rp_recipe_expect(execution, call);
}

/* The next forward that this thread is in, from scope *at on, or NULL. */
static struct rp_execution *next_forward(unsigned *at)
{
    const struct rp_thread *thread = rp_thread_self();
    while (rp_recompute_is_on() && *at < thread->scope_count) {
        const struct rp_scope *scope = &thread->scopes[(*at)++];
        if (scope->kind == RP_SCOPE_FORWARD && scope->execution)
            return scope->execution;
    }
    return NULL;
}

void rp_recompute_launch(const struct rp_launched *launch, uint64_t function, bool is_plain,
                         const struct rp_footprint *call)
{
    struct rp_execution *forward;
    for (unsigned at = 0; (forward = next_forward(&at)) != NULL;)
        rp_recipe_add(forward, launch, (CUfunction)(uintptr_t)function, is_plain, call);
}

void rp_recompute_copy(uint64_t to, uint64_t from, uint64_t bytes,
                       const struct rp_footprint *call)
{
    struct rp_execution *forward;
    const struct rp_recopy copy = {to, from, bytes};
    for (unsigned at = 0; (forward = next_forward(&at)) != NULL;)
        rp_recipe_add_copy(forward, &copy, call);
}

void rp_recompute_set(uint64_t to, uint64_t count, unsigned width, unsigned value,
                      const struct rp_footprint *call)
{
    struct rp_execution *forward;
    const struct rp_reset set = {to, count, width, value};
    for (unsigned at = 0; (forward = next_forward(&at)) != NULL;)
        rp_recipe_add_set(forward, &set, call);
}

/* To follow a recipe takes memory for all that it meets, beside what a call takes that wants it. */
static bool fits(const struct rp_execution *execution)
{
    uint64_t meant = rp_recipe_bytes(execution), budget = rp_core.config.budget;
    return budget == UINT64_MAX || (meant <= budget && rp_need_of_calls() <= budget - meant);
}

static void stay(struct rp_execution *execution, const char *reason)
{
    rp_recipe_retain(execution, reason);
    rp_holdings_release(execution);
}

static void hold_outputs(struct rp_execution *execution)
{
    rp_recipe_close(execution);
    if (!rp_recipe_is_good(execution))
        return;
    if (rp_holdings_add(execution) != RP_OK)
        rp_recipe_retain(execution, "the host is out of memory");
    else if (!execution->recipe->held)
        rp_recipe_retain(execution, "none of its outputs fills a granule of memory");
    else if (!fits(execution))
        stay(execution, "what it works on does not fit into the budget at one time");
    else
        rp_fence_set();
}

void rp_recompute_forward_ends(struct rp_execution *execution)
{
    if (!rp_recompute_is_on())
        return;
    hold_outputs(execution);
    rp_round_forward(execution);
    rp_cost_phase(RP_PHASE_OF_BACKWARD, execution->place); /* until the next one begins */
}

bool rp_recompute_protects(const struct rp_execution *execution)
{
    return !rp_recompute_is_on() || !execution->recipe || rp_recipe_is_good(execution) ||
           rp_recompute_needs(execution);
}

bool rp_recompute_lets_go(struct rp_execution *execution, uint64_t bytes)
{
    if (!rp_recompute_is_on() || !bytes)
        return false;
    bool goes = rp_loss_of_worthless(execution, bytes);
    if (!goes)
        rp_round_kept(execution, bytes);
    return goes;
}

bool rp_recompute_needs(const struct rp_execution *execution)
{
    return execution->recipe && execution->recipe->dropped;
}

bool rp_recompute_does_without(struct rp_execution *execution, rp_stream stream)
{
    if (!rp_recompute_is_on() ||
        (rp_recompute_needs(execution) && rp_recall(execution, stream) != RP_OK))
        return false;
    rp_recipe_retain(execution, "a copy of what it reads found no room");
    rp_loss_let_go(execution);
    return true;
}

void rp_recompute_ends(struct rp_execution *execution)
{
    if (execution->recipe)
        rp_holdings_release(execution);
    rp_recipe_destroy(execution->recipe);
}

/* ---- calls -------------------------------------------------------------------------- */

static bool meets(const struct rp_footprint *call, const struct rp_holding *holding)
{
    for (size_t i = 0; i < call->count; i++)
        if (call->reaches[i].id == holding->id && call->reaches[i].lo < holding->hi &&
            holding->lo < call->reaches[i].hi)
            return true;
    return false;
}

/* Something dropped that the call meets, and does not just overwrite. */
static const struct rp_holding *first_needed(const struct rp_footprint *call)
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

/* A graph's nodes are all looked at before the first of them runs. */
static enum rp_status bring_back(const struct rp_footprint *call)
{
    if (rp_footprint_is_unproved(call) || call->in_graph)
        return rp_recall_all(call->stream);
    const struct rp_holding *holding;
    enum rp_status status = RP_OK;
    while (status == RP_OK && (holding = first_needed(call)))
        status = rp_recall(holding->owner, call->stream);
    if (status == RP_OK)
        status = rp_claim_before(call);
    return status == RP_OK ? rp_exile_before(call) : status;
}

/* Memory that several contexts work on, perhaps of several devices, stays where it is. */
static enum rp_status share(const struct rp_footprint *call)
{
    static bool is_said;
    enum rp_status status = rp_recall_all(call->stream);
    if (status == RP_OK) {
        rp_need_everything();
        rp_backing_share();
    }
    if (!is_said)
        rp_remark(rp_name(call->name), "works in a second context: nothing more is dropped");
    is_said = true;
    return status;
}

void rp_recompute_refuses(uint64_t bytes)
{
    uint64_t needed = rp_budget_used() + bytes;
    if (needed > rp_core.figures.lacking)
        rp_core.figures.lacking = needed;
}

bool rp_recompute_before(const struct rp_footprint *call)
{
    if (!rp_recompute_is_on())
        return true;
    if (call->is_gate)
        rp_gate_begins(call->stream);
    rp_drop_guard(call);
    rp_liveness_call(call);
    enum rp_status status = rp_driver_context_of(call->stream) ? share(call) : bring_back(call);
    const struct rp_holding *holding = rp_holding_any_dropped();
    if (status == RP_NO_MEMORY)
        rp_recompute_refuses(rp_need_missing(call));
    else if (status == RP_OK)
        rp_need_call(call);
    else
        rp_report(RP_HAZARD_NOT_PRESERVED, holding ? holding->owner : NULL, call,
                  holding ? holding->id : 0, holding ? holding->lo : 0,
                  holding ? holding->hi : 0, NULL, NULL);
    return status != RP_NO_MEMORY;
}

static void note_use(const struct rp_footprint *call)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        struct rp_backed *backed = rp_backing_of(reach->id);
        if (backed)
            rp_backing_use(backed, reach->lo, reach->hi, call->seq);
    }
}

static bool is_of_this_thread(const struct rp_execution *forward)
{
    const struct rp_execution *own;
    for (unsigned at = 0; (own = next_forward(&at)) != NULL;)
        if (own == forward)
            return true;
    return false;
}

static bool writes_what_it_meets(const struct rp_footprint *call,
                                 const struct rp_execution *forward)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        const struct rp_live *live = reach->effect == RP_WRITE
                                         ? rp_instance_live(forward->instance, reach->id)
                                         : NULL;
        if (live && (rp_spans_overlaps(&live->live_in, reach->lo, reach->hi) ||
                     rp_spans_overlaps(&live->touched, reach->lo, reach->hi)))
            return true;
    }
    return false;
}

/* A recipe has its own thread's calls, and finds one content of what they read: what another
 * thread writes between two of them would not be there. */
static void doubt_open_forwards(const struct rp_footprint *call)
{
    for (size_t i = 0; i < rp_executions_count(); i++) {
        struct rp_execution *forward = rp_executions_at(i);
        const struct rp_recipe *recipe = forward->recipe;
        if (recipe && !recipe->over && !recipe->retained && !is_of_this_thread(forward) &&
            writes_what_it_meets(call, forward))
            rp_recipe_retain(forward, "another thread wrote what it works on before its end");
    }
}

void rp_recompute_done(const struct rp_footprint *call, bool went, bool sure)
{
    if (!rp_recompute_is_on())
        return;
    if (went)
        doubt_open_forwards(call);
    if (call->is_gate && !call->in_graph)
        rp_gates_end();
    rp_claim_after(call, went, sure);
    rp_exile_after(call, went, sure);
    rp_holdings_use(call);
    rp_behind_call(call);
    note_use(call);
    rp_round_call();
    rp_drop_unguard(call);
    rp_drop_unless_plenty();
}

bool rp_recompute_graph_begins(rp_stream stream)
{
    if (!rp_recompute_is_on())
        return true;
    rp_drop_hold(true);
    if (rp_recall_all(stream) == RP_OK) {
        rp_need_everything();
        return true;
    }
    rp_drop_hold(false);
    return false;
}

void rp_recompute_graph_ends(void)
{
    if (!rp_recompute_is_on())
        return;
    rp_core_lock();
    rp_gates_end();
    rp_holdings_use_any();
    rp_behind_anything();
    rp_drop_hold(false);
    rp_core_unlock();
}

static bool all_stands(void)
{
    for (size_t i = 0; i < rp_backings_count(); i++) {
        const struct rp_backed *backed = rp_backings_at(i);
        if (rp_backing_missing(backed, 0, rp_backing_bytes(backed)))
            return false;
    }
    return true;
}

/* Where that fails nothing is lost: the driver may find all that the call is about. */
void rp_recompute_look_begins(void)
{
    rp_stream line;
    if (!rp_recompute_is_on())
        return;
    if (!all_stands() && rp_backing_context() && rp_drop_line(&line))
        rp_recall_all(line);
    if (all_stands())
        rp_need_everything();
    rp_drop_hold(true);
}

void rp_recompute_look_ends(void)
{
    if (rp_recompute_is_on())
        rp_drop_hold(false);
}

CUresult rp_recompute_looked(CUresult result)
{
    bool is_ours = rp_recompute_is_on() && result == CUDA_ERROR_INVALID_VALUE && !all_stands();
    return is_ours ? CUDA_ERROR_OUT_OF_MEMORY : result;
}
