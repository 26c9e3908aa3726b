/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a trace front to back, from anything that can be read, in constant memory. */
#include "tracker/trace_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

/* ---- messages --------------------------------------------------------------------- */

enum rp_status rp_trace_report(struct rp_trace_reader *reader, enum rp_status status,
                               const char *format, ...)
{
    va_list arguments;
    int used = snprintf(reader->message, sizeof(reader->message), "%s: ", reader->path);

    if (used < 0 || (size_t)used >= sizeof(reader->message))
        used = 0; /* a path that long says nothing */
    va_start(arguments, format);
    vsnprintf(reader->message + used, sizeof(reader->message) - (size_t)used, format, arguments);
    va_end(arguments);
    reader->damaged = reader->damaged || status == RP_DAMAGED;
    return status;
}

/* ---- the header of the file ------------------------------------------------------- */

static char *take_text(const uint8_t **at, const uint8_t *end)
{
    uint64_t length = 0;

    if (!rp_get_varint(at, end, &length) || length > (uint64_t)(end - *at))
        return NULL;
    char *text = strndup((const char *)*at, (size_t)length);
    *at += length;
    return text;
}

static bool parse_properties(struct rp_trace_reader *reader, const uint8_t *at, size_t bytes)
{
    const uint8_t *end = at + bytes;
    uint64_t count = 0;

    if (!rp_get_varint(&at, end, &count) || count > bytes)
        return false;
    reader->properties = calloc((size_t)count + 1, sizeof(*reader->properties));
    if (reader->properties == NULL)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        struct property *property = &reader->properties[reader->property_count++];
        property->key = take_text(&at, end);
        property->value = take_text(&at, end);
        if (property->key == NULL || property->value == NULL)
            return false;
    }
    return true;
}

static void expect_version(struct rp_trace_reader *reader, unsigned version)
{
    reader->version = version;
    rp_trace_decoder_expect(&reader->events.decoder, version);
    rp_trace_decoder_expect(&reader->tally.decoder, version);
}

static enum rp_status read_header(struct rp_trace_reader *reader)
{
    struct rp_trace_header header;
    size_t have = rp_input_want(&reader->input, RP_TRACE_HEADER_BYTES);

    if (reader->input.error != 0)
        return rp_trace_report(reader, RP_IO, "can't be read: %s", strerror(reader->input.error));
    if (have == 0)
        return rp_trace_report(reader, RP_DAMAGED, "the file is empty");
    size_t magic = have < 8 ? have : 8;
    if (memcmp(rp_input_window(&reader->input), RP_TRACE_MAGIC, magic) != 0)
        return rp_trace_report(reader, RP_DAMAGED, "this is no trace of reprise");
    if (have < RP_TRACE_HEADER_BYTES)
        return rp_trace_report(reader, RP_DAMAGED, "breaks off in the header of the file");

    enum rp_trace_header_state state =
        rp_trace_header_unpack(rp_input_window(&reader->input), &header);
    if (header.properties_bytes > RP_TRACE_MAX_PROPERTIES)
        return rp_trace_report(reader, RP_DAMAGED, "the header of the file is damaged");
    size_t whole = RP_TRACE_HEADER_BYTES + header.properties_bytes;
    if (rp_input_want(&reader->input, whole) < whole)
        return reader->input.error != 0
                   ? rp_trace_report(reader, RP_IO, "can't be read: %s",
                                     strerror(reader->input.error))
                   : rp_trace_report(reader, RP_DAMAGED, "breaks off in the header of the file");
    const uint8_t *properties = rp_input_window(&reader->input) + RP_TRACE_HEADER_BYTES;
    if (!rp_trace_header_matches(rp_input_window(&reader->input), properties, &header))
        return rp_trace_report(reader, RP_DAMAGED, "the header of the file is damaged");
    if (state == RP_TRACE_HEADER_NEWER)
        return rp_trace_report(
            reader, RP_DAMAGED,
            "has format %u, for readers of format %u and newer; this one reads up to %u: "
            "use the reprise that wrote it",
            header.version, header.lowest_reader, RP_TRACE_VERSION);
    if (!parse_properties(reader, properties, header.properties_bytes))
        return rp_trace_report(reader, RP_DAMAGED, "the header of the file is damaged");
    rp_input_skip(&reader->input, whole);
    expect_version(reader, header.version);
    /* A file that goes on from another one begins with a later event. */
    const char *first = rp_trace_property(reader, "first_event");
    reader->next_id = first != NULL ? strtoull(first, NULL, 10) : 0;
    return RP_OK;
}

/* ---- outside ---------------------------------------------------------------------- */

enum rp_status rp_trace_next(struct rp_trace_reader *reader, struct rp_event *event)
{
    enum rp_status status = RP_OK;

    while (status == RP_OK) {
        if (reader->in_tally || reader->in_chunk) {
            status = rp_trace_chunk_next(reader, event);
            if (status != RP_END)
                return status;
        }
        status = reader->finished ? RP_END : rp_trace_chunk_open(reader);
    }
    return status;
}

void rp_trace_reader_brief(struct rp_trace_reader *reader,
                           bool (*needs)(void *ctx, const struct rp_event_def *def), void *ctx)
{
    reader->needs = needs;
    reader->needs_ctx = ctx;
}

static enum rp_status report_unopened(struct rp_trace_reader *reader)
{
    if (reader->input.is_named_pipe)
        return rp_trace_report(reader, RP_DAMAGED,
                               "this is a named pipe, no trace; what comes through it can be read "
                               "from standard input, as -");
    return rp_trace_report(reader, RP_IO, "can't be read: %s", strerror(reader->input.error));
}

enum rp_status rp_trace_reader_open(const char *path, struct rp_trace_reader **out, char *message,
                                    size_t message_size)
{
    struct rp_trace_reader *reader = calloc(1, sizeof(*reader));

    *out = NULL;
    if (reader != NULL)
        reader->path = strdup(strcmp(path, "-") == 0 ? "standard input" : path);
    if (reader == NULL || reader->path == NULL) {
        free(reader);
        snprintf(message, message_size, "%s: out of memory", path);
        return RP_NO_MEMORY;
    }
    enum rp_status status =
        rp_input_open(&reader->input, path) ? read_header(reader) : report_unopened(reader);
    if (status != RP_OK) {
        snprintf(message, message_size, "%s", reader->message);
        rp_trace_reader_close(reader);
        return status;
    }
    *out = reader;
    return RP_OK;
}

void rp_trace_reader_follow(struct rp_trace_reader *reader, bool grows)
{
    reader->input.grows = grows;
}

bool rp_trace_reader_awaits(const struct rp_trace_reader *reader)
{
    return reader->input.grows && !reader->finished;
}

void rp_trace_reader_go_on(struct rp_trace_reader *reader, struct rp_trace_reader *next)
{
    struct rp_trace_reader was = *reader;

    rp_input_release(&reader->input);
    reader->input = next->input;
    reader->path = next->path;
    reader->properties = next->properties;
    reader->property_count = next->property_count;
    reader->next_id = next->next_id;
    reader->finished = reader->broken_off = reader->damaged = false;
    reader->has_resumed = reader->has_tally = reader->in_tally = reader->in_chunk = false;
    expect_version(reader, next->version);
    next->input = (struct rp_trace_input){.fd = -1};
    next->path = was.path;
    next->properties = was.properties;
    next->property_count = was.property_count;
    rp_trace_reader_close(next);
}

void rp_trace_reader_close(struct rp_trace_reader *reader)
{
    if (reader == NULL)
        return;
    rp_input_release(&reader->input);
    for (size_t i = 0; i < reader->property_count; i++) {
        free(reader->properties[i].key);
        free(reader->properties[i].value);
    }
    free(reader->properties);
    ZSTD_freeDCtx(reader->zstd);
    rp_trace_decoder_release(&reader->events.decoder);
    rp_trace_decoder_release(&reader->tally.decoder);
    free(reader->events.raw);
    free(reader->tally.raw);
    free(reader->path);
    free(reader);
}

const char *rp_trace_reader_message(const struct rp_trace_reader *reader)
{
    return reader->message;
}

bool rp_trace_reader_whole(const struct rp_trace_reader *reader)
{
    return reader->finished && !reader->damaged && reader->input.error == 0;
}

uint64_t rp_trace_reader_next_id(const struct rp_trace_reader *reader)
{
    return reader->next_id;
}

uint64_t rp_trace_reader_offset(const struct rp_trace_reader *reader)
{
    return reader->input.offset;
}

bool rp_trace_reader_broke_off(const struct rp_trace_reader *reader)
{
    return reader->broken_off;
}

const char *rp_trace_property(const struct rp_trace_reader *reader, const char *key)
{
    for (size_t i = 0; i < reader->property_count; i++) {
        if (strcmp(reader->properties[i].key, key) == 0)
            return reader->properties[i].value;
    }
    return NULL;
}

const union rp_value *rp_event_field(const struct rp_event *event, const char *name)
{
    for (uint32_t i = 0; i < event->def->field_count; i++) {
        if (strcmp(event->def->fields[i].name, name) == 0)
            return &event->values[i];
    }
    return NULL;
}
