/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome's trace event format, which ui.perfetto.dev and chrome://tracing open:
 * https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
 *
 * A process has its threads with their driver calls, and beside it a device with a track for
 * each stream and one for the layer. A kernel stands on its stream when and for as long as the
 * call that issued it took: the trace knows the order of launches, not their time on the device.
 * Times are microseconds since the earliest trace began. */
#include "tools/event_shape.h"
#include "tools/event_text.h"
#include "tools/export/format.h"
#include "tools/pen.h"
#include "tracker/idmap.h"

#include <stdlib.h>
#include <string.h>

/* Above the largest process id of Linux, so that a device can't be taken for a process. */
enum { DEVICE_PID = 10000000, MOST_STREAMS = 4096 };

struct chrome {
    bool any; /* an event was written, so the next needs a comma */
    struct track {
        uint64_t stream, thread; /* 0 where the stream is no thread's */
        uint64_t end_ns; /* of the last slice: slices of a track must not overlap */
    } *tracks;           /* of this process; number 0 is the layer's */
    size_t track_count;
    uint64_t next_tid; /* Perfetto names a thread by its tid alone, so each is used once */
    uint64_t first_tid;
    uint64_t flow;
    struct rp_idmap preserved; /* what is not restored yet: where its flow would begin */
    uint64_t shown_bytes, shown_held;
};

/* ---- writing ------------------------------------------------------------------- */

static void open_event(struct rp_export *run, struct chrome *chrome, const char *phase)
{
    rp_builder_puts(&run->out, chrome->any ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    rp_builder_puts(&run->out, phase);
    rp_builder_char(&run->out, '"');
    chrome->any = true;
}

static void add_number(struct rp_export *run, const char *key, uint64_t number)
{
    rp_builder_puts(&run->out, ",\"");
    rp_builder_puts(&run->out, key);
    rp_builder_puts(&run->out, "\":");
    rp_builder_decimal(&run->out, number);
}

static void add_text(struct rp_export *run, const char *key, const char *text)
{
    rp_builder_puts(&run->out, ",\"");
    rp_builder_puts(&run->out, key);
    rp_builder_puts(&run->out, "\":");
    rp_builder_json(&run->out, text, strlen(text));
}

static void add_us(struct rp_export *run, const char *key, uint64_t ns)
{
    add_number(run, key, ns / 1000);
    rp_builder_char(&run->out, '.');
    char *at = rp_builder_room(&run->out, RP_PEN_NUMBER);
    if (at)
        rp_builder_wrote(&run->out, rp_pen_last_digits(at, ns % 1000, 3));
}

static void add_place(struct rp_export *run, uint64_t pid, uint64_t tid)
{
    add_number(run, "pid", pid);
    add_number(run, "tid", tid);
}

static void close_event(struct rp_export *run)
{
    rp_builder_char(&run->out, '}');
}

static void name_track(struct rp_export *run, struct chrome *chrome, const char *what,
                       uint64_t pid, uint64_t tid, const char *name)
{
    open_event(run, chrome, "M");
    add_place(run, pid, tid);
    add_text(run, "name", what);
    rp_builder_puts(&run->out, ",\"args\":{\"name\":");
    rp_builder_json(&run->out, name, strlen(name));
    rp_builder_char(&run->out, '}');
    close_event(run);
}

static uint64_t moment(const struct rp_export *run, uint64_t time_ns)
{
    return run->start_ns - run->earliest_ns + time_ns;
}

static uint64_t device_pid(const struct rp_export *run)
{
    return DEVICE_PID + (uint64_t)run->process;
}

/* ---- tracks -------------------------------------------------------------------- */

static size_t new_track(struct rp_export *run, struct chrome *chrome, uint64_t stream,
                        uint64_t thread, const char *name)
{
    struct track *more = realloc(chrome->tracks, (chrome->track_count + 1) * sizeof(*more));
    if (!more) {
        run->no_memory = true;
        return 0;
    }
    chrome->tracks = more;
    chrome->tracks[chrome->track_count] = (struct track){.stream = stream, .thread = thread};
    name_track(run, chrome, "thread_name", device_pid(run), chrome->next_tid++, name);
    return chrome->track_count++;
}

static size_t track_of(struct rp_export *run, struct chrome *chrome, uint64_t stream,
                       uint64_t thread)
{
    char name[64];

    if (stream != RP_STREAM_PER_THREAD)
        thread = 0;
    for (size_t i = 1; i < chrome->track_count; i++)
        if (chrome->tracks[i].stream == stream && chrome->tracks[i].thread == thread)
            return i;
    if (chrome->track_count >= MOST_STREAMS)
        return chrome->track_count - 1;
    return new_track(run, chrome, stream, thread,
                     rp_stream_name(stream, thread, name, sizeof(name)));
}

/* A slice on a track of the device, no earlier than the end of the one before it. */
static void add_slice(struct rp_export *run, struct chrome *chrome, size_t at, const char *kind,
                      const char *name, uint64_t start_ns, uint64_t duration_ns,
                      const struct rp_event *event)
{
    struct track *track = &chrome->tracks[at];
    uint64_t end_ns = start_ns + duration_ns;

    if (at >= chrome->track_count)
        return;
    if (start_ns < track->end_ns)
        start_ns = track->end_ns;
    if (end_ns <= start_ns)
        end_ns = start_ns + 1;
    track->end_ns = end_ns;
    open_event(run, chrome, "X");
    add_place(run, device_pid(run), chrome->first_tid + at);
    add_text(run, "cat", kind);
    add_text(run, "name", name);
    add_us(run, "ts", moment(run, start_ns));
    add_us(run, "dur", end_ns - start_ns);
    rp_builder_puts(&run->out, ",\"args\":");
    rp_event_json_fields(&run->out, event);
    close_event(run);
}

static void add_flow(struct rp_export *run, struct chrome *chrome, const char *phase,
                     const char *kind, uint64_t id, uint64_t pid, uint64_t tid, uint64_t time_ns)
{
    open_event(run, chrome, phase);
    if (*phase == 'f')
        add_text(run, "bp", "e");
    add_place(run, pid, tid);
    add_text(run, "cat", kind);
    add_text(run, "name", kind);
    add_number(run, "id", id);
    add_us(run, "ts", moment(run, time_ns));
    close_event(run);
}

/* ---- what happened --------------------------------------------------------------- */

static void add_call(struct rp_export *run, struct chrome *chrome, const struct rp_group *group)
{
    const struct rp_event *first = &group->events[0], *last = &group->events[group->count - 1];
    const union rp_value *result = rp_event_field(last, "result");

    open_event(run, chrome, "X");
    add_place(run, group->pid, group->thread);
    add_text(run, "cat", "driver");
    add_text(run, "name", first->def->name);
    add_us(run, "ts", moment(run, first->time_ns));
    add_us(run, "dur", last->time_ns > first->time_ns ? last->time_ns - first->time_ns : 1);
    rp_builder_puts(&run->out, ",\"args\":{\"id\":");
    rp_builder_decimal(&run->out, first->id);
    if (!group->leaves)
        rp_builder_puts(&run->out, ",\"unfinished\":true");
    else if (result)
        rp_builder_printf(&run->out, ",\"result\":%lld", (long long)result->s);
    rp_builder_puts(&run->out, ",\"arguments\":");
    rp_event_json_fields(&run->out, first);
    rp_builder_char(&run->out, '}');
    close_event(run);
}

/* The call and what it set off on the device, joined by a flow. */
static void add_work(struct rp_export *run, struct chrome *chrome, const struct rp_group *group,
                     const struct rp_event *event, const char *kind, const char *name,
                     uint64_t stream)
{
    size_t at = track_of(run, chrome, stream, event->thread);
    uint64_t end_ns = group->events[group->count - 1].time_ns;
    uint64_t start_ns = event->time_ns, id = ++chrome->flow;

    if (run->no_memory)
        return;
    add_slice(run, chrome, at, kind, name, start_ns, end_ns - start_ns, event);
    if (!group->enters) /* how it began is not in the trace: there is no call to come from */
        return;
    add_flow(run, chrome, "s", "launch", id, group->pid, group->thread, group->events[0].time_ns);
    add_flow(run, chrome, "f", "launch", id, device_pid(run), chrome->first_tid + at,
             chrome->tracks[at].end_ns - 1);
}

/* Copies and sets have no note of their own: what they touched says that they ran. */
static void add_copy(struct rp_export *run, struct chrome *chrome, const struct rp_group *group)
{
    const char *name = group->events[0].def->name;
    uint64_t stream;

    if (!group->enters || (strncmp(name, "cuMemcpy", 8) != 0 && strncmp(name, "cuMemset", 8) != 0))
        return;
    rp_event_stream(&group->events[0], &stream);
    add_work(run, chrome, group, &group->events[0], "copy", name, stream);
}

/* Names the bytes from their preservation to their restoration. */
static uint64_t flow_of_bytes(const struct rp_event *event)
{
    uint64_t id = rp_event_number(event, "instance");
    id = id * 1000003 + rp_event_number(event, "allocation");
    id = id * 1000003 + rp_event_number(event, "offset");
    id &= (UINT64_C(1) << 52) - 1;
    return id ? id : 1;
}

static void add_preserved_flow(struct rp_export *run, struct chrome *chrome, const char *phase,
                               uint64_t flow, uint64_t end_ns)
{
    add_flow(run, chrome, phase, "preserved", flow, device_pid(run), chrome->first_tid, end_ns - 1);
}

/* A flow is written when both its ends are known: the trace may have lost one, or the filter. */
static void join(struct rp_export *run, struct chrome *chrome, bool preserve, uint64_t flow)
{
    uint64_t end_ns = chrome->tracks[0].end_ns;

    if (!preserve) {
        uintptr_t begin_ns = (uintptr_t)rp_idmap_remove(&chrome->preserved, flow);
        if (!begin_ns)
            return;
        add_preserved_flow(run, chrome, "s", flow, begin_ns);
        add_preserved_flow(run, chrome, "f", flow, end_ns);
    } else if (!rp_idmap_find(&chrome->preserved, flow)) {
        /* What is kept is the moment itself; the end of a slice is never 0. */
        void *moment = (void *)(uintptr_t)end_ns;
        run->no_memory |= rp_idmap_insert(&chrome->preserved, flow, moment) != RP_OK;
    }
}

static void add_layer_work(struct rp_export *run, struct chrome *chrome,
                           const struct rp_event *event)
{
    bool preserve = strcmp(event->def->name, "preserve") == 0;
    bool restore = strcmp(event->def->name, "restore") == 0;

    add_slice(run, chrome, 0, "reprise", event->def->name, event->time_ns, 1, event);
    if (preserve || restore)
        join(run, chrome, preserve, flow_of_bytes(event));
}

static void add_segment(struct rp_export *run, struct chrome *chrome,
                        const struct rp_event *event)
{
    struct rp_segment_note note;
    char title[sizeof(note.name) + 16];

    rp_event_segment(event, &note);
    snprintf(title, sizeof(title), "%s %s", note.phase, note.name);
    open_event(run, chrome, note.begins ? "b" : "e");
    add_place(run, run->pid, event->thread);
    add_text(run, "cat", "segment");
    add_text(run, "name", title);
    add_number(run, "id", rp_event_number(event, "instance"));
    add_us(run, "ts", moment(run, event->time_ns));
    close_event(run);
}

/* What is worth a mark: steps, hazards, gaps. */
static void add_mark(struct rp_export *run, struct chrome *chrome, const struct rp_event *event)
{
    open_event(run, chrome, "i");
    add_text(run, "s", strcmp(event->def->name, "step") == 0 ? "p" : "g");
    add_place(run, run->pid, event->thread);
    add_text(run, "cat", event->def->name);
    add_text(run, "name", strcmp(event->def->name, "gap") == 0 ? "events lost" : event->def->name);
    add_us(run, "ts", moment(run, event->time_ns));
    rp_builder_puts(&run->out, ",\"args\":");
    rp_event_json_fields(&run->out, event);
    close_event(run);
}

static void add_memory(struct rp_export *run, struct chrome *chrome, uint64_t time_ns)
{
    if (run->live.bytes == chrome->shown_bytes && run->live.held_bytes == chrome->shown_held)
        return;
    chrome->shown_bytes = run->live.bytes;
    chrome->shown_held = run->live.held_bytes;
    open_event(run, chrome, "C");
    add_number(run, "pid", device_pid(run));
    add_text(run, "name", "device memory (bytes)");
    add_us(run, "ts", moment(run, time_ns));
    rp_builder_puts(&run->out, ",\"args\":{\"live\":");
    rp_builder_decimal(&run->out, run->live.bytes);
    rp_builder_puts(&run->out, ",\"preserved\":");
    rp_builder_decimal(&run->out, run->live.held_bytes);
    rp_builder_char(&run->out, '}');
    close_event(run);
}

static void take_note(struct rp_export *run, struct chrome *chrome, const struct rp_group *group,
                      const struct rp_event *event)
{
    const char *name = event->def->name;
    bool good = true;

    if (strcmp(name, "launch") == 0) {
        char kernel[1024];
        uint64_t stream;
        rp_event_stream(event, &stream);
        add_work(run, chrome, group, event, "kernel",
                 rp_event_text(event, "kernel", kernel, sizeof(kernel)), stream);
    } else if (strcmp(name, "preserve") == 0 || strcmp(name, "restore") == 0 ||
               strcmp(name, "reinstate") == 0) {
        add_layer_work(run, chrome, event);
    } else if (strcmp(name, "segment") == 0) {
        add_segment(run, chrome, event);
    } else if (strcmp(name, "step") == 0 || strcmp(name, "hazard") == 0 ||
               strcmp(name, "gap") == 0) {
        add_mark(run, chrome, event);
    }
    rp_alive_take(&run->live, group, event, NULL, &good);
    run->no_memory |= !good;
    add_memory(run, chrome, event->time_ns);
}

/* ---- the run --------------------------------------------------------------------- */

static void begin(struct rp_export *run, void *state)
{
    struct chrome *chrome = state;
    chrome->next_tid = DEVICE_PID;
    rp_builder_puts(&run->out, "{\"displayTimeUnit\":\"ns\","
                               "\"otherData\":{\"tool\":\"reprise\",\"format\":1},"
                               "\"traceEvents\":[");
}

static void process_begins(struct rp_export *run, void *state)
{
    struct chrome *chrome = state;
    char rank[sizeof(run->rank) + 16], device[sizeof(rank) + 64], job[sizeof(rank) + 1024];

    free(chrome->tracks);
    chrome->tracks = NULL;
    chrome->track_count = 0;
    rp_idmap_release(&chrome->preserved);
    chrome->first_tid = chrome->next_tid;
    chrome->shown_bytes = chrome->shown_held = 0;
    snprintf(rank, sizeof(rank), *run->rank ? "rank %s: " : "%s", run->rank);
    snprintf(job, sizeof(job), "%s%s", rank, *run->command ? run->command : "job");
    snprintf(device, sizeof(device), "%sdevice of process %llu", rank,
             (unsigned long long)run->pid);
    name_track(run, chrome, "process_name", run->pid, run->pid, job);
    name_track(run, chrome, "process_name", device_pid(run), chrome->next_tid, device);
    new_track(run, chrome, 0, 0, "reprise: preserve, restore, reinstate");
}

static void take_group(struct rp_export *run, void *state, const struct rp_group *group)
{
    struct chrome *chrome = state;

    if (group->enters)
        add_call(run, chrome, group);
    add_copy(run, chrome, group);
    for (size_t i = 0; i < group->count; i++)
        if (strcmp(group->events[i].def->class_, "note") == 0)
            take_note(run, chrome, group, &group->events[i]);
}

static void end(struct rp_export *run, void *state)
{
    (void)state;
    rp_builder_puts(&run->out, "\n]}\n");
}

static void release(void *state)
{
    struct chrome *chrome = state;
    free(chrome->tracks);
    rp_idmap_release(&chrome->preserved);
}

const struct rp_export_format rp_export_chrome = {.name = "chrome",
                                                  .suffix = "json",
                                                  .state_bytes = sizeof(struct chrome),
                                                  .begin = begin,
                                                  .process_begins = process_begins,
                                                  .group = take_group,
                                                  .end = end,
                                                  .release = release};
