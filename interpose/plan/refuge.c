/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/refuge.h"

#include "cuda/driver_real.h"
#include "cuda/switches.h"
#include "interpose/door/real.h"
#include "interpose/run/core.h"

static struct {
    struct rp_driver driver;
    struct rp_bench bench; /* without a store until there is need of one */
} refuge;

const struct rp_bench *rp_refuge(void)
{
    struct rp_store *store = refuge.bench.store;
    if (!rp_switch_on(RP_SWITCH_REFUGE))
        return NULL;
    if (!store) {
        refuge.driver = rp_driver_real_pinned(&rp_real);
        if (rp_store_create(&refuge.driver, rp_core.bench.order, &store) != RP_OK)
            return NULL;
    }
    refuge.bench = rp_core.bench;
    refuge.bench.store = store;
    return &refuge.bench;
}

void rp_refuge_abandon(void)
{
    rp_store_abandon(refuge.bench.store);
    refuge.bench.store = NULL;
}

void rp_refuge_forget(void)
{
    refuge.bench.store = NULL; /* the parent's */
}
