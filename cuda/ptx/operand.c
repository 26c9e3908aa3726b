/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/ptx/internal.h"

#include <string.h>

static void parse_operand(struct rp_ptx_parser *parser, struct rp_ptx_operand *out, bool is_branch,
                          unsigned depth);

struct rp_ptx_operand *rp_ptx_keep_operands(struct rp_ptx_parser *parser, size_t first)
{
    const struct rp_ptx_operand *stack = parser->operands.items;
    size_t bytes = (parser->operands.count - first) * sizeof(*stack);
    if (!bytes)
        return NULL;
    struct rp_ptx_operand *kept = rp_ptx_alloc(parser, bytes);
    memcpy(kept, stack + first, bytes);
    parser->operands.count = first;
    return kept;
}

/* A comma list up to `close`, into out->items. */
static void parse_items(struct rp_ptx_parser *parser, struct rp_ptx_operand *out,
                        const char *close, unsigned depth)
{
    size_t first = parser->operands.count;
    do {
        struct rp_ptx_operand item = {0};
        parse_operand(parser, &item, false, depth + 1);
        *(struct rp_ptx_operand *)rp_ptx_push(parser, &parser->operands) = item;
    } while (rp_ptx_accept(parser, ","));
    rp_ptx_expect(parser, close);
    out->item_count = (uint32_t)(parser->operands.count - first);
    out->items = rp_ptx_keep_operands(parser, first);
}

static void make_constant(struct rp_ptx_parser *parser, struct rp_ptx_operand *out)
{
    struct rp_ptx_constant value = rp_ptx_constant(parser);
    out->kind = RP_PTX_OPERAND_IMM;
    out->imm = (int64_t)value.bits;
    out->is_float = value.is_float;
    out->is_f32 = value.is_f32;
}

/* A name with the component that is glued to it: %tid.x, %v.y */
static struct rp_ptx_token take_name(struct rp_ptx_parser *parser)
{
    struct rp_ptx_token name = rp_ptx_take(parser, RP_PTX_TOKEN_IDENT, "an operand");
    const struct rp_ptx_token *dot = &parser->token;
    if (dot->kind == RP_PTX_TOKEN_DIRECTIVE && dot->glued && dot->length == 2 &&
        strchr("xyzwrgba", dot->text[1])) {
        name.length += 2;
        rp_ptx_next(parser);
    }
    return name;
}

static void make_vector(struct rp_ptx_parser *parser, struct rp_ptx_operand *out, uint32_t reg,
                        uint32_t count)
{
    out->kind = RP_PTX_OPERAND_VECTOR;
    out->item_count = count;
    out->items = rp_ptx_alloc(parser, count * sizeof(*out->items));
    for (uint32_t i = 0; i < count; i++)
        out->items[i] = (struct rp_ptx_operand){.kind = RP_PTX_OPERAND_REG, .reg = reg + i};
}

static bool make_register(struct rp_ptx_parser *parser, const struct rp_ptx_token *name,
                          struct rp_ptx_operand *out)
{
    uint32_t reg, count;
    if (rp_ptx_lookup_reg(parser, name->text, name->length, &reg, &count)) {
        out->kind = RP_PTX_OPERAND_REG;
        out->reg = reg;
        if (count > 1)
            make_vector(parser, out, reg, count);
        return true;
    }
    if (name->length < 3 || name->text[name->length - 2] != '.')
        return false;
    static const char letters[] = "xyzwrgba";
    uint32_t at = (uint32_t)(strchr(letters, name->text[name->length - 1]) - letters) % 4;
    if (!rp_ptx_lookup_reg(parser, name->text, name->length - 2, &reg, &count) || at >= count ||
        count == 1)
        return false;
    out->kind = RP_PTX_OPERAND_REG;
    out->reg = reg + at;
    return true;
}

static const struct rp_ptx_var *variable(const struct rp_ptx_parser *parser,
                                         enum rp_ptx_symbol_kind kind, uint32_t index)
{
    const struct rp_ptx_vec *vec = kind == RP_PTX_SYMBOL_PARAM    ? &parser->params
                                   : kind == RP_PTX_SYMBOL_RETURN ? &parser->returns
                                   : kind == RP_PTX_SYMBOL_LOCAL  ? &parser->locals
                                                                  : &parser->globals;
    return (const struct rp_ptx_var *)vec->items + index;
}

/* name, name+4, name[2] */
static void make_variable(struct rp_ptx_parser *parser, const struct rp_ptx_symbol *symbol,
                          struct rp_ptx_operand *out, bool in_address)
{
    out->kind = RP_PTX_OPERAND_VAR;
    out->target = symbol->kind;
    out->reg = symbol->index;
    enum rp_ptx_symbol_kind kind = symbol->kind;
    if (in_address)
        return;
    if (rp_ptx_accept(parser, "[")) {
        uint64_t index = rp_ptx_integer(parser, UINT32_MAX, "an index");
        out->imm = (int64_t)(index * rp_ptx_type_bytes(variable(parser, kind, out->reg)->type));
        rp_ptx_expect(parser, "]");
    } else if (rp_ptx_is(parser, "+") || rp_ptx_is(parser, "-")) {
        out->imm = (int64_t)rp_ptx_constant(parser).bits;
    }
}

static void make_function(struct rp_ptx_parser *parser, const struct rp_ptx_token *name,
                          struct rp_ptx_operand *out, uint32_t target)
{
    out->kind = RP_PTX_OPERAND_FUNCTION;
    out->name = rp_ptx_intern(parser, name->text, name->length);
    out->target = target;
}

/* Anything but a register: in order variables and functions, predefined names, and names
 * that must turn up later. */
static void make_named(struct rp_ptx_parser *parser, const struct rp_ptx_token *name,
                       struct rp_ptx_operand *out, bool is_branch, bool in_address)
{
    const struct rp_ptx_symbol *symbol = rp_ptx_lookup(parser, name->text, name->length);
    enum rp_ptx_sreg sreg;
    if (is_branch) {
        out->kind = RP_PTX_OPERAND_LABEL;
        out->name = rp_ptx_intern(parser, name->text, name->length);
        out->target = rp_ptx_refer_later(parser, name, true);
    } else if (symbol && symbol->kind == RP_PTX_SYMBOL_FUNCTION) {
        make_function(parser, name, out, 0);
    } else if (symbol && symbol->kind >= RP_PTX_SYMBOL_PARAM &&
               symbol->kind <= RP_PTX_SYMBOL_GLOBAL) {
        make_variable(parser, symbol, out, in_address);
    } else if (name->length == 1 && name->text[0] == '_') {
        out->kind = RP_PTX_OPERAND_SINK;
    } else if (rp_ptx_sreg_named(name->text, name->length, &sreg)) {
        out->kind = RP_PTX_OPERAND_SREG;
        out->sreg = sreg;
        out->name = rp_ptx_intern(parser, name->text, name->length);
    } else if (name->text[0] == '%') {
        rp_ptx_fail(parser, name->line, name->column, "register '%.*s' is not declared",
                    (int)name->length, name->text);
    } else {
        make_function(parser, name, out, rp_ptx_refer_later(parser, name, false) + 1);
    }
}

/* [%rd1+4], [var], [var+8], [4096], [texture, {%f1}] */
static void parse_address(struct rp_ptx_parser *parser, struct rp_ptx_operand *out, unsigned depth)
{
    out->kind = RP_PTX_OPERAND_ADDRESS;
    out->base = RP_PTX_OPERAND_IMM;
    if (parser->token.kind == RP_PTX_TOKEN_IDENT && !rp_ptx_starts_constant(parser)) {
        struct rp_ptx_token name = take_name(parser);
        struct rp_ptx_operand base = {0};
        if (!make_register(parser, &name, &base))
            make_named(parser, &name, &base, false, true);
        if (base.kind != RP_PTX_OPERAND_REG && base.kind != RP_PTX_OPERAND_VAR)
            rp_ptx_fail(parser, name.line, name.column, "'%.*s' cannot be an address",
                        (int)name.length, name.text);
        out->base = base.kind;
        out->reg = base.reg;
        out->target = base.target;
        if (rp_ptx_is(parser, "+") || rp_ptx_is(parser, "-"))
            out->imm = (int64_t)rp_ptx_constant(parser).bits;
    } else {
        struct rp_ptx_token at = parser->token;
        struct rp_ptx_constant value = rp_ptx_constant(parser);
        if (value.is_float)
            rp_ptx_fail(parser, at.line, at.column, "a float cannot be an address");
        out->imm = (int64_t)value.bits;
    }
    if (rp_ptx_accept(parser, ","))
        parse_items(parser, out, "]", depth);
    else
        rp_ptx_expect(parser, "]");
}

/* `%p|%q`: a second destination. */
static void parse_paired(struct rp_ptx_parser *parser, struct rp_ptx_operand *out)
{
    if (out->kind != RP_PTX_OPERAND_REG && out->kind != RP_PTX_OPERAND_SINK)
        rp_ptx_fail_here(parser, "a register before '|'");
    rp_ptx_expect(parser, "|");
    struct rp_ptx_token name = take_name(parser);
    struct rp_ptx_operand second = {0};
    if (name.length == 1 && name.text[0] == '_')
        return;
    if (!make_register(parser, &name, &second) || second.kind != RP_PTX_OPERAND_REG)
        rp_ptx_fail(parser, name.line, name.column, "'%.*s' is not a register", (int)name.length,
                    name.text);
    out->paired = second.reg + 1;
}

static void parse_operand(struct rp_ptx_parser *parser, struct rp_ptx_operand *out, bool is_branch,
                          unsigned depth)
{
    if (depth > 4)
        rp_ptx_fail_here(parser, "fewer brackets");
    if (rp_ptx_accept(parser, "{")) {
        out->kind = RP_PTX_OPERAND_VECTOR;
        parse_items(parser, out, "}", depth);
        return;
    }
    if (rp_ptx_accept(parser, "[")) {
        parse_address(parser, out, depth);
        return;
    }
    /* A sign before a name negates a register; before a number it is part of it. */
    bool sign = (rp_ptx_is(parser, "!") || rp_ptx_is(parser, "-")) && parser->at < parser->end &&
                *parser->at == '%';
    if (sign) {
        out->negated = true;
        rp_ptx_next(parser);
    } else if (rp_ptx_starts_constant(parser)) {
        make_constant(parser, out);
        return;
    }
    struct rp_ptx_token name = take_name(parser);
    if (is_branch || !make_register(parser, &name, out))
        make_named(parser, &name, out, is_branch, false);
    if (sign && out->kind != RP_PTX_OPERAND_REG)
        rp_ptx_fail(parser, name.line, name.column, "only a register can be negated");
    if (rp_ptx_is(parser, "|"))
        parse_paired(parser, out);
}

void rp_ptx_operand(struct rp_ptx_parser *parser, struct rp_ptx_operand *out, bool is_branch)
{
    parse_operand(parser, out, is_branch, 0);
}

/* ---- from indices to pointers ------------------------------------------------- */

static bool names_variable(const struct rp_ptx_operand *operand)
{
    return operand->kind == RP_PTX_OPERAND_VAR ||
           (operand->kind == RP_PTX_OPERAND_ADDRESS && operand->base == RP_PTX_OPERAND_VAR);
}

static void settle_variable(const struct rp_ptx_function *function, struct rp_ptx_operand *operand)
{
    const struct rp_ptx_var *array = operand->target == RP_PTX_SYMBOL_PARAM    ? function->params
                                     : operand->target == RP_PTX_SYMBOL_RETURN ? function->returns
                                     : operand->target == RP_PTX_SYMBOL_LOCAL  ? function->locals
                                                                               : NULL;
    if (!array)
        return; /* a global: settled with the module */
    operand->var = array + operand->reg;
    operand->reg = operand->target = 0;
}

static void settle_label(const struct rp_ptx_parser *parser, struct rp_ptx_operand *operand)
{
    bool is_function = operand->kind == RP_PTX_OPERAND_FUNCTION;
    if (is_function && !operand->target)
        return;
    const struct rp_ptx_pending *pending =
        (const struct rp_ptx_pending *)parser->pending.items + operand->target - is_function;
    operand->target = pending->is_label ? pending->target : 0;
    if (pending->is_label)
        operand->kind = RP_PTX_OPERAND_LABEL;
}

static void settle_local(struct rp_ptx_parser *parser, const struct rp_ptx_function *function,
                         struct rp_ptx_operand *operands, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct rp_ptx_operand *at = &operands[i];
        if (names_variable(at))
            settle_variable(function, at);
        else if (at->kind == RP_PTX_OPERAND_LABEL || at->kind == RP_PTX_OPERAND_FUNCTION)
            settle_label(parser, at);
        settle_local(parser, function, at->items, at->item_count);
    }
}

void rp_ptx_settle_locals(struct rp_ptx_parser *parser, struct rp_ptx_function *function)
{
    for (size_t i = 0; i < function->code_count; i++)
        settle_local(parser, function, function->code[i].operands, function->code[i].operand_count);
    const struct rp_ptx_pending *pending = parser->pending.items;
    for (size_t i = 0; i < function->list_count; i++)
        for (size_t j = 0; function->lists[i].targets && j < function->lists[i].item_count; j++)
            function->lists[i].targets[j] = pending[function->lists[i].targets[j]].target;
}

static void settle_global(const struct rp_ptx_module *module, struct rp_ptx_operand *operands,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct rp_ptx_operand *at = &operands[i];
        if (names_variable(at) && !at->var) {
            at->var = module->globals + at->reg;
            at->reg = at->target = 0;
        }
        settle_global(module, at->items, at->item_count);
    }
}

void rp_ptx_settle_globals(struct rp_ptx_module *module)
{
    for (size_t i = 0; i < module->function_count; i++) {
        const struct rp_ptx_function *function = &module->functions[i];
        for (size_t j = 0; j < function->code_count; j++)
            settle_global(module, function->code[j].operands, function->code[j].operand_count);
    }
}
