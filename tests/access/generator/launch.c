/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/access/generator/generator.h"

#include <string.h>

#define REGION UINT64_C(0x0100000000000000) /* roots are as far apart */

enum { STRUCT_OFFSET = 96 }; /* of the pointers in it */

static void put(struct generated *out, size_t offset, uint64_t word)
{
    memcpy(out->params + offset, &word, sizeof word);
}

/* ---- tables ----------------------------------------------------------------------- */

/* A pointer that may lie in a table or a struct: near a root, to a table, of its own, NULL, or what
 * is none at all. */
static uint64_t draw_word(struct generator *at, const struct generated *out)
{
    switch (below(at, 16)) {
    case 0: return 0;
    case 1: return random_bits(at) >> below(at, 50);
    case 2: case 3: return out->tables[below(at, GENERATED_TABLES)].address;
    case 4: case 5: case 6: return REGION * (8 + below(at, 6)) + 8 * below(at, 3);
    default: return out->roots[below(at, GENERATED_ROOTS)] + 8 * below(at, 9);
    }
}

/* A table of its own, or in memory that the kernel writes by a root, perhaps. */
static uint64_t draw_place(struct generator *at, const struct generated *out, unsigned which)
{
    return below(at, 6) ? REGION * (6 + which) + 8 * below(at, 4)
                        : out->roots[below(at, GENERATED_ROOTS)] + 64 * below(at, 12);
}

/* The second pointer leads to a table of its own, to the first one's, or into that. */
static void make_tables(struct generator *at, struct generated *out)
{
    uint64_t first = out->tables[0].address = draw_place(at, out, 0), second = first;
    out->tables[1].address = 0;
    if (below(at, 3) == 0)
        second += below(at, 2) ? 8 * below(at, 5) : 0;
    else
        second = out->tables[1].address = REGION * 7 + 8 * below(at, 4);
    for (int i = 0; i < GENERATED_TABLES; i++)
        for (int j = 0; j < GENERATED_WORDS; j++)
            out->tables[i].words[j] = draw_word(at, out);
    put(out, GENERATED_TABLE_OFFSET, first);
    put(out, GENERATED_TABLE_OFFSET + 8, second);
    for (size_t i = 0; i < 4; i++)
        put(out, STRUCT_OFFSET + 8 * i, draw_word(at, out));
}

bool generated_known(void *generated, uint64_t address, uint64_t bytes, void *out)
{
    const struct generated *of = generated;
    for (int i = 0; i < GENERATED_TABLES; i++) {
        const struct generated_table *table = &of->tables[i];
        uint64_t offset = address - table->address;
        if (!table->address || offset > sizeof table->words || bytes > sizeof table->words - offset)
            continue;
        memcpy(out, (const char *)table->words + offset, bytes);
        return true;
    }
    return false;
}

/* ----------------------------------------------------------------------------------- */

/* The low half of a pointer: sums in it may carry. */
static uint64_t draw_low_half(struct generator *at)
{
    static const uint64_t halves[] = {64, 4096, 0x7fffffe0, 0x80000000, 0xffffffc0};
    return below(at, 3) ? 0 : halves[below(at, 5)];
}

static void make_numbers(struct generator *at, struct generated *out)
{
    uint32_t numbers[3] = {below(at, 300), 1 + below(at, 80), below(at, 9)};
    for (size_t i = 0; i < 3; i++) {
        if (out->kind != GENERATED_PLAIN && below(at, 20) == 0)
            numbers[i] = (uint32_t)random_bits(at);
        memcpy(out->params + 24 + 4 * i, &numbers[i], 4);
    }
    put(out, 40, below(at, 2) ? 0 : below(at, 64));
    uint32_t field = below(at, 50);
    memcpy(out->params + 48, &field, 4);
}

void generator_launch(struct generator *at, struct generated *out)
{
    static const uint32_t blocks[] = {1, 7, 16, 32, 33, 40, 64};
    static const size_t offsets[GENERATED_ROOTS] = {0, 8, 16, 56};
    for (unsigned i = 0; i < 3; i++) {
        out->grid[i] = i == 2 ? 1 : 1 + below(at, i ? 2 : 4);
        out->block[i] = i == 0 ? blocks[below(at, 7)] : i == 1 ? 1 + below(at, 3) % 2 : 1;
    }
    make_numbers(at, out);
    for (unsigned i = 0; i < GENERATED_ROOTS; i++) {
        out->roots[i] = REGION * (i + 1);
        if (out->kind == GENERATED_POINTERS)
            out->roots[i] += draw_low_half(at);
        put(out, offsets[i], out->roots[i]);
    }
    if (out->kind == GENERATED_POINTERS)
        make_tables(at, out);
}
