/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/pairing.h"

#include "cuda/switches.h"
#include "interpose/run/core.h"
#include "interpose/run/rival.h"

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
    bool doubtful = entry->is_content_doubtful || call->host.is_content_doubtful;
    /* Where the versions differ, these are what the replay is held to. */
    bool comparable = !doubtful && entry->content_versions == call->host.content_versions;
    return entry->values == call->values && (!comparable || entry->content == call->host.content);
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

size_t rp_pairing_twin(const struct rp_execution *execution, const struct rp_footprint *call)
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
    size_t twin = rp_pairing_twin(execution, call);
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

/* ---- once the first call is there ------------------------------------------------------- */

static bool has_had_its_turn(const struct rp_execution *other, const struct rp_execution *chosen)
{
    return other->replays > chosen->replays &&
           other->replays >= rp_core.config.contract->segments[segment_of(other)].replays;
}

/* Other forwards that wait for a replay too, and that the call might repeat as well. */
static struct rp_objection find_objection(const struct rp_execution *chosen,
                                          const struct rp_execution *order,
                                          const struct asking *asking)
{
    struct rp_objection found = {.worst = RP_OBJECTION_NONE};
    if (chosen != order)
        rp_rival_in_order(&found, chosen, order, asking->first);
    for (size_t i = 0; i < rp_executions_count() && found.worst != RP_OBJECTION_GRAVE; i++) {
        const struct rp_execution *other = rp_executions_at(i);
        if (other != chosen && !has_had_its_turn(other, chosen) && answers(other, asking, order))
            rp_rival_weigh(&found, chosen, other, asking->first);
    }
    return found;
}

/* The one in order, unless the call tells better. */
static struct rp_pairing answer(const struct asking *asking, struct rp_pairing before)
{
    if (!before.guessed && fit_of(before.execution, asking->first) >= asking->fit)
        return before;
    return choose(asking, before.execution);
}

static enum rp_assumption what_is_assumed(enum rp_objection_grade worst)
{
    static const enum rp_assumption assumed[] = {
        [RP_OBJECTION_NONE] = RP_ASSUMED_NOTHING, [RP_OBJECTION_BY_ORDER] = RP_ASSUMED_UNTOLD,
        [RP_OBJECTION_UNTOLD] = RP_ASSUMED_FILLED, [RP_OBJECTION_SLIGHT] = RP_ASSUMED_ORDER,
        [RP_OBJECTION_GRAVE] = RP_ASSUMED_NOTHING};
    return assumed[worst];
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
    const struct rp_objection found = find_objection(after.execution, before.execution, &asking);
    after.guessed = after.guessed ? after.guessed : found.why;
    after.is_place = found.is_place && after.guessed == found.why;
    after.assumed = what_is_assumed(found.worst);
    after.untold = found.worst == RP_OBJECTION_UNTOLD ? found.untold : (struct rp_filled){0};
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
