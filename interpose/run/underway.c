/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/underway.h"

#include "cuda/switches.h"
#include "interpose/run/core.h"
#include "interpose/run/report.h"
#include "interpose/run/segment.h"
#include "tracker/array.h"

#include <time.h>

enum { PATIENCE_MS = 4000, PAUSE_US = 20 };

static struct {
    struct under_way {
        const struct rp_footprint *call;
        const struct rp_thread *thread;
    } *calls;
    size_t count, capacity;
} underway;

static bool is_guarding(void)
{
    return rp_core.config.mode == RP_MODE_GUARD && rp_core.segments_wanted;
}

void rp_underway_begins(const struct rp_footprint *call)
{
    if (!is_guarding())
        return;
    void *bigger = rp_array_reserve(underway.calls, &underway.capacity, underway.count + 1,
                                    sizeof *underway.calls);
    if (!bigger) {
        rp_remark(rp_name(call->name), "the host is out of memory: replays do not wait for it");
        return;
    }
    underway.calls = bigger;
    underway.calls[underway.count++] = (struct under_way){call, rp_thread_self()};
}

void rp_underway_ends(const struct rp_footprint *call)
{
    for (size_t i = underway.count; i-- > 0;)
        if (underway.calls[i].call == call)
            underway.calls[i] = underway.calls[--underway.count];
}

void rp_underway_forget(void)
{
    underway.count = 0;
}

/* ---- what meets ------------------------------------------------------------------------- */

static bool overlap(const struct rp_reach *reach, rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    return reach->id == id && reach->lo < hi && lo < reach->hi;
}

static bool meets_call(const struct rp_footprint *other, const struct rp_footprint *call)
{
    for (size_t i = 0; i < other->count; i++)
        for (size_t j = 0; j < call->count; j++)
            if ((other->reaches[i].effect == RP_WRITE || call->reaches[j].effect == RP_WRITE) &&
                overlap(&other->reaches[i], call->reaches[j].id, call->reaches[j].lo,
                        call->reaches[j].hi))
                return true;
    return false;
}

static bool meets_copies(const struct rp_footprint *other, const struct rp_kept *kept)
{
    for (size_t i = 0; kept && i < kept->copies.count; i++)
        for (size_t j = 0; j < other->count; j++)
            if (overlap(&other->reaches[j], kept->copies.items[i].id, kept->copies.items[i].lo,
                        kept->copies.items[i].hi))
                return true;
    return false;
}

/* Which forward of the segment it repeats may depend on the call. */
static bool meets_kept(const struct rp_footprint *other, uint32_t segment)
{
    for (size_t i = 0; i < rp_executions_count(); i++) {
        const struct rp_execution *execution = rp_executions_at(i);
        if (execution->instance->segment == segment &&
            (meets_copies(other, execution->kept) || meets_copies(other, execution->recalled)))
            return true;
    }
    return false;
}

/* `replay`: that the call is of, or NULL. Of a graph it is not known yet what its nodes meet. */
static const struct rp_footprint *find_met(const struct rp_footprint *call,
                                           const struct rp_scope *replay)
{
    for (size_t i = 0; i < underway.count; i++) {
        const struct rp_footprint *other = underway.calls[i].call;
        if (underway.calls[i].thread == rp_thread_self() || (!replay && !other->replay))
            continue;
        if (rp_footprint_is_unproved(other) || meets_call(other, call) ||
            (call->in_graph && other->replay) || (replay && meets_kept(other, replay->segment)))
            return other;
    }
    return NULL;
}

/* ---- waiting ------------------------------------------------------------------------------ */

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void rp_underway_await(const struct rp_footprint *call)
{
    const struct timespec pause = {.tv_nsec = PAUSE_US * 1000};
    const struct rp_footprint *other;
    uint64_t since = 0;
    if (!underway.count || !rp_switch_on(RP_SWITCH_INFLIGHT))
        return;
    const struct rp_scope *replay = rp_segment_replay(rp_thread_self());
    while ((other = find_met(call, replay)) != NULL) {
        since = since ? since : now_ms();
        if (now_ms() - since > PATIENCE_MS) {
            rp_report_under_way(replay ? replay->execution : other->replay->execution, call);
            return;
        }
        rp_core_unlock();
        nanosleep(&pause, NULL);
        rp_core_lock();
    }
}

void rp_underway_linger(bool is_tracked)
{
    const struct timespec while_others_work = {.tv_nsec = 50000000};
    if (!rp_switch_on(RP_SWITCH_HASTE) && is_tracked && !rp_segment_replay(rp_thread_self()))
        nanosleep(&while_others_work, NULL);
}
