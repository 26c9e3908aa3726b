/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/execution.h"

#include "cuda/switches.h"
#include "interpose/chain.h"
#include "interpose/core.h"
#include "interpose/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ALIVE = 512 };

static struct {
    struct rp_execution **alive; /* in order of their forwards */
    size_t count, capacity;
    uint64_t last_instance;
    struct rp_segment_figures *figures; /* by segment rule */
} executions;

size_t rp_executions_count(void)
{
    return executions.count;
}

struct rp_execution *rp_executions_at(size_t index)
{
    return executions.alive[index];
}

struct rp_segment_figures *rp_segment_figures(uint32_t segment)
{
    if (!executions.figures)
        executions.figures = calloc(rp_core.config.contract->segment_count,
                                    sizeof *executions.figures);
    static struct rp_segment_figures spare; /* memory is short: figures are the least worry */
    return executions.figures ? &executions.figures[segment] : &spare;
}

static bool make_room(void)
{
    if (executions.count < executions.capacity)
        return true;
    size_t capacity = executions.capacity ? executions.capacity * 2 : 32;
    struct rp_execution **bigger = realloc(executions.alive, capacity * sizeof(void *));
    if (!bigger)
        return false;
    executions.alive = bigger;
    executions.capacity = capacity;
    return true;
}

static void execution_free(struct rp_execution *execution)
{
    rp_kept_destroy(execution->kept, &rp_core.bench);
    rp_instance_destroy(execution->instance);
    free(execution->log);
    free(execution);
}

/* Without steps nothing says that a forward will never be replayed: past a number that no
 * schedule needs, the oldest is given up. Its replay, should it come, is then unpaired. */
static void give_up_oldest(void)
{
    for (size_t i = 0; i < executions.count; i++) {
        struct rp_execution *execution = executions.alive[i];
        if (execution->phase != RP_PHASE_PENDING)
            continue;
        rp_remark("segment", "more than 512 forwards wait for a replay: the oldest are given up; "
                             "name the job's steps in the contract");
        rp_segment_figures(execution->instance->segment)->unreplayed++;
        rp_core.figures.unreplayed++;
        rp_execution_end(execution);
        return;
    }
}

struct rp_execution *rp_execution_begin(uint32_t segment, const char *key)
{
    if (executions.count >= MOST_ALIVE)
        give_up_oldest();
    struct rp_execution *execution = calloc(1, sizeof *execution);
    if (!execution || !make_room() || rp_kept_create(&execution->kept) != RP_OK ||
        rp_instance_create(++executions.last_instance, segment, rp_core.step,
                           &execution->instance) != RP_OK) {
        if (execution)
            execution_free(execution);
        return NULL;
    }
    snprintf(execution->key, sizeof execution->key, "%s", key);
    execution->place = execution->kept->owner = rp_chain_join(segment, key);
    execution->choice = rp_core.config.contract->policy == RP_POLICY_WHOLE ? RP_CHOICE_WHOLE
                                                                          : RP_CHOICE_REGIONS;
    executions.alive[executions.count++] = execution;
    rp_segment_figures(segment)->forwards++;
    return execution;
}

void rp_execution_end(struct rp_execution *execution)
{
    for (size_t i = 0; i < executions.count; i++) {
        if (executions.alive[i] != execution)
            continue;
        memmove(&executions.alive[i], &executions.alive[i + 1],
                (--executions.count - i) * sizeof(void *));
        break;
    }
    execution_free(execution);
}

enum rp_status rp_execution_log(struct rp_execution *execution, const struct rp_footprint *call)
{
    if (execution->log_count == execution->log_capacity) {
        size_t capacity = execution->log_capacity ? execution->log_capacity * 2 : 32;
        struct rp_logged *bigger = realloc(execution->log, capacity * sizeof *bigger);
        if (!bigger)
            return RP_NO_MEMORY;
        execution->log = bigger;
        execution->log_capacity = capacity;
    }
    if (!execution->log_count)
        execution->inputs = rp_execution_inputs(call);
    execution->log[execution->log_count++] =
        (struct rp_logged){call->signature, call->values, call->seq};
    return RP_OK;
}

uint64_t rp_execution_inputs(const struct rp_footprint *call)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a over 64-bit words */
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        hash = (hash ^ reach->id) * 0x100000001b3u;
        hash = (hash ^ reach->lo) * 0x100000001b3u;
        hash = (hash ^ reach->hi) * 0x100000001b3u;
    }
    return hash;
}

/* Walks candidates in the order that the pairing prefers. */
static struct rp_execution *candidate(size_t nth, enum rp_pair pair)
{
    bool oldest_first = pair == RP_PAIR_FIFO;
    if (!rp_switch_on(RP_SWITCH_PAIRING))
        oldest_first = !oldest_first;
    return executions.alive[oldest_first ? nth : executions.count - 1 - nth];
}

struct rp_execution *rp_execution_pair(uint32_t segment, enum rp_pair pair, const char *key)
{
    bool by_key = pair == RP_PAIR_KEY && rp_switch_on(RP_SWITCH_PAIRING);
    for (size_t i = 0; i < executions.count; i++) {
        struct rp_execution *execution = candidate(i, pair);
        if (execution->phase == RP_PHASE_PENDING && execution->instance->segment == segment &&
            (!by_key || strcmp(execution->key, key) == 0))
            return execution;
    }
    return NULL;
}

struct rp_execution *rp_execution_repeated(uint32_t segment, enum rp_pair pair,
                                           const struct rp_footprint *first)
{
    uint64_t inputs = rp_execution_inputs(first);
    for (size_t i = 0; i < executions.count; i++) {
        struct rp_execution *execution = candidate(i, pair);
        if (execution->phase == RP_PHASE_PENDING && execution->instance->segment == segment &&
            execution->log_count && execution->log[0].signature == first->signature &&
            execution->inputs == inputs)
            return execution;
    }
    return NULL;
}

void rp_executions_expire(void)
{
    for (size_t i = executions.count; i-- > 0;) {
        struct rp_execution *execution = executions.alive[i];
        if (execution->phase != RP_PHASE_PENDING)
            continue;
        rp_segment_figures(execution->instance->segment)->unreplayed++;
        rp_core.figures.unreplayed++;
        rp_execution_end(execution);
    }
}

void rp_executions_forget(void)
{
    rp_chain_forget();
    executions.count = 0;
}
