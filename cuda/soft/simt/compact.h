/* SPDX-License-Identifier: Apache-2.0 */
/* Compact rows: a register whose lanes differ regularly, in six numbers instead of 32.
 *
 * In training kernels most integers are addresses and counters: the same in all lanes, or
 * rising by a constant along each side of the block. Such a row is kept as the value of lane 0
 * and a step for each bit of the lane's number,
 *
 *     lane i = base + (sum of step[k] over the bits k of i)
 *
 * which holds for blocks whose sides are powers of two, and for others where the warp has at
 * most two rows of one. A tracked operation computes on these alone when its operands are
 * compact and all live lanes take part; otherwise it expands them and works on rows as usual,
 * so being compact is never more than a faster way to the same bits. Only registers that are
 * written by tracked operations and nothing else can be compact; whoever else reads one has an
 * EXPAND before it.
 *
 * Each row of 4 or 8 bytes a lane is preceded by its slot. A slot of zeros says that the row
 * itself is what counts. */
#ifndef RP_SOFT_SIMT_COMPACT_H
#define RP_SOFT_SIMT_COMPACT_H

#include <stdbool.h>
#include <stdint.h>

#define SIMT_SLOT_BYTES 64
#define SIMT_LANE_BITS 5

#define SIMT_COMPACT 1u /* the numbers hold */
#define SIMT_UNIFORM 2u /* and all lanes are equal: no steps */
#define SIMT_STALE 4u   /* the row does not hold (only together with SIMT_COMPACT) */
#define SIMT_MAYBE 8u   /* the register is one that can be compact */

typedef uint64_t simt_numbers __attribute__((vector_size(64)));
#define SIMT_TAIL 6 /* of the numbers: what the slot's state and looks are */

struct simt_slot {
    union {
        struct {
            uint64_t step[SIMT_LANE_BITS]; /* of a 32-bit row: with the upper half clear; */
            uint64_t base;                 /* so is the base */
            uint32_t state;
            uint32_t looks; /* see tracked.h */
            uint64_t unused;
        };
        simt_numbers numbers; /* as they are to be loaded and stored: in one piece */
    };
};

enum { SIMT_WALK_ONE, SIMT_WALK_SEQUENCE, SIMT_WALK_STEPS, SIMT_WALK_SCATTERED };

/* How the lanes of an access site went last time. A loop comes by with another base and the
 * same steps, so that the base is all there is to work out. One of zeros is right, too. */
struct simt_walk {
    simt_numbers seen;            /* of the slot: its steps */
    int64_t step[SIMT_LANE_BITS]; /* of the addresses, in bytes */
    int64_t below, above;         /* the lowest and the highest lane, from lane 0 */
    uint32_t shape;               /* SIMT_WALK_... */
};

static inline struct simt_slot *simt_slot_of(char *row)
{
    return (struct simt_slot *)(void *)(row - SIMT_SLOT_BYTES);
}

/* frame.c: looks whether a row is compact, and if so fills its slot. */
bool simt_slot_compress(char *row, uint32_t width);

#endif
