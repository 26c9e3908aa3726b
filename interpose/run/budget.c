/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/budget.h"

#include "interpose/plan/policy.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/core.h"
#include "interpose/run/execution.h"
#include "interpose/run/keep.h"

bool rp_budget_is_set(void)
{
    return rp_core.config.budget != UINT64_MAX || rp_policy_is_planned();
}

/* What is left of `all` beside the job's memory and `bytes` more of it. */
static uint64_t left_of(uint64_t all, uint64_t bytes)
{
    uint64_t job = rp_core.device_bytes + rp_core.promised_bytes;
    if (all == UINT64_MAX)
        return UINT64_MAX;
    return job > all || bytes > all - job ? 0 : all - job - bytes;
}

void rp_budget_note(void)
{
    static uint64_t last; /* under the core's lock */
    uint64_t used = rp_budget_used();
    if (used > rp_core.figures.device_peak)
        rp_core.figures.device_peak = used;
    if (rp_recompute_is_on() && used != last)
        RP_NOTE(memory, RP_U(used));
    last = used;
}

void rp_budget_share(void)
{
    rp_budget_note();
    rp_store_limit(rp_core.bench.store, left_of(rp_core.config.budget, 0));
    rp_store_aim(rp_core.bench.store, left_of(rp_policy_aim(), 0));
}

static void trim(uint64_t bytes)
{
    if (rp_store_reserved(rp_core.bench.store) > bytes && !rp_core.captures)
        rp_store_trim(rp_core.bench.store, bytes);
}

bool rp_budget_admits(uint64_t bytes)
{
    uint64_t budget = rp_core.config.budget;
    uint64_t job = rp_core.device_bytes + rp_core.promised_bytes;
    trim(left_of(rp_policy_aim(), bytes));
    if (job > budget || bytes > budget - job)
        return false;
    uint64_t left = left_of(budget, bytes);
    trim(left);
    while (rp_store_reserved(rp_core.bench.store) > left && !rp_core.captures &&
           !rp_order_is_any_shut(rp_core.bench.order) &&
           (rp_executions_spare(true) || rp_keep_evict()))
        trim(left);
    return rp_store_reserved(rp_core.bench.store) <= left;
}

void rp_budget_promise(uint64_t bytes)
{
    rp_core.promised_bytes += bytes;
    rp_budget_share();
}

void rp_budget_settle(uint64_t bytes)
{
    rp_core.promised_bytes -= bytes;
    rp_budget_share();
}

uint64_t rp_budget_taken(void)
{
    return rp_budget_used() + rp_core.promised_bytes;
}

uint64_t rp_budget_used(void)
{
    return rp_core.device_bytes + rp_store_reserved(rp_core.bench.store);
}
