/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/renewal.h"

#include "cuda/switches.h"
#include "interpose/run/core.h"
#include "interpose/run/report.h"

struct renewing {
    const struct rp_instance *instance;
    struct rp_filled filled; /* what has been filled anew, and by whom */
};

/* It went on from nothing, and no segment did it. */
static bool fills(const struct rp_writer *writer)
{
    return writer->version && writer->origin == writer->version && !writer->made_in &&
           !writer->speculative;
}

/* Twice in one step: what comes once a step is state that is set, not an input. */
static enum rp_status is_filled_anew(void *ctx, uint64_t lo, uint64_t hi,
                                     const struct rp_writer *read)
{
    const struct rp_writer *live = &((const struct renewing *)ctx)->filled.by;
    bool is_same = rp_versions_same_bytes(rp_core.bench.versions, lo, hi, live, read) ||
                   (live->value && live->value == read->value && live->place == read->place);
    return fills(read) && read->step == live->step && !is_same ? RP_OK : RP_END;
}

static enum rp_status take_live(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *live)
{
    struct renewing *renewing = ctx;
    if (!fills(live) || live->seq <= renewing->instance->since)
        return RP_END;
    renewing->filled.by = *live;
    return rp_versions_read(renewing->instance->expected, renewing->filled.id, lo, hi,
                            is_filled_anew, renewing);
}

/* All that the forward has read of the allocation. */
static bool is_renewed(struct renewing *renewing, const struct rp_live *live)
{
    renewing->filled.id = live->id;
    for (size_t i = 0; i < live->live_in.count; i++) {
        const struct rp_span *span = &live->live_in.items[i];
        if (rp_state_name(rp_core.state, live->id, span->lo, span->hi, NULL, NULL) ||
            rp_versions_read(rp_core.bench.versions, live->id, span->lo, span->hi, take_live,
                             renewing) != RP_OK)
            return false;
        renewing->filled.lo = i ? renewing->filled.lo : span->lo;
        renewing->filled.hi = span->hi;
    }
    return live->live_in.count > 0;
}

void rp_renewal_doubt(const struct rp_scope *scope, const struct rp_footprint *call)
{
    const struct rp_segment_rule *rule = &rp_core.config.contract->segments[scope->segment];
    struct renewing renewing = {.instance = scope->execution->instance};
    if (rule->replay.kind != RP_WHERE_REPEAT || !rp_core_guards() ||
        !rp_switch_on(RP_SWITCH_DOUBTS))
        return;
    for (size_t i = 0; i < renewing.instance->live_count; i++)
        if (is_renewed(&renewing, &renewing.instance->lives[i])) {
            rp_report_filled(scope->execution, call, &renewing.filled, RP_ASSUMED_RENEWED);
            return;
        }
}
