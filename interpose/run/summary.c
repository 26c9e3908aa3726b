/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/summary.h"

#include "cuda/access/access.h"
#include "interpose/calls/image.h"
#include "interpose/calls/repeat.h"
#include "interpose/door/shortage.h"
#include "interpose/door/wrap.h"
#include "interpose/plan/ledger.h"
#include "interpose/plan/cost.h"
#include "interpose/plan/estimate.h"
#include "interpose/plan/policy.h"
#include "interpose/recompute/advice.h"
#include "interpose/recompute/backing.h"
#include "interpose/recompute/granule.h"
#include "interpose/recompute/need.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/buffer.h"
#include "interpose/run/core.h"
#include "interpose/run/execution.h"
#include "interpose/run/profiler.h"
#include "interpose/run/record.h"
#include "interpose/run/remark.h"
#include "interpose/run/words.h"

#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void put_count(json_t *object, const char *key, uint64_t value)
{
    /* JSON readers stop at 63 bits; no count of ours comes near. */
    json_object_set_new(object, key, json_integer((json_int_t)(value & INT64_MAX)));
}

static void put_most(json_t *object, const char *key, uint64_t a, uint64_t b)
{
    put_count(object, key, a > b ? a : b);
}

/* jansson refuses what is not UTF-8, such as a stray kernel name. */
static void put_text(json_t *object, const char *key, const char *text)
{
    json_t *value = json_string(text);
    if (!value) {
        char clean[256];
        size_t length = strlen(text);
        if (length >= sizeof clean)
            length = sizeof clean - 1;
        for (size_t i = 0; i < length; i++)
            clean[i] = (text[i] & 0x80) ? '?' : text[i];
        clean[length] = '\0';
        value = json_string(clean);
    }
    json_object_set_new(object, key, value);
}

static bool is_moved(const struct rp_hazard *hazard)
{
    return hazard->kind == RP_HAZARD_ASSUMED && hazard->assumed == RP_ASSUMED_MOVED;
}

static void put_place(json_t *object, const struct rp_hazard *hazard)
{
    if (hazard->buffer)
        put_text(object, "buffer", hazard->buffer);
    put_count(object, "allocation", hazard->allocation);
    put_count(object, "allocation_bytes", hazard->allocation_bytes);
    if (hazard->allocation) {
        put_text(object, "memory", hazard->memory ? hazard->memory : "");
        put_count(object, "birth_seq", hazard->birth_seq);
    }
    put_count(object, "offset", hazard->offset);
    put_count(object, "bytes", hazard->bytes);
    if (hazard->allocation)
        put_count(object, "version_read", hazard->version_read);
    if (hazard->wants_version)
        put_count(object, "version_wanted", hazard->version_wanted);
}

static void put_calls(json_t *object, const struct rp_hazard *hazard)
{
    char stream[32];
    snprintf(stream, sizeof stream, "0x%llx", (unsigned long long)hazard->written.stream);
    if (hazard->writer) {
        put_text(object, "writer", hazard->writer);
        put_count(object, "writer_seq", hazard->written.seq);
        put_count(object, "writer_step", hazard->written.step);
        put_count(object, "writer_launch", hazard->written.launch);
        put_text(object, "writer_stream", stream);
    }
    if (hazard->reader) {
        put_text(object, "reader", hazard->reader);
        put_count(object, "reader_launch", hazard->reader_launch);
    }
    if (hazard->other)
        put_text(object, "other", hazard->other);
    if (hazard->kind == RP_HAZARD_DIVERGED || is_moved(hazard))
        put_count(object, "position", hazard->position);
}

static json_t *hazard_json(const struct rp_hazard *hazard)
{
    json_t *object = json_object();
    put_text(object, "hazard", rp_hazard_kind_name(hazard->kind));
    if (hazard->segment)
        put_text(object, "segment", hazard->segment);
    put_count(object, "instance", hazard->instance);
    put_place(object, hazard);
    if (hazard->key)
        put_text(object, "key", hazard->key);
    put_calls(object, hazard);
    put_count(object, "step", hazard->step);
    put_count(object, "count", hazard->count);
    put_count(object, "order", hazard->order);
    json_object_set_new(object, "harmless", json_boolean(hazard->harmless));
    if (rp_hazard_kind_warns(hazard->kind))
        json_object_set_new(object, "warning", json_true());
    if (rp_words_taken_for(hazard))
        put_text(object, "taken_for", rp_words_taken_for(hazard));
    put_text(object, "advice", rp_words_advice(hazard));
    return object;
}

static json_t *hazards_json(void)
{
    json_t *array = json_array();
    rp_hazards_sort(&rp_core.hazards);
    for (size_t i = 0; i < rp_core.hazards.count; i++)
        json_array_append_new(array, hazard_json(&rp_core.hazards.items[i]));
    return array;
}

static json_t *segments_json(void)
{
    const struct rp_contract *contract = rp_core.config.contract;
    json_t *array = json_array();
    for (uint32_t i = 0; i < contract->segment_count; i++) {
        const struct rp_segment_figures *figures = rp_segment_figures(i);
        json_t *object = json_object();
        put_text(object, "name", contract->segments[i].name);
        put_count(object, "forwards", figures->forwards);
        put_count(object, "replays", figures->replays);
        put_count(object, "unreplayed", figures->unreplayed + rp_segment_waiting(i));
        put_count(object, "replayed_again", figures->again);
        put_count(object, "stopped_early", figures->stopped_early);
        put_count(object, "skipped", figures->skipped);
        if (figures->refused)
            put_text(object, "refused", figures->refused);
        if (figures->unserved)
            put_text(object, "unserved", figures->unserved);
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *buffers_json(void)
{
    const struct rp_contract *contract = rp_core.config.contract;
    json_t *array = json_array();
    for (size_t i = 0; i < contract->buffer_count; i++) {
        json_t *object = json_object();
        put_text(object, "name", contract->buffers[i].name);
        put_count(object, "found", rp_buffer_found(i));
        json_array_append_new(array, object);
    }
    return array;
}

static void add_remark(void *ctx, const char *call, const char *reason, uint64_t count)
{
    json_t *object = json_object();
    put_text(object, "call", call);
    put_count(object, "count", count);
    put_text(object, "reason", reason);
    if (strcmp(reason, RP_UNVOUCHED_READ) == 0 || strcmp(reason, RP_UNVOUCHED_OWN) == 0)
        json_object_set_new(object, "unvouched", json_true());
    if (strcmp(reason, RP_UNVOUCHED_UNSEEN) == 0 || strcmp(reason, RP_UNVOUCHED_CONTENT) == 0 ||
        strcmp(reason, RP_UNVOUCHED_LANDING) == 0)
        json_object_set_new(object, "unseen", json_true());
    if (strcmp(reason, RP_TAKEN_FOR_OUTPUT) == 0 || strcmp(reason, RP_TAKEN_FOR_STATE) == 0)
        json_object_set_new(object, "taken", json_true());
    json_array_append_new(ctx, object);
}

/* By verdict of their writes; gives their number. */
static uint64_t count_launches(uint64_t counts[RP_VERDICT_EVERYTHING + 1])
{
    uint64_t all = 0;
    memcpy(counts, rp_core.figures.launches_by_verdict,
           sizeof rp_core.figures.launches_by_verdict);
    rp_repeat_count(counts);
    for (int verdict = RP_VERDICT_NONE; verdict <= RP_VERDICT_EVERYTHING; verdict++)
        all += counts[verdict];
    return all;
}

static json_t *proofs_json(void)
{
    json_t *object = json_object();
    uint64_t counts[RP_VERDICT_EVERYTHING + 1];
    count_launches(counts);
    for (int verdict = RP_VERDICT_NONE; verdict <= RP_VERDICT_EVERYTHING; verdict++)
        put_count(object, rp_verdict_name((enum rp_verdict)verdict), counts[verdict]);
    return object;
}

/* What the steps took, beside what a plan may have promised. */
static void put_steps(json_t *summary)
{
    const struct rp_step_cost *last = rp_ledger_last();
    const char *refused = rp_estimate_refused();
    json_t *object = json_object();
    put_count(object, "measured", rp_ledger_count());
    put_count(object, "peak_bytes", rp_cost_peak());
    if (last)
        put_count(object, "last_ns", last->ns);
    if (refused)
        put_text(object, "no_profile", refused);
    if (rp_profiler_refused())
        put_text(object, "no_cupti", rp_profiler_refused());
    json_object_set_new(summary, "step_costs", object);
}

static void put_planned(json_t *object, const struct rp_plan *plan)
{
    if (rp_plan_has_choices(plan)) {
        put_count(object, "planned_ns", plan->time);
        put_count(object, "planned_peak_bytes", plan->peak);
    }
    if (plan->has_min_budget)
        put_count(object, "min_budget_bytes", plan->min_budget);
}

static void put_measured(json_t *object, const struct rp_policy_state *state)
{
    put_planned(object, state->plan);
    put_count(object, "steps", state->steps);
    if (!state->steps)
        return;
    put_count(object, "measured_ns", state->median_ns);
    put_count(object, "measured_peak_bytes", state->peak);
    if (rp_plan_has_choices(state->plan) && state->peak > state->plan->peak)
        put_count(object, "overrun_bytes", state->peak - state->plan->peak);
}

static json_t *choices_json(const struct rp_plan *plan)
{
    json_t *object = json_object();
    for (size_t k = 0; rp_plan_has_choices(plan) && k < plan->count; k++)
        put_text(object, plan->names[k], rp_choice_name(plan->choices[k]));
    return object;
}

/* What was planned, beside what was measured. */
static void put_plan(json_t *summary)
{
    struct rp_policy_state state;
    rp_policy_state(&state);
    if (!state.wanted)
        return;
    json_t *object = json_object();
    json_object_set_new(object, "in_force", json_boolean(state.in_force));
    put_count(object, "plans", state.plans);
    if (state.reason)
        put_text(object, "reason", state.reason);
    if (state.needed)
        put_count(object, "needed_bytes", state.needed);
    if (state.plan) {
        put_text(object, "answer", rp_answer_name(state.plan->answer));
        put_measured(object, &state);
        json_object_set_new(object, "choices", choices_json(state.plan));
    }
    json_object_set_new(summary, "plan", object);
}

/* What the planner said, beside what the last step took. */
static void put_advice(json_t *recompute)
{
    const struct rp_advice advice = rp_advice();
    const struct rp_step_cost *last = rp_ledger_last();
    json_t *object = json_object();
    put_count(object, "plans", advice.plans);
    if (advice.reason)
        put_text(object, "reason", advice.reason);
    if (advice.plan) {
        put_text(object, "answer", rp_answer_name(advice.plan->answer));
        put_planned(object, advice.plan);
        put_count(object, "measured_ns", last ? last->ns : 0);
        put_count(object, "measured_peak_bytes", last ? last->peak : 0);
        json_object_set_new(object, "choices", choices_json(advice.plan));
    }
    json_object_set_new(recompute, "plan", object);
}

/* What was dropped and made anew; `unserved` of a segment says why it was not. */
static void put_recompute(json_t *summary)
{
    if (!rp_recompute_is_on())
        return;
    json_t *object = json_object();
    put_count(object, "drops", rp_core.figures.drops);
    put_count(object, "bytes_dropped", rp_core.figures.bytes_dropped);
    put_count(object, "recalls", rp_core.figures.recalls);
    put_count(object, "granule_bytes", rp_granule_bytes());
    put_count(object, "least_bytes", rp_need_least());
    if (rp_core.figures.lacking)
        put_count(object, "needed_bytes", rp_core.figures.lacking);
    put_advice(object);
    json_object_set_new(summary, "recompute", object);
}

static void put_contract(json_t *summary)
{
    const struct rp_contract *contract = rp_core.config.contract;
    put_text(summary, "policy", rp_policy_name(contract->policy));
    put_text(summary, "state", contract->state == RP_STATE_DECLARED ? "declared" : "discovered");
    put_count(summary, "transactions", rp_core.figures.transactions);
    put_count(summary, "launches_served", rp_core.figures.launches_served);
    put_count(summary, "bytes_preserved", rp_core.figures.bytes_preserved);
    put_count(summary, "bytes_recalled", rp_core.figures.bytes_recalled);
    put_count(summary, "bytes_kept_on_host", rp_core.figures.bytes_in_refuge);
    put_count(summary, "bytes_restored", rp_core.figures.bytes_restored);
    put_count(summary, "bytes_reinstated", rp_core.figures.bytes_reinstated);
    put_most(summary, "bytes_held_peak", rp_store_held_peak(rp_core.bench.store),
             rp_core.figures.bytes_held_peak);
    put_most(summary, "bytes_reserved", rp_store_reserved(rp_core.bench.store),
             rp_core.figures.bytes_reserved);
    put_recompute(summary);
    put_steps(summary);
    put_plan(summary);
    json_object_set_new(summary, "segments", segments_json());
    json_object_set_new(summary, "buffers", buffers_json());
}

static void put_trace(json_t *summary)
{
    struct rp_trace_stats stats;
    rp_trace_writer_stats(rp_core.trace, &stats);
    put_count(summary, "trace_events", stats.events);
    put_count(summary, "trace_bytes", stats.bytes_written);
    put_count(summary, "trace_lost", stats.lost);
    put_count(summary, "trace_waits", stats.waits);
    if (stats.error != 0)
        put_text(summary, "trace_error", strerror(stats.error));
}

static json_t *summary_json(void)
{
    json_t *summary = json_object();
    uint64_t counts[RP_VERDICT_EVERYTHING + 1];
    put_text(summary, "format", "reprise-summary");
    put_count(summary, "version", 1);
    put_count(summary, "pid", (uint64_t)getpid());
    put_count(summary, "program", rp_record_program());
    if (*rp_core.config.rank)
        put_count(summary, "rank", strtoull(rp_core.config.rank, NULL, 10));
    put_text(summary, "mode", rp_mode_name(rp_core.config.mode));
    put_text(summary, "driver", rp_real_path());
    put_count(summary, "calls", rp_wrap_calls());
    put_count(summary, "tracked_calls", rp_core.seq);
    put_count(summary, "launches", count_launches(counts));
    put_count(summary, "launches_remembered", rp_core.figures.launches_remembered);
    if (rp_core.config.audit) {
        put_count(summary, "audits", rp_core.figures.audits);
        put_count(summary, "audit_misses", rp_core.figures.audit_misses);
        put_count(summary, "audits_failed", rp_core.figures.audits_failed);
    }
    struct rp_image_figures proved = rp_image_proof_figures();
    put_count(summary, "proofs_recalled", proved.recalled);
    put_count(summary, "proofs_kept", proved.kept);
    put_count(summary, "proofs_damaged", proved.damaged);
    put_count(summary, "steps", rp_core.step);
    put_count(summary, "device_peak_bytes", rp_core.figures.device_peak);
    if (rp_shortages())
        put_count(summary, "shortages", rp_shortages());
    if (rp_core.config.budget != UINT64_MAX)
        put_count(summary, "budget_bytes", rp_core.config.budget);
    if (rp_core.trace)
        put_trace(summary);
    if (rp_core.segments_wanted)
        put_contract(summary);
    json_object_set_new(summary, "hazards", hazards_json());
    json_object_set_new(summary, "proofs", proofs_json());
    json_t *unknown = json_array();
    rp_remarks_each(add_remark, unknown);
    json_object_set_new(summary, "unknown", unknown);
    return summary;
}

static const char short_summary[] =
    "{\"format\": \"reprise-summary\", \"version\": 1, \"pid\": %d, \"program\": %u, "
    "\"mode\": \"%s\", \"driver\": \"\", \"calls\": %" PRIu64 ", \"tracked_calls\": %" PRIu64 ", "
    "\"launches\": %" PRIu64 ", \"steps\": %" PRIu64 ", \"shortages\": %" PRIu64 ", "
    "\"hazards\": [%s], \"proofs\": {}, \"unknown\": []}\n";
static const char short_hazard[] =
    "{\"hazard\": \"unproved\", \"instance\": 0, \"allocation\": 0, \"offset\": 0, \"bytes\": 0, "
    "\"step\": 0, \"count\": 1, \"order\": 0, \"harmless\": false, \"advice\": "
    "\"the host was out of memory: which hazards there were is not known\"}";

/* For want of memory parts would be missing without a word: then it is tried once more, and after
 * that only said. */
static bool write_to(int file)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        uint64_t met = rp_shortages();
        json_t *summary = summary_json();
        bool whole = rp_shortages() == met && ftruncate(file, 0) == 0 &&
                     lseek(file, 0, SEEK_SET) == 0 &&
                     json_dumpfd(summary, file, JSON_INDENT(2)) == 0;
        json_decref(summary);
        if (whole || rp_shortages() == met)
            return whole;
    }
    uint64_t counts[RP_VERDICT_EVERYTHING + 1];
    return ftruncate(file, 0) == 0 && lseek(file, 0, SEEK_SET) == 0 &&
           dprintf(file, short_summary, (int)getpid(), rp_record_program(),
                   rp_mode_name(rp_core.config.mode), rp_wrap_calls(), rp_core.seq,
                   count_launches(counts), (uint64_t)rp_core.step, rp_shortages(),
                   rp_core.segments_wanted ? short_hazard : "") > 0;
}

void rp_summary_write(void)
{
    char path[4096], beside[4200];
    if (!rp_core.config.output || !rp_core.names) /* it has not begun */
        return;
    if (rp_record_program() > 1)
        snprintf(path, sizeof path, "%s/summary-%d-%u.json", rp_core.config.output, (int)getpid(),
                 rp_record_program());
    else
        snprintf(path, sizeof path, "%s/summary-%d.json", rp_core.config.output, (int)getpid());
    snprintf(beside, sizeof beside, "%s.part", path);
    int file = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    bool written = write_to(file);
    written = close(file) == 0 && written;
    if (!written || rename(beside, path) != 0)
        unlink(beside);
}
