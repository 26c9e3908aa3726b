/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/undecided.h"

#include "interpose/calls/unseen.h"
#include "interpose/run/core.h"
#include "interpose/run/keep.h"
#include "interpose/run/report.h"

enum { MOST = 1024 }; /* what comes past it is reported at once */

static struct undecided {
    rp_alloc_id id;
    struct rp_spans spans;
    struct rp_undecided_bytes what;
} list[MOST];
static size_t count;
static struct rp_versions *looked_at; /* by the latest call that read it and was no replay's */

static void drop(size_t at)
{
    rp_spans_release(&list[at].spans);
    list[at] = list[--count];
    list[count] = (struct undecided){0};
}

/* What no call would be seen to read. */
static bool may_be_read_unseen(rp_alloc_id id)
{
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, id);
    return !alloc || rp_unseen_why(alloc);
}

static struct undecided *find(rp_alloc_id id, uint64_t instance)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].id == id && list[i].what.instance == instance)
            return &list[i];
    return NULL;
}

static void add(const struct rp_undecided_bytes *what, const struct rp_footprint *call,
                rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    struct undecided *entry = find(id, what->instance);
    if (!entry && count < MOST) {
        entry = &list[count++];
        *entry = (struct undecided){.id = id, .what = *what};
    }
    if (!entry || may_be_read_unseen(id) || rp_spans_add(&entry->spans, lo, hi) != RP_OK)
        rp_report_undecided(what, call, id, lo, hi);
}

void rp_undecided_add(const struct rp_execution *execution, const struct rp_footprint *call,
                      rp_alloc_id id, uint64_t lo, uint64_t hi, const struct rp_writer *live)
{
    const struct rp_undecided_bytes what = {execution->instance->segment, execution->instance->id,
                                            call->name, *live, false};
    add(&what, call, id, lo, hi);
}

/* ---- what is reinstated ------------------------------------------------------------ */

struct reinstating {
    const struct rp_execution *execution;
    struct rp_undecided_bytes what;
    rp_alloc_id id;
    rp_version expected; /* that the forward went on from */
    bool served;         /* what it made is not made again */
};

static bool is_blind(const struct rp_writer *writer)
{
    return writer->version && writer->origin == writer->version;
}

static void doubt(const struct reinstating *at, uint64_t lo, uint64_t hi)
{
    const struct rp_footprint call = {.name = at->what.replayed};
    add(&at->what, &call, at->id, lo, hi);
}

/* The replay has gone on from what its forward went on from. */
static enum rp_status doubt_evolved(void *ctx, uint64_t lo, uint64_t hi,
                                    const struct rp_writer *made)
{
    const struct reinstating *at = ctx;
    if (made->origin == at->expected && made->version != at->expected)
        doubt(at, lo, hi);
    return RP_OK;
}

/* The live value is the one that the forward went on from, made once more. */
static enum rp_status doubt_repeated(void *ctx, uint64_t lo, uint64_t hi,
                                     const struct rp_writer *expected)
{
    struct reinstating *at = ctx;
    at->expected = expected->version;
    if (!expected->deed || expected->deed != at->what.live.deed || !is_blind(expected) ||
        expected->step != at->what.live.step) /* what comes once a step is state that is reset */
        return RP_OK;
    if (!at->served)
        return rp_versions_read(rp_core.bench.versions, at->id, lo, hi, doubt_evolved, at);
    doubt(at, lo, hi);
    return RP_OK;
}

/* Nobody has read these bytes of the state: whoever has put something else there may have known
 * that they are none. */
static void doubt_torn(const struct reinstating *at, uint64_t lo, uint64_t hi)
{
    const struct rp_live *known = rp_instance_live(at->execution->instance, at->id);
    struct rp_spans torn = {0};
    if (!known || rp_spans_within(&known->torn, lo, hi, &torn) != RP_OK)
        return;
    for (size_t i = 0; i < torn.count; i++)
        doubt(at, torn.items[i].lo, torn.items[i].hi);
    rp_spans_release(&torn);
}

static enum rp_status is_later(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *reader)
{
    (void)lo, (void)hi;
    return reader->seq > *(const uint64_t *)ctx ? RP_END : RP_OK;
}

/* Somebody has read the live value before the replay came: it was meant to stand. */
static bool is_in_use(rp_alloc_id id, uint64_t lo, uint64_t hi, uint64_t since)
{
    return looked_at && rp_versions_read(looked_at, id, lo, hi, is_later, &since) != RP_OK;
}

static enum rp_status doubt_live(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *live)
{
    struct reinstating *at = ctx;
    const struct rp_execution *execution = at->execution;
    bool is_own = false; /* of a later call of the forward itself */
    for (size_t i = 0; i < execution->log_count; i++)
        is_own = is_own || execution->log[i].version == live->version;
    if (is_own || !is_blind(live) || live->seq <= execution->instance->since ||
        is_in_use(at->id, lo, hi, live->seq))
        return RP_OK;
    at->what.live = *live;
    doubt_torn(at, lo, hi);
    return rp_versions_read(execution->instance->expected, at->id, lo, hi, doubt_repeated, at);
}

void rp_undecided_reinstate(const struct rp_execution *execution, uint32_t replayed,
                            const struct rp_versions *live, rp_alloc_id id, uint64_t lo,
                            uint64_t hi)
{
    const struct rp_instance *instance = execution->instance;
    struct reinstating at = {
        .execution = execution,
        .what = {instance->segment, instance->id, replayed, {0}, true},
        .id = id,
    };
    const struct rp_live *known = rp_instance_live(instance, id);
    struct rp_spans made = {0};
    if (known && rp_spans_within(&known->replayed, lo, hi, &made) == RP_OK)
        for (size_t i = 0; i < made.count; i++)
            rp_versions_read(live, id, made.items[i].lo, made.items[i].hi, doubt_live, &at);
    rp_spans_release(&made);
}

void rp_undecided_leave(const struct rp_execution *execution, const struct rp_footprint *call,
                        rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    const struct rp_instance *instance = execution->instance;
    struct reinstating at = {
        .execution = execution,
        .what = {instance->segment, instance->id, call->name, {0}, true},
        .id = id,
        .served = true,
    };
    rp_versions_read(rp_core.bench.versions, id, lo, hi, doubt_live, &at);
}

/* ---- who reads it ------------------------------------------------------------------- */

static void meet(size_t at, const struct rp_footprint *call, const struct rp_reach *reach)
{
    struct undecided *entry = &list[at];
    struct rp_spans read = {0};
    if (reach->effect == RP_WRITE) {
        if (reach->certain)
            rp_spans_remove(&entry->spans, reach->lo, reach->hi);
        return;
    }
    if (rp_spans_within(&entry->spans, reach->lo, reach->hi, &read) != RP_OK)
        rp_report_undecided(&entry->what, call, reach->id, reach->lo, reach->hi);
    for (size_t i = 0; i < read.count; i++)
        rp_report_undecided(&entry->what, call, reach->id, read.items[i].lo, read.items[i].hi);
    rp_spans_release(&read);
}

static void look(const struct rp_footprint *call)
{
    if (!rp_core_keeps() || !rp_keep_discovers() ||
        (!looked_at && rp_versions_create(&looked_at) != RP_OK))
        return;
    const struct rp_writer reader = {.version = 1, .seq = call->seq};
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++)
        rp_versions_write(looked_at, call->reaches[i].id, call->reaches[i].lo,
                          call->reaches[i].hi, &reader);
}

void rp_undecided_meet(const struct rp_footprint *call)
{
    look(call);
    for (size_t i = count; i-- > 0;) {
        for (size_t j = 0; j < call->count; j++) /* reads come before writes */
            if (call->reaches[j].id == list[i].id)
                meet(i, call, &call->reaches[j]);
        if (!list[i].spans.count)
            drop(i);
    }
}

void rp_undecided_forget(rp_alloc_id id)
{
    if (looked_at)
        rp_versions_forget(looked_at, id);
    for (size_t i = count; i-- > 0;)
        if (list[i].id == id)
            drop(i);
}

void rp_undecided_forget_all(void)
{
    rp_versions_destroy(looked_at);
    looked_at = NULL;
    while (count)
        drop(count - 1);
}
