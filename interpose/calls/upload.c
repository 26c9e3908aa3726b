/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/upload.h"

#include "cuda/driver_real.h"
#include "cuda/switches.h"
#include "interpose/calls/unseen.h"
#include "interpose/run/core.h"
#include "interpose/run/execution.h"
#include "interpose/run/overtake.h"
#include "interpose/run/report.h"
#include "interpose/run/segment.h"

#include <string.h>

#define SEVERAL UINT64_MAX /* no version */

enum { MOST_COPIES = 128, MOST_TABLES = 64 };

/* A ring: the oldest are overwritten. */
static struct {
    struct copy {
        rp_version version; /* 0: forgotten */
        rp_alloc_id id;
        uint64_t lo, bytes;
        unsigned char content[RP_UPLOAD_BYTES];
    } list[MOST_COPIES];
    size_t next;
} copies;

/* What launches were told, and may not have looked at yet. */
static struct table {
    rp_alloc_id id;
    uint64_t lo, hi;
    rp_stream stream; /* of the launch */
} tables[MOST_TABLES];
static size_t table_count;

/* ---- copies ----------------------------------------------------------------------- */

static bool is_default(rp_stream stream)
{
    return stream == rp_driver_legacy_of(stream);
}

/* Most copies have other things to bring. */
static bool has_pointers(const unsigned char *bytes, uint64_t size)
{
    uint64_t lo, hi;
    rp_memory_bounds(rp_core.bench.memory, &lo, &hi);
    for (uint64_t at = 0; at + 8 <= size; at += 8) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof word);
        if (word && word >= lo && word < hi)
            return true;
    }
    return false;
}

static const struct rp_reach *only_write(const struct rp_footprint *call)
{
    const struct rp_reach *found = NULL;
    for (size_t i = 0; i < call->count; i++) {
        if (call->reaches[i].effect != RP_WRITE)
            continue;
        if (found)
            return NULL;
        found = &call->reaches[i];
    }
    return found && found->certain ? found : NULL;
}

/* A replay's copy has the version of the one that it repeats, and need not bring the same. */
static struct copy *place_of(rp_version version)
{
    for (size_t i = 0; i < MOST_COPIES; i++)
        if (copies.list[i].version == version)
            return &copies.list[i];
    return &copies.list[copies.next++ % MOST_COPIES];
}

void rp_upload_note(const struct rp_footprint *call)
{
    const struct rp_reach *to = only_write(call);
    uint64_t bytes = call->host.upload_bytes;
    if (!to || !bytes || bytes > RP_UPLOAD_BYTES || call->served || to->hi - to->lo != bytes ||
        !is_default(call->stream) || !rp_overtake_is_plain() ||
        !has_pointers(call->host.upload, bytes))
        return;
    struct copy *copy = place_of(call->version);
    copy->version = call->version;
    copy->id = to->id;
    copy->lo = to->lo;
    copy->bytes = bytes;
    memcpy(copy->content, call->host.upload, bytes);
}

static void forget_copies(void)
{
    for (size_t i = 0; i < MOST_COPIES; i++)
        copies.list[i].version = 0;
}

/* ---- replays ---------------------------------------------------------------------- */

static enum rp_status take(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *writer)
{
    rp_version *version = ctx;
    (void)lo, (void)hi;
    *version = *version && *version != writer->version ? SEVERAL : writer->version;
    return RP_OK;
}

/* What stands at [lo, hi) now, of this writer, is what a replay of the instance finds there: it is
 * as the forward found it, or has left it, or lies out of its way. */
static bool is_as_in(const struct rp_instance *instance, rp_alloc_id id, uint64_t lo, uint64_t hi,
                     const struct rp_writer *writer)
{
    rp_version expected = 0;
    (void)rp_versions_read(instance->expected, id, lo, hi, take, &expected);
    if (expected)
        return expected == writer->version;
    return writer->version <= instance->since || writer->made_in == (uint32_t)instance->id;
}

/* It was there before any of the forwards that a replay may be of. */
static bool is_older_than_all(const struct rp_writer *writer)
{
    for (size_t i = 0; i < rp_executions_count(); i++)
        if (writer->version > rp_executions_at(i)->instance->since)
            return false;
    return true;
}

/* A guard puts back what the forward found, and again what stood there, as its calls come: what
 * stands there now need not be what this one finds. */
static bool will_stand(rp_alloc_id id, uint64_t lo, uint64_t hi, const struct rp_writer *writer)
{
    struct rp_thread *thread = rp_thread_self();
    struct rp_scope *replay = rp_segment_replay(thread);
    if (!rp_core_keeps() || (!replay && !rp_transactions_count()))
        return true;
    if (!replay || !replay->settled || !replay->execution)
        return is_older_than_all(writer);
    return rp_segment_owner(thread, replay) == replay &&
           is_as_in(replay->execution->instance, id, lo, hi, writer);
}

/* ---- tables ----------------------------------------------------------------------- */

struct looking {
    rp_alloc_id id;
    uint64_t lo;
    unsigned char *out;
};

static const struct copy *copy_of(rp_version version, rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    for (size_t i = 0; version && i < MOST_COPIES; i++) {
        const struct copy *copy = &copies.list[i];
        if (copy->version == version && copy->id == id && lo >= copy->lo &&
            hi <= copy->lo + copy->bytes)
            return copy;
    }
    return NULL;
}

static enum rp_status look(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *writer)
{
    const struct looking *looking = ctx;
    const struct copy *copy = copy_of(writer->version, looking->id, lo, hi);
    if (!copy || writer->speculative || !will_stand(looking->id, lo, hi, writer))
        return RP_END;
    memcpy(looking->out + (lo - looking->lo), copy->content + (lo - copy->lo), hi - lo);
    return RP_OK;
}

/* So that who writes there is held against it; false when there is no more room. */
static bool rely(rp_alloc_id id, uint64_t lo, uint64_t hi, rp_stream stream)
{
    for (size_t i = 0; i < table_count; i++)
        if (tables[i].id == id && tables[i].lo <= lo && tables[i].hi >= hi &&
            tables[i].stream == stream)
            return true;
    if (table_count == MOST_TABLES)
        return false;
    tables[table_count++] = (struct table){id, lo, hi, stream};
    return true;
}

/* What can be mapped twice, a kernel may write by the one address and read by the other; and a
 * module's variable may be managed, and the host's to write. */
static bool has_one_way_in(const struct rp_alloc *alloc)
{
    return (alloc->kind == RP_ALLOC_DEVICE || alloc->kind == RP_ALLOC_POOL) &&
           !rp_unseen_why(alloc);
}

bool rp_upload_known(void *ctx, uint64_t address, uint64_t bytes, void *out)
{
    const rp_stream *stream = ctx;
    uint64_t offset, left;
    rp_alloc_id id;
    if (!rp_core.segments_wanted || !rp_overtake_is_plain() || !rp_switch_on(RP_SWITCH_TABLES) ||
        rp_memory_find(rp_core.bench.memory, address, &id, &offset, &left) != RP_OK || bytes > left)
        return false;
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, id);
    struct looking looking = {id, offset, out};
    return alloc && has_one_way_in(alloc) &&
           rp_versions_read(rp_core.bench.versions, id, offset, offset + bytes, look, &looking) ==
               RP_OK &&
           rely(id, offset, offset + bytes, *stream);
}

/* All that goes by a table before the call has looked, when the call runs. */
static bool waits_for(const struct rp_footprint *call, const struct table *table)
{
    return call->stream == table->stream || is_default(call->stream) ||
           (is_default(table->stream) && rp_overtake_is_plain());
}

static bool overtakes(const struct rp_footprint *call)
{
    for (size_t i = 0; i < call->count; i++)
        for (size_t j = 0; call->reaches[i].effect == RP_WRITE && j < table_count; j++)
            if (tables[j].id == call->reaches[i].id && tables[j].lo < call->reaches[i].hi &&
                call->reaches[i].lo < tables[j].hi && !waits_for(call, &tables[j]))
                return true;
    return false;
}

void rp_upload_meet(struct rp_footprint *call)
{
    if (table_count && rp_switch_on(RP_SWITCH_OVERTAKEN) && overtakes(call)) {
        call->reason = "nothing makes it wait for a launch that goes by the pointers that it "
                       "writes over";
        if (rp_footprint_everything(call, RP_WRITE) != RP_OK)
            rp_report_unfollowed(call, "the host is out of memory");
    }
    if (call->writes >= RP_VERDICT_REACHABLE && rp_footprint_is_unproved(call))
        forget_copies();
}

void rp_upload_forget(rp_alloc_id id)
{
    for (size_t i = 0; i < MOST_COPIES; i++)
        if (copies.list[i].id == id)
            copies.list[i].version = 0;
    for (size_t i = 0; i < table_count; i++)
        if (tables[i].id == id)
            tables[i--] = tables[--table_count];
}

void rp_upload_forget_all(void)
{
    forget_copies();
    table_count = 0;
}
