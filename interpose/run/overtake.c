/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/overtake.h"

#include "cuda/driver_real.h"
#include "cuda/switches.h"
#include "interpose/calls/context.h"
#include "interpose/run/core.h"
#include "interpose/run/remark.h"
#include "interpose/run/report.h"
#include "tracker/idmap.h"
#include "tracker/turn.h"

static struct rp_turns *turns;     /* NULL until there is something to be said of order */
static struct rp_versions *copied; /* by the latest copy that read it and vouches for it */
static struct {
    struct rp_idmap known; /* events that other processes may record, too */
    bool is_short;         /* not all of them */
} shared;

static bool has_turns(void)
{
    return turns || rp_turns_create(&turns) == RP_OK;
}

static rp_stream line_of(rp_stream stream)
{
    return rp_turns_line(turns, stream, rp_driver_legacy_of(stream));
}

/* ---- what the job says -------------------------------------------------------------- */

void rp_overtake_opened(rp_stream stream, bool waits)
{
    if (!has_turns())
        return;
    rp_turns_take(turns, rp_driver_legacy_of(stream), rp_core.seq);
    (void)rp_turns_open(turns, stream, waits, rp_core.seq);
}

void rp_overtake_event_shared(uint64_t event)
{
    if (rp_idmap_insert(&shared.known, event, &shared) != RP_OK)
        shared.is_short = true;
}

void rp_overtake_recorded(uint64_t event, rp_stream stream, uint64_t seq)
{
    if (!turns)
        return;
    if (shared.is_short || rp_idmap_find(&shared.known, event))
        rp_turns_forget(turns, event);
    else
        rp_turns_record(turns, event, line_of(stream), seq);
}

void rp_overtake_event_gone(uint64_t event)
{
    if (turns)
        rp_turns_forget(turns, event);
}

void rp_overtake_event_destroyed(uint64_t event)
{
    rp_idmap_remove(&shared.known, event);
    rp_overtake_event_gone(event);
}

void rp_overtake_events_gone(void)
{
    if (turns)
        rp_turns_forget_events(turns);
}

void rp_overtake_waits(rp_stream stream, uint64_t event)
{
    if (turns)
        rp_turns_wait(turns, line_of(stream), event);
}

/* The end of a stream that waits for others is not that of all of these. */
void rp_overtake_settled(rp_stream stream, uint64_t seq)
{
    if (turns && line_of(stream) == stream)
        rp_turns_settle(turns, stream, seq);
}

static bool is_in_context(uint64_t stream, uint64_t of)
{
    return rp_driver_context_of(stream) == rp_driver_context_of(of);
}

void rp_overtake_settled_context(rp_stream stream, uint64_t seq)
{
    if (turns)
        rp_turns_settle_all(turns, is_in_context, stream, seq);
}

void rp_overtake_settled_event(uint64_t event)
{
    if (turns)
        rp_turns_settle_event(turns, event);
}

/* ---- calls -------------------------------------------------------------------------- */

bool rp_overtake_is_plain(void)
{
    return (!turns || rp_turns_are_plain(turns)) && rp_context_is_one();
}

static bool is_after(rp_stream stream, rp_stream other, uint64_t seq)
{
    return rp_turns_after(turns, line_of(stream), line_of(other), seq);
}

static enum rp_status has_run(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *writer)
{
    const struct rp_footprint *call = ctx;
    (void)lo, (void)hi;
    return !writer->version || is_after(call->stream, writer->stream, writer->seq) ? RP_OK : RP_END;
}

/* What it reads and writes over was there before it: by its calls' order, and in fact. */
static bool is_last(const struct rp_footprint *call)
{
    for (size_t i = 0; i < call->count; i++)
        if (rp_versions_read(rp_core.bench.versions, call->reaches[i].id, call->reaches[i].lo,
                             call->reaches[i].hi, has_run, (void *)(uintptr_t)call) != RP_OK)
            return false;
    return true;
}

struct noting {
    const struct rp_footprint *call;
    rp_alloc_id id;
};

static enum rp_status note_copied(void *ctx, uint64_t lo, uint64_t hi,
                                  const struct rp_writer *writer)
{
    const struct noting *noting = ctx;
    const struct rp_writer copy = {.version = rp_writer_maker(writer), .seq = noting->call->seq,
                                   .stream = noting->call->stream};
    return writer->version ? rp_versions_write(copied, noting->id, lo, hi, &copy) : RP_OK;
}

/* False where a write that comes later could not be held against it. */
static bool note(const struct rp_footprint *call)
{
    if (!copied && rp_versions_create(&copied) != RP_OK)
        return false;
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++) {
        struct noting noting = {call, call->reaches[i].id};
        if (rp_versions_read(rp_core.bench.versions, noting.id, call->reaches[i].lo,
                             call->reaches[i].hi, note_copied, &noting) != RP_OK)
            return false;
    }
    return true;
}

static enum rp_status doubt_copy(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *copy)
{
    const struct rp_footprint *call = ctx;
    (void)lo, (void)hi;
    if (!copy->version || is_after(call->stream, copy->stream, copy->seq))
        return RP_OK;
    rp_remark(rp_name(call->name), "nothing makes it wait for a copy of what it writes: copies of "
                                   "these bytes are not known again");
    return rp_versions_distrust(rp_core.bench.versions, copy->version);
}

static void doubt_copies(const struct rp_footprint *call)
{
    for (size_t i = 0; copied && i < call->count; i++)
        if (call->reaches[i].effect == RP_WRITE)
            if (rp_versions_read(copied, call->reaches[i].id, call->reaches[i].lo,
                                 call->reaches[i].hi, doubt_copy,
                                 (void *)(uintptr_t)call) == RP_NO_MEMORY)
                rp_report_unfollowed(call, "the host is out of memory");
}

void rp_overtake_meet(struct rp_footprint *call)
{
    bool is_default = call->stream == rp_driver_legacy_of(call->stream);
    /* whatever comes later comes behind it */
    bool is_waited_for = is_default || call->host.taken_bytes;
    bool vouches = call->is_copy || call->host.brought.maker || call->host.taken_bytes;
    bool is_trusted = !rp_switch_on(RP_SWITCH_TURNS);
    call->is_in_turn = !call->is_copy || is_waited_for || is_trusted;
    if (is_trusted)
        return;
    if (!rp_overtake_is_plain() && has_turns()) {
        rp_turns_take(turns, line_of(call->stream), call->seq);
        doubt_copies(call);
        call->is_in_turn = call->is_in_turn && (!vouches || is_last(call));
    }
    if (!call->is_in_turn)
        call->host.brought = (struct rp_provenance){0};
    else if (call->is_copy && !call->host.taken_bytes)
        call->is_in_turn = note(call);
}

void rp_overtake_forget(rp_alloc_id id)
{
    if (copied)
        rp_versions_forget(copied, id);
}

void rp_overtake_forget_all(void)
{
    rp_versions_destroy(copied);
    rp_turns_destroy(turns);
    rp_idmap_release(&shared.known);
    shared.is_short = false;
    copied = NULL;
    turns = NULL;
}
