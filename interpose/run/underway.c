/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/underway.h"

#include "cuda/switches.h"
#include "interpose/run/core.h"
#include "interpose/run/remark.h"
#include "interpose/run/report.h"
#include "interpose/run/segment.h"
#include "tracker/array.h"

#include <time.h>

enum { PATIENCE_MS = 4000, PAUSE_US = 20 };

static struct {
    struct rp_under_way *calls;
    size_t count, capacity;
    bool is_blind;
} underway;

void rp_underway_begins(const struct rp_footprint *call)
{
    if (!rp_core_keeps() || !rp_core.segments_wanted)
        return;
    void *bigger = rp_array_reserve(underway.calls, &underway.capacity, underway.count + 1,
                                    sizeof *underway.calls);
    if (!bigger) {
        underway.is_blind = true;
        rp_remark(rp_name(call->name), "the host is out of memory: replays do not wait for it");
        return;
    }
    underway.calls = bigger;
    underway.calls[underway.count++] = (struct rp_under_way){call, rp_thread_self()};
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

size_t rp_underway_count(void)
{
    return underway.count;
}

const struct rp_under_way *rp_underway_at(size_t index)
{
    return &underway.calls[index];
}

bool rp_underway_is_blind(void)
{
    return underway.is_blind;
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

/* Of a replay, that is of which one ... */
struct replaying {
    struct rp_thread *thread;
    const struct rp_footprint *call;
    const struct rp_scope *replay; /* ... or NULL: then it may begin one yet */
};

static bool may_repeat(const struct replaying *by, uint32_t segment)
{
    return by->replay ? by->replay->segment == segment
                      : rp_segment_may_replay(by->thread, segment, by->call);
}

static bool is_replaying(const struct replaying *by)
{
    bool may = by->replay;
    for (uint32_t i = 0; !may && i < rp_core.config.contract->segment_count; i++)
        may = may_repeat(by, i);
    return may;
}

/* Which forward of the segment it repeats may depend on the call. */
static bool meets_kept(const struct rp_footprint *other, const struct replaying *by)
{
    for (size_t i = 0; i < rp_executions_count(); i++) {
        const struct rp_execution *execution = rp_executions_at(i);
        if ((meets_copies(other, execution->kept) || meets_copies(other, execution->recalled)) &&
            may_repeat(by, execution->instance->segment))
            return true;
    }
    return false;
}

/* Of a graph it is not known yet what its nodes meet. */
static const struct rp_footprint *find_met(const struct replaying *by)
{
    bool is_replays = is_replaying(by);
    for (size_t i = 0; i < underway.count; i++) {
        const struct rp_footprint *other = underway.calls[i].call;
        if (underway.calls[i].thread == by->thread || (!is_replays && !other->replay))
            continue;
        if (rp_footprint_is_unproved(other) || meets_call(other, by->call) ||
            (by->call->in_graph && other->replay) || meets_kept(other, by))
            return other;
    }
    return NULL;
}

/* ---- waiting ------------------------------------------------------------------------------ */

void rp_underway_await(const struct rp_footprint *call)
{
    const struct timespec pause = {.tv_nsec = PAUSE_US * 1000};
    const struct rp_footprint *other;
    uint64_t since = 0;
    if (!underway.count || !rp_core_guards() || !rp_core.segments_wanted ||
        !rp_switch_on(RP_SWITCH_INFLIGHT))
        return;
    struct rp_thread *thread = rp_thread_self();
    const struct replaying by = {thread, call, rp_segment_replay(thread)};
    while ((other = find_met(&by)) != NULL) {
        const struct rp_scope *replay = by.replay ? by.replay : other->replay;
        since = since ? since : rp_core_now_ms();
        if (rp_core_now_ms() - since > PATIENCE_MS) {
            rp_report_under_way(replay ? replay->execution : NULL, call);
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
