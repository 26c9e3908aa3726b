/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/whole.h"

#include "interpose/run/core.h"

/* A buffer that is touched anywhere is kept once, in one piece. */
static enum rp_status add_buffers(const struct rp_live *live, const struct rp_spans *touched,
                                  struct rp_spans *whole, struct rp_amount *amount)
{
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < touched->count; i++) {
        uint64_t lo, hi;
        const struct rp_span *span = &touched->items[i];
        if (!rp_state_name(rp_core.state, live->id, span->lo, span->hi, &lo, &hi) ||
            rp_spans_covers(whole, lo, hi))
            continue;
        rp_amount_add(amount, hi - lo);
        status = rp_spans_add(whole, lo, hi);
    }
    return status;
}

static enum rp_status add_live(const struct rp_live *live, struct rp_spans *whole,
                               struct rp_amount *amount)
{
    rp_spans_clear(whole);
    if (rp_core.config.contract->state == RP_STATE_DISCOVERED) {
        for (size_t i = 0; live->kept.count && i < live->live_in.count; i++)
            rp_amount_add(amount, live->live_in.items[i].hi - live->live_in.items[i].lo);
        return RP_OK;
    }
    enum rp_status status = add_buffers(live, &live->live_in, whole, amount);
    return status == RP_OK ? add_buffers(live, &live->touched, whole, amount) : status;
}

/* What the run made itself, and its replay may find ready: kept by its pieces under any policy. */
static void add_recalled(const struct rp_live *live, struct rp_amount *amount)
{
    for (size_t i = 0; i < live->recalled.count; i++)
        rp_amount_add(amount, live->recalled.items[i].hi - live->recalled.items[i].lo);
}

enum rp_status rp_whole_size(const struct rp_execution *execution, struct rp_amount *amount)
{
    struct rp_spans whole = {0};
    enum rp_status status = RP_OK;
    *amount = (struct rp_amount){0};
    for (size_t i = 0; status == RP_OK && i < execution->instance->live_count; i++) {
        add_recalled(&execution->instance->lives[i], amount);
        status = add_live(&execution->instance->lives[i], &whole, amount);
    }
    rp_spans_release(&whole);
    return status;
}
