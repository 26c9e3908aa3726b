/* SPDX-License-Identifier: Apache-2.0 */
/* Compact rows: a register whose lanes differ regularly, in five numbers instead of 32.
 *
 * In training kernels most integers are addresses and counters: the same in all lanes, or
 * rising by a constant. Such a row is kept as four bases and a stride,
 *
 *     lane i = base[i / 8] + (i % 8) * stride
 *
 * which holds for blocks of any width that is a multiple of 8. A tracked operation computes on
 * these alone when its operands are compact and all live lanes take part; otherwise it
 * expands them and works on rows as usual, so being compact is never more than a faster way
 * to the same bits. Only registers that are written by tracked operations and nothing else
 * can be compact; whoever else reads one has an EXPAND before it.
 *
 * Each row of 4 or 8 bytes a lane is preceded by its slot. A slot of zeros says that the row
 * itself is what counts. */
#ifndef RP_SOFT_SIMT_COMPACT_H
#define RP_SOFT_SIMT_COMPACT_H

#include <stdbool.h>
#include <stdint.h>

#define SIMT_SLOT_BYTES 64
#define SIMT_QUARTERS 4

#define SIMT_COMPACT 1u /* the numbers hold */
#define SIMT_UNIFORM 2u /* and all lanes are equal: equal bases, no stride */
#define SIMT_STALE 4u   /* the row does not hold (only together with SIMT_COMPACT) */
#define SIMT_MAYBE 8u   /* the register is one that can be compact */
#define SIMT_LINEAR 16u /* base[q] = base[0] + 8 q stride, so it rises over the whole warp */

typedef uint64_t simt_bases __attribute__((vector_size(32)));

struct simt_slot {
    union {
        uint64_t base[SIMT_QUARTERS]; /* of a 32-bit row: with the upper half clear */
        simt_bases bases;             /* as they are to be loaded and stored */
    };
    uint64_t stride; /* like the bases */
    uint32_t state;
    uint32_t looks; /* see tracked.h */
};

static inline struct simt_slot *simt_slot_of(char *row)
{
    return (struct simt_slot *)(void *)(row - SIMT_SLOT_BYTES);
}

/* frame.c: looks whether a row is compact, and if so fills its slot. */
bool simt_slot_compress(char *row, uint32_t width);

#endif
