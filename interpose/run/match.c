/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/match.h"

#include "cuda/switches.h"
#include "interpose/run/core.h"
#include "interpose/run/keep.h"
#include "interpose/run/pairing.h"
#include "interpose/run/report.h"
#include "tracker/array.h"

#include <stdlib.h>

#define RP_MAY_BE_FORWARD                                                                          \
    "it repeats the launches of a forward, whose own outputs still stand, with its output "        \
    "elsewhere: this may as well be the next forward; mark forward and replay by ranges of their " \
    "own names"

/* ---- the best of its kind ------------------------------------------------------------ */

/* The nth place to look at, beginning with what should come next. */
static size_t turn(const struct rp_scope *scope, size_t nth)
{
    size_t at = scope->cursor + nth, count = scope->execution->log_count;
    return at < count ? at : at - count;
}

static bool is_open(const struct rp_logged *entry, const struct rp_footprint *call)
{
    return !entry->repeated && entry->signature == call->signature;
}

size_t rp_match_by_order(const struct rp_scope *scope, const struct rp_footprint *call)
{
    const struct rp_execution *execution = scope->execution;
    size_t found = execution->log_count;
    for (size_t nth = 0; nth < execution->log_count; nth++) {
        size_t at = turn(scope, nth);
        const struct rp_logged *entry = &execution->log[at];
        if (!is_open(entry, call))
            continue;
        if (rp_pairing_same_values(entry, call))
            return at;
        if (found == execution->log_count)
            found = at;
    }
    return found;
}

static bool sees(const struct rp_execution *execution, size_t at, const struct rp_footprint *call)
{
    return rp_footprint_sees(call, execution->log[at].sight, execution->instance->expected);
}

/* Where the call works, against where its twin did. */
struct places {
    uint64_t inputs, outputs;
};

static struct places places_of(const struct rp_footprint *call)
{
    return (struct places){rp_pairing_inputs(call), rp_pairing_outputs(call)};
}

static bool is_in_place(const struct rp_logged *entry, struct places places)
{
    return entry->inputs == places.inputs && entry->outputs == places.outputs;
}

enum need { SEEING = 1, WRITING_THERE = 2, IN_PLACE = 4 };

/* The first open entry that is given the same, and is all that is needed. */
static size_t find(const struct rp_scope *scope, const struct rp_footprint *call,
                   struct places places, unsigned needed)
{
    const struct rp_execution *execution = scope->execution;
    for (size_t nth = 0; nth < execution->log_count; nth++) {
        size_t at = turn(scope, nth);
        const struct rp_logged *entry = &execution->log[at];
        if (is_open(entry, call) && rp_pairing_same_values(entry, call) &&
            (!(needed & WRITING_THERE) || entry->outputs == places.outputs) &&
            (!(needed & IN_PLACE) || is_in_place(entry, places)) &&
            (!(needed & SEEING) || sees(execution, at, call)))
            return at;
    }
    return execution->log_count;
}

size_t rp_match_by_sight(const struct rp_scope *scope, const struct rp_footprint *call)
{
    const struct rp_execution *execution = scope->execution;
    struct places places = places_of(call);
    if (!rp_footprint_sight(call))
        return call->entry;
    size_t at = find(scope, call, places, SEEING | WRITING_THERE);
    if (at == execution->log_count)
        at = find(scope, call, places, SEEING);
    if (at == execution->log_count) /* it diverges, then: from the one that it comes nearest to */
        at = find(scope, call, places, IN_PLACE);
    return at < execution->log_count ? at : call->entry;
}

/* ---- outputs in another's place ---------------------------------------------------------- */

/* Where they are not alike, or nobody can tell, it matters which of the two it was. */
static bool does_other_work(const struct rp_logged *a, const struct rp_logged *b)
{
    return a->sight != b->sight || !a->sight;
}

/* The open entry that works on the very buffers of the call, and does something else; or
 * log_count. */
static size_t find_meant(const struct rp_execution *execution, const struct rp_footprint *call)
{
    struct places places = places_of(call);
    size_t at = 0;
    for (; at < execution->log_count; at++) {
        const struct rp_logged *entry = &execution->log[at];
        if (is_open(entry, call) && is_in_place(entry, places) &&
            rp_pairing_same_values(entry, call) &&
            does_other_work(entry, &execution->log[call->entry]))
            break;
    }
    return at;
}

static bool is_anothers_place(const struct rp_execution *execution,
                              const struct rp_footprint *call, uint64_t outputs)
{
    for (size_t i = 0; i < execution->log_count; i++) {
        const struct rp_logged *other = &execution->log[i];
        if (other->signature == call->signature && other->outputs == outputs &&
            other->sight != execution->log[call->entry].sight)
            return true;
    }
    return false;
}

static bool is_state(const struct rp_execution *execution, const struct rp_reach *write)
{
    struct rp_spans state = {0};
    bool is_any = rp_keep_state(execution, write->id, write->lo, write->hi, &state) != RP_OK ||
                  state.count;
    rp_spans_release(&state);
    return is_any;
}

/* The first that is no state, or NULL. */
static struct rp_reach *first_output(const struct rp_execution *execution,
                                     const struct rp_footprint *call)
{
    for (size_t i = 0; i < call->count; i++)
        if (call->reaches[i].effect == RP_WRITE && !is_state(execution, &call->reaches[i]))
            return &call->reaches[i];
    return NULL;
}

/* A call of which no more than that is to be said. */
static struct rp_footprint writing(uint32_t name, uint64_t launch, struct rp_reach *output)
{
    return (struct rp_footprint){.name = name, .launch = launch, .reaches = output, .count = 1};
}

/* To be told when all of the replay is known. False when the host is out of memory. */
static bool note_moved(struct rp_scope *scope, const struct rp_footprint *call, size_t meant,
                       const struct rp_reach *output)
{
    struct rp_moved_calls *moved = &scope->moved;
    struct rp_moved *bigger =
        rp_array_reserve(moved->items, &moved->capacity, moved->count + 1, sizeof *bigger);
    if (!bigger)
        return false;
    moved->items = bigger;
    moved->items[moved->count++] = (struct rp_moved){
        .name = call->name, .launch = call->launch, .entry = call->entry, .meant = meant,
        .output = *output};
    return true;
}

static enum rp_status is_forwards(void *ctx, uint64_t lo, uint64_t hi,
                                  const struct rp_writer *writer)
{
    const struct rp_execution *execution = ctx;
    (void)lo, (void)hi;
    return writer->made_in == (uint32_t)execution->instance->id ? RP_OK : RP_END;
}

/* All that the forward has made, but for what it steps, stands where it made it: there is nothing
 * that a replay would be needed for. */
static bool stands_whole(const struct rp_execution *execution)
{
    struct rp_spans made = {0};
    bool stands = true;
    for (size_t i = 0; stands && i < execution->instance->live_count; i++) {
        const struct rp_live *live = &execution->instance->lives[i];
        made.count = 0;
        stands = rp_spans_add_all(&made, &live->touched) == RP_OK &&
                 rp_spans_remove_all(&made, &live->live_in) == RP_OK;
        for (size_t j = 0; stands && j < made.count; j++)
            stands = rp_versions_read(rp_core.bench.versions, live->id, made.items[j].lo,
                                      made.items[j].hi, is_forwards,
                                      (void *)(uintptr_t)execution) == RP_OK;
    }
    rp_spans_release(&made);
    return stands;
}

/* Once more with other outputs may be the next forward, where no name tells it from a replay. */
static void note_elsewhere(struct rp_scope *scope, const struct rp_footprint *call,
                           const struct rp_reach *output)
{
    const struct rp_segment_rule *rule = &rp_core.config.contract->segments[scope->segment];
    struct rp_elsewhere *elsewhere = &scope->elsewhere;
    if (rule->replay.kind == RP_WHERE_REPEAT && !elsewhere->name)
        *elsewhere = (struct rp_elsewhere){call->name, call->launch, *output,
                                           stands_whole(scope->execution)};
}

void rp_match_doubt(struct rp_scope *scope, const struct rp_footprint *call)
{
    const struct rp_execution *execution = scope->execution;
    uint64_t outputs = rp_pairing_outputs(call);
    if (execution->log[call->entry].outputs == outputs || !rp_switch_on(RP_SWITCH_DOUBTS))
        return;
    struct rp_reach *output = first_output(execution, call);
    size_t meant = find_meant(execution, call);
    if (output)
        note_elsewhere(scope, call, output);
    if (!output || (meant < execution->log_count && note_moved(scope, call, meant, output)))
        return;
    const struct rp_footprint seen = writing(call->name, call->launch, output);
    if (is_anothers_place(execution, call, outputs))
        rp_report_moved(execution, &seen, call->entry);
}

/* Where all calls came, they came in order, and memory was used again. */
static void tell_moved(const struct rp_scope *scope)
{
    const struct rp_execution *execution = scope->execution;
    for (size_t i = 0; i < scope->moved.count; i++) {
        struct rp_moved *moved = &scope->moved.items[i];
        const struct rp_footprint call = writing(moved->name, moved->launch, &moved->output);
        if (execution->log[moved->meant].repeated)
            rp_report_moved(execution, &call, moved->entry);
        else
            rp_report_twofold(execution, &call, moved->meant);
    }
}

/* ---- calls that were left out ------------------------------------------------------------ */

static bool is_alike(const struct rp_logged *a, const struct rp_logged *b)
{
    return a->signature == b->signature && a->values == b->values && a->content == b->content &&
           a->inputs == b->inputs && a->outputs == b->outputs;
}

struct standing {
    rp_version version;
    struct rp_span found; /* what the call of this version has made, in one piece */
};

static enum rp_status find_made(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *writer)
{
    struct standing *standing = ctx;
    if (writer->version != standing->version)
        return RP_OK;
    standing->found = (struct rp_span){lo, hi};
    return RP_END;
}

/* What the replay's call of this version has made of the allocation, and nothing will set aside. */
static bool find_output(const struct rp_execution *execution, const struct rp_live *live,
                        struct standing *standing)
{
    struct rp_spans made = {0}, state = {0};
    bool is_known = rp_spans_add_all(&made, &live->replayed) == RP_OK &&
                    rp_keep_state(execution, live->id, 0, UINT64_MAX, &state) == RP_OK &&
                    rp_spans_remove_all(&made, &state) == RP_OK;
    for (size_t i = 0; is_known && i < made.count && !standing->found.hi; i++)
        (void)rp_versions_read(rp_core.bench.versions, live->id, made.items[i].lo, made.items[i].hi,
                               find_made, standing);
    rp_spans_release(&made);
    rp_spans_release(&state);
    return standing->found.hi;
}

/* Entry `at` came, and what it has made still stands where entry `last` would have left its own. */
static void tell_twofold(const struct rp_execution *execution, size_t at, size_t last)
{
    const struct rp_logged *entry = &execution->log[at];
    struct standing standing = {.version = entry->version};
    for (size_t i = 0; i < execution->instance->live_count; i++) {
        const struct rp_live *live = &execution->instance->lives[i];
        if (!find_output(execution, live, &standing))
            continue;
        struct rp_reach output = {.id = live->id, .lo = standing.found.lo,
                                  .hi = standing.found.hi, .effect = RP_WRITE};
        const struct rp_footprint call = writing(entry->name, 0, &output);
        rp_report_twofold(execution, &call, last);
        return;
    }
}

/* The calls that came, taken for the last ones in the log that they may be: where that makes
 * others of them, it is not known which they were. */
static void tell_left_out(const struct rp_execution *execution)
{
    size_t last = execution->log_count;
    for (size_t i = execution->log_count; i-- > 0;) {
        const struct rp_logged *entry = &execution->log[i];
        if (!entry->repeated)
            continue;
        while (last-- > i && !is_alike(&execution->log[last], entry))
            ;
        if (last != i && does_other_work(&execution->log[last], entry))
            tell_twofold(execution, i, last);
    }
}

/* Where nothing was rewound for it, a forward would have come out the same. */
static bool would_differ(const struct rp_scope *scope)
{
    return scope->execution->serves ||
           (scope->transaction && rp_transaction_restored_bytes(scope->transaction));
}

static void tell_elsewhere(struct rp_scope *scope)
{
    struct rp_elsewhere *elsewhere = &scope->elsewhere;
    const struct rp_footprint call = writing(elsewhere->name, elsewhere->launch,
                                             &elsewhere->output);
    if (!elsewhere->name || !would_differ(scope))
        return;
    if (elsewhere->stands)
        rp_report_unpaired(rp_core.config.contract->segments[scope->segment].name, "", &call,
                           RP_MAY_BE_FORWARD);
    else
        rp_report_order(scope->execution, &call, RP_ASSUMED_REPEATED);
}

void rp_match_close(struct rp_scope *scope)
{
    const struct rp_execution *execution = scope->execution;
    tell_moved(scope);
    tell_elsewhere(scope);
    if (scope->repeated < execution->log_count && !scope->tainted &&
        rp_switch_on(RP_SWITCH_DOUBTS))
        tell_left_out(execution);
}
