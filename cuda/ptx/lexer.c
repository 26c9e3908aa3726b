/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/ptx/internal.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rp_ptx_fail(struct rp_ptx_parser *parser, uint32_t line, uint32_t column,
                 const char *format, ...)
{
    parser->status = RP_INVALID;
    if (parser->message_size) {
        int used = snprintf(parser->message, parser->message_size, "%u:%u: ", line, column);
        if (used > 0 && (size_t)used < parser->message_size) {
            va_list args;
            va_start(args, format);
            vsnprintf(parser->message + used, parser->message_size - (size_t)used, format, args);
            va_end(args);
        }
    }
    longjmp(parser->failed, 1);
}

/* Names the token at hand; what is not printable is shown by its code. */
void rp_ptx_fail_here(struct rp_ptx_parser *parser, const char *expected)
{
    const struct rp_ptx_token *token = &parser->token;
    if (token->kind == RP_PTX_TOKEN_END)
        rp_ptx_fail(parser, token->line, token->column, "expected %s, found the end of the text",
                    expected);
    int shown = token->length < 40 ? (int)token->length : 40;
    rp_ptx_fail(parser, token->line, token->column, "expected %s, found '%.*s'", expected, shown,
                token->text);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$';
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void newline(struct rp_ptx_parser *parser)
{
    parser->line++;
    parser->line_start = parser->at + 1;
}

static void skip_line(struct rp_ptx_parser *parser)
{
    const char *end = memchr(parser->at, '\n', (size_t)(parser->end - parser->at));
    parser->at = end ? end : parser->end;
}

static void skip_comment(struct rp_ptx_parser *parser)
{
    uint32_t line = parser->line, column = (uint32_t)(parser->at - parser->line_start) + 1;
    for (parser->at += 2; parser->end - parser->at >= 2; parser->at++) {
        if (parser->at[0] == '*' && parser->at[1] == '/') {
            parser->at += 2;
            return;
        }
        if (*parser->at == '\n')
            newline(parser);
    }
    rp_ptx_fail(parser, line, column, "this comment has no end");
}

/* Blanks, both kinds of comment, lines of a preprocessor (#) and of old DWARF (@@). */
static void skip_blank(struct rp_ptx_parser *parser)
{
    while (parser->at < parser->end) {
        char c = *parser->at, next = parser->end - parser->at > 1 ? parser->at[1] : '\0';
        if (c == '\n')
            newline(parser), parser->at++;
        else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v')
            parser->at++;
        else if ((c == '/' && next == '/') || c == '#' || (c == '@' && next == '@'))
            skip_line(parser);
        else if (c == '/' && next == '*')
            skip_comment(parser);
        else
            return;
    }
}

static size_t word_length(const struct rp_ptx_parser *parser, const char *from)
{
    const char *at = from;
    while (at < parser->end && is_word(*at))
        at++;
    return (size_t)(at - from);
}

/* `.word`, and `.word::word` as in .shared::cta */
static void lex_directive(struct rp_ptx_parser *parser, struct rp_ptx_token *token)
{
    token->kind = RP_PTX_TOKEN_DIRECTIVE;
    const char *at = parser->at + 1;
    at += word_length(parser, at);
    while (parser->end - at > 2 && at[0] == ':' && at[1] == ':' && is_word(at[2]))
        at += 2 + word_length(parser, at + 2);
    parser->at = at;
}

/* 0fXXXXXXXX and 0dXXXXXXXXXXXXXXXX: exact bits. */
static bool lex_bits(struct rp_ptx_parser *parser, struct rp_ptx_token *token)
{
    size_t length = word_length(parser, parser->at);
    char letter = length > 1 && *parser->at == '0' ? (char)(parser->at[1] | 0x20) : '\0';
    if (letter != 'f' && letter != 'd')
        return false;
    if (length != (letter == 'f' ? 10u : 18u))
        rp_ptx_fail(parser, token->line, token->column, "0%c needs %d hexadecimal digits", letter,
                    letter == 'f' ? 8 : 16);
    for (size_t i = 2; i < length; i++) {
        int digit = hex_value(parser->at[i]);
        if (digit < 0)
            rp_ptx_fail(parser, token->line, token->column + (uint32_t)i,
                        "'%c' is not a hexadecimal digit", parser->at[i]);
        token->bits = token->bits << 4 | (unsigned)digit;
    }
    token->kind = RP_PTX_TOKEN_FLOAT;
    token->is_f32 = letter == 'f';
    parser->at += length;
    return true;
}

/* A decimal float: always read with a point, whatever the job's locale says. */
static bool lex_decimal(struct rp_ptx_parser *parser, struct rp_ptx_token *token)
{
    const char *at = parser->at;
    bool is_float = false;
    while (at < parser->end && is_digit(*at))
        at++;
    if (at < parser->end && *at == '.') {
        is_float = true;
        for (at++; at < parser->end && is_digit(*at);)
            at++;
    }
    if (parser->end - at > 1 && (*at | 0x20) == 'e' &&
        (is_digit(at[1]) || (parser->end - at > 2 && strchr("+-", at[1]) && is_digit(at[2])))) {
        is_float = true;
        for (at += 2; at < parser->end && is_digit(*at);)
            at++;
    }
    if (!is_float)
        return false;
    char copy[64];
    size_t length = (size_t)(at - parser->at);
    if (length >= sizeof(copy))
        rp_ptx_fail(parser, token->line, token->column, "this number is too long");
    memcpy(copy, parser->at, length);
    copy[length] = '\0';
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double value = strtod_l(copy, NULL, c_locale);
    freelocale(c_locale);
    memcpy(&token->bits, &value, sizeof(value));
    token->kind = RP_PTX_TOKEN_FLOAT;
    parser->at = at;
    return true;
}

static void lex_number(struct rp_ptx_parser *parser, struct rp_ptx_token *token)
{
    if (lex_bits(parser, token) || lex_decimal(parser, token))
        return;
    size_t length = word_length(parser, parser->at), i = 0;
    const char *text = parser->at;
    unsigned base = 10;
    if (length > 1 && text[0] == '0') {
        char letter = (char)(text[1] | 0x20);
        base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
        i = base == 8 ? 1 : 2;
    }
    token->kind = RP_PTX_TOKEN_INTEGER;
    if (length > i && (text[length - 1] | 0x20) == 'u') {
        token->is_unsigned = true;
        length--;
    }
    bool empty = i == length && base != 8;
    for (; i < length; i++) {
        int digit = hex_value(text[i]);
        if (digit < 0 || (unsigned)digit >= base)
            rp_ptx_fail(parser, token->line, token->column + (uint32_t)i,
                        "'%c' is not a digit of a number of base %u", text[i], base);
        if (token->bits > (UINT64_MAX - (unsigned)digit) / base)
            rp_ptx_fail(parser, token->line, token->column, "this number exceeds 64 bits");
        token->bits = token->bits * base + (unsigned)digit;
    }
    if (empty)
        rp_ptx_fail(parser, token->line, token->column, "this number has no digits");
    token->is_unsigned |= token->bits > INT64_MAX;
    parser->at += length + (token->is_unsigned && word_length(parser, text) > length);
}

static void lex_string(struct rp_ptx_parser *parser, struct rp_ptx_token *token)
{
    token->kind = RP_PTX_TOKEN_STRING;
    token->text = ++parser->at;
    while (parser->at < parser->end && *parser->at != '"' && *parser->at != '\n')
        parser->at += *parser->at == '\\' && parser->end - parser->at > 1 && parser->at[1] != '\n'
                          ? 2 : 1;
    if (parser->at >= parser->end || *parser->at != '"')
        rp_ptx_fail(parser, token->line, token->column, "this text has no closing quote");
    token->length = (size_t)(parser->at++ - token->text);
}

static void lex_punct(struct rp_ptx_parser *parser, struct rp_ptx_token *token)
{
    static const unsigned char doubled[][2] = {{'<', '<'}, {'>', '>'}, {'<', '='}, {'>', '='},
                                      {'=', '='}, {'!', '='}, {'&', '&'}, {'|', '|'}};
    unsigned char c = (unsigned char)*parser->at;
    if (c <= ' ' || c >= 0x7f)
        rp_ptx_fail(parser, token->line, token->column, "unexpected byte 0x%02x", c);
    token->kind = RP_PTX_TOKEN_PUNCT;
    parser->at++;
    for (size_t i = 0; i < sizeof(doubled) / sizeof(doubled[0]); i++)
        if (parser->at < parser->end && c == doubled[i][0] &&
            (unsigned char)*parser->at == doubled[i][1]) {
            parser->at++;
            return;
        }
}

void rp_ptx_next(struct rp_ptx_parser *parser)
{
    const char *before = parser->at;
    skip_blank(parser);
    struct rp_ptx_token *token = &parser->token;
    *token = (struct rp_ptx_token){.text = parser->at, .line = parser->line,
                                   .column = (uint32_t)(parser->at - parser->line_start) + 1,
                                   .glued = parser->at == before};
    if (parser->at == parser->end)
        return;
    char c = *parser->at, next = parser->end - parser->at > 1 ? parser->at[1] : '\0';
    if (is_digit(c)) {
        lex_number(parser, token);
    } else if (is_word(c) || (c == '%' && is_word(next) && !is_digit(next))) {
        token->kind = RP_PTX_TOKEN_IDENT;
        parser->at += 1 + word_length(parser, parser->at + 1);
    } else if (c == '.' && is_word(next)) {
        lex_directive(parser, token);
    } else if (c == '"') {
        lex_string(parser, token);
        return;
    } else {
        lex_punct(parser, token);
    }
    token->length = (size_t)(parser->at - token->text);
}

bool rp_ptx_is(const struct rp_ptx_parser *parser, const char *text)
{
    const struct rp_ptx_token *token = &parser->token;
    return token->kind != RP_PTX_TOKEN_STRING && token->kind != RP_PTX_TOKEN_END &&
           strlen(text) == token->length && !memcmp(token->text, text, token->length);
}

bool rp_ptx_accept(struct rp_ptx_parser *parser, const char *text)
{
    if (!rp_ptx_is(parser, text))
        return false;
    rp_ptx_next(parser);
    return true;
}

void rp_ptx_expect(struct rp_ptx_parser *parser, const char *text)
{
    if (rp_ptx_accept(parser, text))
        return;
    char quoted[32];
    snprintf(quoted, sizeof(quoted), "'%s'", text);
    rp_ptx_fail_here(parser, quoted);
}

struct rp_ptx_token rp_ptx_take(struct rp_ptx_parser *parser, enum rp_ptx_token_kind kind,
                                const char *what)
{
    if (parser->token.kind != kind)
        rp_ptx_fail_here(parser, what);
    struct rp_ptx_token token = parser->token;
    rp_ptx_next(parser);
    return token;
}
