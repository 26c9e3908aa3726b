/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/ptx/internal.h"

#include <string.h>

static void add_modifier(struct rp_ptx_parser *parser, struct rp_ptx_instruction *out,
                         const struct rp_ptx_token *token)
{
    const char *text = token->text + 1;
    size_t length = token->length - 1;
    if (out->modifier_count == RP_PTX_MAX_MODIFIERS)
        rp_ptx_fail(parser, token->line, token->column, "more than %d modifiers",
                    RP_PTX_MAX_MODIFIERS);
    out->modifiers[out->modifier_count++] = rp_ptx_intern(parser, text, length);
    enum rp_ptx_type type = rp_ptx_type_named(text, length);
    enum rp_ptx_space space = rp_ptx_space_named(text, length);
    if (type != RP_PTX_NONE && out->type_count < sizeof(out->type) / sizeof(out->type[0]))
        out->type[out->type_count++] = type;
    else if (space != RP_PTX_GENERIC && out->space == RP_PTX_GENERIC)
        out->space = space;
    else if (length == 2 && text[0] == 'v' && strchr("248", text[1]))
        out->vector = (uint8_t)(text[1] - '0');
}

static void parse_guard(struct rp_ptx_parser *parser, struct rp_ptx_instruction *out)
{
    out->guarded = true;
    out->guard_negated = rp_ptx_accept(parser, "!");
    struct rp_ptx_token name = rp_ptx_take(parser, RP_PTX_TOKEN_IDENT, "a predicate register");
    uint32_t count;
    if (!rp_ptx_lookup_reg(parser, name.text, name.length, &out->guard, &count))
        rp_ptx_fail(parser, name.line, name.column, "register '%.*s' is not declared",
                    (int)name.length, name.text);
    const struct rp_ptx_var *regs = parser->regs.items;
    if (regs[out->guard].type != RP_PTX_PRED)
        rp_ptx_fail(parser, name.line, name.column, "'%.*s' is not a predicate", (int)name.length,
                    name.text);
}

static void push_operand(struct rp_ptx_parser *parser, bool is_branch)
{
    struct rp_ptx_operand operand = {0};
    rp_ptx_operand(parser, &operand, is_branch);
    *(struct rp_ptx_operand *)rp_ptx_push(parser, &parser->operands) = operand;
}

/* The operands of a parenthesis, of which the opening one is taken. */
static void parse_call_list(struct rp_ptx_parser *parser)
{
    if (rp_ptx_accept(parser, ")"))
        return;
    do
        push_operand(parser, false);
    while (rp_ptx_accept(parser, ","));
    rp_ptx_expect(parser, ")");
}

/* call [(returns),] callee [, (arguments)] [, prototype] */
static void parse_call(struct rp_ptx_parser *parser, struct rp_ptx_instruction *out, size_t first)
{
    if (rp_ptx_accept(parser, "(")) {
        parse_call_list(parser);
        if (parser->operands.count - first > UINT8_MAX)
            rp_ptx_fail_here(parser, "at most 255 return values");
        out->returns = (uint8_t)(parser->operands.count - first);
        rp_ptx_expect(parser, ",");
    }
    push_operand(parser, false);
    if (!rp_ptx_accept(parser, ","))
        return;
    if (rp_ptx_accept(parser, "(")) {
        parse_call_list(parser);
        if (!rp_ptx_accept(parser, ","))
            return;
    }
    push_operand(parser, false);
}

static void parse_operands(struct rp_ptx_parser *parser, struct rp_ptx_instruction *out)
{
    size_t first = parser->operands.count;
    bool is_call = !strcmp(out->op, "call");
    struct rp_ptx_token at = parser->token;
    if (is_call)
        parse_call(parser, out, first);
    else if (!rp_ptx_is(parser, ";"))
        do
            push_operand(parser, !strcmp(out->op, "bra"));
        while (rp_ptx_accept(parser, ","));
    size_t count = parser->operands.count - first;
    if (count > (is_call ? UINT8_MAX : RP_PTX_MAX_OPERANDS))
        rp_ptx_fail(parser, at.line, at.column, "%s has too many operands", out->op);
    out->operand_count = (uint8_t)count;
    out->operands = rp_ptx_keep_operands(parser, first);
}

void rp_ptx_instruction(struct rp_ptx_parser *parser, const struct rp_ptx_token *op)
{
    struct rp_ptx_instruction out = {.vector = 1};
    struct rp_ptx_token name = op ? *op : parser->token;
    out.line = name.line;
    out.column = name.column;
    if (!op && rp_ptx_accept(parser, "@"))
        parse_guard(parser, &out);
    if (!op)
        name = rp_ptx_take(parser, RP_PTX_TOKEN_IDENT, "an instruction");
    if (name.text[0] == '%')
        rp_ptx_fail(parser, name.line, name.column, "expected an instruction, found '%.*s'",
                    (int)name.length, name.text);
    out.op = rp_ptx_intern(parser, name.text, name.length);
    while (parser->token.kind == RP_PTX_TOKEN_DIRECTIVE) {
        add_modifier(parser, &out, &parser->token);
        rp_ptx_next(parser);
    }
    parse_operands(parser, &out);
    rp_ptx_expect(parser, ";");
    *(struct rp_ptx_instruction *)rp_ptx_push(parser, &parser->code) = out;
}
