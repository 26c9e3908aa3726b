/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices that a warp loads and stores. */
#include "cuda/access/touch.h"

#include <stdio.h>

/* A matrix of a warp: `lines` rows or columns that lie in memory one by one, `stride` elements
 * apart (PTX ISA, "wmma.load" and "wmma.store"). */
struct tile {
    unsigned lines, elements; /* elements of a line */
    uint32_t element_bytes;
};

static bool read_tile(const struct rp_ptx_instruction *ptx, struct tile *tile)
{
    unsigned m = 0, n = 0, k = 0;
    for (unsigned i = 0; i < ptx->modifier_count && !k; i++)
        if (sscanf(ptx->modifiers[i], "m%un%uk%u", &m, &n, &k) != 3)
            k = 0;
    unsigned rows = rp_ptx_has(ptx, "b") ? k : m, columns = rp_ptx_has(ptx, "a") ? k : n;
    bool by_row = rp_ptx_has(ptx, "row");
    *tile = (struct tile){by_row ? rows : columns, by_row ? columns : rows,
                          ptx->type_count ? rp_ptx_type_bytes(ptx->type[0]) : 0};
    return k && by_row != rp_ptx_has(ptx, "col") && tile->lines <= 32 && tile->elements <= 32;
}

/* How far line `index` is from the first, as a value; RP_NONE when it is constant. */
static uint32_t line_distance(const struct rp_translation *at, unsigned index,
                              const struct tile *tile, int64_t *constant)
{
    const struct rp_ptx_instruction *ptx = at->ptx;
    int64_t bytes = (int64_t)index * tile->element_bytes;
    *constant = bytes * tile->elements; /* without a stride, the lines touch each other */
    if (ptx->operand_count < 3 || !index)
        return RP_NONE;
    *constant = 0;
    struct rp_op op = {.kind = RP_OP_MUL_WIDE, .bits = 64, .from = 32, .c = RP_NONE,
                       .block = at->node, .stage = 2};
    op.a = rp_translate_operand(at->build, at->node, at->step->frame, &ptx->operands[2], 32);
    op.b = rp_ssa_constant(at->build, bytes, 32);
    return rp_ssa_op(at->build, op);
}

/* All lanes of the warp take part, or what happens is not defined: together they move all of
 * the tile, and each may be said to. */
static void touch_line(const struct rp_translation *at, enum rp_effect effect, unsigned address,
                       unsigned index, const struct tile *tile)
{
    int64_t constant;
    struct rp_touch *touch = rp_touch_at(at, effect, &at->ptx->operands[address],
                                         (uint64_t)tile->elements * tile->element_bytes);
    if (touch->address == RP_NONE)
        return;
    uint32_t distance = line_distance(at, index, tile, &constant);
    touch->offset += constant;
    if (distance != RP_NONE)
        touch->address = rp_ssa_op(at->build, (struct rp_op){.kind = RP_OP_ADD, .bits = 64,
                                                             .block = at->node, .stage = 2,
                                                             .a = touch->address, .b = distance,
                                                             .c = RP_NONE});
}

void rp_tile_touch(const struct rp_translation *at, enum rp_effect effect, unsigned address)
{
    struct tile tile;
    bool global = rp_touch_is_global(at, &at->ptx->operands[address]);
    if (global && read_tile(at->ptx, &tile) && tile.element_bytes) {
        for (unsigned i = 0; i < tile.lines; i++)
            touch_line(at, effect, address, i, &tile);
    } else if (global) {
        struct rp_touch *touch = rp_touch_at(at, effect, &at->ptx->operands[address], 1);
        if (touch->verdict < RP_VERDICT_ROOT) {
            touch->verdict = RP_VERDICT_ROOT;
            touch->reason = "it moves a matrix tile whose form is not known";
        }
    }
    if (effect == RP_READ)
        rp_translate_results(at->build, at->node, at->step, 0, false);
}
