/* SPDX-License-Identifier: Apache-2.0 */
/* reprise dump: a thin reader over the trace library, one line a call.
 *
 * Entering a call and leaving it are two events; what happens between them on the same
 * thread belongs to the call. Such a group is held back until it is whole, and then shown
 * together: the call on one line, its notes below. A call that never returned is shown at
 * the end as unfinished. Nothing else is held in memory, so a trace of any length streams. */
#include "tools/builder.h"
#include "tools/command.h"
#include "tools/event_text.h"
#include "tools/filter.h"
#include "tools/options.h"
#include "tools/output.h"
#include "tools/say.h"
#include "tools/source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_HELD_BYTES = 1 << 20 }; /* a call with more notes than this is shown in parts */

/* What is held of one thread. */
struct thread {
    uint64_t id;
    uint64_t segment_depth; /* of the segments asked for */
    bool in_call;
    uint64_t first_id;      /* of the call's enter event */
    bool kernel, segment, stream, step; /* what the group matched so far */
    struct rp_builder line;  /* the call, still open */
    struct rp_builder below; /* finished lines; in JSON every event */
};

struct dump {
    const struct rp_options *options;
    struct rp_filter filter;
    struct rp_output output;
    bool json;
    uint64_t pid, step;
    struct thread *threads;
    size_t thread_count;
    bool no_memory;
};

/* ---- groups ------------------------------------------------------------------- */

static struct thread *thread_of(struct dump *dump, uint64_t id)
{
    for (size_t i = 0; i < dump->thread_count; i++)
        if (dump->threads[i].id == id)
            return &dump->threads[i];
    struct thread *more = realloc(dump->threads, (dump->thread_count + 1) * sizeof(*more));
    if (!more) {
        dump->no_memory = true;
        return NULL;
    }
    dump->threads = more;
    dump->threads[dump->thread_count] = (struct thread){.id = id};
    return &dump->threads[dump->thread_count++];
}

static bool passes(const struct dump *dump, const struct thread *thread, uint64_t id)
{
    const struct rp_filter *filter = &dump->filter;
    return rp_filter_id(filter, id) && (!filter->kernel || thread->kernel) &&
           (!filter->segment || thread->segment) && (!filter->by_stream || thread->stream) &&
           (!filter->by_step || thread->step);
}

static void print_lines(struct dump *dump, char *text)
{
    char *state;
    for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        if (!rp_filter_line(&dump->filter, line))
            continue;
        bool bad = !dump->json && strstr(line, "-- hazard ") != NULL;
        fprintf(dump->output.file, "%s%s%s\n", bad ? rp_tint(&dump->output, RP_TINT_BAD) : "",
                line, bad ? rp_tint(&dump->output, RP_TINT_NONE) : "");
    }
}

/* Shows the group if it passes, and starts the next. */
static void finish(struct dump *dump, struct thread *thread, uint64_t id)
{
    dump->no_memory |= thread->line.cut || thread->below.cut;
    if (passes(dump, thread, id)) {
        if (thread->line.length > 0)
            print_lines(dump, thread->line.text);
        if (thread->below.length > 0)
            print_lines(dump, thread->below.text);
    }
    rp_builder_clear(&thread->line);
    rp_builder_clear(&thread->below);
    thread->in_call = thread->kernel = thread->segment = thread->stream = thread->step = false;
}

/* The call of a thread did not come to its end, or not yet. */
static void cut_off(struct dump *dump, struct thread *thread)
{
    if (!dump->json)
        rp_builder_puts(&thread->line, " <unfinished ...>\n");
    finish(dump, thread, thread->first_id);
}

/* Notes on what the filters ask for. A segment lasts from its beginning to its end. */
static void match(struct dump *dump, struct thread *thread, const struct rp_event *event)
{
    const struct rp_filter *filter = &dump->filter;
    const union rp_value *stream = rp_event_stream(event);
    bool named = rp_filter_names_segment(filter, event);
    char phase[32] = "";

    if (rp_event_is(event, "note", "step") || rp_event_is(event, "note", "launch"))
        dump->step = rp_event_number(event, "step");
    if (named && rp_event_is(event, "note", "segment")) {
        rp_event_text(event, "phase", phase, sizeof(phase));
        if (strstr(phase, " begins"))
            thread->segment_depth++;
    }
    thread->kernel |= rp_filter_names_kernel(filter, event);
    thread->segment |= named || thread->segment_depth > 0;
    thread->stream |= filter->by_stream && stream && stream->u == filter->stream;
    thread->step |= filter->by_step && dump->step == filter->step;
    if (strstr(phase, " ends") && thread->segment_depth > 0)
        thread->segment_depth--;
}

/* ---- events ------------------------------------------------------------------- */

static void add_prefix(const struct dump *dump, struct rp_builder *text,
                       const struct rp_event *event)
{
    const union rp_value *stream = rp_event_stream(event);
    char handle[24] = "-";

    if (stream)
        snprintf(handle, sizeof(handle), "0x%" PRIx64, stream->u);
    rp_builder_printf(text, "%7" PRIu64 " %5" PRIu64 ".%06" PRIu64 " %" PRIu64 ".%" PRIu64
                      " %s ", event->id, event->time_ns / 1000000000,
                      event->time_ns / 1000 % 1000000, dump->pid, event->thread, handle);
}

static void add_line(struct dump *dump, struct rp_builder *text, const struct rp_event *event,
                     const char *mark)
{
    add_prefix(dump, text, event);
    rp_builder_puts(text, mark);
    rp_event_text_note(text, event);
    rp_builder_puts(text, "\n");
}

static void take_enter(struct dump *dump, struct thread *thread, const struct rp_event *event)
{
    if (thread->in_call) /* its leave was lost, or calls nest: both are shown */
        cut_off(dump, thread);
    thread->in_call = true;
    thread->first_id = event->id;
    if (!dump->json) {
        add_prefix(dump, &thread->line, event);
        rp_event_text_enter(&thread->line, event);
    }
}

static void take_leave(struct dump *dump, struct thread *thread, const struct rp_event *event)
{
    if (!dump->json && !thread->in_call) {
        add_prefix(dump, &thread->line, event);
        rp_builder_printf(&thread->line, "<... %s resumed", event->def->name);
    }
    if (!dump->json) {
        rp_event_text_leave(&thread->line, event);
        rp_builder_puts(&thread->line, "\n");
    }
    finish(dump, thread, thread->in_call ? thread->first_id : event->id);
}

static bool take_event(void *ctx, const struct rp_trace_reader *reader,
                       const struct rp_event *event)
{
    struct dump *dump = ctx;
    struct thread *thread = thread_of(dump, event->thread);
    bool enters = strcmp(event->def->class_, "enter") == 0;
    bool leaves = strcmp(event->def->class_, "leave") == 0;
    (void)reader;

    if (!thread)
        return false;
    if (enters)
        take_enter(dump, thread, event);
    match(dump, thread, event);
    if (dump->json) {
        rp_event_json(&thread->below, event, dump->pid);
        rp_builder_puts(&thread->below, "\n");
    } else if (!enters && !leaves) {
        add_line(dump, &thread->below, event, thread->in_call ? "  -- " : "-- ");
    }
    if (leaves)
        take_leave(dump, thread, event);
    else if (!thread->in_call)
        finish(dump, thread, event->id);
    else if (thread->below.length > MOST_HELD_BYTES)
        cut_off(dump, thread);
    return rp_output_open(&dump->output) && !dump->no_memory;
}

/* ---- traces ------------------------------------------------------------------- */

static void add_property(struct rp_builder *text, const struct rp_trace_reader *reader,
                         const char *key)
{
    const char *value = rp_trace_property(reader, key);
    if (!value)
        return;
    rp_builder_printf(text, ",\"%s\":", key);
    rp_builder_json(text, value, strlen(value));
}

static bool begin_trace(void *ctx, const char *path, const struct rp_trace_reader *reader)
{
    struct dump *dump = ctx;
    const char *pid = rp_trace_property(reader, "pid");

    dump->pid = pid ? strtoull(pid, NULL, 10) : 0;
    dump->step = 0;
    if (dump->json) {
        struct rp_builder line = {0};
        rp_builder_puts(&line, "{\"format\":\"reprise-dump\",\"version\":1,\"trace\":");
        rp_builder_json(&line, path, strlen(path));
        static const char *const keys[] = {"pid", "command", "mode", "driver", "device"};
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
            add_property(&line, reader, keys[i]);
        rp_builder_puts(&line, "}\n");
        fputs(line.text ? line.text : "", dump->output.file);
        rp_builder_release(&line);
    }
    return rp_output_open(&dump->output);
}

/* What was still going on when the trace ended: with a crash, the call that it was in. */
static void end_trace(void *ctx, const char *path, const char *broken)
{
    struct dump *dump = ctx;
    (void)path;
    (void)broken;

    for (size_t i = 0; i < dump->thread_count; i++) {
        struct thread *thread = &dump->threads[i];
        if (thread->in_call)
            cut_off(dump, thread);
        rp_builder_release(&thread->line);
        rp_builder_release(&thread->below);
    }
    free(dump->threads);
    dump->threads = NULL;
    dump->thread_count = 0;
}

static int dump_source(struct dump *dump, const struct rp_source *source)
{
    const struct rp_event_visitor visitor = {begin_trace, take_event, end_trace, dump};
    if (source->trace_count == 0) {
        rp_say("%s holds no trace; was the job run with --no-trace?", source->name);
        return RP_EXIT_DATA;
    }
    rp_output_begin(&dump->output, dump->options);
    int code = rp_source_read(source, &visitor);
    if (dump->no_memory) {
        rp_say("out of memory");
        code = RP_EXIT_FAILURE;
    }
    return rp_output_end(&dump->output, code);
}

int rp_cmd_dump(int argc, char **argv)
{
    const struct rp_command *command = rp_command_find("dump");
    struct rp_options options;
    struct rp_source source;
    struct dump dump = {.options = &options};
    int code;

    if (!rp_options_begin(command, argc, argv, false, &options, &code))
        return code;
    code = rp_filter_create(command, &options, &dump.filter);
    if (code != RP_EXIT_OK)
        return code;
    code = rp_source_open(command, &options, &source);
    if (code == RP_EXIT_OK) {
        dump.json = rp_option_given(&options, RP_OPT_JSON);
        code = dump_source(&dump, &source);
        rp_source_close(&source);
    }
    rp_filter_release(&dump.filter);
    return code;
}
