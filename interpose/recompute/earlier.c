/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/earlier.h"

#include "interpose/plan/estimate.h"
#include "interpose/plan/policy.h"
#include "interpose/recompute/backing.h"
#include "interpose/recompute/granule.h"
#include "interpose/recompute/need.h"
#include "interpose/run/core.h"
#include "interpose/run/report.h"
#include "planner/purpose.h"

#include <stdio.h>
#include <string.h>

enum { EXIT_PLAN = 2 /* as the command line answers a bad plan */ };

static struct {
    struct rp_profile *profile;
    struct rp_plan *plan;
} earlier;

void rp_earlier_forget(void)
{
    rp_profile_destroy(earlier.profile);
    rp_plan_destroy(earlier.plan);
    memset(&earlier, 0, sizeof earlier);
}

const struct rp_profile *rp_earlier_profile(void)
{
    return earlier.profile;
}

struct rp_plan *rp_earlier_take_plan(void)
{
    struct rp_plan *plan = earlier.plan;
    earlier.plan = NULL;
    return plan;
}

/* ---- what is asked of both ------------------------------------------------------------- */

static enum rp_status check_least(uint64_t least, char *message, size_t size)
{
    if (least && least <= rp_core.config.budget)
        return RP_OK;
    if (!least)
        snprintf(message, size, "it is of no run in recompute, and says nothing of its memory");
    else
        snprintf(message, size,
                 "the job needs %llu bytes of device memory at least, and the budget is %llu",
                 (unsigned long long)least, (unsigned long long)rp_core.config.budget);
    return RP_INVALID;
}

static enum rp_status check_profile(char *message, size_t size)
{
    enum rp_status status = rp_purpose_fits("profile", rp_profile_purpose(earlier.profile),
                                            rp_estimate_purpose(), message, size);
    return status == RP_OK ? check_least(rp_profile_least(earlier.profile), message, size) : status;
}

static enum rp_status check_plan(char *message, size_t size)
{
    enum rp_status status = check_least(earlier.plan->least, message, size);
    return status == RP_OK ? rp_policy_check(earlier.plan, message, size) : status;
}

/* ---- before the job --------------------------------------------------------------------- */

static enum rp_status read_profile(char *message, size_t size)
{
    const char *path = rp_core.config.profile_path;
    char why[800];
    enum rp_status status = rp_profile_load(path, &earlier.profile, message, size);
    if (status != RP_OK)
        return status;
    status = check_profile(why, sizeof why);
    if (status != RP_OK)
        snprintf(message, size, "%s: %s", path, why);
    else
        rp_need_expect(rp_profile_least(earlier.profile));
    return status;
}

static enum rp_status read_plan(char *message, size_t size)
{
    const char *path = rp_core.config.plan_path;
    char why[800];
    enum rp_status status = rp_plan_load(path, &earlier.plan, message, size);
    if (status != RP_OK)
        return status;
    if (rp_core.config.budget == UINT64_MAX)
        rp_core.config.budget = earlier.plan->budget;
    status = check_plan(why, sizeof why);
    if (status != RP_OK)
        snprintf(message, size, "%s: %s", path, why);
    else
        rp_need_expect(earlier.plan->least);
    return status;
}

enum rp_status rp_earlier_start(char *message, size_t message_size)
{
    const struct rp_config *config = &rp_core.config;
    if (config->mode != RP_MODE_RECOMPUTE)
        return RP_OK;
    enum rp_status status = config->plan_path ? read_plan(message, message_size) : RP_OK;
    if (status == RP_OK && config->profile_path)
        status = read_profile(message, message_size);
    return status;
}

/* ---- before the first step --------------------------------------------------------------- */

static enum rp_status check_granule(char *message, size_t size)
{
    uint64_t quantum = rp_profile_quantum(earlier.profile), granule = rp_granule_bytes();
    if (!granule || quantum == granule)
        return RP_OK;
    snprintf(message, size, "it is of a device that maps memory by %llu bytes, and this one does "
             "by %llu: make one here",
             (unsigned long long)quantum, (unsigned long long)granule);
    return RP_INVALID;
}

static void refuse(const char *path, const char *why)
{
    char message[1000];
    snprintf(message, sizeof message, "%s: %s", path, why);
    rp_stop(EXIT_PLAN, message);
}

void rp_earlier_check_device(void)
{
    char why[800];
    if (earlier.plan && check_plan(why, sizeof why) != RP_OK)
        refuse(rp_core.config.plan_path, why);
    if (earlier.profile && (check_profile(why, sizeof why) != RP_OK ||
                            check_granule(why, sizeof why) != RP_OK))
        refuse(rp_core.config.profile_path, why);
}
