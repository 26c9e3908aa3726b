/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- sizes ------------------------------------------------------------------------ */

static const struct {
    const char *name;
    unsigned shift;
} units[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};

#define MAX_FRACTION 64 /* digits; 2^-30 has thirty */

/* Takes a run of digits off the front of *text. False when there is none. */
static bool take_digits(const char **text, const char **digits, size_t *count)
{
    *digits = *text;
    *count = strspn(*text, "0123456789");
    *text += *count;
    return *count > 0;
}

/* whole.fraction * 2, in decimal: exact at any length. False when it overflows 63 bits. */
static bool twice(uint64_t *whole, unsigned char *fraction, size_t digits)
{
    unsigned carry = 0;

    for (size_t i = digits; i-- > 0;) {
        carry += fraction[i] * 2u;
        fraction[i] = (unsigned char)(carry % 10);
        carry /= 10;
    }
    if (*whole > ((uint64_t)INT64_MAX - carry) / 2)
        return false;
    *whole = *whole * 2 + carry;
    return true;
}

enum rp_status rp_size_parse(const char *text, uint64_t *bytes)
{
    const char *digits = NULL;
    unsigned char fraction[MAX_FRACTION];
    size_t count = 0, unit = 0;
    uint64_t whole = 0;

    if (!take_digits(&text, &digits, &count))
        return RP_INVALID;
    for (size_t i = 0; i < count; i++) {
        uint64_t digit = (uint64_t)(digits[i] - '0');
        if (whole > ((uint64_t)INT64_MAX - digit) / 10)
            return RP_INVALID;
        whole = whole * 10 + digit;
    }

    count = 0;
    if (*text == '.') {
        text++;
        if (!take_digits(&text, &digits, &count) || count > MAX_FRACTION)
            return RP_INVALID;
        for (size_t i = 0; i < count; i++)
            fraction[i] = (unsigned char)(digits[i] - '0');
    }

    while (unit < sizeof(units) / sizeof(units[0]) && strcmp(text, units[unit].name) != 0)
        unit++;
    if (unit == sizeof(units) / sizeof(units[0]))
        return RP_INVALID;
    for (unsigned i = 0; i < units[unit].shift; i++) {
        if (!twice(&whole, fraction, count))
            return RP_INVALID;
    }
    for (size_t i = 0; i < count; i++) {
        if (fraction[i] != 0)
            return RP_INVALID;
    }
    *bytes = whole;
    return RP_OK;
}

char *rp_size_format(char out[RP_SIZE_TEXT], uint64_t bytes)
{
    size_t unit = sizeof(units) / sizeof(units[0]) - 1;

    while (unit > 0 && bytes >> units[unit].shift == 0)
        unit--;
    uint64_t whole = bytes >> units[unit].shift;
    uint64_t rest = bytes - (whole << units[unit].shift);
    uint64_t tenths =
        unit == 0 ? 0 : (rest * 10 + (UINT64_C(1) << (units[unit].shift - 1))) >> units[unit].shift;
    if (tenths == 10) {
        whole++;
        tenths = 0;
    }
    const char *name = unit == 0 ? "B" : units[unit].name;
    if (tenths == 0)
        snprintf(out, RP_SIZE_TEXT, "%" PRIu64 " %s", whole, name);
    else
        snprintf(out, RP_SIZE_TEXT, "%" PRIu64 ".%" PRIu64 " %s", whole, tenths, name);
    return out;
}

char *rp_size_exact(char out[RP_SIZE_TEXT], uint64_t bytes)
{
    size_t unit = sizeof(units) / sizeof(units[0]) - 1;

    while (unit > 0 && (bytes == 0 || bytes & ((UINT64_C(1) << units[unit].shift) - 1)))
        unit--;
    snprintf(out, RP_SIZE_TEXT, "%" PRIu64 "%s", bytes >> units[unit].shift, units[unit].name);
    return out;
}

/* ---- globs ------------------------------------------------------------------------ */

static const char *next_character(const char *text)
{
    do
        text++;
    while (((unsigned char)*text & 0xC0) == 0x80);
    return text;
}

static void copy_key(char *key, size_t key_size, const char *begin, const char *end)
{
    if (key == NULL || key_size == 0)
        return;
    size_t length = begin != NULL ? (size_t)(end - begin) : 0;
    if (length > key_size - 1)
        length = key_size - 1;
    if (length > 0)
        memcpy(key, begin, length);
    key[length] = '\0';
}

bool rp_glob_match(const char *pattern, const char *text, char *key, size_t key_size)
{
    const char *star = NULL, *retry = NULL; /* the last `*` and where its match ends */
    const char *first = NULL, *begin = NULL, *end = NULL;

    copy_key(key, key_size, NULL, NULL);
    for (;;) {
        if (*pattern == '*') {
            star = pattern++;
            retry = text;
            if (first == NULL) {
                first = star;
                begin = end = text;
            }
        } else if (*text == '\0') {
            break;
        } else if (*pattern == '?') {
            pattern++;
            text = next_character(text);
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++retry;
            if (star == first)
                end = retry;
        } else {
            return false;
        }
    }
    if (*pattern != '\0')
        return false;
    copy_key(key, key_size, begin, end);
    return true;
}

/* ---- slips of the keyboard -------------------------------------------------------- */

#define MAX_WORD 64

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters inserted, deleted, replaced or swapped with their neighbour. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][MAX_WORD + 1];
    size_t *older = rows[0], *old = rows[1], *row = rows[2];
    size_t width = strlen(b);

    for (size_t j = 0; j <= width; j++)
        older[j] = old[j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            row[j] =
                least(least(row[j - 1], old[j]) + 1, old[j - 1] + !same_letter(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                same_letter(a[i - 2], b[j - 1]))
                row[j] = least(row[j], older[j - 2] + 1);
        }
        size_t *spare = older;
        older = old, old = row, row = spare;
    }
    return old[width];
}

const char *rp_nearest(const char *word, const char *const *candidates, size_t count)
{
    const char *nearest = NULL;
    size_t length = strlen(word), best = (length + 2) / 3 + 1; /* a third may be wrong */

    if (length > MAX_WORD)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = strlen(candidates[i]);
        if (other > MAX_WORD)
            continue;
        size_t distance = edit_distance(word, candidates[i]);
        if (distance < best && distance < least(length, other)) {
            best = distance;
            nearest = candidates[i];
        }
    }
    return nearest;
}

/* ---- odd bytes -------------------------------------------------------------------- */

/* The number of bytes of the UTF-8 character at `text`, 0 when there is none: a broken or
 * overlong sequence, a surrogate, or length 0. */
static size_t character(const char *text, size_t length)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t need = 0;
    uint32_t code = 0;

    if (length == 0)
        return 0;
    if (c[0] < 0x80)
        return 1;
    if (c[0] >= 0xC2 && c[0] <= 0xDF)
        need = 2, code = c[0] & 0x1F;
    else if (c[0] >= 0xE0 && c[0] <= 0xEF)
        need = 3, code = c[0] & 0x0F;
    else if (c[0] >= 0xF0 && c[0] <= 0xF4)
        need = 4, code = c[0] & 0x07;
    if (need == 0 || need > length)
        return 0;
    for (size_t i = 1; i < need; i++) {
        if ((c[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (c[i] & 0x3F);
    }
    if ((need == 3 && code < 0x800) || (need == 4 && (code < 0x10000 || code > 0x10FFFF)) ||
        (code >= 0xD800 && code <= 0xDFFF))
        return 0;
    return need;
}

/* What follows this lead byte and its fellows, as a code point. */
static unsigned code_point(const char *text, size_t bytes)
{
    static const unsigned char masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    unsigned code = (unsigned char)*text & masks[bytes];

    for (size_t i = 1; i < bytes; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3F);
    return code;
}

/* Characters of several bytes that move others about on a terminal or break its lines: C1
 * controls, marks and overrides of direction, separators of lines. */
static bool is_hidden(unsigned code)
{
    return code < 0xA0 || code == 0x61C || (code >= 0x200B && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
           code == 0xFEFF;
}

/* How one character is shown: itself, or an escape in `escape`. Returns the bytes to print;
 * *taken says how many of `text` they stand for. */
static size_t show_character(const char *text, size_t length, char escape[8], size_t *taken)
{
    unsigned char c = (unsigned char)*text;

    *taken = character(text, length);
    if (*taken > 1 && is_hidden(code_point(text, *taken)))
        return (size_t)snprintf(escape, 8, "\\u%04x", code_point(text, *taken));
    if (*taken > 1 || (*taken == 1 && c >= 0x20 && c != 0x7F)) {
        memcpy(escape, text, *taken);
        return *taken;
    }
    *taken = 1;
    if (c == '\n' || c == '\t')
        return (size_t)snprintf(escape, 8, "\\%c", c == '\n' ? 'n' : 't');
    return (size_t)snprintf(escape, 8, "\\x%02x", c);
}

char *rp_text_escape(char *out, size_t out_size, const char *text, size_t length)
{
    size_t used = 0, safe = 0; /* up to `safe` there is room for "..." behind */

    while (length > 0) {
        char shown[8];
        size_t taken = 0, n = show_character(text, length, shown, &taken);
        if (used + 4 <= out_size)
            safe = used;
        if (used + n + 1 > out_size) {
            memcpy(out + safe, "...", 3);
            used = safe + 3;
            break;
        }
        memcpy(out + used, shown, n);
        used += n;
        text += taken;
        length -= taken;
    }
    out[used] = '\0';
    return out;
}

/* Eight bytes at a time: an ASCII character that is printed has its top bit neither itself, nor
 * once 0x20 is taken off or 1 is added. */
size_t rp_text_ordinary(const char *text, size_t length)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t at = 0;

    for (; at + 8 <= length; at += 8) {
        uint64_t eight;
        memcpy(&eight, text + at, 8);
        if ((eight | (eight - 0x20 * ones) | (eight + ones)) & 0x80 * ones)
            break;
    }
    while (at < length && text[at] >= 0x20 && text[at] < 0x7F)
        at++;
    return at;
}
