/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/race.h"

#include "cuda/switches.h"
#include "interpose/run/core.h"
#include "interpose/run/segment.h"
#include "interpose/run/underway.h"

/* ---- what comes before a replay ---------------------------------------------------------- */

/* A stream that captures has nothing to wait for that is known. */
static enum rp_status wait_for(rp_stream stream, rp_stream earlier)
{
    enum rp_status status = rp_order_after(rp_core.bench.order, stream, earlier);
    return status == RP_UNSUPPORTED ? RP_OK : status;
}

struct beginning {
    const struct rp_footprint *call;
    uint64_t since;   /* what was written until then the forward's calls came after */
    rp_version twin;  /* of what the forward's call wrote */
};

static enum rp_status wait_for_writer(void *ctx, uint64_t lo, uint64_t hi,
                                      const struct rp_writer *writer)
{
    const struct beginning *beginning = ctx;
    (void)lo, (void)hi;
    if (writer->seq <= beginning->since || writer->version == beginning->twin)
        return RP_OK;
    return wait_for(beginning->call->stream, writer->stream);
}

enum rp_status rp_race_begin(const struct rp_execution *execution, const struct rp_footprint *call)
{
    const struct rp_logged *twin = &execution->log[call->entry];
    struct beginning beginning = {call, execution->instance->since, twin->version};
    if (rp_order_is_alone(rp_core.bench.order) || !rp_switch_on(RP_SWITCH_RACES))
        return RP_OK;
    enum rp_status status = wait_for(call->stream, twin->stream);
    for (size_t i = 0; status == RP_OK && i < call->count; i++)
        if (call->reaches[i].effect == RP_WRITE)
            status = rp_versions_read(rp_core.bench.versions, call->reaches[i].id,
                                      call->reaches[i].lo, call->reaches[i].hi, wait_for_writer,
                                      &beginning);
    return status;
}

/* ---- what comes behind it ------------------------------------------------------------------ */

static struct rp_crosser crosser(const struct rp_footprint *call, const struct rp_reach *reach)
{
    const struct rp_execution *replayed = call->repeats ? call->replay->execution : NULL;
    return (struct rp_crosser){.id = reach->id, .lo = reach->lo, .hi = reach->hi,
                               .stream = call->stream, .writes = reach->effect == RP_WRITE,
                               .instance = replayed ? (uint32_t)replayed->instance->id : 0};
}

void rp_race_meet(struct rp_footprint *call)
{
    for (size_t i = 0; rp_core_guards() && i < call->count; i++) {
        const struct rp_crosser meets = crosser(call, &call->reaches[i]);
        if (rp_crossing_after_replays(rp_core.bench.crossing, &meets) != RP_OK)
            call->is_early = true;
    }
}

/* Whoever the memory goes to next knows of the forward alone, too. */
void rp_race_give_back(struct rp_footprint *call, rp_alloc_id id)
{
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, id);
    if (!rp_core_guards() || !rp_core.segments_wanted)
        return;
    const struct rp_reach whole = {.id = id, .hi = alloc->bytes, .effect = RP_WRITE,
                                   .verdict = RP_VERDICT_EXACT, .certain = true};
    call->is_early = rp_footprint_add(call, whole) != RP_OK;
    if (!call->in_graph)
        rp_underway_await(call);
    if (rp_order_meet(rp_core.bench.order, call->stream) != RP_OK)
        call->is_early = true;
    rp_race_meet(call);
}

/* What a replay alone makes is the job's own work; but in the eager run nobody had to be ordered
 * behind what it reads. */
void rp_race_made(const struct rp_footprint *call)
{
    for (size_t i = 0; rp_core_guards() && call->replay && i < call->count; i++) {
        const struct rp_crosser met = crosser(call, &call->reaches[i]);
        if (met.writes ? call->repeats : !call->served)
            rp_crossing_replayed(rp_core.bench.crossing, &met);
    }
}

void rp_race_over(void)
{
    if (rp_core_guards())
        rp_crossing_replay_over(rp_core.bench.crossing);
}
