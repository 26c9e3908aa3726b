/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations: `.space [.align N] [.v2|.v4] .type name[<count>|[dims]] [= initialiser], ...;` */
#include "cuda/ptx/internal.h"

#include <string.h>

#define MAX_DIMS 8
#define MAX_ALIGN (1u << 20)
#define MAX_BYTES (UINT64_C(1) << 48) /* of one variable */

struct specifier {
    enum rp_ptx_space space, pointee;
    enum rp_ptx_type type;
    uint32_t align, vector;
    bool is_pointer;
};

static bool is_opaque(const struct rp_ptx_parser *parser)
{
    return rp_ptx_is(parser, ".texref") || rp_ptx_is(parser, ".samplerref") ||
           rp_ptx_is(parser, ".surfref");
}

static uint32_t parse_align(struct rp_ptx_parser *parser)
{
    struct rp_ptx_token token = parser->token;
    uint64_t align = rp_ptx_integer(parser, MAX_ALIGN, "an alignment");
    if (!align || (align & (align - 1)))
        rp_ptx_fail(parser, token.line, token.column, "an alignment must be a power of two");
    return (uint32_t)align;
}

/* `.ptr` is followed by what it points to: `.ptr .global .align 16`. */
static void parse_pointer(struct rp_ptx_parser *parser, struct specifier *spec)
{
    spec->is_pointer = true;
    enum rp_ptx_space space = rp_ptx_space_named(parser->token.text + 1,
                                                 parser->token.length ? parser->token.length - 1
                                                                      : 0);
    if (parser->token.kind == RP_PTX_TOKEN_DIRECTIVE && space != RP_PTX_GENERIC) {
        spec->pointee = space;
        rp_ptx_next(parser);
    }
    if (rp_ptx_accept(parser, ".align"))
        parse_align(parser);
}

static struct specifier parse_specifier(struct rp_ptx_parser *parser)
{
    struct specifier spec = {.vector = 1};
    struct rp_ptx_token space =
        rp_ptx_take(parser, RP_PTX_TOKEN_DIRECTIVE, "a state space such as .global");
    spec.space = rp_ptx_space_named(space.text + 1, space.length - 1);
    if (spec.space == RP_PTX_GENERIC && space.length == 4 && !memcmp(space.text, ".tex", 4))
        spec.space = RP_PTX_GLOBAL;
    if (spec.space == RP_PTX_GENERIC || spec.space == RP_PTX_SREG)
        rp_ptx_fail(parser, space.line, space.column, "'%.*s' is not a state space",
                    (int)space.length, space.text);
    while (parser->token.kind == RP_PTX_TOKEN_DIRECTIVE) {
        struct rp_ptx_token word = parser->token;
        enum rp_ptx_type type = rp_ptx_type_named(word.text + 1, word.length - 1);
        bool opaque = is_opaque(parser);
        if (spec.type != RP_PTX_NONE && (type != RP_PTX_NONE || opaque))
            rp_ptx_fail_here(parser, "a name, for it has a type");
        rp_ptx_next(parser);
        if (type != RP_PTX_NONE)
            spec.type = type;
        else if (opaque)
            spec.type = RP_PTX_B64; /* a handle */
        else if (word.length == 6 && !memcmp(word.text, ".align", 6))
            spec.align = parse_align(parser);
        else if (word.length == 3 && word.text[1] == 'v' && strchr("248", word.text[2]))
            spec.vector = (uint32_t)(word.text[2] - '0');
        else if (word.length == 4 && !memcmp(word.text, ".ptr", 4))
            parse_pointer(parser, &spec);
        else if (word.length == 10 && !memcmp(word.text, ".attribute", 10))
            rp_ptx_skip_attribute(parser);
        else
            rp_ptx_fail(parser, word.line, word.column, "'%.*s' is not a type", (int)word.length,
                        word.text);
    }
    if (spec.type == RP_PTX_NONE)
        rp_ptx_fail_here(parser, "a type such as .b32");
    return spec;
}

/* [2][3]; an empty first pair of brackets gives dims[0] == 0. */
static uint32_t parse_dims(struct rp_ptx_parser *parser, uint64_t dims[MAX_DIMS])
{
    uint32_t count = 0;
    while (rp_ptx_is(parser, "[")) {
        if (count == MAX_DIMS)
            rp_ptx_fail_here(parser, "at most 8 dimensions");
        rp_ptx_next(parser);
        dims[count] = 0;
        if (!rp_ptx_is(parser, "]"))
            dims[count] = rp_ptx_integer(parser, MAX_BYTES, "an array size");
        else if (count)
            rp_ptx_fail_here(parser, "the size of this dimension");
        count++;
        rp_ptx_expect(parser, "]");
    }
    return count;
}

static void size_variable(struct rp_ptx_parser *parser, const struct rp_ptx_token *name,
                          const struct specifier *spec, const uint64_t *dims, uint32_t dim_count,
                          struct rp_ptx_var *var)
{
    uint32_t element = rp_ptx_type_bytes(spec->type);
    var->space = spec->space;
    var->type = spec->type;
    var->elements = spec->vector;
    var->is_array = dim_count != 0;
    var->is_pointer = spec->is_pointer;
    var->pointee = spec->pointee;
    for (uint32_t i = 0; i < dim_count; i++)
        if (__builtin_mul_overflow(var->elements, dims[i], &var->elements))
            var->elements = UINT64_MAX;
    if (__builtin_mul_overflow(var->elements, (uint64_t)element, &var->bytes) ||
        var->bytes > MAX_BYTES)
        rp_ptx_fail(parser, name->line, name->column, "'%.*s' is too large", (int)name->length,
                    name->text);
    uint32_t natural = element ? element * spec->vector : 1;
    var->align = spec->align > natural ? spec->align : natural;
    if (spec->align && spec->align < natural && spec->align >= element)
        var->align = spec->align; /* a vector may be declared with less than its size */
}

static void push_registers(struct rp_ptx_parser *parser, const struct rp_ptx_token *name,
                           const struct specifier *spec, uint64_t count)
{
    if (count > RP_PTX_MAX_REGISTERS - parser->regs.count)
        rp_ptx_fail(parser, name->line, name->column, "more than %u registers",
                    RP_PTX_MAX_REGISTERS);
    for (uint64_t i = 0; i < count; i++) {
        struct rp_ptx_var *reg = rp_ptx_push(parser, &parser->regs);
        reg->space = RP_PTX_REG;
        reg->type = spec->type;
        reg->elements = 1;
        reg->bytes = rp_ptx_type_bytes(spec->type);
        reg->align = reg->bytes ? (uint32_t)reg->bytes : 1;
    }
}

static char *numbered(struct rp_ptx_parser *parser, const struct rp_ptx_token *name, uint64_t i)
{
    char digits[20];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + i % 10);
    while (i /= 10);
    char *text = rp_ptx_alloc(parser, (uint64_t)name->length + count + 1);
    memcpy(text, name->text, name->length);
    for (size_t at = name->length; count;)
        text[at++] = digits[--count];
    return text;
}

static char *component(struct rp_ptx_parser *parser, const struct rp_ptx_token *name, uint64_t i)
{
    char *text = rp_ptx_alloc(parser, (uint64_t)name->length + 3);
    memcpy(text, name->text, name->length);
    text[name->length] = '.';
    text[name->length + 1] = "xyzw4567"[i];
    return text;
}

static void declare_register(struct rp_ptx_parser *parser, const struct specifier *spec)
{
    struct rp_ptx_token name = rp_ptx_take(parser, RP_PTX_TOKEN_IDENT, "a register name");
    uint32_t first = (uint32_t)parser->regs.count;
    uint64_t count = spec->vector;
    bool is_range = rp_ptx_accept(parser, "<");
    if (is_range) {
        if (spec->vector > 1)
            rp_ptx_fail_here(parser, "no range of vector registers");
        /* no expression: '>' would be an operator of it */
        count = rp_ptx_take(parser, RP_PTX_TOKEN_INTEGER, "a register count").bits;
        rp_ptx_expect(parser, ">");
    }
    push_registers(parser, &name, spec, count);
    struct rp_ptx_var *regs = parser->regs.items;
    for (uint64_t i = 0; i < count; i++)
        regs[first + i].name = is_range  ? numbered(parser, &name, i)
                               : count > 1 ? component(parser, &name, i)
                                           : rp_ptx_intern(parser, name.text, name.length);
    rp_ptx_declare(parser, &name, is_range ? RP_PTX_SYMBOL_RANGE : RP_PTX_SYMBOL_REG, first,
                   (uint32_t)count);
}

static bool is_module_space(enum rp_ptx_space space, uint32_t depth)
{
    return space == RP_PTX_GLOBAL || space == RP_PTX_CONST || (!depth && space == RP_PTX_SHARED);
}

/* The slot for a global: that of an earlier declaration of the same name, if there is one.
 * What was said first is forgotten unless the new one is only `.extern`. */
static struct rp_ptx_var *global_slot(struct rp_ptx_parser *parser,
                                      const struct rp_ptx_token *name,
                                      struct rp_ptx_linkage linkage)
{
    const struct rp_ptx_symbol *old = rp_ptx_lookup(parser, name->text, name->length);
    struct rp_ptx_var *globals = parser->globals.items;
    if (old && old->kind == RP_PTX_SYMBOL_GLOBAL && !parser->depth &&
        (globals[old->index].is_extern || linkage.is_extern || linkage.is_weak))
        return &globals[old->index];
    rp_ptx_declare(parser, name, RP_PTX_SYMBOL_GLOBAL, (uint32_t)parser->globals.count, 1);
    return rp_ptx_push(parser, &parser->globals);
}

static void declare_global(struct rp_ptx_parser *parser, const struct specifier *spec,
                           struct rp_ptx_linkage linkage)
{
    struct rp_ptx_token name = rp_ptx_take(parser, RP_PTX_TOKEN_IDENT, "a variable name");
    uint64_t dims[MAX_DIMS];
    uint32_t dim_count = parse_dims(parser, dims);
    struct rp_ptx_var var = {.is_extern = linkage.is_extern,
                             .is_visible = linkage.is_visible || linkage.is_weak};
    size_variable(parser, &name, spec, dims, dim_count, &var);
    var.name = rp_ptx_intern(parser, name.text, name.length);
    if (rp_ptx_accept(parser, "="))
        rp_ptx_initialiser(parser, &var, dims, dim_count);
    struct rp_ptx_var *slot = global_slot(parser, &name, linkage);
    bool redeclared = slot->name && !slot->is_extern && linkage.is_extern;
    if (!redeclared)
        *slot = var;
}

static void declare_local(struct rp_ptx_parser *parser, const struct specifier *spec)
{
    struct rp_ptx_token name = rp_ptx_take(parser, RP_PTX_TOKEN_IDENT, "a variable name");
    uint64_t dims[MAX_DIMS];
    uint32_t dim_count = parse_dims(parser, dims);
    rp_ptx_declare(parser, &name, RP_PTX_SYMBOL_LOCAL, (uint32_t)parser->locals.count, 1);
    struct rp_ptx_var *var = rp_ptx_push(parser, &parser->locals);
    var->name = rp_ptx_intern(parser, name.text, name.length);
    size_variable(parser, &name, spec, dims, dim_count, var);
}

void rp_ptx_variables(struct rp_ptx_parser *parser, struct rp_ptx_linkage linkage)
{
    struct rp_ptx_token at = parser->token;
    struct specifier spec = parse_specifier(parser);
    bool is_global = is_module_space(spec.space, parser->depth);
    if (!parser->depth && !is_global)
        rp_ptx_fail(parser, at.line, at.column, "'%.*s' stands outside of a function",
                    (int)at.length, at.text);
    if (spec.type == RP_PTX_PRED && spec.space != RP_PTX_REG)
        rp_ptx_fail(parser, at.line, at.column, "only registers can be predicates");
    do {
        if (spec.space == RP_PTX_REG)
            declare_register(parser, &spec);
        else if (is_global)
            declare_global(parser, &spec, linkage);
        else
            declare_local(parser, &spec);
    } while (rp_ptx_accept(parser, ","));
    rp_ptx_expect(parser, ";");
}

void rp_ptx_parameter(struct rp_ptx_parser *parser, struct rp_ptx_vec *list,
                      enum rp_ptx_symbol_kind kind)
{
    struct rp_ptx_token at = parser->token;
    struct specifier spec = parse_specifier(parser);
    if (spec.space != RP_PTX_PARAM && spec.space != RP_PTX_REG)
        rp_ptx_fail(parser, at.line, at.column, "a parameter is .param or .reg, not '%.*s'",
                    (int)at.length, at.text);
    struct rp_ptx_token name = rp_ptx_take(parser, RP_PTX_TOKEN_IDENT, "a parameter name");
    uint64_t dims[MAX_DIMS];
    uint32_t dim_count = parse_dims(parser, dims);
    bool anonymous = name.length == 1 && name.text[0] == '_';
    if (spec.space == RP_PTX_REG) {
        if (!anonymous)
            rp_ptx_declare(parser, &name, RP_PTX_SYMBOL_REG, (uint32_t)parser->regs.count, 1);
        push_registers(parser, &name, &spec, 1);
        struct rp_ptx_var *regs = parser->regs.items;
        regs[parser->regs.count - 1].name = rp_ptx_intern(parser, name.text, name.length);
    } else if (!anonymous) {
        rp_ptx_declare(parser, &name, kind, (uint32_t)list->count, 1);
    }
    struct rp_ptx_var *var = rp_ptx_push(parser, list);
    var->name = rp_ptx_intern(parser, name.text, name.length);
    size_variable(parser, &name, &spec, dims, dim_count, var);
}
