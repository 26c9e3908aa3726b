/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/undecided.h"

#include "interpose/calls/unseen.h"
#include "interpose/run/core.h"
#include "interpose/run/report.h"

enum { MOST = 1024 }; /* what comes past it is reported at once */

static struct undecided {
    rp_alloc_id id;
    struct rp_spans spans;
    struct rp_undecided_bytes what;
} list[MOST];
static size_t count;

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

void rp_undecided_add(const struct rp_execution *execution, const struct rp_footprint *call,
                      rp_alloc_id id, uint64_t lo, uint64_t hi, const struct rp_writer *live)
{
    struct rp_undecided_bytes what = {execution->instance->segment, execution->instance->id,
                                      call->name, *live};
    struct undecided *entry = find(id, what.instance);
    if (!entry && count < MOST) {
        entry = &list[count++];
        *entry = (struct undecided){.id = id, .what = what};
    }
    if (!entry || may_be_read_unseen(id) || rp_spans_add(&entry->spans, lo, hi) != RP_OK)
        rp_report_undecided(&what, call, id, lo, hi);
}

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

void rp_undecided_meet(const struct rp_footprint *call)
{
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
    for (size_t i = count; i-- > 0;)
        if (list[i].id == id)
            drop(i);
}

void rp_undecided_forget_all(void)
{
    while (count)
        drop(count - 1);
}
