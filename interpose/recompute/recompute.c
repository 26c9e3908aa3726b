/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/recompute.h"

#include "cuda/driver_real.h"
#include "cuda/switches.h"
#include "interpose/calls/handlers.h"
#include "interpose/plan/refuge.h"
#include "interpose/plan/cost.h"
#include "interpose/recompute/advice.h"
#include "interpose/recompute/behind.h"
#include "interpose/recompute/capture.h"
#include "interpose/recompute/claim.h"
#include "interpose/recompute/drop.h"
#include "interpose/recompute/exile.h"
#include "interpose/recompute/fence.h"
#include "interpose/recompute/gate.h"
#include "interpose/recompute/granule.h"
#include "interpose/recompute/holding.h"
#include "interpose/recompute/liveness.h"
#include "interpose/recompute/loss.h"
#include "interpose/recompute/need.h"
#include "interpose/recompute/pool.h"
#include "interpose/recompute/recall.h"
#include "interpose/recompute/recipe.h"
#include "interpose/recompute/recording.h"
#include "interpose/recompute/round.h"
#include "interpose/recompute/use.h"
#include "interpose/run/budget.h"
#include "interpose/run/remark.h"
#include "interpose/run/report.h"
#include "interpose/run/segment.h"
#include "interpose/run/underway.h"

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
    bool goes = rp_loss_of_worthless(execution, bytes) || rp_loss_of_old(execution);
    if (!goes)
        rp_round_kept(execution, bytes);
    return goes;
}

bool rp_recompute_needs(const struct rp_execution *execution)
{
    return execution->recipe && execution->recipe->dropped;
}

bool rp_recompute_outlasts(const struct rp_execution *execution)
{
    return rp_recompute_is_on() && rp_recipe_is_good(execution) && execution->recipe->held &&
           execution->instance->step == rp_core.step;
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

static bool needs_what_is_dropped(const struct rp_footprint *call)
{
    return rp_holding_any_dropped() &&
           (rp_footprint_is_unproved(call) || !rp_backing_is_home(call->stream) ||
            rp_use_first_needed(call));
}

/* What was dropped, or is on the host and finds no room. */
static bool needs_what_is_away(const struct rp_footprint *call)
{
    return needs_what_is_dropped(call) || !rp_backing_fits(rp_need_missing(call));
}

bool rp_recompute_await_captures(const struct rp_footprint *call)
{
    if (!rp_recompute_is_on() || !rp_capture_is_others() || !needs_what_is_away(call) ||
        !rp_capture_let_pass())
        return false;
    (void)rp_drop_let_others_pass();
    return true;
}

/* Calls of other threads that have been seen to, and are not known to be done, come before what is
 * made anew: none of that waits for us. */
void rp_recompute_await(const struct rp_footprint *call)
{
    if (call && !call->in_graph && !call->is_launch)
        (void)rp_recompute_await_captures(call);
    bool is_wanted = call ? !call->in_graph && !call->is_launch && needs_what_is_dropped(call)
                          : rp_holding_any_dropped() != NULL;
    if (rp_recompute_is_on() && is_wanted)
        rp_drop_let_others_pass();
}

/* True when the call overwrites all that is dropped of it. */
static bool claims_all_of(const struct rp_footprint *call, const struct rp_execution *execution)
{
    for (size_t i = 0; i < rp_holdings_count(); i++) {
        const struct rp_holding *holding = rp_holdings_at(i);
        if (holding->owner == execution && holding->state == RP_HOLDING_DROPPED &&
            !rp_claim_may(call, holding))
            return false;
    }
    return true;
}

/* A shut stream is not given what matters to anything dropped: whoever needs that later would have
 * to wait for it. Where there is no memory for that the job may go on without. */
static void bring_back_before_it_is_shut_in(const struct rp_footprint *call)
{
    if (!rp_holding_any_dropped() || !rp_gates_are_shut() || !rp_behind_is_shut(call->stream))
        return;
    for (size_t i = 0; i < rp_executions_count(); i++) {
        struct rp_execution *execution = rp_executions_at(i);
        if (execution->recipe && execution->recipe->dropped && !execution->recipe->busy &&
            rp_behind_matters(call, execution) && !claims_all_of(call, execution) &&
            rp_behind_may_follow(execution))
            (void)rp_recall(execution, call->stream);
    }
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

/* Blocks of more threads than the function may have; and the sizes of grids that no device has, by
 * the technical specifications of the CUDA programming guide. */
static bool is_beyond(const struct rp_shape *shape)
{
    int most = 0;
    uint64_t threads = (uint64_t)shape->block[0] * shape->block[1] * shape->block[2];
    return shape->function &&
           (shape->grid[0] > INT32_MAX || shape->grid[1] > UINT16_MAX ||
            shape->grid[2] > UINT16_MAX ||
            (rp_real.cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                        (CUfunction)(uintptr_t)shape->function) == CUDA_SUCCESS &&
             threads > (uint64_t)most));
}

/* An error of the device's, a stream that is none, or a launch of a shape that no device has: the
 * driver has an answer of its own. It is asked where memory is short, and not for each launch. */
static bool is_refused_anyway(const struct rp_footprint *call)
{
    if (is_beyond(&call->shape))
        return true;
    CUresult result = rp_core.captures ? CUDA_SUCCESS
                                       : rp_real.cuStreamQuery(rp_driver_stream(call->stream));
    return result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY;
}

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void report_missing(const struct rp_footprint *call)
{
    const struct rp_holding *holding = rp_holding_any_dropped();
    struct rp_met met = {.call = call};
    if (holding)
        met = (struct rp_met){.execution = holding->owner, .call = call, .id = holding->id,
                              .lo = holding->lo, .hi = holding->hi};
    rp_report(RP_HAZARD_NOT_PRESERVED, met);
}

bool rp_recompute_before(struct rp_footprint *call)
{
    if (!rp_recompute_is_on())
        return true;
    if (call->is_gate)
        rp_gate_begins(call->stream);
    rp_liveness_call(call);
    bring_back_before_it_is_shut_in(call);
    enum rp_status status =
        rp_backing_is_home(call->stream) ? rp_use_begins(call) : share(call);
    if (status == RP_OK) {
        rp_behind_call(call);
        return true;
    }
    call->is_hopeless = is_refused_anyway(call);
    if (call->is_hopeless)
        return true;
    if (status == RP_NO_MEMORY)
        rp_recompute_refuses(more(rp_need_missing(call), rp_granule_bytes()));
    else
        report_missing(call);
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

void rp_recompute_done(const struct rp_footprint *call, bool went, bool sure)
{
    if (!rp_recompute_is_on())
        return;
    if (call->is_hopeless && went && sure)
        report_missing(call);
    if (went) {
        rp_need_call(call);
        rp_recording_doubt(call);
    }
    if (call->is_gate && !call->in_graph)
        rp_gates_end();
    rp_claim_after(call, went, sure);
    rp_exile_after(call, went, sure);
    rp_holdings_use(call);
    note_use(call);
    rp_round_call();
}

void rp_recompute_unless_plenty(void)
{
    if (rp_recompute_is_on())
        rp_drop_unless_plenty();
}

void rp_recompute_stream_waits(rp_stream stream)
{
    if (rp_recompute_is_on() && !rp_core.captures && rp_gates_are_shut())
        rp_behind_shuts(stream);
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

void rp_recompute_await_others(void)
{
    if (!rp_recompute_is_on())
        return;
    if (rp_capture_is_others() && !all_stands())
        (void)rp_capture_let_pass();
    (void)rp_drop_let_others_pass();
}

bool rp_recompute_graph_begins(rp_stream stream)
{
    if (!rp_recompute_is_on())
        return true;
    rp_recompute_await_others();
    rp_drop_hold(true);
    if (rp_recall_all(stream) == RP_OK) {
        rp_behind_anything();
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
    rp_drop_hold(false);
    rp_core_unlock();
}

bool rp_recompute_stays(struct rp_backed *backed, uint32_t name)
{
    rp_stream line;
    if (rp_backing_stays(backed) || rp_backing_is_shared())
        return true;
    if (!rp_drop_line(&line))
        return false;
    struct rp_footprint *all = rp_footprint_take();
    rp_footprint_begin(all, name, line);
    enum rp_status status =
        rp_footprint_reach(all, rp_backing_address(backed), rp_backing_bytes(backed),
                           (struct rp_reach){.effect = RP_READ}, NULL);
    rp_underway_begins(all);
    if (status == RP_OK)
        status = rp_use_begins(all);
    rp_underway_ends(all);
    rp_footprint_give(all);
    if (status == RP_OK)
        rp_backing_stay(backed);
    return status == RP_OK;
}

/* Where that fails nothing is lost: the driver may find all that the call is about. */
void rp_recompute_look_begins(void)
{
    rp_stream line;
    if (!rp_recompute_is_on())
        return;
    rp_drop_let_others_pass();
    if (!all_stands() && rp_backing_context() && rp_drop_line(&line))
        (void)rp_recall_all(line);
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
