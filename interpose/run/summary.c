/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/summary.h"

#include "cuda/access/access.h"
#include "interpose/calls/image.h"
#include "interpose/calls/repeat.h"
#include "interpose/door/shortage.h"
#include "interpose/door/wrap.h"
#include "interpose/run/buffer.h"
#include "interpose/run/core.h"
#include "interpose/run/execution.h"
#include "interpose/run/json.h"
#include "interpose/run/record.h"
#include "interpose/run/remark.h"
#include "interpose/run/summary_part.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void put_most(json_t *object, const char *key, uint64_t a, uint64_t b)
{
    rp_json_put_count(object, key, a > b ? a : b);
}

static json_t *segments_json(void)
{
    const struct rp_contract *contract = rp_core.config.contract;
    json_t *array = json_array();
    for (uint32_t i = 0; i < contract->segment_count; i++) {
        const struct rp_segment_figures *figures = rp_segment_figures(i);
        json_t *object = json_object();
        rp_json_put_text(object, "name", contract->segments[i].name);
        rp_json_put_count(object, "forwards", figures->forwards);
        rp_json_put_count(object, "replays", figures->replays);
        rp_json_put_count(object, "unreplayed", figures->unreplayed + rp_segment_waiting(i));
        rp_json_put_count(object, "replayed_again", figures->again);
        rp_json_put_count(object, "stopped_early", figures->stopped_early);
        rp_json_put_count(object, "skipped", figures->skipped);
        if (figures->refused)
            rp_json_put_text(object, "refused", figures->refused);
        if (figures->unserved)
            rp_json_put_text(object, "unserved", figures->unserved);
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
        rp_json_put_text(object, "name", contract->buffers[i].name);
        rp_json_put_count(object, "found", rp_buffer_found(i));
        json_array_append_new(array, object);
    }
    return array;
}

static void add_remark(void *ctx, const char *call, const char *reason, uint64_t count)
{
    json_t *object = json_object();
    rp_json_put_text(object, "call", call);
    rp_json_put_count(object, "count", count);
    rp_json_put_text(object, "reason", reason);
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
        rp_json_put_count(object, rp_verdict_name((enum rp_verdict)verdict), counts[verdict]);
    return object;
}

static void put_contract(json_t *summary)
{
    const struct rp_contract *contract = rp_core.config.contract;
    rp_json_put_text(summary, "policy", rp_policy_name(contract->policy));
    rp_json_put_text(summary, "state",
                     contract->state == RP_STATE_DECLARED ? "declared" : "discovered");
    rp_json_put_count(summary, "transactions", rp_core.figures.transactions);
    rp_json_put_count(summary, "launches_served", rp_core.figures.launches_served);
    rp_json_put_count(summary, "bytes_preserved", rp_core.figures.bytes_preserved);
    rp_json_put_count(summary, "bytes_recalled", rp_core.figures.bytes_recalled);
    rp_json_put_count(summary, "bytes_kept_on_host", rp_core.figures.bytes_in_refuge);
    rp_json_put_count(summary, "bytes_restored", rp_core.figures.bytes_restored);
    rp_json_put_count(summary, "bytes_reinstated", rp_core.figures.bytes_reinstated);
    put_most(summary, "bytes_held_peak", rp_store_held_peak(rp_core.bench.store),
             rp_core.figures.bytes_held_peak);
    put_most(summary, "bytes_reserved", rp_store_reserved(rp_core.bench.store),
             rp_core.figures.bytes_reserved);
    rp_summary_put_costs(summary);
    json_object_set_new(summary, "segments", segments_json());
    json_object_set_new(summary, "buffers", buffers_json());
}

static void put_trace(json_t *summary)
{
    struct rp_trace_stats stats;
    rp_trace_writer_stats(rp_core.trace, &stats);
    rp_json_put_count(summary, "trace_events", stats.events);
    rp_json_put_count(summary, "trace_bytes", stats.bytes_written);
    rp_json_put_count(summary, "trace_lost", stats.lost);
    rp_json_put_count(summary, "trace_waits", stats.waits);
    if (stats.error != 0)
        rp_json_put_text(summary, "trace_error", strerror(stats.error));
}

static json_t *summary_json(void)
{
    json_t *summary = json_object();
    uint64_t counts[RP_VERDICT_EVERYTHING + 1];
    rp_json_put_text(summary, "format", "reprise-summary");
    rp_json_put_count(summary, "version", 1);
    rp_json_put_count(summary, "pid", (uint64_t)getpid());
    rp_json_put_count(summary, "program", rp_record_program());
    if (*rp_core.config.rank)
        rp_json_put_count(summary, "rank", strtoull(rp_core.config.rank, NULL, 10));
    rp_json_put_text(summary, "mode", rp_mode_name(rp_core.config.mode));
    rp_json_put_text(summary, "driver", rp_real_path());
    rp_json_put_count(summary, "calls", rp_wrap_calls());
    rp_json_put_count(summary, "tracked_calls", rp_core.seq);
    rp_json_put_count(summary, "launches", count_launches(counts));
    rp_json_put_count(summary, "launches_remembered", rp_core.figures.launches_remembered);
    if (rp_core.config.audit) {
        rp_json_put_count(summary, "audits", rp_core.figures.audits);
        rp_json_put_count(summary, "audit_misses", rp_core.figures.audit_misses);
        rp_json_put_count(summary, "audits_failed", rp_core.figures.audits_failed);
    }
    struct rp_image_figures proved = rp_image_proof_figures();
    rp_json_put_count(summary, "proofs_recalled", proved.recalled);
    rp_json_put_count(summary, "proofs_kept", proved.kept);
    rp_json_put_count(summary, "proofs_damaged", proved.damaged);
    rp_json_put_count(summary, "steps", rp_core.step);
    rp_json_put_count(summary, "device_peak_bytes", rp_core.figures.device_peak);
    if (rp_shortages())
        rp_json_put_count(summary, "shortages", rp_shortages());
    if (rp_core.config.budget != UINT64_MAX)
        rp_json_put_count(summary, "budget_bytes", rp_core.config.budget);
    if (rp_core.trace)
        put_trace(summary);
    if (rp_core.segments_wanted)
        put_contract(summary);
    json_object_set_new(summary, "hazards", rp_summary_hazards());
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
