/* SPDX-License-Identifier: Apache-2.0 */
/* CSV (RFC 4180): one row an event. What most queries ask for has a column of its own, empty
 * where an event has no such field; everything is in `fields`, as JSON. Made for SQL:
 *
 *     sqlite3 run.db '.import --csv reprise.csv events' */
#include "tools/event_text.h"
#include "tools/export/format.h"

#include <string.h>

/* Columns and the fields that they show; the units are those of tracker/events.h. */
static const char *const columns[][2] = {
    {"seq", "seq"},           {"kernel", "kernel"},         {"segment", "segment"},
    {"instance", "instance"}, {"step", "step"},             {"buffer", "buffer"},
    {"allocation", "allocation"}, {"offset_bytes", "offset"}, {"length_bytes", "bytes"},
    {"effect", "effect"},     {"verdict", "verdict"},       {"version", "version"},
    {"writer", "writer"},     {"result", "result"},
};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static void begin(struct rp_export *run, void *state)
{
    (void)state;
    rp_builder_puts(&run->out, "id,time_ns,pid,tid,class,name,stream");
    for (size_t i = 0; i < COLUMNS; i++) {
        rp_builder_char(&run->out, ',');
        rp_builder_puts(&run->out, columns[i][0]);
    }
    rp_builder_puts(&run->out, ",fields\r\n");
}

static void add_quoted(struct rp_builder *out, const char *text, size_t length)
{
    rp_builder_char(out, '"');
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '"')
            rp_builder_char(out, '"');
        rp_builder_char(out, text[i]);
    }
    rp_builder_char(out, '"');
}

static void add_text(struct rp_builder *out, const char *text, size_t length)
{
    struct rp_builder shown = {0};

    rp_builder_escaped(&shown, text, length);
    if (shown.length > 0)
        add_quoted(out, shown.text, shown.length);
    out->cut |= shown.cut;
    rp_builder_release(&shown);
}

static void add_column(struct rp_builder *out, const struct rp_event *event, const char *field)
{
    for (uint32_t i = 0; i < event->def->field_count; i++) {
        if (strcmp(event->def->fields[i].name, field) != 0)
            continue;
        switch (event->def->fields[i].type) {
        case RP_FIELD_TEXT:
        case RP_FIELD_NAME:
            add_text(out, event->values[i].t.text, event->values[i].t.length);
            break;
        case RP_FIELD_SINT: rp_builder_signed(out, event->values[i].s); break;
        case RP_FIELD_HEX: rp_builder_hex(out, event->values[i].u); break;
        case RP_FIELD_FLOAT: rp_builder_printf(out, "%.17g", event->values[i].f); break;
        case RP_FIELD_UINT:
        case RP_FIELD_BYTES: rp_builder_decimal(out, event->values[i].u); break;
        }
    }
}

static void add_row(struct rp_builder *out, const struct rp_event *event, uint64_t pid)
{
    uint64_t stream;
    const uint64_t numbers[] = {event->id, event->time_ns, pid, event->thread};
    struct rp_builder fields = {0};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        rp_builder_decimal(out, numbers[i]);
        rp_builder_char(out, ',');
    }
    rp_builder_printf(out, "%s,%s,", event->def->class_, event->def->name);
    if (rp_event_stream(event, &stream))
        rp_builder_hex(out, stream);
    for (size_t i = 0; i < COLUMNS; i++) {
        rp_builder_char(out, ',');
        add_column(out, event, columns[i][1]);
    }
    rp_builder_char(out, ',');
    rp_event_json_fields(&fields, event);
    if (fields.length > 0)
        add_quoted(out, fields.text, fields.length);
    out->cut |= fields.cut;
    rp_builder_release(&fields);
    rp_builder_puts(out, "\r\n");
}

static void take_group(struct rp_export *run, void *state, const struct rp_group *group)
{
    (void)state;
    for (size_t i = 0; i < group->count; i++)
        add_row(&run->out, &group->events[i], group->pid);
}

const struct rp_export_format rp_export_csv = {
    .name = "csv", .suffix = "csv", .begin = begin, .group = take_group};
