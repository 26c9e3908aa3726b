/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/builder.h"

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

void rp_builder_decimal(struct rp_builder *builder, uint64_t number, unsigned width, char pad)
{
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
        "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
        "8081828384858687888990919293949596979899";
    char digits[64], *at = digits + sizeof(digits);

    if (width > sizeof(digits))
        width = sizeof(digits);
    for (; number >= 100; number /= 100) {
        at -= 2;
        memcpy(at, pairs + 2 * (number % 100), 2);
    }
    *--at = (char)('0' + number % 10);
    if (number >= 10)
        *--at = (char)('0' + number / 10);
    while ((size_t)(digits + sizeof(digits) - at) < width)
        *--at = pad;
    rp_builder_add(builder, at, (size_t)(digits + sizeof(digits) - at));
}

void rp_builder_signed(struct rp_builder *builder, int64_t number)
{
    if (number < 0)
        rp_builder_char(builder, '-');
    rp_builder_decimal(builder, number < 0 ? 0 - (uint64_t)number : (uint64_t)number, 0, ' ');
}

void rp_builder_hex(struct rp_builder *builder, uint64_t number)
{
    char digits[18], *at = digits + sizeof(digits);

    do {
        *--at = "0123456789abcdef"[number & 15];
        number >>= 4;
    } while (number);
    *--at = 'x';
    *--at = '0';
    rp_builder_add(builder, at, (size_t)(digits + sizeof(digits) - at));
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
