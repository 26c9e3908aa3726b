/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/written.h"

#include "cuda/switches.h"
#include "interpose/calls/offload.h"
#include "interpose/calls/unseen.h"
#include "interpose/calls/upload.h"
#include "interpose/run/core.h"
#include "interpose/run/keep.h"
#include "interpose/run/overtake.h"
#include "interpose/run/report.h"
#include "interpose/run/segment.h"

/* One stretch at a time: the map may not change while it is walked. */
struct stretch {
    struct rp_writer old;
    uint64_t hi; /* its end, or that of what was to be visited */
};

static enum rp_status take_first(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *old)
{
    (void)lo;
    *(struct stretch *)ctx = (struct stretch){*old, hi};
    return RP_END;
}

static struct stretch first_of(rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    struct stretch first = {.hi = hi};
    (void)rp_versions_read(rp_core.bench.versions, id, lo, hi, take_first, &first);
    return first;
}

/* After a write that is not noted, what was there before would pass for what is there. */
static void note_write(const struct rp_footprint *call, rp_alloc_id id, uint64_t lo, uint64_t hi,
                       const struct rp_writer *writer)
{
    if (rp_versions_write(rp_core.bench.versions, id, lo, hi, writer) != RP_OK)
        rp_report_unfollowed(call, "the host is out of memory");
}

/* ---- what goes on from what it finds ---------------------------------------------------- */

static bool modifies(const struct rp_footprint *call, const struct rp_reach *write)
{
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++) {
        const struct rp_reach *read = &call->reaches[i];
        if (read->id == write->id && read->lo < write->hi && write->lo < read->hi)
            return true;
    }
    return false;
}

static void write_modified(const struct rp_footprint *call, const struct rp_reach *reach,
                           struct rp_writer writer)
{
    for (uint64_t lo = reach->lo; lo < reach->hi;) {
        struct stretch found = first_of(reach->id, lo, reach->hi);
        writer.origin = found.old.origin ? found.old.origin : writer.version;
        note_write(call, reach->id, lo, found.hi, &writer);
        lo = found.hi;
    }
}

/* ---- copies ------------------------------------------------------------------------- */

enum { MOST_PIECES = 64 }; /* a copy of more is bytes of its own: maps must not grow by copying */

static bool is_seen(rp_alloc_id id)
{
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, id);
    return alloc && !rp_unseen_why(alloc);
}

/* The read that holds what comes `at` so many bytes in the copy, or NULL. */
static const struct rp_reach *read_at(const struct rp_footprint *call, uint64_t at)
{
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++) {
        const struct rp_reach *read = &call->reaches[i];
        if (read->from <= at && at - read->from < read->hi - read->lo)
            return read->certain && is_seen(read->id) ? read : NULL;
    }
    return NULL;
}

/* From `lo` on: one stretch of what is copied there keeps its maker. Returns where it ends, or `lo`
 * where nothing vouches for it. */
static uint64_t copy_piece(const struct rp_footprint *call, const struct rp_reach *write,
                           uint64_t lo, struct rp_writer writer)
{
    uint64_t at = write->from + (lo - write->lo);
    const struct rp_reach *read = read_at(call, at);
    if (!read)
        return lo;
    uint64_t from = read->lo + (at - read->from), left = write->hi - lo;
    uint64_t end = read->hi - from < left ? read->hi : from + left;
    struct stretch copied = first_of(read->id, from, end);
    if (!copied.old.version || copied.old.speculative ||
        !rp_versions_trust(rp_core.bench.versions, rp_writer_maker(&copied.old)))
        return lo;
    writer.source = rp_writer_maker(&copied.old);
    writer.place = copied.old.place + (lo - from);
    writer.value = copied.old.value;
    uint64_t hi = lo + (copied.hi - from);
    return rp_versions_write(rp_core.bench.versions, write->id, lo, hi, &writer) == RP_OK ? hi : lo;
}

static void write_copied(const struct rp_footprint *call, const struct rp_reach *write,
                         const struct rp_writer *writer)
{
    uint64_t lo = write->lo;
    bool vouched = write->certain && is_seen(write->id) && call->is_in_turn &&
                   rp_switch_on(RP_SWITCH_COPIES);
    for (unsigned pieces = 0; vouched && lo < write->hi && pieces < MOST_PIECES; pieces++) {
        uint64_t hi = copy_piece(call, write, lo, *writer);
        vouched = hi > lo;
        lo = hi;
    }
    if (lo < write->hi)
        note_write(call, write->id, lo, write->hi, writer);
}

/* From the host, where they had been taken before. */
static void write_brought(const struct rp_footprint *call, const struct rp_reach *write,
                          struct rp_writer writer)
{
    if (write->certain && is_seen(write->id)) {
        writer.source = call->host.brought.maker;
        writer.place = write->lo - write->from - call->host.brought.begin;
    }
    note_write(call, write->id, write->lo, write->hi, &writer);
}

/* ---- a call ------------------------------------------------------------------------- */

/* The instance that the call belongs to: the replay's that it repeats, or the innermost forward's,
 * or 0. */
static uint64_t instance_of(const struct rp_footprint *call)
{
    const struct rp_thread *thread = rp_thread_self();
    if (call->replay && call->repeats)
        return call->replay->execution->instance->id;
    for (unsigned i = thread->scope_count; i-- > 0;)
        if (thread->scopes[i].kind == RP_SCOPE_FORWARD)
            return thread->scopes[i].execution->instance->id;
    return 0;
}

static struct rp_writer writer_of(const struct rp_footprint *call)
{
    uint64_t deed = rp_core_keeps() ? rp_footprint_deed(call) : 0;
    return (struct rp_writer){
        .version = call->version,
        .origin = call->version,
        .seq = call->seq,
        .launch = call->launch,
        .stream = call->stream,
        .step = rp_core.step,
        .name = call->name,
        .made_in = (uint32_t)instance_of(call),
        .deed = rp_keep_discovers() ? deed : 0,
        .value = deed,
        .settled = call->host.taken_bytes > 0,
        .uploaded = call->is_upload && !call->host.brought.maker,
        .copied = call->is_transfer,
    };
}

void rp_written_note(const struct rp_footprint *call)
{
    struct rp_writer writer = writer_of(call);
    uint64_t nth = 0; /* of the stretches that it writes: bytes of one are never another's */
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (reach->effect != RP_WRITE)
            continue;
        nth += reach->from == 0;
        writer.place = reach->lo - reach->from - nth * RP_FIRST_PLACE;
        writer.speculative = reach->verdict >= RP_VERDICT_REACHABLE;
        if (!reach->certain && rp_core_keeps())
            rp_crossing_claim(rp_core.bench.crossing, reach->id, reach->lo, reach->hi,
                              call->stream);
        if (modifies(call, reach))
            write_modified(call, reach, writer);
        else if (call->is_copy)
            write_copied(call, reach, &writer);
        else if (call->host.brought.maker)
            write_brought(call, reach, writer);
        else
            note_write(call, reach->id, reach->lo, reach->hi, &writer);
    }
    rp_upload_note(call);
    if (!call->host.taken_bytes)
        return;
    if (call->is_in_turn)
        rp_offload_note(call);
    rp_overtake_settled(call->stream, call->seq);
}
