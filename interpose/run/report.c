/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/remark.h"
#include "interpose/run/report.h"

#include "cuda/switches.h"
#include "interpose/door/shortage.h"
#include "interpose/run/core.h"
#include "interpose/run/segment.h"
#include "interpose/run/summary.h"
#include "interpose/run/words.h"
#include "tracker/text.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_harmless(const char *buffer)
{
    const struct rp_contract *contract = rp_core.config.contract;
    for (size_t i = 0; buffer && i < contract->harmless_count; i++)
        if (rp_glob_match(contract->harmless[i], buffer, NULL, 0))
            return true;
    return false;
}

/* What the job has printed is not lost with it, as far as nobody has to be waited for: not for
 * a thread that holds the stream, nor for a reader of a full pipe. */
static void flush_output(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (poll(&out, 1, 0) != 1 || !(out.revents & POLLOUT) || ftrylockfile(stdout) != 0)
        return;
    fflush_unlocked(stdout);
    funlockfile(stdout);
}

_Noreturn void rp_stop(int code, const char *line)
{
    char shown[2048];
    flush_output();
    dprintf(STDERR_FILENO, "reprise: %s\n",
            rp_text_escape(shown, sizeof shown, line, strlen(line)));
    if (rp_core.trace) /* first: the summary tells what its last write lost, too */
        (void)rp_trace_writer_finish(rp_core.trace);
    rp_summary_write();
    _exit(code);
}

static void note_hazard(const struct rp_hazard *hazard)
{
    RP_NOTE(hazard, RP_T(rp_hazard_kind_name(hazard->kind)), RP_T(hazard->segment),
            RP_U(hazard->instance), RP_T(hazard->buffer), RP_U(hazard->allocation),
            RP_U(hazard->offset), RP_U(hazard->bytes), RP_U(hazard->version_read),
            RP_U(hazard->version_wanted), RP_T(hazard->writer), RP_U(hazard->written.seq),
            RP_U(hazard->written.step), RP_U(hazard->written.launch),
            RP_U(hazard->written.stream), RP_U(hazard->step), RP_U(1), RP_T(hazard->reader),
            RP_T(rp_words_advice(hazard)), RP_T(hazard->key), RP_T(hazard->memory),
            RP_U(hazard->birth_seq), RP_U(hazard->reader_launch), RP_T(hazard->other),
            RP_U(hazard->position));
}

/* Once a step: what comes again in each of them would fill the trace otherwise. */
static void note_again(const struct rp_hazard *hazard)
{
    RP_NOTE(again, RP_T(rp_hazard_kind_name(hazard->kind)), RP_T(hazard->segment),
            RP_T(hazard->buffer), RP_U(hazard->allocation), RP_U(hazard->step),
            RP_T(hazard->reader));
}

static void record(struct rp_hazard *hazard)
{
    enum rp_hazard_news news;
    hazard->step = rp_core.step;
    hazard->guarded = rp_core_keeps();
    hazard->for_eager = rp_core.config.mode == RP_MODE_RECOMPUTE;
    hazard->discovers = rp_core.config.contract->state == RP_STATE_DISCOVERED;
    hazard->harmless = is_harmless(hazard->buffer);
    if (rp_hazards_add(&rp_core.hazards, hazard, &news) != RP_OK)
        rp_remark("hazard", "the host is out of memory: hazards are missing from the list");
    if (news == RP_HAZARD_NEW)
        note_hazard(hazard);
    else if (news == RP_HAZARD_NEW_IN_STEP)
        note_again(hazard);
    if (!rp_core_keeps() || hazard->harmless || rp_hazard_kind_warns(hazard->kind) ||
        rp_core.config.contract->on_violation == RP_VIOLATION_REPORT)
        return;
    char text[640], line[1024];
    rp_words_line(hazard, text, sizeof text);
    snprintf(line, sizeof line, "stopped: %s; %s", text, rp_words_advice(hazard));
    rp_stop(rp_core.config.error_exitcode, line);
}

static void locate(struct rp_hazard *hazard, rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    const struct rp_alloc *alloc = rp_memory_get(rp_core.bench.memory, id);
    uint64_t start = 0;
    const char *name = rp_state_name(rp_core.state, id, lo, hi, &start, NULL);
    hazard->allocation = id;
    hazard->allocation_bytes = alloc ? alloc->bytes : 0;
    hazard->memory = alloc ? rp_alloc_kind_name(alloc->kind) : NULL;
    hazard->birth_seq = alloc ? alloc->birth_seq : 0;
    hazard->buffer = name ? rp_name(rp_names_id(rp_core.names, name)) : NULL;
    if (!name && alloc && alloc->name)
        hazard->buffer = rp_name(rp_names_id(rp_core.names, alloc->name));
    hazard->offset = name && lo > start ? lo - start : name ? 0 : lo;
    hazard->bytes = hi - lo;
}

/* What is known before any bytes are looked at. */
static struct rp_hazard met_by(enum rp_hazard_kind kind, const struct rp_execution *execution,
                               const struct rp_footprint *call)
{
    struct rp_hazard hazard = {.kind = kind};
    if (execution) {
        const struct rp_contract *contract = rp_core.config.contract;
        const struct rp_segment_rule *rule = &contract->segments[execution->instance->segment];
        hazard.segment = rule->name;
        hazard.repeats = rule->replay.kind == RP_WHERE_REPEAT;
        hazard.instance = execution->instance->id;
        hazard.again = execution->replays > 0;
        hazard.undiscovered = execution->refused != NULL;
    }
    if (call) {
        hazard.reader = rp_name(call->name);
        hazard.reader_launch = call->launch;
    }
    return hazard;
}

void rp_report(enum rp_hazard_kind kind, struct rp_met met)
{
    struct rp_hazard hazard = met_by(kind, met.execution, met.call);
    if (met.id)
        locate(&hazard, met.id, met.lo, met.hi);
    if (met.found) {
        hazard.version_read = met.found->version;
        hazard.written = *met.found;
        hazard.writer = met.found->version ? rp_name(met.found->name) : NULL;
    }
    if (met.wanted) {
        hazard.version_wanted = met.wanted->version;
        hazard.wants_version = true;
    }
    record(&hazard);
}

void rp_report_lost(const struct rp_execution *execution, const struct rp_footprint *call,
                    rp_alloc_id id, uint64_t lo, uint64_t hi, enum rp_status cause)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_NOT_PRESERVED, execution, call);
    hazard.cause = cause;
    if (id)
        locate(&hazard, id, lo, hi);
    record(&hazard);
}

void rp_report_bereft(enum rp_hazard_kind kind, const struct rp_execution *execution,
                      const struct rp_footprint *call)
{
    struct rp_hazard hazard = met_by(kind, execution, call);
    hazard.reason = "a context was destroyed while the segment ran, and what was kept of it went "
                    "along: destroy contexts before a forward or after its replay";
    record(&hazard);
}

void rp_report_refused(const struct rp_execution *execution)
{
    const struct rp_refusal *refusal = &execution->refusal;
    struct rp_hazard hazard = met_by(RP_HAZARD_UNPROVED, execution, NULL);
    hazard.reader = refusal->name ? rp_name(refusal->name) : NULL;
    hazard.reader_launch = refusal->launch;
    hazard.reason = execution->refused;
    if (refusal->id)
        locate(&hazard, refusal->id, refusal->lo, refusal->hi);
    record(&hazard);
}

void rp_report_unfollowed(const struct rp_footprint *call, const char *why)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_UNPROVED, NULL, call);
    hazard.reason = why;
    record(&hazard);
}

void rp_report_shortage(void)
{
    static const char why[] = "the host is out of memory: something is not known, or not kept";
    struct rp_hazard hazard = met_by(RP_HAZARD_UNPROVED, NULL, NULL);
    hazard.reason = why;
    rp_shortage_met = false;
    if (!rp_switch_on(RP_SWITCH_SHORTAGES))
        return;
    rp_remark("memory", why);
    if (rp_core.segments_wanted)
        record(&hazard);
    rp_shortage_met = false; /* to tell of it takes memory, too */
}

void rp_report_missing(const struct rp_execution *execution, const char *buffer, const char *why)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_UNPROVED, execution, NULL);
    hazard.buffer = buffer;
    hazard.reason = why;
    record(&hazard);
}

void rp_report_rewound(const struct rp_execution *execution, uint32_t replayed,
                       const struct rp_footprint *call, rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_LIVE_READ, execution, call);
    locate(&hazard, id, lo, hi);
    hazard.other = replayed ? rp_name(replayed) : NULL;
    if (call->replay && call->replay->by_launch)
        hazard.reason = "the replay has not ended yet: the launch that the contract names as its "
                        "\"last\" has not come; let the replay make it, or name one that it makes";
    else if (call->replay)
        hazard.reason = "the replay's range holds it, and its forward's did not: let both hold the "
                        "same calls, or order this one before or after the replay";
    record(&hazard);
}

void rp_report_under_way(const struct rp_execution *execution, const struct rp_footprint *call)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_UNPROVED, execution, call);
    hazard.reason = "another thread's call meets the same bytes and does not come back from the "
                    "driver: which of the two comes first is not known; order it before or after "
                    "the replay";
    record(&hazard);
}

void rp_report_undecided(const struct rp_undecided_bytes *bytes, const struct rp_footprint *reader,
                         rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    enum rp_hazard_kind kind = bytes->assumed ? RP_HAZARD_ASSUMED : RP_HAZARD_UNPROVED;
    struct rp_hazard hazard = met_by(kind, NULL, reader);
    hazard.segment = rp_core.config.contract->segments[bytes->segment].name;
    hazard.instance = bytes->instance;
    locate(&hazard, id, lo, hi);
    hazard.version_read = bytes->live.version;
    hazard.written = bytes->live;
    hazard.writer = rp_name(bytes->live.name);
    hazard.other = rp_name(bytes->replayed);
    hazard.reinstated = bytes->reinstated;
    hazard.declared = bytes->declared;
    hazard.assumed = bytes->reinstated ? RP_ASSUMED_STATE : RP_ASSUMED_OUTPUT;
    record(&hazard);
}

/* The first output of `call`. */
static void locate_output(struct rp_hazard *hazard, const struct rp_footprint *call)
{
    for (size_t i = 0; i < call->count && !hazard->allocation; i++)
        if (call->reaches[i].effect == RP_WRITE)
            locate(hazard, call->reaches[i].id, call->reaches[i].lo, call->reaches[i].hi);
}

static void assume_of_output(struct rp_hazard hazard, const struct rp_footprint *call)
{
    hazard.other = hazard.reader;
    locate_output(&hazard, call);
    record(&hazard);
}

void rp_report_moved(const struct rp_execution *execution, const struct rp_footprint *call,
                     size_t entry)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_ASSUMED, execution, call);
    hazard.assumed = RP_ASSUMED_MOVED;
    hazard.position = entry;
    assume_of_output(hazard, call);
}

void rp_report_varies(const struct rp_execution *execution, const struct rp_footprint *call)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_ASSUMED, execution, call);
    hazard.assumed = RP_ASSUMED_STEADY;
    hazard.reason = call->varies;
    assume_of_output(hazard, call);
}

void rp_report_landed(const struct rp_execution *execution, const struct rp_footprint *call)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_ASSUMED, execution, call);
    hazard.assumed = RP_ASSUMED_LANDED;
    hazard.bytes = call->host.landing.bytes;
    assume_of_output(hazard, call);
}

void rp_report_order(const struct rp_execution *execution, const struct rp_footprint *call,
                     enum rp_assumption assumed)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_ASSUMED, execution, call);
    hazard.assumed = assumed;
    assume_of_output(hazard, call);
}

void rp_report_filled(const struct rp_execution *execution, const struct rp_footprint *call,
                      const struct rp_filled *filled, enum rp_assumption assumed)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_ASSUMED, execution, call);
    hazard.assumed = assumed;
    locate(&hazard, filled->id, filled->lo, filled->hi);
    hazard.written = filled->by;
    hazard.writer = rp_name(filled->by.name);
    record(&hazard);
}

void rp_report_put(const struct rp_execution *execution, const struct rp_footprint *call,
                   rp_alloc_id id, uint64_t lo, uint64_t hi, const struct rp_writer *by)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_ASSUMED, execution, call);
    hazard.assumed = RP_ASSUMED_PUT;
    locate(&hazard, id, lo, hi);
    hazard.written = *by;
    hazard.writer = rp_name(by->name);
    record(&hazard);
}

void rp_report_diverged(const struct rp_execution *execution, const struct rp_footprint *call,
                        size_t entry, const char *why)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_DIVERGED, execution, call);
    hazard.reason = why;
    if (entry < execution->log_count)
        hazard.other = rp_name(execution->log[entry].name);
    if (!execution->log_count)
        hazard.reason = "its forward made no call on this thread: open the ranges of forward and "
                        "replay around their calls, on the thread that makes them";
    hazard.position = entry;
    record(&hazard);
}

void rp_report_beside(const struct rp_execution *execution, const struct rp_footprint *call,
                      rp_alloc_id id, uint64_t lo, uint64_t hi, const struct rp_writer *writer)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_DIVERGED, execution, call);
    hazard.other = rp_name(execution->log[call->entry].name);
    hazard.position = call->entry;
    hazard.writer = rp_name(writer->name);
    hazard.written = *writer;
    hazard.reason = "while the forward ran, another thread's call has written there, between two "
                    "calls that read it, and a replay finds but one content: order that call "
                    "before or after the forward, or let the forward's own thread make it";
    locate(&hazard, id, lo, hi);
    record(&hazard);
}

void rp_report_twofold(const struct rp_execution *execution, const struct rp_footprint *call,
                       size_t entry)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_DIVERGED, execution, call);
    hazard.other = rp_name(execution->log[entry].name);
    hazard.position = entry;
    hazard.reason = "the replay has left calls out, and this one may be an earlier call of its "
                    "forward or that later one, which has worked on the same buffers: let it make "
                    "all the calls, or mark as a segment those alone that are replayed";
    locate_output(&hazard, call);
    record(&hazard);
}

void rp_report_captured(const struct rp_execution *execution, uint32_t captured)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_UNPROVED, execution, NULL);
    hazard.reader = rp_name(captured);
    hazard.reason = "calls of this segment were captured into a graph that was not launched in it: "
                    "mark forward and replay where their graphs are launched";
    record(&hazard);
}

void rp_report_cut(const char *segment, const struct rp_footprint *call)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_UNPROVED, NULL, call);
    hazard.segment = segment;
    hazard.reason = "the segment begins or ends inside a graph, where nothing can be kept or put "
                    "back: mark it by NVTX ranges around the launches of its graphs";
    record(&hazard);
}

void rp_report_beyond(const struct rp_left_out *left, const struct rp_footprint *call)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_ASSUMED, NULL, call);
    hazard.segment = rp_core.config.contract->segments[left->segment].name;
    hazard.instance = left->instance;
    hazard.assumed = RP_ASSUMED_BEYOND;
    assume_of_output(hazard, call);
}

void rp_report_helped(const struct rp_execution *execution, const struct rp_footprint *call)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_ASSUMED, execution, call);
    hazard.assumed = RP_ASSUMED_HELPED;
    assume_of_output(hazard, call);
}

void rp_report_empty(const struct rp_execution *execution)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_ASSUMED, execution, NULL);
    hazard.assumed = RP_ASSUMED_EMPTY;
    record(&hazard);
}

static struct rp_hazard unpaired(const char *segment, const char *key,
                                 const struct rp_footprint *call, const char *why)
{
    struct rp_hazard hazard = met_by(RP_HAZARD_UNPAIRED, NULL, call);
    hazard.segment = segment;
    hazard.reason = why;
    if (*key)
        hazard.key = rp_name(rp_names_id(rp_core.names, key));
    return hazard;
}

void rp_report_unpaired(const char *segment, const char *key, const struct rp_footprint *call,
                        const char *why)
{
    struct rp_hazard hazard = unpaired(segment, key, call, why);
    record(&hazard);
}

void rp_report_misplaced(const char *segment, const char *key, const struct rp_footprint *call,
                         const char *why)
{
    struct rp_hazard hazard = unpaired(segment, key, call, why);
    locate_output(&hazard, call);
    record(&hazard);
}
