/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/builder.h"

#include "tracker/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for `more` bytes and the zero behind them. */
static bool reserve(struct rp_builder *builder, size_t more)
{
    size_t need = builder->length + more + 1, room = builder->room ? builder->room : 128;
    if (builder->cut)
        return false;
    if (need <= builder->room)
        return true;
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
    size_t room = 4 * length + 8; /* every byte may become \xNN */
    if (length == 0 || !reserve(builder, room))
        return;
    rp_text_escape(builder->text + builder->length, room, text, length);
    builder->length += strlen(builder->text + builder->length);
}

void rp_builder_json(struct rp_builder *builder, const char *text, size_t length)
{
    struct rp_builder clean = {0};
    rp_builder_escaped(&clean, text, length);
    rp_builder_puts(builder, "\"");
    for (size_t i = 0; i < clean.length; i++) {
        if (clean.text[i] == '"' || clean.text[i] == '\\')
            rp_builder_puts(builder, "\\");
        rp_builder_add(builder, clean.text + i, 1);
    }
    rp_builder_puts(builder, "\"");
    builder->cut |= clean.cut;
    rp_builder_release(&clean);
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
