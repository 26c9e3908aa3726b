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

static bool is_for_recompute(const struct rp_run *run)
{
    return strcmp(run->mode, "recompute") == 0;
}

/* The choices of a run in recompute say something else than those of a guarded one. */
static int check_origin(const struct rp_run *run, const char *path, const struct rp_plan *plan)
{
    uint64_t budget = rp_run_budget(run);
    char least[RP_SIZE_TEXT], given[RP_SIZE_TEXT];

    if ((plan->least > 0) != is_for_recompute(run))
        rp_say("%s: the plan was made of a run in %s: make one of a run in %s", path,
               plan->least > 0 ? "recompute" : "guard", run->mode);
    else if (plan->least > budget)
        rp_say("%s: the job is sure to work in %s of device memory, and the budget is %s: "
               "`--budget %llu` is the smallest that is sure to work, and takes a plan of its own",
               path, rp_size_exact(least, plan->least), rp_size_exact(given, budget),
               (unsigned long long)plan->least);
    else
        return RP_EXIT_OK;
    return RP_EXIT_USAGE;
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
static int check_plan(const struct rp_run *run, const char *path, const struct rp_plan *plan)
{
    char message[1024], contract[RP_PURPOSE_CONTRACT];

    rp_purpose_contract(run->contract_text, run->contract_length, contract);
    const struct rp_purpose purpose = {.job = run->job, .contract = contract};
    if (rp_plan_fits(plan, &purpose, (const char *const *)plan->names, plan->count, message,
                     sizeof(message)) != RP_OK)
        rp_say("%s: %s; plan anew: `reprise run` without a plan, then `reprise plan`. Where words "
               "of the command differ that do not matter, put * for them in the plan's \"job\"",
               path, message);
    else if (rp_plan_holds(plan, message, sizeof(message)) != RP_OK)
        rp_say("%s: %s: make one with `reprise plan --model nested`", path, message);
    else
        return RP_EXIT_OK;
    return RP_EXIT_USAGE;
}

static int check_file(const struct rp_run *run, const char *path)
{
    char message[1024];
    struct rp_plan *plan;

    if (rp_plan_load(path, &plan, message, sizeof(message)) != RP_OK) {
        rp_say("%s", message);
        return RP_EXIT_USAGE;
    }
    int code = check_plan(run, path, plan);
    if (code == RP_EXIT_OK)
        code = check_origin(run, path, plan);
    if (code == RP_EXIT_OK)
        code = check_peak(run, path, plan->peak);
    rp_plan_destroy(plan);
    return code;
}

int rp_run_find_plan(struct rp_run *run)
{
    const char *path = rp_run_text(run, RP_OPT_PLAN, NULL);
    bool guards = strcmp(run->mode, "guard") == 0, obeys = guards || is_for_recompute(run);

    if (path && rp_option_given(&run->options, RP_OPT_POLICY))
        return rp_say_usage("run", "--plan and --policy are two answers to one question");
    if (path && rp_option_given(&run->options, RP_OPT_RUN_PROFILE))
        return rp_say_usage("run", "--plan has been made already, and --profile is to make one of");
    if (path && !obeys)
        return rp_say_usage("run", "--plan is obeyed in guard and recompute, not in %s", run->mode);
    if (!path && obeys && run->contract->policy == RP_POLICY_PLAN &&
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
        return check_file(run, run->plan);
    if (guards && is_joint(run) && !run->contract->step_nvtx)
        return rp_say_usage("run", "policy joint plans step by step, and the contract names no "
                            "\"step\"");
    if (guards && is_joint(run) && !run->contract->has_budget &&
        !rp_option_given(&run->options, RP_OPT_BUDGET))
        return rp_say_usage("run", "policy joint needs a budget: --budget SIZE, or \"budget\" in "
                            "the contract");
    return RP_EXIT_OK;
}
