/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/source.h"

#include "tools/event_shape.h"
#include "tools/folder.h"
#include "tools/say.h"
#include "tracker/array.h"
#include "tracker/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- finding ------------------------------------------------------------------ */

/* run.json, if there is one. False after a message when it can't be read. */
static bool load_run(struct rp_source *source)
{
    char path[PATH_MAX];
    json_error_t error;

    if (!rp_path_join(path, source->name, "run.json") || access(path, F_OK) != 0)
        return true;
    source->run = json_load_file(path, 0, &error);
    if (json_is_object(source->run))
        return true;
    rp_say("%s: damaged%s%s", path, source->run ? "" : ": ", source->run ? "" : error.text);
    json_decref(source->run);
    source->run = NULL;
    return false;
}

static int open_folder(struct rp_source *source)
{
    size_t count = 0;
    char **names = rp_folder_list(source->name, "trace-", ".rpt", &count);

    if (!names || !rp_summaries_load(source->name, &source->summaries, NULL)) {
        rp_say("%s: %s", source->name, strerror(errno));
        return RP_EXIT_USAGE;
    }
    source->damaged = !load_run(source) || source->summaries.bad > 0;
    source->traces = calloc(count ? count : 1, sizeof(*source->traces));
    for (size_t i = 0; source->traces && i < count; i++) {
        char path[PATH_MAX];
        if (rp_path_join(path, source->name, names[i]) &&
            (source->traces[source->trace_count] = strdup(path)) != NULL)
            source->trace_count++;
    }
    rp_folder_list_free(names, count);
    if (source->trace_count == 0 && source->summaries.count == 0) {
        rp_say("%s holds no trace and no summary of a run", source->name);
        return RP_EXIT_DATA;
    }
    return RP_EXIT_OK;
}

static int open_file(struct rp_source *source)
{
    source->traces = calloc(1, sizeof(*source->traces));
    if (!source->traces || !(source->traces[0] = strdup(source->name))) {
        rp_say("out of memory");
        return RP_EXIT_FAILURE;
    }
    source->trace_count = 1;
    return RP_EXIT_OK;
}

int rp_source_open(const struct rp_command *command, const struct rp_options *options,
                   struct rp_source *source)
{
    struct stat info;
    bool named = options->rest_count > 0;

    *source = (struct rp_source){0};
    if (options->rest_count > 1)
        return rp_say_usage(command->name, "one folder or trace at a time, not '%s' too",
                            options->rest[1]);
    snprintf(source->name, sizeof(source->name), "%s",
             named ? options->rest[0] : RP_FOLDER_DEFAULT);
    if (strcmp(source->name, "-") == 0)
        return open_file(source);
    if (stat(source->name, &info) != 0) {
        rp_say("%s: %s%s", source->name, strerror(errno),
               named ? "" : "; `reprise run` makes one, or name another");
        return RP_EXIT_USAGE;
    }
    source->is_folder = S_ISDIR(info.st_mode);
    int code = source->is_folder ? open_folder(source) : open_file(source);
    if (code != RP_EXIT_OK)
        rp_source_close(source);
    return code;
}

void rp_source_close(struct rp_source *source)
{
    for (size_t i = 0; i < source->trace_count; i++)
        free(source->traces[i]);
    free(source->traces);
    rp_summaries_release(&source->summaries);
    json_decref(source->run);
    *source = (struct rp_source){0};
}

bool rp_source_has_trace(const struct rp_source *source)
{
    if (source->trace_count == 0)
        rp_say("%s holds no trace; was the job run with --no-trace?", source->name);
    return source->trace_count > 0;
}

/* ---- reading ------------------------------------------------------------------ */

static bool is_older(const char *path)
{
    static const char tail[] = ".0.rpt";
    size_t length = strlen(path), cut = sizeof(tail) - 1;
    return length > cut && strcmp(path + length - cut, tail) == 0;
}

/* A trace that kept only its end is two files: what was put aside, NAME.0.rpt, and NAME.rpt,
 * which goes on from it. */
static bool goes_on(const struct rp_source *source, size_t at)
{
    const char *older = at > 0 ? source->traces[at - 1] : "", *path = source->traces[at];
    size_t stem = strlen(path), cut = strlen(".rpt");

    stem -= stem >= cut ? cut : stem;
    return at > 0 && strncmp(older, path, stem) == 0 && strcmp(older + stem, ".0.rpt") == 0;
}

/* The files of one trace, of which the first is open. Definitions of events point into their
 * reader, and a call can begin in one file and end in the next: all stay open to the end. */
struct trace {
    struct rp_trace_reader **readers;
    size_t count, capacity;
    bool broken;
    char message[PATH_MAX + 256]; /* of the first damage */
};

__attribute__((format(printf, 3, 4))) static void say_broken(struct trace *trace, int *code,
                                                             const char *format, ...)
{
    char message[sizeof(trace->message)];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    rp_say("%s", message);
    if (!trace->broken)
        memcpy(trace->message, message, sizeof(message));
    trace->broken = true;
    *code = RP_EXIT_DATA;
}

static struct rp_trace_reader *last_of(const struct trace *trace)
{
    return trace->readers[trace->count - 1];
}

static bool keep_reader(struct trace *trace, struct rp_trace_reader *reader)
{
    struct rp_trace_reader **grown = rp_array_reserve(trace->readers, &trace->capacity,
                                                      trace->count + 1, sizeof(*grown));
    if (!grown) {
        rp_trace_reader_close(reader);
        return false;
    }
    trace->readers = grown;
    trace->readers[trace->count++] = reader;
    return true;
}

static bool open_next(struct trace *trace, const char *path, int *code)
{
    struct rp_trace_reader *reader;
    char message[512];

    if (rp_trace_reader_open(path, &reader, message, sizeof(message)) != RP_OK)
        say_broken(trace, code, "%s", message);
    else if (keep_reader(trace, reader))
        return true;
    else
        say_broken(trace, code, "%s: out of memory", path);
    return false;
}

/* Where the file that was read is whole, the next begins with the event that is due. */
static void check_seam(struct trace *trace, const char *path, int *code)
{
    uint64_t due = rp_trace_reader_next_id(trace->readers[trace->count - 2]);
    uint64_t first = rp_trace_reader_next_id(last_of(trace));

    if (!trace->broken && first != due)
        say_broken(trace, code, "%s: begins with event %llu where event %llu was due", path,
                   (unsigned long long)first, (unsigned long long)due);
}

/* True to go on with what follows. */
static bool read_file(struct trace *trace, const struct rp_event_visitor *visitor, int *code)
{
    struct rp_trace_reader *reader = last_of(trace);
    enum rp_status status = RP_OK;
    struct rp_event event;
    bool wanted = true;

    if (visitor->wait)
        rp_trace_reader_follow(reader, visitor->wait, visitor->ctx);
    if (visitor->needs)
        rp_trace_reader_brief(reader, visitor->needs, visitor->ctx);
    while (wanted && (status = rp_trace_next(reader, &event)) == RP_OK)
        wanted = visitor->event(visitor->ctx, reader, &event);
    if (wanted && status != RP_END)
        say_broken(trace, code, "%s", rp_trace_reader_message(reader));
    return wanted;
}

/* The files of one trace that follow the first, one after the other. True to go on with what
 * follows them. */
static bool read_on(struct trace *trace, const struct rp_source *source, size_t *at,
                    const struct rp_event_visitor *visitor, int *code)
{
    while (*at + 1 < source->trace_count && goes_on(source, *at + 1)) {
        const char *path = source->traces[++*at];
        if (!open_next(trace, path, code))
            return true;
        check_seam(trace, path, code);
        if (!read_file(trace, visitor, code))
            return false;
    }
    if (source->is_folder && !trace->broken && is_older(source->traces[*at]))
        say_broken(trace, code, "%s: breaks off after %llu events: the file that goes on from it "
                   "is missing", source->traces[*at],
                   (unsigned long long)rp_trace_reader_next_id(last_of(trace)));
    return true;
}

static bool read_trace(const struct rp_source *source, size_t *at,
                       const struct rp_event_visitor *visitor, int *code)
{
    const char *path = source->traces[*at];
    struct trace trace = {.count = 0};
    bool wanted = true;

    if (!open_next(&trace, path, code))
        return true;
    if (!visitor->begin || visitor->begin(visitor->ctx, path, trace.readers[0])) {
        wanted = read_file(&trace, visitor, code) && read_on(&trace, source, at, visitor, code);
        if (visitor->end)
            visitor->end(visitor->ctx, path, trace.broken ? trace.message : NULL);
    }
    rp_event_shapes_forget();
    while (trace.count > 0)
        rp_trace_reader_close(trace.readers[--trace.count]);
    free(trace.readers);
    return wanted;
}

int rp_source_read(const struct rp_source *source, const struct rp_event_visitor *visitor)
{
    int code = source->damaged ? RP_EXIT_DATA : RP_EXIT_OK;
    for (size_t i = 0; i < source->trace_count; i++)
        if (!read_trace(source, &i, visitor, &code))
            break;
    return code;
}

uint64_t rp_event_number(const struct rp_event *event, const char *field)
{
    const union rp_value *value = rp_event_field(event, field);
    return value ? value->u : 0;
}

const char *rp_event_text(const struct rp_event *event, const char *field, char *text,
                          size_t size)
{
    const union rp_value *value = rp_event_field(event, field);
    text[0] = 0;
    if (value && value->t.text)
        rp_text_escape(text, size, value->t.text, value->t.length);
    return text;
}

bool rp_event_is(const struct rp_event *event, const char *class_, const char *name)
{
    return strcmp(event->def->class_, class_) == 0 && strcmp(event->def->name, name) == 0;
}
