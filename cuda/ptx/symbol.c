/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/ptx/internal.h"

#include <stdlib.h>
#include <string.h>

static struct rp_ptx_symbol *entries(const struct rp_ptx_parser *parser)
{
    return parser->symbols.entries.items;
}

static void link_symbol(struct rp_ptx_symbols *symbols, uint32_t index)
{
    struct rp_ptx_symbol *symbol = (struct rp_ptx_symbol *)symbols->entries.items + index;
    uint32_t *bucket = &symbols->buckets[symbol->hash & symbols->mask];
    symbol->next = *bucket;
    *bucket = index + 1;
}

static void grow_buckets(struct rp_ptx_parser *parser)
{
    struct rp_ptx_symbols *symbols = &parser->symbols;
    size_t count = symbols->buckets ? ((size_t)symbols->mask + 1) * 2 : 256;
    uint32_t *buckets = calloc(count, sizeof(*buckets));
    if (!buckets) {
        parser->status = RP_NO_MEMORY;
        longjmp(parser->failed, 1);
    }
    free(symbols->buckets);
    symbols->buckets = buckets;
    symbols->mask = (uint32_t)count - 1;
    for (size_t i = 0; i < symbols->entries.count; i++)
        link_symbol(symbols, (uint32_t)i);
}

static const struct rp_ptx_symbol *lookup_hashed(const struct rp_ptx_parser *parser,
                                                 const char *text, size_t length, uint32_t hash)
{
    const struct rp_ptx_symbols *symbols = &parser->symbols;
    uint32_t at = symbols->buckets ? symbols->buckets[hash & symbols->mask] : 0;
    for (; at; at = entries(parser)[at - 1].next) {
        const struct rp_ptx_symbol *symbol = &entries(parser)[at - 1];
        if (symbol->hash == hash && symbol->length == length &&
            !memcmp(symbol->name, text, length) && symbol->kind != RP_PTX_SYMBOL_RANGE)
            return symbol;
    }
    return NULL;
}

const struct rp_ptx_symbol *rp_ptx_lookup(const struct rp_ptx_parser *parser, const char *text,
                                          size_t length)
{
    return lookup_hashed(parser, text, length, rp_ptx_hash(RP_PTX_HASH_SEED, text, length));
}

static const struct rp_ptx_symbol *lookup_range(const struct rp_ptx_parser *parser,
                                                const char *text, size_t length, uint32_t hash,
                                                uint64_t number)
{
    const struct rp_ptx_symbols *symbols = &parser->symbols;
    uint32_t at = symbols->buckets ? symbols->buckets[hash & symbols->mask] : 0;
    for (; at; at = entries(parser)[at - 1].next) {
        const struct rp_ptx_symbol *symbol = &entries(parser)[at - 1];
        if (symbol->hash == hash && symbol->kind == RP_PTX_SYMBOL_RANGE &&
            symbol->length == length && number < symbol->count &&
            !memcmp(symbol->name, text, length))
            return symbol;
    }
    return NULL;
}

/* "%r15" may be declared by itself, or come from %r<16> or even %r1<6>: the innermost
 * declaration counts, which is the youngest. */
bool rp_ptx_lookup_reg(const struct rp_ptx_parser *parser, const char *text, size_t length,
                       uint32_t *reg, uint32_t *count)
{
    size_t head = length;
    while (head > 1 && length - head < 7 && text[head - 1] >= '0' && text[head - 1] <= '9')
        head--;
    uint32_t hash = rp_ptx_hash(RP_PTX_HASH_SEED, text, head);
    const struct rp_ptx_symbol *best = NULL;
    uint64_t best_number = 0;
    for (; head < length; hash = rp_ptx_hash(hash, text + head++, 1)) {
        if (text[head] == '0' && head + 1 < length)
            continue;
        uint64_t number = 0;
        for (size_t i = head; i < length; i++)
            number = number * 10 + (unsigned)(text[i] - '0');
        const struct rp_ptx_symbol *range = lookup_range(parser, text, head, hash, number);
        if (range && (!best || range > best)) {
            best = range;
            best_number = number;
        }
    }
    const struct rp_ptx_symbol *exact = lookup_hashed(parser, text, length, hash);
    if (exact && (!best || exact > best)) {
        *reg = exact->index;
        *count = exact->count;
        return exact->kind == RP_PTX_SYMBOL_REG;
    }
    *reg = best ? best->index + (uint32_t)best_number : 0;
    *count = 1;
    return best != NULL;
}

void rp_ptx_declare(struct rp_ptx_parser *parser, const struct rp_ptx_token *name,
                    enum rp_ptx_symbol_kind kind, uint32_t index, uint32_t count)
{
    struct rp_ptx_symbols *symbols = &parser->symbols;
    const struct rp_ptx_symbol *old = rp_ptx_lookup(parser, name->text, name->length);
    size_t scope = parser->depth ? parser->scopes[parser->depth - 1].symbols : 0;
    if (old && old >= entries(parser) + scope && kind != RP_PTX_SYMBOL_RANGE)
        rp_ptx_fail(parser, name->line, name->column, "'%.*s' is declared twice",
                    (int)name->length, name->text);
    if (!symbols->buckets || symbols->entries.count > symbols->mask)
        grow_buckets(parser);
    struct rp_ptx_symbol *symbol = rp_ptx_push(parser, &symbols->entries);
    *symbol = (struct rp_ptx_symbol){.name = name->text, .length = name->length,
                                     .hash = rp_ptx_hash(RP_PTX_HASH_SEED, name->text,
                                                         name->length),
                                     .kind = kind, .index = index, .count = count};
    link_symbol(symbols, (uint32_t)symbols->entries.count - 1);
}

uint32_t rp_ptx_refer_later(struct rp_ptx_parser *parser, const struct rp_ptx_token *name,
                            bool must_be_label)
{
    struct rp_ptx_pending *pending = rp_ptx_push(parser, &parser->pending);
    *pending = (struct rp_ptx_pending){.name = name->text, .length = name->length,
                                       .line = name->line, .column = name->column,
                                       .must_be_label = must_be_label};
    return (uint32_t)parser->pending.count - 1;
}

void rp_ptx_scope_enter(struct rp_ptx_parser *parser)
{
    if (parser->depth == RP_PTX_MAX_DEPTH)
        rp_ptx_fail(parser, parser->token.line, parser->token.column,
                    "scopes are nested deeper than %d", RP_PTX_MAX_DEPTH);
    parser->scopes[parser->depth++] = (struct rp_ptx_scope){
        .symbols = parser->symbols.entries.count, .pending = parser->pending.count};
}

/* Gives `pending` its meaning if a label or list of the scope that ends has its name. */
static void resolve(const struct rp_ptx_parser *parser, struct rp_ptx_pending *pending,
                    size_t scope)
{
    const struct rp_ptx_symbol *found = rp_ptx_lookup(parser, pending->name, pending->length);
    if (!found || found < entries(parser) + scope)
        return;
    pending->is_label = found->kind == RP_PTX_SYMBOL_LABEL;
    pending->resolved = pending->is_label ||
                        (found->kind == RP_PTX_SYMBOL_LIST && !pending->must_be_label);
    pending->target = found->index;
}

void rp_ptx_scope_leave(struct rp_ptx_parser *parser)
{
    struct rp_ptx_scope scope = parser->scopes[--parser->depth];
    struct rp_ptx_pending *pending = parser->pending.items;
    for (size_t i = scope.pending; i < parser->pending.count; i++) {
        if (!pending[i].resolved)
            resolve(parser, &pending[i], scope.symbols);
        if (!pending[i].resolved && !parser->depth)
            rp_ptx_fail(parser, pending[i].line, pending[i].column,
                        pending[i].must_be_label ? "there is no label '%.*s' in this scope"
                                                 : "'%.*s' is not declared",
                        (int)pending[i].length, pending[i].name);
    }
    struct rp_ptx_symbols *symbols = &parser->symbols;
    while (symbols->entries.count > scope.symbols) {
        const struct rp_ptx_symbol *last = &entries(parser)[--symbols->entries.count];
        symbols->buckets[last->hash & symbols->mask] = last->next;
    }
}
