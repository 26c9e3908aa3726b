/* SPDX-License-Identifier: Apache-2.0 */
/* Directives that are skipped or only noted. */
#include "cuda/ptx/internal.h"

static void skip_integers(struct rp_ptx_parser *parser, unsigned count)
{
    while (count--)
        rp_ptx_take(parser, RP_PTX_TOKEN_INTEGER, "a number");
}

/* .loc 1 23 5 [, function_name $L [+ 4], inlined_at 1 20 1] */
static void skip_loc(struct rp_ptx_parser *parser)
{
    skip_integers(parser, 3);
    while (rp_ptx_accept(parser, ",")) {
        if (rp_ptx_accept(parser, "inlined_at")) {
            skip_integers(parser, 3);
            continue;
        }
        rp_ptx_expect(parser, "function_name");
        rp_ptx_take(parser, RP_PTX_TOKEN_IDENT, "a name");
        if (rp_ptx_accept(parser, "+"))
            skip_integers(parser, 1);
    }
}

/* .file 1 "name" [, time, size] */
static void skip_file(struct rp_ptx_parser *parser)
{
    skip_integers(parser, 1);
    rp_ptx_take(parser, RP_PTX_TOKEN_STRING, "a file name");
    while (rp_ptx_accept(parser, ","))
        skip_integers(parser, 1);
}

/* .section .debug_info { ... } */
static void skip_section(struct rp_ptx_parser *parser)
{
    rp_ptx_take(parser, RP_PTX_TOKEN_DIRECTIVE, "a section name");
    rp_ptx_expect(parser, "{");
    for (unsigned depth = 1; depth; rp_ptx_next(parser)) {
        if (parser->token.kind == RP_PTX_TOKEN_END)
            rp_ptx_fail_here(parser, "'}'");
        depth += rp_ptx_is(parser, "{");
        depth -= rp_ptx_is(parser, "}");
    }
}

static void skip_pragma(struct rp_ptx_parser *parser)
{
    do
        rp_ptx_take(parser, RP_PTX_TOKEN_STRING, "a text");
    while (rp_ptx_accept(parser, ","));
    rp_ptx_expect(parser, ";");
}

bool rp_ptx_skip_directive(struct rp_ptx_parser *parser)
{
    if (rp_ptx_accept(parser, ".loc"))
        skip_loc(parser);
    else if (rp_ptx_accept(parser, ".file"))
        skip_file(parser);
    else if (rp_ptx_accept(parser, ".section"))
        skip_section(parser);
    else if (rp_ptx_accept(parser, ".pragma"))
        skip_pragma(parser);
    else
        return false;
    return true;
}

/* .attribute(.managed, .unified(1, 2)): the word is taken. */
void rp_ptx_skip_attribute(struct rp_ptx_parser *parser)
{
    rp_ptx_expect(parser, "(");
    for (unsigned depth = 1; depth; rp_ptx_next(parser)) {
        if (parser->token.kind == RP_PTX_TOKEN_END || rp_ptx_is(parser, ";"))
            rp_ptx_fail_here(parser, "')'");
        depth += rp_ptx_is(parser, "(");
        depth -= rp_ptx_is(parser, ")");
    }
}

/* A prototype is kept as it is written. */
static void take_prototype(struct rp_ptx_parser *parser, struct rp_ptx_list *list)
{
    const char *from = parser->token.text, *to = from;
    for (; !rp_ptx_is(parser, ";"); rp_ptx_next(parser)) {
        if (parser->token.kind == RP_PTX_TOKEN_END || rp_ptx_is(parser, "}"))
            rp_ptx_fail_here(parser, "';'");
        to = parser->token.text + parser->token.length;
    }
    list->items = rp_ptx_alloc(parser, sizeof(*list->items));
    list->items[0] = rp_ptx_intern(parser, from, (size_t)(to - from));
    list->item_count = 1;
}

/* Names of labels (their indices come with the end of the function) or of functions. */
static void take_names(struct rp_ptx_parser *parser, struct rp_ptx_list *list, bool labels)
{
    parser->names.count = 0;
    do {
        struct rp_ptx_token name = rp_ptx_take(parser, RP_PTX_TOKEN_IDENT, "a name");
        *(struct rp_ptx_token *)rp_ptx_push(parser, &parser->names) = name;
    } while (rp_ptx_accept(parser, ","));
    const struct rp_ptx_token *names = parser->names.items;
    list->item_count = parser->names.count;
    list->items = rp_ptx_alloc(parser, list->item_count * sizeof(*list->items));
    if (labels)
        list->targets = rp_ptx_alloc(parser, list->item_count * sizeof(*list->targets));
    for (size_t i = 0; i < list->item_count; i++) {
        list->items[i] = rp_ptx_intern(parser, names[i].text, names[i].length);
        if (labels)
            list->targets[i] = rp_ptx_refer_later(parser, &names[i], true);
    }
}

/* name: .branchtargets a, b;  The name and its colon are taken. */
void rp_ptx_list(struct rp_ptx_parser *parser, const struct rp_ptx_token *name)
{
    struct rp_ptx_token kind = parser->token;
    struct rp_ptx_list list = {.name = rp_ptx_intern(parser, name->text, name->length),
                               .kind = rp_ptx_intern(parser, kind.text + 1, kind.length - 1)};
    if (rp_ptx_accept(parser, ".callprototype"))
        take_prototype(parser, &list);
    else if (rp_ptx_accept(parser, ".branchtargets"))
        take_names(parser, &list, true);
    else if (rp_ptx_accept(parser, ".calltargets"))
        take_names(parser, &list, false);
    else
        rp_ptx_fail_here(parser, "an instruction");
    rp_ptx_expect(parser, ";");
    rp_ptx_declare(parser, name, RP_PTX_SYMBOL_LIST, (uint32_t)parser->lists.count, 1);
    *(struct rp_ptx_list *)rp_ptx_push(parser, &parser->lists) = list;
}
