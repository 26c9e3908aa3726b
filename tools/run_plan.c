/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/plan.h"
#include "planner/purpose.h"
#include "tools/command.h"
#include "tools/run.h"
#include "tools/say.h"
#include "tracker/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_joint(const struct rp_run *run)
{
    const char *policy = rp_run_text(run, RP_OPT_POLICY, NULL);
    return policy ? strcmp(policy, "joint") == 0
                  : run->contract && run->contract->policy == RP_POLICY_JOINT;
}

uint64_t rp_run_budget(const struct rp_run *run)
{
    const struct rp_option_value *option = &run->options.values[RP_OPT_BUDGET];

    if (option->text)
        return option->number;
    return run->contract->has_budget ? run->contract->budget : UINT64_MAX;
}

/* Neither can be kept where the plan takes more than the budget. */
static int check_peak(const struct rp_run *run, const char *path, uint64_t peak)
{
    uint64_t budget = rp_run_budget(run);
    char plan_text[RP_SIZE_TEXT], budget_text[RP_SIZE_TEXT];

    if (peak <= budget)
        return RP_EXIT_OK;
    rp_say("%s: the plan takes %s and the budget is %s: `reprise plan --budget %s` makes one that "
           "fits", path, rp_size_exact(plan_text, peak), rp_size_exact(budget_text, budget),
           budget_text);
    return RP_EXIT_USAGE;
}

/* A plan must have been made for this very job; its device and segments show in the run. */
static int check_plan(struct rp_run *run, const char *path)
{
    char message[1024], contract[RP_PURPOSE_CONTRACT];
    struct rp_plan *plan;

    if (rp_plan_load(path, &plan, message, sizeof(message)) != RP_OK) {
        rp_say("%s", message);
        return RP_EXIT_USAGE;
    }
    rp_purpose_contract(run->contract_text, run->contract_length, contract);
    const struct rp_purpose purpose = {.job = run->job, .contract = contract};
    enum rp_status status = rp_plan_fits(plan, &purpose, (const char *const *)plan->names,
                                         plan->count, message, sizeof(message));
    uint64_t peak = plan->peak;
    bool holds = status != RP_OK ||
                 rp_plan_holds(plan, message, sizeof(message)) == RP_OK;
    rp_plan_destroy(plan);
    if (!holds) {
        rp_say("%s: %s: make one with `reprise plan --model nested`", path, message);
        return RP_EXIT_USAGE;
    }
    if (status == RP_OK)
        return check_peak(run, path, peak);
    rp_say("%s: %s; plan anew: `reprise run` without a plan, then `reprise plan`. Where words of "
           "the command differ that do not matter, put * for them in the plan's \"job\"",
           path, message);
    return RP_EXIT_USAGE;
}

int rp_run_find_plan(struct rp_run *run)
{
    const char *path = rp_run_text(run, RP_OPT_PLAN, NULL);
    bool guards = strcmp(run->mode, "guard") == 0;

    if (path && rp_option_given(&run->options, RP_OPT_POLICY))
        return rp_say_usage("run", "--plan and --policy are two answers to one question");
    if (path && !guards)
        return rp_say_usage("run", "--plan is obeyed in guard only, not in %s%s", run->mode,
                            strcmp(run->mode, "recompute") == 0
                                ? ", which plans by itself: --policy joint, with --profile from "
                                  "the first step on"
                                : "");
    if (!path && guards && run->contract->policy == RP_POLICY_PLAN &&
        !rp_option_given(&run->options, RP_OPT_POLICY))
        path = run->contract->plan_path;
    if (path && !run->contract->step_nvtx)
        return rp_say_usage("run", "a plan is obeyed step by step, and the contract names no "
                            "\"step\"");
    if (path && !realpath(path, run->plan)) {
        rp_say("plan %s: %s", path, strerror(errno));
        return RP_EXIT_USAGE;
    }
    if (path)
        return check_plan(run, run->plan);
    if (guards && is_joint(run) && !run->contract->step_nvtx)
        return rp_say_usage("run", "policy joint plans step by step, and the contract names no "
                            "\"step\"");
    if (guards && is_joint(run) && !run->contract->has_budget &&
        !rp_option_given(&run->options, RP_OPT_BUDGET))
        return rp_say_usage("run", "policy joint needs a budget: --budget SIZE, or \"budget\" in "
                            "the contract");
    return RP_EXIT_OK;
}
