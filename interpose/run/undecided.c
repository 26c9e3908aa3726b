/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/undecided.h"

#include "cuda/switches.h"
#include "interpose/calls/unseen.h"
#include "interpose/run/core.h"
#include "interpose/run/keep.h"
#include "interpose/run/remark.h"
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

/* What is suspected is told of once for all that an instance has of an allocation; what is taken
 * for right, by who had put it there and who has used it. */
static bool is_alike(const struct rp_undecided_bytes *a, const struct rp_undecided_bytes *b)
{
    if (a->instance != b->instance || a->assumed != b->assumed)
        return false;
    return !a->assumed || (a->live.version == b->live.version && a->looker == b->looker &&
                           a->replayed == b->replayed);
}

static struct undecided *find(rp_alloc_id id, const struct rp_undecided_bytes *what)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].id == id && is_alike(&list[i].what, what))
            return &list[i];
    return NULL;
}

static void add(const struct rp_undecided_bytes *what, const struct rp_footprint *call,
                rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    struct undecided *entry = find(id, what);
    if (!entry && count < MOST) {
        entry = &list[count++];
        *entry = (struct undecided){.id = id, .what = *what};
    }
    if (!entry || may_be_read_unseen(id) || rp_spans_add(&entry->spans, lo, hi) != RP_OK)
        rp_report_undecided(what, call, id, lo, hi);
}

/* ---- who has looked at it -------------------------------------------------------------- */

struct looking {
    const struct rp_undecided_bytes *what;
    const struct rp_footprint *call;
    const struct rp_spans *own; /* what the forward has written; of the rest the unread counts */
    rp_alloc_id id;
};

static enum rp_status add_by_looker(void *ctx, uint64_t lo, uint64_t hi,
                                    const struct rp_writer *reader)
{
    const struct looking *looking = ctx;
    struct rp_undecided_bytes what = *looking->what;
    what.looker = reader->seq > what.live.seq ? reader->name : 0;
    if (!what.looker || !looking->own || rp_spans_overlaps(looking->own, lo, hi))
        add(&what, looking->call, looking->id, lo, hi);
    return RP_OK;
}

/* Takes it that all is well with [lo, hi), unless somebody reads it for whom it may not be. */
static void assume(const struct looking *looking, uint64_t lo, uint64_t hi)
{
    static const struct rp_writer nobody;
    if (looked_at)
        (void)rp_versions_read(looked_at, looking->id, lo, hi, add_by_looker,
                               (void *)(uintptr_t)looking);
    else
        (void)add_by_looker((void *)(uintptr_t)looking, lo, hi, &nobody);
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

/* ---- what a replay makes anew --------------------------------------------------------- */

/* The segment itself has made this value, in whichever of its calls. */
static bool is_own(const struct rp_execution *execution, rp_version version)
{
    for (size_t i = 0; i < execution->log_count; i++)
        if (execution->log[i].version == version)
            return true;
    return false;
}

/* What of [lo, hi) nothing says to be state. */
static enum rp_status leave_out_state(const struct rp_execution *execution, rp_alloc_id id,
                                      uint64_t lo, uint64_t hi, struct rp_spans *rest)
{
    const struct rp_live *known = rp_instance_live(execution->instance, id);
    const struct rp_spans *declared = rp_state_of(rp_core.state, id);
    enum rp_status status = rp_spans_add(rest, lo, hi);
    if (status == RP_OK && known)
        status = rp_spans_remove_all(rest, &known->live_in);
    return status == RP_OK && declared ? rp_spans_remove_all(rest, declared) : status;
}

struct remaking {
    const struct rp_execution *execution;
    const struct rp_footprint *call;
    rp_alloc_id id;
    rp_version forward; /* what the forward's own call wrote */
};

static enum rp_status doubt_overwritten(void *ctx, uint64_t lo, uint64_t hi,
                                        const struct rp_writer *live)
{
    static const struct rp_spans nothing;
    const struct remaking *at = ctx;
    const struct rp_instance *instance = at->execution->instance;
    if (!live->version || is_own(at->execution, live->version))
        return RP_OK;
    const struct rp_undecided_bytes what = {
        .segment = instance->segment, .instance = instance->id, .replayed = at->call->name,
        .live = *live, .assumed = live->origin != at->forward || !rp_keep_discovers()};
    const struct rp_live *known = rp_instance_live(instance, at->id);
    const struct looking looking = {&what, at->call, known ? &known->touched : &nothing, at->id};
    struct rp_spans blind = {0};
    if (leave_out_state(at->execution, at->id, lo, hi, &blind) == RP_OK)
        for (size_t i = 0; i < blind.count; i++) {
            if (what.assumed)
                assume(&looking, blind.items[i].lo, blind.items[i].hi);
            else
                add(&what, at->call, at->id, blind.items[i].lo, blind.items[i].hi);
        }
    rp_spans_release(&blind);
    return RP_OK;
}

void rp_undecided_remake(const struct rp_execution *execution, const struct rp_footprint *call)
{
    if (!rp_switch_on(RP_SWITCH_DOUBTS))
        return;
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        struct remaking at = {execution, call, reach->id, execution->log[call->entry].version};
        if (reach->effect == RP_WRITE)
            (void)rp_versions_read(rp_core.bench.versions, reach->id, reach->lo, reach->hi,
                                   doubt_overwritten, &at);
    }
}

/* ---- what is reinstated ------------------------------------------------------------ */

struct reinstating {
    const struct rp_execution *execution;
    struct rp_undecided_bytes what;
    rp_alloc_id id;
    struct rp_span made; /* by the replay, in one piece */
    rp_version expected; /* that the forward went on from */
    bool served;         /* what it made is not made again */
    bool faint;          /* no more than a remark is due */
};

static bool is_blind(const struct rp_writer *writer)
{
    return writer->version && writer->origin == writer->version;
}

static void doubt(const struct reinstating *at, uint64_t lo, uint64_t hi)
{
    const struct rp_footprint call = {.name = at->what.replayed};
    const struct looking looking = {&at->what, &call, NULL, at->id};
    if (at->faint)
        rp_remark(rp_name(at->what.live.name), RP_SET_ASIDE);
    else if (at->what.assumed)
        assume(&looking, lo, hi);
    else
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

/* The very same was put there once more, in all that the replay has gone on from, and nobody has
 * looked at it. What comes once a step is state that is reset. */
static bool is_put_again(const struct reinstating *at, const struct rp_writer *expected,
                         uint64_t lo, uint64_t hi)
{
    const struct rp_writer *live = &at->what.live;
    bool is_same = (expected->deed && expected->deed == live->deed) ||
                   rp_writer_same_bytes(expected, live);
    return is_blind(live) && is_blind(expected) && is_same && expected->step == live->step &&
           lo <= at->made.lo && hi >= at->made.hi && !is_in_use(at->id, lo, hi, live->seq);
}

/* Both values were begun anew: the one since the forward began, the other since the forward before
 * it did. An output that is zeroed and added to looks like this. */
static bool is_begun_anew(const struct reinstating *at, const struct rp_writer *expected)
{
    const struct rp_instance *instance = at->execution->instance;
    return at->what.live.origin > instance->since && expected->origin > instance->before;
}

/* A copy has brought it there, and it may be what the forward went on from: a replay that works on
 * its input in place finds it so. What a state is set to is made anew, as a rule. */
static bool is_brought_back(const struct reinstating *at, const struct rp_writer *expected)
{
    const struct rp_writer *live = &at->what.live;
    bool is_known = live->source != 0;
    bool is_copied_back = is_known && rp_writer_same_bytes(expected, live);
    return live->uploaded || (live->copied && !is_known) || is_copied_back;
}

/* A kernel or a set has made it anew, from the same. */
static bool is_made_again(const struct reinstating *at, const struct rp_writer *expected)
{
    const struct rp_writer *live = &at->what.live;
    return live->value && live->value == expected->value && live->place == expected->place;
}

/* What is named is state, whoever has put something else there: of that, no more than a remark is
 * due. */
static bool doubts_declared(struct reinstating *at, const struct rp_writer *expected)
{
    at->faint = !is_brought_back(at, expected) && !is_made_again(at, expected);
    return is_blind(&at->what.live);
}

/* The live value may be the one that the forward went on from, put there once more. */
static enum rp_status doubt_repeated(void *ctx, uint64_t lo, uint64_t hi,
                                     const struct rp_writer *expected)
{
    struct reinstating *at = ctx;
    at->expected = expected->origin;
    at->faint = false;
    at->what.assumed = at->what.declared || !is_put_again(at, expected, lo, hi);
    if (at->what.declared ? !doubts_declared(at, expected)
                          : at->what.assumed && !is_begun_anew(at, expected))
        return RP_OK;
    if (!at->served)
        return rp_versions_read(rp_core.bench.versions, at->id, lo, hi, doubt_evolved, at);
    doubt(at, lo, hi);
    return RP_OK;
}

/* Nobody has read these bytes of the state: whoever has put something else there may have known
 * that they are none. */
static void doubt_torn(struct reinstating *at, uint64_t lo, uint64_t hi)
{
    const struct rp_live *known = rp_instance_live(at->execution->instance, at->id);
    struct rp_spans torn = {0};
    at->what.assumed = true;
    if (!known || rp_spans_within(&known->torn, lo, hi, &torn) != RP_OK)
        return;
    for (size_t i = 0; i < torn.count; i++)
        doubt(at, torn.items[i].lo, torn.items[i].hi);
    rp_spans_release(&torn);
}

static enum rp_status doubt_live(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *live)
{
    struct reinstating *at = ctx;
    const struct rp_execution *execution = at->execution;
    if (live->seq <= execution->instance->since || is_own(execution, live->version))
        return RP_OK;
    at->what.live = *live;
    if (is_blind(live) && !at->what.declared)
        doubt_torn(at, lo, hi);
    return rp_versions_read(execution->instance->expected, at->id, lo, hi, doubt_repeated, at);
}

static void doubt_each(struct reinstating *at, const struct rp_versions *live,
                       const struct rp_spans *spans)
{
    for (size_t i = 0; i < spans->count; i++)
        (void)rp_versions_read(live, at->id, spans->items[i].lo, spans->items[i].hi, doubt_live,
                               at);
}

/* What is declared is state, whatever it looks like: of that, no more is due than a warning. */
static void doubt_made(struct reinstating *at, const struct rp_versions *live, struct rp_span span)
{
    const struct rp_spans *declared = rp_state_of(rp_core.state, at->id);
    struct rp_spans named = {0}, rest = {0};
    at->made = span;
    if (!rp_switch_on(RP_SWITCH_DOUBTS))
        return;
    enum rp_status status = rp_spans_add(&rest, span.lo, span.hi);
    if (status == RP_OK && declared)
        status = rp_spans_remove_all(&rest, declared);
    if (status == RP_OK && rp_keep_discovers())
        doubt_each(at, live, &rest);
    at->what.declared = true;
    if (declared && rp_spans_within(declared, span.lo, span.hi, &named) == RP_OK)
        doubt_each(at, live, &named);
    at->what.declared = false;
    rp_spans_release(&named);
    rp_spans_release(&rest);
}

static struct reinstating reinstating(const struct rp_execution *execution, uint32_t replayed,
                                      rp_alloc_id id)
{
    const struct rp_instance *instance = execution->instance;
    return (struct reinstating){.execution = execution,
                                .what = {.segment = instance->segment, .instance = instance->id,
                                         .replayed = replayed, .reinstated = true},
                                .id = id};
}

void rp_undecided_reinstate(const struct rp_execution *execution, uint32_t replayed,
                            const struct rp_versions *live, rp_alloc_id id, uint64_t lo,
                            uint64_t hi)
{
    struct reinstating at = reinstating(execution, replayed, id);
    const struct rp_live *known = rp_instance_live(execution->instance, id);
    struct rp_spans made = {0};
    if (known && rp_spans_within(&known->replayed, lo, hi, &made) == RP_OK)
        for (size_t i = 0; i < made.count; i++)
            doubt_made(&at, live, made.items[i]);
    rp_spans_release(&made);
}

void rp_undecided_leave(const struct rp_execution *execution, const struct rp_footprint *call,
                        rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    struct reinstating at = reinstating(execution, call->name, id);
    at.served = true;
    doubt_made(&at, rp_core.bench.versions, (struct rp_span){lo, hi});
}

/* ---- who reads it ------------------------------------------------------------------- */

/* Whether somebody who reads it once it was taken for right may have meant the other. What had been
 * used before, and by others, was most likely done with: memory is used again and again. */
static bool may_mean_other(const struct rp_undecided_bytes *what, const struct rp_footprint *call,
                           const struct rp_reach *reach)
{
    if (!reach->certain)
        return false;
    return !what->looker || (!what->reinstated && what->looker == call->name &&
                             !what->live.made_in);
}

static void tell(const struct rp_undecided_bytes *what, const struct rp_footprint *call,
                 const struct rp_reach *reach, struct rp_span read)
{
    if (!what->assumed || may_mean_other(what, call, reach))
        rp_report_undecided(what, call, reach->id, read.lo, read.hi);
    else
        rp_remark(rp_name(what->replayed),
                  what->reinstated ? RP_TAKEN_FOR_STATE : RP_TAKEN_FOR_OUTPUT);
}

static void meet(size_t at, const struct rp_footprint *call, const struct rp_reach *reach)
{
    struct undecided *entry = &list[at];
    struct rp_spans read = {0};
    if (reach->effect == RP_WRITE) {
        if (reach->certain)
            (void)rp_spans_remove(&entry->spans, reach->lo, reach->hi);
        return;
    }
    if (rp_spans_within(&entry->spans, reach->lo, reach->hi, &read) != RP_OK)
        tell(&entry->what, call, reach, (struct rp_span){reach->lo, reach->hi});
    for (size_t i = 0; i < read.count; i++)
        tell(&entry->what, call, reach, read.items[i]);
    if (entry->what.assumed && reach->certain) /* once is enough */
        (void)rp_spans_remove_all(&entry->spans, &read);
    rp_spans_release(&read);
}

static void look(const struct rp_footprint *call)
{
    if (!looked_at && rp_versions_create(&looked_at) != RP_OK)
        return;
    const struct rp_writer reader = {.version = 1, .seq = call->seq, .name = call->name};
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++)
        if (rp_versions_write(looked_at, call->reaches[i].id, call->reaches[i].lo,
                              call->reaches[i].hi, &reader) != RP_OK)
            rp_report_unfollowed(call, "the host is out of memory");
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
