/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/event_text.h"

#include <cuda.h>
#include <inttypes.h>
#include <string.h>

/* Fields of a call's events that are no arguments: its number, the same on both, and its answer. */
#define CALL "call"
#define RESULT "result"

/* Texts are quoted where they could be taken for something else. */
static bool is_plain(const union rp_value *value)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:[]<>*+@";
    if (!value->t.text || value->t.length == 0)
        return false;
    for (size_t i = 0; i < value->t.length; i++)
        if (value->t.text[i] == 0 || !strchr(plain, value->t.text[i]))
            return false;
    return true;
}

static void add_text(struct rp_builder *text, const union rp_value *value)
{
    const char *quote = is_plain(value) ? "" : "\"";
    rp_builder_puts(text, quote);
    if (value->t.text)
        rp_builder_escaped(text, value->t.text, value->t.length);
    rp_builder_puts(text, quote);
}

static void add_value(struct rp_builder *text, enum rp_field_type type,
                      const union rp_value *value)
{
    switch (type) {
    case RP_FIELD_UINT:
    case RP_FIELD_BYTES: rp_builder_printf(text, "%" PRIu64, value->u); break;
    case RP_FIELD_SINT: rp_builder_printf(text, "%" PRId64, value->s); break;
    case RP_FIELD_HEX: rp_builder_printf(text, "0x%" PRIx64, value->u); break;
    case RP_FIELD_FLOAT: rp_builder_printf(text, "%.9g", value->f); break;
    case RP_FIELD_TEXT:
    case RP_FIELD_NAME: add_text(text, value); break;
    }
}

static void add_field(struct rp_builder *text, const struct rp_event *event, uint32_t i)
{
    rp_builder_printf(text, "%s=", event->def->fields[i].name);
    add_value(text, event->def->fields[i].type, &event->values[i]);
}

static bool is_argument(const struct rp_event *event, uint32_t i)
{
    const char *name = event->def->fields[i].name;
    return strcmp(name, CALL) != 0 && strcmp(name, RESULT) != 0;
}

void rp_event_text_enter(struct rp_builder *text, const struct rp_event *event)
{
    const char *between = "";

    rp_builder_printf(text, "%s(", event->def->name);
    for (uint32_t i = 0; i < event->def->field_count; i++) {
        if (!is_argument(event, i))
            continue;
        rp_builder_puts(text, between);
        add_field(text, event, i);
        between = ", ";
    }
}

/* "0", or "2 CUDA_ERROR_OUT_OF_MEMORY". */
static void add_result(struct rp_builder *text, const struct rp_event *event)
{
    const union rp_value *result = rp_event_field(event, RESULT);
    const char *name = NULL;

    if (!result) {
        rp_builder_puts(text, "?");
        return;
    }
    rp_builder_printf(text, "%" PRId64, result->s);
    if (result->s != 0 && cuGetErrorName((CUresult)result->s, &name) == CUDA_SUCCESS)
        rp_builder_printf(text, " %s", name);
}

void rp_event_text_leave(struct rp_builder *text, const struct rp_event *event)
{
    rp_builder_puts(text, ") = ");
    add_result(text, event);
    for (uint32_t i = 0; i < event->def->field_count; i++) {
        if (!is_argument(event, i))
            continue;
        rp_builder_puts(text, " ");
        add_field(text, event, i);
    }
}

void rp_event_text_note(struct rp_builder *text, const struct rp_event *event)
{
    rp_builder_puts(text, event->def->name);
    for (uint32_t i = 0; i < event->def->field_count; i++) {
        rp_builder_puts(text, " ");
        add_field(text, event, i);
    }
}

/* JSON has no infinities and no NaN. */
static void add_json_value(struct rp_builder *text, enum rp_field_type type,
                           const union rp_value *value)
{
    switch (type) {
    case RP_FIELD_UINT:
    case RP_FIELD_BYTES: rp_builder_printf(text, "%" PRIu64, value->u); break;
    case RP_FIELD_SINT: rp_builder_printf(text, "%" PRId64, value->s); break;
    case RP_FIELD_HEX: rp_builder_printf(text, "\"0x%" PRIx64 "\"", value->u); break;
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

void rp_event_json(struct rp_builder *text, const struct rp_event *event, uint64_t pid)
{
    rp_builder_printf(text,
                      "{\"id\":%" PRIu64 ",\"time_ns\":%" PRIu64 ",\"pid\":%" PRIu64
                      ",\"tid\":%" PRIu64 ",\"class\":",
                      event->id, event->time_ns, pid, event->thread);
    rp_builder_json(text, event->def->class_, strlen(event->def->class_));
    rp_builder_puts(text, ",\"name\":");
    rp_builder_json(text, event->def->name, strlen(event->def->name));
    rp_builder_puts(text, ",\"fields\":{");
    for (uint32_t i = 0; i < event->def->field_count; i++) {
        const char *name = event->def->fields[i].name;
        if (i > 0)
            rp_builder_puts(text, ",");
        rp_builder_json(text, name, strlen(name));
        rp_builder_puts(text, ":");
        add_json_value(text, event->def->fields[i].type, &event->values[i]);
    }
    rp_builder_puts(text, "}}");
}

const union rp_value *rp_event_stream(const struct rp_event *event)
{
    static const char *const names[] = {"hStream", "stream"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const union rp_value *value = rp_event_field(event, names[i]);
        if (value)
            return value;
    }
    return NULL;
}
