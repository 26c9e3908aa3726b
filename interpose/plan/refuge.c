/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/refuge.h"

#include "cuda/driver_real.h"
#include "cuda/switches.h"
#include "interpose/door/real.h"
#include "interpose/plan/policy.h"
#include "interpose/run/core.h"

static struct {
    struct rp_driver driver;
    struct rp_workbench bench; /* without a store until there is need of one */
} refuge;

const struct rp_workbench *rp_refuge(void)
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

struct rp_store *rp_refuge_store(uint64_t bytes)
{
    bool allowed = rp_policy_is_planned() && !rp_core.captures;
    const struct rp_workbench *bench = allowed ? rp_refuge() : NULL;
    if (!bench) {
        rp_policy_starved(rp_store_block_bytes(bytes));
        return NULL;
    }
    rp_policy_refused();
    rp_core.figures.bytes_in_refuge += bytes;
    return bench->store;
}

uint64_t rp_refuge_move(struct rp_copies *copies, uint32_t owner)
{
    const struct rp_workbench *bench = rp_refuge();
    uint64_t moved = 0;
    for (size_t i = 0; bench && i < copies->count; i++) {
        struct rp_copy *copy = &copies->items[i];
        uint64_t bytes = copy->hi - copy->lo;
        if (copy->store != rp_core.bench.store || !rp_core_can_copy(copy->stream))
            continue;
        rp_meter(bench, owner, RP_COPYING_MOVE, bytes, copy->stream);
        if (rp_copy_move(copy, bench) == RP_OK)
            moved += bytes;
    }
    rp_core.figures.bytes_in_refuge += moved;
    if (moved)
        rp_policy_refused();
    return moved;
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
