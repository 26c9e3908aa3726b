/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/ptx/internal.h"

#include <string.h>

static void parse_parameters(struct rp_ptx_parser *parser, struct rp_ptx_vec *list,
                             enum rp_ptx_symbol_kind kind)
{
    if (!rp_ptx_accept(parser, "(") || rp_ptx_accept(parser, ")"))
        return;
    do
        rp_ptx_parameter(parser, list, kind);
    while (rp_ptx_accept(parser, ","));
    rp_ptx_expect(parser, ")");
}

/* .maxntid 16, 16: dimensions that are left out are 1. */
static void parse_threads(struct rp_ptx_parser *parser, uint32_t threads[3])
{
    threads[0] = threads[1] = threads[2] = 1;
    for (int i = 0; i < 3; i++) {
        threads[i] = (uint32_t)rp_ptx_integer(parser, UINT32_MAX, "a number of threads");
        if (!rp_ptx_accept(parser, ","))
            return;
    }
}

/* Between the parameters and the body stand directives on performance and linkage. Those that
 * are new to us are skipped with their numbers: none of them changes what a kernel does. */
static void parse_attributes(struct rp_ptx_parser *parser, struct rp_ptx_function *function)
{
    while (parser->token.kind == RP_PTX_TOKEN_DIRECTIVE) {
        if (rp_ptx_accept(parser, ".maxntid"))
            parse_threads(parser, function->maxntid);
        else if (rp_ptx_accept(parser, ".reqntid"))
            parse_threads(parser, function->reqntid);
        else if (rp_ptx_accept(parser, ".attribute"))
            rp_ptx_skip_attribute(parser);
        else if (!rp_ptx_skip_directive(parser))
            do
                rp_ptx_next(parser);
            while (parser->token.kind == RP_PTX_TOKEN_INTEGER || rp_ptx_is(parser, ","));
    }
}

static void parse_label(struct rp_ptx_parser *parser, const struct rp_ptx_token *name)
{
    if (rp_ptx_is(parser, ".branchtargets") || rp_ptx_is(parser, ".calltargets") ||
        rp_ptx_is(parser, ".callprototype"))
        rp_ptx_list(parser, name);
    else
        rp_ptx_declare(parser, name, RP_PTX_SYMBOL_LABEL, (uint32_t)parser->code.count, 1);
}

static void parse_statement(struct rp_ptx_parser *parser)
{
    if (parser->token.kind == RP_PTX_TOKEN_DIRECTIVE) {
        if (!rp_ptx_skip_directive(parser))
            rp_ptx_variables(parser, (struct rp_ptx_linkage){0});
    } else if (rp_ptx_is(parser, "@")) {
        rp_ptx_instruction(parser, NULL);
    } else {
        struct rp_ptx_token name = rp_ptx_take(parser, RP_PTX_TOKEN_IDENT, "an instruction");
        if (rp_ptx_accept(parser, ":"))
            parse_label(parser, &name);
        else
            rp_ptx_instruction(parser, &name);
    }
}

/* From the opening brace to the closing one, which also ends the function's own scope. */
static void parse_body(struct rp_ptx_parser *parser)
{
    rp_ptx_expect(parser, "{");
    while (!rp_ptx_is(parser, "}") || parser->depth > 1) {
        if (rp_ptx_accept(parser, "{"))
            rp_ptx_scope_enter(parser);
        else if (rp_ptx_is(parser, "}"))
            rp_ptx_scope_leave(parser), rp_ptx_next(parser);
        else if (!rp_ptx_accept(parser, ";"))
            parse_statement(parser);
    }
    rp_ptx_scope_leave(parser);
    rp_ptx_next(parser);
}

/* Offsets in the parameter block of an entry: each at its alignment, as in a C struct. */
static void lay_out(struct rp_ptx_parser *parser, struct rp_ptx_function *function)
{
    uint64_t at = 0;
    for (size_t i = 0; i < function->param_count; i++) {
        struct rp_ptx_var *param = &function->params[i];
        at = (at + param->align - 1) & ~(uint64_t)(param->align - 1);
        param->offset = at;
        if (param->space != RP_PTX_PARAM || param->bytes > UINT32_MAX - at)
            rp_ptx_fail(parser, function->line, 1, "'%s' cannot have parameter '%s'",
                        function->name, param->name);
        at += param->bytes;
    }
    function->param_bytes = at;
}

static void start_function(struct rp_ptx_parser *parser)
{
    struct rp_ptx_vec *vecs[] = {&parser->code,  &parser->regs,    &parser->params,
                                 &parser->lists, &parser->returns, &parser->locals,
                                 &parser->pending};
    for (size_t i = 0; i < sizeof(vecs) / sizeof(vecs[0]); i++)
        vecs[i]->count = 0;
    rp_ptx_scope_enter(parser);
}

static void finish_function(struct rp_ptx_parser *parser, struct rp_ptx_function *function)
{
    function->params = rp_ptx_keep(parser, &parser->params);
    function->param_count = parser->params.count;
    function->returns = rp_ptx_keep(parser, &parser->returns);
    function->return_count = parser->returns.count;
    function->regs = rp_ptx_keep(parser, &parser->regs);
    function->reg_count = parser->regs.count;
    function->locals = rp_ptx_keep(parser, &parser->locals);
    function->local_count = parser->locals.count;
    function->code = rp_ptx_keep(parser, &parser->code);
    function->code_count = parser->code.count;
    function->lists = rp_ptx_keep(parser, &parser->lists);
    function->list_count = parser->lists.count;
    rp_ptx_settle_locals(parser, function);
    if (function->is_entry)
        lay_out(parser, function);
}

/* The slot for `name` among the module's functions: an earlier declaration's, or a new one. */
static uint32_t find_slot(struct rp_ptx_parser *parser, const struct rp_ptx_token *name)
{
    const struct rp_ptx_symbol *old = rp_ptx_lookup(parser, name->text, name->length);
    if (old && old->kind == RP_PTX_SYMBOL_FUNCTION)
        return old->index;
    return (uint32_t)parser->functions.count;
}

static void store_function(struct rp_ptx_parser *parser, const struct rp_ptx_token *name,
                           uint32_t slot, const struct rp_ptx_function *function)
{
    if (slot == parser->functions.count) {
        rp_ptx_declare(parser, name, RP_PTX_SYMBOL_FUNCTION, slot, 1);
        rp_ptx_push(parser, &parser->functions);
    }
    struct rp_ptx_function *known = (struct rp_ptx_function *)parser->functions.items + slot;
    if (known->is_defined && function->is_defined)
        rp_ptx_fail(parser, name->line, name->column, "'%s' is defined twice", function->name);
    if (!known->is_defined)
        *known = *function;
}

void rp_ptx_function(struct rp_ptx_parser *parser, struct rp_ptx_linkage linkage)
{
    struct rp_ptx_function function = {.is_entry = rp_ptx_is(parser, ".entry"),
                                       .is_extern = linkage.is_extern,
                                       .is_visible = linkage.is_visible,
                                       .is_weak = linkage.is_weak,
                                       .line = parser->token.line};
    rp_ptx_next(parser);
    start_function(parser);
    if (rp_ptx_accept(parser, ".attribute"))
        rp_ptx_skip_attribute(parser);
    if (!function.is_entry)
        parse_parameters(parser, &parser->returns, RP_PTX_SYMBOL_RETURN);
    struct rp_ptx_token name = rp_ptx_take(parser, RP_PTX_TOKEN_IDENT, "a function name");
    function.name = rp_ptx_intern(parser, name.text, name.length);
    uint32_t slot = find_slot(parser, &name);
    rp_ptx_declare(parser, &name, RP_PTX_SYMBOL_FUNCTION, slot, 1); /* it may call itself */
    parse_parameters(parser, &parser->params, RP_PTX_SYMBOL_PARAM);
    parse_attributes(parser, &function);
    if (rp_ptx_is(parser, "{")) {
        function.is_defined = true;
        parse_body(parser);
    } else {
        rp_ptx_scope_leave(parser);
        rp_ptx_expect(parser, ";");
    }
    finish_function(parser, &function);
    store_function(parser, &name, slot, &function);
}
