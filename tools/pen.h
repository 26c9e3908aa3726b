/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and short texts, written into room that is known to suffice: the innermost loop of who
 * prints millions of lines. Each function returns the place behind what it wrote; nothing is
 * terminated. */
#ifndef RP_TOOLS_PEN_H
#define RP_TOOLS_PEN_H

#include "tracker/text.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RP_PEN_NUMBER 21 /* bytes, the most that one number takes without padding */

/* A copy of mostly less than 17 bytes: two moves that overlap cost less than a call. */
static inline char *rp_pen_text(char *at, const char *text, size_t length)
{
    if (length > 16) {
        memcpy(at, text, length);
    } else if (length >= 8) {
        memcpy(at, text, 8);
        memcpy(at + length - 8, text + length - 8, 8);
    } else if (length >= 4) {
        memcpy(at, text, 4);
        memcpy(at + length - 4, text + length - 4, 4);
    } else if (length > 0) {
        at[0] = text[0];
        at[length / 2] = text[length / 2];
        at[length - 1] = text[length - 1];
    }
    return at + length;
}

static inline unsigned rp_pen_digits(uint64_t number)
{
    static const uint64_t powers[] = {
        0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000,
        100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000,
        10000000000000000, 100000000000000000, 1000000000000000000, 10000000000000000000u};
    unsigned bits = 64 - (unsigned)__builtin_clzll(number | 1);
    unsigned about = bits * 1233 >> 12; /* log10(2): right, or one too few */

    return about + (number >= powers[about]);
}

/* Its last `digits` digits. */
static inline char *rp_pen_last_digits(char *at, uint64_t number, unsigned digits)
{
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
        "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
        "8081828384858687888990919293949596979899";

    char *end = at + digits, *left = end;

    for (; left - at >= 2; number /= 100)
        memcpy(left -= 2, pairs + 2 * (number % 100), 2);
    if (left > at)
        *at = (char)('0' + number % 10);
    return end;
}

static inline char *rp_pen_decimal(char *at, uint64_t number)
{
    return rp_pen_last_digits(at, number, rp_pen_digits(number));
}

static inline char *rp_pen_signed(char *at, int64_t number)
{
    if (number >= 0)
        return rp_pen_decimal(at, (uint64_t)number);
    *at++ = '-';
    return rp_pen_decimal(at, 0 - (uint64_t)number);
}

/* With its 0x. */
static inline char *rp_pen_hex(char *at, uint64_t number)
{
    unsigned digits = (67 - (unsigned)__builtin_clzll(number | 1)) / 4;

    *at++ = '0';
    *at++ = 'x';
    for (unsigned i = digits; i-- > 0; number >>= 4)
        at[i] = "0123456789abcdef"[number & 15];
    return at + digits;
}

/* Behind blanks, `width` wide or wider. */
static inline char *rp_pen_padded(char *at, uint64_t number, unsigned width)
{
    for (unsigned digits = rp_pen_digits(number); digits < width; digits++)
        *at++ = ' ';
    return rp_pen_decimal(at, number);
}

/* Text from a job, as rp_text_escape shows it. */
#define RP_PEN_ESCAPED(length) (4 * (length) + 4) /* bytes, the most that it takes */

static inline char *rp_pen_escaped(char *at, const char *text, size_t length)
{
    size_t ordinary = rp_text_ordinary(text, length), left = length - ordinary;

    at = rp_pen_text(at, text, ordinary);
    if (left == 0)
        return at;
    rp_text_escape(at, RP_PEN_ESCAPED(left), text + ordinary, left);
    return at + strlen(at);
}

#endif
