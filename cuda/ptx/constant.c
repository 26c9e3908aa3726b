/* SPDX-License-Identifier: Apache-2.0 */
/* Constant expressions: 64-bit integers with C's operators; floats only stand alone or with
 * a sign. */
#include "cuda/ptx/internal.h"

#include <string.h>

static struct rp_ptx_constant parse_ternary(struct rp_ptx_parser *parser, unsigned depth);

bool rp_ptx_starts_constant(const struct rp_ptx_parser *parser)
{
    const struct rp_ptx_token *token = &parser->token;
    if (token->kind == RP_PTX_TOKEN_INTEGER || token->kind == RP_PTX_TOKEN_FLOAT)
        return true;
    if (token->kind == RP_PTX_TOKEN_PUNCT)
        return token->length == 1 && strchr("-+~!(", token->text[0]);
    return rp_ptx_is(parser, "WARP_SZ");
}

static struct rp_ptx_constant integer(uint64_t bits, bool is_unsigned)
{
    return (struct rp_ptx_constant){.bits = bits, .is_unsigned = is_unsigned};
}

static void check_depth(struct rp_ptx_parser *parser, unsigned depth)
{
    if (depth > RP_PTX_MAX_DEPTH)
        rp_ptx_fail(parser, parser->token.line, parser->token.column,
                    "this expression is nested deeper than %d", RP_PTX_MAX_DEPTH);
}

static struct rp_ptx_constant parse_primary(struct rp_ptx_parser *parser)
{
    struct rp_ptx_token token = parser->token;
    if (token.kind == RP_PTX_TOKEN_INTEGER) {
        rp_ptx_next(parser);
        return integer(token.bits, token.is_unsigned);
    }
    if (token.kind == RP_PTX_TOKEN_FLOAT) {
        rp_ptx_next(parser);
        return (struct rp_ptx_constant){.bits = token.bits, .is_float = true,
                                        .is_f32 = token.is_f32};
    }
    if (rp_ptx_accept(parser, "WARP_SZ"))
        return integer(32, false);
    rp_ptx_fail_here(parser, "a number");
}

static struct rp_ptx_constant negate(struct rp_ptx_constant value)
{
    if (value.is_float)
        value.bits ^= value.is_f32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
    else
        value.bits = -value.bits;
    return value;
}

static struct rp_ptx_constant parse_unary(struct rp_ptx_parser *parser, unsigned depth)
{
    check_depth(parser, depth);
    if (rp_ptx_accept(parser, "-"))
        return negate(parse_unary(parser, depth + 1));
    if (rp_ptx_accept(parser, "+"))
        return parse_unary(parser, depth + 1);
    if (rp_ptx_accept(parser, "~")) {
        struct rp_ptx_constant value = parse_unary(parser, depth + 1);
        return integer(~value.bits, value.is_unsigned);
    }
    if (rp_ptx_accept(parser, "!"))
        return integer(!parse_unary(parser, depth + 1).bits, false);
    if (!rp_ptx_accept(parser, "("))
        return parse_primary(parser);
    bool to_signed = rp_ptx_accept(parser, ".s64");
    if (to_signed || rp_ptx_accept(parser, ".u64")) {
        rp_ptx_expect(parser, ")");
        return integer(parse_unary(parser, depth + 1).bits, !to_signed);
    }
    struct rp_ptx_constant value = parse_ternary(parser, depth + 1);
    rp_ptx_expect(parser, ")");
    return value;
}

static int precedence(const struct rp_ptx_token *token)
{
    static const struct {
        char name[3];
        int level;
    } operators[] = {{"||", 1}, {"&&", 2}, {"|", 3},  {"^", 4},  {"&", 5},  {"==", 6}, {"!=", 6},
                     {"<", 7},  {">", 7},  {"<=", 7}, {">=", 7}, {"<<", 8}, {">>", 8}, {"+", 9},
                     {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10}};
    if (token->kind != RP_PTX_TOKEN_PUNCT)
        return 0;
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
        if (strlen(operators[i].name) == token->length &&
            !memcmp(operators[i].name, token->text, token->length))
            return operators[i].level;
    return 0;
}

static struct rp_ptx_constant divide(struct rp_ptx_parser *parser, struct rp_ptx_constant a,
                                     struct rp_ptx_constant b, const struct rp_ptx_token *op)
{
    if (!b.bits)
        rp_ptx_fail(parser, op->line, op->column, "division by zero");
    bool remainder = op->text[0] == '%', is_unsigned = a.is_unsigned || b.is_unsigned;
    if (is_unsigned)
        return integer(remainder ? a.bits % b.bits : a.bits / b.bits, true);
    if (b.bits == UINT64_MAX) /* -1: INT64_MIN / -1 has no answer in C */
        return integer(remainder ? 0 : -a.bits, false);
    int64_t x = (int64_t)a.bits, y = (int64_t)b.bits;
    return integer((uint64_t)(remainder ? x % y : x / y), false);
}

static struct rp_ptx_constant shift(struct rp_ptx_constant a, uint64_t by, bool left)
{
    bool negative = !a.is_unsigned && (int64_t)a.bits < 0;
    if (by >= 64)
        return integer(left || !negative ? 0 : UINT64_MAX, a.is_unsigned);
    if (left)
        return integer(a.bits << by, a.is_unsigned);
    return integer(negative ? ~(~a.bits >> by) : a.bits >> by, a.is_unsigned);
}

static bool less(struct rp_ptx_constant a, struct rp_ptx_constant b)
{
    return a.is_unsigned || b.is_unsigned ? a.bits < b.bits : (int64_t)a.bits < (int64_t)b.bits;
}

static struct rp_ptx_constant apply(struct rp_ptx_parser *parser, struct rp_ptx_constant a,
                                    struct rp_ptx_constant b, const struct rp_ptx_token *op)
{
    if (a.is_float || b.is_float)
        rp_ptx_fail(parser, op->line, op->column, "arithmetic on floats is not supported here");
    bool is_unsigned = a.is_unsigned || b.is_unsigned;
    char first = op->text[0], second = op->length > 1 ? op->text[1] : '\0';
    switch (first) {
    case '+': return integer(a.bits + b.bits, is_unsigned);
    case '-': return integer(a.bits - b.bits, is_unsigned);
    case '*': return integer(a.bits * b.bits, is_unsigned);
    case '/':
    case '%': return divide(parser, a, b, op);
    case '^': return integer(a.bits ^ b.bits, is_unsigned);
    case '&': return second ? integer(a.bits && b.bits, false)
                            : integer(a.bits & b.bits, is_unsigned);
    case '|': return second ? integer(a.bits || b.bits, false)
                            : integer(a.bits | b.bits, is_unsigned);
    case '=': return integer(a.bits == b.bits, false);
    case '!': return integer(a.bits != b.bits, false);
    case '<':
        if (second == '<')
            return shift(a, b.bits, true);
        return integer(second ? !less(b, a) : less(a, b), false);
    default:
        if (second == '>')
            return shift(a, b.bits, false);
        return integer(second ? !less(a, b) : less(b, a), false);
    }
}

static struct rp_ptx_constant parse_binary(struct rp_ptx_parser *parser, int least, unsigned depth)
{
    struct rp_ptx_constant left = parse_unary(parser, depth + 1);
    for (int level; (level = precedence(&parser->token)) >= least;) {
        struct rp_ptx_token op = parser->token;
        rp_ptx_next(parser);
        left = apply(parser, left, parse_binary(parser, level + 1, depth + 1), &op);
    }
    return left;
}

static struct rp_ptx_constant parse_ternary(struct rp_ptx_parser *parser, unsigned depth)
{
    check_depth(parser, depth);
    struct rp_ptx_constant value = parse_binary(parser, 1, depth);
    if (!rp_ptx_accept(parser, "?"))
        return value;
    struct rp_ptx_constant yes = parse_ternary(parser, depth + 1);
    rp_ptx_expect(parser, ":");
    struct rp_ptx_constant no = parse_ternary(parser, depth + 1);
    return value.bits ? yes : no;
}

struct rp_ptx_constant rp_ptx_constant(struct rp_ptx_parser *parser)
{
    return parse_ternary(parser, 0);
}

uint64_t rp_ptx_integer(struct rp_ptx_parser *parser, uint64_t max, const char *what)
{
    struct rp_ptx_token token = parser->token;
    struct rp_ptx_constant value = rp_ptx_constant(parser);
    if (value.is_float || value.bits > max)
        rp_ptx_fail(parser, token.line, token.column, "%s must be an integer from 0 to %llu", what,
                    (unsigned long long)max);
    return value.bits;
}

static double as_double(struct rp_ptx_constant value)
{
    double wide;
    float narrow;
    if (!value.is_float)
        return value.is_unsigned ? (double)value.bits : (double)(int64_t)value.bits;
    if (value.is_f32) {
        uint32_t bits = (uint32_t)value.bits;
        memcpy(&narrow, &bits, sizeof(narrow));
        return (double)narrow;
    }
    memcpy(&wide, &value.bits, sizeof(wide));
    return wide;
}

uint64_t rp_ptx_constant_as(struct rp_ptx_constant value, enum rp_ptx_type type)
{
    bool exact = value.is_float && value.is_f32 == (type == RP_PTX_F32);
    if ((type != RP_PTX_F32 && type != RP_PTX_F64) || exact)
        return value.bits;
    double wide = as_double(value);
    uint64_t bits = 0;
    if (type == RP_PTX_F64) {
        memcpy(&bits, &wide, sizeof(wide));
        return bits;
    }
    float narrow = (float)wide;
    memcpy(&bits, &narrow, sizeof(narrow)); /* little-endian, like every device and host here */
    return bits;
}
