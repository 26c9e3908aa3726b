/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that go lane by lane, built once for all instruction sets. */
#ifndef RP_SOFT_SIMT_SCALAR_H
#define RP_SOFT_SIMT_SCALAR_H

#include "cuda/soft/simt/collective.h"

#define SCALAR_LOOP(id)                                                                         \
    simt_lanes_fn simt_scalar_##id;                                                             \
    void simt_scalar_##id(struct simt_warp *warp, char *rows, const struct simt_op *op,         \
                          uint32_t mask)
#define EACH(mask, i)                                                                           \
    for (uint32_t i = 0; i < SIMT_LANES; i++)                                                   \
        if ((mask) >> i & 1)

static inline uint32_t *row32(char *rows, uint32_t offset)
{
    return (uint32_t *)(void *)(rows + offset);
}

static inline const uint32_t *const_row32(const char *rows, uint32_t offset)
{
    return (const uint32_t *)(const void *)(rows + offset);
}

static inline uint64_t *row64(char *rows, uint32_t offset)
{
    return (uint64_t *)(void *)(rows + offset);
}

static inline const uint64_t *const_row64(const char *rows, uint32_t offset)
{
    return (const uint64_t *)(const void *)(rows + offset);
}

/* The address that operand a holds for a lane, by the width of its register. */
static inline uint64_t lane_address(const char *rows, const struct simt_op *op, uint32_t lane)
{
    if (op->flags & SIMT_ADDRESS_32)
        return (uint32_t)(const_row32(rows, op->a)[lane] + (uint32_t)op->imm);
    return const_row64(rows, op->a)[lane] + (uint64_t)op->imm;
}

#endif
