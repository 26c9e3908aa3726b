/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a source: trace by trace, each in its files.
 *
 * A trace that keeps only its end is two files: what was put aside, NAME.0.rpt, and NAME.rpt, which
 * goes on from it. */
#include "tools/damage.h"
#include "tools/event_shape.h"
#include "tools/progress.h"
#include "tools/source.h"
#include "tools/trace_name.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { EVENTS_BETWEEN_LOOKS = 4096 };

static bool goes_on(const struct rp_source *source, size_t at)
{
    char newer[PATH_MAX];
    return at > 0 && rp_trace_name_is_older(source->traces[at - 1]) &&
           rp_trace_name_other(source->traces[at - 1], newer, sizeof(newer)) &&
           strcmp(newer, source->traces[at]) == 0;
}

/* ---- one trace ---------------------------------------------------------------- */

/* One reader goes through all files of a trace: a call can begin in one and end in the next. */
struct trace {
    struct rp_trace_reader *reader;
    uint64_t before; /* bytes of all files before the present one */
    uint64_t events; /* read so far */
    struct rp_damage damage;
};

__attribute__((format(printf, 3, 4))) static void say_broken(struct trace *trace, int *code,
                                                             const char *format, ...)
{
    char message[PATH_MAX + 256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    rp_damage_note(&trace->damage, message);
    *code = RP_EXIT_DATA;
}

/* NULL after a message. */
static struct rp_trace_reader *open_file(struct trace *trace, const char *path, int *code)
{
    struct rp_trace_reader *reader;
    char message[512];

    if (rp_trace_reader_open(path, &reader, message, sizeof(message)) != RP_OK)
        say_broken(trace, code, "%s", message);
    return reader;
}

/* Also behind damage: what can be read is shown. True to go on with what follows. */
static bool read_file(struct trace *trace, const struct rp_event_visitor *visitor, int *code)
{
    struct rp_trace_reader *reader = trace->reader;
    enum rp_status status;
    struct rp_event event;
    bool wanted = true;

    if (visitor->needs)
        rp_trace_reader_brief(reader, visitor->needs, visitor->ctx);
    while (wanted && (status = rp_trace_next(reader, &event)) != RP_END) {
        if (status != RP_OK) {
            say_broken(trace, code, "%s", rp_trace_reader_message(reader));
            continue;
        }
        wanted = visitor->event(visitor->ctx, reader, &event);
        if (++trace->events % EVENTS_BETWEEN_LOOKS == 0)
            rp_progress_at(trace->before + rp_trace_reader_offset(reader));
    }
    trace->before += rp_trace_reader_offset(reader);
    return wanted;
}

/* ---- the second file ---------------------------------------------------------- */

/* Where the file that was read is whole, the next begins with the event that is due. */
static void check_seam(struct trace *trace, const struct rp_trace_reader *next, const char *path,
                       int *code)
{
    uint64_t due = rp_trace_reader_next_id(trace->reader);
    uint64_t first = rp_trace_reader_next_id(next);

    if (trace->damage.count == 0 && first != due)
        say_broken(trace, code, "%s: begins with event %" PRIu64 " where event %" PRIu64 " was due",
                   path, first, due);
}

/* The files of one trace that follow the first, one after the other. True to go on with what
 * follows them. */
static bool read_on(struct trace *trace, const struct rp_source *source, size_t *at,
                    const struct rp_event_visitor *visitor, int *code)
{
    while (*at + 1 < source->trace_count && goes_on(source, *at + 1)) {
        const char *path = source->traces[++*at];
        struct rp_trace_reader *next = open_file(trace, path, code);
        if (!next)
            return true;
        check_seam(trace, next, path, code);
        rp_trace_reader_go_on(trace->reader, next);
        if (!read_file(trace, visitor, code))
            return false;
    }
    if (source->is_folder && trace->damage.count == 0 &&
        rp_trace_name_is_older(source->traces[*at]))
        say_broken(trace, code,
                   "%s: breaks off after %" PRIu64 " events: the file that goes on from it is "
                   "missing",
                   source->traces[*at], rp_trace_reader_next_id(trace->reader));
    return true;
}

/* ---- all traces --------------------------------------------------------------- */

static bool read_trace(const struct rp_source *source, size_t *at,
                       const struct rp_event_visitor *visitor, uint64_t *bytes, int *code)
{
    const char *path = source->traces[*at];
    struct trace trace = {.before = *bytes};
    bool wanted = true;

    trace.reader = open_file(&trace, path, code);
    if (!trace.reader) {
        rp_damage_release(&trace.damage);
        return true;
    }
    if (!visitor->begin || visitor->begin(visitor->ctx, path, trace.reader)) {
        wanted = read_file(&trace, visitor, code) && read_on(&trace, source, at, visitor, code);
        const char *broken = rp_damage_sum_up(&trace.damage, path);
        if (visitor->end)
            visitor->end(visitor->ctx, path, broken);
    }
    rp_event_shapes_forget();
    *bytes = trace.before;
    rp_damage_release(&trace.damage);
    rp_trace_reader_close(trace.reader);
    return wanted;
}

static uint64_t bytes_of(const struct rp_source *source)
{
    struct stat info;
    uint64_t bytes = 0;

    for (size_t i = 0; i < source->trace_count; i++)
        if (stat(source->traces[i], &info) == 0 && S_ISREG(info.st_mode))
            bytes += (uint64_t)info.st_size;
    return bytes;
}

int rp_source_read(const struct rp_source *source, const struct rp_event_visitor *visitor)
{
    int code = source->damaged ? RP_EXIT_DATA : RP_EXIT_OK;
    uint64_t bytes = 0;

    rp_progress_begin("reading", bytes_of(source));
    for (size_t i = 0; i < source->trace_count; i++)
        if (!read_trace(source, &i, visitor, &bytes, &code))
            break;
    rp_progress_erase();
    return code;
}
