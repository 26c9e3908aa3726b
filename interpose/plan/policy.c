/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/ledger.h"
#include "interpose/plan/policy.h"

#include "interpose/plan/chain.h"
#include "interpose/plan/estimate.h"
#include "interpose/door/shortage.h"
#include "interpose/run/budget.h"
#include "interpose/run/core.h"
#include "interpose/run/remark.h"
#include "interpose/run/report.h"
#include "planner/planner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROFILED = 3,     /* steps under the safe policy before a plan is made of them */
    REMEMBERED = 64,  /* step times under a plan, for their median */
    MOST_PLANS = 64,  /* a job whose step keeps changing stays with the safe policy */
    SLACK_PERCENT = 2, /* by which a step may take more memory than its plan says */
    EXIT_PLAN = 2 /* as the command line answers a bad contract */
};

static struct {
    struct rp_plan *plan;
    uint32_t plans, wait; /* steps before the next attempt at a plan */
    bool in_force;
    const char *reason;
    uint64_t times[REMEMBERED], steps, peak, needed;
} policy;

static bool is_joint(void)
{
    return rp_core_guards() &&
           rp_core.config.contract->policy == RP_POLICY_JOINT;
}

/* In recompute a plan says something else, to somebody else (recompute/advice.h). */
static const char *plan_path(void)
{
    return rp_core_guards() ? rp_core.config.plan_path : NULL;
}

bool rp_policy_is_planned(void)
{
    return is_joint() || plan_path();
}

uint32_t rp_policy_plan(void)
{
    return policy.in_force ? policy.plans : 0;
}

/* ---- a plan comes and goes -------------------------------------------------- */

static void put_in_force(struct rp_plan *plan)
{
    rp_plan_destroy(policy.plan);
    policy.plan = plan;
    policy.plans++;
    policy.in_force = true;
    policy.reason = NULL;
    policy.steps = policy.peak = 0;
    if (rp_core.bench.store)
        rp_store_relearn(rp_core.bench.store);
    rp_budget_share();
}

/* Also of a plan that has fallen: the layer does not begin to hoard then. */
uint64_t rp_policy_aim(void)
{
    return policy.plan && rp_plan_has_choices(policy.plan) ? policy.plan->peak : UINT64_MAX;
}

static void fall_back(const char *reason)
{
    if (!policy.in_force)
        return;
    policy.in_force = false;
    policy.reason = reason;
    /* Longer each time: a step that never stands still is not worth planning. */
    policy.wait = 1u << (policy.plans < 10 ? policy.plans : 10);
    rp_remark("plan", reason);
    rp_cost_restart();
}

void rp_policy_refused(void)
{
    fall_back("memory that the plan counts on was refused: the safe policy is in force");
}

static void note_needed(uint64_t bytes)
{
    if (is_joint() && !policy.plans && bytes > policy.needed)
        policy.needed = bytes;
}

void rp_policy_starved(uint64_t bytes)
{
    note_needed(rp_budget_used() + bytes);
}

static enum rp_status check_mode(const struct rp_plan *plan, char *message, size_t message_size)
{
    enum rp_mode made = plan->least ? RP_MODE_RECOMPUTE : RP_MODE_GUARD;
    if (made == rp_core.config.mode)
        return RP_OK;
    snprintf(message, message_size, "the plan was made of a run in %s: make one of a run in %s",
             rp_mode_name(made), rp_mode_name(rp_core.config.mode));
    return RP_INVALID;
}

enum rp_status rp_policy_check(const struct rp_plan *plan, char *message, size_t message_size)
{
    uint64_t budget = rp_core.config.budget;
    if (rp_plan_holds(plan, message, message_size) != RP_OK ||
        check_mode(plan, message, message_size) != RP_OK)
        return RP_INVALID;
    if (plan->peak > budget) {
        snprintf(message, message_size,
                 "the plan takes %llu bytes and the budget is %llu: make a plan for it with "
                 "`reprise plan --budget`",
                 (unsigned long long)plan->peak, (unsigned long long)budget);
        return RP_INVALID;
    }
    struct rp_purpose purpose = *rp_estimate_purpose();
    return rp_plan_fits(plan, &purpose, (const char *const *)plan->names, plan->count, message,
                        message_size);
}

enum rp_status rp_policy_start(char *message, size_t message_size)
{
    const char *path = plan_path();
    char why[800];
    struct rp_plan *plan;
    if (!path)
        return RP_OK;
    enum rp_status status = rp_plan_load(path, &plan, message, message_size);
    if (status != RP_OK)
        return status;
    status = rp_policy_check(plan, why, sizeof why);
    if (status == RP_OK) {
        put_in_force(plan);
        return RP_OK;
    }
    snprintf(message, message_size, "%s: %s", path, why);
    rp_plan_destroy(plan);
    return status;
}

void rp_policy_forget(void)
{
    rp_plan_destroy(policy.plan);
    memset(&policy, 0, sizeof policy);
}

/* ---- in a step -------------------------------------------------------------- */

static enum rp_choice planned_choice(uint32_t place)
{
    const char *name = rp_name(rp_chain_name(place));
    if (policy.in_force && (place >= policy.plan->count ||
                            strcmp(policy.plan->names[place], name) != 0))
        fall_back("the step's segments are not those of the plan: the safe policy is in force");
    return policy.in_force ? policy.plan->choices[place] : RP_CHOICE_REGIONS;
}

enum rp_choice rp_policy_choice(uint32_t place)
{
    switch (rp_core.config.contract->policy) {
    case RP_POLICY_WHOLE: return RP_CHOICE_WHOLE;
    case RP_POLICY_REGIONS: return RP_CHOICE_REGIONS;
    case RP_POLICY_RETAIN: return RP_CHOICE_RETAIN;
    case RP_POLICY_JOINT:
    case RP_POLICY_PLAN: return planned_choice(place);
    }
    return RP_CHOICE_REGIONS;
}

/* ---- between steps ---------------------------------------------------------- */

static bool exceeds(uint64_t bytes, uint64_t planned)
{
    return bytes > planned && (bytes - planned) > planned / 100 * SLACK_PERCENT;
}

void rp_policy_measured(const struct rp_step_cost *cost)
{
    if (!cost->plan || cost->plan != rp_policy_plan())
        return;
    if (cost->ns)
        policy.times[policy.steps % REMEMBERED] = cost->ns;
    policy.steps += cost->ns > 0;
    if (cost->peak > policy.peak)
        policy.peak = cost->peak;
    if (exceeds(cost->peak, policy.plan->peak))
        fall_back("a step took more memory than the plan says: the safe policy is in force");
}

static void give_no_plan(const char *reason)
{
    policy.reason = reason;
    policy.wait = PROFILED;
}

/* `message` may be a segment's; what lives on is a name's text. */
static const char *kept_text(const char *message)
{
    return rp_name(rp_names_id(rp_core.names, message));
}

/* Who needs the smallest budget. */
static void binding_text(const struct rp_plan *plan, char *text, size_t size)
{
    const struct rp_moment *moment = &plan->min_binding;
    if (moment->pass == RP_PASS_NONE)
        snprintf(text, size, "what is there all the time");
    else
        snprintf(text, size, "the %s of '%s'", rp_pass_name(moment->pass),
                 plan->names[moment->segment]);
}

static const char *no_plan(const struct rp_plan *plan)
{
    char text[512], binding[256];
    if (plan->answer != RP_ANSWER_INFEASIBLE || !plan->has_min_budget)
        return "no plan was found for the budget: the safe policy is in force";
    binding_text(plan, binding, sizeof binding);
    snprintf(text, sizeof text,
             "no plan fits the budget: the safe policy is in force; the smallest budget is %llu "
             "bytes, which %s needs",
             (unsigned long long)plan->min_budget, binding);
    return kept_text(text);
}

/* The answer, or NULL, and then why there is none. */
static struct rp_plan *solve(struct rp_profile *profile, const char **why)
{
    char message[256] = "";
    struct rp_plan *plan = NULL;
    struct rp_question question = rp_question_default(profile, rp_core.config.budget);
    if (question.budget > INT64_MAX)
        question.budget = INT64_MAX - 1;
    enum rp_status status = rp_profile_close(profile, message, sizeof message);
    if (status == RP_OK)
        status = rp_planner_solve(&question, &plan, message, sizeof message);
    if (status != RP_OK)
        *why = kept_text(*message ? message : rp_status_text(status));
    return plan;
}

static void adopt(struct rp_plan *plan)
{
    if (rp_plan_has_choices(plan)) {
        put_in_force(plan);
    } else {
        give_no_plan(no_plan(plan));
        rp_plan_destroy(policy.plan);
        policy.plan = plan; /* it knows the smallest budget */
    }
}

/* A plan saves time, or memory: the job is right without. So where the host has no memory to look
 * for one there is none, and the job goes on. */
static void look_for_plan(void)
{
    struct rp_profile *profile;
    struct rp_plan *plan = NULL;
    const char *why = NULL;
    bool owed = rp_shortage_set_aside();
    if (rp_estimate_profile(&profile) == RP_OK) {
        plan = solve(profile, &why);
        rp_profile_destroy(profile);
    }
    if (rp_shortage_take_back(owed)) {
        rp_plan_destroy(plan); /* it may not be all that it seems */
        give_no_plan("the host has no memory to look for a plan: the safe policy is in force");
    } else if (plan) {
        adopt(plan);
    } else if (why) {
        give_no_plan(why);
    }
}

static void plan_anew(void)
{
    const struct rp_step_cost *steps[RP_COST_STEPS];
    if (policy.wait) {
        policy.wait--;
        return;
    }
    if (rp_ledger_steps(steps) >= PROFILED && policy.plans < MOST_PLANS)
        look_for_plan();
}

/* The step that ended had fewer segments than the plan: no place of it told. */
static void check_length(void)
{
    if (policy.in_force && policy.steps && rp_chain_length() < policy.plan->count)
        fall_back("the step's segments are not those of the plan: the safe policy is in force");
}

/* Before the first step, for the device is not known earlier. */
static void check_device(void)
{
    const char *device = rp_estimate_purpose()->device;
    char message[800];
    if (!policy.in_force || !device || !policy.plan->device ||
        strcmp(policy.plan->device, device) == 0)
        return;
    snprintf(message, sizeof message,
             "%s: the plan was made for the device '%.200s', and this is '%.200s': profile and "
             "plan here",
             plan_path() ? plan_path() : "the plan",
             policy.plan->device, device);
    if (rp_core.config.strict)
        rp_stop(EXIT_PLAN, message);
    fall_back("the plan was made for another device: the safe policy is in force");
}

void rp_policy_step_begins(void)
{
    if (rp_core.step == 0)
        check_device();
    else
        check_length();
    if (is_joint() && !policy.in_force)
        plan_anew();
    if (rp_core.bench.store)
        rp_store_step(rp_core.bench.store);
}

/* ---- the summary ------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t median_time(void)
{
    uint64_t times[REMEMBERED];
    size_t count = policy.steps < REMEMBERED ? policy.steps : REMEMBERED;
    memcpy(times, policy.times, count * sizeof *times);
    qsort(times, count, sizeof *times, compare);
    return count ? times[count / 2] : 0;
}

void rp_policy_state(struct rp_policy_state *state)
{
    *state = (struct rp_policy_state){
        .wanted = is_joint() || plan_path(),
        .plan = policy.plan,
        .plans = policy.plans,
        .in_force = policy.in_force,
        .reason = policy.reason,
        .steps = policy.steps,
        .median_ns = median_time(),
        .peak = policy.peak,
        .needed = policy.plans ? 0 : policy.needed,
    };
}
