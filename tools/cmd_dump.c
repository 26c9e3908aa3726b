/* SPDX-License-Identifier: Apache-2.0 */
/* reprise dump: a thin reader over the trace library, one line a call, its notes below.
 *
 * A call that never returned is shown as unfinished. Nothing but the call at hand is held in
 * memory, so a trace of any length streams. */
#include "tools/builder.h"
#include "tools/event_shape.h"
#include "tools/event_text.h"
#include "tools/follow.h"
#include "tools/group.h"
#include "tools/output.h"
#include "tools/pen.h"
#include "tools/progress.h"
#include "tools/reading.h"
#include "tools/say.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENOUGH_TO_WRITE = 1 << 16 };

struct dump {
    const struct rp_options *options;
    const struct rp_filter *filter;
    struct rp_output output;
    bool json;
    struct rp_builder text; /* not yet written */
    bool any_line, no_memory;
};

/* ---- lines -------------------------------------------------------------------- */

/* `where` says on which stream it is, mostly the event itself. */
static void add_prefix(struct rp_builder *text, const struct rp_event *event,
                       const struct rp_event *where, uint64_t pid)
{
    char *at = rp_builder_room(text, 8 * RP_PEN_NUMBER);
    uint64_t stream;

    if (!at)
        return;
    at = rp_pen_padded(at, event->id, 7);
    *at++ = ' ';
    at = rp_pen_padded(at, event->time_ns / 1000000000, 5);
    *at++ = '.';
    at = rp_pen_last_digits(at, event->time_ns / 1000 % 1000000, 6);
    *at++ = ' ';
    at = rp_pen_decimal(at, pid);
    *at++ = '.';
    at = rp_pen_decimal(at, event->thread);
    *at++ = ' ';
    if (rp_event_stream(where, &stream))
        at = rp_pen_hex(at, stream);
    else
        *at++ = '-';
    *at++ = ' ';
    rp_builder_wrote(text, at);
}

/* A launch whose arguments have its stream in a structure says it in its note. */
static const struct rp_event *where_is(const struct rp_group *group)
{
    uint64_t stream;

    for (size_t i = 0; i < group->count && !rp_event_stream(&group->events[0], &stream); i++)
        if (rp_event_shape(group->events[i].def)->is_launch)
            return &group->events[i];
    return &group->events[0];
}

static void add_call(struct rp_builder *text, const struct rp_group *group)
{
    const struct rp_event *first = &group->events[0], *last = &group->events[group->count - 1];

    add_prefix(text, first, where_is(group), group->pid);
    if (group->enters)
        rp_event_text_enter(text, first);
    else
        rp_builder_printf(text, "<... %s resumed", last->def->name);
    if (group->leaves)
        rp_event_text_leave(text, last);
    else
        rp_builder_puts(text, " <unfinished ...>");
    rp_builder_char(text, '\n');
}

static void add_lines(struct rp_builder *text, const struct rp_group *group)
{
    bool call = group->enters || group->leaves;
    size_t end = group->count - group->leaves;

    if (call)
        add_call(text, group);
    for (size_t i = group->enters; i < end; i++) {
        add_prefix(text, &group->events[i], &group->events[i], group->pid);
        rp_builder_puts(text, call ? "  -- " : "-- ");
        rp_event_text_note(text, &group->events[i]);
        rp_builder_char(text, '\n');
    }
}

static void add_objects(struct rp_builder *text, const struct rp_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        rp_event_json(text, &group->events[i], group->pid);
        rp_builder_char(text, '\n');
    }
}

/* ---- writing ------------------------------------------------------------------ */

/* Line by line where lines are chosen or coloured. */
static void write_lines(struct dump *dump)
{
    char *state, *text = dump->text.text;
    for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        if (!rp_filter_line(dump->filter, line))
            continue;
        dump->any_line = true;
        bool bad = !dump->json && strstr(line, "-- hazard ") != NULL;
        fprintf(dump->output.file, "%s%s%s\n", bad ? rp_tint(&dump->output, RP_TINT_BAD) : "",
                line, bad ? rp_tint(&dump->output, RP_TINT_NONE) : "");
    }
}

static void write_text(struct dump *dump)
{
    if (dump->text.length == 0)
        return;
    if (dump->filter->by_line || dump->output.color)
        write_lines(dump);
    else
        fwrite(dump->text.text, 1, dump->text.length, dump->output.file);
    dump->no_memory |= dump->text.cut;
    rp_builder_clear(&dump->text);
}

static bool take_group(void *ctx, const struct rp_group *group)
{
    struct dump *dump = ctx;

    if (dump->json)
        add_objects(&dump->text, group);
    else
        add_lines(&dump->text, group);
    if (dump->text.length < ENOUGH_TO_WRITE && !dump->text.cut)
        return true;
    write_text(dump);
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

    write_text(dump); /* of processes that are followed side by side with this one */
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

static void end_trace(void *ctx, const char *path, const char *broken)
{
    (void)path;
    (void)broken;
    write_text(ctx);
}

/* ---- following a job -------------------------------------------------------------- */

enum { LOOK_AGAIN_MS = 50 };

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* Whether nobody reads what is printed any more, as far as that shows without printing. */
static bool is_unread(struct dump *dump, int wait_ms)
{
    struct pollfd out = {.fd = fileno(dump->output.file)};
    return poll(&out, 1, wait_ms) > 0 && (out.revents & (POLLERR | POLLHUP));
}

/* Where all that there is for now has been read: shows it, and waits. */
static bool look_around(void *ctx, bool pause)
{
    struct dump *dump = ctx;

    if (!pause)
        return !interrupted;
    write_text(dump);
    fflush(dump->output.file);
    return !interrupted && rp_output_open(&dump->output) && !is_unread(dump, LOOK_AGAIN_MS) &&
           !interrupted;
}

static int dump_source(struct dump *dump, const struct rp_source *source)
{
    bool follow = source->follow;
    const struct rp_group_visitor visitor = {
        .begin = begin_trace, .group = take_group, .end = end_trace, .ctx = dump};
    if (!rp_source_has_trace(source))
        return RP_EXIT_DATA;
    rp_output_begin(&dump->output, dump->options);
    if (follow || isatty(STDOUT_FILENO))
        rp_progress_silence();
    if (follow)
        signal(SIGINT, interrupt);
    int code = follow ? rp_follow(source, dump->filter, &visitor, look_around)
                      : rp_groups_read(source, dump->filter, &visitor);
    rp_builder_release(&dump->text);
    if (dump->no_memory) {
        rp_say("out of memory");
        code = RP_EXIT_FAILURE;
    }
    if (code == RP_EXIT_OK && dump->filter->by_line && !dump->any_line)
        code = rp_filter_none(dump->filter);
    return rp_output_end(&dump->output, code);
}

int rp_cmd_dump(int argc, char **argv)
{
    struct rp_reading reading;
    int code;

    if (!rp_reading_begin(&reading, "dump", argc, argv, &code))
        return code;
    struct dump dump = {.options = &reading.options,
                        .filter = &reading.filter,
                        .json = rp_option_given(&reading.options, RP_OPT_JSON)};
    code = dump_source(&dump, &reading.source);
    rp_reading_end(&reading);
    return code;
}
