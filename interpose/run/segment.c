/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/segment.h"

#include "interpose/plan/chain.h"
#include "interpose/plan/cost.h"
#include "interpose/plan/policy.h"
#include "interpose/plan/retain.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/core.h"
#include "interpose/run/guard.h"
#include "interpose/run/host.h"
#include "interpose/run/pairing.h"
#include "interpose/run/remark.h"
#include "interpose/run/replay.h"
#include "interpose/run/report.h"
#include "tracker/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rp_scope **open_transactions;
static size_t open_count, open_capacity;

size_t rp_transactions_count(void)
{
    return open_count;
}

struct rp_scope *rp_transactions_at(size_t index)
{
    return open_transactions[index];
}

bool rp_transactions_add(struct rp_scope *scope)
{
    struct rp_scope **bigger = rp_array_reserve(open_transactions, &open_capacity, open_count + 1,
                                                sizeof(*bigger));
    if (!bigger)
        return false;
    open_transactions = bigger;
    open_transactions[open_count++] = scope;
    return true;
}

void rp_transactions_forget(void)
{
    open_count = 0;
}

void rp_transactions_remove(const struct rp_scope *scope)
{
    for (size_t i = 0; i < open_count; i++)
        if (open_transactions[i] == scope)
            open_transactions[i] = open_transactions[--open_count];
}

static const struct rp_segment_rule *rule_of(uint32_t segment)
{
    return &rp_core.config.contract->segments[segment];
}

static const char *phase_of(const struct rp_scope *scope, bool begins)
{
    if (scope->kind == RP_SCOPE_FORWARD)
        return begins ? "forward begins" : "forward ends";
    return begins ? "replay begins" : "replay ends";
}

static void note_scope(const struct rp_scope *scope, bool begins)
{
    const struct rp_execution *execution = scope->execution;
    RP_NOTE(segment, RP_T(rule_of(scope->segment)->name), RP_T(execution ? execution->key : ""),
            RP_U(execution ? execution->instance->id : 0), RP_T(phase_of(scope, begins)),
            RP_U(rp_core.step),
            RP_U(execution ? execution->last_stream : 0),
            RP_U(execution ? execution->log_count : 0));
}

static bool open_scope(struct rp_thread *thread, struct rp_scope scope)
{
    if (thread->scope_count == RP_MAX_SCOPES || thread->is_full) {
        rp_remark("segment", "more than 16 segments inside each other: the innermost are not seen");
        if (scope.kind == RP_SCOPE_REPLAY)
            rp_report_unpaired(rule_of(scope.segment)->name, "", NULL, NULL);
        return false;
    }
    thread->left_out.signature = 0;
    thread->scopes[thread->scope_count++] = scope;
    thread->marks = true;
    note_scope(&scope, true);
    return true;
}

static void note_nesting(const struct rp_thread *thread, struct rp_execution *execution)
{
    rp_cost_depart("segments lie in one another");
    rp_retain_refuse(execution, "it lies in another segment");
    for (unsigned i = 0; i < thread->scope_count; i++)
        if (thread->scopes[i].kind == RP_SCOPE_FORWARD)
            rp_retain_refuse(thread->scopes[i].execution, "another segment lies in it");
}

static bool open_forward(struct rp_thread *thread, uint32_t segment, const char *key,
                         bool by_launch)
{
    struct rp_execution *execution = rp_execution_begin(segment, key);
    if (!execution) {
        rp_remark("segment", "the host is out of memory: a forward is not followed");
        return false;
    }
    if (!thread->catches_up) /* else the host has gone on since then */
        rp_host_forward_opens(execution);
    rp_cost_phase(RP_PHASE_OF_FORWARD, execution->place);
    if (thread->scope_count) {
        const struct rp_scope *around = &thread->scopes[thread->scope_count - 1];
        execution->outer = around->kind == RP_SCOPE_FORWARD ? around->execution->instance->id : 0;
        note_nesting(thread, execution);
    }
    return open_scope(thread, (struct rp_scope){.kind = RP_SCOPE_FORWARD,
                                                .segment = segment,
                                                .execution = execution,
                                                .by_launch = by_launch});
}

/* Why none waits, as far as that is known. */
static const char *why_unpaired(uint32_t segment)
{
    return rp_segment_figures(segment)->lost_in == rp_core.step + 1 ? RP_LOST : NULL;
}

static bool open_replay(struct rp_thread *thread, uint32_t segment, const char *key,
                        struct rp_pairing pairing, bool by_launch)
{
    struct rp_scope scope = {.kind = RP_SCOPE_REPLAY,
                             .segment = segment,
                             .execution = pairing.execution,
                             .guessed = pairing.guessed,
                             .by_launch = by_launch};
    snprintf(scope.key, sizeof scope.key, "%s", key);
    if (!pairing.execution)
        rp_report_unpaired(rule_of(segment)->name, key, NULL, why_unpaired(segment));
    rp_segment_figures(segment)->replays++;
    if (!open_scope(thread, scope))
        return false;
    if (pairing.execution) {
        struct rp_scope *opened = &thread->scopes[thread->scope_count - 1];
        rp_execution_replay_begins(pairing.execution);
        if (rp_segment_owner(thread, opened) == opened)
            rp_host_replay_opens(opened);
    }
    return true;
}

static void forward_closes(const struct rp_scope *scope)
{
    struct rp_execution *execution = scope->execution;
    execution->captured = rp_captured_left(&scope->captured);
    rp_host_forward_closes(execution);
    execution->others_called = !execution->log_count && rp_core.seq != execution->instance->since;
}

static void close_scope(struct rp_thread *thread)
{
    struct rp_scope *scope = &thread->scopes[thread->scope_count - 1];
    note_scope(scope, false);
    if (scope->kind == RP_SCOPE_FORWARD) {
        forward_closes(scope);
        rp_retain_decide(scope->execution);
        rp_recompute_forward_ends(scope->execution);
        scope->execution->phase = RP_PHASE_PENDING;
    } else if (scope->execution) {
        rp_replay_close(scope);
        thread->left_out = rp_replay_left_out(scope);
        rp_transactions_remove(scope);
        rp_guard_end(scope);
        rp_host_replay_closes(scope);
        rp_retain_note(scope->execution);
        rp_execution_replay_ends(scope->execution);
        rp_execution_give_up(scope->execution);
        rp_cost_phase(RP_PHASE_OF_BACKWARD, scope->execution->place);
    }
    free(scope->captured.items);
    free(scope->moved.items);
    thread->scope_count--;
}

struct rp_scope *rp_segment_replay(struct rp_thread *thread)
{
    for (unsigned i = thread->scope_count; i-- > 0;)
        if (thread->scopes[i].kind == RP_SCOPE_REPLAY)
            return &thread->scopes[i];
    return NULL;
}

struct rp_scope *rp_segment_owner(struct rp_thread *thread, struct rp_scope *replay)
{
    struct rp_scope *owner = replay;
    for (struct rp_scope *scope = replay; scope-- > thread->scopes;)
        if (scope->kind == RP_SCOPE_REPLAY && scope->execution &&
            rp_execution_is_part_of(owner->execution, scope->execution))
            owner = scope;
    return owner;
}

/* A replay runs the forward's own code, and with it the forward's own annotations. */
static bool repeats_annotation(struct rp_thread *thread, uint32_t segment, const char *key)
{
    const struct rp_scope *replay = rp_segment_replay(thread);
    return replay && replay->segment == segment &&
           (!replay->execution || strcmp(replay->execution->key, key) == 0);
}

static bool push_scope(struct rp_thread *thread, const char *message)
{
    const struct rp_contract *contract = rp_core.config.contract;
    char key[RP_KEY_BYTES];
    for (uint32_t i = 0; i < contract->segment_count; i++) {
        const struct rp_segment_rule *rule = &contract->segments[i];
        if (rule->replay.kind == RP_WHERE_NVTX &&
            rp_glob_match(rule->replay.nvtx, message, key, sizeof key))
            return open_replay(thread, i, key, rp_pairing_find(i, key), false);
        if (rule->forward.kind == RP_WHERE_NVTX &&
            rp_glob_match(rule->forward.nvtx, message, key, sizeof key))
            return !repeats_annotation(thread, i, key) && open_forward(thread, i, key, false);
    }
    return false;
}

/* A step began: `nth` counts from here. */
static void restart_matches(void)
{
    for (uint32_t i = 0; i < rp_core.config.contract->segment_count; i++)
        rp_segment_figures(i)->first_matches = 0;
}

static void begin_step(void)
{
    rp_executions_expire();
    rp_cost_step_ends();
    rp_cost_collect(false);
    rp_policy_step_begins();
    rp_chain_step_began();
    rp_recompute_step_begins();
    rp_core.step++;
    rp_core.launch_in_step = 0;
    restart_matches();
    rp_cost_step_begins();
    RP_NOTE(step, RP_U(rp_core.step));
}

static void begin_range(struct rp_thread *thread, struct rp_range *range, const char *message)
{
    const char *step = rp_core.config.contract->step_nvtx;
    if (step && rp_glob_match(step, message, NULL, 0)) {
        begin_step();
        range->opened = RP_RANGE_STEP;
    } else if (push_scope(thread, message)) {
        range->opened = RP_RANGE_SCOPE;
    }
}

void rp_segment_push(struct rp_thread *thread, const void *domain, const char *message)
{
    struct rp_range *range = rp_ranges_push(&thread->ranges, domain);
    if (range)
        begin_range(thread, range, message);
}

void rp_segment_pop(struct rp_thread *thread, const void *domain)
{
    enum rp_range_kind opened;
    if (!rp_ranges_pop(&thread->ranges, domain))
        return;
    unsigned before = thread->ranges.count;
    while (rp_ranges_take(&thread->ranges, &opened))
        if (opened == RP_RANGE_SCOPE)
            close_scope(thread);
        else if (opened == RP_RANGE_STEP)
            rp_cost_step_ends();
    if (thread->ranges.count == before)
        rp_remark("nvtxDomainRangePop", RP_ENDS_LATER);
}

void rp_segment_catch_up(struct rp_thread *thread)
{
    struct rp_range *range;
    char *message;
    thread->catches_up = true;
    while ((message = rp_ranges_take_early(&thread->ranges, &range)) != NULL) {
        begin_range(thread, range, message);
        free(message);
    }
    thread->catches_up = false;
}

enum rp_status rp_segment_begin(struct rp_thread *thread, const char *name, const char *key,
                                bool replay)
{
    const struct rp_contract *contract = rp_core.config.contract;
    for (uint32_t i = 0; i < contract->segment_count; i++) {
        const struct rp_segment_rule *rule = &contract->segments[i];
        if (rule->forward.kind != RP_WHERE_CALLS || strcmp(rule->name, name) != 0)
            continue;
        bool opened = replay ? open_replay(thread, i, key, rp_pairing_find(i, key), false)
                             : open_forward(thread, i, key, false);
        return opened ? RP_OK : RP_NO_MEMORY;
    }
    return RP_NOT_FOUND;
}

enum rp_status rp_segment_end(struct rp_thread *thread)
{
    if (!thread->scope_count)
        return RP_NOT_FOUND;
    close_scope(thread);
    return RP_OK;
}

static bool is_open_by_launch(const struct rp_thread *thread, uint32_t segment)
{
    for (unsigned i = 0; i < thread->scope_count; i++)
        if (thread->scopes[i].by_launch && thread->scopes[i].segment == segment)
            return true;
    return false;
}

bool rp_segment_may_replay(const struct rp_thread *thread, uint32_t segment,
                           const struct rp_footprint *call)
{
    const struct rp_segment_rule *rule = rule_of(segment);
    const struct rp_where *where = rule->replay.kind == RP_WHERE_REPEAT ? &rule->forward
                                                                        : &rule->replay;
    return call->is_launch && !call->in_graph && where->kind == RP_WHERE_LAUNCHES &&
           rp_glob_match(where->first, rp_name(call->name), NULL, 0) &&
           !is_open_by_launch(thread, segment) && rp_pairing_may_repeat(segment, call);
}

static void open_by_launch(struct rp_thread *thread, uint32_t segment,
                           const struct rp_footprint *call)
{
    const struct rp_segment_rule *rule = rule_of(segment);
    const char *kernel = rp_name(call->name);
    if (rule->replay.kind == RP_WHERE_LAUNCHES &&
        rp_glob_match(rule->replay.first, kernel, NULL, 0)) {
        open_replay(thread, segment, "", rp_pairing_find(segment, ""), true);
        return;
    }
    if (rule->forward.kind != RP_WHERE_LAUNCHES ||
        !rp_glob_match(rule->forward.first, kernel, NULL, 0))
        return;
    struct rp_execution *repeated = NULL;
    if (rule->replay.kind == RP_WHERE_REPEAT)
        repeated = rp_pairing_repeated(segment, call);
    if (repeated) {
        open_replay(thread, segment, "", (struct rp_pairing){.execution = repeated}, true);
        return;
    }
    uint64_t match = rp_segment_figures(segment)->first_matches++;
    if (!rule->forward.has_first_nth || match == rule->forward.first_nth)
        open_forward(thread, segment, "", true);
}

void rp_segment_before_launch(struct rp_thread *thread, const struct rp_footprint *call)
{
    for (uint32_t i = 0; i < rp_core.config.contract->segment_count; i++)
        if (!is_open_by_launch(thread, i))
            open_by_launch(thread, i, call);
}

void rp_segment_after_launch(struct rp_thread *thread, uint32_t kernel)
{
    while (thread->scope_count) {
        const struct rp_scope *scope = &thread->scopes[thread->scope_count - 1];
        const struct rp_segment_rule *rule = rule_of(scope->segment);
        const struct rp_where *where = &rule->forward;
        if (scope->kind == RP_SCOPE_REPLAY && rule->replay.kind == RP_WHERE_LAUNCHES)
            where = &rule->replay;
        if (!scope->by_launch || !rp_glob_match(where->last, rp_name(kernel), NULL, 0))
            return;
        close_scope(thread);
    }
}
