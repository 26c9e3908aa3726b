/* SPDX-License-Identifier: Apache-2.0 */
/* Initialisers of module globals: numbers, nested braces, addresses of other variables. */
#include "cuda/ptx/internal.h"

#include <string.h>

struct initialiser {
    struct rp_ptx_parser *parser;
    struct rp_ptx_var *var;
    const uint64_t *dims;
    uint32_t dim_count;
    uint32_t element; /* bytes */
    bool open_ended;  /* `x[] = {...}`: its bytes grow in parser->initial */
};

/* Where the bytes of element `index` go; an open-ended array grows by it. */
static unsigned char *element_at(struct initialiser *in, uint64_t index,
                                 const struct rp_ptx_token *at)
{
    if (!in->open_ended) {
        if (index >= in->var->elements)
            rp_ptx_fail(in->parser, at->line, at->column, "more values than '%s' has elements",
                        in->var->name);
        return in->var->initial + index * in->element;
    }
    while (in->var->elements <= index) {
        if (in->var->elements * in->element >= RP_PTX_MAX_INITIAL)
            rp_ptx_fail(in->parser, at->line, at->column, "this initialiser is too large");
        for (uint32_t i = 0; i < in->element; i++)
            rp_ptx_push(in->parser, &in->parser->initial);
        in->var->elements++;
    }
    return (unsigned char *)in->parser->initial.items + index * in->element;
}

static bool same_symbol(const struct rp_ptx_reloc *reloc, const char *symbol, int64_t addend)
{
    return reloc->symbol == symbol && reloc->addend == addend;
}

/* An address spread over bytes, 0xFF(p), 0xFF00(p), ...: eight in a row make one entry. */
static void add_masked(struct initialiser *in, uint64_t offset, const struct rp_ptx_token *mask,
                       const struct rp_ptx_reloc *whole)
{
    unsigned byte = 0;
    while (byte < 8 && mask->bits != UINT64_C(0xff) << (byte * 8))
        byte++;
    const struct rp_ptx_vec *relocs = &in->parser->relocs;
    const struct rp_ptx_reloc *last =
        relocs->count ? (struct rp_ptx_reloc *)relocs->items + relocs->count - 1 : NULL;
    bool continues = last && byte && byte < 8 && last->offset + byte == offset &&
                     same_symbol(last, whole->symbol, whole->addend);
    if (in->element != 1 || byte == 8 || (byte && !continues))
        rp_ptx_fail(in->parser, mask->line, mask->column,
                    "only whole addresses, byte by byte from the lowest, are supported here");
    if (!byte)
        *(struct rp_ptx_reloc *)rp_ptx_push(in->parser, &in->parser->relocs) = *whole;
}

/* name, name+4, generic(name), generic(name)+4, 0xFF(generic(name)) */
static void parse_address(struct initialiser *in, uint64_t offset, const struct rp_ptx_token *mask)
{
    struct rp_ptx_parser *parser = in->parser;
    struct rp_ptx_reloc reloc = {.offset = offset, .generic = rp_ptx_accept(parser, "generic")};
    if (reloc.generic)
        rp_ptx_expect(parser, "(");
    struct rp_ptx_token name = rp_ptx_take(parser, RP_PTX_TOKEN_IDENT, "a name");
    reloc.symbol = rp_ptx_intern(parser, name.text, name.length);
    if (rp_ptx_is(parser, "+") || rp_ptx_is(parser, "-"))
        reloc.addend = (int64_t)rp_ptx_constant(parser).bits;
    if (reloc.generic)
        rp_ptx_expect(parser, ")");
    if (rp_ptx_is(parser, "+") || rp_ptx_is(parser, "-"))
        reloc.addend = (int64_t)((uint64_t)reloc.addend + rp_ptx_constant(parser).bits);
    if (mask) {
        rp_ptx_expect(parser, ")");
        add_masked(in, offset, mask, &reloc);
        return;
    }
    *(struct rp_ptx_reloc *)rp_ptx_push(parser, &in->parser->relocs) = reloc;
}

static bool accept_mask(struct rp_ptx_parser *parser, struct rp_ptx_token *mask)
{
    if (parser->token.kind != RP_PTX_TOKEN_INTEGER)
        return false;
    const char *at = parser->at; /* a mask is the only number that a parenthesis follows */
    while (at < parser->end && (*at == ' ' || *at == '\t'))
        at++;
    if (at == parser->end || *at != '(')
        return false;
    *mask = parser->token;
    rp_ptx_next(parser);
    rp_ptx_expect(parser, "(");
    return true;
}

static void parse_scalar(struct initialiser *in, uint64_t index)
{
    struct rp_ptx_parser *parser = in->parser;
    struct rp_ptx_token at = parser->token, mask;
    unsigned char *to = element_at(in, index, &at);
    if (accept_mask(parser, &mask)) {
        parse_address(in, index * in->element, &mask);
    } else if (at.kind == RP_PTX_TOKEN_IDENT && !rp_ptx_starts_constant(parser)) {
        if (in->element != 8)
            rp_ptx_fail_here(parser, "a number: an address needs 8 bytes");
        parse_address(in, index * in->element, NULL);
    } else {
        uint64_t bits = rp_ptx_constant_as(rp_ptx_constant(parser), in->var->type);
        memcpy(to, &bits, in->element < 8 ? in->element : 8);
    }
}

/* Elements in one value of dimension `dim`. */
static uint64_t stride(const struct initialiser *in, uint32_t dim)
{
    uint64_t elements = 1;
    for (uint32_t i = dim + 1; i < in->dim_count; i++)
        elements *= in->dims[i];
    return elements;
}

static void parse_braces(struct initialiser *in, uint64_t first, uint32_t dim)
{
    struct rp_ptx_parser *parser = in->parser;
    if (dim > RP_PTX_MAX_DEPTH)
        rp_ptx_fail_here(parser, "fewer braces");
    rp_ptx_expect(parser, "{");
    for (uint64_t at = first; !rp_ptx_is(parser, "}");) {
        if (rp_ptx_is(parser, "{")) {
            struct rp_ptx_token token = parser->token;
            element_at(in, at, &token);
            parse_braces(in, at, dim + 1);
            at += dim < in->dim_count ? stride(in, dim) : 1;
        } else {
            parse_scalar(in, at++);
        }
        if (!rp_ptx_accept(parser, ","))
            break;
    }
    rp_ptx_expect(parser, "}");
}

void rp_ptx_initialiser(struct rp_ptx_parser *parser, struct rp_ptx_var *var,
                        const uint64_t *dims, uint32_t dim_count)
{
    struct initialiser in = {.parser = parser, .var = var, .dims = dims, .dim_count = dim_count,
                             .element = rp_ptx_type_bytes(var->type),
                             .open_ended = dim_count && !dims[0]};
    if (var->bytes > RP_PTX_MAX_INITIAL)
        rp_ptx_fail_here(parser, "no initialiser for a variable this large");
    parser->initial.count = parser->relocs.count = 0;
    if (!in.open_ended)
        var->initial = rp_ptx_alloc(parser, var->bytes ? var->bytes : 1);
    if (rp_ptx_is(parser, "{"))
        parse_braces(&in, 0, 0);
    else
        parse_scalar(&in, 0);
    if (in.open_ended) {
        var->bytes = var->elements * in.element;
        var->initial = rp_ptx_keep(parser, &parser->initial);
    }
    var->relocs = rp_ptx_keep(parser, &parser->relocs);
    var->reloc_count = parser->relocs.count;
}
