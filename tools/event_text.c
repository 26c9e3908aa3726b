/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/event_text.h"

#include "tools/event_shape.h"

#include <ctype.h>
#include <cuda.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Texts are quoted where they could be taken for something else. */
static bool is_plain(const union rp_value *value)
{
    if (!value->t.text || value->t.length == 0)
        return false;
    for (size_t i = 0; i < value->t.length; i++) {
        unsigned char one = (unsigned char)value->t.text[i];
        if (one >= 128 || (!isalnum(one) && !strchr("_-./:[]<>*+@", one)) || one == 0)
            return false;
    }
    return true;
}

static void add_text(struct rp_builder *text, const union rp_value *value, size_t shown)
{
    if (is_plain(value)) {
        rp_builder_add(text, value->t.text, value->t.length);
        return;
    }
    rp_builder_char(text, '"');
    rp_builder_escaped(text, value->t.text, shown);
    rp_builder_puts(text, shown < value->t.length ? " ...\"" : "\"");
}

/* Only the first line: a proof has many, which `reprise info --proof` shows. */
static size_t first_line(const union rp_value *value)
{
    const char *end = value->t.text ? memchr(value->t.text, '\n', value->t.length) : NULL;
    return end ? (size_t)(end - value->t.text) : value->t.length;
}

static void add_value(struct rp_builder *text, enum rp_field_type type,
                      const union rp_value *value)
{
    switch (type) {
    case RP_FIELD_UINT:
    case RP_FIELD_BYTES: rp_builder_decimal(text, value->u, 0, ' '); break;
    case RP_FIELD_SINT: rp_builder_signed(text, value->s); break;
    case RP_FIELD_HEX: rp_builder_hex(text, value->u); break;
    case RP_FIELD_FLOAT: rp_builder_printf(text, "%.9g", value->f); break;
    case RP_FIELD_TEXT: add_text(text, value, first_line(value)); break;
    case RP_FIELD_NAME: add_text(text, value, value->t.length); break;
    }
}

static void add_field(struct rp_builder *text, const struct rp_event *event,
                      const struct rp_event_shape *shape, uint32_t i)
{
    rp_builder_add(text, event->def->fields[i].name, shape->length[i]);
    rp_builder_char(text, '=');
    add_value(text, event->def->fields[i].type, &event->values[i]);
}

/* Each argument with `between` before it; before the first one `first`. */
static void add_arguments(struct rp_builder *text, const struct rp_event *event,
                          const struct rp_event_shape *shape, const char *first,
                          const char *between)
{
    for (uint32_t left = shape->arguments; left; left &= left - 1) {
        rp_builder_puts(text, first);
        add_field(text, event, shape, (uint32_t)__builtin_ctz(left));
        first = between;
    }
}

void rp_event_text_enter(struct rp_builder *text, const struct rp_event *event)
{
    const struct rp_event_shape *shape = rp_event_shape(event->def);

    rp_builder_add(text, event->def->name, shape->name_length);
    rp_builder_char(text, '(');
    add_arguments(text, event, shape, "", ", ");
}

/* "0", or "2 CUDA_ERROR_OUT_OF_MEMORY". */
static void add_result(struct rp_builder *text, const struct rp_event *event, int at)
{
    const char *name = NULL;

    if (at < 0) {
        rp_builder_char(text, '?');
        return;
    }
    rp_builder_signed(text, event->values[at].s);
    if (event->values[at].s != 0 &&
        cuGetErrorName((CUresult)event->values[at].s, &name) == CUDA_SUCCESS)
        rp_builder_printf(text, " %s", name);
}

void rp_event_text_leave(struct rp_builder *text, const struct rp_event *event)
{
    const struct rp_event_shape *shape = rp_event_shape(event->def);

    rp_builder_puts(text, ") = ");
    add_result(text, event, shape->result);
    add_arguments(text, event, shape, " ", " ");
}

void rp_event_text_note(struct rp_builder *text, const struct rp_event *event)
{
    const struct rp_event_shape *shape = rp_event_shape(event->def);

    rp_builder_add(text, event->def->name, shape->name_length);
    for (uint32_t i = 0; i < event->def->field_count; i++) {
        rp_builder_char(text, ' ');
        add_field(text, event, shape, i);
    }
}

/* JSON has no infinities and no NaN. */
static void add_json_value(struct rp_builder *text, enum rp_field_type type,
                           const union rp_value *value)
{
    switch (type) {
    case RP_FIELD_UINT:
    case RP_FIELD_BYTES: rp_builder_decimal(text, value->u, 0, ' '); break;
    case RP_FIELD_SINT: rp_builder_signed(text, value->s); break;
    case RP_FIELD_HEX:
        rp_builder_char(text, '"');
        rp_builder_hex(text, value->u);
        rp_builder_char(text, '"');
        break;
    case RP_FIELD_FLOAT:
        if (value->f - value->f == 0.0)
            rp_builder_printf(text, "%.17g", value->f);
        else
            rp_builder_puts(text, "null");
        break;
    case RP_FIELD_TEXT:
    case RP_FIELD_NAME: rp_builder_json(text, value->t.text, value->t.length); break;
    }
}

void rp_event_json_fields(struct rp_builder *text, const struct rp_event *event)
{
    rp_builder_char(text, '{');
    for (uint32_t i = 0; i < event->def->field_count; i++) {
        const char *name = event->def->fields[i].name;
        if (i > 0)
            rp_builder_char(text, ',');
        rp_builder_json(text, name, strlen(name));
        rp_builder_char(text, ':');
        add_json_value(text, event->def->fields[i].type, &event->values[i]);
    }
    rp_builder_char(text, '}');
}

void rp_event_json(struct rp_builder *text, const struct rp_event *event, uint64_t pid)
{
    rp_builder_puts(text, "{\"id\":");
    rp_builder_decimal(text, event->id, 0, ' ');
    rp_builder_puts(text, ",\"time_ns\":");
    rp_builder_decimal(text, event->time_ns, 0, ' ');
    rp_builder_puts(text, ",\"pid\":");
    rp_builder_decimal(text, pid, 0, ' ');
    rp_builder_puts(text, ",\"tid\":");
    rp_builder_decimal(text, event->thread, 0, ' ');
    rp_builder_puts(text, ",\"class\":");
    rp_builder_json(text, event->def->class_, strlen(event->def->class_));
    rp_builder_puts(text, ",\"name\":");
    rp_builder_json(text, event->def->name, strlen(event->def->name));
    rp_builder_puts(text, ",\"fields\":");
    rp_event_json_fields(text, event);
    rp_builder_char(text, '}');
}

bool rp_event_stream(const struct rp_event *event, uint64_t *stream)
{
    const struct rp_event_shape *shape = rp_event_shape(event->def);

    *stream = shape->no_stream;
    if (shape->stream >= 0 && event->values[shape->stream].u != 0)
        *stream = event->values[shape->stream].u;
    return shape->stream >= 0;
}

/* Above the addresses that handles are, the layer puts which context's and which thread's. */
bool rp_stream_is_default(uint64_t stream)
{
    uint64_t handle = stream & ((UINT64_C(1) << 48) - 1);
    return stream >> 63 || handle <= RP_STREAM_PER_THREAD;
}

const char *rp_stream_name(uint64_t stream, char *text, size_t size)
{
    if (stream == 0 || stream == RP_STREAM_LEGACY)
        snprintf(text, size, "default stream");
    else if (stream == RP_STREAM_PER_THREAD)
        snprintf(text, size, "default stream of the thread");
    else
        snprintf(text, size, "stream 0x%llx", (unsigned long long)stream);
    return text;
}
