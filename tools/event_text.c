/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/event_text.h"

#include "tools/event_shape.h"
#include "tools/pen.h"

#include <cuda.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- fields ------------------------------------------------------------------------- */

/* Bytes that a field takes at most, without the letters of its name and its text. */
enum { FIELD_MOST = RP_PEN_NUMBER + 16 };

/* Only the first line: a proof has many, which `reprise info --proof` shows. */
static size_t shown_of(enum rp_field_type type, const union rp_value *value)
{
    const char *end = type == RP_FIELD_TEXT && value->t.text
                          ? memchr(value->t.text, '\n', value->t.length) : NULL;
    return end ? (size_t)(end - value->t.text) : value->t.length;
}

/* Texts are quoted where they could be taken for something else. */
static bool is_plain(const union rp_value *value)
{
    static const uint64_t plain[2] = {UINT64_C(0x57ffec0000000000),  /* *+-./0123456789:<> */
                                      UINT64_C(0x7fffffeafffffff)}; /* @A-Z[]_a-z */

    for (size_t i = 0; i < value->t.length; i++) {
        unsigned char one = (unsigned char)value->t.text[i];
        if (one >= 128 || !(plain[one / 64] >> one % 64 & 1))
            return false;
    }
    return value->t.length > 0;
}

static char *put_text(char *at, enum rp_field_type type, const union rp_value *value)
{
    if (is_plain(value))
        return rp_pen_text(at, value->t.text, value->t.length);
    size_t shown = shown_of(type, value);
    *at++ = '"';
    at = rp_pen_escaped(at, value->t.text, shown);
    if (shown < value->t.length)
        at = rp_pen_text(at, " ...", 4);
    *at++ = '"';
    return at;
}

static char *put_value(char *at, enum rp_field_type type, const union rp_value *value)
{
    switch (type) {
    case RP_FIELD_UINT:
    case RP_FIELD_BYTES: return rp_pen_decimal(at, value->u);
    case RP_FIELD_SINT: return rp_pen_signed(at, value->s);
    case RP_FIELD_HEX: return rp_pen_hex(at, value->u);
    case RP_FIELD_FLOAT: return at + snprintf(at, FIELD_MOST, "%.9g", value->f);
    case RP_FIELD_TEXT:
    case RP_FIELD_NAME: break;
    }
    return put_text(at, type, value);
}

/* The fields of the bits in `which`. */
static char *put_fields(char *at, const struct rp_event *event, const struct rp_event_shape *shape,
                        uint32_t which, const char *between)
{
    size_t gap = strlen(between);

    for (uint32_t left = which; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        if (left != which)
            at = rp_pen_text(at, between, gap);
        at = rp_pen_text(at, event->def->fields[i].name, shape->length[i]);
        *at++ = '=';
        at = put_value(at, event->def->fields[i].type, &event->values[i]);
    }
    return at;
}

/* Room for the whole event, and a few characters more. */
static char *room_for(struct rp_builder *text, const struct rp_event *event,
                      const struct rp_event_shape *shape)
{
    size_t most = shape->letters + (event->def->field_count + 1) * FIELD_MOST;

    for (uint32_t left = shape->texts; left; left &= left - 1)
        most += RP_PEN_ESCAPED(event->values[__builtin_ctz(left)].t.length);
    return rp_builder_room(text, most);
}

/* ---- lines -------------------------------------------------------------------------- */

void rp_event_text_enter(struct rp_builder *text, const struct rp_event *event)
{
    const struct rp_event_shape *shape = rp_event_shape(event->def);
    char *at = room_for(text, event, shape);

    if (!at)
        return;
    at = rp_pen_text(at, event->def->name, shape->name_length);
    *at++ = '(';
    rp_builder_wrote(text, put_fields(at, event, shape, shape->arguments, ", "));
}

static void add_error_name(struct rp_builder *text, CUresult result)
{
    const char *name = NULL;

    if (cuGetErrorName(result, &name) == CUDA_SUCCESS)
        rp_builder_printf(text, " %s", name);
}

/* "0", or "2 CUDA_ERROR_OUT_OF_MEMORY", and what came back. */
void rp_event_text_leave(struct rp_builder *text, const struct rp_event *event)
{
    const struct rp_event_shape *shape = rp_event_shape(event->def);
    int64_t result = shape->result >= 0 ? event->values[shape->result].s : 0;

    rp_builder_add(text, ") = ", 4);
    if (shape->result >= 0)
        rp_builder_signed(text, result);
    else
        rp_builder_char(text, '?');
    if (result != 0)
        add_error_name(text, (CUresult)result);
    if (shape->arguments == 0)
        return;
    char *at = room_for(text, event, shape);
    if (!at)
        return;
    *at++ = ' ';
    rp_builder_wrote(text, put_fields(at, event, shape, shape->arguments, " "));
}

void rp_event_text_note(struct rp_builder *text, const struct rp_event *event)
{
    const struct rp_event_shape *shape = rp_event_shape(event->def);
    uint32_t all = (uint32_t)((UINT64_C(1) << event->def->field_count) - 1);
    char *at = room_for(text, event, shape);

    if (!at)
        return;
    at = rp_pen_text(at, event->def->name, shape->name_length);
    if (all)
        *at++ = ' ';
    rp_builder_wrote(text, put_fields(at, event, shape, all, " "));
}

/* ---- JSON --------------------------------------------------------------------------- */

/* JSON has no infinities and no NaN. */
static void add_json_value(struct rp_builder *text, enum rp_field_type type,
                           const union rp_value *value)
{
    switch (type) {
    case RP_FIELD_UINT:
    case RP_FIELD_BYTES: rp_builder_decimal(text, value->u); break;
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
    rp_builder_decimal(text, event->id);
    rp_builder_puts(text, ",\"time_ns\":");
    rp_builder_decimal(text, event->time_ns);
    rp_builder_puts(text, ",\"pid\":");
    rp_builder_decimal(text, pid);
    rp_builder_puts(text, ",\"tid\":");
    rp_builder_decimal(text, event->thread);
    rp_builder_puts(text, ",\"class\":");
    rp_builder_json(text, event->def->class_, strlen(event->def->class_));
    rp_builder_puts(text, ",\"name\":");
    rp_builder_json(text, event->def->name, strlen(event->def->name));
    rp_builder_puts(text, ",\"fields\":");
    rp_event_json_fields(text, event);
    rp_builder_char(text, '}');
}

/* ---- streams ------------------------------------------------------------------------ */

/* Above the addresses that handles are, the layer puts which context's and which thread's. */
static bool is_default(uint64_t stream)
{
    return stream >> 63 || (stream & ((UINT64_C(1) << 48) - 1)) <= RP_STREAM_PER_THREAD;
}

bool rp_event_stream(const struct rp_event *event, uint64_t *stream)
{
    const struct rp_event_shape *shape = rp_event_shape(event->def);

    *stream = shape->stream >= 0 ? event->values[shape->stream].u : 0;
    if (is_default(*stream))
        *stream = *stream & 3 ? *stream & 3 : shape->no_stream;
    return shape->stream >= 0 || shape->is_copy;
}

const char *rp_stream_name(uint64_t stream, uint64_t thread, char *text, size_t size)
{
    if (stream == 0 || stream == RP_STREAM_LEGACY)
        snprintf(text, size, "default stream");
    else if (stream == RP_STREAM_PER_THREAD)
        snprintf(text, size, "default stream of thread %llu", (unsigned long long)thread);
    else
        snprintf(text, size, "stream 0x%llx", (unsigned long long)stream);
    return text;
}
