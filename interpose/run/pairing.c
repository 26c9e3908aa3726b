/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/pairing.h"

#include "cuda/switches.h"
#include "interpose/run/core.h"

#include <string.h>

static uint32_t segment_of(const struct rp_execution *execution)
{
    return execution->instance->segment;
}

static bool is_pending(const struct rp_execution *execution)
{
    return execution->phase == RP_PHASE_PENDING;
}

static uint64_t places(const struct rp_footprint *call, enum rp_effect effect)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a over 64-bit words */
    for (size_t i = 0; i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (reach->effect != effect)
            continue;
        hash = (hash ^ reach->id) * 0x100000001b3u;
        hash = (hash ^ reach->lo) * 0x100000001b3u;
        hash = (hash ^ reach->hi) * 0x100000001b3u;
    }
    return hash;
}

uint64_t rp_pairing_inputs(const struct rp_footprint *call)
{
    return places(call, RP_READ);
}

uint64_t rp_pairing_outputs(const struct rp_footprint *call)
{
    return places(call, RP_WRITE);
}

bool rp_pairing_same_values(const struct rp_logged *entry, const struct rp_footprint *call)
{
    bool doubtful = entry->is_content_doubtful || call->is_content_doubtful;
    /* Where the versions differ, these are what the replay is held to. */
    bool comparable = !doubtful && entry->content_versions == call->content_versions;
    return entry->values == call->values && (!comparable || entry->content == call->content);
}

static size_t first_of_kind(const struct rp_execution *execution, const struct rp_footprint *call)
{
    size_t at = 0;
    while (at < execution->log_count && execution->log[at].signature != call->signature)
        at++;
    return at;
}

static bool is_twin(const struct rp_logged *entry, const struct rp_footprint *call)
{
    return entry->signature == call->signature && rp_pairing_same_values(entry, call) &&
           entry->inputs == rp_pairing_inputs(call);
}

/* The first call in the forward that did the same work on the same buffers, or log_count. */
static size_t find_twin(const struct rp_execution *execution, const struct rp_footprint *call)
{
    size_t at = first_of_kind(execution, call);
    while (at < execution->log_count && !is_twin(&execution->log[at], call))
        at++;
    return at;
}

/* How well a forward answers to the first call of a replay, which may leave calls out. */
enum fit { FITS_NOT, FITS_LATER, FITS_AT_ONCE };

static enum fit fit_of(const struct rp_execution *execution, const struct rp_footprint *call)
{
    size_t twin = find_twin(execution, call);
    if (twin == execution->log_count)
        return FITS_NOT;
    return twin == first_of_kind(execution, call) ? FITS_AT_ONCE : FITS_LATER;
}

struct asking {
    uint32_t segment;
    const char *key; /* NULL when the rule does not pair by key */
    const struct rp_footprint *first; /* NULL before the replay's first call ... */
    enum fit fit;                     /* ... which it has to fit so well */
};

static struct asking ask(uint32_t segment, const char *key, const struct rp_footprint *first)
{
    enum rp_pair pair = rp_core.config.contract->segments[segment].pair;
    bool by_key = pair == RP_PAIR_KEY && rp_switch_on(RP_SWITCH_PAIRING);
    return (struct asking){segment, by_key ? key : NULL, first, FITS_AT_ONCE};
}

/* Walks candidates in the order that the pairing prefers. */
static struct rp_execution *candidate(size_t nth, uint32_t segment)
{
    bool oldest_first = rp_core.config.contract->segments[segment].pair == RP_PAIR_FIFO;
    if (!rp_switch_on(RP_SWITCH_PAIRING))
        oldest_first = !oldest_first;
    return rp_executions_at(oldest_first ? nth : rp_executions_count() - 1 - nth);
}

static bool answers(const struct rp_execution *execution, const struct asking *asking,
                    const struct rp_execution *tentative)
{
    return (is_pending(execution) || execution == tentative) &&
           segment_of(execution) == asking->segment &&
           (!asking->key || strcmp(execution->key, asking->key) == 0) &&
           (!asking->first || fit_of(execution, asking->first) >= asking->fit);
}

#define MORE_OFTEN                                                                               \
    "several forwards work on these buffers, and each was replayed as often as was promised: say " \
    "so in the segment's \"replays\", or let \"pair\": \"key\" name each forward"

static struct rp_pairing choose(const struct asking *asking, const struct rp_execution *tentative)
{
    struct rp_pairing chosen = {.execution = NULL};
    size_t choices = 0;
    for (size_t i = 0; i < rp_executions_count(); i++) {
        struct rp_execution *execution = candidate(i, asking->segment);
        if (!answers(execution, asking, tentative))
            continue;
        choices++;
        if (!chosen.execution || execution->replays < chosen.execution->replays)
            chosen.execution = execution;
    }
    /* What was seen to happen before is no promise that it is this one's turn again. */
    if (choices > 1 && chosen.execution->replays >=
                           rp_core.config.contract->segments[asking->segment].replays)
        chosen.guessed = rp_segment_figures(asking->segment)->is_crowded ? RP_CROWDED : MORE_OFTEN;
    return chosen;
}

struct rp_pairing rp_pairing_find(uint32_t segment, const char *key)
{
    const struct asking asking = ask(segment, key, NULL);
    return choose(&asking, NULL);
}

/* ---- what speaks against a pairing ------------------------------------------------------ */

static bool holds_same(uint64_t lo, uint64_t hi, const struct rp_writer *a,
                       const struct rp_writer *b)
{
    return rp_versions_same_bytes(rp_core.bench.versions, lo, hi, a, b) ||
           (a->value && a->value == b->value && a->place == b->place);
}

struct comparing {
    const struct rp_execution *chosen, *other;
    rp_alloc_id id;
    const struct rp_writer *live;
    bool told; /* by some bytes, that it is the chosen one's replay ... */
    struct rp_filled untold; /* ... and not by these */
};

/* Returns RP_END where the live bytes are not what the chosen one has read. */
static enum rp_status differs(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *read)
{
    const struct comparing *comparing = ctx;
    return holds_same(lo, hi, comparing->live, read) ? RP_OK : RP_END;
}

static bool is_read_by_chosen(const struct comparing *comparing, uint64_t lo, uint64_t hi)
{
    return rp_versions_read(comparing->chosen->instance->expected, comparing->id, lo, hi, differs,
                            (void *)(uintptr_t)comparing) == RP_OK;
}

static enum rp_status is_others(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *read)
{
    const struct comparing *comparing = ctx;
    bool is_put_back = comparing->live->version != read->version &&
                       comparing->live->seq > comparing->other->instance->since;
    if (!is_put_back || !holds_same(lo, hi, comparing->live, read))
        return RP_OK;
    return is_read_by_chosen(comparing, lo, hi) ? RP_OK : RP_END;
}

/* The job itself has put there what the other one read. What segments write is no such sign. */
static enum rp_status speaks_for_other(void *ctx, uint64_t lo, uint64_t hi,
                                       const struct rp_writer *live)
{
    struct comparing *comparing = ctx;
    comparing->live = live;
    if (live->made_in)
        return RP_OK;
    return rp_versions_read(comparing->other->instance->expected, comparing->id, lo, hi, is_others,
                            comparing);
}

static enum rp_status is_no_longer(void *ctx, uint64_t lo, uint64_t hi,
                                   const struct rp_writer *live)
{
    struct comparing *comparing = ctx;
    comparing->live = live;
    return is_read_by_chosen(comparing, lo, hi) ? RP_OK : RP_END;
}

/* Visits what stands `now` where the call reads; false when a visit has ended it. */
static bool each_read(const struct rp_footprint *call, rp_versions_fn visit,
                      struct comparing *comparing)
{
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        comparing->id = reach->id;
        if (rp_versions_read(rp_core.bench.versions, reach->id, reach->lo, reach->hi, visit,
                             comparing) != RP_OK)
            return false;
    }
    return true;
}

/* The buffers have named another forward than the order did. They tell nothing where the bytes by
 * which the two differ have been replaced since: slots are filled again, and in any order. */
static bool is_told_by_buffers(const struct rp_execution *chosen, const struct rp_execution *order,
                               const struct rp_footprint *first)
{
    struct comparing comparing = {.chosen = chosen, .other = order};
    for (size_t i = 0; i < first->count && first->reaches[i].effect == RP_READ; i++) {
        const struct rp_reach *reach = &first->reaches[i];
        const struct rp_live *live = rp_instance_live(order->instance, reach->id);
        comparing.id = reach->id;
        if ((!live || !rp_spans_overlaps(&live->live_in, reach->lo, reach->hi)) &&
            rp_versions_read(rp_core.bench.versions, reach->id, reach->lo, reach->hi, is_no_longer,
                             &comparing) != RP_OK)
            return false;
    }
    return true;
}

static enum rp_status is_another(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *read)
{
    (void)lo, (void)hi;
    return ((const struct rp_writer *)ctx)->version == read->version ? RP_OK : RP_END;
}

/* It has been put there since both began, where each has read something of its own. */
static bool is_put_since(const struct comparing *comparing, uint64_t lo, uint64_t hi,
                         const struct rp_writer *read)
{
    const struct rp_instance *chosen = comparing->chosen->instance;
    return !comparing->live->made_in && comparing->live->seq > chosen->since &&
           comparing->live->seq > comparing->other->instance->since &&
           rp_versions_read(chosen->expected, comparing->id, lo, hi, is_another,
                            (void *)(uintptr_t)read) != RP_OK;
}

static enum rp_status weigh(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *read)
{
    struct comparing *comparing = ctx;
    bool is_others = holds_same(lo, hi, comparing->live, read);
    bool is_chosens = is_read_by_chosen(comparing, lo, hi);
    if (is_chosens && !is_others)
        comparing->told = true;
    else if (is_chosens == is_others && is_put_since(comparing, lo, hi, read))
        comparing->untold = (struct rp_filled){comparing->id, lo, hi, *comparing->live};
    return RP_OK;
}

static enum rp_status weigh_live(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *live)
{
    struct comparing *comparing = ctx;
    comparing->live = live;
    if (live->origin != live->version || live->speculative ||
        rp_state_name(rp_core.state, comparing->id, lo, hi, NULL, NULL))
        return RP_OK; /* state goes its own way */
    return rp_versions_read(comparing->other->instance->expected, comparing->id, lo, hi, weigh,
                            comparing);
}

static bool wrote_at(const struct rp_execution *execution, const struct rp_footprint *call)
{
    size_t at = find_twin(execution, call);
    return at < execution->log_count && execution->log[at].outputs == rp_pairing_outputs(call);
}

static bool saw_alike(const struct comparing *between, rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    struct comparing comparing = *between;
    comparing.id = id;
    return rp_versions_read(between->other->instance->expected, id, lo, hi, is_no_longer,
                            &comparing) == RP_OK;
}

/* Whatever the call repeats, it does the same. */
static bool read_alike(const struct comparing *between, const struct rp_footprint *call)
{
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++)
        if (!saw_alike(between, call->reaches[i].id, call->reaches[i].lo, call->reaches[i].hi))
            return false;
    return true;
}

/* Whichever is replayed, it comes out the same. */
static bool are_alike(const struct comparing *between)
{
    const struct rp_instance *other = between->other->instance;
    for (size_t i = 0; i < other->live_count; i++)
        if (!saw_alike(between, other->lives[i].id, 0, UINT64_MAX))
            return false;
    return true;
}

enum doubt { NO_DOUBT, BY_ORDER, UNTOLD, SLIGHT, GRAVE };

/* Whose replay it is, and what speaks against that. */
struct finding {
    enum doubt worst;
    const char *why; /* where it is grave ... */
    bool is_place;   /* ... because of this */
    struct rp_filled untold;
};

static void find_grave(struct finding *finding, const char *why)
{
    finding->worst = GRAVE;
    finding->why = why;
}

/* Where another has had its output says whose replay it is, where the same memory serves the same
 * purpose each time. A call that does the same for both may as well have got any memory. */
static enum doubt doubt_of_place(const struct comparing *between, const struct rp_footprint *first)
{
    if (wrote_at(between->chosen, first) || !wrote_at(between->other, first) || are_alike(between))
        return NO_DOUBT;
    return read_alike(between, first) ? SLIGHT : GRAVE;
}

/* The job has put something where both have read, and it is both's or neither's that is known. */
static enum doubt doubt_of_input(struct comparing *between, const struct rp_footprint *first)
{
    each_read(first, weigh_live, between);
    return between->untold.id && !between->told ? UNTOLD : NO_DOUBT;
}

static enum doubt worse(enum doubt a, enum doubt b)
{
    return a > b ? a : b;
}

static bool is_told_by_place(const struct comparing *between, const struct rp_footprint *first)
{
    return wrote_at(between->chosen, first) && !wrote_at(between->other, first);
}

static void compare(struct finding *finding, struct comparing *between,
                    const struct rp_footprint *first)
{
    enum doubt of_place = doubt_of_place(between, first);
    finding->worst = worse(finding->worst, of_place);
    finding->worst = worse(finding->worst, doubt_of_input(between, first));
    if (finding->worst == UNTOLD && between->untold.id)
        finding->untold = between->untold;
    finding->is_place = of_place == GRAVE;
    if (of_place == GRAVE)
        find_grave(finding, "if it is the one in order, whose output then lies elsewhere, nothing "
                            "is wrong but that nothing tells: " RP_PAIR_BY_KEY);
    else if (!each_read(first, speaks_for_other, between))
        find_grave(finding, "the job has put there again what another forward that waits has read: "
                            RP_PAIR_BY_KEY);
    else if (!between->told && !is_told_by_place(between, first) && !are_alike(between))
        finding->worst = worse(finding->worst, BY_ORDER);
}

static bool has_had_its_turn(const struct rp_execution *other, const struct rp_execution *chosen)
{
    return other->replays > chosen->replays &&
           other->replays >= rp_core.config.contract->segments[segment_of(other)].replays;
}

/* Other forwards that wait for a replay too, and that the call might repeat as well. */
static struct finding find_doubt(const struct rp_execution *chosen,
                                 const struct rp_execution *order, const struct asking *asking)
{
    struct finding finding = {.worst = NO_DOUBT};
    if (chosen != order && !is_told_by_buffers(chosen, order, asking->first))
        find_grave(&finding, "it works on the buffers of another forward than the order names, and "
                             "they hold other bytes by now: " RP_PAIR_BY_KEY);
    for (size_t i = 0; i < rp_executions_count() && finding.worst != GRAVE; i++) {
        struct comparing between = {.chosen = chosen, .other = rp_executions_at(i)};
        if (between.other == chosen || has_had_its_turn(between.other, chosen) ||
            !answers(between.other, asking, order))
            continue;
        compare(&finding, &between, asking->first);
    }
    return finding;
}

/* The one in order, unless the call tells better. */
static struct rp_pairing answer(const struct asking *asking, struct rp_pairing before)
{
    if (!before.guessed && fit_of(before.execution, asking->first) >= asking->fit)
        return before;
    return choose(asking, before.execution);
}

struct rp_pairing rp_pairing_settle(struct rp_pairing before, const char *key,
                                    const struct rp_footprint *first)
{
    struct asking asking = ask(segment_of(before.execution), key, first);
    if (!rp_switch_on(RP_SWITCH_PAIRING))
        return before;
    struct rp_pairing after = answer(&asking, before);
    if (!after.execution) { /* a replay may begin later in its forward, if it must be */
        asking.fit = FITS_LATER;
        after = answer(&asking, before);
    }
    if (!after.execution)
        return before;
    struct finding found = find_doubt(after.execution, before.execution, &asking);
    after.guessed = after.guessed ? after.guessed : found.why;
    after.is_place = found.is_place && after.guessed == found.why;
    after.assumed = found.worst == SLIGHT    ? RP_ASSUMED_ORDER
                    : found.worst == UNTOLD   ? RP_ASSUMED_FILLED
                    : found.worst == BY_ORDER ? RP_ASSUMED_UNTOLD
                                              : RP_ASSUMED_NOTHING;
    after.untold = found.worst == UNTOLD ? found.untold : (struct rp_filled){0};
    return after;
}

/* Once more on the same buffers may as well be the next forward: only a promise counts. */
static bool may_come_again(const struct rp_execution *execution, uint32_t segment,
                           const struct rp_footprint *first)
{
    return is_pending(execution) && segment_of(execution) == segment &&
           execution->replays < rp_core.config.contract->segments[segment].replays &&
           execution->log_count && execution->log[0].signature == first->signature;
}

bool rp_pairing_may_repeat(uint32_t segment, const struct rp_footprint *first)
{
    for (size_t i = 0; i < rp_executions_count(); i++)
        if (may_come_again(rp_executions_at(i), segment, first))
            return true;
    return false;
}

struct rp_execution *rp_pairing_repeated(uint32_t segment, const struct rp_footprint *first)
{
    for (size_t i = 0; i < rp_executions_count(); i++) {
        struct rp_execution *execution = candidate(i, segment);
        if (may_come_again(execution, segment, first) &&
            execution->log[0].inputs == rp_pairing_inputs(first))
            return execution;
    }
    return NULL;
}
