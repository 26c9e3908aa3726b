/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/builder.h"

#include "tools/pen.h"
#include "tracker/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool grow(struct rp_builder *builder, size_t need)
{
    size_t room = builder->room ? builder->room : 128;

    if (builder->cut)
        return false;
    while (room < need)
        room *= 2;
    char *text = realloc(builder->text, room);
    if (!text) {
        builder->cut = true;
        return false;
    }
    builder->text = text;
    builder->room = room;
    return true;
}

/* Room for `more` bytes and the zero behind them. */
static inline bool reserve(struct rp_builder *builder, size_t more)
{
    size_t need = builder->length + more + 1;
    return (need <= builder->room && !builder->cut) || grow(builder, need);
}

char *rp_builder_room(struct rp_builder *builder, size_t most)
{
    return reserve(builder, most) ? builder->text + builder->length : NULL;
}

void rp_builder_wrote(struct rp_builder *builder, char *end)
{
    builder->length = (size_t)(end - builder->text);
    *end = 0;
}

void rp_builder_add(struct rp_builder *builder, const char *text, size_t length)
{
    if (!reserve(builder, length))
        return;
    memcpy(builder->text + builder->length, text, length);
    builder->length += length;
    builder->text[builder->length] = 0;
}

void rp_builder_puts(struct rp_builder *builder, const char *text)
{
    rp_builder_add(builder, text, strlen(text));
}

void rp_builder_char(struct rp_builder *builder, char one)
{
    if (!reserve(builder, 1))
        return;
    builder->text[builder->length++] = one;
    builder->text[builder->length] = 0;
}

void rp_builder_decimal(struct rp_builder *builder, uint64_t number)
{
    char *at = rp_builder_room(builder, RP_PEN_NUMBER);
    if (at)
        rp_builder_wrote(builder, rp_pen_decimal(at, number));
}

void rp_builder_signed(struct rp_builder *builder, int64_t number)
{
    char *at = rp_builder_room(builder, RP_PEN_NUMBER);
    if (at)
        rp_builder_wrote(builder, rp_pen_signed(at, number));
}

void rp_builder_hex(struct rp_builder *builder, uint64_t number)
{
    char *at = rp_builder_room(builder, RP_PEN_NUMBER);
    if (at)
        rp_builder_wrote(builder, rp_pen_hex(at, number));
}

void rp_builder_printf(struct rp_builder *builder, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length >= 0 && reserve(builder, (size_t)length)) {
        vsnprintf(builder->text + builder->length, (size_t)length + 1, format, again);
        builder->length += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

void rp_builder_escaped(struct rp_builder *builder, const char *text, size_t length)
{
    char *at = rp_builder_room(builder, RP_PEN_ESCAPED(length));
    if (at)
        rp_builder_wrote(builder, rp_pen_escaped(at, text, length));
}

/* What stands in the text from `from` on, with a backslash before what ends a JSON string. */
static void mark_quotes(struct rp_builder *builder, size_t from)
{
    size_t marks = 0, end = builder->length;

    for (size_t i = from; i < end; i++)
        marks += builder->text[i] == '"' || builder->text[i] == '\\';
    if (marks == 0 || !reserve(builder, marks))
        return;
    builder->length += marks;
    builder->text[builder->length] = 0;
    for (char *in = builder->text + end, *out = in + marks; out > in;) {
        *--out = *--in;
        if (*in == '"' || *in == '\\')
            *--out = '\\';
    }
}

void rp_builder_json(struct rp_builder *builder, const char *text, size_t length)
{
    rp_builder_char(builder, '"');
    size_t from = builder->length;
    rp_builder_escaped(builder, text, length);
    mark_quotes(builder, from);
    rp_builder_char(builder, '"');
}

void rp_builder_clear(struct rp_builder *builder)
{
    builder->length = 0;
    builder->cut = false;
    if (builder->text)
        builder->text[0] = 0;
}

void rp_builder_release(struct rp_builder *builder)
{
    free(builder->text);
    *builder = (struct rp_builder){0};
}
