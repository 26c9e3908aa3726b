/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/brought.h"

#include "interpose/run/core.h"
#include "interpose/run/remark.h"

struct bringing {
    const struct rp_execution *execution;
    rp_alloc_id id;
    const struct rp_writer *live;
};

static enum rp_status remark_other(void *ctx, uint64_t lo, uint64_t hi,
                                   const struct rp_writer *expected)
{
    const struct bringing *bringing = ctx;
    if (expected->version && !rp_versions_same_bytes(rp_core.bench.versions, lo, hi,
                                                     bringing->live, expected))
        rp_remark(rp_name(bringing->live->name), RP_GIVEN_BACK);
    return RP_OK;
}

static enum rp_status remark_live(void *ctx, uint64_t lo, uint64_t hi,
                                  const struct rp_writer *live)
{
    struct bringing *bringing = ctx;
    const struct rp_instance *instance = bringing->execution->instance;
    bringing->live = live;
    if (!live->copied || live->made_in || live->seq <= instance->since)
        return RP_OK;
    return rp_versions_read(instance->expected, bringing->id, lo, hi, remark_other, bringing);
}

void rp_brought_remark(const struct rp_execution *execution)
{
    const struct rp_copies *copies = &execution->kept->copies;
    for (size_t i = 0; i < copies->count; i++) {
        struct bringing bringing = {execution, copies->items[i].id, NULL};
        (void)rp_versions_read(rp_core.bench.versions, bringing.id, copies->items[i].lo,
                               copies->items[i].hi, remark_live, &bringing);
    }
}
