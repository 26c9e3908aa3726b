/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/ptx/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What rp_ptx_parse hands out, with the memory that it lives in. */
struct module_box {
    struct rp_ptx_module module; /* first: rp_ptx_destroy gets its address */
    struct rp_ptx_arena arena;
};

static void parse_version(struct rp_ptx_parser *parser)
{
    struct rp_ptx_token token = parser->token;
    rp_ptx_take(parser, RP_PTX_TOKEN_FLOAT, "a version such as 8.0");
    int major = 0, minor = 0;
    size_t i = 0;
    for (; i < token.length && token.text[i] != '.' && major < 1000; i++)
        major = major * 10 + (token.text[i] - '0');
    for (i++; i < token.length && token.text[i] >= '0' && token.text[i] <= '9' && minor < 1000; i++)
        minor = minor * 10 + (token.text[i] - '0');
    parser->module->version_major = major;
    parser->module->version_minor = minor;
}

/* .target sm_90a, texmode_independent, debug */
static void parse_target(struct rp_ptx_parser *parser)
{
    struct rp_ptx_token token =
        rp_ptx_take(parser, RP_PTX_TOKEN_IDENT, "a target such as sm_80");
    parser->module->target = rp_ptx_intern(parser, token.text, token.length);
    for (size_t i = 0; i < token.length && parser->module->sm < 1000; i++)
        if (token.text[i] >= '0' && token.text[i] <= '9')
            parser->module->sm = parser->module->sm * 10 + (token.text[i] - '0');
    while (rp_ptx_accept(parser, ","))
        rp_ptx_take(parser, RP_PTX_TOKEN_IDENT, "a target option");
}

static void parse_header(struct rp_ptx_parser *parser)
{
    rp_ptx_expect(parser, ".version");
    parse_version(parser);
    rp_ptx_expect(parser, ".target");
    parse_target(parser);
    parser->module->address_size = 64;
    if (rp_ptx_accept(parser, ".address_size")) {
        struct rp_ptx_token at = parser->token;
        uint64_t bits = rp_ptx_integer(parser, 64, "an address size");
        if (bits != 64 && bits != 32)
            rp_ptx_fail(parser, at.line, at.column, "an address has 32 or 64 bits");
        parser->module->address_size = (int)bits;
    }
}

static struct rp_ptx_linkage parse_linkage(struct rp_ptx_parser *parser)
{
    struct rp_ptx_linkage linkage = {0};
    for (;;) {
        if (rp_ptx_accept(parser, ".extern"))
            linkage.is_extern = true;
        else if (rp_ptx_accept(parser, ".visible"))
            linkage.is_visible = true;
        else if (rp_ptx_accept(parser, ".weak") || rp_ptx_accept(parser, ".common"))
            linkage.is_weak = true;
        else
            return linkage;
    }
}

/* .alias f, g; where both are declared: calls of f are calls of an unknown body to us. */
static void skip_alias(struct rp_ptx_parser *parser)
{
    rp_ptx_take(parser, RP_PTX_TOKEN_IDENT, "a function name");
    rp_ptx_expect(parser, ",");
    rp_ptx_take(parser, RP_PTX_TOKEN_IDENT, "a function name");
    rp_ptx_expect(parser, ";");
}

static void parse_module(struct rp_ptx_parser *parser)
{
    rp_ptx_next(parser);
    parse_header(parser);
    while (parser->token.kind != RP_PTX_TOKEN_END) {
        if (rp_ptx_accept(parser, ".alias")) {
            skip_alias(parser);
            continue;
        }
        if (rp_ptx_skip_directive(parser) || rp_ptx_accept(parser, ";"))
            continue;
        struct rp_ptx_linkage linkage = parse_linkage(parser);
        if (rp_ptx_is(parser, ".entry") || rp_ptx_is(parser, ".func"))
            rp_ptx_function(parser, linkage);
        else if (parser->token.kind == RP_PTX_TOKEN_DIRECTIVE)
            rp_ptx_variables(parser, linkage);
        else
            rp_ptx_fail_here(parser, "a directive such as .entry");
    }
}

static void finish_module(struct rp_ptx_parser *parser)
{
    struct rp_ptx_module *module = parser->module;
    module->globals = rp_ptx_keep(parser, &parser->globals);
    module->global_count = parser->globals.count;
    module->functions = rp_ptx_keep(parser, &parser->functions);
    module->function_count = parser->functions.count;
    rp_ptx_settle_globals(module);
}

static void set_item_sizes(struct rp_ptx_parser *parser)
{
    parser->globals.item = parser->params.item = sizeof(struct rp_ptx_var);
    parser->regs.item = parser->returns.item = parser->locals.item = sizeof(struct rp_ptx_var);
    parser->functions.item = sizeof(struct rp_ptx_function);
    parser->code.item = sizeof(struct rp_ptx_instruction);
    parser->operands.item = sizeof(struct rp_ptx_operand);
    parser->lists.item = sizeof(struct rp_ptx_list);
    parser->pending.item = sizeof(struct rp_ptx_pending);
    parser->names.item = sizeof(struct rp_ptx_token);
    parser->initial.item = 1;
    parser->relocs.item = sizeof(struct rp_ptx_reloc);
    parser->symbols.entries.item = sizeof(struct rp_ptx_symbol);
}

static void release_scratch(struct rp_ptx_parser *parser)
{
    struct rp_ptx_vec *vecs[] = {
        &parser->interned, &parser->symbols.entries, &parser->globals, &parser->functions,
        &parser->code,     &parser->regs,            &parser->params,  &parser->returns,
        &parser->locals,   &parser->lists,           &parser->pending, &parser->names,
        &parser->operands, &parser->initial,         &parser->relocs};
    for (size_t i = 0; i < sizeof(vecs) / sizeof(vecs[0]); i++)
        rp_ptx_vec_release(vecs[i]);
    free(parser->symbols.buckets);
}

/* Everything that may jump back happens below this call, so that no local of the caller is
 * touched between setjmp and longjmp. */
static enum rp_status run(struct rp_ptx_parser *parser)
{
    if (setjmp(parser->failed))
        return parser->status;
    parse_module(parser);
    finish_module(parser);
    return RP_OK;
}

enum rp_status rp_ptx_parse(const char *text, size_t length, struct rp_ptx_module **out,
                            char *message, size_t message_size)
{
    *out = NULL;
    if (message_size)
        message[0] = '\0';
    while (length && !text[length - 1]) /* images often come with their terminating zeros */
        length--;
    struct module_box *box = calloc(1, sizeof(*box));
    struct rp_ptx_parser *parser = calloc(1, sizeof(*parser));
    enum rp_status status = RP_NO_MEMORY;
    if (box && parser) {
        parser->at = parser->line_start = text;
        parser->end = text + length;
        parser->line = 1;
        parser->module = &box->module;
        parser->message = message;
        parser->message_size = message_size;
        parser->arena.limit = (UINT64_C(256) << 20) + 128 * (uint64_t)length;
        set_item_sizes(parser);
        status = run(parser);
        release_scratch(parser);
        box->arena = parser->arena;
    }
    free(parser);
    if (status == RP_NO_MEMORY)
        snprintf(message, message_size, "%s", rp_status_text(status));
    if (status == RP_OK)
        *out = &box->module;
    else if (box)
        rp_ptx_destroy(&box->module);
    return status;
}

void rp_ptx_destroy(struct rp_ptx_module *module)
{
    if (!module)
        return;
    struct module_box *box = (struct module_box *)module;
    rp_ptx_arena_release(&box->arena);
    free(box);
}

const struct rp_ptx_function *rp_ptx_find(const struct rp_ptx_module *module, const char *name)
{
    for (size_t i = 0; i < module->function_count; i++)
        if (!strcmp(module->functions[i].name, name))
            return &module->functions[i];
    return NULL;
}

bool rp_ptx_has(const struct rp_ptx_instruction *instruction, const char *modifier)
{
    for (unsigned i = 0; i < instruction->modifier_count; i++)
        if (!strcmp(instruction->modifiers[i], modifier))
            return true;
    return false;
}
