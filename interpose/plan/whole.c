/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/whole.h"

#include "interpose/run/core.h"

static enum rp_status add_buffers(const struct rp_live *live, const struct rp_spans *touched,
                                  struct rp_spans *whole)
{
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < touched->count; i++) {
        uint64_t lo, hi;
        const struct rp_span *span = &touched->items[i];
        if (rp_state_name(rp_core.state, live->id, span->lo, span->hi, &lo, &hi))
            status = rp_spans_add(whole, lo, hi);
    }
    return status;
}

static enum rp_status whole_of(const struct rp_live *live, struct rp_spans *whole)
{
    rp_spans_clear(whole);
    if (rp_core.config.contract->state == RP_STATE_DISCOVERED)
        return live->kept.count ? rp_spans_copy(whole, &live->live_in) : RP_OK;
    enum rp_status status = add_buffers(live, &live->live_in, whole);
    return status == RP_OK ? add_buffers(live, &live->touched, whole) : status;
}

enum rp_status rp_whole_size(const struct rp_execution *execution, uint64_t *bytes,
                             uint64_t *pieces)
{
    struct rp_spans whole = {0};
    enum rp_status status = RP_OK;
    *bytes = *pieces = 0;
    for (size_t i = 0; status == RP_OK && i < execution->instance->live_count; i++) {
        status = whole_of(&execution->instance->lives[i], &whole);
        *bytes += rp_spans_bytes(&whole);
        *pieces += whole.count;
    }
    rp_spans_release(&whole);
    return status;
}
