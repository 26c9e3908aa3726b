/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/core.h"

#include "cuda/driver_real.h"
#include "interpose/door/real.h"
#include "interpose/door/shortage.h"
#include "interpose/plan/cost.h"
#include "interpose/plan/refuge.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/budget.h"
#include "interpose/run/execution.h"
#include "interpose/run/report.h"

#include <string.h>
#include <time.h>

struct rp_core rp_core = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Of the lock, by its thread. */
static _Thread_local enum { TAKEN_IN_TURN, TO_BE_KEPT, KEPT } keeping;

void rp_core_lock(void)
{
    if (keeping == KEPT)
        keeping = TAKEN_IN_TURN;
    else
        pthread_mutex_lock(&rp_core.lock);
}

void rp_core_unlock(void)
{
    if (rp_shortage_met) /* before the call goes on to the driver, or its answer to the job */
        rp_report_shortage();
    if (keeping == TO_BE_KEPT)
        keeping = KEPT;
    else
        pthread_mutex_unlock(&rp_core.lock);
}

void rp_core_keep_lock(void)
{
    keeping = TO_BE_KEPT;
}

union rp_value rp_value_text(const char *text)
{
    return (union rp_value){.t = {text ? text : "", text ? strlen(text) : 0}};
}

static struct rp_trace_writer *inherited_trace; /* of the parent, after a fork */

static void store_has_grown(void)
{
    rp_budget_note();
    rp_cost_memory();
}

enum rp_status rp_core_make_store(void)
{
    struct rp_workbench *bench = &rp_core.bench;
    enum rp_status status = rp_store_create(bench->driver, bench->order, &bench->store);
    if (status != RP_OK)
        return status;
    if (rp_budget_is_set() || rp_recompute_is_on())
        rp_store_fit_exactly(bench->store);
    rp_store_on_shortage(bench->store, rp_executions_spare);
    rp_store_on_growth(bench->store, store_has_grown);
    return RP_OK;
}

enum rp_status rp_core_start(void)
{
    struct rp_workbench *bench = &rp_core.bench;
    if (inherited_trace)
        rp_trace_writer_abandon(inherited_trace);
    inherited_trace = NULL;
    rp_core.driver = rp_driver_real(&rp_real);
    bench->driver = &rp_core.driver;
    bench->meter = rp_cost_meter;
    bench->refuge = rp_refuge_store;
    rp_core.segments_wanted = rp_core.config.contract && rp_core.config.mode != RP_MODE_OBSERVE;
    enum rp_status status = rp_memory_create(&bench->memory);
    if (status == RP_OK)
        status = rp_versions_create(&bench->versions);
    if (status == RP_OK)
        status = rp_order_create(bench->driver, &bench->order);
    if (status == RP_OK)
        status = rp_crossing_create(bench->order, bench->versions, &bench->crossing);
    if (status == RP_OK)
        status = rp_core_make_store();
    if (status == RP_OK)
        status = rp_state_create(&rp_core.state);
    if (status == RP_OK)
        status = rp_names_create(&rp_core.names);
    return status;
}

uint64_t rp_core_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

bool rp_core_can_copy(rp_stream stream)
{
    bool captured = false;
    if (rp_core.captures)
        (void)rp_core.driver.capturing(rp_core.driver.self, stream, &captured);
    return !captured;
}

void rp_core_forget(void)
{
    /* Not abandoned here: the trace's own fork handler still holds its lock in the child. It
     * has already cut the writer off from the parent's file. */
    inherited_trace = rp_core.trace;
    /* The rest belongs to the parent's driver; the copies in this process are small and are
     * left where they are: freeing them could trip over what another thread held locked. */
    rp_core = (struct rp_core){.lock = PTHREAD_MUTEX_INITIALIZER};
}
