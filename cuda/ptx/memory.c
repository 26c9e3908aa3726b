/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/ptx/internal.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (256u * 1024)

struct rp_ptx_chunk {
    struct rp_ptx_chunk *next;
    _Alignas(16) char bytes[];
};

static _Noreturn void out_of_memory(struct rp_ptx_parser *parser)
{
    parser->status = RP_NO_MEMORY;
    longjmp(parser->failed, 1);
}

static void charge(struct rp_ptx_parser *parser, uint64_t bytes)
{
    struct rp_ptx_arena *arena = &parser->arena;
    if (bytes > arena->limit - arena->total)
        rp_ptx_fail(parser, parser->token.line, parser->token.column,
                    "this text needs more than %llu MiB of memory",
                    (unsigned long long)(arena->limit >> 20));
    arena->total += bytes;
}

static char *new_chunk(struct rp_ptx_parser *parser, uint64_t bytes)
{
    struct rp_ptx_chunk *chunk = calloc(1, sizeof(*chunk) + bytes);
    if (!chunk)
        out_of_memory(parser);
    chunk->next = parser->arena.chunks;
    parser->arena.chunks = chunk;
    return chunk->bytes;
}

void *rp_ptx_alloc(struct rp_ptx_parser *parser, uint64_t bytes)
{
    struct rp_ptx_arena *arena = &parser->arena;
    charge(parser, bytes);
    bytes = (bytes + 15) & ~UINT64_C(15);
    if (bytes > CHUNK_BYTES / 4)
        return new_chunk(parser, bytes);
    if (!arena->at || bytes > (size_t)(arena->end - arena->at)) {
        arena->at = new_chunk(parser, CHUNK_BYTES);
        arena->end = arena->at + CHUNK_BYTES;
    }
    void *result = arena->at;
    arena->at += bytes;
    return result;
}

void rp_ptx_arena_release(struct rp_ptx_arena *arena)
{
    for (struct rp_ptx_chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    *arena = (struct rp_ptx_arena){0};
}

void *rp_ptx_push(struct rp_ptx_parser *parser, struct rp_ptx_vec *vec)
{
    if (vec->count == vec->capacity) {
        size_t capacity = vec->capacity ? vec->capacity * 2 : 16;
        void *items = realloc(vec->items, capacity * vec->item);
        if (!items)
            out_of_memory(parser);
        vec->items = items;
        vec->capacity = capacity;
    }
    char *slot = (char *)vec->items + vec->count++ * vec->item;
    memset(slot, 0, vec->item);
    return slot;
}

void *rp_ptx_keep(struct rp_ptx_parser *parser, const struct rp_ptx_vec *vec)
{
    if (!vec->count)
        return NULL;
    void *copy = rp_ptx_alloc(parser, (uint64_t)vec->count * vec->item);
    memcpy(copy, vec->items, vec->count * vec->item);
    return copy;
}

void rp_ptx_vec_release(struct rp_ptx_vec *vec)
{
    free(vec->items);
    vec->items = NULL;
    vec->count = vec->capacity = 0;
}

uint32_t rp_ptx_hash(uint32_t seed, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        seed = (seed ^ (unsigned char)text[i]) * 16777619u;
    return seed;
}

static void grow_interned(struct rp_ptx_parser *parser)
{
    struct rp_ptx_vec old = parser->interned;
    size_t capacity = old.capacity ? old.capacity * 2 : 512;
    char **table = calloc(capacity, sizeof(*table));
    if (!table)
        out_of_memory(parser);
    char **items = old.items;
    for (size_t i = 0; i < old.capacity; i++) {
        if (!items[i])
            continue;
        size_t at = rp_ptx_hash(RP_PTX_HASH_SEED, items[i], strlen(items[i])) & (capacity - 1);
        while (table[at])
            at = (at + 1) & (capacity - 1);
        table[at] = items[i];
    }
    free(old.items);
    parser->interned.items = table;
    parser->interned.capacity = capacity;
}

char *rp_ptx_intern(struct rp_ptx_parser *parser, const char *text, size_t length)
{
    if (parser->interned_count * 2 >= parser->interned.capacity)
        grow_interned(parser);
    char **table = parser->interned.items;
    size_t mask = parser->interned.capacity - 1;
    size_t at = rp_ptx_hash(RP_PTX_HASH_SEED, text, length) & mask;
    for (; table[at]; at = (at + 1) & mask)
        if (!strncmp(table[at], text, length) && !table[at][length])
            return table[at];
    char *copy = rp_ptx_alloc(parser, (uint64_t)length + 1);
    memcpy(copy, text, length);
    parser->interned_count++;
    return table[at] = copy;
}
