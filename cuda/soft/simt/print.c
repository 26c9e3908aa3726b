/* SPDX-License-Identifier: Apache-2.0 */
/* vprintf and __assertfail, the functions that the device library takes from the driver.
 *
 * The text of a block is collected and written when the launch ends, in the order of the
 * blocks, so that it does not depend on the number of workers. */
#include "cuda/soft/simt/scalar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT (1u << 20) /* of one format or %s string; as of the device's printf buffer */
#define MAX_BLOCK_TEXT (16u << 20)

void simt_text_add(struct simt_text *text, const char *bytes, size_t length)
{
    if (text->length + length > MAX_BLOCK_TEXT)
        return;
    if (text->length + length > text->capacity) {
        size_t capacity = text->capacity ? text->capacity : 256;
        while (capacity < text->length + length)
            capacity *= 2;
        char *grown = realloc(text->bytes, capacity);
        if (!grown)
            return;
        text->bytes = grown;
        text->capacity = capacity;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

struct reader {
    struct simt_warp *warp;
    const struct simt_op *op;
    int lane;
};

/* A byte of device memory, or -1 after a fault. */
static int read_byte(const struct reader *reader, uint64_t address)
{
    const struct simt_range *site = &reader->warp->sites[reader->op->target];
    if ((address < site->lo || address >= site->hi) &&
        !simt_memory_check(reader->warp, reader->op, reader->lane, address, 1, false))
        return -1;
    return *(const unsigned char *)(uintptr_t)address;
}

/* The string at `address`, allocated; NULL after a fault. */
static char *read_string(const struct reader *reader, uint64_t address)
{
    struct simt_text text = {0};
    for (size_t i = 0; i < MAX_TEXT; i++) {
        const int byte = read_byte(reader, address + i);
        if (byte <= 0) {
            if (byte == 0)
                simt_text_add(&text, "", 1);
            if (byte == 0 && text.bytes)
                return text.bytes;
            break;
        }
        const char c = (char)byte;
        simt_text_add(&text, &c, 1);
    }
    free(text.bytes);
    return NULL;
}

static bool read_argument(const struct reader *reader, uint64_t *at, uint32_t bytes,
                          uint64_t *value)
{
    *at = (*at + bytes - 1) & ~(uint64_t)(bytes - 1);
    unsigned char raw[8] = {0};
    for (uint32_t i = 0; i < bytes; i++) {
        const int byte = read_byte(reader, *at + i);
        if (byte < 0)
            return false;
        raw[i] = (unsigned char)byte;
    }
    memcpy(value, raw, sizeof raw);
    *at += bytes;
    return true;
}

/* One conversion, as found in a format: its text up to and with the letter. */
struct conversion {
    char text[64];
    size_t length;
    bool is_long;
    int stars;
    char letter;
};

static const char *parse_conversion(const char *at, struct conversion *out)
{
    static const char flags[] = "-+ #0123456789.*";
    *out = (struct conversion){.text = "%", .length = 1};
    at++;
    for (; *at && strchr(flags, *at); at++) {
        out->stars += *at == '*';
        if (out->length < sizeof out->text - 4)
            out->text[out->length++] = *at;
    }
    for (; *at && strchr("hlLqjzt", *at); at++)
        out->is_long |= *at != 'h';
    out->letter = *at;
    return *at ? at + 1 : at;
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the format is the kernel's, taken apart */

static void print_number(struct simt_text *text, const struct conversion *conversion,
                         const int *stars, uint64_t value)
{
    char format[80], number[512];
    const bool real = strchr("aAeEfFgG", conversion->letter) != NULL;
    const bool is_signed = conversion->letter == 'd' || conversion->letter == 'i';
    snprintf(format, sizeof format, "%s%s%c", conversion->text, real ? "" : "ll",
             conversion->letter == 'p' ? 'x' : conversion->letter);
    const long long integer = !is_signed            ? 0
                              : conversion->is_long ? (long long)value
                                                    : (int32_t)value;
    double x;
    memcpy(&x, &value, sizeof x);
#define PRINT(...) snprintf(number, sizeof number, format, __VA_ARGS__)
#define PRINT_STARS(v)                                                                          \
    (conversion->stars == 0   ? PRINT(v)                                                        \
     : conversion->stars == 1 ? PRINT(stars[0], v)                                              \
                              : PRINT(stars[0], stars[1], v))
    int length;
    if (real)
        length = PRINT_STARS(x);
    else if (is_signed)
        length = PRINT_STARS(integer);
    else
        length = PRINT_STARS((unsigned long long)(conversion->is_long || conversion->letter == 'p'
                                                      ? value : (uint32_t)value));
    if (conversion->letter == 'p')
        simt_text_add(text, "0x", 2);
    if (length > 0)
        simt_text_add(text, number, (size_t)length < sizeof number ? (size_t)length
                                                                   : sizeof number - 1);
}

static bool print_conversion(const struct reader *reader, struct simt_text *text,
                             const struct conversion *conversion, uint64_t *args)
{
    int stars[2] = {0};
    uint64_t value;
    for (int i = 0; i < conversion->stars && i < 2; i++) {
        if (!read_argument(reader, args, 4, &value))
            return false;
        stars[i] = (int32_t)value;
    }
    const bool wide = conversion->is_long || strchr("aAeEfFgGps", conversion->letter);
    if (!read_argument(reader, args, wide ? 8 : 4, &value))
        return false;
    if (conversion->letter == 's') {
        char *string = read_string(reader, value);
        if (!string)
            return false;
        simt_text_add(text, string, strlen(string));
        free(string);
    } else if (conversion->letter == 'c') {
        const char c = (char)value;
        simt_text_add(text, &c, 1);
    } else {
        print_number(text, conversion, stars, value);
    }
    return true;
}

/* The number of conversions, or -1 after a fault. */
static int print(const struct reader *reader, struct simt_text *text, const char *format,
                 uint64_t args)
{
    int count = 0;
    while (*format) {
        const char *next = strchr(format, '%');
        const size_t plain = next ? (size_t)(next - format) : strlen(format);
        simt_text_add(text, format, plain);
        format += plain;
        if (!*format)
            break;
        if (format[1] == '%') {
            simt_text_add(text, "%", 1);
            format += 2;
            continue;
        }
        struct conversion conversion;
        format = parse_conversion(format, &conversion);
        if (!conversion.letter || !strchr("diouxXaAeEfFgGcsp", conversion.letter) ||
            conversion.stars > 2)
            continue; /* the device prints nothing for what it doesn't know */
        if (!print_conversion(reader, text, &conversion, &args))
            return -1;
        count++;
    }
    return count;
}

static uint32_t local_address(const struct simt_warp *warp, uint32_t lane, uint32_t offset)
{
    return warp->block->local_lo +
           (warp->index * SIMT_LANES + lane) * warp->block->local_stride +
           warp->now.frame->local + offset;
}

static uint64_t local_u64(const struct simt_warp *warp, uint32_t lane, uint32_t offset)
{
    uint64_t value;
    memcpy(&value, (const void *)(uintptr_t)local_address(warp, lane, offset), sizeof value);
    return value;
}

/* a and b are the places of the format's and the arguments' addresses, d of the result. */
SCALAR_LOOP(vprintf)
{
    (void)rows;
    for (uint32_t i = 0; i < SIMT_LANES; i++) {
        if (!(mask >> i & 1))
            continue;
        const struct reader reader = {warp, op, (int)i};
        char *format = read_string(&reader, local_u64(warp, i, op->a));
        const int32_t count = format ? print(&reader, &warp->block->printed, format,
                                             local_u64(warp, i, op->b)) : -1;
        free(format);
        if (warp->faulted)
            return;
        if (op->d != UINT32_MAX)
            memcpy((void *)(uintptr_t)local_address(warp, i, op->d), &count, sizeof count);
    }
}

/* message, file, line (32 bits), function, size of a character */
SCALAR_LOOP(assertfail)
{
    (void)rows;
    const uint32_t lane = (uint32_t)__builtin_ctz(mask);
    const struct reader reader = {warp, op, (int)lane};
    char *message = read_string(&reader, local_u64(warp, lane, op->a));
    char *file = message ? read_string(&reader, local_u64(warp, lane, op->b)) : NULL;
    char *function = file ? read_string(&reader, local_u64(warp, lane, op->e)) : NULL;
    if (function) {
        uint32_t line;
        char text[1024];
        memcpy(&line, (const void *)(uintptr_t)local_address(warp, lane, op->c), sizeof line);
        const int length = snprintf(text, sizeof text, "%s:%u: %s: Assertion `%s` failed.\n", file,
                                    line, function, message);
        if (length > 0)
            simt_text_add(&warp->block->printed, text, (size_t)length < sizeof text
                                                           ? (size_t)length : sizeof text - 1);
        simt_fault_raise(warp, op, (int)lane, SIMT_FAULT_TRAP, 0, false);
    }
    free(message);
    free(file);
    free(function);
}
