/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/cost.h"
#include "interpose/plan/estimate.h"
#include "interpose/plan/ledger.h"
#include "interpose/plan/policy.h"
#include "interpose/recompute/advice.h"
#include "interpose/recompute/granule.h"
#include "interpose/recompute/need.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/core.h"
#include "interpose/run/profiler.h"
#include "interpose/run/summary_part.h"

/* What the steps took, beside what a plan may have promised. */
static void put_steps(json_t *summary)
{
    const struct rp_step_cost *last = rp_ledger_last();
    const char *refused = rp_estimate_refused();
    json_t *object = json_object();
    rp_json_put_count(object, "measured", rp_ledger_count());
    rp_json_put_count(object, "peak_bytes", rp_cost_peak());
    if (last)
        rp_json_put_count(object, "last_ns", last->ns);
    if (refused)
        rp_json_put_text(object, "no_profile", refused);
    if (rp_profiler_refused())
        rp_json_put_text(object, "no_cupti", rp_profiler_refused());
    json_object_set_new(summary, "step_costs", object);
}

static void put_planned(json_t *object, const struct rp_plan *plan)
{
    if (rp_plan_has_choices(plan)) {
        rp_json_put_count(object, "planned_ns", plan->time);
        rp_json_put_count(object, "planned_peak_bytes", plan->peak);
    }
    if (plan->has_min_budget)
        rp_json_put_count(object, "min_budget_bytes", plan->min_budget);
}

static void put_measured(json_t *object, const struct rp_policy_state *state)
{
    put_planned(object, state->plan);
    rp_json_put_count(object, "steps", state->steps);
    if (!state->steps)
        return;
    rp_json_put_count(object, "measured_ns", state->median_ns);
    rp_json_put_count(object, "measured_peak_bytes", state->peak);
    if (rp_plan_has_choices(state->plan) && state->peak > state->plan->peak)
        rp_json_put_count(object, "overrun_bytes", state->peak - state->plan->peak);
}

static json_t *choices_json(const struct rp_plan *plan)
{
    json_t *object = json_object();
    for (size_t k = 0; rp_plan_has_choices(plan) && k < plan->count; k++)
        rp_json_put_text(object, plan->names[k], rp_choice_name(plan->choices[k]));
    return object;
}

/* What was planned, beside what was measured. */
static void put_plan(json_t *summary)
{
    struct rp_policy_state state;
    rp_policy_state(&state);
    if (!state.wanted)
        return;
    json_t *object = json_object();
    json_object_set_new(object, "in_force", json_boolean(state.in_force));
    rp_json_put_count(object, "plans", state.plans);
    if (state.reason)
        rp_json_put_text(object, "reason", state.reason);
    if (state.needed)
        rp_json_put_count(object, "needed_bytes", state.needed);
    if (state.plan) {
        rp_json_put_text(object, "answer", rp_answer_name(state.plan->answer));
        put_measured(object, &state);
        json_object_set_new(object, "choices", choices_json(state.plan));
    }
    json_object_set_new(summary, "plan", object);
}

/* What the planner said, beside what the last step took. */
static void put_advice(json_t *recompute)
{
    const struct rp_advice advice = rp_advice();
    const struct rp_step_cost *last = rp_ledger_last();
    json_t *object = json_object();
    rp_json_put_count(object, "plans", advice.plans);
    if (advice.reason)
        rp_json_put_text(object, "reason", advice.reason);
    if (advice.plan) {
        rp_json_put_text(object, "answer", rp_answer_name(advice.plan->answer));
        put_planned(object, advice.plan);
        rp_json_put_count(object, "measured_ns", last ? last->ns : 0);
        rp_json_put_count(object, "measured_peak_bytes", last ? last->peak : 0);
        json_object_set_new(object, "choices", choices_json(advice.plan));
    }
    json_object_set_new(recompute, "plan", object);
}

/* What was dropped and made anew; `unserved` of a segment says why it was not. */
static void put_recompute(json_t *summary)
{
    if (!rp_recompute_is_on())
        return;
    json_t *object = json_object();
    rp_json_put_count(object, "drops", rp_core.figures.drops);
    rp_json_put_count(object, "bytes_dropped", rp_core.figures.bytes_dropped);
    rp_json_put_count(object, "recalls", rp_core.figures.recalls);
    rp_json_put_count(object, "granule_bytes", rp_granule_bytes());
    rp_json_put_count(object, "least_bytes", rp_need_least());
    if (rp_core.figures.lacking)
        rp_json_put_count(object, "needed_bytes", rp_core.figures.lacking);
    put_advice(object);
    json_object_set_new(summary, "recompute", object);
}

void rp_summary_put_costs(json_t *summary)
{
    put_recompute(summary);
    put_steps(summary);
    put_plan(summary);
}
