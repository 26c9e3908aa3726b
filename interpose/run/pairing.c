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

struct asking {
    uint32_t segment;
    const char *key; /* NULL when the rule does not pair by key */
    const struct rp_footprint *first; /* NULL before the replay's first call */
};

static struct asking ask(uint32_t segment, const char *key, const struct rp_footprint *first)
{
    enum rp_pair pair = rp_core.config.contract->segments[segment].pair;
    bool by_key = pair == RP_PAIR_KEY && rp_switch_on(RP_SWITCH_PAIRING);
    return (struct asking){segment, by_key ? key : NULL, first};
}

bool rp_pairing_same_values(const struct rp_logged *entry, const struct rp_footprint *call)
{
    bool doubtful = entry->is_content_doubtful || call->is_content_doubtful;
    /* Where the versions differ, these are what the replay is held to. */
    bool comparable = !doubtful && entry->content_versions == call->content_versions;
    return entry->values == call->values && (!comparable || entry->content == call->content);
}

/* The first call of this kind in the forward did the same work on the same buffers. */
static bool fits(const struct rp_execution *execution, const struct rp_footprint *call)
{
    size_t at = 0;
    while (at < execution->log_count && execution->log[at].signature != call->signature)
        at++;
    return at < execution->log_count && rp_pairing_same_values(&execution->log[at], call) &&
           execution->log[at].inputs == rp_pairing_inputs(call);
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
           (!asking->first || fits(execution, asking->first));
}

static struct rp_pairing choose(const struct asking *asking, const struct rp_execution *tentative)
{
    struct rp_pairing chosen = {NULL, false};
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
    chosen.guessed = choices > 1 && chosen.execution->replays >=
                                        rp_core.config.contract->segments[asking->segment].replays;
    return chosen;
}

struct rp_pairing rp_pairing_find(uint32_t segment, const char *key)
{
    const struct asking asking = ask(segment, key, NULL);
    return choose(&asking, NULL);
}

struct rp_pairing rp_pairing_settle(struct rp_pairing before, const char *key,
                                      const struct rp_footprint *first)
{
    const struct asking asking = ask(segment_of(before.execution), key, first);
    if (!rp_switch_on(RP_SWITCH_PAIRING) || (!before.guessed && fits(before.execution, first)))
        return before;
    struct rp_pairing better = choose(&asking, before.execution);
    return better.execution ? better : before;
}

struct rp_execution *rp_pairing_repeated(uint32_t segment, const struct rp_footprint *first)
{
    /* Once more on the same buffers may as well be the next forward: only a promise counts. */
    uint32_t promised = rp_core.config.contract->segments[segment].replays;
    for (size_t i = 0; i < rp_executions_count(); i++) {
        struct rp_execution *execution = candidate(i, segment);
        bool open = is_pending(execution) && execution->replays < promised;
        if (open && segment_of(execution) == segment && execution->log_count &&
            execution->log[0].signature == first->signature &&
            execution->log[0].inputs == rp_pairing_inputs(first))
            return execution;
    }
    return NULL;
}
