/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/execution.h"

#include "cuda/switches.h"
#include "interpose/plan/chain.h"
#include "interpose/plan/outputs.h"
#include "interpose/plan/policy.h"
#include "interpose/plan/retain.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/core.h"
#include "interpose/run/landing.h"
#include "interpose/run/pairing.h"
#include "interpose/run/remark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Without steps nothing says that a forward will never be replayed; with them, their end does. */
enum { MOST_ALIVE = 512, MOST_ALIVE_IN_STEP = 8192 };
/* What copies of served executions may take before they are recycled for others. */
#define LUCKY_BYTES (UINT64_C(64) << 20)

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
    rp_recompute_ends(execution);
    rp_outputs_destroy(execution->outputs);
    rp_kept_destroy(execution->kept);
    rp_kept_destroy(execution->recalled);
    rp_instance_destroy(execution->instance);
    rp_versions_destroy(execution->beside);
    free(execution->host);
    free(execution->helped);
    free(execution->log);
    free(execution);
}

static uint32_t segment_of(const struct rp_execution *execution)
{
    return execution->instance->segment;
}

static bool is_pending(const struct rp_execution *execution)
{
    return execution->phase == RP_PHASE_PENDING && !rp_recompute_needs(execution);
}

/* What the rule says, or more once more was seen. */
static uint32_t promised_replays(uint32_t segment)
{
    uint32_t said = rp_core.config.contract->segments[segment].replays;
    uint32_t seen = rp_segment_figures(segment)->most_replays;
    return seen > said ? seen : said;
}

static bool has_had_its_replays(const struct rp_execution *execution)
{
    return execution->replays > 0 &&
           execution->replays >= promised_replays(segment_of(execution));
}

bool rp_execution_is_served(const struct rp_execution *execution)
{
    return is_pending(execution) && has_had_its_replays(execution);
}

uint64_t rp_segment_waiting(uint32_t segment)
{
    uint64_t waiting = 0;
    for (size_t i = 0; i < executions.count; i++) {
        const struct rp_execution *execution = executions.alive[i];
        waiting += segment_of(execution) == segment && is_pending(execution) &&
                   !execution->replays;
    }
    return waiting;
}

/* Gives its copies back and forgets it. */
static void execution_end(struct rp_execution *execution)
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

static void give_up(struct rp_execution *execution)
{
    if (!execution->replays) {
        rp_segment_figures(segment_of(execution))->unreplayed++;
        rp_core.figures.unreplayed++;
    }
    execution_end(execution);
}

static struct rp_execution *oldest(bool (*fits)(const struct rp_execution *execution))
{
    for (size_t i = 0; i < executions.count; i++)
        if (fits(executions.alive[i]))
            return executions.alive[i];
    return NULL;
}

static bool are_too_many(void)
{
    return executions.count >= (rp_core.step ? MOST_ALIVE_IN_STEP : MOST_ALIVE);
}

/* Past a number that no schedule needs, the oldest is given up. Its replay, should it come, is then
 * unpaired, or a guess. */
static void give_up_oldest(void)
{
    struct rp_execution *execution = oldest(rp_execution_is_served);
    if (!execution && (execution = oldest(is_pending)) != NULL && !execution->replays) {
        rp_segment_figures(segment_of(execution))->is_crowded = true;
        rp_remark("segment", RP_CROWDED);
    }
    if (execution)
        give_up(execution);
}

/* The first run of a segment under a key may make what later runs find ready. */
static bool is_first_run(uint32_t segment, const char *key)
{
    static uint64_t seen[1024]; /* hashes; once it is full, nothing is a first run any more */
    static size_t count;
    uint64_t hash = (0xcbf29ce484222325u ^ segment) * 0x100000001b3u;
    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 0x100000001b3u;
    for (size_t i = 0; i < count; i++)
        if (seen[i] == hash)
            return false;
    if (count == sizeof seen / sizeof *seen)
        return false;
    seen[count++] = hash;
    return true;
}

struct rp_execution *rp_execution_begin(uint32_t segment, const char *key)
{
    if (are_too_many())
        give_up_oldest();
    struct rp_execution *execution = calloc(1, sizeof *execution);
    if (!execution || !make_room() || rp_kept_create(&execution->kept) != RP_OK ||
        rp_instance_create(++executions.last_instance, segment, rp_core.step, rp_core.seq,
                           &execution->instance) != RP_OK) {
        if (execution)
            execution_free(execution);
        return NULL;
    }
    snprintf(execution->key, sizeof execution->key, "%s", key);
    execution->instance->before = rp_segment_figures(segment)->since;
    rp_segment_figures(segment)->since = rp_core.seq;
    execution->is_first_run = is_first_run(segment, key);
    execution->place = execution->kept->owner = rp_chain_join(segment, key);
    execution->choice = rp_policy_choice(execution->place);
    executions.alive[executions.count++] = execution;
    rp_segment_figures(segment)->forwards++;
    return execution;
}

static const struct rp_execution *find(uint64_t id)
{
    for (size_t i = 0; i < executions.count; i++)
        if (executions.alive[i]->instance->id == id)
            return executions.alive[i];
    return NULL;
}

bool rp_execution_is_part_of(const struct rp_execution *inner, const struct rp_execution *outer)
{
    while (inner && inner->outer && inner->outer != outer->instance->id)
        inner = find(inner->outer);
    return inner && inner->outer;
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
    rp_segment_figures(segment_of(execution))->calls++;
    execution->log[execution->log_count++] =
        (struct rp_logged){.signature = call->signature, .values = call->values,
                           .content = call->host.content,
                           .content_versions = call->host.content_versions,
                           .is_content_doubtful = call->host.is_content_doubtful,
                           .inputs = rp_pairing_inputs(call),
                           .outputs = rp_pairing_outputs(call), .sight = call->sight,
                           .bytes_read = rp_footprint_bytes_read(call),
                           .bytes_absent = rp_footprint_bytes_absent(call),
                           .landed = rp_landing_of(call), .version = call->version,
                           .stream = call->stream, .name = call->name,
                           .is_in_turn = call->is_in_turn};
    return RP_OK;
}

/* ---- replays ------------------------------------------------------------------------ */

void rp_execution_replay_begins(struct rp_execution *execution)
{
    struct rp_segment_figures *figures = rp_segment_figures(segment_of(execution));
    execution->phase = RP_PHASE_REPLAY;
    figures->again += execution->replays > 0;
    if (execution->replays >= figures->most_replays)
        figures->most_replays = execution->replays + 1;
}

void rp_execution_replay_withdrawn(struct rp_execution *execution)
{
    execution->phase = RP_PHASE_PENDING;
    rp_segment_figures(segment_of(execution))->again -= execution->replays > 0;
}

void rp_execution_replay_ends(struct rp_execution *execution)
{
    execution->phase = RP_PHASE_PENDING;
    execution->replays++;
    rp_instance_replay_again(execution->instance);
    for (size_t i = 0; i < execution->log_count; i++)
        execution->log[i].repeated = false;
}

static void drop(struct rp_execution *execution)
{
    rp_outputs_destroy(execution->outputs);
    execution->outputs = NULL;
    rp_kept_clear(execution->kept);
    rp_instance_lose(execution->instance);
    execution->dropped = true;
}

void rp_execution_give_up(struct rp_execution *execution)
{
    if (rp_execution_is_served(execution) && rp_policy_is_planned())
        drop(execution);
}

static bool is_worth_dropping(const struct rp_execution *execution)
{
    return rp_execution_is_served(execution) && execution->kept->copies.count;
}

uint64_t rp_executions_recalled_bytes(void)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < executions.count; i++)
        if (executions.alive[i]->recalled)
            bytes += rp_kept_bytes(executions.alive[i]->recalled);
    return bytes;
}

static uint64_t served_bytes(void)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < executions.count; i++)
        if (rp_execution_is_served(executions.alive[i]))
            bytes += rp_kept_bytes(executions.alive[i]->kept);
    return bytes;
}

bool rp_executions_spare(bool needed)
{
    if (!needed && served_bytes() <= LUCKY_BYTES)
        return false;
    struct rp_execution *execution = oldest(is_worth_dropping);
    if (!execution)
        return needed && rp_retain_evict();
    drop(execution);
    rp_remark("segment", "copies of replayed instances were given up for want of memory: "
                         "\"replays\" in the contract keeps them for further replays");
    return true;
}

enum rp_status rp_execution_read(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi,
                                 struct rp_spans *out)
{
    const struct rp_execution *execution = ctx;
    const struct rp_live *live = rp_instance_live(execution->instance, id);
    return live ? rp_spans_within(&live->live_in, lo, hi, out) : RP_OK;
}

bool rp_execution_made(const struct rp_execution *execution, const struct rp_reach *reach)
{
    const struct rp_live *live = rp_instance_live(execution->instance, reach->id);
    struct rp_spans others = {0};
    bool made = live &&
                rp_spans_missing(&live->written, reach->lo, reach->hi, &others) == RP_OK &&
                !others.count;
    rp_spans_release(&others);
    return made;
}

void rp_executions_expire(void)
{
    for (size_t i = executions.count; i-- > 0;)
        if (is_pending(executions.alive[i]) && !rp_recompute_outlasts(executions.alive[i]))
            give_up(executions.alive[i]);
}

/* What it has in place still stands; but it has no copy of anything any more. */
static void bereave(struct rp_execution *execution)
{
    struct rp_outputs *outputs = execution->outputs;
    const struct rp_kept *recalled = execution->recalled;
    if (outputs && outputs->copies.count) {
        rp_copies_give(&outputs->copies);
        outputs->refused = "a context was destroyed while it ran";
    }
    if (!execution->kept->copies.count && !(recalled && recalled->copies.count))
        return;
    rp_kept_destroy(execution->recalled);
    execution->recalled = NULL;
    execution->bereft = true;
    rp_instance_lose(execution->instance);
    rp_kept_clear(execution->kept);
}

static void note_lost(const struct rp_execution *execution)
{
    if (is_pending(execution) && !execution->replays)
        rp_segment_figures(segment_of(execution))->lost_in = rp_core.step + 1;
}

void rp_executions_lose(void)
{
    for (size_t i = 0; i < executions.count; i++)
        note_lost(executions.alive[i]);
    rp_executions_expire();
    for (size_t i = 0; i < executions.count; i++)
        bereave(executions.alive[i]);
}

void rp_executions_forget(void)
{
    rp_chain_forget();
    executions.count = 0;
}
