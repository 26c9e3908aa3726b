/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every allocation of the builder is linked to the arena, so that one walk frees them all;
 * small ones share a block. */
struct block {
    struct block *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

#define BLOCK_BYTES (64u * 1024)

static _Noreturn void fail_memory(struct rp_builder *build)
{
    build->out_of_memory = true;
    longjmp(build->failed, 1);
}

void rp_build_refuse(struct rp_builder *build, const char *reason)
{
    build->refused = reason;
    longjmp(build->failed, 1);
}

void *rp_build_alloc(struct rp_builder *build, size_t bytes)
{
    struct block *block = build->arena;
    bytes = (bytes + 15) & ~(size_t)15;
    if (!block || bytes > block->size - block->used) {
        size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        block = calloc(1, sizeof(*block) + size);
        if (!block)
            fail_memory(build);
        block->size = size;
        block->next = build->arena;
        build->arena = block;
    }
    void *result = block->bytes + block->used;
    block->used += bytes;
    return result;
}

/* Old copies stay in the arena: at most as much again as the vector itself. */
void *rp_build_push(struct rp_builder *build, struct rp_vec *vec, size_t item)
{
    if (vec->count == vec->capacity) {
        size_t capacity = vec->capacity ? vec->capacity * 2 : 32;
        void *items = rp_build_alloc(build, capacity * item);
        if (vec->count)
            memcpy(items, vec->items, vec->count * item);
        vec->items = items;
        vec->capacity = capacity;
    }
    return (char *)vec->items + vec->count++ * item;
}

char *rp_build_format(struct rp_builder *build, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (length < 0)
        length = 0;
    if ((size_t)length >= sizeof(text))
        length = sizeof(text) - 1;
    char *copy = rp_build_alloc(build, (size_t)length + 1);
    memcpy(copy, text, (size_t)length);
    return copy;
}

void *rp_arena_copy(void **arena, const void *bytes, size_t size)
{
    struct block *block = malloc(sizeof(*block) + size);
    if (!block)
        return NULL;
    block->next = *arena;
    block->used = block->size = size;
    *arena = block;
    return memcpy(block->bytes, bytes, size);
}

void rp_arena_release(void *arena)
{
    for (struct block *block = arena, *next; block; block = next) {
        next = block->next;
        free(block);
    }
}

/* ---- a map from 64-bit keys to values ----------------------------------------- */

struct rp_map {
    uint64_t *keys;
    uint32_t *values; /* RP_NONE: empty */
    size_t count, capacity;
};

static size_t slot_of(const struct rp_map *map, uint64_t key)
{
    size_t at = (key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (map->capacity - 1);
    while (map->values[at] != RP_NONE && map->keys[at] != key)
        at = (at + 1) & (map->capacity - 1);
    return at;
}

static void map_resize(struct rp_builder *build, struct rp_map *map, size_t capacity)
{
    struct rp_map old = *map;
    map->keys = rp_build_alloc(build, capacity * sizeof(*map->keys));
    map->values = rp_build_alloc(build, capacity * sizeof(*map->values));
    memset(map->values, 0xff, capacity * sizeof(*map->values));
    map->capacity = capacity;
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.values[i] == RP_NONE)
            continue;
        size_t at = slot_of(map, old.keys[i]);
        map->keys[at] = old.keys[i];
        map->values[at] = old.values[i];
    }
}

struct rp_map *rp_map_create(struct rp_builder *build)
{
    struct rp_map *map = rp_build_alloc(build, sizeof(*map));
    map_resize(build, map, 256);
    return map;
}

uint32_t rp_map_get(const struct rp_map *map, uint64_t key)
{
    return map->values[slot_of(map, key)];
}

void rp_map_set(struct rp_builder *build, struct rp_map *map, uint64_t key, uint32_t value)
{
    if (map->count * 2 >= map->capacity)
        map_resize(build, map, map->capacity * 2);
    size_t at = slot_of(map, key);
    if (map->values[at] == RP_NONE)
        map->count++;
    map->keys[at] = key;
    map->values[at] = value;
}
